"""The status road: quotas stand in status.effectiveQuotas with their writer, and the spec stays the admin's."""

from __future__ import annotations

from tests.controlplane.plane import ControlPlane
from tests.integration.daemons import start_orchestrator
from tests.integration.objects import (
    GROUP,
    QUEUES,
    cohort,
    condition,
    orchestrator,
    queue,
    wait_for_condition,
    wait_for_quotas,
)
from tests.integration.orchestrator.roads_and_rivals.scenes import (
    DQO,
    TEAM_A,
    TEAM_B,
    TEAMS,
    capacity,
    effective,
    versions,
    wait_seen,
)
from tests.integration.recorder import Recorder

REFERENCE = {"apiGroup": GROUP, "kind": "DynamicQuotaOrchestrator", "name": "dqo"}


def test_quotas_follow_the_capacity_in_the_status_and_never_promise_more(status_teams: ControlPlane) -> None:
    """A Cohort without quota gets an empty list; a limit is not above the quota; the spec is not touched."""
    plane = status_teams
    declared = {path: plane.admin.get(path) for path in (TEAM_A, TEAM_B, TEAMS)}
    recorder = Recorder(plane, road="status")
    start_orchestrator(plane, "status")
    capacity(plane, 48)
    wait_for_quotas(plane, road="status", team_a=16, team_b=32)
    wait_for_condition(plane, "True", "QuotasDistributed")
    assert effective(plane, TEAMS) == {"orchestratorRef": REFERENCE, "resourceGroups": []}
    capacity(plane, 300)
    wait_for_quotas(plane, road="status", team_a=100, team_b=200)
    capacity(plane, 9)
    wait_for_quotas(plane, road="status", team_a=3, team_b=6)
    quotas = effective(plane, TEAM_A)
    assert quotas is not None
    assert quotas["orchestratorRef"] == REFERENCE
    (flavor,) = quotas["resourceGroups"][0]["flavors"]
    assert flavor["resources"] == [{"name": "cpu", "nominalQuota": "3", "lendingLimit": "3"}]
    for path, before in declared.items():
        after = plane.admin.get(path)
        assert after["spec"] == before["spec"]
        assert after["metadata"]["generation"] == before["metadata"]["generation"]
        assert "annotations" not in after["metadata"]
    assert recorder.check().quota_writes <= 12


def test_without_a_root_only_the_capacity_is_told(status_teams: ControlPlane) -> None:
    """There is no condition about quotas, and no quota."""
    plane = status_teams
    plane.admin.delete(DQO)
    plane.admin.apply(orchestrator("dqo", "pool", multiplier="0.5"))
    before = versions(plane)
    daemon = start_orchestrator(plane, "status")
    capacity(plane, 48)
    wait_for_condition(plane, "True", "Computed", "EffectiveCapacityComputed")
    wait_seen(daemon, 48)
    assert versions(plane) == before
    status = plane.admin.get(DQO)["status"]
    assert status["effectiveCapacity"] == {"flavors": [{"name": "default", "resources": {"cpu": "24"}}]}
    assert condition(plane, "Distributed") == {}


def test_what_leaves_the_subtree_keeps_the_quotas_that_it_had(status_teams: ControlPlane) -> None:
    """A queue that moves to another Cohort; and all but one queue where the root becomes that queue."""
    plane = status_teams
    daemon = start_orchestrator(plane, "status")
    capacity(plane, 48)
    wait_for_quotas(plane, road="status", team_a=16, team_b=32)
    plane.admin.apply(cohort("elsewhere"))
    plane.admin.patch(TEAM_A, {"spec": {"cohortName": "elsewhere"}})
    wait_for_quotas(plane, road="status", team_a=16, team_b=48)
    plane.admin.apply(orchestrator("dqo", "pool", root=("ClusterQueue", "team-a")))
    wait_for_quotas(plane, road="status", team_a=48, team_b=48)
    wait_for_condition(plane, "True", "QuotasDistributed")
    before = versions(plane)
    capacity(plane, 30)
    wait_for_quotas(plane, road="status", team_a=30, team_b=48)
    wait_seen(daemon, 30)
    after = versions(plane)
    assert {path for path in after if after[path] != before[path]} == {TEAM_A}


def test_a_provider_that_is_not_ready_clears_the_capacity_and_leaves_the_quotas(status_teams: ControlPlane) -> None:
    """Until it is ready again."""
    plane = status_teams
    daemon = start_orchestrator(plane, "status")
    capacity(plane, 48)
    wait_for_condition(plane, "True", "QuotasDistributed")
    before = versions(plane)
    capacity(plane, 30, is_ready=False)
    wait_for_condition(plane, "False", "EffectiveCapacityNotComputed")
    wait_seen(daemon, 30)
    assert "effectiveCapacity" not in plane.admin.get(DQO)["status"]
    assert versions(plane) == before
    assert daemon.metric("kueue_dqo_provider_ready", provider="pool") == 0
    assert "CapacityProvider pool is not ready" in condition(plane)["message"]
    capacity(plane, 30)
    wait_for_quotas(plane, road="status", team_a=10, team_b=20)


def test_a_queue_that_comes_later_gets_its_share_and_its_writer(status_teams: ControlPlane) -> None:
    """What it declares counts at once; the others give way for it."""
    plane = status_teams
    start_orchestrator(plane, "status")
    capacity(plane, 48)
    wait_for_quotas(plane, road="status", team_a=16, team_b=32)
    plane.admin.apply(queue("late", {"default": {"cpu": 20}}, cohort="teams"))
    wait_for_quotas(plane, road="status", team_a=9.6, team_b=19.2, late=19.2)
    found = effective(plane, f"{QUEUES}/late")
    assert found is not None
    assert found["orchestratorRef"] == REFERENCE
