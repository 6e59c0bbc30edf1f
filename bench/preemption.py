"""How often Kueue preempts a running Workload, or admits one too many, while quota moves from queue to queue."""

from __future__ import annotations

import asyncio
import contextlib
import random
import statistics
from collections.abc import Collection, Sequence
from typing import Final, NamedTuple

from bench import cluster
from bench.measure import print_load, print_title
from bench.observer import Observer, Seen
from bench.orders import Daemon, Order, Script
from bench.redistribution import NAMESPACE, Scene, submit
from kueue_dqo.runtime.client import Client
from kueue_dqo.runtime.resources import WORKLOADS
from tests.controlplane.kueue import start_minimal
from tests.controlplane.plane import ControlPlane


class _Side(NamedTuple):
    """An order of writes; `at_once` is the daemon's concurrency, 0 where it does not run."""

    what: str
    order: Order
    rounds: int
    at_once: int = 0


_PAUSE: Final = 1.0
"""Seconds between the halves of a writer that does the second one in its next pass."""
_DAEMON: Final = Daemon()
_SHRINKS: Final = Script(shrinks_first=True)
_GROWTH: Final = Script(shrinks_first=False)
_TWO: Final = (
    _Side("dqo orchestrator", _DAEMON, 50, cluster.CONCURRENCY),
    _Side("shrinks first", _SHRINKS, 50),
    _Side("growth first", _GROWTH, 50),
    _Side(f"shrinks first, {_PAUSE:g} s", Script(shrinks_first=True, pause=_PAUSE), 20),
    _Side(f"growth first, {_PAUSE:g} s", Script(shrinks_first=False, pause=_PAUSE), 20),
)
_WIDE: Final = (
    _Side("dqo orchestrator", _DAEMON, 10, cluster.CONCURRENCY),
    _Side("dqo, 1 write at once", _DAEMON, 10, 1),
    _Side("shrinks first", _SHRINKS, 10),
    _Side("growth first", _GROWTH, 10),
)
_QUICK: Final = 5


def measure(*, quick: bool) -> None:
    with cluster.control_plane() as plane:
        start_minimal(plane)
        most = _QUICK if quick else max(side.rounds for side in _TWO + _WIDE)
        _measure(plane, Scene("two", pairs=1, arrivals=1), _TWO, most, window=0.3)
        _measure(plane, Scene("wide", pairs=16, arrivals=4), _WIDE, most, window=0.6)


def _measure(plane: ControlPlane, scene: Scene, sides: Sequence[_Side], most: int, window: float) -> None:
    scene.create(plane)
    _print_scene(scene, window)
    for side in sides:
        with contextlib.ExitStack() as stack:
            if side.at_once:
                daemon = stack.enter_context(cluster.daemon(plane, DQO_CONCURRENCY=str(side.at_once)))
                cluster.wait_until(daemon.is_leader, "leadership")
            _print(scene, side, _rounds(plane, scene, side.order, min(side.rounds, most), window))
    print_load()


def _rounds(plane: ControlPlane, scene: Scene, order: Order, rounds: int, window: float) -> list[Seen]:
    chance = random.Random(scene.name)  # the same arrivals for every order

    async def count(observer: Observer) -> list[Seen]:
        await observer.until(lambda: observer.quotas.keys() == set(scene.queues), "every queue is seen")
        found = [await _round(observer, order, number, chance, window) for number in range(rounds)]
        await _remove(observer, set(observer.jobs))
        return found

    async def work(client: Client) -> list[Seen]:
        observer = Observer(client, scene)
        following, counting = asyncio.create_task(observer.follow()), asyncio.create_task(count(observer))
        try:
            await asyncio.wait([following, counting], return_when=asyncio.FIRST_COMPLETED)
            if following.done():
                following.result()  # raises what has ended it
            return await counting
        finally:
            following.cancel()
            counting.cancel()
            await asyncio.wait([following, counting])

    found: list[Seen] = cluster.run(plane, work)
    return found


async def _round(observer: Observer, order: Order, number: int, chance: random.Random, window: float) -> Seen:
    scene = observer.scene
    await _set_up(observer, order)
    observer.begin()
    arrivals = {f"arrives-{number:03}-{index:02}": each for index, each in enumerate(scene.arriving())}
    await asyncio.gather(
        order.redistribute(observer),
        *(_arrive(observer.client, name, *each, chance.uniform(0, window)) for name, each in arrivals.items()),
    )
    after = scene.quotas(after=True)
    await observer.until(lambda: observer.quotas == after, "the redistribution is through")
    await observer.until(lambda: _are_judged(observer, arrivals.keys()), "every arrival is judged")
    return observer.end()


async def _arrive(client: Client, name: str, queue: str, cpu: int, delay: float) -> None:
    await asyncio.sleep(delay)
    await submit(client, name, queue, cpu)


def _are_judged(observer: Observer, names: Collection[str]) -> bool:
    return all(name in observer.jobs and observer.jobs[name].is_judged for name in names)


async def _set_up(observer: Observer, order: Order) -> None:
    """Quotas as before, and one Workload running in each queue."""
    scene, jobs = observer.scene, observer.jobs
    await _remove(observer, {name for name, job in jobs.items() if name not in scene.queues or not job.is_running})
    await order.restore(observer)
    missing = {name: cpu for name, cpu in scene.running().items() if name not in jobs}
    await asyncio.gather(*(submit(observer.client, name, name, cpu) for name, cpu in missing.items()))
    await observer.until(
        lambda: jobs.keys() == set(scene.queues) and all(job.is_running for job in jobs.values()),
        "a Workload runs in each queue",
    )


async def _remove(observer: Observer, names: set[str]) -> None:
    await asyncio.gather(*(observer.client.delete(WORKLOADS.path(name, namespace=NAMESPACE)) for name in names))
    await observer.until(lambda: not names & observer.jobs.keys(), "Workloads are gone")


def _print_scene(scene: Scene, window: float) -> None:
    half, arrivals = len(scene.growing), scene.arrivals
    print_title(f"preemption: {2 * half} ClusterQueues of 8 cpu in a Cohort, {half} to 6 and {half} to 10, Kueue 0.19")
    print(
        f"  The capacity is {scene.capacity} cpu before and after; reclaimWithinCohort: Any. 8 cpu run in each queue,"
    )
    print(f"  7 in {arrivals} of those that grow. There, 1 cpu arrives, which fits before and after and makes the")
    print(f"  Cohort full; in a queue that shrinks arrive {arrivals + 1} cpu, which never fit. All arrive at random")
    print(f"  moments within {window:g} s from the start. A script writes its second half as soon as the first is")
    print(f"  answered; with `{_PAUSE:g} s`, that much later.\n")
    print(f"  {'':<20} {'':>6}  {'rounds with':>23}  {'Workloads':>9}  below the capacity: median,")
    print(f"  {'':<20} {'rounds':>6}  {'preemption':>11} {'overcommit':>11}  {'preempted':>9}  longest, deepest")


def _print(scene: Scene, side: _Side, found: list[Seen]) -> None:
    preempted = sum(len(each.preempted) for each in found)
    hit = sum(bool(each.preempted) for each in found)
    beyond = sum(each.used > scene.capacity for each in found)
    short = [1000 * each.short_seconds for each in found]
    deepest = max(each.short_by for each in found)
    print(
        f"  {side.what:<20} {len(found):>6}  {hit:>11} {beyond:>11}  {preempted:>9}  "
        f"{statistics.median(short):.0f} ms, {max(short):.0f} ms, {deepest} cpu",
        flush=True,
    )
    if side.order is _DAEMON:
        print(f"  {'':<20} aim: no preemption, no overcommit: {'MISSED' if preempted or beyond else 'reached'}")
