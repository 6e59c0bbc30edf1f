"""A declaration that git keeps: in the annotation, with spec.resourceGroups left out."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.controlplane.admin import APPLY_PATCH
from tests.controlplane.plane import ControlPlane
from tests.controlplane.processes import eventually
from tests.integration.objects import DECLARED, groups, queue, wait_for_quotas
from tests.integration.orchestrator.spec_road.history import History
from tests.integration.orchestrator.spec_road.scenes import OF_A, TEAM_A, capacity, declared, in_force, start_adopted

GI = 2**30
CPU, MEMORY = "default/cpu", "default/memory"


def _from_git(quotas: Any) -> dict[str, Any]:
    """A ClusterQueue as git has it: its quotas are in the annotation, and the spec leaves them out."""
    manifest = queue("team-a", {}, cohort="teams")
    del manifest["spec"]["resourceGroups"]
    manifest["metadata"]["annotations"] = {DECLARED: json.dumps(groups(quotas), indent=1)}
    return manifest


@pytest.fixture
def git_teams(teams: ControlPlane) -> ControlPlane:
    """The two teams, of which one is kept by a GitOps tool, in the annotation."""
    teams.admin.delete(TEAM_A)
    teams.admin.apply(_from_git(OF_A), manager="argocd-controller")
    start_adopted(teams)
    return teams


def test_git_declares_in_the_annotation_and_the_spec_carries_the_shares(git_teams: ControlPlane) -> None:
    """A commit changes the shares; the tool that applies it takes nothing else back."""
    assert declared(git_teams, TEAM_A) == {CPU: 10, MEMORY: 20 * GI}
    git_teams.admin.apply(_from_git({"default": {"cpu": 18, "memory": "20Gi"}}), manager="argocd-controller")
    wait_for_quotas(git_teams, team_a=9, team_b=15)
    git_teams.admin.apply(
        _from_git({"default": {"cpu": 18, "memory": "20Gi"}, "spare": {"cpu": 7, "memory": "1Gi"}}),
        manager="argocd-controller",
    )
    eventually(lambda: "spare/cpu" in in_force(git_teams, TEAM_A), "the flavor is in force")
    assert in_force(git_teams, TEAM_A) == {CPU: 9, MEMORY: 10 * GI, "spare/cpu": 7, "spare/memory": GI}


def test_the_text_of_git_stays_as_it_is(git_teams: ControlPlane) -> None:
    """Whatever its spaces: a tool that compares it finds no difference, and needs no force to change it."""
    text = _from_git(OF_A)["metadata"]["annotations"][DECLARED]
    capacity(git_teams, 40)
    wait_for_quotas(git_teams, team_a=10, team_b=30)
    assert git_teams.admin.get(TEAM_A)["metadata"]["annotations"][DECLARED] == text
    history = History(git_teams)
    query = {"fieldManager": "argocd-controller", "force": "false"}
    git_teams.admin.request("PATCH", TEAM_A, _from_git(OF_A), content_type=APPLY_PATCH, query=query)
    assert not history.changes("team-a")


def test_a_fight_of_texts_does_not_happen(git_teams: ControlPlane) -> None:
    """A tool that applies what it has again and again changes nothing, and is no rival."""
    history = History(git_teams)
    for cpu, quota in ((40, 10), (8, 2), (24, 6)):
        capacity(git_teams, cpu)
        wait_for_quotas(git_teams, team_a=quota)
        git_teams.admin.apply(_from_git(OF_A), manager="argocd-controller")
    assert len(history.changes("team-a")) == len(history.our_writes("team-a")) == 3
