"""The tree of Cohorts and ClusterQueues: who is above whom, and what a subtree is."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence

import pytest

from kueue_dqo.api.meta import ObjectKey
from orchestrator.hierarchy import Hierarchy
from orchestrator.members import Member
from tests.unit.orchestrator.builders import (
    CPU,
    cohort,
    cohort_key,
    nominals,
    orchestrator,
    provider,
    queue,
    queue_key,
    settled,
    verdicts,
)

DEPTH = 5000

TREE = (
    cohort("top"),
    cohort("left", parent="top"),
    cohort("right", parent="top"),
    cohort("low", parent="left"),
    queue("q-top", parent="top"),
    queue("q-left", parent="left"),
    queue("q-low", parent="low"),
    queue("alone"),
)
TANGLED = (
    # a cycle of one, of two and of three cohorts
    cohort("self", parent="self"),
    queue("q-self", parent="self"),
    cohort("tick", parent="tock"),
    cohort("tock", parent="tick"),
    queue("q-tick", parent="tick"),
    cohort("one", parent="two"),
    cohort("two", parent="three"),
    cohort("three", parent="one"),
    cohort("below", parent="two"),
    queue("q-below", parent="below"),
    # parents without an object
    queue("q-implicit", parent="implicit"),
    cohort("orphan", parent="implicit"),
    queue("q-orphan", parent="orphan"),
)


def _names(keys: Iterable[ObjectKey]) -> set[str]:
    return {key.name for key in keys}


@pytest.mark.parametrize(
    ("root", "below"),
    [
        pytest.param(cohort_key("top"), {"left", "right", "low", "q-top", "q-left", "q-low"}, id="all levels"),
        pytest.param(cohort_key("left"), {"low", "q-left", "q-low"}, id="not what is beside or above"),
        pytest.param(cohort_key("right"), set(), id="a cohort without members"),
        pytest.param(queue_key("q-top"), set(), id="a ClusterQueue"),
        pytest.param(queue_key("alone"), set(), id="a ClusterQueue without a cohort"),
        pytest.param(cohort_key("self"), {"q-self"}, id="its own parent"),
        pytest.param(cohort_key("tick"), {"tock", "q-tick"}, id="a cycle of two"),
        pytest.param(cohort_key("three"), {"one", "two", "below", "q-below"}, id="a cycle of three"),
        pytest.param(cohort_key("below"), {"q-below"}, id="what hangs on a cycle, without the cycle"),
        pytest.param(cohort_key("orphan"), {"q-orphan"}, id="a cohort whose parent has no object"),
    ],
)
def test_a_subtree_is_the_root_and_all_below_it(root: ObjectKey, below: set[str]) -> None:
    """Each once, whatever the cycles."""
    subtree = Hierarchy((*TREE, *TANGLED)).subtree(root)
    assert len(subtree) == len({member.key for member in subtree})
    assert _names(member.key for member in subtree) == {root.name} | below


@pytest.mark.parametrize(
    "root",
    [
        pytest.param(cohort_key("nowhere"), id="no such Cohort"),
        pytest.param(queue_key("nowhere"), id="no such ClusterQueue"),
        pytest.param(queue_key("top"), id="a Cohort's name with the kind ClusterQueue"),
        pytest.param(cohort_key("alone"), id="a ClusterQueue's name with the kind Cohort"),
        pytest.param(cohort_key("implicit"), id="a Cohort that only members name"),
    ],
)
def test_a_root_without_an_object_has_no_subtree(root: ObjectKey) -> None:
    """Not even where members name it as their parent."""
    assert Hierarchy((*TREE, *TANGLED)).subtree(root) == []


def test_a_queue_and_a_cohort_may_have_the_same_name() -> None:
    """Parents are Cohorts, so a queue of that name has nothing below it."""
    members = [queue("team", parent="team", uid="1"), cohort("team", uid="2"), queue("job", parent="team", uid="3")]
    hierarchy = Hierarchy(members)
    assert [member.key for member in hierarchy.subtree(queue_key("team"))] == [queue_key("team")]
    assert [member.key for member in hierarchy.subtree(cohort_key("team"))] == [
        queue_key("team"),
        cohort_key("team"),
        queue_key("job"),
    ]
    assert hierarchy.ancestors(queue_key("team")) == {cohort_key("team")}
    assert hierarchy.ancestors(cohort_key("team")) == set()


def test_a_subtree_is_ordered_by_uid() -> None:
    """Whatever the kinds, names and levels; without UIDs by kind and name."""
    members = [
        cohort("root", uid="5"),
        queue("a", parent="root", uid="7"),
        queue("b", parent="c", uid="3"),
        cohort("c", parent="root", uid="4"),
        queue("z", parent="root", uid=""),
        cohort("y", parent="root", uid=""),
        queue("x", parent="root", uid=""),
    ]
    for order in itertools.permutations(members):
        subtree = Hierarchy(order).subtree(cohort_key("root"))
        assert [member.key.name for member in subtree] == ["x", "z", "y", "b", "c", "root", "a"]


@pytest.mark.parametrize(
    ("key", "above"),
    [
        pytest.param(queue_key("q-low"), {"low", "left", "top"}, id="up to the top"),
        pytest.param(cohort_key("left"), {"top"}, id="not itself"),
        pytest.param(cohort_key("top"), set(), id="nothing above the top"),
        pytest.param(queue_key("alone"), set(), id="a ClusterQueue without a cohort"),
        pytest.param(queue_key("nowhere"), set(), id="no object"),
        pytest.param(cohort_key("implicit"), set(), id="a Cohort that only members name"),
        pytest.param(queue_key("q-implicit"), {"implicit"}, id="a parent without an object is above"),
        pytest.param(queue_key("q-orphan"), {"orphan", "implicit"}, id="also further up"),
        pytest.param(cohort_key("self"), {"self"}, id="its own parent is above itself"),
        pytest.param(queue_key("q-self"), {"self"}, id="a member of its own parent"),
        pytest.param(cohort_key("tick"), {"tick", "tock"}, id="a cycle of two"),
        pytest.param(cohort_key("two"), {"one", "two", "three"}, id="a cycle of three"),
        pytest.param(queue_key("q-below"), {"below", "one", "two", "three"}, id="what hangs on a cycle"),
    ],
)
def test_ancestors_are_all_that_is_strictly_above(key: ObjectKey, above: set[str]) -> None:
    """In a cycle every cohort of it is above every other and above itself."""
    ancestors = Hierarchy((*TREE, *TANGLED)).ancestors(key)
    assert ancestors == {cohort_key(name) for name in above}


@pytest.mark.parametrize(
    ("key", "implicit"),
    [
        pytest.param(cohort_key("implicit"), True, id="named as a parent, without an object"),
        pytest.param(cohort_key("top"), False, id="with an object and members"),
        pytest.param(cohort_key("right"), False, id="with an object, without members"),
        pytest.param(cohort_key("nowhere"), False, id="named by nobody"),
        pytest.param(queue_key("implicit"), False, id="of the kind ClusterQueue"),
    ],
)
def test_a_cohort_is_implicit_where_only_members_name_it(key: ObjectKey, implicit: bool) -> None:
    """A place in the tree without an object."""
    assert Hierarchy((*TREE, *TANGLED)).is_implicit(key) == implicit


def test_asking_for_a_cohort_that_nobody_names_does_not_make_it_implicit() -> None:
    """A question leaves no trace in the tree."""
    hierarchy = Hierarchy(TREE)
    assert hierarchy.subtree(cohort_key("nowhere")) == []
    assert hierarchy.subtree(cohort_key("right")) != []
    assert hierarchy.ancestors(cohort_key("nowhere")) == set()
    assert not hierarchy.is_implicit(cohort_key("nowhere"))


# --- depth ---------------------------------------------------------------------------------------------------------


def _chain(parent_of_the_first: str) -> list[Member]:
    """`DEPTH` cohorts, each in the one before, with a queue in the last."""
    cohorts = [cohort("c0", {"f": {CPU: 1}}, parent=parent_of_the_first)]
    cohorts += [cohort(f"c{n}", {"f": {CPU: 1}}, parent=f"c{n - 1}") for n in range(1, DEPTH)]
    return [*cohorts, queue("last", {"f": {CPU: 1}}, parent=f"c{DEPTH - 1}")]


@pytest.mark.parametrize("parent", ["", f"c{DEPTH - 1}"], ids=["a chain", "a cycle"])
def test_thousands_of_levels_are_no_obstacle(parent: str) -> None:
    """The top outranks the bottom, and every level gets its share."""
    members = _chain(parent)
    hierarchy = Hierarchy(members)
    assert len(hierarchy.subtree(cohort_key("c0"))) == DEPTH + 1
    assert len(hierarchy.ancestors(queue_key("last"))) == DEPTH
    outcomes = settled(
        [
            orchestrator("bottom", "capacity", root=queue_key("last"), created="2020-01-01T00:00:00Z"),
            orchestrator("top", "capacity", root=cohort_key("c0")),
        ],
        [provider("capacity", {"f": {CPU: 2 * (DEPTH + 1)}})],
        members,
    )
    assert verdicts(outcomes) == {"top": "QuotasDistributed", "bottom": "ConflictingDynamicQuotaOrchestrator"}
    assert outcomes["top"].quotas.keys() == {member.key for member in members}
    assert {nominals(quotas)["f/cpu"] for quotas in outcomes["top"].quotas.values()} == {"2"}


# --- roots in tangled trees ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("roots", "conflicting"),
    [
        pytest.param([cohort_key("self")], set(), id="one on a cohort that is its own parent"),
        pytest.param([cohort_key("self"), queue_key("q-self")], {1}, id="one on it and one on its queue"),
        pytest.param([cohort_key("self"), cohort_key("self")], {1}, id="two on it: the earlier goes first"),
        pytest.param([cohort_key("tick")], set(), id="one in a cycle of two"),
        pytest.param([cohort_key("tick"), cohort_key("tock")], {0, 1}, id="each of the two is above the other"),
        pytest.param([cohort_key("tick"), cohort_key("tick")], {1}, id="two on one cohort of the cycle"),
        pytest.param([cohort_key("tock"), queue_key("q-tick")], {1}, id="one in the cycle and one on a queue of it"),
        pytest.param([cohort_key("one"), cohort_key("three")], {0, 1}, id="two in a cycle of three"),
        pytest.param(
            [cohort_key("one"), cohort_key("two"), cohort_key("three")], {0, 1, 2}, id="three in a cycle of three"
        ),
        pytest.param([cohort_key("below"), cohort_key("three")], {0}, id="what hangs on a cycle is below it"),
        pytest.param(
            [cohort_key("self"), cohort_key("tick"), cohort_key("one"), cohort_key("top")], set(), id="separate trees"
        ),
    ],
)
def test_precedence_ends_in_cycles(roots: Sequence[ObjectKey], conflicting: set[int]) -> None:
    """Orchestrators on the roots, the earlier first; the others distribute."""
    orchestrators = [
        orchestrator(f"dqo-{n}", "capacity", root=root, created=f"2026-01-0{n + 1}T00:00:00Z")
        for n, root in enumerate(roots)
    ]
    outcomes = settled(orchestrators, [provider("capacity", {"f": {CPU: 1}})], (*TREE, *TANGLED))
    assert verdicts(outcomes) == {
        f"dqo-{n}": "ConflictingDynamicQuotaOrchestrator" if n in conflicting else "QuotasDistributed"
        for n in range(len(roots))
    }
    assert {name for name, outcome in outcomes.items() if not outcome.quotas} == {f"dqo-{n}" for n in conflicting}
