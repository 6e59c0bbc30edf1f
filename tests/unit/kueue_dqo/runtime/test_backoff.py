"""Waits between tries."""

from __future__ import annotations

from random import Random

from kueue_dqo.runtime.backoff import Backoff


class Highest(Random):
    """Always draws the end of the span."""

    def uniform(self, a: float, b: float) -> float:
        del a
        return b


def test_the_span_doubles_up_to_the_longest_and_begins_anew_after_a_success() -> None:
    backoff = Backoff(Highest(), first=0.5, longest=30)
    assert [backoff.next() for _ in range(8)] == [0.5, 1, 2, 4, 8, 16, 30, 30]
    backoff.reset()
    assert backoff.next() == 0.5


def test_the_whole_span_is_used() -> None:
    waits = []
    for seed in range(200):
        backoff = Backoff(Random(seed), first=1, longest=1)
        waits.append(backoff.next())
    assert min(waits) < 0.05
    assert max(waits) > 0.95


def test_the_server_is_left_alone_for_as_long_as_it_asks() -> None:
    backoff = Backoff(Random(1), first=0.5, longest=30)
    assert all(backoff.next(at_least=60) >= 60 for _ in range(20))


def test_failures_may_go_on_for_ever() -> None:
    backoff = Backoff(Random(1))
    assert all(backoff.next() <= 30 for _ in range(5000))
