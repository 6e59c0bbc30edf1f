"""The mode observe: nothing of Kueue's is ever written, and metrics tell what should be."""

from __future__ import annotations

from tests.controlplane.faults import WRITES
from tests.controlplane.plane import ControlPlane
from tests.controlplane.processes import eventually
from tests.integration.daemons import start_orchestrator
from tests.integration.objects import COHORTS, ORCHESTRATORS, QUEUES, publish
from tests.integration.orchestrator.roads_and_rivals.scenes import (
    OURS,
    as_kueue,
    capacity,
    managers,
    told,
    versions,
    wait_seen,
)
from tests.integration.proxies import Proxy

DIFFERENCES = "kueue_dqo_quota_differences"


def test_nothing_is_written_and_the_differences_are_told(teams: ControlPlane, proxy: Proxy) -> None:
    """By how many objects differ, and by the capacity that there is to share out."""
    daemon = start_orchestrator(teams, "observe", server=proxy.url)
    before = versions(teams, QUEUES, COHORTS, ORCHESTRATORS)
    capacity(teams, 48)
    wait_seen(daemon, 48)
    assert daemon.metric(DIFFERENCES, orchestrator="dqo") == 3
    assert daemon.metric("kueue_dqo_effective_capacity", orchestrator="dqo", resource="cpu") == 48
    capacity(teams, 9)
    wait_seen(daemon, 9)
    assert daemon.metric("kueue_dqo_effective_capacity", orchestrator="dqo", resource="cpu") == 9
    publish(teams, "pool", {}, status="False", reason="SourceUnavailable")
    eventually(lambda: daemon.metric(DIFFERENCES, orchestrator="dqo") == 0, "nothing can be said any more")
    assert daemon.metric("kueue_dqo_effective_capacity", orchestrator="dqo") == 0
    assert proxy.count(verbs=WRITES, path="/apis/kueue.x-k8s.io/") == 0
    assert versions(teams, QUEUES, COHORTS, ORCHESTRATORS) == before
    assert OURS not in managers(teams)
    assert daemon.metric("kueue_dqo_quota_writes_total") == 0


def test_the_rights_of_observe_allow_no_write_even_where_one_is_tried(teams: ControlPlane) -> None:
    """So the mode is kept by the API server as well; and the log says what was refused."""
    before = versions(teams, QUEUES, COHORTS, ORCHESTRATORS)
    daemon = start_orchestrator(teams, "observe", environment={"DQO_ENFORCEMENT": "spec"})
    eventually(lambda: bool(daemon.logs("status refused")), "the API server has refused a status")
    line = daemon.logs("status refused")[0]
    assert line["orchestrator"] == "dqo"
    assert "403" in line["error"]
    assert versions(teams, QUEUES, COHORTS, ORCHESTRATORS) == before


def test_kueues_own_orchestrator_at_work_is_what_observe_expects(teams: ControlPlane) -> None:
    """It is no reason to warn anybody."""
    daemon = start_orchestrator(teams, "observe")
    capacity(teams, 48)
    wait_seen(daemon, 48)
    as_kueue(teams, reason="AtWork")
    condition = "kueue_dqo_orchestrator_condition"
    eventually(lambda: daemon.metric(condition, reason="AtWork") == 1, "the report is seen")
    assert daemon.metric("kueue_dqo_standing_down") == 0
    assert daemon.logs("Kueue's own orchestrator is at work, standing down") == []
    daemon.server.stop()  # what it had to tell is written by now
    assert told(teams, "StandingDown", "dqo") == []
