"""In which order quotas are written, in waves: all that may be sent lands before anything else is asked for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import pytest

from kueue_dqo.api.meta import ObjectKey
from kueue_dqo.api.quotas import EffectiveQuotas
from tests.unit.orchestrator.builders import CPU, GPU, MEMORY, Amounts, Flavors, Quota, Written, cohort_key, groups, ref
from tests.unit.orchestrator.builders import queue_key as key
from tests.unit.orchestrator.transitions import Cluster, nanos, quotas

Move = tuple[Flavors, Flavors]
"""What an object holds and what it should."""


def _cluster(moves: Mapping[str, Move], capacity: Amounts) -> Cluster:
    return Cluster(
        {key(name): quotas(before) for name, (before, _) in moves.items()},
        {key(name): quotas(after) for name, (_, after) in moves.items()},
        nanos(capacity),
    )


def _gpus(before: Written, after: Written) -> Move:
    return {"f": {GPU: before}}, {"f": {GPU: after}}


def _two(before: tuple[int, int], after: tuple[int, int]) -> Move:
    """Cpu and memory in two flavors."""
    return {"f": {CPU: before[0]}, "g": {MEMORY: before[1]}}, {"f": {CPU: after[0]}, "g": {MEMORY: after[1]}}


ONE_PAIR: Final = [
    pytest.param({"a": (8, 8), "b": (8, 8)}, 16, [], id="nothing to do"),
    pytest.param({"a": (8, 6), "b": (8, 10)}, 16, ["a=6", "b=10"], id="a shrink lands before growth takes its room"),
    pytest.param({"a": (8, 10), "b": (8, 6)}, 16, ["b=6", "a=10"], id="whatever the order of the objects"),
    pytest.param({"a": (1, 2), "b": (2, 4)}, 6, ["a=2 b=4"], id="capacity rose: all grow at once"),
    pytest.param({"a": (2, 1), "b": (4, 2)}, 3, ["a=1 b=2"], id="capacity fell: all shrink at once"),
    pytest.param({"a": (2, 0), "b": (4, 0)}, 0, ["a=0 b=0"], id="no capacity left"),
    pytest.param({"a": (2, 1), "b": (0, 5)}, 6, ["a=1 b=4", "b=5"], id="room for a part of the growth"),
    pytest.param({"a": (90, 6), "b": (80, 10)}, 16, ["a=6 b=10"], id="first adoption, far above the capacity"),
    pytest.param(
        {"a": (90, 6), "b": (0, 5), "c": (80, 5)},
        16,
        ["a=6 c=5", "b=5"],
        id="first adoption, growth waits for all of it",
    ),
    pytest.param({"a": (9, 6), "b": (9, 10), "c": (0, 2)}, 18, ["a=6", "b=10 c=2"], id="one shrink serves two"),
    pytest.param({"a": (6, 4), "b": (6, 4), "c": (0, 4)}, 12, ["a=4 b=4", "c=4"], id="two shrinks serve one at once"),
    pytest.param({"a": ("1500m", 1), "b": ("0.5", 1)}, 2, ["a=1 b=1"], id="half a GPU counts as one already"),
    pytest.param({"a": ("1500m", 1), "b": (1, 2)}, 3, ["a=1", "b=2"], id="one and a half count as two"),
    pytest.param({"a": ("1500m", 2), "b": (0, 1)}, 3, ["a=2 b=1"], id="a fraction that becomes whole takes no room"),
    pytest.param({"a": (2, 0), "b": (1, 0)}, "700m", ["a=0 b=0"], id="less capacity than a unit is none"),
    pytest.param({"a": (2, 1), "b": (0, 1)}, "2700m", ["a=1", "b=1"], id="a part of a unit is no room"),
]


@pytest.mark.parametrize(("moves", "capacity", "waves"), ONE_PAIR)
def test_order_in_one_pair(moves: dict[str, tuple[Written, Written]], capacity: Written, waves: list[str]) -> None:
    """Waves are written as `object=amount`."""
    cluster = _cluster({name: _gpus(*ends) for name, ends in moves.items()}, {"f": {GPU: capacity}})
    got = [" ".join(f"{name}={held[f'f/{GPU}']}" for name, held in sorted(wave.items())) for wave in cluster.waves()]
    assert got == waves
    assert cluster.transition.is_complete


SEVERAL_PAIRS: Final = [
    pytest.param(
        {"x": _two((2, 4), (4, 2)), "y": _two((4, 2), (2, 4))},
        {"f": {CPU: 6}, "g": {MEMORY: 6}},
        [{"x": (2, 2), "y": (2, 2)}, {"x": (4, 2), "y": (2, 4)}],
        id="each waits for what the other gives",
    ),
    pytest.param(
        {"x": _two((2, 4), (4, 2)), "y": _two((4, 2), (2, 4))},
        {"f": {CPU: 7}, "g": {MEMORY: 6}},
        [{"x": (3, 2), "y": (2, 2)}, {"x": (4, 2), "y": (2, 4)}],
        id="room for a part goes with the shrink",
    ),
    pytest.param(
        {"x": _two((2, 4), (4, 2)), "y": _two((2, 4), (4, 2))},
        {"f": {CPU: 8}, "g": {MEMORY: 4}},
        [{"x": (4, 2), "y": (4, 2)}],
        id="one pair grew, another fell: one write each",
    ),
    pytest.param(
        {"x": _two((9, 0), (1, 4)), "y": _two((9, 2), (1, 2))},
        {"f": {CPU: 2}, "g": {MEMORY: 6}},
        [{"x": (1, 4), "y": (1, 2)}],
        id="one pair far above its capacity holds back no other",
    ),
    pytest.param(
        {"x": _two((1, 0), (1, 1)), "y": _two((1, 2), (1, 1)), "z": _two((0, 0), (1, 0))},
        {"f": {CPU: 3}, "g": {MEMORY: 2}},
        [{"y": (1, 1), "z": (1, 0)}, {"x": (1, 1)}],
        id="growth of one pair does not wait for another pair",
    ),
]


@pytest.mark.parametrize(("moves", "capacity", "waves"), SEVERAL_PAIRS)
def test_order_in_two_pairs(moves: dict[str, Move], capacity: Amounts, waves: list[dict[str, tuple[int, int]]]) -> None:
    """Objects that give and take in one write. Amounts are those of f/cpu and g/memory."""
    cluster = _cluster(moves, capacity)
    assert cluster.waves() == [
        {name: {"f/cpu": str(cpu), "g/memory": str(memory)} for name, (cpu, memory) in wave.items()} for wave in waves
    ]
    assert cluster.transition.is_complete


def test_room_that_is_wanted_holds_back_shrinks_beyond_what_is_under_way() -> None:
    """The grower is being written when more room lands than moves: the third shrink waits until it can take it."""
    moves = {"a": _gpus(5, 1), "b": _gpus(5, 1), "c": _gpus(5, 1), "grower": _gpus(0, 12)}
    cluster = _cluster(moves, {"f": {GPU: 16}})
    assert [cluster.send(), cluster.send()] == [cluster.on_the_way[key("grower")], cluster.on_the_way[key("a")]]
    second = cluster.send()
    assert second is not None
    for name in ("a", second.key.name):
        cluster.settle(key(name), "lands")
    assert cluster.send() is None
    cluster.settle(key("grower"), "lands")
    assert [write.key.name for write in (cluster.send(), cluster.send()) if write is not None] == ["grower", "c"]


def test_pairs_that_appear_and_vanish() -> None:
    """A pair that is no longer declared goes with the first write, and another may take its room then."""
    cluster = _cluster(
        {"old": ({"f": {CPU: 1, GPU: 4}}, {"f": {CPU: 1}}), "new": ({"f": {CPU: 1}}, {"f": {CPU: 1, GPU: 4}})},
        {"f": {CPU: 2, GPU: 4}},
    )
    assert cluster.waves() == [{"old": {"f/cpu": "1"}}, {"new": {"f/cpu": "1", f"f/{GPU}": "4"}}]


@pytest.mark.parametrize(
    ("before", "after"),
    [
        pytest.param({"f": {CPU: Quota(2, borrowing=1)}}, {"f": {CPU: Quota(2, borrowing=3)}}, id="a limit"),
        pytest.param({"f": {CPU: 2, GPU: 0}}, {"f": {CPU: 2}}, id="a quota of 0 that vanishes"),
        pytest.param({"f": {CPU: 2}}, {"f": {CPU: 2, GPU: 0}}, id="a quota of 0 that appears"),
        pytest.param({"f": {CPU: 2}, "other": {CPU: 1}}, {"f": {CPU: 2}, "other": {CPU: 9}}, id="another flavor"),
        pytest.param({"f": {CPU: 2}}, {"f": {CPU: 2}, "other": {CPU: 9}}, id="another flavor appears"),
    ],
)
def test_a_write_that_moves_no_orchestrated_quota_is_sent(before: Flavors, after: Flavors) -> None:
    """Once, while the sums are at their capacity or above it."""
    for capacity in (2, 0):
        cluster = _cluster({"a": (before, after)}, {"f": {CPU: capacity, GPU: 0}})
        assert len(cluster.waves()) == 1
        assert cluster.held == cluster.wanted


def test_a_new_owner_is_written_though_the_quotas_stay() -> None:
    """And an object that is written already is not written."""
    wanted = {key("a"): quotas({"f": {CPU: 2}}), key("b"): quotas({"f": {CPU: 2}})}
    cluster = Cluster({**wanted, key("a"): EffectiveQuotas(ref("rival"), groups({"f": {CPU: 2}}))}, wanted, {})
    assert cluster.waves() == [{"a": {"f/cpu": "2"}}]


@pytest.mark.parametrize(("each", "lending"), [(key("a"), 4), (cohort_key("a"), 5)], ids=str)
def test_a_partial_write_has_the_limits_of_the_last_and_a_queue_lends_no_more_than_it_has(
    each: ObjectKey, lending: int
) -> None:
    """A Cohort lends what it declares. Other flavors go with the first write as they are wanted."""
    wanted = {each: quotas({"f": {CPU: Quota(6, 3, 5)}, "other": {CPU: Quota(7, 1, 9)}})}
    write = Cluster({each: quotas({"f": {CPU: 1}})}, wanted, nanos({"f": {CPU: 4}})).send()
    assert write is not None
    assert write.quotas == quotas({"f": {CPU: Quota(4, 3, lending)}, "other": {CPU: Quota(7, 1, 9)}})


@pytest.mark.parametrize(("after", "sent"), [(5, "1500m"), (2, "2")])
def test_a_partial_write_leaves_a_fraction_as_it_is_or_brings_it_to_its_end(after: int, sent: str) -> None:
    """Both count as two GPUs."""
    moves: dict[str, Move] = {"a": ({"f": {GPU: "1500m", CPU: 1}}, {"f": {GPU: after, CPU: 4}})}
    assert _cluster(moves, {"f": {GPU: 2, CPU: 3}}).waves() == [{"a": {f"f/{GPU}": sent, "f/cpu": "3"}}]
