"""Ownership: whose effective quotas an orchestrator may overwrite."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence

import pytest

from kueue_dqo.api.dqo import DISTRIBUTED, DynamicQuotaOrchestrator
from kueue_dqo.api.meta import Condition, ObjectKey
from kueue_dqo.api.quotas import OrchestratorRef
from orchestrator.compute import Outcome
from orchestrator.hierarchy import Hierarchy
from orchestrator.members import Member
from orchestrator.ownership import why_not_mine
from tests.unit.orchestrator.builders import (
    CPU,
    cohort,
    cohort_key,
    condition_of,
    distributed,
    orchestrator,
    provider,
    queue,
    queue_key,
    ref,
    settled,
    verdicts,
)

PROVIDERS = (provider("capacity", {"f": {CPU: 8}}),)
MINE, INSIDE, ELSEWHERE = cohort_key("mine"), queue_key("owned"), queue_key("elsewhere")
WRITES, REFUSED = "QuotasDistributed", "EffectiveQuotasConflict"
ACTIVE = (distributed("True", reason=WRITES),)
STOPPED = (distributed("False", reason=REFUSED),)


def _cluster(owner: OrchestratorRef | None) -> list[Member]:
    """My subtree, of which one queue has an owner, and a queue elsewhere."""
    return [
        cohort("top"),
        cohort("mine", {"f": {CPU: 1}}, parent="top"),
        queue("free", {"f": {CPU: 1}}, parent="mine"),
        queue("owned", {"f": {CPU: 1}}, parent="mine", owner=owner),
        queue("elsewhere", {"f": {CPU: 1}}),
    ]


def _with_me(others: Sequence[DynamicQuotaOrchestrator], members: Sequence[Member]) -> Mapping[str, Outcome]:
    """The outcomes with an orchestrator `me` on my subtree, the same in whatever order the objects come."""
    mine = orchestrator("me", "capacity", root=MINE)
    outcomes = settled([mine, *others], PROVIDERS, members)
    for order in itertools.permutations([mine, *others]):
        assert settled(order, PROVIDERS, reversed(members)) == outcomes
    return outcomes


# --- each kind of owner --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("owner", "others"),
    [
        pytest.param(None, [], id="nobody"),
        pytest.param(ref("me"), [], id="myself"),
        pytest.param(ref("gone"), [], id="an orchestrator that is gone"),
        pytest.param(
            ref("deleted"),
            [orchestrator("deleted", "capacity", root=ELSEWHERE, deleting=True, conditions=ACTIVE)],
            id="an orchestrator that is being deleted",
        ),
        pytest.param(
            ref("watching"),
            [orchestrator("watching", "capacity", conditions=ACTIVE)],
            id="an orchestrator that is discovery-only by now",
        ),
        pytest.param(
            ref("stopped"),
            [orchestrator("stopped", "gone", root=ELSEWHERE, conditions=STOPPED)],
            id="an orchestrator that does not distribute",
        ),
        pytest.param(
            ref("stopping"),
            [orchestrator("stopping", "gone", root=ELSEWHERE, conditions=ACTIVE)],
            id="an orchestrator that stops distributing now",
        ),
        pytest.param(
            ref("new"),
            [orchestrator("new", "gone", root=ELSEWHERE)],
            id="an orchestrator of the same name as an earlier one, which has no condition yet and cannot distribute",
        ),
        pytest.param(
            ref("back"),
            [orchestrator("back", "capacity", root=ELSEWHERE, conditions=STOPPED)],
            id="an orchestrator elsewhere that did not distribute until now",
        ),
        pytest.param(
            ref("below"),
            [orchestrator("below", "capacity", root=INSIDE, created="2020-01-01T00:00:00Z", conditions=ACTIVE)],
            id="an active orchestrator below me",
        ),
        pytest.param(
            ref("beside"),
            [orchestrator("beside", "capacity", root=queue_key("free"), conditions=ACTIVE)],
            id="an active orchestrator on another queue of mine",
        ),
        pytest.param(
            ref("younger"),
            [orchestrator("younger", "capacity", root=MINE, created="2026-02-01T00:00:00Z", conditions=ACTIVE)],
            id="an active orchestrator on my root that I precede",
        ),
    ],
)
def test_quotas_may_be_overwritten(owner: OrchestratorRef | None, others: list[DynamicQuotaOrchestrator]) -> None:
    """Those of nobody, of me, of one that is not active, and of one that I outrank."""
    outcome = _with_me(others, _cluster(owner))["me"]
    assert condition_of(outcome, DISTRIBUTED).reason == WRITES
    assert outcome.quotas.keys() == {MINE, INSIDE, queue_key("free")}
    assert {quotas.orchestrator_ref for quotas in outcome.quotas.values()} == {ref("me")}


@pytest.mark.parametrize(
    ("owner", "others"),
    [
        pytest.param(ref("me", kind="Other"), [], id="my name with another kind"),
        pytest.param(ref("me", group="example.com"), [], id="my name with another group"),
        pytest.param(ref("me", group=""), [], id="my name without a group"),
        pytest.param(ref("other", kind="Other", group="example.com"), [], id="another component"),
        pytest.param(
            ref("gone", kind="Other"),
            [orchestrator("gone", "gone", root=ELSEWHERE, conditions=STOPPED)],
            id="another kind by the name of an orchestrator that does not distribute",
        ),
        pytest.param(
            ref("active"),
            [orchestrator("active", "capacity", root=ELSEWHERE, conditions=ACTIVE)],
            id="an active orchestrator elsewhere",
        ),
        pytest.param(
            ref("fresh"),
            [orchestrator("fresh", "capacity", root=ELSEWHERE)],
            id="an orchestrator elsewhere that distributes for the first time",
        ),
        pytest.param(
            ref("unsure"),
            [orchestrator("unsure", "capacity", root=ELSEWHERE, conditions=(distributed("Unknown"),))],
            id="an orchestrator elsewhere whose condition is Unknown",
        ),
        pytest.param(
            ref("other"),
            [
                orchestrator(
                    "other", "capacity", root=ELSEWHERE, conditions=(Condition("EffectiveCapacityComputed", "False"),)
                )
            ],
            id="an orchestrator elsewhere of which another condition is False",
        ),
    ],
)
def test_quotas_may_not_be_overwritten_and_then_nothing_is_written(
    owner: OrchestratorRef, others: list[DynamicQuotaOrchestrator]
) -> None:
    """Not on the queues beside it either. The message names the object and who wrote there."""
    outcome = _with_me(others, _cluster(owner))["me"]
    condition = condition_of(outcome, DISTRIBUTED)
    assert (condition.status, condition.reason) == ("False", REFUSED)
    assert outcome.quotas == {}
    assert "ClusterQueue/owned" in condition.message
    assert owner.name in condition.message
    assert "ClusterQueue/free" not in condition.message


def test_the_owner_elsewhere_goes_on_distributing() -> None:
    """The conflict is the newcomer's alone."""
    active = orchestrator("active", "capacity", root=ELSEWHERE, conditions=ACTIVE)
    outcomes = _with_me([active], _cluster(ref("active")))
    assert verdicts(outcomes) == {"active": WRITES, "me": REFUSED}
    assert outcomes["active"].quotas.keys() == {ELSEWHERE}


@pytest.mark.parametrize(
    "above",
    [
        pytest.param(orchestrator("above", "capacity", root=cohort_key("top"), conditions=ACTIVE), id="above me"),
        pytest.param(
            orchestrator("above", "capacity", root=MINE, created="2020-01-01T00:00:00Z", conditions=ACTIVE),
            id="on my root and older",
        ),
    ],
)
def test_an_active_owner_above_me_is_a_matter_of_precedence(above: DynamicQuotaOrchestrator) -> None:
    """I write nothing, and it does."""
    outcomes = _with_me([above], _cluster(ref("above")))
    assert verdicts(outcomes) == {"above": WRITES, "me": "ConflictingDynamicQuotaOrchestrator"}
    assert outcomes["me"].quotas == {}
    assert INSIDE in outcomes["above"].quotas


@pytest.mark.parametrize(("field", "value"), [("kind", "Other"), ("group", "example.com"), ("group", "")])
def test_a_foreign_owner_is_named_with_its_kind_and_group(field: str, value: str) -> None:
    """A name alone would say that it is me."""
    owner = ref("me", kind=value) if field == "kind" else ref("me", group=value)
    message = condition_of(_with_me([], _cluster(owner))["me"], DISTRIBUTED).message
    assert str(owner) in message
    assert "no DynamicQuotaOrchestrator" in message or field == "group"


def test_every_target_is_looked_at() -> None:
    """One that is not mine is enough, and each of them is told."""
    members = [
        *_cluster(ref("gone")),
        queue("first", parent="mine", owner=ref("x", kind="First")),
        cohort("second", parent="mine", owner=ref("y", kind="Second")),
    ]
    outcome = _with_me([], members)["me"]
    message = condition_of(outcome, DISTRIBUTED).message
    assert outcome.quotas == {}
    assert "ClusterQueue/first" in message
    assert "Cohort/second" in message
    assert "ClusterQueue/owned" not in message


def test_what_is_outside_my_subtree_is_not_looked_at() -> None:
    """A foreign owner beside it or above it is in nobody's way."""
    members = [
        cohort("top", owner=ref("x", kind="Other")),
        queue("beside", parent="top", owner=ref("x", kind="Other")),
        cohort("mine", parent="top"),
    ]
    assert verdicts(_with_me([], members)) == {"me": WRITES}


# --- several at once -----------------------------------------------------------------------------------------------


def _on_queues(
    owners: Mapping[str, str], conditions: Mapping[str, tuple[Condition, ...]], foreign: Iterable[str] = ()
) -> dict[str, str]:
    """Verdicts of orchestrators on one queue each, whose quotas belong to the one that `owners` names.

    They are the same in whatever order the objects come.
    """
    members = [
        queue(f"q-{name}", {"f": {CPU: 1}}, owner=ref(owner, kind="Other") if name in foreign else ref(owner))
        for name, owner in owners.items()
    ]
    all_of_them = [
        orchestrator(name, "capacity", root=queue_key(f"q-{name}"), conditions=conditions.get(name, ()))
        for name in owners
    ]
    outcomes = settled(all_of_them, PROVIDERS, members)
    for order in itertools.permutations(all_of_them):
        assert settled(order, PROVIDERS, members) == outcomes
    written: list[ObjectKey] = [key for outcome in outcomes.values() for key in outcome.quotas]
    assert len(written) == len(set(written))
    return verdicts(outcomes)


@pytest.mark.parametrize(
    ("owners", "conditions", "wanted"),
    [
        pytest.param(
            {"a": "b", "b": "a"},
            {},
            {"a": WRITES, "b": WRITES},
            id="each holds the other's queue: both stop, and so both may take over",
        ),
        pytest.param(
            {"a": "b", "b": "a"},
            {"a": ACTIVE, "b": ACTIVE},
            {"a": WRITES, "b": WRITES},
            id="each holds the other's queue, and both are active",
        ),
        pytest.param(
            {"a": "b", "b": "a"},
            {"a": STOPPED, "b": STOPPED},
            {"a": WRITES, "b": WRITES},
            id="each holds the other's queue, and both have stopped",
        ),
        pytest.param(
            {"a": "b", "b": "a"},
            {"a": STOPPED, "b": ACTIVE},
            {"a": REFUSED, "b": WRITES},
            id="each holds the other's queue, and one has stopped: only that one's may be taken",
        ),
        pytest.param({"a": "b", "b": "b"}, {}, {"a": REFUSED, "b": WRITES}, id="the owner is at home"),
        pytest.param(
            {"a": "b", "b": "c", "c": "c"},
            {},
            {"a": WRITES, "b": REFUSED, "c": WRITES},
            id="a chain that ends in one that distributes: the second stops, so the first takes over",
        ),
        pytest.param(
            {"a": "b", "b": "c", "c": "d", "d": "d"},
            {},
            {"a": WRITES, "b": WRITES, "c": REFUSED, "d": WRITES},
            id="a longer chain: of those that stop together all but the last take over",
        ),
        pytest.param(
            {"a": "b", "b": "c", "c": "gone"},
            {"a": ACTIVE, "b": ACTIVE, "c": ACTIVE},
            {"a": WRITES, "b": REFUSED, "c": WRITES},
            id="a chain that ends in one that is gone",
        ),
        pytest.param({"a": "b", "b": "c", "c": "a"}, {}, {"a": WRITES, "b": WRITES, "c": WRITES}, id="a ring of three"),
        pytest.param(
            {"a": "b", "b": "c", "c": "a"},
            {"a": STOPPED},
            {"a": WRITES, "b": REFUSED, "c": WRITES},
            id="a ring of three of which one has stopped: its taker distributes first, and so keeps its own",
        ),
    ],
)
def test_takeovers_settle(
    owners: dict[str, str], conditions: dict[str, tuple[Condition, ...]], wanted: dict[str, str]
) -> None:
    """Who may write is the same in every order of the objects."""
    assert _on_queues(owners, conditions) == wanted


def test_a_foreign_owner_at_the_end_of_a_chain_stops_only_the_last() -> None:
    """The others may take over from it, as it does not distribute."""
    assert _on_queues({"a": "b", "b": "c", "c": "x"}, {}, foreign="c") == {"a": WRITES, "b": WRITES, "c": REFUSED}


def test_quotas_that_a_new_owner_has_taken_over_are_not_the_old_owners_any_more() -> None:
    """The old owner comes back to a root of its own and is in nobody's way."""
    members = _cluster(ref("back"))
    back = orchestrator("back", "capacity", root=ELSEWHERE, conditions=STOPPED)
    outcomes = _with_me([back], members)
    assert verdicts(outcomes) == {"back": WRITES, "me": WRITES}
    assert outcomes["back"].quotas.keys() == {ELSEWHERE}


# --- the bare rule -------------------------------------------------------------------------------------------------


def test_the_bare_rule_goes_by_those_that_are_said_not_to_distribute() -> None:
    """Not by the conditions of the orchestrators."""
    hierarchy = Hierarchy(_cluster(None))
    mine = orchestrator("me", root=MINE)
    other = orchestrator("other", root=ELSEWHERE, conditions=STOPPED)
    others = {"me": mine, "other": other}
    assert why_not_mine(ref("other"), mine, others, {"other"}, hierarchy) is None
    refusal = why_not_mine(ref("other"), mine, others, {"me"}, hierarchy)
    assert refusal is not None
    assert "DynamicQuotaOrchestrator other" in refusal
