"""Writes that fail: what is held back by them, and what is not. Amounts are GPUs of one flavor."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import pytest

from kueue_dqo.api.meta import ObjectKey
from kueue_dqo.api.resources import FlavorResource
from orchestrator.transition import Transition
from tests.unit.orchestrator.builders import GPU, groups
from tests.unit.orchestrator.builders import queue_key as key
from tests.unit.orchestrator.transitions import Cluster, nanos, quotas

PAIR: Final = FlavorResource("f", GPU)


def _cluster(moves: Mapping[str, tuple[int, int]], capacity: int) -> Cluster:
    return Cluster(
        {key(name): quotas({"f": {GPU: before}}) for name, (before, _) in moves.items()},
        {key(name): quotas({"f": {GPU: after}}) for name, (_, after) in moves.items()},
        nanos({"f": {GPU: capacity}}),
    )


def _drain(cluster: Cluster, fates: Mapping[str, str]) -> None:
    """Settles one write after another; each lands where no other fate is given."""
    while cluster.send() is not None or cluster.on_the_way:
        for each in list(cluster.on_the_way):
            cluster.settle(each, fates.get(each.name, "lands"))


def _held(cluster: Cluster) -> dict[str, int]:
    return {each.name: ends[0][PAIR] for each, ends in cluster.amounts.items()}


@pytest.mark.parametrize(
    ("moves", "capacity", "fates", "held", "waiting"),
    [
        pytest.param(
            {"a": (8, 6), "b": (8, 10)}, 16, {"a": "refused"}, {"a": 8, "b": 8}, ["b"], id="its room is not there"
        ),
        pytest.param(
            {"a": (8, 6), "b": (8, 10)}, 16, {"a": "lost"}, {"a": 8, "b": 8}, ["b"], id="its room may not be there"
        ),
        pytest.param(
            {"a": (8, 6), "b": (8, 10)},
            16,
            {"a": "lost but landed"},
            {"a": 6, "b": 8},
            ["b"],
            id="its room is there, which nobody knows",
        ),
        pytest.param(
            {"a": (8, 6), "b": (8, 11), "c": (4, 3)},
            20,
            {"a": "refused"},
            {"a": 8, "b": 9, "c": 3},
            ["b"],
            id="growth goes as far as the others make room",
        ),
        pytest.param(
            {"a": (8, 6), "b": (2, 3), "c": (2, 5), "d": (5, 3)},
            17,
            {"a": "refused"},
            {"a": 8, "b": 3, "c": 3, "d": 3},
            ["c"],
            id="who lined up first is served first",
        ),
        pytest.param(
            {"a": (9, 1), "b": (9, 2), "c": (9, 3)}, 6, {"a": "lost"}, {"a": 9, "b": 2, "c": 3}, [], id="shrinks go on"
        ),
        pytest.param({"a": (1, 2), "b": (1, 3)}, 3, {"a": "refused"}, {"a": 1, "b": 2}, ["b"], id="refused growth"),
        pytest.param({"a": (1, 2), "b": (1, 3)}, 3, {"a": "lost"}, {"a": 1, "b": 1}, ["b"], id="growth that may be"),
        pytest.param(
            {"a": (1, 2), "b": (1, 3)}, 3, {"a": "lost but landed"}, {"a": 2, "b": 1}, ["b"], id="growth that is"
        ),
        pytest.param({"a": (1, 2), "b": (1, 3)}, 5, {"b": "lost"}, {"a": 2, "b": 1}, [], id="room for both"),
        pytest.param(
            {"a": (0, 8), "b": (6, 0), "c": (0, 2)},
            10,
            {"a": "refused"},
            {"a": 0, "b": 0, "c": 2},
            [],
            id="growth refused in part",
        ),
        pytest.param({"a": (2, 1), "b": (1, 1)}, 1, {"a": "refused"}, {"a": 2, "b": 1}, [], id="nobody needs its room"),
    ],
)
def test_a_failure_holds_back_only_the_growth_that_needs_its_room(
    moves: dict[str, tuple[int, int]], capacity: int, fates: dict[str, str], held: dict[str, int], waiting: list[str]
) -> None:
    """An object is not written again once it has failed."""
    cluster = _cluster(moves, capacity)
    _drain(cluster, fates)
    assert _held(cluster) == held
    assert [each.name for each in cluster.transition.waiting] == waiting
    assert not cluster.transition.is_complete
    assert cluster.transition.in_flight == 0


def test_a_shrink_does_not_wait_for_growth_that_has_failed() -> None:
    """The room that the refused write leaves is wanted by nobody any more."""
    cluster = _cluster({"a": (6, 0), "b": (0, 10)}, 10)
    cluster.send()
    cluster.settle(key("b"), "refused")
    _drain(cluster, {})
    assert _held(cluster) == {"a": 0, "b": 0}


@pytest.mark.parametrize(
    ("in_force", "unknown", "grown"),
    [
        pytest.param(6, 8, 8, id="it may hold more"),
        pytest.param(8, 6, 8, id="it may hold less"),
        pytest.param(6, None, 10, id="nothing is unknown"),
        pytest.param(6, 7, 9, id="there is room for a part"),
    ],
)
def test_an_object_that_is_left_alone_counts_at_the_larger_of_what_it_may_hold(
    in_force: int, unknown: int | None, grown: int
) -> None:
    """It is not written, though it is not as it should be."""
    cluster = _cluster({"a": (in_force, 0), "b": (8, 10)}, 16)
    cluster.given_up.add(key("a"))
    if unknown is not None:
        cluster.unknown[key("a")] = quotas({"f": {GPU: unknown}})
        cluster.amounts[key("a")].append({PAIR: unknown})
    cluster.start()
    _drain(cluster, {})
    assert _held(cluster) == {"a": in_force, "b": grown}
    assert cluster.transition.waiting == ([] if grown == 10 else [key("b")])
    assert not cluster.transition.is_complete


def test_who_is_left_alone_as_it_should_be_does_not_keep_the_transition_from_being_complete() -> None:
    """Its quotas are written already."""
    cluster = _cluster({"a": (6, 6), "b": (8, 10)}, 16)
    cluster.given_up.add(key("a"))
    cluster.start()
    _drain(cluster, {})
    assert cluster.transition.is_complete


def test_what_is_in_flight_and_waits_is_told() -> None:
    """Step by step: one shrinks, the other waits for it."""
    cluster = _cluster({"a": (8, 6), "b": (8, 10)}, 16)
    at_first: Transition = cluster.transition
    assert (at_first.in_flight, at_first.waiting, at_first.is_complete) == (0, [key("a"), key("b")], False)
    cluster.send()
    assert cluster.send() is None
    assert (at_first.in_flight, at_first.waiting, at_first.is_complete) == (1, [key("b")], False)
    cluster.settle(key("a"), "lands")
    cluster.send()
    assert (at_first.in_flight, at_first.waiting, at_first.is_complete) == (1, [], False)
    cluster.settle(key("b"), "lands")
    assert (at_first.in_flight, at_first.waiting, at_first.is_complete) == (0, [], True)


@pytest.mark.parametrize("each", [key("a"), key("b"), key("unheard-of")], ids=str)
def test_a_report_of_a_write_that_is_not_under_way_is_refused(each: ObjectKey) -> None:
    """One that was reported before, one that was not sent yet, and one of another subtree."""
    cluster = _cluster({"a": (8, 7), "b": (8, 10)}, 16)
    cluster.send()
    cluster.settle(key("a"), "lands")
    with pytest.raises(ValueError, match=f"no write to {each} is under way"):
        cluster.transition.landed(each)
    with pytest.raises(ValueError, match=f"no write to {each} is under way"):
        cluster.transition.failed(each, may_have_landed=True)
    assert cluster.transition.in_flight == 0


def test_an_empty_subtree_is_complete() -> None:
    """There is nothing to write."""
    nothing = Transition({}, {}, lambda _: 0, is_written=lambda *_: groups() == ())
    assert nothing.next_write() is None
    assert nothing.is_complete
