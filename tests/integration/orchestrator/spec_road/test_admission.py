"""Kueue's real scheduler admits what the capacity has room for."""

from __future__ import annotations

import pytest

from tests.controlplane.kueue import V018, V019, install_crds, start_minimal
from tests.controlplane.plane import ControlPlane
from tests.controlplane.processes import eventually
from tests.integration.daemons import start_orchestrator
from tests.integration.objects import (
    QUEUES,
    cohort,
    cores,
    flavor,
    orchestrator,
    provider,
    publish,
    queue,
    wait_for_condition,
    wait_for_quotas,
)
from tests.integration.orchestrator.spec_road.scenes import (
    EVENTS,
    has_condition,
    local_queue,
    submit,
    told,
    wait_admitted,
    wait_refused,
    wait_told,
)

CPU = "default/cpu"


def _publish(plane: ControlPlane, cpu: int) -> None:
    publish(plane, "pool", {"default": {"cpu": str(cpu)}})


def _one_team(plane: ControlPlane) -> None:
    """A queue of 10 cpu, which is no more than its weight, and 16 cpu of capacity."""
    plane.admin.apply(
        flavor("default"),
        queue("team", {"default": {"cpu": 10}}),
        local_queue("team"),
        provider("pool", "default"),
        orchestrator("dqo", "pool", root=("ClusterQueue", "team")),
    )
    _publish(plane, 16)


@pytest.mark.parametrize("version", [V018, V019])
def test_a_workload_waits_for_capacity_and_is_admitted_when_it_is_back(version: str, bare_plane: ControlPlane) -> None:
    """The one that runs goes on running all the time."""
    plane = bare_plane
    install_crds(plane, version=version)
    start_minimal(plane, version=version)
    _one_team(plane)
    start_orchestrator(plane)
    wait_for_quotas(plane, team=16)
    submit(plane, "first", "8", to="team")
    wait_admitted(plane, "first")
    _publish(plane, 8)
    wait_for_quotas(plane, team=8)
    submit(plane, "second", "8", to="team")
    wait_refused(plane, "second")
    _publish(plane, 16)
    wait_admitted(plane, "second")
    assert cores(plane, "team") == 16
    assert not has_condition(plane, "first", "Evicted")


def _wait_reserved(plane: ControlPlane, name: str, cpu: str) -> None:
    """Until Kueue says in the ClusterQueue's status what its Workloads hold."""

    def is_reserved() -> bool:
        flavors = plane.admin.get(f"{QUEUES}/{name}").get("status", {}).get("flavorsReservation", [])
        return [each["resources"][0]["total"] for each in flavors] == [cpu]

    eventually(is_reserved, f"{name} holds {cpu} cpu")


def test_a_queue_over_its_new_quota_is_told_so(kueue: ControlPlane) -> None:
    """Once, with the numbers, where `kubectl describe` finds it; not while within its quota. Nobody is evicted."""
    _one_team(kueue)
    start_orchestrator(kueue)
    wait_for_quotas(kueue, team=16)
    submit(kueue, "first", "12", to="team")
    _wait_reserved(kueue, "team", "12")
    _publish(kueue, 13)
    wait_for_quotas(kueue, team=13)
    _publish(kueue, 8)
    message = wait_told(kueue, "UsageAboveQuota", "team")
    assert message == (
        "The queue uses 12 default/cpu, its new quota is 8: nobody is evicted, and nothing more is admitted until "
        "usage has fallen"
    )
    (event,) = kueue.admin.items(EVENTS, fieldSelector="reason=UsageAboveQuota")
    uid = kueue.admin.get(f"{QUEUES}/team")["metadata"]["uid"]
    assert (event["involvedObject"]["kind"], event["involvedObject"]["uid"]) == ("ClusterQueue", uid)
    assert (event["type"], event["source"]["component"]) == ("Warning", "kueue-dqo-orchestrator")
    assert not has_condition(kueue, "first", "Evicted")


def test_a_queue_over_its_new_quota_in_a_cohort_is_told_that_siblings_may_reclaim(kueue: ControlPlane) -> None:
    """And it is: Kueue preempts the Workload for a sibling that takes its own quota back."""
    reclaims = {"preemption": {"reclaimWithinCohort": "Any"}}
    kueue.admin.apply(
        flavor("default"),
        cohort("teams"),
        *(queue(each, {"default": {"cpu": 1}}, cohort="teams", **reclaims) for each in ("team-a", "team-b")),
        *(local_queue(each) for each in ("team-a", "team-b")),
        provider("pool", "default"),
        orchestrator("dqo", "pool", root=("Cohort", "teams")),
    )
    _publish(kueue, 16)
    start_orchestrator(kueue)
    wait_for_quotas(kueue, team_a=8, team_b=8)
    submit(kueue, "first", "8", to="team-a")
    _wait_reserved(kueue, "team-a", "8")
    _publish(kueue, 8)
    wait_for_condition(kueue, "True", "QuotasDistributed")
    wait_for_quotas(kueue, team_a=4, team_b=4)
    message = wait_told(kueue, "UsageAboveQuota", "team-a")
    assert "uses 8 default/cpu, its new quota is 4: the 4 above it count as borrowed" in message
    assert "reclaim them by preemption" in message
    assert not has_condition(kueue, "first", "Evicted")
    submit(kueue, "theirs", "4", to="team-b")
    eventually(lambda: has_condition(kueue, "first", "Evicted"), "the Workload over quota is preempted")
    assert not told(kueue, "UsageAboveQuota", "team-b")
