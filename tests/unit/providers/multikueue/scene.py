"""A manager without a server whose workers have one each, and the source that reads them all."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import dataclasses
import random
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from functools import partial
from typing import Any, Final, cast

from prometheus_client import CollectorRegistry

from kueue_dqo.api.meta import KUEUE_GROUP
from kueue_dqo.api.multikueue import MultiKueueParametersSpec
from kueue_dqo.provider import CapacityError, Environment, Observation
from kueue_dqo.runtime.cache_metrics import CacheMetrics
from kueue_dqo.runtime.client import Client
from kueue_dqo.runtime.clock import SystemClock
from kueue_dqo.runtime.errors import Forbidden
from kueue_dqo.runtime.resources import (
    ADMISSION_CHECKS,
    CLUSTER_QUEUES,
    LOCAL_QUEUES,
    MULTI_KUEUE_CLUSTERS,
    MULTI_KUEUE_CONFIGS,
    SECRETS,
    Resource,
)
from providers.multikueue.source import MultiKueue
from tests.unit.providers.multikueue.manager_objects import listed, provider, request
from tests.unit.providers.multikueue.worker_api import WorkerApi, kubeconfig, local_queue, queue
from tests.unit.providers.node_inventory.cluster import Collection, FakeClient

DEADLINE: Final = 20.0
_SECRETS: Final = SECRETS.path(namespace="ours")


class ManagerClient(FakeClient):
    """With Secrets of one namespace, of which watches can be refused."""

    def __init__(self) -> None:
        super().__init__(MULTI_KUEUE_CLUSTERS, MULTI_KUEUE_CONFIGS, ADMISSION_CHECKS, LOCAL_QUEUES)
        self.collections[_SECRETS] = Collection()
        self.may_watch_secrets = True

    def of(self, resource: Resource) -> Collection:
        return self.collections[_SECRETS] if resource == SECRETS else super().of(resource)

    async def lines(self, path: str, *, on_open: Callable[[], None], **others: Any) -> AsyncGenerator[bytes, None]:
        if path == _SECRETS and not self.may_watch_secrets:
            raise Forbidden(method="GET", path=path, code=403, reason="Forbidden", message="cannot watch secrets")
        async with contextlib.aclosing(super().lines(path, on_open=on_open, **others)) as lines:
            async for line in lines:
                yield line


class Scene:
    """A manager's queue `team` that leads to these workers, on each of which its namesake has some cpu."""

    def __init__(self, **workers: int) -> None:
        self.client = ManagerClient()
        self.registry = CollectorRegistry()
        self.looks = 0
        self.workers = {name: WorkerApi() for name in workers}
        for name, cpu in workers.items():
            self.quota(name, cpu)
            self.workers[name].put("localqueues", local_queue("lq", "team"))
        checks = {"admissionChecks": [{"name": "mk"}]}
        self.client.put(
            CLUSTER_QUEUES, {"metadata": {"name": "team"}, "spec": {"admissionChecksStrategy": checks}, "status": {}}
        )
        self.client.put(LOCAL_QUEUES, local_queue("lq", "team"))
        ref = {"apiGroup": KUEUE_GROUP, "kind": "MultiKueueConfig", "name": "config"}
        spec = {"controllerName": "kueue.x-k8s.io/multikueue", "parameters": ref}
        self.client.put(ADMISSION_CHECKS, {"metadata": {"name": "mk"}, "spec": spec})
        self.name_workers(*workers)
        self.source = MultiKueue(
            Environment(
                client=cast("Client", self.client),
                clock=SystemClock(),
                random=random.Random(1),
                registry=self.registry,
                cache_metrics=CacheMetrics(self.registry),
                look=self._look,
                namespace="ours",
                settings={"allow-insecure-tls": True},
            )
        )

    def _look(self) -> None:
        self.looks += 1

    def quota(self, worker: str, cpu: int) -> None:
        content = queue("team", cpu)
        content["metadata"]["uid"] = f"of-{worker}"
        self.workers[worker].put("clusterqueues", content)

    def name_workers(self, *names: str) -> None:
        """The MultiKueueConfig names these."""
        self.client.put(MULTI_KUEUE_CONFIGS, {"metadata": {"name": "config"}, "spec": {"clusters": list(names)}})

    def connect(self, name: str) -> None:
        """Creates the MultiKueueCluster, and the Secret that it names."""
        text = base64.b64encode(kubeconfig(self.workers[name])).decode()
        metadata = {"name": name, "namespace": "ours"}
        self.client.put(SECRETS, {"metadata": metadata, "data": {"kubeconfig": text}})
        source = {"kubeConfig": {"location": name, "locationType": "Secret"}}
        self.client.put(MULTI_KUEUE_CLUSTERS, {"metadata": {"name": name}, "spec": {"clusterSource": source}})

    @contextlib.asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        async with contextlib.AsyncExitStack() as stack:
            for name, api in self.workers.items():
                await stack.enter_async_context(api.running())
                self.connect(name)
            task = asyncio.create_task(self.source.run())
            try:
                yield
            finally:
                task.cancel()
                with contextlib.suppress(asyncio.CancelledError):
                    await task

    async def observe(self, spec: MultiKueueParametersSpec | None = None, name: str = "fleet") -> Observation:
        asked = dataclasses.replace(request(spec or listed("team")), provider=provider(name), now=SystemClock().now())
        async with asyncio.timeout(DEADLINE):
            return await self.source.observe(asked)

    async def error(self) -> str:
        """Why nothing is observed; empty where something is."""
        try:
            await self.observe()
        except CapacityError as error:
            return str(error)
        return ""

    async def error_with(self, words: str) -> str:
        """The error that says so; it is asked anew whenever the source wants it."""
        async with asyncio.timeout(DEADLINE):
            looks = self.looks
            while words not in (found := await self.error()):
                await eventually(partial(self._has_looked_since, looks))
                looks = self.looks
        return found

    async def until(self, summary: str) -> Observation:
        """The observation that says so; it is asked anew whenever the source wants it."""
        async with asyncio.timeout(DEADLINE):
            while True:
                looks = self.looks
                with contextlib.suppress(CapacityError):
                    found = await self.observe()
                    if summary in found.summary:
                        return found
                await eventually(partial(self._has_looked_since, looks))

    def _has_looked_since(self, looks: int) -> bool:
        return self.looks != looks


async def eventually(holds: Callable[[], object]) -> None:
    async with asyncio.timeout(DEADLINE):
        while not holds():  # noqa: ASYNC110 - nobody tells
            await asyncio.sleep(0.01)
