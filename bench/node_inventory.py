"""What the node inventory takes to publish 5,000 nodes, and to look on while their heartbeats change nothing."""

from __future__ import annotations

import functools
import time
from typing import Final

from bench import cluster, machines, nodes, provider
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
from tests.controlplane.plane import ControlPlane

_SUBJECT: Final = provider.Subject(
    "node_inventory", "nodes", "kueue-dqo.dev/node-inventory", tuple(pool.flavor for pool in machines.POOLS)
)
_SIZES: Final = (5_000, 15_000)
_QUICK: Final = (200, 400)
_PAIRS: Final = 5
_AIM: Final = 1.3
_AIM_PEAK: Final = 60 * MEGABYTE
_AIM_HEARTBEAT: Final = 1.2
_PER_MINUTE: Final = 5_000
_MINUTES: Final = 2
_REST: Final = 120.0


def measure(*, quick: bool) -> None:
    sizes, pairs = (_QUICK, 2) if quick else (_SIZES, _PAIRS)
    with cluster.control_plane() as plane:
        there = nodes.Nodes()
        cluster.run(plane, there.create_flavors)
        imports = ask(_SUBJECT.module, "imports", plane.kubeconfig())["peak"]
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
                with provider.settled(plane, _SUBJECT) as daemon:
                    provider.print_at_rest(daemon, 20.0 if quick else _REST)
            print_load()


def _first_capacity(plane: ControlPlane, there: nodes.Nodes, pairs: int, imports: int, *, aimed: bool) -> None:
    series = Series([], [])
    for _ in range(pairs):
        series.floor.append(provider.lists(plane, _SUBJECT, len(there.machines)))
        series.ours.append(
            cluster.run(plane, lambda client: provider.first_capacity(client, plane, _SUBJECT, there.expected()))
        )
    names = ("list, decode", "dqo provider")
    print_times("from the end of the imports to the status", series, _AIM if aimed else None, names)
    print_growth(series, imports, _AIM_PEAK if aimed else None, names)


def _heartbeats(plane: ControlPlane, there: nodes.Nodes, pairs: int) -> None:
    """Both sides follow the same stream at the same time; one heartbeat of every node is a pair."""
    series = Series([], [])
    with provider.settled(plane, _SUBJECT, *provider.NO_LOOKS) as daemon, provider.watcher(plane, _SUBJECT) as floor:
        before = provider.Counts(daemon)
        for _ in range(pairs):
            used = provider.quiet(floor), provider.quiet(daemon)
            cluster.run(plane, there.beat)
            for runs, side, cpu in zip(series, (floor, daemon), used, strict=True):
                runs.append(Run(0, provider.quiet(side) - cpu, 0))
        made = provider.Counts(daemon)
        floor.stop()
        events = provider.events_of(floor)
        assert events == pairs * len(there.machines), f"the floor has seen {events} heartbeats"
    names = ("watch, decode", "dqo provider")
    print_cpu_each("a heartbeat that changes nothing", series, len(there.machines), _AIM_HEARTBEAT, names)
    print(
        f"  observations, writes   {made.observations - before.observations:10.0f}, {made.writes - before.writes:.0f}"
    )


def _an_hour(plane: ControlPlane, there: nodes.Nodes, minutes: float) -> None:
    with provider.settled(plane, _SUBJECT, *provider.NO_LOOKS) as daemon:
        before, cpu = provider.Counts(daemon), daemon.cpu_seconds()
        beats = round(_PER_MINUTE * minutes)
        cluster.run(plane, lambda client: there.beat(client, per_minute=_PER_MINUTE, at_most=beats))
        made, cpu = provider.Counts(daemon), daemon.cpu_seconds() - cpu
    writes = (made.writes - before.writes) * 60 / minutes
    others = (made.other_writes - before.other_writes) * 60 / minutes
    verdict = "reached" if writes == 0 else "MISSED"
    print(f"\n{beats:,} heartbeats in {minutes:g} minutes")
    print(f"  status writes an hour  {writes:10.0f}   aim 0: {verdict}")
    print(f"  Leases, Events         {others:10.0f} an hour")
    print(f"  CPU                    {100 * cpu / (60 * minutes):10.1f} % of a core")
