"""The most that some queues of a cohort tree can use together, against Kueue's own way step by step."""

from __future__ import annotations

import itertools

from hypothesis import event, given, settings
from hypothesis import strategies as st

from kueue_dqo.api.resources import FlavorResource
from providers.multikueue.lending import Limits, Node, most_usable
from tests.unit.providers.multikueue.quota_model import PAIR, Tree, trees

MEMORY = FlavorResource("default", "memory")


def cohort(parent: int | None = None, limits: Limits | None = None) -> Node:
    return Node(parent, {} if limits is None else {PAIR: limits})


def queue(parent: int | None, nominal: int, *, borrowing: int | None = None, lending: int | None = None) -> Node:
    return Node(parent, {PAIR: Limits(nominal, borrowing, lending)}, uses=True)


def idle(parent: int | None, nominal: int, *, lending: int | None = None) -> Node:
    return Node(parent, {PAIR: Limits(nominal, None, lending)})


def most(*nodes: Node) -> int | None:
    return most_usable(nodes).get(PAIR)


# --- by hand -------------------------------------------------------------------------------------------------------


def test_a_queue_alone_has_its_nominal_quota() -> None:
    """Its limits mean nothing without a Cohort."""
    assert most(queue(None, 8)) == 8
    assert most(queue(None, 8, borrowing=5, lending=3)) == 8


def test_a_queue_borrows_all_that_the_others_lend() -> None:
    """Those that use nothing lend their quota, up to their lending limit; the Cohort's own quota is for all."""
    assert most(cohort(), queue(0, 8), idle(0, 5)) == 13
    assert most(cohort(), queue(0, 8), idle(0, 5, lending=2)) == 10
    assert most(cohort(), queue(0, 8), idle(0, 5, lending=9)) == 13
    assert most(cohort(), queue(0, 8), idle(0, 5, lending=0)) == 8
    assert most(cohort(limits=Limits(4)), queue(0, 8), idle(0, 5)) == 17


def test_a_borrowing_limit_is_for_what_is_above_the_own_quota() -> None:
    """A limit of 0 is one, none is none."""
    assert most(cohort(), queue(0, 8, borrowing=3), idle(0, 5)) == 11
    assert most(cohort(), queue(0, 8, borrowing=0), idle(0, 5)) == 8
    assert most(cohort(), queue(0, 8, borrowing=9), idle(0, 5)) == 13


def test_what_queues_borrow_is_counted_once() -> None:
    """Two queues that may each borrow 5 cannot both have them."""
    assert most(cohort(), queue(0, 8), queue(0, 1), idle(0, 5)) == 14
    assert most(cohort(), queue(0, 8, borrowing=2), queue(0, 1, borrowing=2), idle(0, 5)) == 13


def test_what_a_queue_does_not_lend_it_still_uses() -> None:
    """Whatever its own borrowing limit is."""
    assert most(cohort(), queue(0, 8, borrowing=0, lending=3)) == 8
    assert most(cohort(), queue(0, 8, borrowing=1, lending=3), idle(0, 5)) == 9


def test_limits_of_cohorts_hold_for_all_that_is_below_them() -> None:
    """A Cohort borrows and lends as its queues do, and what it keeps is theirs; limits of the root say nothing."""
    below = (queue(1, 2), queue(1, 1))
    assert most(cohort(), cohort(0), *below, idle(0, 9)) == 12
    assert most(cohort(), cohort(0, Limits(4, 3)), *below, idle(0, 9)) == 10
    assert most(cohort(limits=Limits(0, 0, 0)), cohort(0, Limits(4, 3)), *below, idle(0, 9)) == 10
    assert most(cohort(), cohort(0, Limits(9, None, 5)), queue(0, 1)) == 6
    assert most(cohort(), cohort(0, Limits(9, 0, 5)), queue(1, 1), queue(0, 1)) == 11


def test_a_queue_uses_only_what_it_lists() -> None:
    """What its Cohort has of another pair is nothing to it; a pair that no using queue lists is not there at all."""
    root = Node(None, {PAIR: Limits(4), MEMORY: Limits(16)})
    nodes = [root, Node(0, {PAIR: Limits(1)}, uses=True), Node(0, {MEMORY: Limits(2)})]
    assert most_usable(nodes) == {PAIR: 5}
    assert most_usable([*nodes, Node(0, {MEMORY: Limits(0)}, uses=True)]) == {PAIR: 5, MEMORY: 18}
    assert most_usable([root, idle(0, 3)]) == {}
    assert most_usable([]) == {}


def test_a_listed_pair_of_nothing_is_a_zero() -> None:
    """It is an answer."""
    assert most(cohort(), queue(0, 0)) == 0


def test_amounts_have_no_largest() -> None:
    """Nor is anything lost in a large one."""
    large = 10**40 + 1
    assert most(cohort(), queue(0, large), idle(0, 1)) == large + 1


# --- against Kueue's way -------------------------------------------------------------------------------------------


@settings(max_examples=300)
@given(trees())
def test_queues_that_take_what_is_left_in_any_turn_take_that_much_together(nodes: list[Node]) -> None:
    """All orders of the queues end in the same sum."""
    expected = most(*nodes) or 0
    users = len(Tree(nodes).queues)
    event(f"{users} queues use something")
    for order in itertools.permutations(range(users)):
        assert Tree(nodes).used_in_turn(order) == expected


@settings(max_examples=300)
@given(trees(), st.lists(st.integers(0, 11), max_size=40))
def test_queues_that_take_one_after_the_other_take_that_much_together(nodes: list[Node], order: list[int]) -> None:
    """However their Workloads come."""
    assert Tree(nodes).used_by_ones(order) == (most(*nodes) or 0)


@settings(max_examples=100)
@given(trees(largest=3, cohorts=4, queues=4, using=3))
def test_nothing_that_can_be_reached_is_more(nodes: list[Node]) -> None:
    """Every state that Kueue lets come about was looked at."""
    assert Tree(nodes).most_by_trying_everything() == (most(*nodes) or 0)


# --- what holds of every tree ----------------------------------------------------------------------------------------


@given(trees())
def test_at_least_their_own_quotas_and_at_most_all_quotas(nodes: list[Node]) -> None:
    """Also at most what the root has and what others keep for themselves."""
    found = most(*nodes) or 0
    tree = Tree(nodes)
    assert found >= sum(each.limits.nominal for each in tree.queues)
    assert found <= sum(each.limits.nominal for each in tree.members)
    assert found <= tree.members[0].subtree_quota + sum(each.local_quota for each in tree.members[1:])


@given(trees())
def test_one_more_queue_that_uses_something_never_makes_it_less(nodes: list[Node]) -> None:
    """Be it one of the tree or a new one."""
    found = most(*nodes) or 0
    for position, node in enumerate(nodes):
        if position and not any(each.parent == position for each in nodes):
            assert (most(*nodes[:position], node._replace(uses=True), *nodes[position + 1 :]) or 0) >= found
    assert (most(*nodes, queue(0, 3, borrowing=1, lending=1)) or 0) >= found


@given(trees(), trees())
def test_trees_do_not_touch_each_other(first: list[Node], second: list[Node]) -> None:
    """What several have is the sum."""
    moved = [node._replace(parent=None if node.parent is None else node.parent + len(first)) for node in second]
    together, apart = most(*first, *moved), (most(*first), most(*second))
    assert (together or 0) == sum(each or 0 for each in apart)
