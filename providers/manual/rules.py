"""The rules that an override may repeat by: RRULE of RFC 5545, section 3.3.10. Pure.

The form of a rule is checked with all other parameters; here it is given its meaning. What the RFC leaves open, or the
library that expands rules reads in another way, is refused, so that a rule means the same here as in a calendar.
"""

from __future__ import annotations

import datetime
import enum
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, NamedTuple

from kueue_dqo.api.recurrences import problems_of_recurrence

MOST_A_DAY: Final = 24
"""Times of a day that BYHOUR and BYMINUTE name together."""

_HOURS_OF_A_DAY: Final = 24
_DAYS_OF_A_YEAR: Final = 366
_WEEKDAYS: Final = ("MO", "TU", "WE", "TH", "FR", "SA", "SU")


class RuleError(ValueError):
    """The rule is none that an override can repeat by; the message shows the part, its value and the way out."""


class Frequency(enum.StrEnum):
    """How long a period of a rule is; every `interval`-th one counts."""

    YEARLY = "YEARLY"
    MONTHLY = "MONTHLY"
    WEEKLY = "WEEKLY"
    DAILY = "DAILY"
    HOURLY = "HOURLY"


_LONG: Final = (Frequency.YEARLY, Frequency.MONTHLY)


class Day(NamedTuple):
    """A weekday (0 is Monday), and which one of its month or year: 1 the first, -1 the last, None every one."""

    weekday: int
    nth: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """A rule that was read. Empty parts are those that it does not have."""

    frequency: Frequency
    interval: int
    count: int | None
    until: datetime.datetime | None
    """UTC; the last occurrence begins no later."""
    week_start: int
    """0 is Monday."""
    days: tuple[Day, ...]
    months: tuple[int, ...]
    month_days: tuple[int, ...]
    """Negative ones count from the end of the month."""
    year_days: tuple[int, ...]
    hours: tuple[int, ...]
    minutes: tuple[int, ...]
    positions: tuple[int, ...]
    """Which of all the occurrences of a period; negative ones count from its end."""


_GOES_WITH: Final = {
    "BYMONTHDAY": tuple(each for each in Frequency if each is not Frequency.WEEKLY),
    "BYYEARDAY": (Frequency.YEARLY,),
    "BYSETPOS": _LONG,
}
"""Frequencies of some parts, by the RFC's table; BYSETPOS chooses from a set, which a day or a week hardly is."""


def parse_rule(text: str) -> Rule:
    """The rule that a text such as `FREQ=WEEKLY;BYDAY=MO,TU` means.

    Raises:
        RuleError: it is no rule, or one of those that are not taken.
    """
    malformed = [each.problem for each in problems_of_recurrence("recurrence", text)]
    if malformed:
        raise RuleError("; ".join(malformed))
    parts = dict(part.split("=") for part in text.split(";"))
    frequency = Frequency(parts["FREQ"])
    _check_parts(parts, frequency)
    hours, minutes = _numbers(parts, "BYHOUR"), _numbers(parts, "BYMINUTE")
    all_hours = _HOURS_OF_A_DAY if frequency is Frequency.HOURLY else 1
    times = (len(hours) or all_hours) * (len(minutes) or 1)
    if times > MOST_A_DAY:
        raise RuleError(f"it names {times} times of a day by hours and minutes; at most {MOST_A_DAY} are allowed")
    return Rule(
        frequency=frequency,
        interval=int(parts.get("INTERVAL", "1")),
        count=int(parts["COUNT"]) if "COUNT" in parts else None,
        until=_until(parts["UNTIL"]) if "UNTIL" in parts else None,
        week_start=_WEEKDAYS.index(parts.get("WKST", "MO")),
        days=_days(parts, frequency) if "BYDAY" in parts else (),
        months=_numbers(parts, "BYMONTH"),
        month_days=_numbers(parts, "BYMONTHDAY"),
        year_days=_numbers(parts, "BYYEARDAY", _DAYS_OF_A_YEAR),
        hours=hours,
        minutes=minutes,
        positions=_numbers(parts, "BYSETPOS", _DAYS_OF_A_YEAR),
    )


def _check_parts(parts: Mapping[str, str], frequency: Frequency) -> None:
    for name, frequencies in _GOES_WITH.items():
        if name in parts and frequency not in frequencies:
            raise RuleError(f"{name} does not go with FREQ={frequency}, only with {', '.join(frequencies)}")
    if "BYSETPOS" in parts and not any(name.startswith("BY") for name in parts if name != "BYSETPOS"):
        raise RuleError("BYSETPOS chooses among what another part names: add one such as BYDAY, or take it out")


def _until(text: str) -> datetime.datetime:
    try:
        return datetime.datetime.strptime(text, "%Y%m%dT%H%M%SZ").replace(tzinfo=datetime.UTC)
    except ValueError:
        raise RuleError(f"UNTIL={text} is no date and time: write it as 20261231T230000Z") from None


def _numbers(parts: Mapping[str, str], name: str, most: int | None = None) -> tuple[int, ...]:
    numbers = sorted({int(text) for text in parts[name].split(",")} if name in parts else ())
    for number in numbers:
        if most is not None and abs(number) > most:
            raise RuleError(f"{name}={number} is beyond {most}: write 1 to {most}, or -1 to -{most}")
    return tuple(numbers)


def _days(parts: Mapping[str, str], frequency: Frequency) -> tuple[Day, ...]:
    text = parts["BYDAY"]
    # With BYMONTH, days of a yearly rule are counted within the month as well.
    most = 5 if frequency is Frequency.MONTHLY or "BYMONTH" in parts else 53
    days: dict[Day, None] = {}
    for each in text.split(","):
        nth = int(each[:-2]) if each[:-2] else None
        if nth is not None and frequency not in _LONG:
            raise RuleError(f"BYDAY={each} has a number, which goes only with FREQ={' or FREQ='.join(_LONG)}")
        if nth is not None and abs(nth) > most:
            raise RuleError(f"BYDAY={each} counts beyond {most}: write 1 to {most}, or -1 to -{most}")
        days[Day(_WEEKDAYS.index(each[-2:]), nth)] = None
    if len({day.nth is None for day in days}) > 1:
        raise RuleError(f"BYDAY={text} mixes days with and without a number: write two overrides")
    return tuple(days)
