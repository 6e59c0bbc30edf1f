"""What waits until it has lasted, and what is published at once."""

from __future__ import annotations

from kueue_dqo.api import dqo
from providers.guards import Guard
from tests.unit.providers.guards.guarded import GPU, NOTHING, Guarded, capacity, guards, h100, only, seconds_of


def test_without_guards_everything_is_published_at_once() -> None:
    pool = Guarded(guards(), h100(80, cpu="100"))
    for seconds, observed in enumerate([h100(0), NOTHING, h100(800, memory="1Ti"), h100("2e9")]):
        decision = pool.see(seconds, observed)
        assert decision == (observed, (), None, ())


def test_the_first_capacity_is_published_at_once() -> None:
    pool = Guarded(guards(60, 60, 50, 600), None)
    assert pool.see(0, h100(80)) == (h100(80), (), None, ())
    assert pool.see(1, h100(0)).capacity == h100(80), "from then on it is guarded"


def test_an_empty_capacity_is_not_the_same_as_none() -> None:
    pool = Guarded(guards(rise=60), NOTHING)
    assert pool.see(0, h100(80)).capacity == NOTHING


def test_a_fall_is_published_once_it_has_lasted() -> None:
    pool = Guarded(guards(fall=60), h100(80))
    decision = pool.see(0, h100(0))
    assert decision.capacity == h100(80)
    assert only(decision).guard is Guard.FALL
    assert decision.look_again == 60
    assert str(only(decision)) == ("holding h100 until 2026-11-30T12:01:00Z: observed 0, published 80 nvidia.com/gpu")
    assert pool.see(59.75, h100(0)).capacity == h100(80)
    assert pool.see(60, h100(0)) == (h100(0), (), None, ())


def test_a_rise_is_published_once_it_has_lasted() -> None:
    pool = Guarded(guards(rise=60), h100(80))
    decision = pool.see(0, h100(88))
    assert decision.capacity == h100(80)
    assert only(decision).guard is Guard.RISE
    assert str(only(decision)) == ("holding h100 until 2026-11-30T12:01:00Z: observed 88, published 80 nvidia.com/gpu")
    assert pool.see(59.75, h100(88)).capacity == h100(80)
    assert pool.see(60, h100(88)).capacity == h100(88)


def test_each_direction_has_its_own_time() -> None:
    pool = Guarded(guards(fall=60), h100(80))
    assert pool.see(0, h100(88)).capacity == h100(88)
    assert pool.see(1, h100(80)).capacity == h100(88)
    pool = Guarded(guards(rise=60), h100(80))
    assert pool.see(0, h100(72)).capacity == h100(72)
    assert pool.see(1, h100(80)).capacity == h100(72)


def test_a_fall_that_recovers_begins_anew_the_next_time() -> None:
    pool = Guarded(guards(fall=60), h100(80))
    pool.see(0, h100(0))
    assert pool.see(50, h100(80)).holds == ()
    assert seconds_of(only(pool.see(55, h100(0)))) == 115
    assert pool.see(114, h100(0)).capacity == h100(80)
    assert pool.see(115, h100(0)).capacity == h100(0)


def test_a_capacity_that_flaps_below_what_is_published_does_not_prolong_the_hold() -> None:
    pool = Guarded(guards(fall=60), h100(80))
    for seconds, gpus in [(0, 40), (10, 0), (20, 40), (30, 0), (59, 40)]:
        assert seconds_of(only(pool.see(seconds, h100(gpus)))) == 60
    assert pool.see(60, h100(0)).capacity == h100(40), "40 was observed a second ago"


def test_a_fall_in_steps_is_published_in_steps() -> None:
    pool = Guarded(guards(fall=60), h100(80))
    pool.see(0, h100(72))
    assert str(only(pool.see(30, h100(64)))) == (
        "holding h100 until 2026-11-30T12:01:00Z: observed 64, published 80, then 72 nvidia.com/gpu"
    )
    decision = pool.see(60, h100(64))
    assert decision.capacity == h100(72)
    assert str(only(decision)) == ("holding h100 until 2026-11-30T12:01:30Z: observed 64, published 72 nvidia.com/gpu")
    assert decision.look_again == 30
    assert pool.see(90, h100(64)).capacity == h100(64)


def test_a_rise_in_steps_is_published_in_steps() -> None:
    pool = Guarded(guards(rise=60), h100(64))
    pool.see(0, h100(72))
    pool.see(30, h100(80))
    assert pool.see(60, h100(80)).capacity == h100(72)
    assert pool.see(90, h100(80)).capacity == h100(80)


def test_an_amount_that_was_observed_until_now_counts_however_long_ago_it_began() -> None:
    """Observations may be rarer than the guard is long."""
    pool = Guarded(guards(fall=60), h100(80))
    pool.see(0, h100(80))
    assert seconds_of(only(pool.see(300, h100(0)))) == 360


def test_a_hold_ends_on_a_whole_second_and_is_never_shorter_than_the_guard() -> None:
    pool = Guarded(guards(fall=60), h100(80))
    decision = pool.see(0.25, h100(0))
    assert seconds_of(only(decision)) == 61
    assert decision.look_again == 60.75
    assert pool.see(60.75, h100(0)).capacity == h100(80)
    assert pool.see(61, h100(0)).capacity == h100(0)


def test_a_resource_that_is_not_reported_any_more_falls_to_nothing_and_disappears() -> None:
    pool = Guarded(guards(fall=60), h100(80, cpu=10))
    decision = pool.see(0, h100(80))
    assert decision.capacity == h100(80, cpu=10)
    assert str(only(decision)) == "holding h100 until 2026-11-30T12:01:00Z: observed nothing, published 10 cpu"
    assert pool.see(60, h100(80)).capacity == h100(80)


def test_a_zero_that_disappears_is_a_fall_and_one_that_appears_is_a_rise() -> None:
    pool = Guarded(guards(fall=60, rise=30), h100(80, cpu=0))
    assert str(only(pool.see(0, h100(80)))).endswith("observed nothing, published 0 cpu")
    assert pool.see(60, h100(80)).capacity == h100(80)
    assert str(only(pool.see(100, h100(80, cpu=0)))).endswith("observed 0, published nothing cpu")
    assert pool.see(130, h100(80, cpu=0)).capacity == h100(80, cpu=0)


def test_a_flavor_that_is_not_reported_any_more_falls_and_disappears() -> None:
    both = capacity({"h100": {GPU: 80}, "a100": {GPU: 8}})
    pool = Guarded(guards(fall=60), both)
    assert pool.see(0, h100(80)).capacity == both
    assert pool.see(60, h100(80)).capacity == h100(80)


def test_a_resource_and_a_flavor_that_were_not_reported_before_are_rises() -> None:
    pool = Guarded(guards(rise=60), h100(80))
    observed = capacity({"h100": {GPU: 80, "cpu": 5}, "a100": {GPU: 8}})
    decision = pool.see(0, observed)
    assert decision.capacity == h100(80)
    assert [hold.flavor for hold in decision.holds] == ["h100", "a100"]
    assert pool.see(60, observed).capacity == observed


def test_a_flavor_that_left_the_spec_is_not_held() -> None:
    pool = Guarded(guards(fall=60), capacity({"h100": {GPU: 80}, "a100": {GPU: 8}}), flavors=("h100",))
    assert pool.see(0, h100(80)) == (h100(80), (), None, ())


def test_resources_that_changed_at_different_times_are_held_until_different_times() -> None:
    pool = Guarded(guards(fall=60), h100(80, cpu=10, memory=5))
    pool.see(0, h100(0, cpu=10, memory=4))
    decision = pool.see(30, h100(0, cpu=9, memory=4))
    first, second = map(str, decision.holds)
    assert first == (
        "holding h100 until 2026-11-30T12:01:00Z: "
        "observed 4, published 5 memory and observed 0, published 80 nvidia.com/gpu"
    )
    assert second == "holding h100 until 2026-11-30T12:01:30Z: observed 9, published 10 cpu"
    assert pool.see(60, h100(0, cpu=9, memory=4)).capacity == h100(0, cpu=10, memory=4)


def test_flavors_and_resources_keep_their_order() -> None:
    before = capacity({"a100": {"memory": 1, "cpu": 1}, "h100": {GPU: 80, "cpu": 1}})
    decision = Guarded(guards(fall=60), before).see(0, capacity({"a100": {"memory": 1, "cpu": 1}}))
    assert [(each.name, list(each.resources)) for each in decision.capacity.flavors] == [
        ("h100", ["cpu", GPU]),
        ("a100", ["cpu", "memory"]),
    ]


def test_what_is_observed_is_published_in_its_own_format() -> None:
    pool = Guarded(guards(fall=60), capacity({"h100": {"memory": "2147483648"}}))
    decision = pool.see(0, capacity({"h100": {"memory": "2Gi"}}))
    assert decision.holds == ()
    assert str(decision.capacity.flavors[0].resources["memory"]) == "2Gi"


def test_what_somebody_else_wrote_beside_is_taken_away_at_once() -> None:
    pool = Guarded(guards(60, 60, 50, 600), h100(80))
    pool.see(0, h100(80))
    pool.published = h100(800, cpu=3)
    pool.guards = guards(60, 60)
    assert pool.see(100, h100(80)).capacity == h100(80)


def test_a_capacity_that_somebody_took_away_is_published_again_at_once() -> None:
    pool = Guarded(guards(60, 60, 50, 600), h100(80))
    pool.see(0, h100(0))
    pool.published = None
    assert pool.see(1, h100(0)) == (h100(0), (), None, ())


def test_no_flavors_no_capacity() -> None:
    pool = Guarded(guards(60, 60, 50, 600), h100(80), flavors=())
    assert pool.see(0, h100(80)) == (dqo.Capacity(), (), None, ())
