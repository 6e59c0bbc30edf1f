"""A cluster in which status.effectiveQuotas does not last, or does not exist."""

from __future__ import annotations

from tests.controlplane.faults import WRITES
from tests.controlplane.plane import ControlPlane
from tests.controlplane.processes import eventually
from tests.integration.daemons import start_orchestrator
from tests.integration.objects import condition, queue, wait_for_condition, wait_for_quotas
from tests.integration.orchestrator.roads_and_rivals.scenes import (
    DQO,
    KUEUE,
    TEAM_A,
    TEAM_B,
    capacity,
    drop_effective_quotas,
    effective,
    told,
    versions,
    wait_seen,
    wait_told,
)
from tests.integration.proxies import Proxy

REVERTS = "kueue_dqo_quota_reverts_total"
STATUSES = r"/(clusterqueues|cohorts)/[^/]+/status$"


def test_an_older_kueue_that_drops_the_field_twice_has_the_object_to_itself(status_teams: ControlPlane) -> None:
    """It is named; nothing more is written there, whatever the capacity; the other queue follows."""
    plane = status_teams
    daemon = start_orchestrator(plane, "status")
    capacity(plane, 48)
    wait_for_condition(plane, "True", "QuotasDistributed")
    drop_effective_quotas(plane, TEAM_A)
    eventually(lambda: effective(plane, TEAM_A) is not None, "the field is written again")
    eventually(lambda: daemon.metric(REVERTS, name="team-a", manager=KUEUE) == 1, "the loss is counted")
    drop_effective_quotas(plane, TEAM_A)
    wait_for_condition(plane, "False", "EffectiveQuotasConflict")
    left = plane.admin.get(TEAM_A)["metadata"]["resourceVersion"]
    message = condition(plane)["message"]
    assert f"ClusterQueue/team-a ({KUEUE} has undone our quotas 2 times in ten minutes" in message
    assert "--enforcement=spec" in message
    capacity(plane, 300)
    wait_for_quotas(plane, road="status", team_a=10, team_b=200)
    capacity(plane, 30)
    wait_for_quotas(plane, road="status", team_a=10, team_b=20)
    wait_seen(daemon, 30)
    assert plane.admin.get(TEAM_A)["metadata"]["resourceVersion"] == left
    assert effective(plane, TEAM_A) is None
    assert daemon.metric(REVERTS, name="team-a", manager=KUEUE) == 2
    assert daemon.metric("kueue_dqo_quota_objects_stopped") == 1
    assert f"{KUEUE} has undone our quotas 2 times" in wait_told(plane, "QuotasLeftAlone", "team-a")["message"]
    eventually(lambda: told(plane, "QuotasReverted", "team-a")[0]["count"] == 2, "both losses are counted in one Event")
    assert len(told(plane, "QuotasReverted", "team-a")) == 1
    assert told(plane, "QuotasReverted", "team-b") == []


def test_a_queue_that_is_made_anew_is_no_reason_to_stop(status_teams: ControlPlane) -> None:
    """It has lost its quotas as well, but nobody has undone them."""
    plane = status_teams
    daemon = start_orchestrator(plane, "status")
    capacity(plane, 48)
    wait_for_quotas(plane, road="status", team_a=16, team_b=32)
    for _ in range(3):
        plane.admin.delete(TEAM_B)
        wait_for_quotas(plane, road="status", team_a=48)
        plane.admin.apply(queue("team-b", {"default": {"cpu": 20}}, cohort="teams"))
        wait_for_quotas(plane, road="status", team_a=16, team_b=32)
    wait_for_condition(plane, "True", "QuotasDistributed")
    assert daemon.metric(REVERTS) == 0


def test_without_the_field_writes_are_refused_and_not_repeated(teams: ControlPlane, proxy: Proxy) -> None:
    """The condition holds the server's words; a pass for another reason does not ask again."""
    before = versions(teams)
    daemon = start_orchestrator(teams, "status", server=proxy.url)
    capacity(teams, 48)
    wait_for_condition(teams, "False", "WriteRejected")
    wait_seen(daemon, 48)
    message = condition(teams)["message"]
    assert "3 objects refused" in message
    assert 'unknown field "status.effectiveQuotas"' in message
    assert proxy.count(verbs=WRITES, path=STATUSES) == 3
    passes = daemon.metric("kueue_dqo_passes_total")
    teams.admin.patch(DQO, {"metadata": {"annotations": {"note": "changed"}}})
    teams.admin.apply(queue("elsewhere", {"default": {"cpu": 1}}))
    eventually(lambda: daemon.metric("kueue_dqo_passes_total") > passes, "there is another pass")
    capacity(teams, 60)  # other quotas, so each is tried once more
    wait_seen(daemon, 60)
    assert proxy.count(verbs=WRITES, path=STATUSES) == 5
    assert versions(teams).items() >= before.items()
    assert daemon.metric("kueue_dqo_quota_writes_total", result="refused") == 5
    assert daemon.metric("kueue_dqo_quota_writes_total", result="landed") == 0
