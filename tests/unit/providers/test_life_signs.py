"""Signs of life: whose Leases are renewed, how often, and which are left alone."""

from __future__ import annotations

import asyncio
import itertools
import json
import random
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

import pytest

from kueue_dqo.api import dqo
from kueue_dqo.api.meta import ObjectMeta
from kueue_dqo.runtime.errors import Conflict, NotFound, ServerFailed
from kueue_dqo.runtime.resources import CONTROLLER_LABEL
from providers.life_signs import INTERVAL, LifeSigns, label_of
from tests.unit.kueue_dqo.runtime.virtual_time import VirtualClock
from tests.unit.providers.publishing import Told

pytestmark = pytest.mark.looptime

COLLECTION = "/apis/coordination.k8s.io/v1/namespaces/here/leases"
LABEL = "example.com.test"


class Leases:
    """An API server's, with their versions."""

    def __init__(self) -> None:
        self.objects: dict[str, dict[str, Any]] = {}
        self.writes: list[tuple[str, float]] = []
        self.requests = 0
        self.broken: set[str] = set()
        self._version = 0

    async def get(self, path: str, /, *, timeout: float) -> bytes:  # noqa: ASYNC109 - as the client
        self._ask(path, timeout)
        name = path.removeprefix(f"{COLLECTION}/")
        if name not in self.objects:
            raise NotFound(method="GET", path=path, code=404)
        return json.dumps(self.objects[name]).encode()

    async def create(self, path: str, body: bytes, /, *, timeout: float) -> bytes:  # noqa: ASYNC109 - as the client
        self._ask(path, timeout)
        lease = json.loads(body)
        assert path == COLLECTION
        assert lease["metadata"]["namespace"] == "here"
        if lease["metadata"]["name"] in self.objects:
            raise Conflict(method="POST", path=path, code=409)
        return self._store(lease)

    async def replace(self, path: str, body: bytes, /, *, timeout: float) -> bytes:  # noqa: ASYNC109 - as the client
        self._ask(path, timeout)
        lease = json.loads(body)
        old = self.objects.get(lease["metadata"]["name"])
        if old is None:
            raise NotFound(method="PUT", path=path, code=404)
        if old["metadata"]["resourceVersion"] != lease["metadata"]["resourceVersion"]:
            raise Conflict(method="PUT", path=path, code=409)
        return self._store(lease)

    def edit(self, name: str, **parts: Any) -> None:
        """As others do it."""
        old = self.objects.get(name, {"metadata": {"name": name, "namespace": "here"}, "spec": {}})
        metadata = old["metadata"] | parts.pop("metadata", {})
        self._store({**old, **parts, "metadata": metadata}, by_us=False)

    def times(self, name: str) -> list[float]:
        return [at for written, at in self.writes if written == name]

    def _ask(self, path: str, limit: float) -> None:
        assert limit == 4
        self.requests += 1
        if path.rpartition("/")[2] in self.broken:
            raise ServerFailed(method="GET", path=path, code=500)

    def _store(self, lease: dict[str, Any], *, by_us: bool = True) -> bytes:
        self._version += 1
        lease["metadata"]["resourceVersion"] = str(self._version)
        name = lease["metadata"]["name"]
        self.objects[name] = lease
        if by_us:
            self.writes.append((name, asyncio.get_running_loop().time()))
        return json.dumps(lease).encode()


class Living:
    """What a process serves, and the signs of it."""

    def __init__(self, *names: str) -> None:
        self.names = {name: f"uid-{name}" for name in names}
        self.dead: set[str] = set()
        self.leases = Leases()
        self.told = Told()
        self.signs = LifeSigns(
            self.leases,
            self,
            namespace="here",
            identity="pod_1",
            controller_name="example.com/test",
            timeout=4,
            events=self.told.recorder,
            clock=VirtualClock(),
            random=random.Random(1),
        )

    def served(self) -> Mapping[str, dqo.CapacityProvider]:
        spec = dqo.CapacityProviderSpec("example.com/test", ())
        return {name: dqo.CapacityProvider(ObjectMeta(name, uid), spec) for name, uid in self.names.items()}

    def is_alive(self, name: str) -> bool:
        return name not in self.dead

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        async with asyncio.TaskGroup() as group:
            task = group.create_task(self.signs.run())
            yield
            task.cancel()


async def test_each_provider_has_a_lease_that_is_renewed() -> None:
    """About every 15 s, each at times of its own, by one request."""
    living = Living("a", "b")
    async with living.running():
        await asyncio.sleep(1)
        lease = living.leases.objects["a"]
        assert lease["metadata"]["labels"] == {CONTROLLER_LABEL: LABEL}
        assert lease["metadata"]["ownerReferences"] == [
            {"apiVersion": "kueue.x-k8s.io/v1alpha1", "kind": "CapacityProvider", "name": "a", "uid": "uid-a"}
        ]
        assert lease["spec"] == {
            "holderIdentity": "pod_1",
            "leaseDurationSeconds": 60,
            "acquireTime": "2026-01-01T00:00:00.000000Z",
            "renewTime": "2026-01-01T00:00:00.000000Z",
            "leaseTransitions": 0,
        }
        await asyncio.sleep(3600)
    for name in ("a", "b"):
        pauses = [after - before for before, after in itertools.pairwise(living.leases.times(name))]
        assert 0.8 * INTERVAL <= min(pauses) < max(pauses) <= INTERVAL + 0.1
    assert not set(living.leases.times("a")[1:]) & set(living.leases.times("b")[1:])
    assert living.leases.requests == len(living.leases.writes) + 2


async def test_a_provider_that_is_not_looked_after_gives_no_sign() -> None:
    """And at once again when it is."""
    living = Living("a", "b")
    async with living.running():
        await asyncio.sleep(1)
        living.dead.add("a")
        await asyncio.sleep(3600)
        assert len(living.leases.times("a")) == 1
        assert len(living.leases.times("b")) > 200
        living.dead.clear()
        living.signs.wake()
        await asyncio.sleep(0.1)
        assert len(living.leases.times("a")) == 2


async def test_a_provider_that_comes_later_need_not_wait() -> None:
    living = Living()
    async with living.running():
        await asyncio.sleep(1)
        living.names["new"] = "uid"
        living.signs.wake()
        await asyncio.sleep(0.1)
        assert living.leases.times("new") == [1.0]


async def test_a_lease_that_is_not_labelled_so_is_never_taken() -> None:
    """It is told, once, and taken when its owner has deleted it."""
    living = Living("a")
    living.leases.edit("a", spec={"holderIdentity": "somebody"}, metadata={"labels": {CONTROLLER_LABEL: "other"}})
    async with living.running():
        await asyncio.sleep(3600)
        assert living.leases.times("a") == []
        (event,) = living.told.events
        assert (event.name, event.type, event.reason) == ("a", "Warning", "LeaseOfAnother")
        assert "Lease here/a is not labelled kueue-dqo.dev/controller-name=example.com.test" in event.message
        del living.leases.objects["a"]
        await asyncio.sleep(INTERVAL + 1)
        assert len(living.leases.times("a")) == 1


@pytest.mark.parametrize("name", ["kueue-dqo-orchestrator", "kueue-dqo-manual", "kueue-dqo-rack-power"])
async def test_a_provider_named_like_a_daemon_has_no_sign_of_life(name: str) -> None:
    """The Lease of that name is the one by which the daemon's replicas elect their leader, also before it first ran."""
    living = Living(name, "a")
    async with living.running():
        await asyncio.sleep(3600)
    assert list(living.leases.objects) == ["a"]
    (event,) = living.told.events
    assert (event.name, event.type, event.reason) == (name, "Warning", "LeaseOfAnother")
    assert "begin with kueue-dqo- are those by which daemons elect their leaders" in event.message
    assert event.message.endswith("; rename the provider")


async def test_the_lease_of_another_replica_is_taken_over() -> None:
    """It leads no more. Whatever else is in the Lease stays."""
    living = Living("a")
    metadata = {"labels": {CONTROLLER_LABEL: LABEL, "x": "y"}, "uid": "7", "managedFields": [{"manager": "m"}]}
    living.leases.edit("a", spec={"holderIdentity": "pod_0", "leaseTransitions": 3}, metadata=metadata)
    async with living.running():
        await asyncio.sleep(1)
    lease = living.leases.objects["a"]
    assert (lease["spec"]["holderIdentity"], lease["spec"]["leaseTransitions"]) == ("pod_1", 4)
    assert lease["metadata"]["labels"] == {CONTROLLER_LABEL: LABEL, "x": "y"}
    assert lease["metadata"]["uid"] == "7"
    assert "managedFields" not in lease["metadata"]


async def test_a_lease_that_others_change_or_delete_is_made_good() -> None:
    living = Living("a")
    async with living.running():
        await asyncio.sleep(1)
        living.leases.edit("a", spec={"holderIdentity": "somebody"})
        await asyncio.sleep(INTERVAL)
        assert living.leases.objects["a"]["spec"]["holderIdentity"] == "pod_1"
        del living.leases.objects["a"]
        await asyncio.sleep(INTERVAL)
        assert living.leases.objects["a"]["spec"]["holderIdentity"] == "pod_1"


async def test_a_provider_that_is_created_anew_owns_its_lease() -> None:
    """At once; else the Lease would go with its predecessor."""
    living = Living("a")
    async with living.running():
        await asyncio.sleep(1)
        living.names["a"] = "another"
        living.signs.wake()
        await asyncio.sleep(0.1)
    assert living.leases.objects["a"]["metadata"]["ownerReferences"][0]["uid"] == "another"


async def test_a_lease_that_cannot_be_written_holds_up_no_other() -> None:
    living = Living("a", "b")
    living.leases.broken.add("a")
    async with living.running():
        await asyncio.sleep(300)
        assert living.leases.times("a") == []
        assert len(living.leases.times("b")) >= 20
        living.leases.broken.clear()
        await asyncio.sleep(INTERVAL)
        assert len(living.leases.times("a")) == 1


async def test_a_provider_that_is_served_no_more_lets_its_lease_go() -> None:
    """Nobody is to be alarmed by it."""
    living = Living("a", "b")
    async with living.running():
        await asyncio.sleep(1)
        del living.names["a"]
        await asyncio.sleep(100)
    assert living.leases.objects["a"]["spec"]["holderIdentity"] is None
    assert living.leases.objects["a"]["spec"]["leaseDurationSeconds"] is None
    assert len(living.leases.times("a")) == 2


@pytest.mark.parametrize(
    ("name", "label"),
    [
        ("kueue-dqo.dev/node-inventory", "kueue-dqo.dev.node-inventory"),
        ("x" * 62 + "/y", "x" * 62),
        ("a b/c:", "a-b.c-"),
    ],
)
def test_a_controller_name_becomes_a_label(name: str, label: str) -> None:
    """At most 63 characters, letters and digits at its ends."""
    assert label_of(name) == label.strip("-")
