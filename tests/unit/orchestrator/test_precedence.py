"""Precedence: which of several orchestrators with overlapping subtrees writes."""

from __future__ import annotations

import itertools

import pytest

from kueue_dqo.api.dqo import DISTRIBUTED, DynamicQuotaOrchestrator
from orchestrator.hierarchy import Hierarchy
from orchestrator.precedence import outranks, those_above
from tests.unit.orchestrator.builders import (
    CPU,
    cohort,
    cohort_key,
    condition_of,
    nominals,
    orchestrator,
    provider,
    queue,
    queue_key,
    ref,
    settled,
    verdicts,
)

MEMBERS = (
    cohort("top"),
    cohort("left", parent="top"),
    queue("a", {"f": {CPU: 1}}, parent="left"),
    queue("b", {"f": {CPU: 1}}, parent="top"),
    queue("i", {"f": {CPU: 1}}, parent="implicit"),
    queue("j", {"f": {CPU: 1}}, parent="implicit"),
)
PROVIDERS = (provider("capacity", {"f": {CPU: 8}}),)

TOP, LEFT, A, B = cohort_key("top"), cohort_key("left"), queue_key("a"), queue_key("b")
NEW_YEAR = "2026-01-01T00:00:00Z"
DAY_AFTER = "2026-01-02T00:00:00Z"
WINS, LOSES = "QuotasDistributed", "ConflictingDynamicQuotaOrchestrator"


@pytest.mark.parametrize(
    ("winner", "loser"),
    [
        pytest.param(
            orchestrator("w", root=TOP, created=DAY_AFTER, uid="2"),
            orchestrator("l", root=LEFT, created=NEW_YEAR, uid="1"),
            id="the higher root, though it is younger",
        ),
        pytest.param(
            orchestrator("w", root=TOP, created=DAY_AFTER, uid="2"),
            orchestrator("l", root=A, created=NEW_YEAR, uid="1"),
            id="the higher root by two levels",
        ),
        pytest.param(
            orchestrator("w", root=LEFT, created=DAY_AFTER, uid="2"),
            orchestrator("l", root=A, created=NEW_YEAR, uid="1"),
            id="a cohort over its queue",
        ),
        pytest.param(
            orchestrator("w", root=TOP, created=NEW_YEAR, uid="2"),
            orchestrator("l", root=TOP, created=DAY_AFTER, uid="1"),
            id="on one cohort the earlier",
        ),
        pytest.param(
            orchestrator("w", root=A, created=NEW_YEAR, uid="2"),
            orchestrator("l", root=A, created=DAY_AFTER, uid="1"),
            id="on one queue the earlier",
        ),
        pytest.param(
            orchestrator("w", root=TOP, created="2026-01-01T00:30:00+01:00", uid="2"),
            orchestrator("l", root=TOP, created=NEW_YEAR, uid="1"),
            id="the earlier instant, though its text sorts later",
        ),
        pytest.param(
            orchestrator("w", root=TOP, created="2026-01-01T00:00:00.000001Z", uid="2"),
            orchestrator("l", root=TOP, created="2026-01-01T00:00:00.000002Z", uid="1"),
            id="earlier by a microsecond",
        ),
        pytest.param(
            orchestrator("w", root=TOP, created=NEW_YEAR, uid="1"),
            orchestrator("l", root=TOP, created=NEW_YEAR, uid="2"),
            id="of equal age the smaller UID",
        ),
        pytest.param(
            orchestrator("w", root=TOP, created=NEW_YEAR, uid="10"),
            orchestrator("l", root=TOP, created=NEW_YEAR, uid="9"),
            id="UIDs are compared by their characters",
        ),
        pytest.param(
            orchestrator("w", root=TOP, created="2026-01-01T01:00:00+01:00", uid="1"),
            orchestrator("l", root=TOP, created=NEW_YEAR, uid="2"),
            id="one instant in two time zones is equal age, first spelling",
        ),
        pytest.param(
            orchestrator("w", root=TOP, created=NEW_YEAR, uid="1"),
            orchestrator("l", root=TOP, created="2026-01-01T01:00:00+01:00", uid="2"),
            id="one instant in two time zones is equal age, second spelling",
        ),
        pytest.param(
            orchestrator("w", root=TOP, created="2026-01-01T00:00:00.000Z", uid="1"),
            orchestrator("l", root=TOP, created=NEW_YEAR, uid="2"),
            id="a fraction of zero is equal age",
        ),
        pytest.param(
            orchestrator("w", root=TOP, created="2026-01-01T00:00:00-00:00", uid="1"),
            orchestrator("l", root=TOP, created="2025-12-31T19:00:00-05:00", uid="2"),
            id="another day in another time zone is equal age",
        ),
        pytest.param(
            orchestrator("w", root=TOP, created=None, uid="1"),
            orchestrator("l", root=TOP, created=None, uid="2"),
            id="without creation times the UID",
        ),
        pytest.param(
            orchestrator("w", root=TOP, created=NEW_YEAR, uid="2"),
            orchestrator("l", root=TOP, created=None, uid="1"),
            id="what is in the cluster over what is not there yet",
        ),
        pytest.param(
            orchestrator("a", root=TOP, created=NEW_YEAR, uid=""),
            orchestrator("b", root=TOP, created=NEW_YEAR, uid=""),
            id="without UIDs the name",
        ),
    ],
)
def test_of_two_orchestrators_one_wins(winner: DynamicQuotaOrchestrator, loser: DynamicQuotaOrchestrator) -> None:
    """The higher root; on the same root the earlier creation; then the smaller UID. The other one is below it."""
    hierarchy = Hierarchy(MEMBERS)
    assert outranks(winner, loser, hierarchy)
    assert not outranks(loser, winner, hierarchy)
    for both in ([winner, loser], [loser, winner]):
        assert those_above(winner, both, hierarchy) == []
        assert those_above(loser, both, hierarchy) == [winner]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        pytest.param(orchestrator("one", root=A), orchestrator("other", root=B), id="two queues of one cohort"),
        pytest.param(
            orchestrator("one", root=LEFT), orchestrator("other", root=B), id="a cohort and a queue beside it"
        ),
        pytest.param(
            orchestrator("one", root=queue_key("i")), orchestrator("other", root=queue_key("j")), id="no common object"
        ),
        pytest.param(orchestrator("one", root=TOP), orchestrator("other", root=None), id="one is discovery-only"),
        pytest.param(orchestrator("one", root=None), orchestrator("other", root=None), id="both are discovery-only"),
        pytest.param(
            orchestrator("one", root=TOP, deleting=True), orchestrator("other", root=LEFT), id="the higher is deleted"
        ),
        pytest.param(
            orchestrator("one", root=TOP), orchestrator("other", root=LEFT, deleting=True), id="the lower is deleted"
        ),
        pytest.param(
            orchestrator("one", root=TOP, created=NEW_YEAR, deleting=True),
            orchestrator("other", root=TOP, created=DAY_AFTER),
            id="the earlier is deleted",
        ),
        pytest.param(
            orchestrator("one", root=TOP), orchestrator("other", root=cohort_key("nowhere")), id="one root is nowhere"
        ),
        pytest.param(
            orchestrator("one", root=cohort_key("a")), orchestrator("other", root=A), id="one name, two kinds"
        ),
    ],
)
def test_orchestrators_that_do_not_compete_are_in_nobodys_way(
    one: DynamicQuotaOrchestrator, other: DynamicQuotaOrchestrator
) -> None:
    """Neither is above the other."""
    hierarchy = Hierarchy(MEMBERS)
    assert not outranks(one, other, hierarchy)
    assert not outranks(other, one, hierarchy)


def test_nobody_outranks_itself() -> None:
    """Not even in a cycle of cohorts, where a root is above itself."""
    for members in (MEMBERS, [cohort("top", parent="top")]):
        itself = orchestrator("dqo", root=TOP)
        assert not outranks(itself, itself, Hierarchy(members))


def test_the_highest_of_many_wins_and_each_loser_learns_of_all_above_it() -> None:
    """The oldest first, with their roots."""
    many = [
        orchestrator("grandparent", "capacity", root=TOP, created="2026-01-04T00:00:00Z"),
        orchestrator("parent", "capacity", root=LEFT, created="2026-01-03T00:00:00Z"),
        orchestrator("older", "capacity", root=A, created="2026-01-01T00:00:00Z"),
        orchestrator("younger", "capacity", root=A, created="2026-01-02T00:00:00Z"),
        orchestrator("beside", "capacity", root=queue_key("i"), created="2026-01-01T00:00:00Z"),
    ]
    for order in itertools.permutations(many):
        outcomes = settled(order, PROVIDERS, MEMBERS)
        assert verdicts(outcomes) == {
            "grandparent": WINS,
            "parent": LOSES,
            "older": LOSES,
            "younger": LOSES,
            "beside": WINS,
        }
        assert {name for name, outcome in outcomes.items() if outcome.quotas} == {"grandparent", "beside"}
        messages = {name: condition_of(outcome, DISTRIBUTED).message for name, outcome in outcomes.items()}
        assert messages["parent"].startswith(
            "grandparent (root Cohort/top) has precedence over this orchestrator's root Cohort/left"
        )
        assert messages["older"].startswith(
            "parent (root Cohort/left), grandparent (root Cohort/top) have precedence over this orchestrator's root "
            "ClusterQueue/a"
        )
        assert messages["younger"].startswith(
            "older (root ClusterQueue/a), parent (root Cohort/left), grandparent (root Cohort/top) have precedence"
        )


@pytest.mark.parametrize(
    "rival",
    [
        pytest.param(orchestrator("rival", "capacity", root=None), id="discovery-only"),
        pytest.param(orchestrator("rival", "capacity", root=TOP, deleting=True), id="being deleted"),
        pytest.param(orchestrator("rival", "capacity", root=B, created="2020-01-01T00:00:00Z"), id="on another queue"),
    ],
)
def test_a_rival_that_does_not_compete_stops_nobody(rival: DynamicQuotaOrchestrator) -> None:
    """The orchestrator below it writes."""
    mine = orchestrator("mine", "capacity", root=LEFT)
    outcome = settled([rival, mine], PROVIDERS, MEMBERS)["mine"]
    assert verdicts({"mine": outcome}) == {"mine": WINS}
    assert nominals(outcome.quotas[A]) == {"f/cpu": "8"}


def test_an_orchestrator_that_is_being_deleted_gets_no_outcome() -> None:
    """Nobody writes to it any more, nor it to anybody."""
    outcomes = settled([orchestrator("gone", "capacity", root=TOP, deleting=True)], PROVIDERS, MEMBERS)
    assert outcomes == {}


@pytest.mark.parametrize(
    ("winner", "reason"),
    [
        pytest.param(
            orchestrator("winner", "gone", root=TOP), "EffectiveCapacityNotComputed", id="its discovery fails"
        ),
        pytest.param(
            orchestrator("winner", "capacity", root=cohort_key("implicit")),
            "Misconfigured",
            id="its root has no object",
        ),
        pytest.param(
            orchestrator("winner", "capacity", root=cohort_key("owned")),
            "EffectiveQuotasConflict",
            id="it may not overwrite the quotas of one target",
        ),
    ],
)
def test_the_winner_keeps_precedence_while_it_distributes_nothing(
    winner: DynamicQuotaOrchestrator, reason: str
) -> None:
    """Then nobody updates the subtree."""
    members = [
        *MEMBERS,
        cohort("owned"),
        queue("foreign", {"f": {CPU: 1}}, parent="owned", owner=ref("somebody", kind="Other")),
        queue("free", {"f": {CPU: 1}}, parent="owned"),
    ]
    below = {TOP: LEFT, cohort_key("implicit"): queue_key("i"), cohort_key("owned"): queue_key("free")}
    assert winner.root is not None
    loser = orchestrator("loser", "capacity", root=below[winner.root], created="2020-01-01T00:00:00Z")
    outcomes = settled([loser, winner], PROVIDERS, members)
    assert verdicts(outcomes) == {"winner": reason, "loser": LOSES}
    assert not any(outcome.quotas for outcome in outcomes.values())


def test_on_a_root_that_nobody_has_the_younger_is_told_of_the_older() -> None:
    """And that there is no such root either."""
    nowhere = cohort_key("nowhere")
    outcomes = settled(
        [
            orchestrator("older", "capacity", root=nowhere, created=NEW_YEAR),
            orchestrator("younger", "capacity", root=nowhere, created=DAY_AFTER),
        ],
        PROVIDERS,
        MEMBERS,
    )
    assert verdicts(outcomes) == {"older": "Misconfigured", "younger": LOSES}
    assert "also Misconfigured: The root Cohort/nowhere" in condition_of(outcomes["younger"], DISTRIBUTED).message
