"""Flavors that join the spec: what is there of them is published at once, and guarded from then on."""

from __future__ import annotations

import pytest

from kueue_dqo.api import dqo
from providers.guards import GuardMemory, holds_in
from tests.unit.providers.guards.guarded import GPU, Guarded, capacity, guards, h100, only, seconds_of

ALL = guards(60, 60, 50, 600)


def both(gpus: int, a100: int) -> dqo.Capacity:
    return capacity({"h100": {GPU: gpus}, "a100": {GPU: a100}})


def joined(pool: Guarded) -> Guarded:
    """The same pool, after an edit of its spec that adds a100."""
    pool.flavors = ("h100", "a100")
    return pool


def pool_of_one() -> Guarded:
    pool = Guarded(ALL, h100(80), flavors=("h100",))
    pool.see(0, h100(80))
    return pool


def test_a_flavor_that_joins_the_spec_is_published_at_once() -> None:
    assert joined(pool_of_one()).see(10, both(80, 8)) == (both(80, 8), (), None, ())


def test_it_is_guarded_from_then_on() -> None:
    for amount in (7, 9):
        pool = joined(pool_of_one())
        pool.see(10, both(80, 8))
        decision = pool.see(20, both(80, amount))
        assert decision.capacity == both(80, 8)
        assert (only(decision).flavor, seconds_of(only(decision))) == ("a100", 80)


def test_the_other_flavors_stay_guarded_in_that_moment() -> None:
    decision = joined(pool_of_one()).see(10, both(88, 8))
    assert decision.capacity == both(80, 8)
    assert only(decision).flavor == "h100"


def test_what_is_observed_first_is_published_at_once_although_a_write_before_it_failed() -> None:
    pool = joined(pool_of_one())
    pool.see(10, both(80, 8), lands=False)
    assert pool.see(11, both(80, 8)) == (both(80, 8), (), None, ())


def test_falls_are_measured_by_what_was_published_not_by_what_was_meant_to_be() -> None:
    pool = joined(pool_of_one())
    pool.guards = guards(percent=50, grace=600)
    pool.see(10, both(80, 80), lands=False)
    pool.see(11, both(80, 8))
    assert pool.see(12, both(80, 7)).capacity == both(80, 7)


def test_a_flavor_of_which_there_is_nothing_at_first_rises_later() -> None:
    """As it does where it was reported once and is not any more."""
    pool = joined(pool_of_one())
    pool.see(10, h100(80))
    assert seconds_of(only(pool.see(20, both(80, 8)))) == 80


def test_a_flavor_that_was_taken_out_and_put_back_is_published_at_once() -> None:
    pool = joined(pool_of_one())
    pool.see(10, both(80, 8))
    pool.flavors = ("h100",)
    assert pool.see(20, both(80, 8)).capacity == h100(80)
    assert joined(pool).see(30, both(80, 16)).capacity == both(80, 16)


def test_so_is_one_that_was_there_before_a_restart() -> None:
    pool = Guarded(ALL, both(80, 8)).restart()
    pool.see(0, both(80, 8))
    pool.flavors = ("h100",)
    pool.see(20, h100(80))
    assert joined(pool).see(30, both(80, 8)).capacity == both(80, 8)


@pytest.mark.parametrize("amount", [4, 16])
def test_a_flavor_that_was_put_back_before_anything_was_written_stays_guarded(amount: int) -> None:
    """Quotas are still made of what is published."""
    pool = joined(pool_of_one())
    pool.see(10, both(80, 8))
    pool.flavors = ("h100",)
    pool.see(20, both(80, amount), lands=False)
    decision = joined(pool).see(30, both(80, amount))
    assert decision.capacity == both(80, 8)
    assert only(decision).flavor == "a100"


def test_a_flavor_that_joins_while_nobody_looks_is_published_at_once() -> None:
    pool = joined(pool_of_one())
    assert pool.restart().see(10, both(80, 8)) == (both(80, 8), (), None, ())


@pytest.mark.parametrize("answered", [frozenset(), frozenset({"h100", "a100"})], ids=["another spec", "this spec"])
def test_a_flavor_that_is_held_at_nothing_stays_held_over_a_restart(answered: frozenset[str]) -> None:
    """Whichever spec the status is for."""
    pool = Guarded(ALL, h100(80))
    before = only(pool.see(0, both(80, 8)))
    pool.answered = answered
    pool = pool.restart()
    assert pool.see(30, both(80, 8)).holds == (before,)
    assert pool.see(60, both(80, 8)).capacity == both(80, 8)


def test_a_flavor_that_a_status_answers_for_without_listing_it_rises_after_a_restart() -> None:
    pool = Guarded(ALL, h100(80))
    pool.see(0, h100(80))
    decision = pool.restart().see(10, both(80, 8))
    assert decision.capacity == h100(80)
    assert seconds_of(only(decision)) == 70


def test_a_message_that_speaks_of_more_than_is_published_keeps_no_flavor_from_being_new() -> None:
    pool = Guarded(ALL, both(80, 8))
    pool.see(0, both(80, 7))
    pool.published = h100(80)
    pool.memory = GuardMemory(resumed=holds_in(pool.message))
    assert pool.see(10, both(80, 8)).capacity == both(80, 8)
