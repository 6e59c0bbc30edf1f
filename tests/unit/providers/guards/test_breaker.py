"""Which falls wait for a grace time, and how a person lets them through."""

from __future__ import annotations

import pytest

from kueue_dqo.api.quantity import Quantity
from providers.guards import Guard
from tests.unit.providers.guards.guarded import GPU, NOTHING, Guarded, capacity, guards, h100, only, seconds_of

BREAKER = guards(percent=50, grace=600)


def test_a_large_fall_waits_for_the_grace_time() -> None:
    pool = Guarded(BREAKER, h100(80))
    decision = pool.see(0, h100(8))
    hold = only(decision)
    assert decision.capacity == h100(80)
    assert decision.look_again == 600
    assert hold.guard is Guard.BREAKER
    assert str(hold) == (
        "holding h100 until 2026-11-30T12:10:00Z: observed 8, published 80 nvidia.com/gpu (a fall of 90 %; "
        f"acknowledge={hold.hash})"
    )
    assert pool.message == (
        f"{hold}; kubectl annotate capacityproviders.kueue.x-k8s.io pool kueue-dqo.dev/acknowledge={hold.hash} "
        "--overwrite publishes it now; h100: 10 nodes; headroom h100: 8 cpu"
    )
    assert pool.see(599.75, h100(8)).capacity == h100(80)
    assert pool.see(600, h100(8)) == (h100(8), (), None, ())
    assert pool.see(601, h100(8)) == (h100(8), (), None, ())


@pytest.mark.parametrize(
    ("published", "observed", "is_held"),
    [
        (80, 40, False),
        (80, 39, True),
        (81, 40, True),
        ("1m", "500u", False),
        ("1m", "499u", True),
        ("9223372036854775807", "4611686018427387904", False),
        ("9223372036854775807", "4611686018427387903", True),
        (1, 0, True),
        (0, 0, False),
    ],
)
def test_the_share_is_compared_exactly(published: object, observed: object, is_held: bool) -> None:
    assert bool(Guarded(BREAKER, h100(published)).see(0, h100(observed)).holds) is is_held


def test_a_breaker_of_a_hundred_percent_never_opens() -> None:
    pool = Guarded(guards(percent=100, grace=600), h100(80, cpu=1))
    assert pool.see(0, NOTHING).capacity == NOTHING


def test_a_share_just_above_the_limit_is_not_shown_as_the_limit() -> None:
    assert "(a fall of 51 %;" in str(only(Guarded(BREAKER, h100(8000)).see(0, h100(3999))))


def test_a_large_fall_keeps_the_whole_flavor_and_no_other_one() -> None:
    pool = Guarded(BREAKER, capacity({"h100": {GPU: 80, "cpu": 100}, "a100": {GPU: 16}}))
    decision = pool.see(0, capacity({"h100": {GPU: 0, "cpu": 110}, "a100": {GPU: 8}}))
    assert decision.capacity == capacity({"h100": {GPU: 80, "cpu": 100}, "a100": {GPU: 8}})
    assert only(decision).observed == {"cpu": Quantity.of(110), GPU: Quantity.of(0)}


def test_a_loss_that_arrives_node_by_node_is_one_loss() -> None:
    pool = Guarded(BREAKER, h100(80))
    published = []
    for step in range(1, 11):
        decision = pool.see(step * 0.5, h100(80 - 8 * step))
        published.append(decision.capacity)
    assert published == [h100(gpus) for gpus in (72, 64, 56, 48, 40, 40, 40, 40, 40, 40)]
    assert str(only(decision)).startswith(
        "holding h100 until 2026-11-30T12:10:03Z: observed 0, published 40, lately 80 nvidia.com/gpu (a fall of 100 %;"
    )


def test_a_loss_that_arrives_node_by_node_is_one_loss_behind_a_window_too() -> None:
    pool = Guarded(guards(fall=60, percent=50, grace=600), h100(80))
    for step in range(1, 11):
        assert pool.see(step, h100(80 - 8 * step)).capacity == h100(80)
    for second in range(61, 120):
        decision = pool.see(second, h100(0))
    assert decision.capacity == h100(40)
    assert only(decision).guard is Guard.BREAKER
    assert seconds_of(only(decision)) == 666


def test_slow_losses_are_losses_of_their_own() -> None:
    pool = Guarded(BREAKER, h100(80))
    assert pool.see(0, h100(48)).capacity == h100(48)
    assert only(pool.see(299.75, h100(32))).guard is Guard.BREAKER
    pool = Guarded(BREAKER, h100(80))
    assert pool.see(0, h100(48)).capacity == h100(48)
    assert pool.see(300, h100(32)).capacity == h100(32)


def test_what_falls_are_measured_by_stays_while_the_breaker_is_open() -> None:
    pool = Guarded(BREAKER, h100(80))
    pool.see(0, h100(48))
    pool.see(200, h100(32))
    assert only(pool.see(500, h100(32))).guard is Guard.BREAKER, "80 was published 500 seconds ago"
    assert pool.see(800, h100(32)).capacity == h100(32)


def test_the_breaker_closes_by_itself_when_the_capacity_is_back() -> None:
    pool = Guarded(BREAKER, h100(80))
    pool.see(0, h100(0))
    assert pool.see(10, h100(72)) == (h100(72), (), None, ())


def test_the_breaker_does_not_open_for_what_was_published_before_it_was_switched_on() -> None:
    pool = Guarded(guards(), h100(80))
    pool.see(0, h100(8))
    pool.guards = BREAKER
    assert pool.see(10, h100(8)).holds == ()
    assert pool.see(20, h100(16)).capacity == h100(16), "a rise is no fall, however low"


def test_after_the_grace_falls_are_measured_by_the_new_amount() -> None:
    pool = Guarded(BREAKER, h100(80))
    pool.see(0, h100(30))
    assert pool.see(600, h100(30)).capacity == h100(30)
    assert pool.see(610, h100(15)).capacity == h100(15)
    assert only(pool.see(620, h100(7))).guard is Guard.BREAKER


def test_a_grace_that_is_over_stays_over_until_the_write_lands() -> None:
    pool = Guarded(BREAKER, h100(80))
    pool.see(0, h100(0))
    for seconds in (600, 601, 1300):
        assert pool.see(seconds, h100(0), lands=False).capacity == h100(0)
    assert pool.see(1400, h100(0)).capacity == h100(0)
    assert pool.see(1401, h100(0)).holds == ()


def test_a_window_goes_on_while_the_breaker_is_open() -> None:
    pool = Guarded(guards(fall=60, percent=50, grace=100), h100(80, cpu=10))
    pool.see(0, h100(0, cpu=10))
    pool.see(50, h100(0, cpu=9))
    decision = pool.see(60, h100(0, cpu=9))
    assert [hold.guard for hold in decision.holds] == [Guard.BREAKER, Guard.FALL]
    assert decision.look_again == 50
    assert decision.capacity == h100(80, cpu=10)
    assert only(pool.see(110, h100(0, cpu=9))).guard is Guard.BREAKER
    assert pool.see(160, h100(0, cpu=9)).capacity == h100(0, cpu=9)


def test_an_acknowledged_fall_is_published_at_once() -> None:
    pool = Guarded(BREAKER, h100(80))
    hold = only(pool.see(0, h100(0)))
    pool.acknowledged = hold.hash
    for lands in (False, False, True):
        assert pool.see(5, h100(0), lands=lands) == (h100(0), (), None, (hold,)), "good until it is published"
    assert pool.see(6, h100(0)) == (h100(0), (), None, ())


def test_an_acknowledgement_passes_the_windows_as_well() -> None:
    pool = Guarded(guards(fall=60, percent=50, grace=600), h100(80))
    pool.see(0, h100(20))
    pool.see(30, h100(0))
    hold = only(pool.see(60, h100(0)))
    assert hold.then == {GPU: Quantity.of(20)}
    pool.acknowledged = hold.hash
    assert pool.see(61, h100(0)).capacity == h100(0)
    assert pool.see(62, h100(0)).capacity == h100(0)


def test_an_acknowledgement_is_good_once() -> None:
    pool = Guarded(BREAKER, h100(80))
    pool.acknowledged = only(pool.see(0, h100(0))).hash
    assert pool.see(1, h100(0)).capacity == h100(0)
    assert pool.see(2, h100(80)).capacity == h100(80)
    decision = pool.see(3, h100(0))
    assert decision.capacity == h100(80)
    assert only(decision).hash != pool.acknowledged


def test_an_acknowledgement_is_good_once_even_within_a_second() -> None:
    pool = Guarded(BREAKER, h100(80))
    pool.acknowledged = only(pool.see(0.125, h100(0))).hash
    assert pool.see(0.25, h100(0)).capacity == h100(0)
    assert pool.see(0.5, h100(80)).capacity == h100(80)
    decision = pool.see(0.75, h100(0))
    assert decision.capacity == h100(80)
    assert (seconds_of(only(decision)), decision.look_again) == (602, 601.25), "it ends when it says"


@pytest.mark.parametrize(("set_by", "again"), [(1, 0.75), (-1, 0.75), (-60, 60.5)])
def test_setting_the_wall_clock_makes_no_acknowledgement_good_twice(set_by: int, again: float) -> None:
    """Not where it is set back to the second in which the breaker opened before; nor does it change how long it is."""
    pool = Guarded(BREAKER, h100(80))
    pool.acknowledged = only(pool.see(0.125, h100(0))).hash
    assert pool.see(0.25, h100(0)).capacity == h100(0)
    assert pool.see(0.5, h100(80)).capacity == h100(80)
    steady = Guarded(BREAKER, h100(80))
    for seconds, gpus in ((0.125, 0), (0.5, 80)):
        steady.see(seconds, h100(gpus))
    pool.wall_is_off_by = set_by
    decision = pool.see(again, h100(0))
    assert decision.capacity == h100(80)
    assert decision.look_again == steady.see(again, h100(0)).look_again


def test_another_amount_asks_for_another_acknowledgement() -> None:
    pool = Guarded(BREAKER, h100(80))
    pool.acknowledged = only(pool.see(0, h100(8))).hash
    hold = only(pool.see(1, h100(0)))
    assert hold.hash != pool.acknowledged
    assert seconds_of(hold) == 600, "it is still one loss"


@pytest.mark.parametrize("other", ["uid", "flavor", "published"])
def test_another_fall_asks_for_another_acknowledgement(other: str) -> None:
    one = only(Guarded(BREAKER, h100(80)).see(0, h100(0)))
    pools = {
        "uid": (Guarded(BREAKER, h100(80), uid="another"), h100(0)),
        "flavor": (Guarded(BREAKER, capacity({"a100": {GPU: 80}})), capacity({"a100": {GPU: 0}})),
        "published": (Guarded(BREAKER, h100(72)), h100(0)),
    }
    pool, observed = pools[other]
    assert only(pool.see(0, observed)).hash != one.hash


def test_one_acknowledgement_lets_one_flavor_through() -> None:
    pool = Guarded(BREAKER, capacity({"h100": {GPU: 80}, "a100": {GPU: 8}}))
    gone = capacity({"h100": {GPU: 0}, "a100": {GPU: 0}})
    pool.acknowledged = pool.see(0, gone).holds[1].hash
    assert pool.see(1, gone).capacity == capacity({"h100": {GPU: 80}, "a100": {GPU: 0}})


BOTH = capacity({"h100": {GPU: 80}, "a100": {GPU: 8}})
BOTH_GONE = capacity({"h100": {GPU: 0}, "a100": {GPU: 0}})


def test_the_message_has_one_command_for_all_that_fell() -> None:
    """There is one annotation, so a command for each would overwrite what the one before it said."""
    pool = Guarded(BREAKER, BOTH)
    one, two = pool.see(0, BOTH_GONE).holds
    assert pool.message.startswith(
        f"{one}; {two}; kubectl annotate capacityproviders.kueue.x-k8s.io pool "
        f"kueue-dqo.dev/acknowledge={one.hash},{two.hash} --overwrite publishes them now; h100: 10 nodes"
    )


@pytest.mark.parametrize("between", [",", ", ", " , ", " ", ",\n"])
def test_an_annotation_acknowledges_several_falls(between: str) -> None:
    pool = Guarded(BREAKER, BOTH)
    holds = pool.see(0, BOTH_GONE).holds
    pool.acknowledged = f" {between.join(str(hold.hash) for hold in holds)}{between}"
    assert pool.see(1, BOTH_GONE) == (BOTH_GONE, (), None, holds)


def test_a_list_that_has_something_else_too_is_good_for_what_is_right() -> None:
    pool = Guarded(BREAKER, BOTH)
    one, two = pool.see(0, BOTH_GONE).holds
    pool.acknowledged = f"0123456789,,{one.hash},{two.hash}0"
    assert pool.see(1, BOTH_GONE).holds == (two,)


def test_annotations_that_overwrite_each_other_before_a_decision_count_all() -> None:
    pool = Guarded(BREAKER, BOTH)
    holds = pool.see(0, BOTH_GONE).holds
    for hold in holds:
        pool.acknowledged = hold.hash
        pool.memory.acknowledge(str(hold.hash))
    for lands in (False, False, True):
        assert pool.see(1, BOTH_GONE, lands=lands) == (BOTH_GONE, (), None, holds), "good until they are published"
    assert pool.see(2, BOTH_GONE) == (BOTH_GONE, (), None, ())


def test_acknowledgements_that_are_seen_one_by_one_count_one_by_one() -> None:
    pool = Guarded(BREAKER, BOTH)
    one, two = pool.see(0, BOTH_GONE).holds
    pool.memory.acknowledge(str(one.hash))
    assert pool.see(1, BOTH_GONE).holds == (two,)
    pool.memory.acknowledge(str(two.hash))
    assert pool.see(2, BOTH_GONE).capacity == BOTH_GONE


def test_what_was_seen_of_a_fall_is_forgotten_with_it() -> None:
    """Here of one that nobody could know of before it began: it is none of those that were held at the decision."""
    probe = Guarded(BREAKER, h100(80))
    later = only(probe.see(10, h100(0))).hash
    pool = Guarded(BREAKER, h100(80))
    pool.memory.acknowledge(str(later))
    pool.see(5, h100(80))
    assert only(pool.see(10, h100(0))).hash == later
    assert pool.see(11, h100(0)).capacity == h100(80)


def test_a_provider_that_has_published_nothing_yet_has_nothing_acknowledged() -> None:
    pool = Guarded(BREAKER, None)
    pool.memory.acknowledge(str(only(Guarded(BREAKER, h100(80)).see(10, h100(0))).hash))
    pool.see(5, h100(80))
    assert pool.see(10, h100(0)).capacity == h100(80)


def test_after_an_acknowledgement_falls_are_measured_by_the_new_amount() -> None:
    pool = Guarded(BREAKER, h100(80))
    pool.acknowledged = only(pool.see(0, h100(30))).hash
    pool.see(1, h100(30))
    assert pool.see(2, h100(15)).capacity == h100(15)
    assert only(pool.see(3, h100(7))).guard is Guard.BREAKER
