"""The guards of one flavor: what windows allow, what the breaker keeps, and what is said about it."""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from typing import Final, NamedTuple

from kueue_dqo.api.parameters import Guards
from kueue_dqo.api.quantity import Quantity
from providers.guards.amounts import Amounts, level
from providers.guards.breaker import Breaker
from providers.guards.holds import Guard, Hold, hash_of
from providers.guards.windows import Clock, Moment, Past, Window

_EPOCH: Final = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)
_SECOND: Final = datetime.timedelta(seconds=1)


class Subject(NamedTuple):
    """Whose capacity it is, and what a person acknowledged of it."""

    provider: str
    uid: str
    flavor: str
    acknowledged: AbstractSet[str]
    """Hashes, of whatever hold."""


class FlavorDecision(NamedTuple):
    """What may be published of the flavor, what is held of it, and when that changes by itself."""

    amounts: Amounts
    holds: list[Hold]
    changes: list[Moment]
    acknowledged: Hold | None = None


class _Flows(NamedTuple):
    """What one decision is about."""

    published: Amounts
    observed: Amounts
    allowed: Mapping[str, Quantity | None]
    """By the windows."""
    measured_by: Amounts
    """By the breaker, for falls."""


class FlavorMemory:
    """What was observed and published of one flavor, as far as it matters."""

    def __init__(self, published: Amounts, *, observed: Amounts) -> None:
        """`observed` is taken for what was there until now; where that is what is there now, nothing is held."""
        self._windows = {name: Window(amount) for name, amount in observed.items()}
        self._breaker = Breaker(published)
        self._decided: Moment | None = None

    def resume(self, hold: Hold, guards: Guards, uid: str, published: Amounts, clock: Clock) -> None:
        """Takes up a hold that the last message speaks of, unless what it speaks of is not what is published."""
        if any(published.get(name) != hold.published.get(name) for name in hold.resources):
            return
        if hold.guard is Guard.BREAKER and hold.hash != hash_of(uid, hold):
            return
        until = (hold.until - _EPOCH) // _SECOND
        # No hold began later than now, whatever the text says.
        began = clock.at.plus(min(0, until - _length(hold.guard, guards) - clock.at.wall))
        for name in hold.resources:
            window = self._windows.setdefault(name, Window(None))
            if hold.guard is not Guard.BREAKER:
                window.recall(Past(published.get(name), began))
            if name in hold.then:
                window.recall(Past(hold.then[name], clock.at))
            window.present = hold.observed.get(name)
        self._breaker.recall(hold.lately, clock.at)
        if hold.guard is Guard.BREAKER:
            self._breaker.resume(began, published, hold.lately)

    def decide(
        self, guards: Guards, subject: Subject, published: Amounts, observed: Amounts, clock: Clock
    ) -> FlavorDecision:
        """What may be published now."""
        self._note(guards, published, observed, clock)
        allowed = {name: window.allowed(published.get(name), guards, clock) for name, window in self._windows.items()}
        measured_by = self._breaker.judge(guards, published, allowed, clock)
        flows = _Flows(published, observed, allowed, measured_by)
        decision = self._by_breaker(guards, subject, flows, clock)
        if decision is None:
            decision = self._by_windows(guards, subject, flows, clock)
        if decision.amounts != published:
            self._decided = clock.at
        return decision

    def _note(self, guards: Guards, published: Amounts, observed: Amounts, clock: Clock) -> None:
        longest = max(guards.fall_after.seconds, guards.rise_after.seconds)
        for name in sorted(self._windows.keys() | published.keys() | observed.keys()):
            window = self._windows.setdefault(name, Window(None))
            window.change(observed.get(name), clock.at)
            window.forget(longest, clock.monotonic)
            if window.is_blank and name not in published:
                del self._windows[name]
        # It was published soon after it was decided, and seen here only now.
        self._breaker.note(published, self._decided or clock.at, clock.monotonic)
        self._decided = None

    def _by_breaker(self, guards: Guards, subject: Subject, flows: _Flows, clock: Clock) -> FlavorDecision | None:
        """What the open breaker lets through; None where it is closed."""
        opened = self._breaker.opened
        if opened is None:
            return None
        until = opened.at.plus(_length(Guard.BREAKER, guards))
        if until.monotonic <= clock.monotonic:
            return self._by_windows(guards, subject, flows._replace(measured_by={}), clock)
        held = {
            name: amount for name, amount in flows.allowed.items() if level(amount) != level(flows.published.get(name))
        }
        hold = _hold(subject.flavor, Guard.BREAKER, until, flows, held)
        hold = hold._replace(provider=subject.provider, hash=hash_of(subject.uid, hold))
        if hold.hash in subject.acknowledged:
            # A person has seen what is observed and wants it, so no window stands in its way either.
            seen = {name: flows.observed.get(name) for name in held}
            flows = flows._replace(allowed={**flows.allowed, **seen}, measured_by={})
            return self._by_windows(guards, subject, flows, clock)._replace(acknowledged=hold)
        kept = {name: flows.published.get(name) for name in held}
        rest = self._by_windows(guards, subject, flows._replace(allowed={**flows.allowed, **kept}), clock, kept.keys())
        return rest._replace(holds=[hold, *rest.holds], changes=[until, *rest.changes])

    def _by_windows(
        self, guards: Guards, subject: Subject, flows: _Flows, clock: Clock, apart_from: AbstractSet[str] = frozenset()
    ) -> FlavorDecision:
        """Publishes what is allowed, and says what windows keep from being what is observed."""
        outcome = flows._replace(published={name: each for name, each in flows.allowed.items() if each is not None})
        delayed: dict[tuple[Moment, Guard], dict[str, Quantity | None]] = {}
        for name, window in sorted(self._windows.items()):
            delay = window.delay(flows.allowed[name], guards, clock) if name not in apart_from else None
            if delay is not None:
                guard = Guard.FALL if level(window.present) < level(flows.allowed[name]) else Guard.RISE
                delayed.setdefault((delay.until, guard), {})[name] = delay.then
        return FlavorDecision(
            outcome.published,
            [_hold(subject.flavor, guard, until, outcome, then) for (until, guard), then in sorted(delayed.items())],
            [until for until, _ in delayed],
        )


def _length(guard: Guard, guards: Guards) -> int:
    """Seconds that a hold lasts."""
    lengths = {Guard.FALL: guards.fall_after, Guard.RISE: guards.rise_after, Guard.BREAKER: guards.breaker_grace}
    length = lengths[guard]
    return length.seconds if length is not None else 0


def _hold(flavor: str, guard: Guard, until: Moment, flows: _Flows, then: Mapping[str, Quantity | None]) -> Hold:
    """The hold of the resources in `then`."""
    published, observed, measured_by = flows.published, flows.observed, flows.measured_by
    return Hold(
        flavor,
        guard,
        until.time,
        {name: observed[name] for name in then if name in observed},
        {name: published[name] for name in then if name in published},
        {
            name: amount
            for name, amount in then.items()
            if amount is not None and level(amount) != level(observed.get(name))
        },
        {
            name: measured_by[name]
            for name in then
            if level(observed.get(name)) < level(published.get(name)) < level(measured_by.get(name))
        },
    )
