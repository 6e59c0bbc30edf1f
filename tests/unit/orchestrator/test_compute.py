"""From a snapshot to outcomes: conditions, their messages, and what stays as it was."""

from __future__ import annotations

import itertools

import pytest

from kueue_dqo.api.dqo import (
    AGGREGATION_FAILED,
    COMPUTED,
    CONFLICTING_ORCHESTRATOR,
    DISTRIBUTED,
    EFFECTIVE_CAPACITY_COMPUTED,
    EFFECTIVE_CAPACITY_NOT_COMPUTED,
    EFFECTIVE_QUOTAS_CONFLICT,
    MAX_PROVIDERS,
    MISCONFIGURED,
    PROVIDER_NOT_READY,
    QUOTAS_DISTRIBUTED,
    CapacityProvider,
)
from kueue_dqo.api.meta import Condition, ObjectKey
from orchestrator.compute import Outcome, Snapshot, compute
from orchestrator.hierarchy import Hierarchy
from orchestrator.members import Member
from tests.unit.orchestrator.builders import (
    CPU,
    cohort,
    cohort_key,
    condition_of,
    distributed,
    effective,
    orchestrator,
    provider,
    queue,
    queue_key,
    ref,
    settled,
    shares,
    synchronized,
    verdict,
    verdicts,
)

CAPACITY = provider("capacity", {"f": {CPU: 48}})
MEMBERS = (
    cohort("team", {"f": {CPU: 0}}),
    queue("a", {"f": {CPU: 10}}, parent="team"),
    queue("b", {"f": {CPU: 20}}, parent="team"),
)
TEAM = cohort_key("team")
LONGEST_MESSAGE = 32768
"""Characters in the message of a standard condition."""
LONG_AGO = "2020-01-01T00:00:00Z"


def _outcome(
    *conditions: Condition, root: ObjectKey | None = TEAM, of: str = "capacity", generation: int = 1
) -> Outcome:
    """The outcome of one orchestrator that has the conditions."""
    one = orchestrator("dqo", of, root=root, conditions=conditions, generation=generation)
    return settled([one], [CAPACITY], MEMBERS)["dqo"]


# --- the two conditions --------------------------------------------------------------------------------------------


def test_capacity_is_computed_and_distributed() -> None:
    """The specification's example: 48 CPUs over nominal quotas of 10 and 20."""
    outcome = _outcome()
    assert effective(outcome) == {"f": {CPU: "48"}}
    assert shares(outcome) == {"team": {"f/cpu": "0"}, "a": {"f/cpu": "16"}, "b": {"f/cpu": "32"}}
    assert [(each.type, each.status, each.reason) for each in outcome.status.conditions] == [
        (EFFECTIVE_CAPACITY_COMPUTED, "True", COMPUTED),
        (DISTRIBUTED, "True", QUOTAS_DISTRIBUTED),
    ]
    message = condition_of(outcome, DISTRIBUTED).message
    assert message == "Quotas of 2 ClusterQueues and 1 Cohort follow the capacity"


def test_in_discovery_only_mode_capacity_is_computed_and_no_quota_is_written() -> None:
    """The condition Distributed is absent, even where it was there before."""
    for conditions in ((), (distributed("True"),), (distributed("False"),)):
        outcome = _outcome(*conditions, root=None)
        assert effective(outcome) == {"f": {CPU: "48"}}
        assert outcome.quotas == {}
        assert [each.type for each in outcome.status.conditions] == [EFFECTIVE_CAPACITY_COMPUTED]


def test_in_discovery_only_mode_a_failure_clears_the_capacity() -> None:
    """And the condition Distributed stays absent."""
    outcome = _outcome(distributed("True"), root=None, of="gone")
    assert effective(outcome) is None
    assert [(each.type, each.status) for each in outcome.status.conditions] == [(EFFECTIVE_CAPACITY_COMPUTED, "False")]


@pytest.mark.parametrize(
    ("broken", "reason"),
    [
        pytest.param(provider("other", {}), MISCONFIGURED, id="no such provider"),
        pytest.param(provider("capacity", {"f": {CPU: 48}}, generation=2), PROVIDER_NOT_READY, id="a stale provider"),
        pytest.param(provider("capacity", {"f": {CPU: -48}}), AGGREGATION_FAILED, id="an impossible capacity"),
    ],
)
def test_without_effective_capacity_nothing_is_distributed(broken: CapacityProvider, reason: str) -> None:
    """The capacity is cleared, quotas stay, and the message of Distributed says why."""
    outcome = settled([orchestrator("dqo", "capacity", root=TEAM)], [broken], MEMBERS)["dqo"]
    assert effective(outcome) is None
    assert outcome.quotas == {}
    computed = condition_of(outcome, EFFECTIVE_CAPACITY_COMPUTED)
    assert (computed.status, computed.reason) == ("False", reason)
    assert verdict(outcome) == ("False", EFFECTIVE_CAPACITY_NOT_COMPUTED)
    assert computed.message in condition_of(outcome, DISTRIBUTED).message


@pytest.mark.parametrize(
    ("root", "told"),
    [
        pytest.param(cohort_key("nowhere"), "Cohort/nowhere does not exist", id="no such Cohort"),
        pytest.param(queue_key("team"), "ClusterQueue/team does not exist", id="a Cohort's name as a ClusterQueue"),
        pytest.param(cohort_key("implicit"), "Cohort/implicit is named as a parent", id="no object, only members"),
    ],
)
def test_a_root_that_is_not_there_is_a_misconfiguration(root: ObjectKey, told: str) -> None:
    """The capacity is computed all the same."""
    members = [*MEMBERS, queue("i", {"f": {CPU: 1}}, parent="implicit")]
    outcome = settled([orchestrator("dqo", "capacity", root=root)], [CAPACITY], members)["dqo"]
    assert effective(outcome) == {"f": {CPU: "48"}}
    assert outcome.quotas == {}
    assert verdict(outcome) == ("False", MISCONFIGURED)
    assert told in condition_of(outcome, DISTRIBUTED).message


def test_a_declaration_that_is_lost_stops_the_whole_subtree() -> None:
    """Its share cannot be told, and so nobody's can."""
    members = [*MEMBERS, queue("lost", {"f": {CPU: 5}}, parent="team")._replace(problem="the annotation is gone")]
    outcome = settled([orchestrator("dqo", "capacity", root=TEAM)], [CAPACITY], members)["dqo"]
    assert outcome.quotas == {}
    assert verdict(outcome) == ("False", MISCONFIGURED)
    assert condition_of(outcome, DISTRIBUTED).message == "ClusterQueue/lost: the annotation is gone"


def test_a_declaration_that_is_lost_elsewhere_stops_nobody() -> None:
    """Neither above the root nor beside it."""
    problem = "the annotation is gone"
    members = [
        cohort("top")._replace(problem=problem),
        queue("beside", parent="top")._replace(problem=problem),
        queue("a", {"f": {CPU: 10}}, parent="top"),
    ]
    outcome = settled([orchestrator("dqo", "capacity", root=queue_key("a"))], [CAPACITY], members)["dqo"]
    assert shares(outcome) == {"a": {"f/cpu": "48"}}


# --- several causes ------------------------------------------------------------------------------------------------

CAUSES = (EFFECTIVE_CAPACITY_NOT_COMPUTED, CONFLICTING_ORCHESTRATOR, EFFECTIVE_QUOTAS_CONFLICT, MISCONFIGURED)


@pytest.mark.parametrize(
    "causes",
    [chosen for count in (1, 2, 3, 4) for chosen in itertools.combinations(CAUSES, count)],
    ids=" and ".join,
)
def test_of_several_causes_the_first_of_the_api_is_the_reason_and_all_are_told(causes: tuple[str, ...]) -> None:
    """Each cause alone and all together, in the order in which the API lists its reasons."""
    mine = orchestrator("dqo", "gone" if EFFECTIVE_CAPACITY_NOT_COMPUTED in causes else "capacity", root=TEAM)
    elder = orchestrator("elder", "gone", root=TEAM, created=LONG_AGO)
    owner = ref("somebody", kind="Other") if EFFECTIVE_QUOTAS_CONFLICT in causes else None
    problem = "cannot be read" if MISCONFIGURED in causes else None
    members: list[Member] = [
        MEMBERS[0],
        MEMBERS[1]._replace(owner=owner),
        MEMBERS[2]._replace(problem=problem),
    ]
    orchestrators = [mine, elder] if CONFLICTING_ORCHESTRATOR in causes else [mine]
    outcome = settled(orchestrators, [CAPACITY], members)["dqo"]
    told = {
        EFFECTIVE_CAPACITY_NOT_COMPUTED: "CapacityProvider gone does not exist",
        CONFLICTING_ORCHESTRATOR: "elder (root Cohort/team) has precedence",
        EFFECTIVE_QUOTAS_CONFLICT: "the effective quotas of ClusterQueue/a were written by Other",
        MISCONFIGURED: "ClusterQueue/b: cannot be read",
    }
    assert verdict(outcome) == ("False", causes[0])
    assert outcome.quotas == {}
    message = condition_of(outcome, DISTRIBUTED).message
    assert {cause for cause in CAUSES if told[cause] in message} == set(causes)
    assert [cause for cause in CAUSES if f"also {cause}: " in message] == list(causes[1:])
    positions = [message.index(told[cause]) for cause in causes]
    assert positions == sorted(positions)


def test_the_message_of_several_causes_reads_as_one_line() -> None:
    """What a person sees in `kubectl describe`."""
    outcome = settled([orchestrator("dqo", "gone", root=cohort_key("nowhere"))], [CAPACITY], MEMBERS)["dqo"]
    assert condition_of(outcome, DISTRIBUTED).message == (
        "Effective capacity is not computed, quotas stay as they are: CapacityProvider gone does not exist: create it, "
        "or take it out of spec.capacityDiscovery.providers; also Misconfigured: The root Cohort/nowhere does not "
        "exist: create it, or correct spec.capacityDistribution.subtreeRootQuotaRef"
    )


def test_of_many_objects_the_message_names_the_first_and_counts_the_rest() -> None:
    """A message has to fit into a condition."""
    members = [cohort("team"), *(queue(f"q{n}", parent="team", owner=ref("x", kind="Other")) for n in range(9))]
    outcome = settled([orchestrator("dqo", "capacity", root=TEAM)], [CAPACITY], members)["dqo"]
    message = condition_of(outcome, DISTRIBUTED).message
    assert [n for n in range(9) if f"ClusterQueue/q{n} " in message] == [0, 1, 2, 3, 4]
    assert message.endswith(" and 4 more")


@pytest.mark.parametrize(
    "providers",
    [
        pytest.param(
            [
                provider(f"p{n}", {}, conditions=(synchronized("False", message="x" * LONGEST_MESSAGE),))
                for n in range(MAX_PROVIDERS)
            ],
            id="providers with the longest messages that there can be",
        ),
        pytest.param(
            [provider("p0", {f"flavor-{f}": {f"example.com/{r}": -1 for r in range(64)} for f in range(64)})],
            id="a provider with the most negative amounts that there can be",
        ),
        pytest.param(
            [provider("p0", {f"flavor-{f}": {f"example.com/{r}": "12Ei" for r in range(64)} for f in range(64)})],
            id="a provider with the most amounts beyond the largest that there can be",
        ),
    ],
)
def test_messages_fit_into_a_condition(providers: list[CapacityProvider]) -> None:
    """The API server refuses a longer one, and with it the whole status."""
    listed = [each.metadata.name for each in providers]
    outcome = settled([orchestrator("dqo", *listed, root=TEAM)], providers, MEMBERS)["dqo"]
    messages = [each.message for each in outcome.status.conditions]
    assert [len(message) for message in messages] == [LONGEST_MESSAGE, LONGEST_MESSAGE]
    assert ["(cut; " in message[-40:] for message in messages] == [True, True]


# --- what conditions carry -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("of", ["capacity", "gone"])
def test_both_conditions_carry_the_generation_of_the_orchestrator(of: str) -> None:
    """Whether or not they are True."""
    conditions = _outcome(of=of, generation=41).status.conditions
    assert [each.observed_generation for each in conditions] == [41, 41]


@pytest.mark.parametrize("root", [TEAM, None], ids=["distributing", "discovery-only"])
def test_conditions_of_others_are_kept(root: ObjectKey | None) -> None:
    """As they are and in their order; ours are replaced, not repeated."""
    one = Condition("Reviewed", "True", "ByHand", "by a person", 3, LONG_AGO)
    other = Condition("Paused", "False", "", "", None, None)
    mine = (distributed("False"), Condition(EFFECTIVE_CAPACITY_COMPUTED, "False", "Old"))
    conditions = _outcome(one, *mine, other, root=root).status.conditions
    assert conditions[:2] == (one, other)
    assert [each.type for each in conditions[2:]] == [
        EFFECTIVE_CAPACITY_COMPUTED,
        *([DISTRIBUTED] if root is not None else []),
    ]
    assert {each.status for each in conditions[2:]} == {"True"}


@pytest.mark.parametrize("of", ["capacity", "gone"])
@pytest.mark.parametrize("before", ["True", "False", "Unknown"])
def test_the_time_of_the_last_transition_is_kept_while_the_status_stays(of: str, before: str) -> None:
    """Where it changes the time is open; a new reason or message is no transition."""
    outcome = _outcome(
        Condition(EFFECTIVE_CAPACITY_COMPUTED, before, "Old", "old", 1, "2020-01-01T00:00:00Z"),
        distributed(before, reason="Old", since="2021-01-01T00:00:00Z"),
        of=of,
    )
    stays = before == ("True" if of == "capacity" else "False")
    assert condition_of(outcome, EFFECTIVE_CAPACITY_COMPUTED).last_transition_time == (
        "2020-01-01T00:00:00Z" if stays else None
    )
    assert condition_of(outcome, DISTRIBUTED).last_transition_time == ("2021-01-01T00:00:00Z" if stays else None)
    assert condition_of(outcome, DISTRIBUTED).reason != "Old"


def test_a_condition_that_is_new_has_no_time_yet() -> None:
    """Whoever writes it sets the time."""
    assert [each.last_transition_time for each in _outcome().status.conditions] == [None, None]


# --- many orchestrators --------------------------------------------------------------------------------------------


def test_each_orchestrator_has_its_own_capacity_and_subtree() -> None:
    """One provider may serve several, each with its own multiplier."""
    members = [queue("a", {"f": {CPU: 1}}), queue("b", {"f": {CPU: 1}}), queue("c", {"f": {CPU: 7}})]
    orchestrators = [
        orchestrator("half", multipliers={"capacity": "0.5"}, root=queue_key("a")),
        orchestrator("most", multipliers={"capacity": "0.75"}, root=queue_key("b")),
        orchestrator("watching", multipliers={"capacity": 2}),
        orchestrator("failing", "gone", root=queue_key("c")),
    ]
    outcomes = settled(orchestrators, [CAPACITY], members)
    assert {name: effective(outcome) for name, outcome in outcomes.items()} == {
        "half": {"f": {CPU: "24"}},
        "most": {"f": {CPU: "36"}},
        "watching": {"f": {CPU: "96"}},
        "failing": None,
    }
    assert {name: shares(outcome) for name, outcome in outcomes.items()} == {
        "half": {"a": {"f/cpu": "24"}},
        "most": {"b": {"f/cpu": "36"}},
        "watching": {},
        "failing": {},
    }


def test_a_cluster_without_orchestrators_has_no_outcomes() -> None:
    """Nothing is written by itself."""
    assert compute(Snapshot({}, {"capacity": CAPACITY}, Hierarchy(MEMBERS))) == {}


def test_an_empty_cluster_leaves_an_orchestrator_without_a_root() -> None:
    """No member at all."""
    outcomes = settled([orchestrator("dqo", "capacity", root=TEAM)], [CAPACITY], [])
    assert verdicts(outcomes) == {"dqo": MISCONFIGURED}


def test_the_snapshot_is_left_as_it_was() -> None:
    """The same snapshot gives the same outcome again."""
    snapshot = Snapshot({"dqo": orchestrator("dqo", "capacity", root=TEAM)}, {"capacity": CAPACITY}, Hierarchy(MEMBERS))
    assert compute(snapshot) == compute(snapshot)


@pytest.mark.parametrize(
    ("conditions", "beside"),
    [((), EFFECTIVE_QUOTAS_CONFLICT), ((Condition(DISTRIBUTED, "False", MISCONFIGURED),), QUOTAS_DISTRIBUTED)],
)
def test_an_unreadable_orchestrator_keeps_its_precedence(conditions: tuple[Condition, ...], beside: str) -> None:
    """Only its place is known. It has no outcome, and nobody takes over below its root; elsewhere, once it says no."""
    members = [
        cohort("top"),
        cohort("low", parent="top"),
        queue("a", {"f": {CPU: 1}}, parent="low"),
        queue("b", {"f": {CPU: 1}}, owner=ref("unread")),
    ]
    found = [
        orchestrator("unread", root=cohort_key("top"), conditions=conditions),
        orchestrator("below", "p", root=cohort_key("low")),
        orchestrator("beside", "p", root=queue_key("b")),
    ]
    snapshot = Snapshot(
        {each.metadata.name: each for each in found},
        {"p": provider("p", {"f": {CPU: 8}})},
        Hierarchy(members),
        frozenset({"unread"}),
    )
    assert verdicts(compute(snapshot)) == {
        "below": CONFLICTING_ORCHESTRATOR,
        "beside": beside,
    }
