"""When an override holds, worked out hour by hour: slow, plain, and sharing no code with what it checks."""

from __future__ import annotations

import calendar
import datetime
import zoneinfo
from collections.abc import Iterator

from kueue_dqo.api.parameters import ManualOverride

WEEKDAYS = ["MO", "TU", "WE", "TH", "FR", "SA", "SU"]
DAY = datetime.timedelta(days=1)


def moment(wall: datetime.datetime, zone: zoneinfo.ZoneInfo) -> datetime.datetime:
    """Of the moments that the clock shows this time at, the first; else by the offset of the day before."""
    offsets = {
        offset
        for distance in (-DAY, datetime.timedelta(), DAY)
        for fold in (0, 1)
        if (offset := (wall + distance).replace(tzinfo=zone, fold=fold).utcoffset()) is not None
    }
    utc = wall.replace(tzinfo=datetime.UTC)
    meant = [utc - offset for offset in offsets if (utc - offset).astimezone(zone).replace(tzinfo=None) == wall]
    if meant:
        return min(meant)
    before = (wall - DAY).replace(tzinfo=zone).utcoffset()
    assert before is not None
    return utc - before


def numbers(parts: dict[str, str], name: str) -> list[int]:
    return [int(text) for text in parts.get(name, "").split(",") if text]


def period(parts: dict[str, str], wall: datetime.datetime) -> int:
    """The number of the period that the time lies in."""
    day = wall.toordinal()
    return {
        "YEARLY": wall.year,
        "MONTHLY": wall.year * 12 + wall.month,
        # Day 1 of the calendar was a Monday.
        "WEEKLY": (day - 1 - WEEKDAYS.index(parts.get("WKST", "MO"))) // 7,
        "DAILY": day,
        "HOURLY": day * 24 + wall.hour,
    }[parts["FREQ"]]


def is_nth(text: str, parts: dict[str, str], day: datetime.date) -> bool:
    """Whether the day is the weekday that an entry of BYDAY names."""
    if WEEKDAYS[day.weekday()] != text[-2:]:
        return False
    if not text[:-2]:
        return True
    if parts["FREQ"] == "MONTHLY" or "BYMONTH" in parts:
        within, length = day.day, calendar.monthrange(day.year, day.month)[1]
    else:
        within, length = day.timetuple().tm_yday, 365 + calendar.isleap(day.year)
    return int(text[:-2]) in {(within - 1) // 7 + 1, -((length - within) // 7 + 1)}


def is_a_day(parts: dict[str, str], begin: datetime.datetime, day: datetime.date) -> bool:
    in_month = calendar.monthrange(day.year, day.month)[1]
    in_year = 365 + calendar.isleap(day.year)
    year_day = day.timetuple().tm_yday
    named = [name for name in ("BYDAY", "BYMONTHDAY", "BYYEARDAY") if name in parts]
    if parts["FREQ"] == "YEARLY" and not named and "BYMONTH" not in parts and day.month != begin.month:
        return False
    if parts["FREQ"] in {"YEARLY", "MONTHLY"} and not named and day.day != begin.day:
        return False
    if parts["FREQ"] == "WEEKLY" and not named and day.weekday() != begin.weekday():
        return False
    return (
        ("BYMONTH" not in parts or day.month in numbers(parts, "BYMONTH"))
        and ("BYMONTHDAY" not in parts or bool({day.day, day.day - in_month - 1} & {*numbers(parts, "BYMONTHDAY")}))
        and ("BYYEARDAY" not in parts or bool({year_day, year_day - in_year - 1} & {*numbers(parts, "BYYEARDAY")}))
        and ("BYDAY" not in parts or any(is_nth(text, parts, day) for text in parts["BYDAY"].split(",")))
    )


def clock_times(
    parts: dict[str, str], begin: datetime.datetime, last: datetime.datetime
) -> Iterator[datetime.datetime]:
    """What the rule gives on the clock on the wall, from `begin` to the end of the period of `last`."""
    every_hour = list(range(24)) if parts["FREQ"] == "HOURLY" else [begin.hour]
    hours = numbers(parts, "BYHOUR") or every_hour
    minutes = numbers(parts, "BYMINUTE") or [begin.minute]
    first, interval = period(parts, begin), int(parts.get("INTERVAL", "1"))
    sets: dict[int, list[datetime.datetime]] = {}
    day = begin.date().replace(month=1, day=1) - 7 * DAY
    while day <= last.date().replace(month=12, day=31):
        if is_a_day(parts, begin, day):
            for hour in sorted(set(hours)):
                for minute in sorted(set(minutes)):
                    wall = datetime.datetime.combine(day, datetime.time(hour, minute, begin.second))
                    number = period(parts, wall)
                    if number >= first and (number - first) % interval == 0:
                        sets.setdefault(number, []).append(wall)
        day += DAY
    left = int(parts.get("COUNT", "1000000"))
    for _, found in sorted(sets.items()):
        chosen = found
        if "BYSETPOS" in parts:
            positions = numbers(parts, "BYSETPOS")
            chosen = [each for n, each in enumerate(found) if n + 1 in positions or n - len(found) in positions]
        for wall in chosen:
            if wall >= begin and left > 0:
                left -= 1
                yield wall


def spans(override: ManualOverride, last: datetime.datetime) -> list[tuple[datetime.datetime, datetime.datetime]]:
    """Every occurrence that begins until some time after `last`, if the first one is one by the rule."""
    begin, end = (datetime.datetime.fromisoformat(text) for text in (override.begin, override.end))
    if override.recurrence is None:
        return [(begin, end)]
    zone = zoneinfo.ZoneInfo(override.time_zone)
    parts = dict(part.split("=") for part in override.recurrence.split(";"))
    wall_begin, wall_end = (each.astimezone(zone).replace(tzinfo=None) for each in (begin, end))
    walls = list(clock_times(parts, wall_begin, last.astimezone(zone).replace(tzinfo=None) + 3 * DAY))
    if not walls or walls[0] != wall_begin or wall_end <= wall_begin:
        return []
    if len(walls) > 1 and walls[1] - walls[0] < wall_end - wall_begin:
        return []
    found = [(begin, end)]
    found += [(moment(wall, zone), moment(wall + (wall_end - wall_begin), zone)) for wall in walls[1:]]
    if "UNTIL" in parts:
        until = datetime.datetime.strptime(parts["UNTIL"], "%Y%m%dT%H%M%SZ").replace(tzinfo=datetime.UTC)
        found = [each for each in found if each[0] <= until]
    return [each for each in found if each[0] < each[1]]
