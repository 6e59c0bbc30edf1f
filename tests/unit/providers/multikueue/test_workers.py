"""The workers of a process: which of them are followed, and who waits for whom."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator
from functools import partial
from pathlib import Path
from typing import cast

import pytest
from prometheus_client import CollectorRegistry

from kueue_dqo.api.kueue import ClusterSource, KubeConfigLocation, MultiKueueCluster, MultiKueueClusterSpec
from kueue_dqo.api.meta import ObjectMeta
from kueue_dqo.provider import Environment
from kueue_dqo.runtime.cache_metrics import CacheMetrics
from kueue_dqo.runtime.client import Client
from kueue_dqo.runtime.clock import SystemClock
from providers.multikueue import location_watches
from providers.multikueue.kinds import ALWAYS
from providers.multikueue.objects import Problem, WorkerView
from providers.multikueue.workers import Workers
from tests.unit.providers.multikueue.scene import DEADLINE, eventually
from tests.unit.providers.multikueue.worker_api import WorkerApi, kubeconfig, queue

NAMES = ("oslo", "paris")


class Followed:
    """Two workers with an API server and a kubeconfig in a file each."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.registry = CollectorRegistry()
        self.apis = {name: WorkerApi() for name in NAMES}
        self.workers = Workers(
            Environment(
                client=cast("Client", None),
                clock=SystemClock(),
                random=random.Random(1),
                registry=self.registry,
                cache_metrics=CacheMetrics(self.registry),
                look=lambda: None,
                settings={"allow-insecure-tls": True, "kubeconfig-folder": str(folder)},
            )
        )

    def want(self, *names: str, there: tuple[str, ...] = NAMES) -> None:
        """These are needed, and of all MultiKueueClusters those are there."""
        self.workers.want(dict.fromkeys(names, ALWAYS), {name: self._cluster(name) for name in there})

    def _cluster(self, name: str) -> MultiKueueCluster:
        path = self.folder / name
        path.write_bytes(kubeconfig(self.apis[name]))
        source = ClusterSource(kube_config=KubeConfigLocation(str(path), "Path"))
        return MultiKueueCluster(ObjectMeta(name=name), MultiKueueClusterSpec(source))

    def seen(self, name: str) -> WorkerView | Problem:
        return self.workers.sighting(name, ALWAYS).seen

    async def read(self, *names: str) -> None:
        async with asyncio.timeout(DEADLINE):
            await self.workers.wait_read(names, ALWAYS)
        for name in names:
            assert isinstance(self.seen(name), WorkerView)
            await eventually(partial(self._is_watched, name))

    def _is_watched(self, name: str) -> bool:
        return self.apis[name].watchers == 2

    def requests(self, name: str) -> float | None:
        labels = {"worker": name, "code": "200", "method": "GET"}
        return self.registry.get_sample_value("kueue_dqo_multikueue_worker_requests_total", labels)


@pytest.fixture
async def followed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Followed]:
    monkeypatch.setattr(location_watches, "_LOOK_EVERY", 0.01)
    found = Followed(tmp_path)
    async with found.apis["oslo"].running(), found.apis["paris"].running():
        task = asyncio.create_task(found.workers.run())
        yield found
        task.cancel()
        await asyncio.wait({task}, timeout=DEADLINE)
        assert task.cancelled()


async def test_only_workers_that_are_needed_are_followed(followed: Followed) -> None:
    followed.want("oslo")
    await followed.read("oslo")
    assert followed.apis["paris"].lists == []
    followed.want("paris")
    await followed.read("paris")
    await eventually(lambda: followed.apis["oslo"].watchers == 0)
    found = followed.seen("oslo")
    assert isinstance(found, Problem)
    assert found.text == "it is not followed any more"


async def test_a_question_waits_for_those_that_it_is_about(followed: Followed) -> None:
    """Another one may not answer."""
    followed.apis["paris"].answers.clear()
    followed.want(*NAMES)
    async with asyncio.timeout(5):
        await followed.read("oslo")
    assert followed.apis["paris"].lists == []


async def test_a_question_does_not_wait_for_a_worker_that_is_let_go(followed: Followed) -> None:
    followed.apis["paris"].answers.clear()
    followed.want("paris")
    waiting = asyncio.create_task(followed.workers.wait_read(["paris"], ALWAYS))
    await eventually(lambda: followed.apis["paris"].asked)
    followed.want()
    done, _ = await asyncio.wait({waiting}, timeout=5)
    assert done


async def test_a_cluster_that_is_deleted_is_let_go_at_once(followed: Followed) -> None:
    """Its credentials are none that anybody names any more; what comes back may be another cluster."""
    followed.want("oslo")
    await followed.read("oslo")
    stamp = followed.workers.sighting("oslo", ALWAYS).stamp
    followed.want("oslo", there=())
    await eventually(lambda: followed.apis["oslo"].watchers == 0)
    followed.apis["oslo"].put("clusterqueues", queue("new", 1))
    followed.want("oslo")
    found = followed.seen("oslo")
    assert isinstance(found, Problem)
    assert found.text == "its kubeconfig is being read"
    await followed.read("oslo")
    assert followed.workers.sighting("oslo", ALWAYS).stamp[0] != stamp[0]


async def test_requests_to_a_worker_that_is_let_go_are_counted_no_more(followed: Followed) -> None:
    """Of fleets whose workers come and go, the series would never end."""
    followed.want(*NAMES)
    await followed.read(*NAMES)
    followed.want("paris")
    await eventually(lambda: followed.requests("oslo") is None)
    assert (followed.requests("paris") or 0) >= 4
