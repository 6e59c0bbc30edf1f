"""What LocalQueues used in the past, as Kueue reckons it."""

from __future__ import annotations

import datetime
import math

import pytest

from admission.usage_ledger import UsageLedger
from kueue_dqo.api.durations import Duration
from kueue_dqo.api.quantity import Quantity
from kueue_dqo.api.queueing import AdmissionFairSharingConfiguration

START = datetime.datetime(2026, 9, 1, 8, tzinfo=datetime.UTC)
GIB = 2**30


def _after(seconds: float) -> datetime.datetime:
    return START + datetime.timedelta(seconds=seconds)


def _ledger(weights: dict[str, float] | None = None, *, half_life: int = 600) -> UsageLedger:
    return UsageLedger(AdmissionFairSharingConfiguration(Duration(half_life), Duration(300), weights or {}))


def _consumed(ledger: UsageLedger, queue: str = "a/q") -> dict[str, str]:
    return {name: str(value) for name, value in ledger.consumed(queue).items()}


def test_after_a_half_life_half_of_the_past_is_left() -> None:
    """The other half is what is used now."""
    ledger = _ledger()
    ledger.seed("a/q", {"cpu": Quantity.of("8")}, START)
    ledger.sample("a/q", {}, _after(600))
    assert _consumed(ledger) == {"cpu": "4"}
    ledger.sample("a/q", {"cpu": 2000, "memory": GIB}, _after(1200))
    assert _consumed(ledger) == {"cpu": "3", "memory": str(GIB // 2)}


def test_samples_on_the_way_make_no_difference_but_for_what_is_cut_off() -> None:
    """Thousandths of a cpu are lost, downwards."""
    often, once = _ledger(), _ledger()
    for ledger, steps in ((often, 6), (once, 1)):
        ledger.seed("a/q", {"cpu": Quantity.of("8")}, START)
        for step in range(1, steps + 1):
            ledger.sample("a/q", {}, _after(600 * step / steps))
    assert _consumed(once) == {"cpu": "4"}
    assert Quantity.of("3995m") < often.consumed("a/q")["cpu"] < Quantity.of("4")


def test_who_is_about_to_be_admitted_pays_at_once_and_once() -> None:
    """As if it had run for one sample: the part of four that is no longer the past, cut off at thousandths."""
    ledger = _ledger()
    ledger.seed("a/q", {}, START)
    ledger.enter("a/q", {"cpu": 4000})
    assert ledger.usage_of("a/q") == pytest.approx(1.171)
    ledger.settle("a/q", {"cpu": 4000}, {"cpu": 4000}, START)
    assert ledger.usage_of("a/q") == pytest.approx(1.171)
    assert _consumed(ledger) == {"cpu": "1171m"}
    assert ledger.penalties == {}


def test_who_is_not_admitted_after_all_pays_nothing() -> None:
    """Others of the queue still do."""
    ledger = _ledger()
    ledger.enter("a/q", {"cpu": 4000})
    ledger.enter("a/q", {"cpu": 1000})
    ledger.leave("a/q", {"cpu": 4000})
    assert ledger.usage_of("a/q") == pytest.approx(0.292)
    ledger.leave("a/q", {"cpu": 1000})
    assert ledger.usage_of("a/q") == 0


@pytest.mark.parametrize(
    ("weights", "weight", "usage"),
    [
        ({}, None, 2 + 2**30),
        ({"memory": 0.0}, None, 2),
        ({"memory": 2.0**-30}, None, 3),
        ({"memory": 0.0}, "2", 1),
        ({"memory": 0.0}, "0.5", 4),
        ({"memory": 0.0}, "0", math.inf),
        ({"memory": 0.0, "cpu": 0.0}, "0", -math.inf),
    ],
)
def test_bytes_outweigh_all_else_unless_resources_are_weighted(
    weights: dict[str, float], weight: str | None, usage: float
) -> None:
    """And a LocalQueue of weight two has used half as much."""
    ledger = _ledger(weights)
    ledger.seed("a/q", {"cpu": Quantity.of("2"), "memory": Quantity.of("1Gi")}, START)
    assert ledger.usage_of("a/q", None if weight is None else Quantity.of(weight)) == pytest.approx(usage)


def test_without_a_half_life_nothing_is_remembered() -> None:
    """The penalty of an entry is nothing, too."""
    ledger = _ledger(half_life=0)
    ledger.seed("a/q", {"cpu": Quantity.of("8")}, START)
    ledger.enter("a/q", {"cpu": 4000})
    ledger.sample("a/q", {"cpu": 4000}, _after(600))
    assert ledger.usage_of("a/q") == 0


def test_a_clock_that_runs_backwards_changes_nothing() -> None:
    """The time of the last sample stays."""
    ledger = _ledger()
    ledger.seed("a/q", {"cpu": Quantity.of("8")}, _after(600))
    ledger.sample("a/q", {}, START)
    assert _consumed(ledger) == {"cpu": "8"}
    assert ledger.entries["a/q"].last_update == _after(600)


def test_a_queue_that_is_gone_starts_anew() -> None:
    """With its penalties."""
    ledger = _ledger()
    ledger.seed("a/q", {"cpu": Quantity.of("8")}, START)
    ledger.enter("a/q", {"cpu": 4000})
    ledger.forget("a/q")
    assert ledger.usage_of("a/q") == 0
    assert ledger.usage_of("b/q") == 0


def test_a_status_tells_of_the_last_sample() -> None:
    """What was settled since counts in the order, and is told with the next one."""
    ledger = _ledger()
    assert ledger.status_of("a/q").consumed_resources == {}
    ledger.seed("a/q", {"cpu": Quantity.of("8")}, START)
    ledger.settle("a/q", {"cpu": 4000}, {"cpu": 4000}, START)
    assert ledger.status_of("a/q").consumed_resources == {"cpu": Quantity.of("8")}
    assert _consumed(ledger) == {"cpu": "9171m"}
    ledger.sample("a/q", {"cpu": 4000}, START)
    assert ledger.status_of("a/q").consumed_resources == {"cpu": Quantity.of("9171m")}
