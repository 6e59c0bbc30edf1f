"""The mode auto: whose definition of DynamicQuotaOrchestrator is installed decides what the daemon does."""

from __future__ import annotations

import pytest

from tests.controlplane.kueue import CRDS
from tests.controlplane.plane import ControlPlane
from tests.controlplane.processes import eventually
from tests.integration.daemons import Daemon, start_orchestrator
from tests.integration.objects import COHORTS, ORCHESTRATORS, QUEUES, orchestrator, wait_for_condition, wait_for_quotas
from tests.integration.orchestrator.roads_and_rivals.scenes import (
    OURS,
    as_kueue,
    capacity,
    managers,
    told,
    two_teams,
    versions,
    wait_seen,
    wait_told,
)

DEFINITION = f"{CRDS}/dynamicquotaorchestrators.kueue.x-k8s.io"
EVERYTHING = (QUEUES, COHORTS, ORCHESTRATORS)
SEEN = "DynamicQuotaOrchestrator definition seen"


@pytest.fixture
def teams(fresh_plane: ControlPlane) -> ControlPlane:
    """Two teams, where definitions may be changed."""
    two_teams(fresh_plane)
    return fresh_plane


def _make_ours(plane: ControlPlane, daemon: Daemon | None = None, *, ours: bool) -> None:
    """Sets the label that our copy of Kueue's definition has, or takes it away. The daemon has seen it then."""
    seen = len(daemon.logs(SEEN)) if daemon else 0
    label = "kueue-dqo" if ours else None
    plane.admin.patch(DEFINITION, {"metadata": {"labels": {"app.kubernetes.io/managed-by": label}}})
    if daemon:
        eventually(lambda: len(daemon.logs(SEEN)) > seen, "the daemon has seen the definition")


def test_the_daemon_writes_only_while_the_definition_is_ours(teams: ControlPlane) -> None:
    """The label may go and come back while it runs. Where Kueue's is installed and nobody answers, an Event says so."""
    _make_ours(teams, ours=False)
    teams.admin.apply(orchestrator("answered", "pool"))
    as_kueue(teams, name="answered")
    before = versions(teams, *EVERYTHING)
    daemon = start_orchestrator(teams, "auto")
    capacity(teams, 48)
    wait_seen(daemon, 48)
    assert daemon.metric("kueue_dqo_quota_differences", orchestrator="dqo") == 3

    event = wait_told(teams, "NobodyOrchestrates", "dqo", within=90)
    assert event["type"] == "Warning"
    assert "feature gate DynamicQuotaOrchestration" in event["message"]
    assert "--enforcement=spec" in event["message"]
    assert event["involvedObject"]["kind"] == "DynamicQuotaOrchestrator"
    assert told(teams, "NobodyOrchestrates", "answered") == []
    assert versions(teams, *EVERYTHING) == before
    assert OURS not in managers(teams)

    _make_ours(teams, daemon, ours=True)
    wait_for_quotas(teams, team_a=16, team_b=32)
    wait_for_condition(teams, "True", "QuotasDistributed")

    _make_ours(teams, daemon, ours=False)
    wait_seen(daemon, 48)
    before = versions(teams, *EVERYTHING)
    capacity(teams, 300)
    wait_seen(daemon, 300)
    assert versions(teams, *EVERYTHING) == before

    _make_ours(teams, daemon, ours=True)
    wait_for_quotas(teams, team_a=100, team_b=200)
    wait_for_condition(teams, "True", "QuotasDistributed")
    modes = [line["mode"] for line in daemon.logs(SEEN)]
    assert len(modes) == 4
    assert modes[0] == modes[2] != modes[1] == modes[3]
