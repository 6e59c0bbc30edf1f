"""The aggregator over a cluster without a server, in virtual time."""

from __future__ import annotations

import asyncio
import contextlib
import datetime
import json
import random
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping
from typing import Any, cast

from prometheus_client import CollectorRegistry

from kueue_dqo.api import dqo
from kueue_dqo.api.gpu import GPU
from kueue_dqo.api.parameters import NvidiaGpuParametersSpec
from kueue_dqo.provider import Environment, Observation
from kueue_dqo.runtime.cache_metrics import CacheMetrics
from kueue_dqo.runtime.client import Client
from kueue_dqo.runtime.errors import Answered, Conflict
from kueue_dqo.runtime.resources import NODE_GPU_REPORTS, NODES
from providers.nodes.claims import Claim
from providers.nvidia_gpu.source import NvidiaGpu
from tests.unit.kueue_dqo.runtime.virtual_time import VirtualClock
from tests.unit.providers.node_inventory import cluster as plain
from tests.unit.providers.node_inventory.cluster import FakeClient
from tests.unit.providers.nvidia_gpu.gpus import PUBLISHED, Manifest, asks, flavor, manifest


class _DeletingClient:
    """What caches and the sweep use of a client."""

    def __init__(self, fake: FakeClient) -> None:
        self._fake = fake
        self.deleted: list[str] = []
        self.refusal: Answered | None = None

    def pages(self, path: str, **more: Any) -> AsyncIterator[bytes]:
        return self._fake.pages(path, **more)

    def lines(self, path: str, **more: Any) -> AsyncGenerator[bytes, None]:
        return self._fake.lines(path, **more)

    async def delete(self, path: str, *, body: bytes) -> bytes:
        """As the API server does it: the preconditions are checked."""
        if self.refusal is not None:
            raise self.refusal
        name = path.rpartition("/")[2]
        metadata = self._fake.of(NODE_GPU_REPORTS).objects[name]["metadata"]
        wanted = json.loads(body)["preconditions"]
        if wanted != {"uid": metadata["uid"], "resourceVersion": metadata["resourceVersion"]}:
            raise Conflict(method="DELETE", path=path, code=409, reason="Conflict", message="precondition failed")
        self.deleted.append(name)
        self._fake.delete(NODE_GPU_REPORTS, name)
        return b""


class Watched:
    """The source in a process, with a cluster of one node flavor, `h100`."""

    def __init__(self) -> None:
        self.client = FakeClient(NODE_GPU_REPORTS)
        self.deleting = _DeletingClient(self.client)
        self.clock = VirtualClock()
        self.registry = CollectorRegistry()
        self.looks: list[float] = []
        """When the source asked to be asked."""
        self.source = NvidiaGpu(
            Environment(
                client=cast("Client", self.deleting),
                clock=self.clock,
                random=random.Random(1),
                registry=self.registry,
                cache_metrics=CacheMetrics(self.registry),
                look=lambda: self.looks.append(self.clock.monotonic()),
            )
        )

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
        parameters: NvidiaGpuParametersSpec | None = None,
        *,
        name: str = "mine",
        peers: tuple[str, ...] = (),
        status: dqo.CapacityProviderStatus = PUBLISHED,
    ) -> Observation:
        """Asks about a provider; its peers claim another flavor each."""
        others = [Claim(each, (f"of-{each}",)) for each in peers if each != name]
        request = asks(
            {"h100": flavor("h100")},
            Claim(name, ("h100",)),
            others,
            parameters=parameters,
            now=self.clock.now(),
            status=status,
        )
        return await self.source.observe(request)

    async def looks_after(self, change: Callable[[], None]) -> int:
        """How often the source asks to be asked because of the change, once it has calmed down."""
        await asyncio.sleep(10)
        before = len(self.looks)
        change()
        await asyncio.sleep(10)
        return len(self.looks) - before

    def report(self, name: str = "n1", *, before: float = 0, **more: Any) -> None:
        """The agent of a node writes its report, so many seconds ago by the clock of the API server."""
        renewed = self.clock.now() - datetime.timedelta(seconds=before)
        self.client.put(NODE_GPU_REPORTS, manifest(name, renewed=renewed, **more))

    def add(self, *names: str) -> None:
        """Nodes with GPUs, each with its agent."""
        for name in names:
            self.client.put(NODES, node(name))
            self.report(name)

    def metric(self, name: str, **labels: str) -> float | None:
        return self.registry.get_sample_value(f"kueue_dqo_nvidia_gpu_{name}", labels)


def node(name: str = "n1", has: Mapping[str, str] | None = None, **changes: Any) -> Manifest:
    """A node of the flavor with 8 GPUs; `changes` as of the node inventory's."""
    return plain.node(name, allocatable={GPU: "8"} if has is None else dict(has), **changes)


def pod(name: str, gpus: int, *, on: str, managed: bool = True) -> Manifest:
    content = plain.pod(name, on=on, managed=managed)
    content["spec"]["containers"][0]["resources"]["requests"] = {GPU: str(gpus)}
    return content
