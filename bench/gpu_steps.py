"""From an XID to the capacity that lacks the GPU: the steps, how long each takes, and who asks for what meanwhile.

Times are the wall clock's: the agent's log, the API server's audit log and the benchmark itself are on one machine.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

from bench import audit, cluster, provider
from bench.gpu_hosts import GPUS, LABEL, Host
from bench.measure import print_each, print_load, print_ratio
from kueue_dqo.api.gpu import INVENTORY_MANAGER
from kueue_dqo.api.parameters import NVIDIA_GPU_CONTROLLER
from kueue_dqo.runtime.client import Client
from kueue_dqo.runtime.resources import CAPACITY_PROVIDERS, NODE_GPU_REPORTS
from providers.nvidia_gpu.looks import PAUSE
from tests.controlplane.plane import ControlPlane
from tests.integration import objects
from tests.integration.daemons import Daemon, start_daemon

POOL: Final = "h100"
REPORT_WRITE: Final = "patch nodegpureports"
STATUS_WRITE: Final = "patch capacityproviders/status"
_SUBJECT: Final = provider.Subject("gpu_aggregator", "gpus", NVIDIA_GPU_CONTROLLER, (POOL,))
_XID: Final = 79
_SLACK: Final = 1.0
"""Seconds that the look's pause may end late."""


class Steps(NamedTuple):
    """Seconds of each step of one XID."""

    event: float
    """Until the agent's loop has it from the thread that waits for events."""
    poll: float
    """Until the API server has the agent's request."""
    nvml: float
    """What NVML took of that."""
    report: float
    """Until that request is answered."""
    watch: float
    """Until the API server has the aggregator's request, without the look."""
    look: float
    """What the look at all nodes and reports took."""
    status: float
    """Until that request is answered."""
    seen: float
    """Until a watch of the benchmark sees the status."""
    looks: int
    requests: Counter[str]
    """By account, verb and resource."""

    @property
    def total(self) -> float:
        return self.event + self.poll + self.report + self.watch + self.look + self.status + self.seen


def measure(plane: ControlPlane, installed: Sequence[Mapping[str, Any]], host: Host, *, nodes: int, pairs: int) -> None:
    """XIDs of one host after the other, each after the two bare writes; `nodes`: how many hosts there are."""
    plane.admin.apply(objects.flavor(POOL, {LABEL: POOL}))
    plane.admin.apply(objects.provider(_SUBJECT.provider, POOL, controller=_SUBJECT.controller))
    plane.admin.apply(objects.provider("floor", POOL))
    daemon = start_daemon(plane, installed, name="nvidia-gpu")
    cluster.wait_until(lambda: _published(plane) == nodes * GPUS, "the capacity of all nodes")
    floor, ours = [], []
    for gpu in range(pairs):
        time.sleep(PAUSE + _SLACK)  # so that nothing else is on its way, and the next change is looked at at once
        floor.append(cluster.run(plane, lambda client: _two_writes(client, plane, host, nodes * GPUS)))
        time.sleep(PAUSE + _SLACK)
        ours.append(_xid(plane, daemon, host, gpu, nodes * GPUS - gpu - 1))
    _print(floor, ours)
    print_load()
    daemon.server.stop()


# --- one XID -------------------------------------------------------------------------------------------------------


def _xid(plane: ControlPlane, daemon: Daemon, host: Host, gpu: int, wanted: int) -> Steps:
    """All steps of one. The capacity has to be the one that is wanted."""
    look = "kueue_dqo_provider_observation_seconds"
    read = "kueue_dqo_nvidia_gpu_agent_nvml_read_seconds"
    looked = daemon.metric(f"{look}_sum"), daemon.metric(f"{look}_count")
    polled = host.agent.metric(f"{read}_sum"), host.agent.metric(f"{read}_count")
    began, seen = cluster.run(plane, lambda client: _inject(client, plane, host, gpu, wanted))
    time.sleep(_SLACK)  # Events come last
    looks = daemon.metric(f"{look}_count") - looked[1]
    look_took = (daemon.metric(f"{look}_sum") - looked[0]) / looks
    polls = host.agent.metric(f"{read}_count") - polled[1]
    nvml = (host.agent.metric(f"{read}_sum") - polled[0]) / polls
    events = [
        event
        for event in plane.requests()
        if audit.received(event) >= began and audit.pods(event) in ([], [host.pod])  # the aggregator's, or the agent's
    ]
    report, status = (audit.first(events, what) for what in (REPORT_WRITE, STATUS_WRITE))
    told = audit.clock(host.logged("XID")[-1]["timestamp"])
    return Steps(
        event=told - began,
        poll=audit.received(report) - told,
        nvml=nvml,
        report=audit.answered(report) - audit.received(report),
        watch=audit.received(status) - audit.answered(report) - look_took,
        look=look_took,
        status=audit.answered(status) - audit.received(status),
        seen=seen - audit.answered(status),
        looks=int(looks),
        requests=Counter(f"{event['user']['username'].rpartition(':')[2]}: {audit.what(event)}" for event in events),
    )


async def _inject(client: Client, plane: ControlPlane, host: Host, gpu: int, wanted: int) -> tuple[float, float]:
    """When the XID was there, and when a watch saw the capacity."""
    version = (await asyncio.to_thread(plane.admin.get, CAPACITY_PROVIDERS.path()))["metadata"]["resourceVersion"]
    opened = asyncio.Event()
    async with contextlib.aclosing(provider.changes(client, version, opened.set)) as changes:
        first = asyncio.ensure_future(anext(changes))
        await opened.wait()
        began = time.time()
        host.nvml.inject_xid(gpu, _XID)
        async with asyncio.timeout(60):
            obj = await first
            while provider.capacity(obj) != {f"{POOL}/nvidia.com/gpu": wanted}:
                obj = await anext(changes)
        return began, time.time()


async def _two_writes(client: Client, plane: ControlPlane, host: Host, units: int) -> float:
    """Seconds of a write of a report and one of a status, each as long as the real one, one after the other."""
    report = await asyncio.to_thread(plane.admin.get, NODE_GPU_REPORTS.path(host.name))
    status = (await asyncio.to_thread(plane.admin.get, CAPACITY_PROVIDERS.path(_SUBJECT.provider)))["status"]
    inventory = {**report["spec"]["inventory"], "bootId": str(time.time_ns())}
    body = {"apiVersion": report["apiVersion"], "kind": report["kind"], "metadata": {"name": "floor"}}
    flavors = [{"name": POOL, "resources": {"nvidia.com/gpu": str(units + time.time_ns() % units)}}]
    status = {**status, "capacity": {"flavors": flavors}}
    report_path = NODE_GPU_REPORTS.path("floor")
    status_path = CAPACITY_PROVIDERS.path("floor", subresource="status")
    await client.get(status_path)  # the connection is there
    began = time.perf_counter()
    await client.apply(
        report_path, {**body, "spec": {"inventory": inventory}}, field_manager=INVENTORY_MANAGER, force=True
    )
    await client.merge_patch(status_path, {"status": status}, field_manager="bench")
    return time.perf_counter() - began


def _published(plane: ControlPlane) -> int:
    obj = plane.admin.get(CAPACITY_PROVIDERS.path(_SUBJECT.provider))
    is_there = provider.is_synchronized(obj)
    return provider.capacity(obj).get(f"{POOL}/nvidia.com/gpu", 0) if is_there else 0


# --- printing ------------------------------------------------------------------------------------------------------


def _print(floor: Sequence[float], ours: Sequence[Steps]) -> None:
    print(f"\nfrom an XID to the capacity, {len(ours)} times")
    lines = {
        "XID to the agent": [each.event for each in ours],
        "poll, to the request": [each.poll for each in ours],
        "  NVML alone": [each.nvml for each in ours],
        "report written": [each.report for each in ours],
        "watch, to the request": [each.watch for each in ours],
        "look": [each.look for each in ours],
        "status written": [each.status for each in ours],
        "seen by a watch": [each.seen for each in ours],
    }
    for name, seconds in lines.items():
        print_each(name, seconds)
    totals = [each.total for each in ours]
    print_each("in all", totals)
    print_each("two bare writes", floor)
    print_ratio(floor, totals)
    print(f"  looks                  {min(each.looks for each in ours)} to {max(each.looks for each in ours)}")
    for what in sorted({what for each in ours for what in each.requests if not what.endswith(" leases")}):
        counts = [each.requests[what] for each in ours]
        print(f"  requests               {min(counts)} to {max(counts)}   {what}")
