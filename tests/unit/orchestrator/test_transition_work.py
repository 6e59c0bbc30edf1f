"""How much a transition works, and how many writes it takes, over many objects. Calls are counted, no time is taken."""

from __future__ import annotations

import random
import sys
from types import FrameType
from typing import Any, Final, NamedTuple

import pytest

from kueue_dqo.api.meta import ObjectKey
from kueue_dqo.api.quantity import NANOS, Quantity
from kueue_dqo.api.quotas import EffectiveQuotas, FlavorQuotas, ResourceGroup, ResourceQuota
from orchestrator.transition import Transition
from tests.unit.orchestrator.builders import queue_key
from tests.unit.orchestrator.transitions import OWNER

PAIRS: Final = 12
CONCURRENCY: Final = 16
Amounts = list[list[int]]
"""By object, one for each pair."""


def _growing(objects: int) -> tuple[Amounts, Amounts]:
    return [[at % 50 + 1] * PAIRS for at in range(objects)], [[at % 50 + 9] * PAIRS for at in range(objects)]


def _shrinking(objects: int) -> tuple[Amounts, Amounts]:
    before, after = _growing(objects)
    return after, before


def _reversed(objects: int) -> tuple[Amounts, Amounts]:
    before = [[at + 1] * PAIRS for at in range(objects)]
    return before, before[::-1]


def _shuffled(objects: int) -> tuple[Amounts, Amounts]:
    """Each pair by itself: most objects grow in some pairs and shrink in others."""
    chance = random.Random(1)
    columns = [[chance.randint(1, 1000) for _ in range(objects)] for _ in range(PAIRS)]
    others = [chance.sample(column, objects) for column in columns]
    return [list(each) for each in zip(*columns, strict=True)], [list(each) for each in zip(*others, strict=True)]


def _one_takes_from_all(objects: int) -> tuple[Amounts, Amounts]:
    return [[9] * PAIRS] * objects, [[9 + objects - 1] * PAIRS] + [[8] * PAIRS] * (objects - 1)


def _one_gives_to_all(objects: int) -> tuple[Amounts, Amounts]:
    before, after = _one_takes_from_all(objects)
    return after, before


class Work(NamedTuple):
    """What a transition took: function calls in its module and those they made, and writes."""

    calls: int
    writes: int


def _work(before: Amounts, after: Amounts, *, refused: bool = False) -> Work:
    held, wanted = _by_key(before), _by_key(after)
    capacity = {f"f{pair}": sum(each[pair] for each in after) for pair in range(PAIRS)}
    chance, under_way, calls, writes = random.Random(1), list[ObjectKey](), 0, 0

    def count(_frame: FrameType, event: str, _argument: Any) -> None:
        nonlocal calls
        calls += event in {"call", "c_call"}

    sys.setprofile(count)
    try:
        transition = Transition(
            wanted,
            {key: quotas.resource_groups for key, quotas in held.items()},
            lambda pair: capacity[pair.flavor] * NANOS,
            is_written=lambda key, quotas: held[key] is quotas,
        )
        while True:
            while len(under_way) < CONCURRENCY and (write := transition.next_write()) is not None:
                under_way.append(write.key)
                writes += 1
            if not under_way:
                break
            key = under_way.pop(chance.randrange(len(under_way)))
            if refused and writes % 3 == 0:
                transition.failed(key, may_have_landed=writes % 2 == 0)
            else:
                transition.landed(key)
    finally:
        sys.setprofile(None)
    assert transition.is_complete != refused
    return Work(calls, writes)


def _by_key(amounts: Amounts) -> dict[ObjectKey, EffectiveQuotas]:
    return {
        queue_key(f"q{at}"): EffectiveQuotas(
            OWNER,
            tuple(
                ResourceGroup(("gpu",), (FlavorQuotas(f"f{pair}", (ResourceQuota("gpu", Quantity(each * NANOS)),)),))
                for pair, each in enumerate(row)
            ),
        )
        for at, row in enumerate(amounts)
    }


@pytest.mark.parametrize("refused", [False, True], ids=["all land", "a third fails"])
@pytest.mark.parametrize("moves", [_growing, _shrinking, _reversed, _shuffled, _one_takes_from_all, _one_gives_to_all])
def test_work_grows_with_the_number_of_objects_and_no_faster(moves: Any, refused: bool) -> None:
    """Four times the objects take about four times the calls; twice that would be well on the way to its square."""
    few, many = _work(*moves(100), refused=refused), _work(*moves(400), refused=refused)
    assert many.calls < 6 * few.calls


@pytest.mark.parametrize(
    ("moves", "most"),
    [
        pytest.param(_growing, 1, id="all grow"),
        pytest.param(_shrinking, 1, id="all shrink"),
        pytest.param(_reversed, 1.1, id="half of them grow, half shrink"),
        pytest.param(_one_takes_from_all, 1.1, id="one takes from all"),
        pytest.param(_one_gives_to_all, 1, id="one gives to all"),
        pytest.param(_shuffled, 2, id="every pair for itself"),
    ],
)
def test_writes_for_each_object(moves: Any, most: float) -> None:
    """A thousand objects, sixteen writes at once, landing in any order."""
    assert _work(*moves(1000)).writes <= most * 1000
