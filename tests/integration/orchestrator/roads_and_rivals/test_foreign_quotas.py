"""Quotas that somebody else has written: nothing in the subtree is touched while they are theirs."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.controlplane.admin import JSON_PATCH
from tests.controlplane.plane import ControlPlane
from tests.integration.daemons import start_orchestrator
from tests.integration.objects import (
    APPLIED,
    DECLARED,
    GROUP,
    condition,
    wait_for_condition,
    wait_for_quotas,
)
from tests.integration.orchestrator.roads_and_rivals.scenes import TEAM_B, capacity, effective, versions, wait_seen

OTHER_KIND = {"apiGroup": GROUP, "kind": "QuotaRobot", "name": "dqo"}
OTHER_GROUP = {"apiGroup": "example.com", "kind": "DynamicQuotaOrchestrator", "name": "dqo"}
GONE = {"apiGroup": GROUP, "kind": "DynamicQuotaOrchestrator", "name": "gone"}


def _in_status(plane: ControlPlane, owner: dict[str, str] | None) -> None:
    """Writes what is declared as effective quotas of this owner, or takes the field away."""
    groups = plane.admin.get(TEAM_B)["spec"]["resourceGroups"]
    quotas = {"orchestratorRef": owner, "resourceGroups": groups} if owner else None
    plane.admin.patch(f"{TEAM_B}/status", {"status": {"effectiveQuotas": quotas}}, manager="robot")


def _in_spec(plane: ControlPlane, owner: dict[str, str] | None) -> None:
    """As above, on the spec road."""
    groups = plane.admin.get(TEAM_B)["spec"]["resourceGroups"]
    noted: dict[str, Any] = {DECLARED: None, APPLIED: None}
    if owner:
        noted = {
            DECLARED: json.dumps(groups),
            APPLIED: json.dumps({"orchestratorRef": owner, "resourceGroups": groups}),
        }
    plane.admin.patch(TEAM_B, {"metadata": {"annotations": noted}}, manager="robot")


@pytest.mark.parametrize("owner", [OTHER_KIND, OTHER_GROUP], ids=["kind", "group"])
def test_foreign_quotas_in_a_status_stop_the_whole_subtree_until_they_are_gone(
    owner: dict[str, str], status_teams: ControlPlane
) -> None:
    """An owner of the orchestrator's own name, but of another kind or group, is foreign as well."""
    plane = status_teams
    _in_status(plane, owner)
    before = versions(plane)
    daemon = start_orchestrator(plane, "status")
    capacity(plane, 48)
    wait_for_condition(plane, "False", "EffectiveQuotasConflict")
    wait_for_condition(plane, "True", "Computed", "EffectiveCapacityComputed")
    wait_seen(daemon, 48)
    assert versions(plane) == before
    message = condition(plane)["message"]
    assert message.startswith("Nothing was written: the effective quotas of ClusterQueue/team-b were written by ")
    assert owner["kind"] in message
    assert owner["apiGroup"] in message
    _in_status(plane, None)
    wait_for_quotas(plane, road="status", team_a=16, team_b=32)
    wait_for_condition(plane, "True", "QuotasDistributed")


def test_foreign_quotas_in_a_spec_stop_the_whole_subtree_until_they_are_gone(teams: ControlPlane) -> None:
    """There the annotation names the owner."""
    _in_spec(teams, OTHER_GROUP)
    before = versions(teams)
    daemon = start_orchestrator(teams)
    capacity(teams, 48)
    wait_for_condition(teams, "False", "EffectiveQuotasConflict")
    wait_seen(daemon, 48)
    assert versions(teams) == before
    assert "ClusterQueue/team-b" in condition(teams)["message"]
    _in_spec(teams, None)
    wait_for_quotas(teams, team_a=16, team_b=32)
    wait_for_condition(teams, "True", "QuotasDistributed")


def test_quotas_that_become_foreign_while_it_runs_are_let_go(status_teams: ControlPlane) -> None:
    """Whoever comes later is not fought: the first look after that stops everything."""
    plane = status_teams
    daemon = start_orchestrator(plane, "status")
    capacity(plane, 48)
    wait_for_condition(plane, "True", "QuotasDistributed")
    reference = {"op": "replace", "path": "/status/effectiveQuotas/orchestratorRef", "value": OTHER_GROUP}
    plane.admin.patch(f"{TEAM_B}/status", [reference], JSON_PATCH, manager="robot")
    wait_for_condition(plane, "False", "EffectiveQuotasConflict")
    before = versions(plane)
    capacity(plane, 300)
    wait_seen(daemon, 300)
    assert versions(plane) == before
    assert daemon.metric("kueue_dqo_quota_reverts_total") == 0


def test_quotas_of_an_orchestrator_that_is_gone_are_taken_over(status_teams: ControlPlane) -> None:
    """Nobody keeps them up any more."""
    plane = status_teams
    _in_status(plane, GONE)
    start_orchestrator(plane, "status")
    capacity(plane, 48)
    wait_for_quotas(plane, road="status", team_a=16, team_b=32)
    found = effective(plane, TEAM_B)
    assert found is not None
    assert found["orchestratorRef"]["name"] == "dqo"


def test_an_edit_of_the_subtree_that_leaves_the_foreign_owner_changes_nothing(status_teams: ControlPlane) -> None:
    """Each pass looks at every object again."""
    plane = status_teams
    _in_status(plane, OTHER_KIND)
    daemon = start_orchestrator(plane, "status")
    capacity(plane, 48)
    wait_for_condition(plane, "False", "EffectiveQuotasConflict")
    since = condition(plane)
    plane.admin.patch(TEAM_B, {"spec": {"cohortName": None}})
    wait_for_quotas(plane, road="status", team_a=48, team_b=20)
    plane.admin.patch(TEAM_B, {"spec": {"cohortName": "teams"}})
    wait_for_condition(plane, "False", "EffectiveQuotasConflict")
    wait_seen(daemon, 48)
    wait_for_quotas(plane, road="status", team_a=48, team_b=20)
    assert condition(plane)["message"] == since["message"]
