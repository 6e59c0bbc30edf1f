"""Two replicas of every provider: one observes and writes, the other goes on where that one has died."""

from __future__ import annotations

from typing import Final

from tests.controlplane.processes import eventually
from tests.integration.daemons import NAMESPACE, QUICK_ELECTION, Daemon
from tests.integration.objects import PROVIDERS, provider
from tests.integration.providers.adapter import Adapter
from tests.integration.providers.scenes import (
    GPU,
    LEASES,
    POOL,
    history_of_providers,
    message,
    observations,
    published_in,
    wait_published,
    wait_told,
)

H100: Final = f"h100/{GPU}"
_REPLICAS: Final = ("first", "second")


def _holder(adapter: Adapter) -> str:
    """The replica that leads, empty for none."""
    leases = {each["metadata"]["name"]: each for each in adapter.plane.admin.items(LEASES)}
    lease = leases.get(f"kueue-dqo-{adapter.command}", {"spec": {}})
    return str(lease["spec"].get("holderIdentity") or "").rpartition("_")[0]


def _start(adapter: Adapter) -> dict[str, Daemon]:
    daemons = {name: adapter.start(name, environment=QUICK_ELECTION) for name in _REPLICAS}
    eventually(lambda: _holder(adapter) in daemons, "one leads")
    return daemons


def _other(name: str) -> str:
    return _REPLICAS[1 - _REPLICAS.index(name)]


def test_a_second_replica_only_waits(alone: Adapter) -> None:
    """It asks no source, writes nothing and has no series; asked to go, the leader hands over."""
    daemons = _start(alone)
    history = history_of_providers(alone.plane)
    alone.begin({"h100": {GPU: 80}})
    wait_published(alone.plane, {H100: 80})
    leader = _holder(alone)
    follower = daemons[_other(leader)]
    assert len([each for each in history.versions() if each.key.name == POOL]) == 2  # created, published
    assert observations(follower) == 0
    assert "kueue_dqo_provider_published_capacity{" not in follower.get("/metrics")[1]
    assert follower.get("/readyz")[0] == 200
    before = history_of_providers(alone.plane)
    daemons[leader].server.stop()
    assert [each["event"] for each in daemons[leader].logs()][-2:] == ["lease released", "drained"]
    eventually(lambda: observations(follower) > 0, "the other one has looked")
    assert _holder(alone) == _other(leader)
    assert [each for each in before.versions() if each.key.name == POOL] == []
    alone.say({"h100": {GPU: 88}})
    wait_published(alone.plane, {H100: 88})


def test_a_leader_is_killed_while_its_guard_holds(alone: Adapter) -> None:
    """The other goes on from what is published, and holds no longer than the first one would have."""
    daemons = _start(alone)
    alone.begin({"h100": {GPU: 80}}, guards={"fallAfter": "1h"})
    wait_published(alone.plane, {H100: 80})
    alone.say({"h100": {GPU: 72}})
    said = wait_published(alone.plane, {H100: 80}, "holding h100 until", "observed 72")
    leader = _holder(alone)
    history = history_of_providers(alone.plane)
    daemons[leader].server.kill()
    eventually(lambda: observations(daemons[_other(leader)]) > 0, "the other one has looked")
    assert message(alone.plane) == said
    assert [each for each in history.versions() if each.key.name == POOL] == []
    lease = alone.plane.admin.get(f"{LEASES}/{POOL}")
    eventually(
        lambda: alone.plane.admin.get(f"{LEASES}/{POOL}")["spec"]["holderIdentity"].startswith(_other(leader)),
        f"the sign of life in {NAMESPACE} is the other one's, not that of {lease['spec']['holderIdentity']}",
    )
    alone.say({"h100": {GPU: 88}})
    wait_published(alone.plane, {H100: 88})
    assert published_in(history.versions()) == [{H100: "88"}]
    managers = alone.plane.admin.get(f"{PROVIDERS}/{POOL}")["metadata"]["managedFields"]
    assert f"kueue-dqo-{alone.command}" in {each["manager"] for each in managers}


def test_a_provider_named_like_another_daemon_leaves_it_its_election(alone: Adapter) -> None:
    """Its sign of life would be the Lease of that name, also where that daemon has not run yet."""
    plane, name = alone.plane, "kueue-dqo-orchestrator"
    alone.start(environment=QUICK_ELECTION)
    alone.begin({"h100": {GPU: 80}})
    plane.admin.apply(provider(name, "h100", controller=alone.controller, parameters=alone.parameters()))
    wait_told(plane, "LeaseOfAnother", "rename the provider", name=name)
    names = [each["metadata"]["name"] for each in plane.admin.items(LEASES)]
    assert name not in names
