"""Where the declaration is lost nothing is written, and the message leads out of it."""

from __future__ import annotations

from typing import Any, NamedTuple

import pytest

from tests.controlplane.plane import ControlPlane
from tests.integration.daemons import start_orchestrator
from tests.integration.objects import APPLIED, DECLARED, groups, wait_for_condition, wait_for_quotas
from tests.integration.orchestrator.spec_road.history import History
from tests.integration.orchestrator.spec_road.scenes import (
    OF_A,
    TEAM_A,
    TEAM_B,
    annotate,
    capacity,
    declared,
    in_force,
    noted,
    start_adopted,
    wait_for_computation,
    wait_for_message,
)

GI = 2**30


class Loss(NamedTuple):
    """What happens to the annotations, what the message must say, and what it tells to remove beside a spec written."""

    to: dict[str, Any]
    says: tuple[str, ...]
    remove: tuple[str, ...] = ()


GONE = (f"{APPLIED} is gone", "restore both annotations, or write the declared quotas into the spec")
UNREADABLE = ("restore it, or write the declared quotas into the spec", "and remove both annotations")
BOTH = (DECLARED, APPLIED)
LOSSES = {
    "applied is removed": Loss({APPLIED: None}, GONE),
    "declared is removed": Loss({DECLARED: None}, (f"{DECLARED} is gone", "remove the other one too"), (APPLIED,)),
    "both are removed": Loss({APPLIED: None, DECLARED: None}, GONE),
    "applied is garbage": Loss({APPLIED: "6 cpu"}, (f"{APPLIED} cannot be read", *UNREADABLE), BOTH),
    "declared is garbage": Loss({DECLARED: "[{"}, (f"{DECLARED} cannot be read", *UNREADABLE), BOTH),
    "declared is nonsense": Loss(
        {DECLARED: '[{"coveredResources": ["cpu"], "flavors": [{"name": "default", "resources": [{"name": "cpu"}]}]}]'},
        (f"{DECLARED} cannot be read", "nominalQuota", *UNREADABLE),
        BOTH,
    ),
}
EVERY_LOSS = pytest.mark.parametrize("loss", LOSSES.values(), ids=LOSSES.keys())


def _lose(plane: ControlPlane, loss: Loss) -> None:
    annotate(plane, TEAM_A, loss.to)
    wait_for_message(plane, "Misconfigured", "ClusterQueue/team-a", *loss.says)


def _swing(plane: ControlPlane) -> None:
    """Capacity goes up, down and to nothing; each time a pass sees it."""
    for cpu in (48, 8, 0, 40):
        capacity(plane, cpu)
        wait_for_computation(plane, cpu)


@EVERY_LOSS
def test_nothing_is_written_and_restoring_leads_out(loss: Loss, teams: ControlPlane) -> None:
    """Whatever the capacity does: what is in force is never taken for a declaration, in either queue."""
    start_adopted(teams)
    kept = noted(teams, TEAM_A)
    _lose(teams, loss)
    history = History(teams)
    _swing(teams)
    wait_for_message(teams, "Misconfigured", "ClusterQueue/team-a", *loss.says)
    assert not history.changes("team-a")
    assert not history.changes("team-b")
    annotate(teams, TEAM_A, kept)
    wait_for_quotas(teams, team_a=10, team_b=30)
    wait_for_condition(teams, "True", "QuotasDistributed")
    assert declared(teams, TEAM_A) == {"default/cpu": 10, "default/memory": 20 * GI}


@EVERY_LOSS
def test_writing_the_declaration_into_the_spec_leads_out(loss: Loss, teams: ControlPlane) -> None:
    """With the annotations removed that the message names."""
    start_adopted(teams)
    _lose(teams, loss)
    body = {
        "metadata": {"annotations": dict.fromkeys(loss.remove)},
        "spec": {"resourceGroups": groups(OF_A)},
    }
    teams.admin.patch(TEAM_A, body, manager="kubectl-edit")
    wait_for_condition(teams, "True", "QuotasDistributed")
    wait_for_quotas(teams, team_a=6, team_b=18)
    assert declared(teams, TEAM_A) == {"default/cpu": 10, "default/memory": 20 * GI}
    assert declared(teams, TEAM_B) == {"default/cpu": 30, "default/memory": 20 * GI}


def test_a_loss_while_nobody_orchestrates_is_seen_at_the_next_start(teams: ControlPlane) -> None:
    """Before anything is written."""
    start_adopted(teams).server.stop()
    annotate(teams, TEAM_A, {APPLIED: None, DECLARED: None})
    capacity(teams, 8)
    history = History(teams)
    start_orchestrator(teams, name="second")
    wait_for_message(teams, "Misconfigured", "ClusterQueue/team-a", "is gone")
    wait_for_computation(teams, 8)
    assert not history.changes("team-a")
    assert not history.changes("team-b")
    assert in_force(teams, TEAM_A)["default/cpu"] == 6
