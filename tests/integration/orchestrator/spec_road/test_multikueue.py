"""MultiKueue's automated quota management: two writers of one field would undo each other, so the queue is refused."""

from __future__ import annotations

from tests.controlplane.plane import ControlPlane
from tests.integration.objects import GROUP, Manifest, wait_for_condition, wait_for_quotas
from tests.integration.orchestrator.spec_road.history import History
from tests.integration.orchestrator.spec_road.scenes import (
    TEAM_A,
    capacity,
    start_adopted,
    wait_for_computation,
    wait_for_message,
)


def _config(management: str) -> Manifest:
    return {
        "apiVersion": f"{GROUP}/v1beta2",
        "kind": "MultiKueueConfig",
        "metadata": {"name": "workers"},
        "spec": {"clusters": ["worker-1"], "quotaManagement": management},
    }


def _check(name: str, controller: str) -> Manifest:
    parameters = {"apiGroup": GROUP, "kind": "MultiKueueConfig", "name": "workers"}
    return {
        "apiVersion": f"{GROUP}/v1beta2",
        "kind": "AdmissionCheck",
        "metadata": {"name": name},
        "spec": {"controllerName": controller, "parameters": parameters},
    }


def _use(plane: ControlPlane, check: str) -> None:
    spec = {"admissionChecksStrategy": {"admissionChecks": [{"name": check}]}}
    plane.admin.patch(TEAM_A, {"spec": spec})


def test_a_queue_under_automated_quota_management_is_refused_and_untouched(teams: ControlPlane) -> None:
    """As is its whole subtree, until the management is manual again."""
    teams.admin.apply(_config("Manual"), _check("remote", f"{GROUP}/multikueue"))
    _use(teams, "remote")
    start_adopted(teams)
    teams.admin.apply(_config("Automated"))
    message = wait_for_message(teams, "Misconfigured", "ClusterQueue/team-a", "AdmissionCheck remote")
    assert "MultiKueueConfig workers with quotaManagement Automated" in message
    assert "set that to Manual, or take the queue out of the subtree" in message
    history = History(teams)
    capacity(teams, 8)
    wait_for_computation(teams, 8)
    wait_for_message(teams, "Misconfigured", "ClusterQueue/team-a")
    assert not history.changes("team-a")
    assert not history.changes("team-b")
    teams.admin.apply(_config("Manual"))
    wait_for_quotas(teams, team_a=2, team_b=6)
    wait_for_condition(teams, "True", "QuotasDistributed")


def test_taking_the_queue_out_of_the_subtree_leads_out(teams: ControlPlane) -> None:
    """The other way that the message names: the rest of the subtree goes on without it."""
    teams.admin.apply(_config("Automated"), _check("remote", f"{GROUP}/multikueue"))
    start_adopted(teams)
    _use(teams, "remote")
    wait_for_message(teams, "Misconfigured", "ClusterQueue/team-a")
    teams.admin.patch(TEAM_A, {"spec": {"cohortName": None}})
    wait_for_quotas(teams, team_a=6, team_b=24)
    wait_for_condition(teams, "True", "QuotasDistributed")


def test_a_check_of_another_controller_changes_nothing(teams: ControlPlane) -> None:
    """Whatever its parameters are called."""
    teams.admin.apply(_config("Automated"), _check("licences", "example.com/licences"))
    _use(teams, "licences")
    start_adopted(teams)
    capacity(teams, 8)
    wait_for_quotas(teams, team_a=2, team_b=6)
