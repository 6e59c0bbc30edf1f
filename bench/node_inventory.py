"""What the node inventory takes to publish 5,000 nodes, and to look on while their heartbeats change nothing."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import json
import time
from collections.abc import Iterator
from typing import Any, Final

from bench import cluster, nodes
from bench.measure import (
    MEGABYTE,
    Run,
    Series,
    ask,
    print_cpu_each,
    print_growth,
    print_load,
    print_times,
    print_title,
)
from kueue_dqo.api.quantity import Quantity
from kueue_dqo.runtime.client import Client
from tests.controlplane.plane import ControlPlane

_SIZES: Final = (5_000, 15_000)
_QUICK: Final = (200, 400)
_PAIRS: Final = 5
_AIM: Final = 1.3
_AIM_PEAK: Final = 60 * MEGABYTE
_AIM_HEARTBEAT: Final = 1.2
_PER_MINUTE: Final = 5_000
_MINUTES: Final = 2
_REST: Final = 120.0
_PATIENCE: Final = 300.0
_NO_LOOKS: Final = ("--interval", "1h")
"""So that no look but one that a heartbeat leads to comes in between."""
_UNIT_NANOS: Final = {"cpu": 10**6, "memory": 10**9, "nvidia.com/gpu": 10**9}


def measure(*, quick: bool) -> None:
    sizes, pairs = (_QUICK, 2) if quick else (_SIZES, _PAIRS)
    with cluster.control_plane() as plane:
        there = nodes.Nodes()
        cluster.run(plane, there.create_flavors)
        imports = ask("node_inventory", "imports", plane.kubeconfig())["peak"]
        for size in sizes:
            began = time.perf_counter()
            cluster.run(plane, functools.partial(there.grow, count=size))
            size_of_one = cluster.run(plane, there.mean_size)
            print_title(f"node-inventory: {size:,} nodes of {size_of_one / 1000:.1f} kB")
            print(f"  made in                {time.perf_counter() - began:10.1f} s")
            _first_capacity(plane, there, pairs, imports, aimed=size == sizes[0])
            print_load()
            if size == sizes[0]:
                _heartbeats(plane, there, pairs)
                print_load()
                _an_hour(plane, there, 0.2 if quick else _MINUTES)
            else:
                _at_rest(plane, 20.0 if quick else _REST)
            print_load()


# --- the first capacity --------------------------------------------------------------------------------------------


def _first_capacity(plane: ControlPlane, there: nodes.Nodes, pairs: int, imports: int, *, aimed: bool) -> None:
    series = Series([], [])
    for _ in range(pairs):
        series.floor.append(_list(plane, len(there.machines)))
        series.ours.append(cluster.run(plane, lambda client: _publish(client, plane, there)))
    names = ("list, decode", "dqo provider")
    print_times("from the end of the imports to the status", series, _AIM if aimed else None, names)
    print_growth(series, imports, _AIM_PEAK if aimed else None, names)


def _list(plane: ControlPlane, count: int) -> Run:
    answer = ask("node_inventory", "list", plane.kubeconfig())
    assert answer["nodes"] == count, f"the floor has read {answer['nodes']} of {count} nodes"
    return Run(answer["seconds"], answer["cpu"], answer["peak"])


async def _publish(client: Client, plane: ControlPlane, there: nodes.Nodes) -> Run:
    """From the end of the daemon's imports until a watch sees the capacity, which has to be the right one."""
    version = await nodes.recreate_provider(client, plane)
    opened = asyncio.Event()
    changes = nodes.changes(client, version, opened.set)
    async with contextlib.aclosing(changes):
        first = asyncio.ensure_future(anext(changes))
        await opened.wait()
        with _inventory(plane) as daemon:
            async with asyncio.timeout(_PATIENCE):
                seen = await first
                while not nodes.is_synchronized(seen):
                    seen = await anext(changes)
            ended, cpu = time.monotonic(), daemon.cpu_seconds()
            beginning = daemon.beginning()
            peak = daemon.memory("VmHWM")
    assert _capacity(seen) == there.expected(), "the capacity is another one"
    return Run(ended - beginning["began"], cpu - beginning["used"], peak)


def _capacity(obj: dict[str, Any]) -> dict[str, int]:
    """In the units of the resources, by pair; what a pool has nothing of, it does not list."""
    return {
        f"{flavor['name']}/{resource}": Quantity.of(text).nanos // _UNIT_NANOS[resource]
        for flavor in obj["status"]["capacity"]["flavors"]
        for resource, text in flavor["resources"].items()
        if resource in _UNIT_NANOS
    }


# --- heartbeats ----------------------------------------------------------------------------------------------------


def _heartbeats(plane: ControlPlane, there: nodes.Nodes, pairs: int) -> None:
    """Both sides follow the same stream at the same time; one heartbeat of every node is a pair."""
    series = Series([], [])
    with _settled(plane, *_NO_LOOKS) as daemon, _watcher(plane) as floor:
        before = _Counts(daemon)
        for _ in range(pairs):
            used = _quiet(floor), _quiet(daemon)
            cluster.run(plane, there.beat)
            for runs, side, cpu in zip(series, (floor, daemon), used, strict=True):
                runs.append(Run(0, _quiet(side) - cpu, 0))
        made = _Counts(daemon)
        floor.stop()
        events = json.loads(floor.log.read_text().splitlines()[-1])["events"]
        assert events == pairs * len(there.machines), f"the floor has seen {events} heartbeats"
    names = ("watch, decode", "dqo provider")
    print_cpu_each("a heartbeat that changes nothing", series, len(there.machines), _AIM_HEARTBEAT, names)
    print(
        f"  observations, writes   {made.observations - before.observations:10.0f}, {made.writes - before.writes:.0f}"
    )


def _an_hour(plane: ControlPlane, there: nodes.Nodes, minutes: float) -> None:
    with _settled(plane, *_NO_LOOKS) as daemon:
        before, cpu = _Counts(daemon), daemon.cpu_seconds()
        beats = round(_PER_MINUTE * minutes)
        cluster.run(plane, lambda client: there.beat(client, per_minute=_PER_MINUTE, at_most=beats))
        made, cpu = _Counts(daemon), daemon.cpu_seconds() - cpu
    writes = (made.writes - before.writes) * 60 / minutes
    others = (made.other_writes - before.other_writes) * 60 / minutes
    verdict = "reached" if writes == 0 else "MISSED"
    print(f"\n{beats:,} heartbeats in {minutes:g} minutes")
    print(f"  status writes an hour  {writes:10.0f}   aim 0: {verdict}")
    print(f"  Leases, Events         {others:10.0f} an hour")
    print(f"  CPU                    {100 * cpu / (60 * minutes):10.1f} % of a core")


class _Counts:
    """What a daemon has done so far."""

    def __init__(self, daemon: nodes.Inventory) -> None:
        self.observations = daemon.metric("kueue_dqo_provider_observations_total")
        self.writes = daemon.metric("kueue_dqo_provider_status_writes_total")
        every = sum(daemon.metric("rest_client_requests_total", method=each) for each in ("PATCH", "POST", "PUT"))
        self.other_writes = every - self.writes


# --- at rest -------------------------------------------------------------------------------------------------------


def _at_rest(plane: ControlPlane, seconds: float) -> None:
    with _settled(plane) as daemon:
        cpu, requests = daemon.cpu_seconds(), daemon.metric("rest_client_requests_total")
        time.sleep(seconds)
        cpu, requests = daemon.cpu_seconds() - cpu, daemon.metric("rest_client_requests_total") - requests
        print(f"\nat rest, over {seconds:g} s")
        rest, peak = (daemon.memory(field) / MEGABYTE for field in ("VmRSS", "VmHWM"))
        print(f"  memory                 {rest:10.1f} MB  (at its peak {peak:.1f} MB)")
        print(f"  CPU                    {100 * cpu / seconds:10.2f} % of a core")
        print(f"  requests               {requests * 60 / seconds:10.1f} a minute")


# --- processes -----------------------------------------------------------------------------------------------------


@contextlib.contextmanager
def _inventory(plane: ControlPlane, *arguments: str) -> Iterator[nodes.Inventory]:
    daemon = nodes.Inventory(plane, *arguments)
    try:
        yield daemon
    finally:
        daemon.stop()


@contextlib.contextmanager
def _settled(plane: ControlPlane, *arguments: str) -> Iterator[nodes.Inventory]:
    """A daemon that has looked at all nodes."""
    with _inventory(plane, *arguments) as daemon:
        cluster.wait_until(daemon.is_leader, "leadership", 0.2)
        looked = "kueue_dqo_provider_observations_total"
        cluster.wait_until(lambda: daemon.metric(looked, result="success") > 0, "an observation", 0.2)
        yield daemon


@contextlib.contextmanager
def _watcher(plane: ControlPlane) -> Iterator[cluster.Process]:
    log = cluster.log_of(plane, "watch")
    log.unlink(missing_ok=True)
    floor = cluster.Process(nodes.command("watch", plane.kubeconfig()), log)
    try:
        cluster.wait_until(lambda: "watching" in log.read_text(), "the watch")
        yield floor
    finally:
        if floor.process.poll() is None:
            floor.stop()


def _quiet(process: cluster.Process) -> float:
    """Its CPU time once it has nothing to do any more, for three times half a second."""
    used, times = process.cpu_seconds(), 0
    while times < 3:
        time.sleep(0.5)
        before, used = used, process.cpu_seconds()
        times = times + 1 if used - before < 0.02 else 0
    return used
