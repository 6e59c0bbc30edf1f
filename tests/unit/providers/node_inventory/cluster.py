"""A cluster without a server: lists and watches as the API server gives them, changed by a test."""

from __future__ import annotations

import asyncio
import contextlib
import json
import random
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping
from typing import Any, cast

from prometheus_client import CollectorRegistry

from kueue_dqo.api.parameters import NodeInventoryParametersSpec
from kueue_dqo.provider import Environment, Observation
from kueue_dqo.runtime.cache_metrics import CacheMetrics
from kueue_dqo.runtime.client import Client
from kueue_dqo.runtime.errors import Answered, Forbidden
from kueue_dqo.runtime.resources import CLUSTER_QUEUES, COHORTS, NODES, PODS, Resource
from providers.node_inventory.source import NodeInventory
from providers.nodes.claims import Claim
from tests.unit.kueue_dqo.runtime.virtual_time import VirtualClock
from tests.unit.providers.node_inventory.inventory import asks, flavor, peer

Manifest = dict[str, Any]


class Collection:
    """The objects of one resource, and who watches them."""

    def __init__(self) -> None:
        self.objects: dict[str, Manifest] = {}
        self.watches: list[asyncio.Queue[bytes]] = []
        self.asked: list[Mapping[str, str]] = []
        """The parameters of every list."""
        self.refusal: Answered | None = None
        self.takes = 0.0
        """Seconds that a list takes."""


class FakeClient:
    """What a cache uses of a client."""

    def __init__(self, *more: Resource) -> None:
        """`more` are resources beside those that every provider reads which counts nodes."""
        self.collections = {each.path(): Collection() for each in (NODES, CLUSTER_QUEUES, COHORTS, PODS, *more)}
        self._version = 1

    def of(self, resource: Resource) -> Collection:
        return self.collections[resource.path()]

    def put(self, resource: Resource, content: Manifest) -> None:
        """Creates or replaces an object."""
        self._version += 1
        collection = self.of(resource)
        content = json.loads(json.dumps(content))
        content["metadata"]["resourceVersion"] = str(self._version)
        known = _key(content) in collection.objects
        collection.objects[_key(content)] = content
        self._send(collection, "MODIFIED" if known else "ADDED", content)

    def delete(self, resource: Resource, name: str) -> None:
        self._version += 1
        collection = self.of(resource)
        content = collection.objects.pop(name)
        content["metadata"]["resourceVersion"] = str(self._version)
        self._send(collection, "DELETED", content)

    def refuse(self, resource: Resource) -> None:
        """From now on nobody may list or watch the resource, not even who does at present."""
        collection = self.of(resource)
        collection.refusal = Forbidden(
            method="GET", path=resource.path(), code=403, reason="Forbidden", message=f"cannot list {resource.plural}"
        )
        for watch in collection.watches:
            watch.put_nowait(b"")

    @staticmethod
    def _send(collection: Collection, kind: str, content: Manifest) -> None:
        line = json.dumps({"type": kind, "object": content}).encode()
        for watch in collection.watches:
            watch.put_nowait(line)

    async def pages(self, path: str, *, params: Mapping[str, str], **_: Any) -> AsyncIterator[bytes]:
        collection = self.collections[path]
        collection.asked.append(params)
        await asyncio.sleep(collection.takes)
        if collection.refusal is not None:
            raise collection.refusal
        metadata = {"resourceVersion": str(self._version)}
        yield json.dumps({"metadata": metadata, "items": list(collection.objects.values())}).encode()

    async def lines(self, path: str, *, on_open: Callable[[], None], **_: Any) -> AsyncGenerator[bytes, None]:
        collection = self.collections[path]
        if collection.refusal is not None:
            raise collection.refusal
        lines: asyncio.Queue[bytes] = asyncio.Queue()
        collection.watches.append(lines)
        try:
            on_open()
            while line := await lines.get():
                yield line
            assert collection.refusal is not None
            raise collection.refusal
        finally:
            collection.watches.remove(lines)


class Watched:
    """The source in a process, with a cluster of one node flavor, `batch`."""

    def __init__(self) -> None:
        self.client = FakeClient()
        self.clock = VirtualClock()
        self.registry = CollectorRegistry()
        self.looks = 0
        self.source = NodeInventory(
            Environment(
                client=cast("Client", self.client),
                clock=self.clock,
                random=random.Random(1),
                registry=self.registry,
                cache_metrics=CacheMetrics(self.registry),
                look=self._look,
            )
        )

    def _look(self) -> None:
        self.looks += 1

    @contextlib.asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        task = asyncio.create_task(self.source.run())
        try:
            yield
        finally:
            task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await task

    async def observe(
        self,
        parameters: NodeInventoryParametersSpec | None = None,
        *,
        name: str = "mine",
        peers: tuple[str, ...] = (),
    ) -> Observation:
        """Asks about a provider; its peers claim another flavor each."""
        others = [peer(Claim(each, (f"of-{each}",))) for each in peers if each != name]
        request = asks(
            {"batch": flavor()}, Claim(name, ("batch",)), others, parameters=parameters, now=self.clock.now()
        )
        return await self.source.observe(request)

    async def looks_after(self, change: Callable[[], None]) -> int:
        """How often the source asks to be asked because of the change, once it has calmed down."""
        await asyncio.sleep(1)
        before = self.looks
        change()
        await asyncio.sleep(1)
        return self.looks - before

    def metric(self, name: str, **labels: str) -> float | None:
        return self.registry.get_sample_value(name, labels)


def _key(content: Manifest) -> str:
    metadata = content["metadata"]
    return f"{metadata['namespace']}/{metadata['name']}" if "namespace" in metadata else str(metadata["name"])


# --- objects -------------------------------------------------------------------------------------------------------


def node(
    name: str = "n1", *, heartbeat: int = 0, ready_since: str = "2025-12-01T00:00:00Z", **changes: Any
) -> Manifest:
    """A node of the flavor with 4 cpu; `changes` of labels, allocatable, ready and unschedulable."""
    ready = {
        "type": "Ready",
        "status": changes.get("ready", "True"),
        "lastTransitionTime": ready_since,
        "lastHeartbeatTime": f"2026-01-01T00:00:{heartbeat:02}Z",
    }
    return {
        "metadata": {"name": name, "labels": {"pool": "a", **changes.get("labels", {})}},
        "spec": {"unschedulable": True} if changes.get("unschedulable") else {},
        "status": {"allocatable": {"cpu": "4", **changes.get("allocatable", {})}, "conditions": [ready]},
    }


def pod(name: str, cpu: str = "1", *, on: str = "n1", managed: bool = False, heartbeat: int = 0) -> Manifest:
    labels = {"kueue.x-k8s.io/podset": "main"} if managed else {}
    return {
        "metadata": {"name": name, "namespace": "team", "labels": labels},
        "spec": {"nodeName": on, "containers": [{"name": "c", "resources": {"requests": {"cpu": cpu}}}]},
        "status": {"phase": "Running", "conditions": [{"type": "Ready", "lastProbeTime": str(heartbeat)}]},
    }


def queue(name: str, *resources: str, on: str = "batch", usage: int = 0) -> Manifest:
    quotas = [{"name": each, "nominalQuota": "5"} for each in resources]
    group = {"coveredResources": list(resources), "flavors": [{"name": on, "resources": quotas}]}
    return {
        "metadata": {"name": name},
        "spec": {"resourceGroups": [group] if resources else []},
        "status": {"pendingWorkloads": usage},
    }
