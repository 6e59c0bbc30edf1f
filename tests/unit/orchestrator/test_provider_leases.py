"""A provider's Lease is its sign of life: judged by when it was seen to change, never by the clocks of others."""

from __future__ import annotations

import asyncio
import json
import random
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any, cast

import pytest
from prometheus_client import CollectorRegistry

from kueue_dqo.runtime.client import Client
from kueue_dqo.runtime.resources import CONTROLLER_LABEL
from orchestrator.metrics import OrchestratorMetrics
from orchestrator.provider_leases import ProviderLeases
from tests.unit.kueue_dqo.runtime.virtual_time import VirtualClock
from tests.unit.orchestrator.builders import provider
from tests.unit.orchestrator.watched import OBSERVES, Known, Told

pytestmark = pytest.mark.looptime

EXPIRED = "kueue_dqo_provider_lease_expired"


class LeaseStream:
    """A client whose watch tells of the Leases that a test writes. It begins with none."""

    def __init__(self) -> None:
        self.lines_to_come: asyncio.Queue[bytes] = asyncio.Queue()
        self.asked: list[tuple[str, str]] = []
        self._version = 1

    def write(self, name: str, /, kind: str = "MODIFIED", **spec: Any) -> None:
        self._version += 1
        metadata = {"name": name, "namespace": "here", "resourceVersion": str(self._version), "uid": name}
        lease = {"metadata": metadata, "spec": {"holderIdentity": "pod", "leaseDurationSeconds": 20, **spec}}
        self.lines_to_come.put_nowait(json.dumps({"type": kind, "object": lease}).encode())

    async def pages(self, path: str, *, params: dict[str, str], **_: Any) -> AsyncIterator[bytes]:
        self.asked.append((path, params["labelSelector"]))
        yield b'{"metadata": {"resourceVersion": "1"}, "items": []}'

    async def lines(self, *_: Any, on_open: Callable[[], None], **__: Any) -> AsyncGenerator[bytes, None]:
        on_open()
        while True:
            yield await self.lines_to_come.get()


class Watching:
    """The watch over the Lease of `pool`, which is a provider."""

    def __init__(self) -> None:
        self.leases = LeaseStream()
        self.known = Known(OBSERVES)
        self.known.providers["pool"] = provider("pool", {"default": {"cpu": 1}})
        self.told = Told()
        self.registry = CollectorRegistry()
        self.watch = ProviderLeases(
            cast("Client", self.leases),
            self.known.cluster,
            namespace="here",
            events=self.told.recorder,
            clock=VirtualClock(),
            random=random.Random(1),
            metrics=OrchestratorMetrics(self.registry),
        )

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(work) for work in (self.watch.run(), self.watch.tell())]
            yield
            for task in tasks:
                task.cancel()

    def expired(self, name: str = "pool") -> float | None:
        return self.registry.get_sample_value(EXPIRED, {"provider": name})


async def test_a_lease_that_is_renewed_is_a_sign_of_life() -> None:
    watching = Watching()
    async with watching.running():
        for _ in range(100):
            watching.leases.write("pool")
            await asyncio.sleep(15)
            assert watching.expired() == 0
    assert watching.told.events == []
    assert watching.leases.asked == [("/apis/coordination.k8s.io/v1/namespaces/here/leases", CONTROLLER_LABEL)]


async def test_a_lease_that_is_not_renewed_expires_and_is_told_once() -> None:
    """At the first look after its own duration; times in the Lease do not matter."""
    watching = Watching()
    async with watching.running():
        watching.leases.write("pool", renewTime="2036-01-31T12:00:00.000000Z")
        await asyncio.sleep(19)
        assert watching.expired() == 0
        await asyncio.sleep(7)
        assert watching.expired() == 1
        await asyncio.sleep(3600)
        assert watching.expired() == 1
    (event,) = watching.told.events
    assert (event.name, event.reason) == ("pool", "ProviderExpired")
    assert "has not renewed its Lease for 20 s" in event.message


async def test_a_provider_that_comes_back_and_goes_again_is_told_again() -> None:
    watching = Watching()
    async with watching.running():
        for _ in range(2):
            watching.leases.write("pool")
            await asyncio.sleep(6)
            assert watching.expired() == 0
            await asyncio.sleep(60)
            assert watching.expired() == 1
    assert watching.told.reasons == ["ProviderExpired"] * 2


@pytest.mark.parametrize(("taken_after", "told"), [(10, 0), (40, 1)])
async def test_a_lease_that_was_given_back_waits_for_the_next_replica(taken_after: int, told: int) -> None:
    """A rollout is no death: it gives the Lease back with a duration of 1 s."""
    watching = Watching()
    async with watching.running():
        watching.leases.write("pool")
        await asyncio.sleep(10)
        watching.leases.write("pool", holderIdentity="", leaseDurationSeconds=1)
        await asyncio.sleep(taken_after)
        watching.leases.write("pool", holderIdentity="next")
        await asyncio.sleep(6)
        assert watching.expired() == 0
    assert len(watching.told.events) == told


async def test_an_alarm_ends_with_its_lease_or_its_provider() -> None:
    watching = Watching()
    watching.known.providers["other"] = provider("other", {"default": {"cpu": 1}})
    async with watching.running():
        watching.leases.write("pool")
        watching.leases.write("other")
        await asyncio.sleep(30)
        assert (watching.expired("pool"), watching.expired("other")) == (1, 1)
        watching.leases.write("pool", "DELETED")
        del watching.known.providers["other"]
        await asyncio.sleep(6)
        assert (watching.expired("pool"), watching.expired("other")) == (None, None)


async def test_a_replica_that_leads_no_more_leaves_no_alarm() -> None:
    """Another one tells from then on, and this one would never take it back."""
    watching = Watching()
    async with watching.running():
        watching.leases.write("pool")
        await asyncio.sleep(30)
        assert watching.expired() == 1
    assert watching.expired() is None


@pytest.mark.parametrize("spec", [{"holderIdentity": None}, {"leaseDurationSeconds": None}])
async def test_a_lease_that_nobody_has_held_says_nothing(spec: dict[str, Any]) -> None:
    """Neither does one of somebody else's, of which there is no provider."""
    watching = Watching()
    async with watching.running():
        watching.leases.write("pool", **spec)
        watching.leases.write("stranger")
        await asyncio.sleep(600)
        assert (watching.expired(), watching.expired("stranger")) == (None, None)
    assert watching.told.events == []
