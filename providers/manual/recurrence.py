"""When a recurring override holds. Pure.

A rule is expanded on the clock on the wall of its time zone, from the first occurrence as that clock shows it. What
follows keeps its hours, at its end as well, when daylight saving time changes. Which moment the clock means is told by
RFC 5545, section 3.3.5: of a time that comes twice the first, and a time that clocks jump over is read by the offset
before the jump, which is as much later after it.
"""

from __future__ import annotations

import datetime
import functools
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final, NamedTuple
from zoneinfo import ZoneInfo

from dateutil import rrule  # type: ignore[import-untyped]  # it comes without types

from providers.manual.rules import Frequency, Rule, RuleError

LAST_YEAR: Final = 2999
"""No occurrence begins after it."""

_FREQUENCIES: Final = {each: getattr(rrule, each) for each in Frequency}
_PERIODS: Final = {
    Frequency.WEEKLY: datetime.timedelta(weeks=1),
    Frequency.DAILY: datetime.timedelta(days=1),
    Frequency.HOURLY: datetime.timedelta(hours=1),
}
_BEYOND_THE_CALENDAR: Final = 10**8
"""An interval, of whatever periods, after which no year is left."""
_SLACK: Final = datetime.timedelta(days=2)
"""More than any clock was ever set forward or back at once: islands have skipped a day."""
_DAY: Final = datetime.timedelta(days=1)
_AHEAD: Final = datetime.timedelta(days=2 * 366)
"""How far ahead the next occurrence is looked for: it may be centuries away, and a look once a day finds it in time."""
_LAST_MOMENT: Final = datetime.datetime(LAST_YEAR, 12, 31, 23, 59, 59)  # noqa: DTZ001 - on the clock on the wall
_KEPT: Final = 4096
"""Days of overrides whose occurrences are kept: of 128 providers with 32 overrides each."""


class Standing(NamedTuple):
    """Where an override is at one moment. In UTC."""

    until: datetime.datetime | None
    """When the occurrence ends that holds; the latest of several, None where none holds."""
    begins: datetime.datetime | None
    """When the next one begins, or a moment before it where that is years away; None where none follows."""


class Occurrence(NamedTuple):
    """From `begin` until just before `end`, in UTC."""

    begin: datetime.datetime
    end: datetime.datetime

    def standing(self, now: datetime.datetime) -> Standing:
        """Where an override is that holds this once."""
        return Standing(self.end if self.begin <= now < self.end else None, self.begin if now < self.begin else None)


@dataclass(frozen=True, slots=True)
class Recurrence:
    """An override that recurs. Made by `recurrence_of`, which checks it."""

    first: Occurrence
    """As it was written, even where the clock shows that hour twice."""
    rule: Rule
    zone: ZoneInfo

    def standing(self, now: datetime.datetime) -> Standing:
        """Where the override is. Cheap from the second question about a day on."""
        near = _occurrences_near(self, now.astimezone(datetime.UTC).date())
        return Standing(
            max((each.end for each in near if each.begin <= now < each.end), default=None),
            min((each.begin for each in near if each.begin > now), default=None),
        )

    def near(self, day: datetime.date) -> Iterator[Occurrence]:
        """Those that hold or begin on that day in UTC, and the next one; or instead of it a moment before it."""
        midnight = datetime.datetime.combine(day, datetime.time(), datetime.UTC)
        wall = self._wall(midnight)
        horizon = wall + _AHEAD
        follows = False
        for each in self._expand(wall - self.length - _SLACK, horizon):
            if follows and each > wall + _DAY + _SLACK:
                break
            found = self._occurrence(each)
            if each == horizon and found is None:  # clocks may jump over it; it is to be looked at then nevertheless
                found = Occurrence(self._moment(each), self._moment(each) + self.length)
            if found is not None and found.end > midnight:
                yield found
                follows = follows or found.begin >= midnight + _DAY

    @property
    def wall_begin(self) -> datetime.datetime:
        """When the first occurrence begins, on the clock on the wall; so it has no offset."""
        return self._wall(self.first.begin)

    @property
    def length(self) -> datetime.timedelta:
        """How long an occurrence lasts, on the clock on the wall."""
        return self._wall(self.first.end) - self.wall_begin

    def begins_by_its_rule(self) -> bool:
        """Whether the first occurrence is one by the rule.

        The library searches until the year 9999 for what never occurs, so it is shown the first period alone.
        """
        try:
            found = next(self._rule(self.wall_begin, self.rule.frequency, _BEYOND_THE_CALENDAR), None)
        except ValueError:  # no hour of BYHOUR can be reached from this one
            return False
        return found == self.wall_begin

    def second(self) -> datetime.datetime | None:
        """When the second occurrence begins, on the clock on the wall; None where the first one has ended by then."""
        begin, end = self.wall_begin, self.wall_begin + self.length
        return next((each for each in self._expand(begin, end) if begin < each < end), None)

    def _wall(self, moment: datetime.datetime) -> datetime.datetime:
        return moment.astimezone(self.zone).replace(tzinfo=None, fold=0)

    def _moment(self, wall: datetime.datetime) -> datetime.datetime:
        # Without a fold, Python reads clocks as the RFC does.
        return wall.replace(tzinfo=self.zone).astimezone(datetime.UTC)

    def _occurrence(self, wall: datetime.datetime) -> Occurrence | None:
        """None for one that lies in the hour that clocks jump over, and for one after UNTIL."""
        found = self.first
        if wall != self.wall_begin:
            found = Occurrence(self._moment(wall), self._moment(wall + self.length))
        is_over = self.rule.until is not None and found.begin > self.rule.until
        return None if is_over or found.begin >= found.end else found

    def _expand(self, since: datetime.datetime, until: datetime.datetime) -> Iterator[datetime.datetime]:
        """When the occurrences begin that begin at `since` or later, on the clock on the wall.

        Where the rule goes on after `until`, that is the last one.
        """
        begin, rule = self.wall_begin, self.rule
        frequency, interval = self._steps()
        start = begin if rule.count is not None else self._start_near(since, frequency, interval)
        count = 0
        for wall in self._rule(start, frequency, interval):
            if wall > min(until, _LAST_MOMENT):
                if until < _LAST_MOMENT:
                    yield until
                return
            if (_period(rule, wall) - _period(rule, begin)) % rule.interval:
                continue
            if wall >= since:
                yield wall
            count += 1
            if count == rule.count:
                return

    def _steps(self) -> tuple[Frequency, int]:
        """The frequency and interval that the library steps by; which periods count is looked at afterwards.

        It looks at each period until one fits, and has no limit. A day of a month, with a weekday or an interval, may
        come once in centuries of days. Every month of it or year, there is one within 40 years (2072 to 2112), as the
        first occurrence is one.
        """
        rule = self.rule
        if rule.frequency is Frequency.YEARLY:
            return Frequency.YEARLY, 1
        if rule.frequency is Frequency.MONTHLY or rule.months or rule.month_days:
            return Frequency.MONTHLY, 1
        return rule.frequency, rule.interval

    def _start_near(self, since: datetime.datetime, frequency: Frequency, interval: int) -> datetime.datetime:
        """The beginning of a period no later than `since`, in step with the first occurrence, or that one's.

        A rule without COUNT does not depend on what came before; a rule of ten years ago must not be counted through.
        """
        begin = self.wall_begin
        if since <= begin:
            return begin
        if frequency in _PERIODS:
            step = _PERIODS[frequency] * interval
            return begin + (since - begin) // step * step
        first = since.replace(day=1, hour=0, minute=0, second=0)
        return max(begin, first.replace(month=1) if frequency is Frequency.YEARLY else first)

    def _rule(self, start: datetime.datetime, frequency: Frequency, interval: int) -> Iterator[datetime.datetime]:
        """The rule from `start` on, as the library expands it by such steps, but for COUNT.

        What the rule does not name comes from the first occurrence, as the RFC says.
        """
        rule, begin = self.rule, self.wall_begin
        # By the clock on the wall, and a little late: the exact end is looked at for each occurrence.
        until = self._wall(rule.until) + _SLACK if rule.until and rule.until.year <= LAST_YEAR else None
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
        hours = rule.hours or (range(24) if rule.frequency is Frequency.HOURLY else (begin.hour,))
        expanded: Iterator[datetime.datetime] = iter(
            rrule.rrule(
                _FREQUENCIES[frequency],
                dtstart=start,
                interval=interval,
                wkst=rule.week_start,
                until=until,
                bysetpos=rule.positions or None,
                bymonth=months or None,
                bymonthday=month_days or None,
                byyearday=rule.year_days or None,
                byweekday=days or None,
                byhour=hours,
                byminute=rule.minutes or begin.minute,
                bysecond=begin.second,
            )
        )
        return expanded


@functools.lru_cache(maxsize=_KEPT)
def _occurrences_near(recurrence: Recurrence, day: datetime.date) -> tuple[Occurrence, ...]:
    """`Recurrence.near`, kept: a provider may be asked about every second, and each rule takes milliseconds."""
    return tuple(recurrence.near(day))


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
            return wall.toordinal() * 24 + wall.hour


def recurrence_of(first: Occurrence, rule: Rule, zone: ZoneInfo) -> Recurrence:
    """The override that recurs by the rule.

    Raises:
        RuleError: it never occurs, its first occurrence is none by the rule, or ends only after the next has begun.
    """
    recurrence = Recurrence(first, rule, zone)
    begin = f"{recurrence.wall_begin:%Y-%m-%dT%H:%M:%S} ({recurrence.wall_begin:%A}) in {zone.key}"
    if rule.until is not None and rule.until < first.begin:
        raise RuleError(f"UNTIL is before begin, which is {first.begin:%Y%m%dT%H%M%SZ}, so it never occurs")
    if not recurrence.begins_by_its_rule():
        raise RuleError(f"begin, {begin}, is no occurrence of it: let begin be the first one, or change the rule")
    if recurrence.length <= datetime.timedelta():
        raise RuleError(
            f"end is no later than begin, {begin}, on the clock of that time zone, so that it has no length there: "
            "let the first occurrence be one in which no clock is set back, or name the time zone UTC"
        )
    second = recurrence.second()
    if second is not None and second < recurrence.wall_begin + recurrence.length:
        raise RuleError(
            f"the next occurrence begins at {second:%Y-%m-%dT%H:%M:%S} in {zone.key}, before the first one ends: "
            "end is the end of the first occurrence; what ends them all is UNTIL in the rule"
        )
    return recurrence
