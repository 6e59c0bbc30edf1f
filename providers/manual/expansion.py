"""When the occurrences of a rule begin, on the clock on the wall: all times here are without an offset. Pure.

A library expands rules. It searches without limit for what fits, which may be centuries away, so it is asked in steps
in which it always finds something soon; what of that counts is looked at here.
"""

from __future__ import annotations

import datetime
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from dateutil import rrule  # type: ignore[import-untyped]  # it comes without types

from providers.manual.rules import Frequency, Rule

LAST_YEAR: Final = 2999
"""No occurrence begins after it."""

_LAST_MOMENT: Final = datetime.datetime(LAST_YEAR, 12, 31, 23, 59, 59)  # noqa: DTZ001 - on the clock on the wall
_FREQUENCIES: Final = {each: getattr(rrule, each) for each in Frequency}
_PERIODS: Final = {
    Frequency.WEEKLY: datetime.timedelta(weeks=1),
    Frequency.DAILY: datetime.timedelta(days=1),
    Frequency.HOURLY: datetime.timedelta(hours=1),
}
_HOURS_OF_A_DAY: Final = 24
_BEYOND_THE_CALENDAR: Final = 10**8
"""An interval, of months or years, after which no year is left."""


@dataclass(frozen=True, slots=True)
class Expansion:
    """A rule from its first occurrence on."""

    rule: Rule
    begin: datetime.datetime
    """When the first occurrence begins."""
    until: datetime.datetime | None
    """No occurrence begins later; None where the rule names no such time."""

    def begins_by_its_rule(self) -> bool:
        """Whether the first occurrence is one by the rule.

        The library searches until the year 9999 for what never occurs, so it is shown the first month or year alone.
        """
        frequency = Frequency.YEARLY if self.rule.frequency is Frequency.YEARLY else Frequency.MONTHLY
        found = next(self._stepped(self._first_start(frequency), frequency, _BEYOND_THE_CALENDAR), None)
        return found is not None and self.begin in self._that_count(found, frequency)

    def between(self, since: datetime.datetime, horizon: datetime.datetime) -> Iterator[datetime.datetime]:
        """When the occurrences begin that begin at `since` or later.

        Where the rule may go on after `horizon`, that moment comes last, though none may begin then.
        """
        frequency, interval = self._steps()
        start = self._start_near(since, frequency, interval)
        count = 0
        for found in self._stepped(start, frequency, interval):
            if found > min(horizon, _LAST_MOMENT):
                if horizon < _LAST_MOMENT:
                    yield horizon
                return
            for wall in self._that_count(found, frequency):
                if wall >= since:
                    yield wall
                count += 1
                if count == self.rule.count:
                    return

    def _steps(self) -> tuple[Frequency, int]:
        """The frequency and interval that the library steps by; which periods count is looked at afterwards.

        A day that fits both the parts of a rule and its interval may be centuries away, and the library would look at
        each day until then. One that fits the parts alone is within 40 years, and it looks at months or years. That
        long there may be no 29th of February that is a Saturday.
        """
        rule = self.rule
        if rule.frequency is Frequency.YEARLY:
            return Frequency.YEARLY, 1
        if rule.frequency is Frequency.MONTHLY or rule.months or rule.month_days:
            return Frequency.MONTHLY, 1
        return rule.frequency, rule.interval

    def _start_near(self, since: datetime.datetime, frequency: Frequency, interval: int) -> datetime.datetime:
        """The beginning of a step no later than `since`, or that of the first occurrence.

        A rule without COUNT does not depend on what came before; a rule of ten years ago must not be counted through.
        """
        begin = self._first_start(frequency)
        if since <= begin or self.rule.count is not None:
            return begin
        if frequency in _PERIODS:
            step = _PERIODS[frequency] * interval
            return begin + (since - begin) // step * step
        first = since.replace(day=1, hour=0, minute=0, second=0)
        return max(begin, first.replace(month=1) if frequency is Frequency.YEARLY else first)

    def _first_start(self, frequency: Frequency) -> datetime.datetime:
        begin = self.begin
        return begin.replace(hour=0, minute=0) if self._is_by_days(frequency) else begin

    def _is_by_days(self, frequency: Frequency) -> bool:
        """Whether the library is asked for the days alone: to expand all hours of months would be dear."""
        return self.rule.frequency is Frequency.HOURLY and frequency is Frequency.MONTHLY

    def _that_count(self, found: datetime.datetime, frequency: Frequency) -> list[datetime.datetime]:
        """What the library found, or on the day that it found, as far as it lies in periods that count."""
        begin, rule = self.begin, self.rule
        ahead = (_period(rule, begin) - _period(rule, found)) % rule.interval
        if not self._is_by_days(frequency):
            return [] if ahead else [found]
        walls = (
            found.replace(hour=hour, minute=minute)
            for hour in range(ahead, _HOURS_OF_A_DAY, rule.interval)
            if hour in rule.hours or not rule.hours
            for minute in rule.minutes or (begin.minute,)
        )
        return [wall for wall in walls if wall >= begin]

    def _stepped(self, start: datetime.datetime, frequency: Frequency, interval: int) -> Iterator[datetime.datetime]:
        """The rule from `start` on, as the library expands it by such steps, but for COUNT.

        What the rule does not name comes from the first occurrence, as the RFC says.
        """
        rule, begin = self.rule, self.begin
        months, month_days = rule.months, rule.month_days
        days: tuple[Any, ...] = tuple(rrule.weekday(day.weekday, day.nth) for day in rule.days)
        if not (rule.days or rule.month_days or rule.year_days):
            if rule.frequency is Frequency.WEEKLY:
                days = (begin.weekday(),)
            elif rule.frequency in {Frequency.YEARLY, Frequency.MONTHLY}:
                month_days = (begin.day,)
                months = months or ((begin.month,) if rule.frequency is Frequency.YEARLY else ())
            elif frequency is Frequency.MONTHLY:
                days = tuple(range(7))
        hours, minutes = rule.hours, rule.minutes or (begin.minute,)
        if self._is_by_days(frequency):
            hours, minutes = (0,), (0,)
        elif rule.frequency is not Frequency.HOURLY:
            hours = hours or (begin.hour,)
        expanded: Iterator[datetime.datetime] = iter(
            rrule.rrule(
                _FREQUENCIES[frequency],
                dtstart=start,
                interval=interval,
                wkst=rule.week_start,
                until=self.until,
                bysetpos=rule.positions or None,
                bymonth=months or None,
                bymonthday=month_days or None,
                byyearday=rule.year_days or None,
                byweekday=days or None,
                byhour=hours or None,
                byminute=minutes,
                bysecond=begin.second,
            )
        )
        return expanded


def _period(rule: Rule, wall: datetime.datetime) -> int:
    """The number of the year, month, week, day or hour, counted from whenever."""
    match rule.frequency:
        case Frequency.YEARLY:
            return wall.year
        case Frequency.MONTHLY:
            return wall.year * 12 + wall.month
        case Frequency.WEEKLY:
            return (wall.toordinal() - 1 - rule.week_start) // 7  # the first day of the calendar is a Monday
        case Frequency.DAILY:
            return wall.toordinal()
        case Frequency.HOURLY:
            return wall.toordinal() * _HOURS_OF_A_DAY + wall.hour
