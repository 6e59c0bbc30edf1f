"""Amounts over time: what was highest and lowest within the last so many seconds."""

from __future__ import annotations

import datetime
from typing import Final, NamedTuple

from kueue_dqo.api.parameters import Guards
from kueue_dqo.api.quantity import Quantity
from providers.guards.amounts import level

_EPOCH: Final = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)
_SECOND: Final = datetime.timedelta(seconds=1)
_MICROS: Final = 10**6


class Moment(NamedTuple):
    """A whole second of the wall clock, and when the monotonic clock has it.

    The monotonic clock decides, so that nothing ends sooner or later where the wall clock is set. The wall clock is for
    the message, and for what is read back from it after a restart.
    """

    monotonic: float
    wall: int
    """Seconds since 1970."""

    @classmethod
    def of(cls, now: datetime.datetime, monotonic: float) -> Moment:
        """The first whole second that is not before now: what is timed from it is never too short."""
        return cls(monotonic + (-now.microsecond % _MICROS) / _MICROS, -((_EPOCH - now) // _SECOND))

    def plus(self, seconds: int) -> Moment:
        """So many seconds later; earlier where they are negative."""
        return Moment(self.monotonic + seconds, self.wall + seconds)

    @property
    def time(self) -> datetime.datetime:
        """By the wall clock, in UTC."""
        return _EPOCH + self.wall * _SECOND


class Clock(NamedTuple):
    """Now."""

    at: Moment
    """The next whole second, which what begins now is timed from."""
    monotonic: float

    @classmethod
    def of(cls, now: datetime.datetime, monotonic: float) -> Clock:
        """From the time in UTC and the monotonic clock's."""
        return cls(Moment.of(now, monotonic), monotonic)


class Past(NamedTuple):
    """An amount that held until then."""

    amount: Quantity | None
    ended: Moment


class Delay(NamedTuple):
    """Why an amount is still published, although another one is observed."""

    until: Moment
    then: Quantity | None
    """What may be published at that time, if what is observed stays."""


class Window:
    """The amounts of one pair: the present one, and those before it as far as they can matter."""

    def __init__(self, present: Quantity | None) -> None:
        self.present = present
        self._highs = _Extremes(1)
        self._lows = _Extremes(-1)

    @property
    def is_blank(self) -> bool:
        """Whether there is nothing to remember."""
        return self.present is None and not self._highs.pasts and not self._lows.pasts

    def change(self, amount: Quantity | None, at: Moment) -> None:
        """Notes the present amount; an earlier one held until now."""
        if level(amount) != level(self.present):
            self.recall(Past(self.present, at))
        self.present = amount

    def recall(self, past: Past) -> None:
        """Adds an amount of the past, none that ended before the last one."""
        self._highs.add(past)
        self._lows.add(past)

    def forget(self, seconds: int, monotonic: float) -> None:
        """Drops what ended longer ago than that."""
        for extremes in (self._highs, self._lows):
            extremes.pasts = extremes.within(seconds, monotonic)

    def highest(self, seconds: int, monotonic: float) -> Quantity | None:
        """The highest amount of the last so many seconds, the present one included."""
        return self._highs.most(seconds, monotonic, self.present)

    def allowed(self, published: Quantity | None, guards: Guards, clock: Clock) -> Quantity | None:
        """What may be published: a fall down to the highest of its window, a rise up to the lowest."""
        if level(published) == level(self.present):
            return self.present
        extremes, seconds = self._towards(published, guards)
        limit = extremes.most(seconds, clock.monotonic, self.present)
        return limit if extremes.rank(limit) < extremes.rank(published) else published

    def delay(self, allowed: Quantity | None, guards: Guards, clock: Clock) -> Delay | None:
        """How long it stays what is allowed; None where it is what is observed."""
        extremes, seconds = self._towards(allowed, guards)
        pasts = extremes.within(seconds, clock.monotonic)
        keeping = [past for past in pasts if extremes.rank(past.amount) >= extremes.rank(allowed)]
        if not keeping or level(allowed) == level(self.present):
            return None
        ended = keeping[-1].ended
        later = [past.amount for past in pasts if past.ended.monotonic > ended.monotonic]
        return Delay(ended.plus(seconds), max([*later, self.present], key=extremes.rank))

    def _towards(self, published: Quantity | None, guards: Guards) -> tuple[_Extremes, int]:
        """The extremes and the seconds that hold the way from there to the present amount."""
        if level(self.present) < level(published):
            return self._highs, guards.fall_after.seconds
        return self._lows, guards.rise_after.seconds


class _Extremes:
    """Past amounts, each higher (sign 1) or lower (sign -1) than all after it: no other can be the most of a window."""

    def __init__(self, sign: int) -> None:
        self.sign = sign
        self.pasts: list[Past] = []

    def rank(self, amount: Quantity | None) -> int:
        return self.sign * level(amount)

    def add(self, past: Past) -> None:
        while self.pasts and self.rank(self.pasts[-1].amount) <= self.rank(past.amount):
            self.pasts.pop()
        self.pasts.append(past)

    def within(self, seconds: int, monotonic: float) -> list[Past]:
        """Those of the last so many seconds, the oldest first. No seconds are no window."""
        return [past for past in self.pasts if seconds and past.ended.monotonic + seconds > monotonic]

    def most(self, seconds: int, monotonic: float, present: Quantity | None) -> Quantity | None:
        return max([present, *(past.amount for past in self.within(seconds, monotonic))], key=self.rank)
