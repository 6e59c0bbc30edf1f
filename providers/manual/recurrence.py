"""When a recurring override holds. Pure.

A rule is expanded on the clock on the wall of its time zone, from the first occurrence as that clock shows it. What
follows keeps its hours, at its end as well, when daylight saving time changes. Which moment the clock means is told by
RFC 5545, section 3.3.5: of a time that comes twice the first, and a time that clocks jump over is read by the offset
before the jump, which is as much later after it.
"""

from __future__ import annotations

import datetime
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


class Standing(NamedTuple):
    """Where an override is at one moment. In UTC."""

    until: datetime.datetime | None
    """When the occurrence ends that holds; the latest of several, None where none holds."""
    begins: datetime.datetime | None
    """When the next one begins; None where none follows."""


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
        """Where the override is."""
        wall = self._wall(now)
        ends: list[datetime.datetime] = []
        begins: list[datetime.datetime] = []
        for each in self._expand(wall - self.length - _SLACK):
            if begins and each > wall + _SLACK:
                break
            found = self._occurrence(each)
            if found is None:
                continue
            if found.begin > now:
                begins.append(found.begin)
            elif found.end > now:
                ends.append(found.end)
        return Standing(max(ends, default=None), min(begins, default=None))

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

        The library searches until the year 9999 for what never occurs, so it is shown the first period alone. From
        an occurrence on, the next one is no more than 400 years of periods away: the calendar repeats then.
        """
        try:
            found = next(self._rule(self.wall_begin, _BEYOND_THE_CALENDAR), None)
        except ValueError:  # no hour of BYHOUR can be reached from this one
            return False
        return found == self.wall_begin

    def second(self) -> datetime.datetime | None:
        """When the second occurrence begins, on the clock on the wall; None where there is none."""
        return next((each for each in self._expand(self.wall_begin) if each > self.wall_begin), None)

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

    def _expand(self, since: datetime.datetime) -> Iterator[datetime.datetime]:
        """When the occurrences begin that begin at `since` or later, on the clock on the wall."""
        start = self.wall_begin if self.rule.count is not None else self._start_near(since)
        for wall in self._rule(start, self.rule.interval):
            if wall.year > LAST_YEAR:
                return
            if wall >= since:
                yield wall

    def _start_near(self, since: datetime.datetime) -> datetime.datetime:
        """The last beginning of a period that counts, no later than `since`, or that of the first occurrence.

        A rule without COUNT does not depend on what came before; a rule of ten years ago must not be counted through.
        """
        begin, interval = self.wall_begin, self.rule.interval
        midnight = begin.replace(hour=0, minute=0, second=0)
        if since <= begin:
            return begin
        if self.rule.frequency is Frequency.YEARLY:
            periods = (since.year - begin.year) // interval
            return midnight.replace(year=begin.year + periods * interval, month=1, day=1) if periods else begin
        if self.rule.frequency is Frequency.MONTHLY:
            month = begin.year * 12 + begin.month - 1
            periods = (since.year * 12 + since.month - 1 - month) // interval
            year, month = divmod(month + periods * interval, 12)
            return midnight.replace(year=year, month=month + 1, day=1) if periods else begin
        step = _PERIODS[self.rule.frequency] * interval
        return begin + (since - begin) // step * step

    def _rule(self, start: datetime.datetime, interval: int) -> Iterator[datetime.datetime]:
        """The rule from `start` on, as the library expands it.

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
        hours = rule.hours or (() if rule.frequency is Frequency.HOURLY else (begin.hour,))
        expanded: Iterator[datetime.datetime] = iter(
            rrule.rrule(
                _FREQUENCIES[rule.frequency],
                dtstart=start,
                interval=interval,
                wkst=rule.week_start,
                count=rule.count,
                until=until,
                bysetpos=rule.positions or None,
                bymonth=months or None,
                bymonthday=month_days or None,
                byyearday=rule.year_days or None,
                byweekday=days or None,
                byhour=hours or None,
                byminute=rule.minutes or begin.minute,
                bysecond=begin.second,
            )
        )
        return expanded


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
