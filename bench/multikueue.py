"""What the multikueue provider takes to read 50 workers with 200 queues each, and to follow them."""

from __future__ import annotations

import functools
import statistics
import time
from collections import Counter
from collections.abc import Sequence
from typing import Final, NamedTuple

from bench import audit, cluster, multikueue_changes, multikueue_daemon, multikueue_scene, multikueue_usage
from bench.measure import MEGABYTE, Run, Series, ask, print_each, print_load, print_ratio, print_times, print_title
from bench.multikueue_daemon import Running
from bench.multikueue_scene import Scene
from kueue_dqo.runtime.client import Client

_NO_LOOKS: Final = ("--interval", "1h")
"""So that no look but one that a change leads to comes in between."""
_HOUR: Final = 3600.0
_VERSIONS: Final = 600.0
"""Seconds after which the daemon asks a worker again which versions it serves, as when it has connected."""


class _Sizes(NamedTuple):
    workers: int
    queues: int
    """Of each worker."""
    pairs: int
    changes: int
    rest: float
    """Seconds."""
    usage: float
    """Seconds."""


_FULL: Final = _Sizes(workers=50, queues=200, pairs=5, changes=15, rest=180.0, usage=30.0)
_QUICK: Final = _Sizes(workers=5, queues=20, pairs=2, changes=3, rest=10.0, usage=5.0)


def measure(*, quick: bool) -> None:
    sizes = _QUICK if quick else _FULL
    began = time.perf_counter()
    with multikueue_scene.full(sizes.workers, sizes.queues) as scene:
        size = cluster.run(scene.plane, scene.mean_size)
        print_title(f"multikueue: {sizes.workers} workers with {sizes.queues} queues of {size / 1000:.1f} kB each")
        print(f"  made in                {time.perf_counter() - began:10.1f} s")
        _first_capacity(scene, sizes.pairs)
        print_load()
        scene.endpoints.seen()  # what came before is no request of this daemon
        with multikueue_daemon.settled(scene) as daemon:
            _at_rest(scene, daemon, sizes.rest)
        print_load()
        with multikueue_daemon.settled(scene, *_NO_LOOKS) as daemon:
            _changes(scene, daemon, sizes.changes)
            print_load()
            multikueue_usage.measure(scene, daemon, sizes.usage)


# --- the first capacity ----------------------------------------------------------------------------------------------


class _First(NamedTuple):
    whole: Run
    """From the start of the process."""
    seconds: float
    """Of it, from the moment on at which there is nothing more to do than read: imports are over, the leader leads."""


def _first_capacity(scene: Scene, pairs: int) -> None:
    floor, ours = [], []
    for _ in range(pairs):
        floor.append(_lists(scene))
        ours.append(cluster.run(scene.manager, functools.partial(_published, scene=scene)))
    names = ("list, json, sum", "dqo provider")
    series = Series([each.whole for each in floor], [each.whole for each in ours])
    print_times("from the start of the process to the capacity", series, None, names)
    print("\nfrom leadership to the capacity, against the lists alone")
    for name, side in zip(names, (floor, ours), strict=True):
        print_each(name, [each.seconds for each in side])
    print_ratio([each.seconds for each in floor], [each.seconds for each in ours])
    imports = [
        ask("multikueue_floor", "imports", scene.where)["peak"],
        ask("multikueue", scene.manager.kubeconfig())["peak"],
    ]
    print("\npeak memory above the imports")
    for name, runs, base in zip(names, series, imports, strict=True):
        above = statistics.median(run.peak_bytes - base for run in runs) / MEGABYTE
        print(f"  {name:<22} {above:10.1f} MB  (imports {base / MEGABYTE:.1f} MB)")


def _lists(scene: Scene) -> _First:
    """The floor, whose sum has to be the capacity."""
    began = time.perf_counter()
    answer = ask("multikueue_floor", "list", scene.where)
    seconds = time.perf_counter() - began
    wanted = {pair: units // (1000 if pair.endswith("/cpu") else 1) for pair, units in scene.capacity.items()}
    assert answer["sum"] == wanted, f"the floor has {answer['sum']} instead of {wanted}"
    return _First(Run(seconds, answer["cpu"], answer["peak"]), answer["seconds"])


async def _published(client: Client, scene: Scene) -> _First:
    """The daemon, until a watch sees the capacity."""
    version = await scene.recreate(client)
    async with multikueue_daemon.watched(client, version) as changes:
        with multikueue_daemon.running(scene) as daemon:
            ended = await multikueue_daemon.wait_published(changes, scene.capacity, {})
            whole = Run(ended - daemon.began, daemon.cpu_seconds(), daemon.memory("VmHWM"))
            return _First(whole, ended - daemon.led_since())


# --- at rest ---------------------------------------------------------------------------------------------------------


def _at_rest(scene: Scene, daemon: Running, seconds: float) -> None:
    """What comes by itself is counted. Watches end by the times they ask for, so that an hour of them can be told."""
    since, cpu = time.time(), daemon.cpu_seconds()
    first = scene.endpoints.seen()
    time.sleep(seconds)
    cpu, later = daemon.cpu_seconds() - cpu, scene.endpoints.seen()
    rest, peak = (daemon.memory(field) / MEGABYTE for field in ("VmRSS", "VmHWM"))
    imports = ask("multikueue", scene.manager.kubeconfig())["peak"] / MEGABYTE
    print(f"\nat rest, over {seconds:g} s")
    print(f"  memory                 {rest:10.1f} MB  (at its peak {peak:.1f} MB, imports {imports:.1f} MB)")
    print(f"  CPU                    {100 * cpu / seconds:10.2f} % of a core")
    asked, versions = Counter(later.requests), first.requests["get"]
    del asked["get"]  # they are told by what there was at first
    _print_requests("to the workers", asked, (later.watches, first.timeouts), seconds, versions)
    events = daemon.requests()
    asked = Counter(audit.what(event) for event in events if since <= audit.received(event) < since + seconds)
    _print_requests("to the manager", asked, multikueue_daemon.watches(events), seconds)


def _print_requests(
    whom: str, asked: Counter[str], watches: tuple[int, Sequence[int]], seconds: float, versions: int = 0
) -> None:
    """`watches`: how many are open, and the seconds that some were to last; as many begin anew on average in that time.

    `versions`: questions which versions there are, each time.
    """
    others = sum(count for what, count in asked.items() if not what.startswith("watch"))
    mean = statistics.mean(watches[1])
    hourly = watches[0] * _HOUR / mean + others * _HOUR / seconds + versions * _HOUR / _VERSIONS
    print(f"  requests {whom:<13} {60 * asked.total() / seconds:10.1f} a minute", end="")
    print(f"   {watches[0]} watches of {mean:.0f} s; {60 * others / seconds:.1f} others a minute", end="")
    print(f"; {versions} for versions every {_VERSIONS / 60:g} min" if versions else "", end="")
    print(f"; an hour, extrapolated: {hourly:.0f}")


# --- one change ------------------------------------------------------------------------------------------------------


def _changes(scene: Scene, daemon: Running, pairs: int) -> None:
    """Of one worker after the other, without and with one that does not answer."""
    hanging, *others = scene.workers
    steps = multikueue_changes.measure(scene, daemon, pairs, others)
    multikueue_changes.print_steps("from a quota of a worker to the capacity", *steps)
    with scene.endpoints.hanging(hanging):
        cluster.wait_until(lambda: multikueue_daemon.is_held(scene.manager), "word of the worker that does not answer")
        steps = multikueue_changes.measure(scene, daemon, pairs, others)
        multikueue_changes.print_steps("the same while another worker answers nothing", *steps)
    cluster.wait_until(lambda: not multikueue_daemon.is_held(scene.manager), "the worker that answers again")
