"""What holds whatever is observed: a brute-force reference agrees, and nothing is published before its time."""

from __future__ import annotations

import datetime
import math
from collections.abc import Iterable
from typing import NamedTuple

from hypothesis import assume, event, given, settings
from hypothesis import strategies as st

from kueue_dqo.api import dqo
from kueue_dqo.api.parameters import Guards
from providers.guards import Guard, Hold, holds_in
from tests.unit.providers.guards.guarded import GPU, NOON, Guarded, capacity, guards

FLAVORS = ("a", "b")
RESOURCES = ("cpu", GPU)


class Look(NamedTuple):
    """What is observed after so many seconds, and whether what is decided gets published."""

    after: float
    observed: dqo.Capacity
    lands: bool


amounts = st.sampled_from([None, 0, 1, 2, 3, 5, 8, 40, 72, 80])
flavor = st.fixed_dictionaries(dict.fromkeys(RESOURCES, amounts)).map(
    lambda found: {name: amount for name, amount in found.items() if amount is not None}
)
capacities = st.fixed_dictionaries(dict.fromkeys(FLAVORS, flavor)).map(capacity)
gaps = st.sampled_from([0.25, 0.5, 1.0, 2.0, 7.75, 15.0, 30.0, 100.0])
seconds = st.sampled_from([0, 1, 10, 30])
windows_only = st.builds(guards, seconds, seconds)
any_guards = st.builds(guards, seconds, seconds, st.sampled_from([1, 20, 50, 99, 100]), st.sampled_from([1, 20, 60]))
landing = st.builds(Look, gaps, capacities, st.just(True))  # noqa: FBT003 - drawn, not passed
looks = st.lists(landing, min_size=1, max_size=12)
# Of one resource: a message tells the next step of each resource, not all, and the breaker is one for the flavor.
single = st.fixed_dictionaries(dict.fromkeys(FLAVORS, amounts.map(lambda found: {} if found is None else {GPU: found})))
single_looks = st.lists(st.builds(Look, gaps, single.map(capacity), st.just(True)), min_size=1, max_size=12)  # noqa: FBT003 - as above
looks_with_failures = st.lists(st.builds(Look, gaps, capacities, st.booleans()), min_size=1, max_size=12)


def pool_of(of: Guards, published: dqo.Capacity | None) -> Guarded:
    return Guarded(of, published, flavors=FLAVORS)


def levels(found: dqo.Capacity) -> dict[tuple[str, str], int]:
    """Nanos by pair; a pair that is not reported is missing."""
    return {(each.name, name): amount.nanos for each in found.flavors for name, amount in each.resources.items()}


PAIRS = [(name, resource) for name in FLAVORS for resource in RESOURCES]


class Reference:
    """All that was ever observed, as (since, until, amounts), and the rule of the windows word by word."""

    def __init__(self, of: Guards, published: dqo.Capacity) -> None:
        self.guards = of
        self.published = levels(published)
        self.present = self.published
        self.past: list[tuple[float, dict[tuple[str, str], int]]] = []

    def see(self, now: float, observed: dqo.Capacity, *, lands: bool) -> dict[tuple[str, str], int]:
        self.past.append((math.ceil(now), self.present))
        self.present = levels(observed)
        decided = {}
        for pair in PAIRS:
            before, present = self.published.get(pair, -1), self.present.get(pair, -1)
            highest = max([present, *self._within(pair, now, self.guards.fall_after.seconds)])
            lowest = min([present, *self._within(pair, now, self.guards.rise_after.seconds)])
            level = highest if before > highest else max(before, lowest)
            if level >= 0:
                decided[pair] = level
        if lands:
            self.published = decided
        return decided

    def _within(self, pair: tuple[str, str], now: float, length: int) -> Iterable[int]:
        # Until somebody observed another amount, the last one held.
        changes = [
            (until, amounts.get(pair, -1))
            for (until, amounts), later in zip(
                self.past, [*(amounts for _, amounts in self.past[1:]), self.present], strict=True
            )
            if amounts.get(pair, -1) != later.get(pair, -1)
        ]
        return [level for until, level in changes if length and until + length > now]


@settings(max_examples=60)
@given(windows_only, capacities, looks_with_failures)
def test_windows_do_what_the_rule_says(of: Guards, published: dqo.Capacity, found: list[Look]) -> None:
    pool, reference = pool_of(of, published), Reference(of, published)
    now = 0.0
    for look in found:
        now += look.after
        decision = pool.see(now, look.observed, lands=look.lands)
        event(f"{len(decision.holds)} holds")
        assert levels(decision.capacity) == reference.see(now, look.observed, lands=look.lands)


@settings(max_examples=60)
@given(any_guards, capacities, looks_with_failures)
def test_exactly_what_is_not_published_as_observed_is_held(
    of: Guards, published: dqo.Capacity, found: list[Look]
) -> None:
    pool = pool_of(of, published)
    now = 0.0
    for look in found:
        now += look.after
        decision = pool.see(now, look.observed, lands=look.lands)
        decided, observed = levels(decision.capacity), levels(look.observed)
        held = [(hold.flavor, name) for hold in decision.holds for name in hold.resources]
        assert sorted(held) == sorted(pair for pair in PAIRS if decided.get(pair) != observed.get(pair))
        for hold in decision.holds:
            for name in hold.resources:
                assert nanos(hold.published, name) == decided.get((hold.flavor, name))
                assert nanos(hold.observed, name) == observed.get((hold.flavor, name))
            assert hold.until > NOON + datetime.timedelta(seconds=now)
        ends = [(hold.until - NOON).total_seconds() - now for hold in decision.holds]
        assert decision.look_again == min(ends, default=None)


def nanos(found: object, name: str) -> int | None:
    assert isinstance(found, dict)
    return found[name].nanos if name in found else None


@settings(max_examples=60)
@given(any_guards, capacities, looks_with_failures, capacities)
def test_what_stays_is_published_in_the_end(
    of: Guards, published: dqo.Capacity, found: list[Look], last: dqo.Capacity
) -> None:
    pool = pool_of(of, published)
    now = 0.0
    for look in found:
        now += look.after
        pool.see(now, look.observed, lands=look.lands)
    began = now + 1
    decision = pool.see(began, last)
    now = began
    while decision.look_again is not None:
        assert decision.look_again > 0
        now += decision.look_again
        decision = pool.see(now, last)
    assert levels(decision.capacity) == levels(last)
    assert decision.holds == ()
    grace = of.breaker_grace.seconds if of.breaker_grace is not None else 0
    # A second each for beginning on whole ones.
    assert now - began <= max(of.fall_after.seconds, of.rise_after.seconds) + 1 + grace + 1


@settings(max_examples=60)
@given(any_guards, capacities, looks)
def test_no_large_fall_is_published_before_the_grace_is_over(
    of: Guards, published: dqo.Capacity, found: list[Look]
) -> None:
    assert of.max_fall_percent is not None
    pool = pool_of(of, published)
    now = 0.0
    highest = levels(published)
    waiting: dict[str, Hold] = {}
    for look in found:
        now += look.after
        assume(now < 300)
        before = levels(pool.published or dqo.Capacity())
        decision = pool.see(now, look.observed)
        decided = levels(decision.capacity)
        for pair in PAIRS:
            most, level = highest.get(pair, 0), max(decided.get(pair, -1), 0)
            if decided.get(pair, -1) < before.get(pair, -1) and (most - level) * 100 > most * of.max_fall_percent:
                event("a large fall is published")
                assert waiting[pair[0]].until <= NOON + datetime.timedelta(seconds=now)
        opened = {hold.flavor: hold for hold in decision.holds if hold.guard is Guard.BREAKER}
        for pair in PAIRS:
            # After a release falls are measured by what it published.
            released = pair[0] in waiting and pair[0] not in opened
            highest[pair] = max(decided.get(pair, 0), 0 if released else highest.get(pair, 0))
        waiting = opened


@settings(max_examples=60)
@given(any_guards, capacities, looks_with_failures, st.sampled_from(FLAVORS))
def test_no_flavor_depends_on_another_one(of: Guards, published: dqo.Capacity, found: list[Look], name: str) -> None:
    def part(whole: dqo.Capacity) -> dqo.Capacity:
        return dqo.Capacity(tuple(each for each in whole.flavors if each.name == name))

    both, alone = pool_of(of, published), pool_of(of, part(published))
    now = 0.0
    for look in found:
        now += look.after
        decision = both.see(now, look.observed, lands=look.lands)
        expected = alone.see(now, part(look.observed), lands=look.lands)
        assert part(decision.capacity) == expected.capacity
        assert tuple(hold for hold in decision.holds if hold.flavor == name) == expected.holds


@settings(max_examples=60)
@given(any_guards, capacities, looks_with_failures, st.booleans())
def test_asked_twice_it_says_the_same(
    of: Guards, published: dqo.Capacity, found: list[Look], acknowledges: bool
) -> None:
    pool = pool_of(of, published)
    now = 0.0
    for look in found:
        now += look.after
        first = pool.see(now, look.observed, lands=False)
        assert pool.see(now, look.observed, lands=look.lands) == first
        pool.acknowledged = next((hold.hash for hold in first.holds if hold.hash), None) if acknowledges else None


@settings(max_examples=60)
@given(any_guards, capacities, looks_with_failures, st.lists(st.integers(-100_000, 100_000), min_size=12, max_size=12))
def test_setting_the_wall_clock_changes_no_decision(
    of: Guards, published: dqo.Capacity, found: list[Look], jumps: list[int]
) -> None:
    steady, set_often = pool_of(of, published), pool_of(of, published)
    now = 0.0
    for look, jump in zip(found, jumps, strict=False):
        now += look.after
        set_often.wall_is_off_by = jump
        expected = steady.see(now, look.observed, lands=look.lands)
        decision = set_often.see(now, look.observed, lands=look.lands)
        assert decision.capacity == expected.capacity
        assert decision.look_again == expected.look_again


@settings(max_examples=60)
@given(any_guards, single.map(capacity), single_looks, gaps, st.lists(gaps, max_size=8))
def test_a_restart_changes_no_hold_and_publishes_nothing_sooner(
    of: Guards, published: dqo.Capacity, found: list[Look], down: float, later: list[float]
) -> None:
    old = pool_of(of, published)
    now = 0.0
    for look in found:
        now += look.after
        decision = old.see(now, look.observed)
    event(f"{sorted({hold.guard for hold in decision.holds})}")
    new = old.restart()
    last = found[-1].observed
    held = {(hold.flavor, name): hold for hold in decision.holds for name in hold.resources}
    if decision.look_again is not None and down < decision.look_again:
        of_old, of_new = old.see(now + down, last), old.restart().see(now + down, last)
        # A next step begins anew, what is held now does not.
        for one, other in zip(of_old.holds, of_new.holds, strict=True):
            assert other._replace(then=one.then) == one
    look_again = [decision.look_again]
    for gap in [down, *later]:
        # Each looks when it said that it would.
        now += min([gap, *(wait for wait in look_again if wait is not None)])
        of_old, of_new = old.see(now, last), new.see(now, last)
        look_again = [of_old.look_again, of_new.look_again]
        before, after = levels(of_old.capacity), levels(of_new.capacity)
        for pair in PAIRS:
            observed = levels(last).get(pair, -1)
            assert abs(after.get(pair, -1) - observed) >= abs(before.get(pair, -1) - observed)
            if pair not in held:
                assert after.get(pair, -1) == observed


@settings(max_examples=60)
@given(any_guards, capacities, looks)
def test_holds_are_read_back_as_they_were_written(of: Guards, published: dqo.Capacity, found: list[Look]) -> None:
    pool = pool_of(of, published)
    now = 0.0
    for look in found:
        now += look.after
        decision = pool.see(now, look.observed)
        assert holds_in(pool.message) == decision.holds
