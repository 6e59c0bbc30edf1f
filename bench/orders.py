"""The orders in which quotas can be written: two that a small script has, and the daemon's."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Iterable, Mapping
from typing import Any, Final, Protocol

from bench.cluster import CONCURRENCY
from bench.observer import Observer
from bench.redistribution import Scene
from kueue_dqo.api import dqo
from kueue_dqo.runtime.client import Client
from kueue_dqo.runtime.resources import CAPACITY_PROVIDERS, CLUSTER_QUEUES
from orchestrator.enforcement.spec import DECLARED_QUOTAS

_MANAGER: Final = "bench"
_WATCHED: Final = 0.2
"""Seconds after which the daemon has surely heard of what was written."""


class Order(Protocol):
    """One way to bring quotas to where they should be."""

    async def restore(self, observer: Observer) -> None:
        """Brings all quotas back to what they were before, while no Workload waits."""

    async def redistribute(self, observer: Observer) -> None:
        """Starts the redistribution, and may return before it is through."""


class Script:
    """Writes one half of the queues, waits for all answers and a while longer, and writes the other half."""

    def __init__(self, *, shrinks_first: bool, pause: float = 0.0) -> None:
        """`pause`: seconds between the last answer of one half and the first write of the other."""
        self._shrinks_first = shrinks_first
        self._pause = pause

    async def restore(self, observer: Observer) -> None:
        scene, quotas = observer.scene, observer.scene.quotas(after=False)
        for half in (scene.growing, scene.shrinking):
            await _write(observer.client, scene, {each: quotas[each] for each in half})
        await _back(observer)

    async def redistribute(self, observer: Observer) -> None:
        scene, quotas = observer.scene, observer.scene.quotas(after=True)
        first, second = scene.shrinking, scene.growing
        if not self._shrinks_first:
            first, second = second, first
        await _write(observer.client, scene, {each: quotas[each] for each in first})
        await asyncio.sleep(self._pause)
        await _write(observer.client, scene, {each: quotas[each] for each in second})


class Daemon:
    """Lets `dqo orchestrator` do it, which has to run.

    The declarations change while the provider is not synchronized and quotas stand still, so that one write, the
    provider's next status, starts the whole redistribution. The capacity is the same before and after.
    """

    async def restore(self, observer: Observer) -> None:
        client, scene = observer.client, observer.scene
        await _declare(client, scene, after=False)
        await _publish(client, scene, is_synchronized=True)
        await observer.until(lambda: observer.distributed == "True", "quotas are distributed")
        await _back(observer)
        await _publish(client, scene, is_synchronized=False)
        await observer.until(lambda: observer.distributed == "False", "quotas stand still")
        await _declare(client, scene, after=True)
        await asyncio.sleep(_WATCHED)

    async def redistribute(self, observer: Observer) -> None:
        await _publish(observer.client, observer.scene, is_synchronized=True)


async def _back(observer: Observer) -> None:
    before = observer.scene.quotas(after=False)
    await observer.until(lambda: observer.quotas == before, "quotas are what they were before")


async def _write(client: Client, scene: Scene, quotas: Mapping[str, int]) -> None:
    async def one(name: str, cpu: int) -> None:
        operation = {"op": "replace", "path": "/spec/resourceGroups", "value": scene.groups(cpu)}
        await client.json_patch(CLUSTER_QUEUES.path(name), [operation], field_manager=_MANAGER)

    await _at_once(one(name, cpu) for name, cpu in quotas.items())


async def _declare(client: Client, scene: Scene, *, after: bool) -> None:
    async def one(name: str, cpu: int) -> None:
        annotations = {DECLARED_QUOTAS: json.dumps(scene.groups(cpu))}
        body = {"metadata": {"annotations": annotations}}
        await client.merge_patch(CLUSTER_QUEUES.path(name), body, field_manager=_MANAGER)

    await _at_once(one(name, cpu) for name, cpu in scene.quotas(after=after).items())


async def _at_once(writes: Iterable[Awaitable[None]]) -> None:
    """As many as the daemon has under way."""
    slots = asyncio.Semaphore(CONCURRENCY)

    async def one(write: Awaitable[None]) -> None:
        async with slots:
            await write

    await asyncio.gather(*(one(write) for write in writes))


async def _publish(client: Client, scene: Scene, *, is_synchronized: bool) -> None:
    condition: dict[str, Any] = {
        "type": dqo.CAPACITY_SYNCHRONIZED,
        "status": str(is_synchronized),
        "reason": dqo.SYNCHRONIZED if is_synchronized else dqo.SOURCE_UNAVAILABLE,
        "message": "by the benchmark",
        "observedGeneration": 1,
        "lastTransitionTime": "2026-01-31T12:00:00Z",
    }
    flavors = [{"name": scene.name, "resources": {"cpu": str(scene.capacity)}}]
    body = {"status": {"capacity": {"flavors": flavors}, "conditions": [condition]}}
    path = CAPACITY_PROVIDERS.path(scene.name, subresource="status")
    await client.merge_patch(path, body, field_manager=_MANAGER)
