"""What the GPU aggregator takes to publish 5,000 reports, and to follow them while some change and most do not."""

from __future__ import annotations

import functools
import time
from typing import Final

from bench import cluster, gpu_reports, machines, nodes, provider
from bench.measure import (
    MEGABYTE,
    Series,
    ask,
    print_growth,
    print_load,
    print_times,
    print_title,
)
from kueue_dqo.api.parameters import NVIDIA_GPU_CONTROLLER
from kueue_dqo.runtime.client import Client
from kueue_dqo.runtime.resources import CAPACITY_PROVIDERS
from tests.controlplane.plane import ControlPlane

_POOLS: Final = tuple(pool for pool in machines.POOLS if pool.gpus)
_SUBJECT: Final = provider.Subject(
    "gpu_aggregator", "gpus", NVIDIA_GPU_CONTROLLER, tuple(pool.flavor for pool in _POOLS)
)
_SIZE: Final = 5_000
_QUICK: Final = 200
_PAIRS: Final = 5
_SECONDS: Final = 120.0
_CHANGES: Final = 20
"""A second."""


def measure(*, quick: bool) -> None:
    size, pairs, seconds = (_QUICK, 2, 6.0) if quick else (_SIZE, _PAIRS, _SECONDS)
    beats = size / gpu_reports.HEARTBEAT
    with cluster.control_plane() as plane:
        began = time.perf_counter()
        there = nodes.Nodes(_POOLS)
        cluster.run(plane, there.create_flavors)
        cluster.run(plane, functools.partial(there.grow, count=size))
        reports = gpu_reports.Reports(there)
        cluster.run(plane, reports.create)
        node, report = (cluster.run(plane, each.mean_size) for each in (there, reports))
        print_title(
            f"gpu-aggregator: {size:,} reports of {report / 1000:.1f} kB, as many nodes of {node / 1000:.1f} kB"
        )
        print(f"  made in                {time.perf_counter() - began:10.1f} s")
        _first_capacity(plane, reports, pairs, 2 * size)
        print_load()
        cluster.run(plane, reports.renew)  # or agents would be silent when all of this is slow
        with provider.settled(plane, _SUBJECT) as daemon:
            provider.print_at_rest(daemon, seconds)
        print_load()
        _heartbeats(plane, reports, seconds, beats)
        print_load()
        _changes(plane, reports, seconds)


def _first_capacity(plane: ControlPlane, reports: gpu_reports.Reports, pairs: int, objects: int) -> None:
    series = Series([], [])
    imports = ask(_SUBJECT.module, "imports", plane.kubeconfig())["peak"]
    for _ in range(pairs):
        series.floor.append(provider.lists(plane, _SUBJECT, objects))
        series.ours.append(
            cluster.run(plane, lambda client: provider.first_capacity(client, plane, _SUBJECT, reports.expected()))
        )
    names = ("list, decode", "dqo provider")
    print_times("from the end of the imports to the status", series, None, names)
    print_growth(series, imports, None, names)


def _heartbeats(plane: ControlPlane, reports: gpu_reports.Reports, seconds: float, per_second: float) -> None:
    """Of all agents together, as they come with the interval that is shipped."""
    count = round(seconds * per_second)
    with provider.settled(plane, _SUBJECT, *provider.NO_LOOKS) as daemon, provider.watcher(plane, _SUBJECT) as floor:
        provider.quiet(daemon)
        used, before = _cpu(daemon, floor), provider.Counts(daemon)
        began = time.monotonic()
        cluster.run(plane, functools.partial(reports.renew, count=count, per_second=per_second))
        provider.quiet(daemon)
        took, made, cpu = time.monotonic() - began, provider.Counts(daemon), _cpu(daemon, floor)
        floor.stop()
        assert provider.events_of(floor) == count, f"the floor has seen {provider.events_of(floor)} of {count}"
    looks, writes = made.observations - before.observations, made.writes - before.writes
    print(f"\n{count:,} heartbeats in {took:.0f} s, {count / seconds:.1f} a second, nothing else")
    print(f"  looks                  {looks:10.0f}   aim 0: {'reached' if looks == 0 else 'MISSED'}")
    print(f"  status writes          {writes:10.0f}   aim 0: {'reached' if writes == 0 else 'MISSED'}")
    print(f"  Leases, Events         {made.other_writes - before.other_writes:10.0f}")
    _print_cpu(used, cpu, took)


def _changes(plane: ControlPlane, reports: gpu_reports.Reports, seconds: float) -> None:
    """GPUs are lost and come back, on one node after the other."""
    count = round(seconds * _CHANGES)

    def is_told() -> bool:
        return provider.capacity(plane.admin.get(CAPACITY_PROVIDERS.path(_SUBJECT.provider))) == reports.expected()

    async def flip(client: Client) -> None:
        await reports.flip(client, count=count, per_second=_CHANGES)

    with provider.settled(plane, _SUBJECT, *provider.NO_LOOKS) as daemon, provider.watcher(plane, _SUBJECT) as floor:
        provider.quiet(daemon)
        used, before = _cpu(daemon, floor), provider.Counts(daemon)
        began = time.monotonic()
        cluster.run(plane, flip)
        cluster.wait_until(is_told, "the capacity is that of the last change", 0.2)
        took, made, cpu = time.monotonic() - began, provider.Counts(daemon), _cpu(daemon, floor)
        rest, peak = (daemon.memory(field) / MEGABYTE for field in ("VmRSS", "VmHWM"))
        floor.stop()
        assert provider.events_of(floor) == count, f"the floor has seen {provider.events_of(floor)} of {count}"
    looks, writes = made.observations - before.observations, made.writes - before.writes
    each = (made.seconds - before.seconds) / max(looks, 1)
    print(f"\n{count:,} changes in {took:.0f} s, {_CHANGES} a second")
    print(f"  looks                  {looks:10.0f}   {60 * looks / took:.1f} a minute, {1000 * each:.1f} ms each")
    print(f"  status writes          {writes:10.0f}   {60 * writes / took:.1f} a minute")
    print(f"  Leases, Events         {made.other_writes - before.other_writes:10.0f}")
    print(f"  memory                 {rest:10.1f} MB  (at its peak {peak:.1f} MB)")
    _print_cpu(used, cpu, took)


def _cpu(daemon: cluster.Process, floor: cluster.Process) -> tuple[float, float]:
    return daemon.cpu_seconds(), floor.cpu_seconds()


def _print_cpu(before: tuple[float, float], after: tuple[float, float], seconds: float) -> None:
    ours, floor = (later - earlier for earlier, later in zip(before, after, strict=True))
    print(f"  CPU                    {100 * ours / seconds:10.2f} % of a core")
    print(f"  CPU of watch, decode   {100 * floor / seconds:10.2f} % of a core   {ours / floor:.2f} x")
