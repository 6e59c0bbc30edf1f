"""The real manager of Kueue 0.19, whose webhooks judge every write."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.controlplane.kueue import install_crds, start_manager
from tests.controlplane.plane import ControlPlane
from tests.controlplane.processes import eventually
from tests.integration.daemons import Daemon, start_orchestrator
from tests.integration.objects import (
    QUEUES,
    cohort,
    condition,
    flavor,
    orchestrator,
    provider,
    publish,
    queue,
    wait_for_condition,
    wait_for_quotas,
)

UNKNOWN_TO_THE_WEBHOOK = {"matchExpressions": [{"key": "team", "operator": "Near", "values": ["a"]}]}
"""A selector that Kueue's definition lets pass and its webhook does not, in an object older than the webhook."""
REJECTED = "kueue_dqo_quota_writes_total"


@pytest.fixture(scope="module")
def manager(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    """A control plane with Kueue's manager and its webhooks, and a record of requests."""
    with ControlPlane(tmp_path_factory.mktemp("controlplane"), audit=True) as plane:
        install_crds(plane)
        plane.admin.apply(
            flavor("default"),
            cohort("old"),
            queue("refused", {"default": {"cpu": 10}}, cohort="old", namespaceSelector=UNKNOWN_TO_THE_WEBHOOK),
        )
        start_manager(plane)
        plane.admin.apply(
            cohort("teams"),
            queue("team-a", {"default": {"cpu": {"nominalQuota": 10, "lendingLimit": 8}}}, cohort="teams"),
            queue("team-b", {"default": {"cpu": {"nominalQuota": 20, "borrowingLimit": 2}}}, cohort="teams"),
            queue("alone", {"default": {"cpu": 3}}),
            provider("pool", "default"),
            provider("island", "default"),
            orchestrator("dqo", "pool", root=("Cohort", "teams")),
            orchestrator("other", "island", root=("ClusterQueue", "alone")),
        )
        yield plane


@pytest.fixture(scope="module")
def daemon(manager: ControlPlane) -> Daemon:
    """The orchestrator on it."""
    return start_orchestrator(manager)


def _publish(plane: ControlPlane, name: str, cpu: int) -> None:
    publish(plane, name, {"default": {"cpu": str(cpu)}})


def _quota(plane: ControlPlane, name: str) -> Any:
    held = plane.admin.get(f"{QUEUES}/{name}")["spec"]["resourceGroups"]
    return {key: value for key, value in held[0]["flavors"][0]["resources"][0].items() if key != "name"}


def test_quotas_follow_the_capacity_past_the_webhooks(manager: ControlPlane, daemon: Daemon) -> None:
    """A lendingLimit is never above the quota, and comes back with it; a queue without a cohort has no limits."""
    before = daemon.metric(REJECTED, result="refused")
    for cpu, quota_a, quota_b in (
        (48, {"nominalQuota": "16", "lendingLimit": "8"}, {"nominalQuota": "32", "borrowingLimit": "2"}),
        (9, {"nominalQuota": "3", "lendingLimit": "3"}, {"nominalQuota": "6", "borrowingLimit": "2"}),
        (0, {"nominalQuota": "0", "lendingLimit": "0"}, {"nominalQuota": "0", "borrowingLimit": "2"}),
        (300, {"nominalQuota": "100", "lendingLimit": "8"}, {"nominalQuota": "200", "borrowingLimit": "2"}),
    ):
        _publish(manager, "pool", cpu)
        _publish(manager, "island", cpu)
        wait_for_quotas(manager, team_a=cpu / 3, team_b=cpu * 2 / 3, alone=cpu)
        wait_for_condition(manager, "True", "QuotasDistributed")
        assert (_quota(manager, "team-a"), _quota(manager, "team-b")) == (quota_a, quota_b)
        assert _quota(manager, "alone") == {"nominalQuota": str(cpu)}
    assert daemon.metric(REJECTED, result="refused") == before


def _attempts(plane: ControlPlane, name: str) -> int:
    """How often the daemon has sent a write of the object."""
    return sum(
        1
        for event in plane.requests()
        if event["verb"] == "patch"
        and event["objectRef"]["resource"] == "clusterqueues"
        and event["objectRef"]["name"] == name
    )


def test_a_write_that_a_webhook_refuses_is_told_in_its_words_and_not_repeated(
    manager: ControlPlane, daemon: Daemon
) -> None:
    """The others go on. Another try comes with other quotas, or when the object was changed."""
    before = daemon.metric(REJECTED, result="refused")
    manager.admin.apply(
        queue("fine", {"default": {"cpu": 10}}, cohort="old"),
        provider("old-pool", "default"),
        orchestrator("old", "old-pool", root=("Cohort", "old")),
    )
    _publish(manager, "old-pool", 30)
    wait_for_condition(manager, "False", "WriteRejected", name="old")
    message = condition(manager, name="old")["message"]
    assert "ClusterQueue/refused" in message
    assert "vclusterqueue.kb.io" in message
    assert "not a valid selector operator" in message
    wait_for_quotas(manager, fine=15, refused=10)
    assert _attempts(manager, "refused") == 1
    for cpu in (60, 90, 120):  # the other orchestrator's capacity: passes that have nothing new for this object
        _publish(manager, "pool", cpu)
        wait_for_quotas(manager, team_a=cpu / 3)
    assert _attempts(manager, "refused") == 1
    _publish(manager, "old-pool", 40)
    wait_for_quotas(manager, fine=20, refused=10)
    eventually(lambda: _attempts(manager, "refused") == 2, "other quotas are tried")
    manager.admin.patch(f"{QUEUES}/refused", {"spec": {"namespaceSelector": {"matchExpressions": None}}})
    wait_for_quotas(manager, fine=20, refused=20)
    wait_for_condition(manager, "True", "QuotasDistributed", name="old")
    assert daemon.metric(REJECTED, result="refused") - before == 2
