"""When an override holds: its times, its time zone and its rule, checked. Pure, but for the files of time zones."""

from __future__ import annotations

import datetime
import functools
import re
import zoneinfo
from typing import Final

from kueue_dqo.api.meta import parse_time
from kueue_dqo.api.parameters import ManualOverride
from providers.manual.expansion import LAST_YEAR
from providers.manual.recurrence import Occurrence, Recurrence, recurrence_of
from providers.manual.rules import RuleError, parse_rule

FIRST_YEAR: Final = 1970

# As the IANA database names them. A directory of zones has other files too: of leap seconds, of the machine's own zone.
_ZONE: Final = re.compile(r"[A-Z][A-Za-z0-9_+-]*(?:/[A-Z][A-Za-z0-9_+-]*)*", re.ASCII)
_SHOWN_TEXT: Final = 60
_KEPT: Final = 4096
"""Schedules: of 128 providers with 32 overrides each."""


class ScheduleError(ValueError):
    """A field of an override is wrong; the message shows the value and the way out."""

    def __init__(self, field: str, problem: str) -> None:
        super().__init__(problem)
        self.field = field


def schedule_of(override: ManualOverride) -> Occurrence | Recurrence:
    """When the override holds.

    Raises:
        ScheduleError: its times, its time zone or its rule make no sense.
    """
    return _schedule(override.begin, override.end, override.recurrence, override.time_zone)


@functools.lru_cache(maxsize=_KEPT)
def _schedule(begin_text: str, end_text: str, recurrence: str | None, time_zone: str) -> Occurrence | Recurrence:
    """Kept, since each look asks for it and to check a rule takes milliseconds."""
    begin, end = _time("begin", begin_text), _time("end", end_text)
    if end <= begin:
        raise ScheduleError("end", f"{end_text} is no later than begin, {begin_text}: let it end after that")
    zone = _zone(time_zone)
    once = Occurrence(begin, end)
    if recurrence is None:
        return once
    try:
        return recurrence_of(once, parse_rule(recurrence), zone)
    except RuleError as error:
        raise ScheduleError("recurrence", str(error)) from None


def _time(field: str, text: str) -> datetime.datetime:
    shown = repr(text[:_SHOWN_TEXT])
    try:
        time = parse_time(text)
    except ValueError:
        raise ScheduleError(
            field, f"{shown} is no time with its offset: write it as 2026-12-01T22:00:00+01:00, or with Z for UTC"
        ) from None
    if not FIRST_YEAR < time.year < LAST_YEAR:  # a day of either year may lie in another one in UTC
        raise ScheduleError(field, f"{shown} is not in the years {FIRST_YEAR + 1} to {LAST_YEAR - 1}")
    if time.microsecond:
        raise ScheduleError(field, f"{shown} has a fraction of a second: write whole seconds")
    return time.astimezone(datetime.UTC)


def _zone(name: str) -> zoneinfo.ZoneInfo:
    try:
        if _ZONE.fullmatch(name):
            return zoneinfo.ZoneInfo(name)
    except (zoneinfo.ZoneInfoNotFoundError, OSError, ValueError):  # no such file, a directory, no zone in it
        pass
    raise ScheduleError(
        "timeZone",
        f"{name[:_SHOWN_TEXT]!r} is no time zone: write a name of the IANA database, such as Europe/Berlin, or UTC",
    )
