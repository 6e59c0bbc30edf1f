"""Whoever edits quotas that the orchestrator has written declares just what was edited."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from tests.controlplane.plane import ControlPlane
from tests.controlplane.processes import eventually
from tests.integration.daemons import start_orchestrator
from tests.integration.objects import (
    DECLARED,
    QUEUES,
    flavor,
    groups,
    queue,
    wait_for_condition,
    wait_for_quotas,
)
from tests.integration.orchestrator.spec_road.history import History
from tests.integration.orchestrator.spec_road.scenes import (
    OF_A,
    TEAM_A,
    TEAM_B,
    capacity,
    declaration,
    declared,
    in_force,
    kubectl,
    local_queue,
    set_quota,
    start_adopted,
    submit,
    two_teams,
    wait_admitted,
    wait_refused,
)

GI = 2**30
CPU, MEMORY = "default/cpu", "default/memory"


def _merge_patch(plane: ControlPlane) -> None:
    """The whole list, since it is atomic; the memory is as it is in force."""
    held = groups({"default": {"cpu": "18", "memory": "10Gi"}})
    plane.admin.patch(TEAM_A, {"spec": {"resourceGroups": held}}, manager="dashboard")


def _json_patch(plane: ControlPlane) -> None:
    set_quota(plane, TEAM_A, "nominalQuota", "18")


def _kubectl_edit(plane: ControlPlane) -> None:
    kubectl(plane, "edit", "clusterqueue", "team-a", editor="""sed -i 's/nominalQuota: "6"$/nominalQuota: 18/'""")


def _kubectl_patch(plane: ControlPlane) -> None:
    body = {"spec": {"resourceGroups": groups({"default": {"cpu": "18", "memory": "10Gi"}})}}
    kubectl(plane, "patch", "clusterqueue", "team-a", "--type=merge", f"--patch={json.dumps(body)}")


def _kubectl_apply(plane: ControlPlane) -> None:
    """The manifest from git, whose memory is what was declared from the first."""
    manifest = queue("team-a", {"default": {"cpu": "18", "memory": "20Gi"}}, cohort="teams")
    kubectl(plane, "apply", "-f", "-", manifest=manifest)


def _kubectl_apply_on_the_server(plane: ControlPlane) -> None:
    manifest = queue("team-a", {"default": {"cpu": "18", "memory": "20Gi"}}, cohort="teams")
    kubectl(plane, "apply", "--server-side", "--force-conflicts", "-f", "-", manifest=manifest)


def _applied_by_another_manager(plane: ControlPlane) -> None:
    plane.admin.apply(queue("team-a", {"default": {"cpu": 18, "memory": "10Gi"}}, cohort="teams"), manager="flux")


EDITS = [
    _merge_patch,
    _json_patch,
    _kubectl_edit,
    _kubectl_patch,
    _kubectl_apply,
    _kubectl_apply_on_the_server,
    _applied_by_another_manager,
]


@pytest.mark.parametrize("edit", EDITS)
def test_an_edited_number_becomes_the_declaration_of_its_pair_alone(
    edit: Callable[[ControlPlane], None], teams: ControlPlane
) -> None:
    """The memory in the same list, and the sibling, keep theirs, although other numbers were in force."""
    start_adopted(teams)
    edit(teams)
    wait_for_quotas(teams, team_a=9, team_b=15)
    assert declared(teams, TEAM_A) == {CPU: 18, MEMORY: 20 * GI}
    assert declared(teams, TEAM_B) == {CPU: 30, MEMORY: 20 * GI}
    assert in_force(teams, TEAM_A)[MEMORY] == 10 * GI
    wait_for_condition(teams, "True", "QuotasDistributed")


def test_an_edit_while_nobody_orchestrates_is_taken_in_at_the_next_start(teams: ControlPlane) -> None:
    """As if the daemon had been there."""
    start_adopted(teams).server.stop()
    _json_patch(teams)
    start_orchestrator(teams, name="second")
    wait_for_quotas(teams, team_a=9, team_b=15)
    assert declared(teams, TEAM_A) == {CPU: 18, MEMORY: 20 * GI}


def test_a_capacity_that_comes_and_goes_leaves_the_declaration(teams: ControlPlane) -> None:
    """Character by character: it does not creep towards what was in force, and nothing stays at zero."""
    start_adopted(teams)
    text = teams.admin.get(TEAM_A)["metadata"]["annotations"][DECLARED]
    for cpu in (8, 1, 0, 2, 48, 24):
        capacity(teams, cpu)
        wait_for_quotas(teams, team_a=cpu / 4, team_b=cpu * 3 / 4)
    assert teams.admin.get(TEAM_A)["metadata"]["annotations"][DECLARED] == text
    assert declaration(teams, TEAM_A) == groups(OF_A)


def test_edits_of_one_queue_in_a_row_all_count(teams: ControlPlane) -> None:
    """Each of another field; nothing of the former is lost."""
    start_adopted(teams)
    set_quota(teams, TEAM_A, "nominalQuota", "18")
    set_quota(teams, TEAM_A, "borrowingLimit", "4")
    wait_for_quotas(teams, team_a=9, team_b=15)
    eventually(
        lambda: "borrowingLimit" in declaration(teams, TEAM_A)[0]["flavors"][0]["resources"][0], "both are declared"
    )
    cpu, memory = declaration(teams, TEAM_A)[0]["flavors"][0]["resources"]
    assert (cpu["nominalQuota"], cpu["borrowingLimit"], memory["nominalQuota"]) == ("18", "4", "20Gi")


@pytest.mark.parametrize("limit", ["borrowingLimit", "lendingLimit"])
def test_an_edited_limit_becomes_the_limit_and_leaves_the_share(limit: str, teams: ControlPlane) -> None:
    """The nominal quota that is in force beside it is not taken for a declaration."""
    start_adopted(teams)
    set_quota(teams, TEAM_A, limit, "3")
    eventually(lambda: limit in declaration(teams, TEAM_A)[0]["flavors"][0]["resources"][0], f"{limit} is declared")
    assert declared(teams, TEAM_A) == {CPU: 10, MEMORY: 20 * GI}
    capacity(teams, 40)
    wait_for_quotas(teams, team_a=10, team_b=30)
    assert _first(teams.admin.get(TEAM_A)["spec"]["resourceGroups"]) == {
        "name": "cpu",
        "nominalQuota": "10",
        limit: "3",
    }


def test_an_added_flavor_and_a_removed_one_are_declared(teams: ControlPlane) -> None:
    """Its own numbers stay as they are while nobody orchestrates it; the other pairs keep what was declared."""
    start_adopted(teams)
    teams.admin.apply(flavor("spare"))
    held = teams.admin.get(TEAM_A)["spec"]["resourceGroups"]
    held[0]["flavors"].append(groups({"spare": {"cpu": 7, "memory": "1Gi"}})[0]["flavors"][0])
    teams.admin.patch(TEAM_A, {"spec": {"resourceGroups": held}})
    eventually(lambda: "spare/cpu" in declared(teams, TEAM_A), "the flavor is declared")
    with_both = {CPU: 10, MEMORY: 20 * GI, "spare/cpu": 7, "spare/memory": GI}
    assert declared(teams, TEAM_A) == with_both
    assert in_force(teams, TEAM_A) == {CPU: 6, MEMORY: 10 * GI, "spare/cpu": 7, "spare/memory": GI}
    del held[0]["flavors"][0]
    teams.admin.patch(TEAM_A, {"spec": {"resourceGroups": held}})
    wait_for_quotas(teams, team_a=0, team_b=24)
    assert declared(teams, TEAM_A) == {"spare/cpu": 7, "spare/memory": GI}


def test_an_edit_reaches_kueue_s_scheduler(kueue: ControlPlane) -> None:
    """A Workload that waits is admitted, because its queue now has a larger share."""
    two_teams(kueue)
    kueue.admin.apply(local_queue("team-a"))
    set_quota(kueue, TEAM_A, "borrowingLimit", "0")
    start_adopted(kueue)
    submit(kueue, "large", "9", to="team-a")
    wait_refused(kueue, "large")
    set_quota(kueue, TEAM_A, "nominalQuota", "18")
    wait_admitted(kueue, "large")


def _first(held: list[dict[str, Any]]) -> Any:
    return held[0]["flavors"][0]["resources"][0]


def test_queues_outside_the_subtree_are_not_touched(teams: ControlPlane) -> None:
    """Nor adopted."""
    teams.admin.apply(queue("other", OF_A))
    history = History(teams)
    start_adopted(teams)
    assert not history.changes("other")
    assert "annotations" not in teams.admin.get(f"{QUEUES}/other")["metadata"]
