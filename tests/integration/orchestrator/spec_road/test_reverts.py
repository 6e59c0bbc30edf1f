"""Who undoes quotas is counted and named; after the third time the object is left alone, and it alone."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from contextlib import AbstractContextManager

import pytest

from tests.controlplane.plane import ControlPlane
from tests.controlplane.processes import eventually, repeating
from tests.integration.daemons import Daemon
from tests.integration.objects import condition, cores, queue, wait_for_condition, wait_for_quotas
from tests.integration.orchestrator.spec_road.history import OURS, History, owners
from tests.integration.orchestrator.spec_road.scenes import (
    OF_A,
    TEAM_A,
    capacity,
    declared,
    in_force,
    kubectl,
    start_adopted,
    told,
    wait_for_computation,
    wait_for_message,
    wait_told,
)

FROM_GIT = queue("team-a", OF_A, cohort="teams")
GI = 2**30
REVERTS = "kueue_dqo_quota_reverts_total"


def _client_side(plane: ControlPlane) -> None:
    kubectl(plane, "apply", "-f", "-", manifest=FROM_GIT)


def _server_side(plane: ControlPlane) -> None:
    kubectl(plane, "apply", "--server-side", "--force-conflicts", "-f", "-", manifest=FROM_GIT)


def _flux(plane: ControlPlane) -> None:
    plane.admin.apply(FROM_GIT, manager="kustomize-controller")


def _replace(plane: ControlPlane) -> None:
    """The whole object, so that both annotations go as well."""
    kubectl(plane, "replace", "-f", "-", manifest=FROM_GIT)


RIVALS = [
    pytest.param(_client_side, "kubectl-client-side-apply", id="kubectl apply"),
    pytest.param(_server_side, "kubectl", id="kubectl apply --server-side"),
    pytest.param(_flux, "kustomize-controller", id="flux"),
    pytest.param(_replace, "kubectl-replace", id="kubectl replace"),
]


def _wait_counted(daemon: Daemon, manager: str, times: int) -> None:
    def is_counted() -> bool:
        return daemon.metric(REVERTS, kind="ClusterQueue", name="team-a", manager=manager) == times

    eventually(is_counted, f"{times} reverts by {manager} are counted")


@pytest.mark.parametrize(("undo", "manager"), RIVALS)
def test_whoever_undoes_quotas_is_named_and_after_the_third_time_left_alone_with_the_object(
    undo: Callable[[ControlPlane], None], manager: str, teams: ControlPlane
) -> None:
    """In the metric, Events, the log and the condition. Not one write more, whatever the capacity."""
    history = History(teams)
    daemon = start_adopted(teams)
    for times in (1, 2, 3):
        undo(teams)
        _wait_counted(daemon, manager, times)
        if times < 3:
            wait_for_quotas(teams, team_a=6)
    message = wait_for_message(teams, "EffectiveQuotasConflict", "ClusterQueue/team-a")
    assert f"{manager} has undone our quotas 3 times in ten minutes" in message
    assert "make it ignore spec.resourceGroups" in message
    assert wait_told(teams, "QuotasReverted", "team-a") == f"{manager} has undone the quotas that {OURS} wrote"
    assert "left alone for ten minutes" in wait_told(teams, "QuotasLeftAlone", "team-a")
    assert [each["manager"] for each in daemon.logs("quotas were undone")] == [manager] * 3
    assert daemon.metric("kueue_dqo_quota_objects_stopped") == 1
    capacity(teams, 48)
    wait_for_quotas(teams, team_a=10, team_b=36)
    assert len(history.our_writes("team-a")) == 3  # the adoption, and one after each of two reverts
    assert cores(teams, "team-a") == 10
    assert not told(teams, "QuotasReverted", "team-b")


def _argo(plane: ControlPlane) -> AbstractContextManager[None]:
    """Puts the queue back to what git says as soon as it differs, as Argo CD's self-healing does."""

    def heal() -> None:
        if in_force(plane, TEAM_A)["default/cpu"] != 10:
            plane.admin.apply(FROM_GIT, manager="argocd-controller")

    return repeating(heal, every=0.05)


def test_a_fight_with_a_healer_ends_and_others_go_on(teams: ControlPlane) -> None:
    """They get what the one that is left alone leaves of the capacity, and never more."""
    history = History(teams)
    daemon = start_adopted(teams)
    with _argo(teams):
        capacity(teams, 20)
        wait_for_message(teams, "EffectiveQuotasConflict", "ClusterQueue/team-a", "argocd-controller")
        assert len(history.our_writes("team-a")) <= 5
        written = len(history.our_writes("team-a"))
        wait_for_quotas(teams, team_a=10, team_b=15)
        capacity(teams, 24)
        wait_for_computation(teams, 24)
        # team-b's share is 18, but team-a holds 10 of the 24.
        wait_for_message(teams, "EffectiveQuotasConflict", "ClusterQueue/team-b", "cannot grow")
        assert cores(teams, "team-b") == 15
        capacity(teams, 26)
        wait_for_quotas(teams, team_b=16)
        capacity(teams, 60)
        wait_for_quotas(teams, team_a=10, team_b=45)
        assert len(history.our_writes("team-a")) == written
    assert daemon.metric(REVERTS, name="team-a", manager="argocd-controller") == 3
    assert [each["name"] for each in daemon.logs("left alone, its quotas are undone again and again")] == ["team-a"]


def test_an_applier_that_does_not_force_is_refused_by_the_server(teams: ControlPlane) -> None:
    """It learns from the conflict who keeps the field; nothing was undone, so nothing is counted."""
    teams.admin.apply(FROM_GIT, manager="kubectl")
    daemon = start_adopted(teams)
    with pytest.raises(subprocess.CalledProcessError) as refused:
        kubectl(teams, "apply", "--server-side", "-f", "-", manifest=FROM_GIT)
    assert f'conflict with "{OURS}"' in refused.value.stderr
    assert ".spec.resourceGroups" in refused.value.stderr
    assert owners(teams.admin.get(TEAM_A)) == {OURS}
    assert daemon.metric(REVERTS) == 0
    wait_for_condition(teams, "True", "QuotasDistributed")


def test_one_revert_is_undone_and_forgotten(teams: ControlPlane) -> None:
    """The declaration is the same as before, and the condition stays True."""
    daemon = start_adopted(teams)
    _flux(teams)
    eventually(lambda: daemon.metric(REVERTS) == 1, "the revert is counted")
    wait_for_quotas(teams, team_a=6, team_b=18)
    assert declared(teams, TEAM_A) == {"default/cpu": 10, "default/memory": 20 * GI}
    wait_for_condition(teams, "True", "QuotasDistributed")
    assert "undone" not in condition(teams)["message"]


def test_an_edit_is_no_revert(teams: ControlPlane) -> None:
    """However often: somebody who declares other numbers is followed, not given up."""
    daemon = start_adopted(teams)
    for cpu, share in ((50, 15), (90, 18), (70, 16.8), (20, 9.6)):
        teams.admin.apply(queue("team-a", {"default": {"cpu": cpu, "memory": "20Gi"}}, cohort="teams"), manager="flux")
        wait_for_quotas(teams, team_a=share)
    assert daemon.metric(REVERTS) == 0
    wait_for_condition(teams, "True", "QuotasDistributed")
