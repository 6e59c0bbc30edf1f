"""Guards that change, clocks that are set, processes that take over: what is held stays held, and no longer."""

from __future__ import annotations

import pytest

from kueue_dqo.api.parameters import Guards
from providers.guards import Guard
from tests.unit.providers.guards.guarded import Guarded, guards, h100, only, seconds_of

BREAKER = guards(percent=50, grace=600)


def test_a_shorter_guard_takes_effect_at_once() -> None:
    pool = Guarded(guards(fall=600), h100(80))
    pool.see(0, h100(0))
    pool.guards = guards(fall=60)
    decision = pool.see(30, h100(0))
    assert seconds_of(only(decision)) == 60
    assert decision.look_again == 30
    pool.guards = guards(fall=20)
    assert pool.see(31, h100(0)).capacity == h100(0)


def test_a_longer_guard_counts_from_when_the_fall_began() -> None:
    pool = Guarded(guards(fall=60), h100(80))
    pool.see(0, h100(0))
    pool.guards = guards(fall=600)
    assert seconds_of(only(pool.see(30, h100(0)))) == 600


def test_a_guard_that_is_switched_off_holds_nothing() -> None:
    pool = Guarded(guards(600, 600, 50, 600), h100(80))
    pool.see(0, h100(0))
    pool.guards = guards()
    assert pool.see(0.25, h100(0)) == (h100(0), (), None, ())


def test_a_breaker_whose_grace_is_shortened_ends_sooner() -> None:
    pool = Guarded(BREAKER, h100(80))
    before = only(pool.see(0, h100(0)))
    pool.guards = guards(percent=50, grace=120)
    hold = only(pool.see(100, h100(0)))
    assert seconds_of(hold) == 120
    assert hold.hash != before.hash
    assert pool.see(120, h100(0)).capacity == h100(0)


@pytest.mark.parametrize("now", [guards(), guards(fall=1), guards(percent=100, grace=600)])
def test_a_breaker_that_is_switched_off_or_allows_more_lets_the_fall_through(now: Guards) -> None:
    pool = Guarded(BREAKER, h100(80))
    pool.see(0, h100(0))
    pool.guards = now
    assert pool.see(10, h100(0)) == (h100(0), (), None, ())


def test_a_restart_does_not_prolong_a_hold() -> None:
    pool = Guarded(guards(fall=60, rise=90), h100(80, cpu=5))
    pool.see(0.25, h100(0, cpu=6))
    before = pool.message
    pool = pool.restart()
    pool.see(40, h100(0, cpu=6))
    assert pool.message == before
    assert pool.see(60.75, h100(0, cpu=6)).capacity == h100(80, cpu=5)
    assert pool.see(61, h100(0, cpu=6)).capacity == h100(0, cpu=5)
    assert pool.see(91, h100(0, cpu=6)).capacity == h100(0, cpu=6)


def test_a_restart_publishes_no_step_of_a_fall_too_soon() -> None:
    pool = Guarded(guards(fall=60), h100(80))
    pool.see(0, h100(40))
    pool.see(30, h100(0))
    pool = pool.restart()
    assert pool.see(45, h100(0)).capacity == h100(80)
    assert pool.see(60, h100(0)).capacity == h100(40)
    assert pool.see(104, h100(0)).capacity == h100(40)
    assert pool.see(105, h100(0)).capacity == h100(0)


def test_what_was_observed_before_a_restart_counts_after_it() -> None:
    pool = Guarded(guards(fall=60), h100(80))
    pool.see(0, h100(40))
    pool = pool.restart()
    assert seconds_of(only(pool.see(45, h100(0)))) == 60
    assert pool.see(60, h100(0)).capacity == h100(40)


def test_a_hold_that_ran_out_while_nobody_looked_is_over() -> None:
    pool = Guarded(guards(fall=60), h100(80))
    pool.see(0, h100(0))
    assert pool.restart().see(3600, h100(0)).capacity == h100(0)


def test_a_breaker_stays_open_over_a_restart_and_its_acknowledgement_good() -> None:
    pool = Guarded(guards(fall=60, percent=50, grace=600), h100(80, cpu=10))
    pool.see(0, h100(0, cpu=10))
    pool.see(50, h100(0, cpu=9))
    hold = pool.see(60, h100(0, cpu=9)).holds[0]
    before = pool.message
    pool = pool.restart()
    pool.see(70, h100(0, cpu=9))
    assert pool.message == before
    assert pool.restart().see(660, h100(0, cpu=9)).capacity == h100(0, cpu=9)
    pool.acknowledged = hold.hash
    assert pool.see(71, h100(0, cpu=9)).capacity == h100(0, cpu=10)


def test_an_acknowledgement_that_was_overwritten_is_good_for_a_hold_from_before_a_restart() -> None:
    pool = Guarded(BREAKER, h100(80))
    hold = only(pool.see(0, h100(0)))
    pool = pool.restart()
    pool.memory.acknowledge(str(hold.hash))
    pool.acknowledged = "0123456789"
    assert pool.see(10, h100(0)).acknowledged == (hold,)


def test_a_restart_measures_by_what_is_published_when_it_begins() -> None:
    """What was published before is nowhere, unless a hold's text tells it."""
    pool = Guarded(BREAKER, h100(80))
    pool.see(0, h100(48))
    assert pool.restart().see(10, h100(24)).capacity == h100(24)
    assert only(pool.see(10, h100(24))).guard is Guard.BREAKER


def test_a_breaker_remembers_over_a_restart_what_falls_are_measured_by() -> None:
    pool = Guarded(BREAKER, h100(80))
    for step in range(1, 7):
        pool.see(step, h100(80 - 8 * step))
    assert (pool.published, pool.message.count("lately 80")) == (h100(40), 1)
    pool = pool.restart()
    assert pool.see(10, h100(32)).capacity == h100(40), "32 of 80, although it is 32 of 40 to whoever knows no more"


def test_a_window_remembers_over_a_restart_what_falls_are_measured_by() -> None:
    pool = Guarded(guards(fall=60, percent=50, grace=600), h100(80))
    pool.see(0, h100(48))
    pool.see(30, h100(32))
    pool.see(60, h100(32))
    pool = pool.restart()
    assert pool.see(70, h100(32)).capacity == h100(48)
    assert only(pool.see(90, h100(32))).guard is Guard.BREAKER


def test_holds_of_another_object_with_the_same_name_are_not_taken_up() -> None:
    pool = Guarded(BREAKER, h100(80))
    hold = only(pool.see(0, h100(0)))
    pool.uid = "another"
    pool = pool.restart()
    pool.acknowledged = hold.hash
    assert seconds_of(only(pool.see(100, h100(0)))) == 700


def test_a_message_that_speaks_of_another_capacity_holds_nothing() -> None:
    pool = Guarded(guards(fall=60), h100(80))
    pool.see(0, h100(0))
    pool.published = h100(72)
    assert seconds_of(only(pool.restart().see(30, h100(0)))) == 90


def test_a_message_cannot_hold_longer_than_the_guards() -> None:
    for of, until in ((guards(fall=60), 90), (BREAKER, 630)):
        pool = Guarded(of, h100(80))
        pool.see(10**6, h100(0))
        assert seconds_of(only(pool.restart().see(30, h100(0)))) == until


def test_guards_that_are_off_after_a_restart_hold_nothing() -> None:
    for of in (guards(fall=60), guards(rise=60), BREAKER):
        pool = Guarded(of, h100(80))
        pool.see(0, h100(0, cpu=1))
        pool.guards = guards()
        assert pool.restart().see(1, h100(0, cpu=1)).capacity == h100(0, cpu=1)


@pytest.mark.parametrize("jump", [-86400, -1, 1, 86400])
def test_setting_the_wall_clock_neither_moves_nor_ends_a_hold(jump: int) -> None:
    pool = Guarded(guards(fall=60, percent=50, grace=600), h100(80))
    assert seconds_of(only(pool.see(0, h100(0)))) == 60
    pool.wall_is_off_by = jump
    decision = pool.see(30, h100(0))
    assert (seconds_of(only(decision)), decision.look_again) == (60, 30)
    pool.wall_is_off_by = 0
    hold = only(pool.see(60, h100(0)))
    pool.wall_is_off_by = jump
    assert pool.see(659, h100(0)).holds == (hold,)
    assert pool.see(660, h100(0)).capacity == h100(0)
