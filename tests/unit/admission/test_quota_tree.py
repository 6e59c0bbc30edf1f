"""The quota tree: what is available to whom, however usage has come about."""

from __future__ import annotations

from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from admission.quota_tree import Pair, Quota, QuotaNode, Share, share_of, summed

CPU = Pair("f", "cpu")
GPU = Pair("f", "gpu")


@dataclass(frozen=True)
class Shape:
    """A node: its quota, and what stands below it."""

    quota: Quota
    below: tuple[Shape, ...] = ()


AMOUNTS = st.integers(0, 20)
LIMITS = st.none() | AMOUNTS
QUOTAS = st.builds(Quota, AMOUNTS, LIMITS, LIMITS)
SHAPES = st.recursive(
    st.builds(Shape, QUOTAS), lambda below: st.builds(Shape, QUOTAS, st.lists(below, min_size=1, max_size=3).map(tuple))
)


def _planted(shape: Shape, name: str = "r", parent: QuotaNode | None = None) -> QuotaNode:
    node = QuotaNode(name, is_queue=not shape.below, quotas={CPU: shape.quota}, parent=parent)
    for number, each in enumerate(shape.below):
        child = _planted(each, f"{name}.{number}", node)
        (node.queues if child.is_queue else node.cohorts).append(child)
    if parent is None:
        summed(node)
    return node


def _nodes(node: QuotaNode) -> list[QuotaNode]:
    return [node, *node.queues, *(each for cohort in node.cohorts for each in _nodes(cohort))]


def _usage(root: QuotaNode) -> dict[str, int]:
    return {node.name: node.usage.get(CPU, 0) for node in _nodes(root)}


@given(shape=SHAPES, data=st.data())
def test_usage_is_the_same_however_it_came_about(shape: Shape, data: st.DataObject) -> None:
    """Added bit by bit and taken away again, or reckoned anew from what the queues hold."""
    root = _planted(shape)
    queues = list(root.queues_below())
    held = dict.fromkeys((queue.name for queue in queues), 0)
    for _ in range(data.draw(st.integers(0, 12))):
        queue = data.draw(st.sampled_from(queues))
        amount = data.draw(st.integers(0, 15))
        if data.draw(st.booleans()):
            queue.add({CPU: amount})
            held[queue.name] += amount
        else:
            queue.remove({CPU: min(amount, held[queue.name])})
            held[queue.name] -= min(amount, held[queue.name])
    anew = _planted(shape)
    for queue in anew.queues_below():
        queue.usage[CPU] = held[queue.name]
    summed(anew)
    assert _usage(root) == _usage(anew)


@given(shape=SHAPES, data=st.data())
def test_what_is_available_can_be_taken_and_one_more_cannot(shape: Shape, data: st.DataObject) -> None:
    """By the limits of every node on the way up, and never more than the potential."""
    root = _planted(shape)
    queues = list(root.queues_below())
    for _ in range(data.draw(st.integers(0, 6))):
        queue = data.draw(st.sampled_from(queues))
        queue.add({CPU: data.draw(st.integers(0, queue.available(CPU)))})
    for queue in queues:
        free = queue.available(CPU)
        assert 0 <= free <= queue.potential(CPU) - queue.usage.get(CPU, 0) or free == 0
        queue.add({CPU: free})
        assert queue.available_or_debt(CPU) <= 0 or free == 0
        assert _is_within_all_limits(root)
        queue.remove({CPU: free})


def _is_within_all_limits(root: QuotaNode) -> bool:
    """By definition: no node uses more than its subtree has and may borrow, the root no more than there is."""
    for node in _nodes(root):
        limit = node.quotas[CPU].borrowing_limit
        used, own = node.usage.get(CPU, 0), node.subtree[CPU]
        if node.parent is None:
            if used > own:
                return False
        elif limit is not None and used > own + limit:
            return False
    return True


@given(shape=SHAPES)
def test_no_quota_is_lost_or_made_up(shape: Shape) -> None:
    """What a node has in its subtree is its own and what its children do not keep for themselves."""
    root = _planted(shape)
    for node in _nodes(root):
        children = (*node.cohorts, *node.queues)
        assert node.subtree[CPU] == node.nominal(CPU) + sum(
            child.subtree[CPU] - child.local_quota(CPU) for child in children
        )
        assert node.potential(CPU) >= node.local_quota(CPU) >= 0


@pytest.mark.parametrize(
    ("amount", "height", "is_part"),
    [(4, 0, True), (5, 1, True), (8, 1, True), (9, 2, False), (99, 2, False)],
)
def test_quota_is_borrowed_from_as_near_as_can_be(amount: int, height: int, is_part: bool) -> None:
    """A queue with 4, beside one with 4 in a team, below a company with 10 of its own."""
    four = Shape(Quota(4))
    root = _planted(Shape(Quota(10), (Shape(Quota(0), (four, four)),)))
    queue = next(root.queues_below())
    assert queue.lowest_height_that_fits(CPU, amount) == (height, is_part)


def test_shares_are_of_the_resource_of_which_most_is_borrowed() -> None:
    """In thousandths of what can be lent, divided by the weight; of a root there is none."""
    root = QuotaNode("co", is_queue=False, quotas={CPU: Quota(8), GPU: Quota(2)})
    queue = QuotaNode("q", is_queue=True, weight=2.0, quotas={CPU: Quota(2), GPU: Quota(2)}, parent=root)
    root.queues.append(queue)
    summed(root)
    queue.add({CPU: 4, GPU: 3})
    share = share_of(queue)
    assert (share.ratio, share.resource, share.weighted) == (250.0, "gpu", 125.0)
    assert set(share.borrowed) == {CPU, GPU}
    assert share_of(root).borrowed == ()


@pytest.mark.parametrize(
    ("one", "other", "compared"),
    [
        (Share(1.0, 100.0), Share(2.0, 100.0), 1),
        (Share(0.0, 1.0), Share(1.0, 9999.0), 1),
        (Share(0.0, 1.0), Share(0.0, 2.0), -1),
        (Share(0.0, 0.0), Share(1.0, 0.0), 0),
    ],
)
def test_whoever_borrows_with_a_weight_of_nothing_comes_last(one: Share, other: Share, compared: int) -> None:
    """And those by the ratio alone."""
    assert one.compared(other) == compared
    assert other.compared(one) == -compared
