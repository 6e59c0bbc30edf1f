"""Several orchestrators of ours, as objects: one of them writes to a subtree, and who that is changes for a cause."""

from __future__ import annotations

from typing import Final

import pytest

from kueue_dqo.api.quantity import NANOS
from tests.controlplane.plane import ControlPlane
from tests.controlplane.processes import eventually
from tests.integration.daemons import start_orchestrator
from tests.integration.history import History, Key
from tests.integration.objects import (
    APPLIED,
    COHORTS,
    ORCHESTRATORS,
    QUEUES,
    cohort,
    condition,
    nominal,
    orchestrator,
    provider,
    queue,
    wait_for_condition,
    wait_for_quotas,
)
from tests.integration.orchestrator.roads_and_rivals.scenes import capacity, versions, wait_seen

LOST: Final = "ConflictingDynamicQuotaOrchestrator"
COMPANY: Final = ("Cohort", "company")
RESEARCH: Final = ("Cohort", "research")
HOLDING: Final = ("Cohort", "holding")


@pytest.fixture
def company(plane: ControlPlane) -> ControlPlane:
    """Below `holding` stands `company`, below that `research` with one queue, and another queue beside it."""
    plane.admin.apply(
        cohort("holding"),
        cohort("company", parent="holding"),
        cohort("research", parent="company"),
        queue("models", {"default": {"cpu": 10}}, cohort="research"),
        queue("reports", {"default": {"cpu": 30}}, cohort="company"),
        provider("pool", "default"),
        provider("wide", "default"),
        orchestrator("low", "pool", root=RESEARCH),
    )
    capacity(plane, 20)
    return plane


def test_the_higher_root_takes_over_when_it_comes_and_hands_back_when_it_goes(company: ControlPlane) -> None:
    """Whether it is deleted or distributes no more. Each change costs each status a few writes, and then none."""
    daemon = start_orchestrator(company)
    wait_for_quotas(company, models=20, reports=30)
    wait_for_condition(company, "True", "QuotasDistributed", name="low")
    history = History(company)

    capacity(company, 400, "wide")
    company.admin.apply(orchestrator("high", "wide", root=COMPANY))
    wait_for_quotas(company, models=100, reports=300)
    wait_for_condition(company, "False", LOST, name="low")
    wait_for_condition(company, "True", "QuotasDistributed", name="high")
    assert "high (root Cohort/company) has precedence" in condition(company, name="low")["message"]
    assert condition(company, "EffectiveCapacityComputed", "low")["status"] == "True"

    company.admin.apply(orchestrator("high", "wide"))  # discovery only
    wait_for_quotas(company, models=20, reports=300)
    wait_for_condition(company, "True", "QuotasDistributed", name="low")
    eventually(lambda: condition(company, name="high") == {}, "it says nothing about quotas any more")

    company.admin.apply(orchestrator("high", "wide", root=COMPANY))
    wait_for_quotas(company, models=100, reports=300)
    wait_for_condition(company, "False", LOST, name="low")
    wait_for_condition(company, "True", "QuotasDistributed", name="high")

    company.admin.delete(f"{ORCHESTRATORS}/high")
    wait_for_quotas(company, models=20, reports=300)
    wait_for_condition(company, "True", "QuotasDistributed", name="low")
    capacity(company, 8)
    wait_for_quotas(company, models=8, reports=300)
    wait_seen(daemon, 8)
    writes = [version.key for version in history.versions() if version.obj is not None]
    # Four changes of who distributes, and one of the capacity.
    assert writes.count(Key("DynamicQuotaOrchestrator", "low")) <= 8
    assert writes.count(Key("ClusterQueue", "models")) <= 5
    assert writes.count(Key("ClusterQueue", "reports")) == 1


def test_the_winner_keeps_precedence_while_it_distributes_nothing(company: ControlPlane) -> None:
    """Its provider is not ready: quotas stay as they are, and the loser writes nothing although it could."""
    company.admin.apply(orchestrator("high", "wide", root=COMPANY))
    before = versions(company)
    daemon = start_orchestrator(company)
    wait_for_condition(company, "False", "EffectiveCapacityNotComputed", name="high")
    wait_for_condition(company, "False", LOST, name="low")
    wait_for_condition(company, "True", "Computed", "EffectiveCapacityComputed", "low")
    capacity(company, 200)
    wait_seen(daemon, 200)
    assert versions(company) == before
    capacity(company, 4, "wide")
    wait_for_quotas(company, models=1, reports=3)
    capacity(company, 8, "wide", is_ready=False)
    wait_for_condition(company, "False", "EffectiveCapacityNotComputed", name="high")
    before = versions(company)
    capacity(company, 100)
    wait_seen(daemon, 100)
    assert condition(company, name="low")["reason"] == LOST
    assert versions(company) == before


def test_a_third_one_on_top_is_above_both(company: ControlPlane) -> None:
    """And the losers say of both of them that they are above."""
    capacity(company, 400, "wide")
    company.admin.apply(orchestrator("high", "wide", root=COMPANY))
    daemon = start_orchestrator(company)
    wait_for_quotas(company, models=100, reports=300)
    company.admin.apply(orchestrator("top", "pool", "wide", root=HOLDING))
    wait_for_quotas(company, models=105, reports=315)
    wait_for_condition(company, "True", "QuotasDistributed", name="top")
    wait_for_condition(company, "False", LOST, name="high")
    wait_for_condition(company, "False", LOST, name="low")
    message = condition(company, name="low")["message"]
    assert "high (root Cohort/company)" in message
    assert "top (root Cohort/holding)" in message
    wait_seen(daemon, 400, "wide")
    before = versions(company, QUEUES, COHORTS, ORCHESTRATORS)
    capacity(company, 20)  # the same again
    company.admin.patch(f"{QUEUES}/models", {"metadata": {"labels": {"seen": "yes"}}})
    before[f"{QUEUES}/models"] = company.admin.get(f"{QUEUES}/models")["metadata"]["resourceVersion"]
    company.admin.delete(f"{ORCHESTRATORS}/low")
    del before[f"{ORCHESTRATORS}/low"]
    gone = "kueue_dqo_orchestrator_condition"
    eventually(lambda: daemon.metric(gone, orchestrator="low") == 0, "the daemon has seen all that")
    wait_seen(daemon, 400, "wide")
    assert versions(company, QUEUES, COHORTS, ORCHESTRATORS) == before


def test_on_one_root_the_older_one_distributes(company: ControlPlane) -> None:
    """Then the one with the smaller UID. It stays so over a restart."""
    company.admin.delete(f"{ORCHESTRATORS}/low")
    for name in ("one", "two", "three"):
        company.admin.apply(orchestrator(name, "pool", root=RESEARCH))
    metas = [company.admin.get(f"{ORCHESTRATORS}/{name}")["metadata"] for name in ("one", "two", "three")]
    first, *others = sorted(metas, key=lambda meta: (meta["creationTimestamp"], meta["uid"]))
    for run in ("first", "second"):
        daemon = start_orchestrator(company, name=run)
        wait_for_quotas(company, models=20)
        wait_for_condition(company, "True", "QuotasDistributed", name=first["name"])
        for meta in others:
            wait_for_condition(company, "False", LOST, name=meta["name"])
        applied = company.admin.get(f"{QUEUES}/models")["metadata"]["annotations"][APPLIED]
        assert f'"name":"{first["name"]}"' in applied
        daemon.server.stop()


def test_disjoint_subtrees_are_served_side_by_side(plane: ControlPlane) -> None:
    """Three orchestrators, each with a provider of its own: one that fails holds up no other."""
    names = ("red", "green", "blue")
    for name in names:
        plane.admin.apply(
            cohort(name),
            queue(f"{name}-queue", {"default": {"cpu": 1}}, cohort=name),
            provider(name, "default"),
            orchestrator(name, name, root=("Cohort", name)),
        )
    daemon = start_orchestrator(plane)
    for cpu, name in enumerate(names, 1):
        capacity(plane, cpu, name)
    wait_for_quotas(plane, red_queue=1, green_queue=2, blue_queue=3)
    for name in names:
        wait_for_condition(plane, "True", "QuotasDistributed", name=name)
    capacity(plane, 0, "green", is_ready=False)
    capacity(plane, 30, "blue")
    wait_for_quotas(plane, red_queue=1, green_queue=2, blue_queue=30)
    wait_for_condition(plane, "False", "EffectiveCapacityNotComputed", name="green")
    wait_for_condition(plane, "True", "QuotasDistributed", name="blue")
    wait_seen(daemon, 30, "blue")
    assert sum(nominal(each)["default/cpu"] for each in plane.admin.items(QUEUES)) == 33 * NANOS
