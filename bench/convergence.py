"""How long new quotas take to reach 1,000 ClusterQueues, against the bare PATCHes that do the same."""

from __future__ import annotations

import asyncio
import contextlib
import json
import ssl
import time
from typing import Final

import aiohttp
import msgspec

from bench import cluster
from bench.measure import Run, Series, print_load, print_times, print_title
from kueue_dqo.api import dqo
from kueue_dqo.api.kueue import CLUSTER_QUEUE, COHORT
from kueue_dqo.runtime.client import Client
from kueue_dqo.runtime.resources import (
    CAPACITY_PROVIDERS,
    CLUSTER_QUEUES,
    COHORTS,
    DYNAMIC_QUOTA_ORCHESTRATORS,
    Resource,
)
from kueue_dqo.runtime.wire import Page
from orchestrator.compute import Snapshot, compute
from orchestrator.enforcement.held import held_of
from orchestrator.enforcement.objects import held_orchestrator, held_provider
from orchestrator.enforcement.roads import Road
from orchestrator.hierarchy import Hierarchy
from tests.controlplane.plane import ControlPlane

_AIM: Final = 1.15
_QUEUES: Final = 1_000
_QUICK: Final = 100
_PAIRS: Final = 5
_QUIET: Final = 5.0
"""Seconds in which writes that nobody wants would show."""


def measure(*, quick: bool) -> None:
    queues, pairs = (_QUICK, 2) if quick else (_QUEUES, _PAIRS)
    print_title(f"convergence: {queues:,} ClusterQueues of 12 pairs, {cluster.CONCURRENCY} writes at once, no limit")
    with cluster.control_plane() as plane:
        cluster.fill(plane, queues)
        with cluster.daemon(plane) as first:
            cluster.run(plane, lambda client: cluster.publish(client, queues, 100))
            cluster.wait_until(lambda: cluster.is_distributed(plane), "the first distribution")
            cluster.wait_until(first.is_leader, "leadership")
        series = Series([], [])
        percent = 100
        for _ in range(pairs):
            percent = 190 - percent
            series.floor.append(_floor(plane, queues, percent))
            percent = 190 - percent
            series.ours.append(_ours(plane, queues, percent))
        print_times(
            "from the change of the capacity to the last queue's new quota",
            series,
            _AIM,
            ("bare PATCHes", "dqo orchestrator"),
        )
        print_load()
        _no_op(plane, queues, percent)


def _ours(plane: ControlPlane, queues: int, percent: int) -> Run:
    with cluster.daemon(plane) as daemon:
        cluster.wait_until(daemon.is_leader, "leadership")
        cluster.wait_until(lambda: daemon.metric("kueue_dqo_passes_total") > 0, "a first pass")
        before = daemon.cpu_seconds()

        async def work(client: Client) -> float:
            return await cluster.time_changes(client, queues, lambda: cluster.publish(client, queues, percent))

        seconds = cluster.run(plane, work)
        return Run(seconds, daemon.cpu_seconds() - before, daemon.memory("VmHWM"))


def _floor(plane: ControlPlane, queues: int, percent: int) -> Run:
    """The same writes, made beforehand, by aiohttp alone, while a watch of the same objects is read and thrown away."""

    async def work(client: Client) -> tuple[float, float]:
        await cluster.publish(client, queues, percent)
        bodies = await _patches(client)
        assert len(bodies) == queues
        used = 0.0

        async def send_all() -> None:
            nonlocal used
            before = time.process_time()
            await _send_all(plane, bodies)
            used = time.process_time() - before

        return await cluster.time_changes(client, queues, send_all), used

    seconds, used = cluster.run(plane, work)
    return Run(seconds, used, 0)


async def _send_all(plane: ControlPlane, bodies: dict[str, bytes]) -> None:
    config = json.loads(plane.kubeconfig().read_text())
    headers = {
        "Authorization": f"Bearer {config['users'][0]['user']['token']}",
        "Content-Type": "application/json-patch+json",
        "Accept": "application/json",
    }
    context = ssl.create_default_context(cafile=str(plane.ca))
    waiting = list(bodies.items())
    async with aiohttp.ClientSession(headers=headers, connector=aiohttp.TCPConnector(ssl=context, limit=64)) as session:
        url = plane.url + CLUSTER_QUEUES.path()

        async def read_watch() -> None:
            async with session.get(url, params={"watch": "true"}, timeout=aiohttp.ClientTimeout(total=None)) as answer:
                async for _ in answer.content.iter_any():
                    pass

        async def worker() -> None:
            while waiting:
                name, body = waiting.pop()
                params = {"fieldManager": "kueue-dqo-orchestrator", "fieldValidation": "Strict", "timeout": "4s"}
                async with session.patch(f"{url}/{name}", params=params, data=body) as answer:
                    assert answer.status == 200, await answer.text()
                    await answer.read()

        watching = asyncio.create_task(read_watch())
        await asyncio.gather(*(worker() for _ in range(cluster.CONCURRENCY)))
        watching.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await watching


async def _patches(client: Client) -> dict[str, bytes]:
    """What the daemon would write now, by name: computed beforehand."""
    held = {
        each.key: each
        for kind, resource in ((CLUSTER_QUEUE, CLUSTER_QUEUES), (COHORT, COHORTS))
        for each in [held_of(kind, raw) for raw in await _objects(client, resource)]
    }
    views = {key: Road.SPEC.view(each) for key, each in held.items()}
    providers = [held_provider(raw) for raw in await _objects(client, CAPACITY_PROVIDERS)]
    found = [held_orchestrator(raw).orchestrator for raw in await _objects(client, DYNAMIC_QUOTA_ORCHESTRATORS)]
    orchestrators: dict[str, dqo.DynamicQuotaOrchestrator] = {each.metadata.name: each for each in found if each}
    hierarchy = Hierarchy(view.member for view in views.values())
    snapshot = Snapshot(orchestrators, {each.metadata.name: each for each in providers}, hierarchy)
    quotas = compute(snapshot)["dqo"].quotas
    return {
        key.name: msgspec.json.encode(Road.SPEC.patch(held[key], views[key], wanted))
        for key, wanted in quotas.items()
        if key.kind == CLUSTER_QUEUE
    }


async def _objects(client: Client, resource: Resource) -> list[bytes]:
    found: list[bytes] = []
    async for page in client.pages(resource.path()):
        found += [bytes(each) for each in msgspec.json.decode(page, type=Page).items or ()]
    return found


def _no_op(plane: ControlPlane, queues: int, percent: int) -> None:
    """A daemon that starts computes all of it anew, and so does one that is told of the same capacity again."""
    with cluster.daemon(plane) as daemon:
        cluster.wait_until(lambda: daemon.is_leader() and daemon.metric("kueue_dqo_passes_total") > 0, "a first pass")
        cluster.run(plane, lambda client: cluster.publish(client, queues, percent))
        time.sleep(_QUIET)
        writes = daemon.metric("kueue_dqo_quota_writes_total") + daemon.metric(
            "kueue_dqo_orchestrator_status_writes_total"
        )
        print(f"\n  writes when nothing differs: {writes:.0f}")
