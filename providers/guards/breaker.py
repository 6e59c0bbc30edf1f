"""The circuit breaker of one flavor: mass loss is more often a broken observer than a burnt data centre."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple

from kueue_dqo.api.parameters import Guards
from kueue_dqo.api.quantity import Quantity
from providers.guards.amounts import Amounts, falls_by_more, level
from providers.guards.windows import Clock, Moment, Past, Window

ONE_LOSS: Final = 300
"""Seconds. A loss comes in parts, node by node; what was published within this time is what a fall is measured by."""

_HALF_A_SECOND: Final = 0.5


class Opened(NamedTuple):
    """Since when the breaker is open, what the fall is measured by, and what stays published."""

    at: Moment
    measured_by: Amounts
    published: Amounts


class Breaker:
    """Opens on a fall of too large a share, and closes when it is none any more or when something is published."""

    def __init__(self, published: Amounts) -> None:
        self.opened: Opened | None = None
        self._published = {name: Window(amount) for name, amount in published.items()}
        self._last_opened: Moment | None = None

    def resume(self, at: Moment, published: Amounts, lately: Amounts) -> None:
        """It was open since then before a restart."""
        self.opened = Opened(at, dict(published) | dict(lately), published)
        self._last_opened = at

    def recall(self, lately: Amounts, at: Moment) -> None:
        """More than now was published until a short time ago."""
        for name, amount in lately.items():
            self._published[name].recall(Past(amount, at))

    def note(self, published: Amounts, since: Moment, monotonic: float) -> None:
        """Takes what is published now, and since when at the earliest."""
        if self.opened is not None and self.opened.published != published:
            # What was held is published, or somebody else wrote: from here on falls are measured anew.
            self.opened = None
            self._published = {name: Window(amount) for name, amount in published.items()}
        for name in sorted(self._published.keys() | published.keys()):
            window = self._published.setdefault(name, Window(None))
            window.change(published.get(name), since)
            window.forget(ONE_LOSS, monotonic)
            if window.is_blank:
                del self._published[name]

    def judge(
        self, guards: Guards, published: Amounts, allowed: Mapping[str, Quantity | None], clock: Clock
    ) -> Amounts:
        """Opens or closes; returns what falls are measured by, nothing where the breaker is off.

        What falls is published now, and would be so by what the windows allow; how far it falls is measured by the
        highest amount that was published lately. While it is open, that stays the measure.
        """
        percent = guards.max_fall_percent
        if percent is None or guards.breaker_grace is None:
            self.opened = None
            return {}
        measured_by = self.opened.measured_by if self.opened is not None else self._highest(clock.monotonic)
        if not any(
            level(amount) < level(published.get(name)) and falls_by_more(measured_by.get(name), amount, percent)
            for name, amount in allowed.items()
        ):
            self.opened = None
        elif self.opened is None:
            self._last_opened = self._unlike_the_last(clock.at)
            self.opened = Opened(self._last_opened, measured_by, dict(published))
        return measured_by

    def _unlike_the_last(self, at: Moment) -> Moment:
        """Never the same second twice, so that one acknowledgement is not good for both."""
        last = self._last_opened
        if last is None:
            return at
        if abs(at.monotonic - last.monotonic) < _HALF_A_SECOND:
            at = at.plus(1)
        # Where the wall clock was set back to the very second, the text alone tells another one.
        return at._replace(wall=at.wall + 1) if at.wall == last.wall else at

    def _highest(self, monotonic: float) -> Amounts:
        highest = {name: window.highest(ONE_LOSS, monotonic) for name, window in self._published.items()}
        return {name: amount for name, amount in highest.items() if amount is not None}
