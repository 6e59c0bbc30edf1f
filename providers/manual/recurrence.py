"""When a recurring override holds. Pure.

A rule is expanded on the clock on the wall of its time zone (`expansion.py`), from the first occurrence as that clock
shows it. What follows keeps its hours, at its end as well, when daylight saving time changes. Which moment the clock
means is told by RFC 5545, section 3.3.5: of a time that comes twice the first, and a time that clocks jump over is read
by the offset before the jump, which is as much later after it.
"""

from __future__ import annotations

import datetime
import functools
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, NamedTuple
from zoneinfo import ZoneInfo

from providers.manual.expansion import LAST_YEAR, Expansion
from providers.manual.rules import Rule, RuleError

_SLACK: Final = datetime.timedelta(days=2)
"""More than any clock was ever set forward or back at once: islands have skipped a day."""
_DAY: Final = datetime.timedelta(days=1)
_AHEAD: Final = datetime.timedelta(days=2 * 366)
"""How far ahead the next occurrence is looked for: it may be centuries away, and a look once a day finds it in time."""
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
        for each in self.expansion.between(wall - self.length - _SLACK, horizon):
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

    @property
    def expansion(self) -> Expansion:
        """When its occurrences begin, on the clock on the wall."""
        until = self.rule.until
        # A little late: the exact end is looked at for each occurrence.
        wall_until = self._wall(until) + _SLACK if until is not None and until.year <= LAST_YEAR else None
        return Expansion(self.rule, self.wall_begin, wall_until)

    def second(self) -> datetime.datetime | None:
        """When the second occurrence begins, on the clock on the wall; None where the first one has ended by then."""
        begin, end = self.wall_begin, self.wall_begin + self.length
        return next((each for each in self.expansion.between(begin, end) if begin < each < end), None)

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


@functools.lru_cache(maxsize=_KEPT)
def _occurrences_near(recurrence: Recurrence, day: datetime.date) -> tuple[Occurrence, ...]:
    """`Recurrence.near`, kept: a provider may be asked about every second, and each rule takes milliseconds."""
    return tuple(recurrence.near(day))


def recurrence_of(first: Occurrence, rule: Rule, zone: ZoneInfo) -> Recurrence:
    """The override that recurs by the rule.

    Raises:
        RuleError: it never occurs, its first occurrence is none by the rule, or ends only after the next has begun.
    """
    recurrence = Recurrence(first, rule, zone)
    begin = f"{recurrence.wall_begin:%Y-%m-%dT%H:%M:%S} ({recurrence.wall_begin:%A}) in {zone.key}"
    if rule.until is not None and rule.until < first.begin:
        raise RuleError(f"UNTIL is before begin, which is {first.begin:%Y%m%dT%H%M%SZ}, so it never occurs")
    if not recurrence.expansion.begins_by_its_rule():
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
