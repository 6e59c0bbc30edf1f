"""Kueue's own orchestrator at work beside ours: everything of ours stops, and says so."""

from __future__ import annotations

from tests.controlplane.plane import ControlPlane
from tests.controlplane.processes import eventually
from tests.integration.daemons import start_orchestrator
from tests.integration.objects import (
    APPLIED,
    COHORTS,
    ORCHESTRATORS,
    QUEUES,
    condition,
    orchestrator,
    queue,
    wait_for_condition,
    wait_for_quotas,
)
from tests.integration.orchestrator.roads_and_rivals.scenes import (
    DQO,
    KUEUE,
    TEAM_B,
    as_kueue,
    capacity,
    drop_effective_quotas,
    is_idle,
    told,
    versions,
    wait_seen,
    wait_told,
)

EVERYTHING = (QUEUES, COHORTS, ORCHESTRATORS)
LOG = "Kueue's own orchestrator is at work, standing down"


def test_kueues_manager_in_a_status_stops_every_write(teams: ControlPlane) -> None:
    """On any orchestrator, even one that has nothing to do with the subtree. What it wrote before is history."""
    teams.admin.apply(orchestrator("other", "pool"))
    as_kueue(teams, name="other", reason="History")
    history = _times_of_kueue(teams, "other")
    daemon = start_orchestrator(teams)
    capacity(teams, 48)
    wait_for_quotas(teams, team_a=16, team_b=32)
    wait_for_condition(teams, "True", "QuotasDistributed")
    wait_for_condition(teams, "True", "Computed", "EffectiveCapacityComputed", name="other")
    wait_seen(daemon, 48)
    assert daemon.metric("kueue_dqo_standing_down") == 0

    def is_at_work() -> bool:
        # An entry of managedFields has a time of whole seconds: a write in the second of the last one leaves no trace.
        as_kueue(teams, name="other", reason="AtWork")
        return _times_of_kueue(teams, "other") != history

    eventually(is_at_work, "Kueue has written in another second")
    eventually(lambda: daemon.metric("kueue_dqo_standing_down") == 1, "it stands down")
    before, distributed = versions(teams, *EVERYTHING), condition(teams)
    capacity(teams, 300)
    wait_seen(daemon, 300)
    assert daemon.metric("kueue_dqo_quota_differences", orchestrator="dqo") == 2
    teams.admin.patch(DQO, {"spec": {"capacityDiscovery": {"providers": [{"name": "gone"}]}}})
    eventually(lambda: daemon.metric("kueue_dqo_quota_differences", orchestrator="dqo") == 0, "the change is seen")
    del before[DQO]
    assert before.items() <= versions(teams, *EVERYTHING).items()
    assert condition(teams) == distributed
    event = wait_told(teams, "StandingDown", "other")
    assert event["type"] == "Warning"
    assert "--enforcement=observe" in event["message"]
    (line,) = daemon.logs(LOG)
    assert (line["orchestrator"], line["level"]) == ("other", "warning")
    assert told(teams, "StandingDown", "dqo") == []


def test_it_stops_amid_a_pass_even_where_kueue_changes_no_value(teams: ControlPlane) -> None:
    """That Kueue owns the fields is enough. What was written by then stays, and no more is written."""
    names = [f"queue-{number:02}" for number in range(20)]
    teams.admin.apply(*(queue(name, {"default": {"cpu": 1}}, cohort="teams") for name in names))
    slow = {"DQO_WRITE_QPS": "2", "DQO_WRITE_BURST": "1", "DQO_CONCURRENCY": "1"}
    daemon = start_orchestrator(teams, environment=slow)
    capacity(teams, 100)
    eventually(lambda: _adopted(teams) >= 2, "the pass has begun")
    present = teams.admin.get(DQO)
    teams.admin.apply({**present, "status": {"conditions": present["status"]["conditions"]}}, manager=KUEUE)
    eventually(lambda: daemon.metric("kueue_dqo_standing_down") == 1 and is_idle(daemon), "it stands down")
    before = versions(teams, *EVERYTHING)
    assert _adopted(teams) < len(names)
    capacity(teams, 200)
    wait_seen(daemon, 200)
    assert versions(teams, *EVERYTHING) == before


def _adopted(plane: ControlPlane) -> int:
    """How many queues the orchestrator has written."""
    return sum(APPLIED in each["metadata"].get("annotations", {}) for each in plane.admin.items(QUEUES))


def test_kueue_that_updates_queues_is_no_reason_to_stand_down(status_teams: ControlPlane) -> None:
    """Every Kueue does that; only orchestrators' statuses tell."""
    daemon = start_orchestrator(status_teams, "status")
    capacity(status_teams, 48)
    wait_for_condition(status_teams, "True", "QuotasDistributed")
    drop_effective_quotas(status_teams, TEAM_B)
    status_teams.admin.patch(DQO, {"metadata": {"labels": {"by": "kueue"}}}, manager=KUEUE)
    capacity(status_teams, 30)
    wait_for_quotas(status_teams, road="status", team_a=10, team_b=20)
    wait_seen(daemon, 30)
    assert daemon.metric("kueue_dqo_standing_down") == 0


def _times_of_kueue(plane: ControlPlane, name: str) -> list[str]:
    """When it last wrote into the status of the orchestrator."""
    fields = plane.admin.get(f"{ORCHESTRATORS}/{name}")["metadata"]["managedFields"]
    return [each["time"] for each in fields if each["manager"] == KUEUE and each.get("subresource") == "status"]
