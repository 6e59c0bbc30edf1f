"""When an override holds: once or again and again, through changes of the clock, and what makes no sense."""

from __future__ import annotations

import datetime
import sys
from collections.abc import Callable, Iterator

import pytest
from dateutil import rrule  # type: ignore[import-untyped]  # it comes without types

from kueue_dqo.api.parameters import ManualOverride
from providers.manual.recurrence import Standing
from providers.manual.schedule import ScheduleError, schedule_of

BERLIN = "Europe/Berlin"
NEW_YORK = "America/New_York"
LORD_HOWE = "Australia/Lord_Howe"
APIA = "Pacific/Apia"


def override(begin: str, end: str, recurrence: str | None = None, time_zone: str = "UTC") -> ManualOverride:
    return ManualOverride("night-shift", begin, end, (), recurrence, time_zone)


def at(text: str) -> datetime.datetime:
    return datetime.datetime.fromisoformat(text).astimezone(datetime.UTC)


def standing(each: ManualOverride, now: str) -> Standing:
    return schedule_of(each).standing(at(now))


def occurrences(each: ManualOverride, since: str, count: int) -> list[tuple[str, str]]:
    """The next ones, found as a daemon finds them: by looking again at each boundary."""
    schedule, now = schedule_of(each), at(since)
    found: list[tuple[str, str]] = []
    while len(found) < count:
        until, begins = schedule.standing(now)
        if until is None:
            if begins is None:
                break
            now = begins
            continue
        found.append((f"{now:%Y-%m-%dT%H:%MZ}", f"{until:%Y-%m-%dT%H:%MZ}"))
        now = until
    return found


# --- once ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("now", "until", "begins"),
    [
        ("2026-12-01T20:59:59.999999Z", None, "2026-12-01T21:00:00Z"),
        ("2026-12-01T21:00:00Z", "2026-12-02T05:00:00Z", None),
        ("2026-12-02T04:59:59.999999Z", "2026-12-02T05:00:00Z", None),
        ("2026-12-02T05:00:00Z", None, None),
    ],
)
def test_begin_belongs_to_an_override_and_end_does_not(now: str, until: str | None, begins: str | None) -> None:
    """Times with different offsets are the moments that they mean."""
    once = override("2026-12-01T22:00:00+01:00", "2026-12-02T00:00:00-05:00")
    assert standing(once, now) == (at(until) if until else None, at(begins) if begins else None)


# --- again and again -----------------------------------------------------------------------------------------------


def test_an_occurrence_keeps_its_hours_when_daylight_saving_time_ends() -> None:
    """22:00 to 06:00 in Berlin, through the longest night of the year."""
    nights = override("2026-10-23T22:00:00+02:00", "2026-10-24T06:00:00+02:00", "FREQ=DAILY", BERLIN)
    assert occurrences(nights, "2026-10-23T12:00:00Z", 3) == [
        ("2026-10-23T20:00Z", "2026-10-24T04:00Z"),
        ("2026-10-24T20:00Z", "2026-10-25T05:00Z"),
        ("2026-10-25T21:00Z", "2026-10-26T05:00Z"),
    ]


def test_an_occurrence_keeps_its_hours_when_daylight_saving_time_begins() -> None:
    """22:00 to 06:00 in New York, through the shortest night of the year."""
    nights = override("2026-03-06T22:00:00-05:00", "2026-03-07T06:00:00-05:00", "FREQ=DAILY", NEW_YORK)
    assert occurrences(nights, "2026-03-06T12:00:00Z", 3) == [
        ("2026-03-07T03:00Z", "2026-03-07T11:00Z"),
        ("2026-03-08T03:00Z", "2026-03-08T10:00Z"),
        ("2026-03-09T02:00Z", "2026-03-09T10:00Z"),
    ]


def test_clocks_may_be_set_by_half_an_hour() -> None:
    """Lord Howe Island: from +10:30 to +11:00 in October, and back in April."""
    days = override("2026-10-03T08:00:00+10:30", "2026-10-03T18:00:00+10:30", "FREQ=DAILY", LORD_HOWE)
    assert occurrences(days, "2026-10-02T12:00:00Z", 2) == [
        ("2026-10-02T21:30Z", "2026-10-03T07:30Z"),
        ("2026-10-03T21:00Z", "2026-10-04T07:00Z"),
    ]


@pytest.mark.parametrize(
    ("each", "day", "expected"),
    [
        pytest.param(
            override("2026-03-28T02:30:00+01:00", "2026-03-28T05:00:00+01:00", "FREQ=DAILY", BERLIN),
            "2026-03-28T12:00:00Z",
            ("2026-03-29T01:30Z", "2026-03-29T03:00Z"),
            id="Berlin jumps from 02:00 to 03:00: 02:30 is 03:30",
        ),
        pytest.param(
            override("2026-03-07T00:00:00-05:00", "2026-03-07T02:30:00-05:00", "FREQ=DAILY", NEW_YORK),
            "2026-03-07T12:00:00Z",
            ("2026-03-08T05:00Z", "2026-03-08T07:30Z"),
            id="New York jumps from 02:00 to 03:00: until 02:30 is until 03:30",
        ),
        pytest.param(
            override("2026-10-03T02:15:00+10:30", "2026-10-03T04:00:00+10:30", "FREQ=DAILY", LORD_HOWE),
            "2026-10-03T06:00:00Z",
            ("2026-10-03T15:45Z", "2026-10-03T17:00Z"),
            id="Lord Howe jumps from 02:00 to 02:30: 02:15 is 02:45",
        ),
    ],
)
def test_a_time_that_clocks_jump_over_is_as_much_later(each: ManualOverride, day: str, expected: object) -> None:
    """It is read by the offset before the jump (RFC 5545, section 3.3.5)."""
    assert occurrences(each, day, 1) == [expected]


@pytest.mark.parametrize(
    ("each", "day", "expected"),
    [
        pytest.param(
            override("2026-10-24T02:30:00+02:00", "2026-10-24T02:45:00+02:00", "FREQ=DAILY", BERLIN),
            "2026-10-24T12:00:00Z",
            [("2026-10-25T00:30Z", "2026-10-25T00:45Z"), ("2026-10-26T01:30Z", "2026-10-26T01:45Z")],
            id="Berlin has 02:30 twice",
        ),
        pytest.param(
            override("2026-10-31T01:30:00-04:00", "2026-10-31T04:00:00-04:00", "FREQ=DAILY", NEW_YORK),
            "2026-10-31T12:00:00Z",
            [("2026-11-01T05:30Z", "2026-11-01T09:00Z"), ("2026-11-02T06:30Z", "2026-11-02T09:00Z")],
            id="New York has 01:30 twice",
        ),
        pytest.param(
            override("2026-04-04T01:45:00+11:00", "2026-04-04T03:00:00+11:00", "FREQ=DAILY", LORD_HOWE),
            "2026-04-04T06:00:00Z",
            [("2026-04-04T14:45Z", "2026-04-04T16:30Z"), ("2026-04-05T15:15Z", "2026-04-05T16:30Z")],
            id="Lord Howe has 01:45 twice",
        ),
    ],
)
def test_of_a_time_that_comes_twice_the_first_is_meant(each: ManualOverride, day: str, expected: object) -> None:
    """So such an hour makes one occurrence, not two (RFC 5545, section 3.3.5)."""
    assert occurrences(each, day, 2) == expected


def test_an_occurrence_within_the_hour_that_clocks_jump_over_is_left_out() -> None:
    """From 02:00 to 03:00 there is nothing on that day."""
    hour = override("2026-03-28T02:00:00+01:00", "2026-03-28T03:00:00+01:00", "FREQ=DAILY", BERLIN)
    assert occurrences(hour, "2026-03-28T12:00:00Z", 1) == [("2026-03-30T00:00Z", "2026-03-30T01:00Z")]
    assert standing(hour, "2026-03-28T12:00:00Z") == (None, at("2026-03-30T00:00:00Z"))


def test_the_first_occurrence_is_the_moment_that_is_written_even_in_the_second_of_two_hours() -> None:
    """With its offset, 02:30 is not ambiguous."""
    second = override("2026-10-25T02:30:00+01:00", "2026-10-25T02:45:00+01:00", "FREQ=DAILY", BERLIN)
    assert occurrences(second, "2026-10-24T12:00:00Z", 2) == [
        ("2026-10-25T01:30Z", "2026-10-25T01:45Z"),
        ("2026-10-26T01:30Z", "2026-10-26T01:45Z"),
    ]


def test_a_day_that_a_time_zone_skipped_is_no_obstacle() -> None:
    """Samoa went from the 29th to the 31st of December 2011; the night of the 29th ends on the 31st."""
    nights = override("2011-12-28T20:00:00-10:00", "2011-12-29T04:00:00-10:00", "FREQ=DAILY", APIA)
    found = occurrences(nights, "2011-12-29T20:00:00Z", 2)
    assert found == [("2011-12-30T06:00Z", "2011-12-30T14:00Z"), ("2011-12-31T06:00Z", "2011-12-31T14:00Z")]


def test_until_is_a_moment_and_belongs_to_the_rule() -> None:
    """Exactly so, although the same clock time comes twice on that day."""
    for until, last in (
        ("20261025T003000Z", "2026-10-25T00:30Z"),
        ("20261025T002959Z", "2026-10-24T00:30Z"),
        ("20261025T010000Z", "2026-10-25T00:30Z"),
        ("20261026T013000Z", "2026-10-26T01:30Z"),
    ):
        rule = f"FREQ=DAILY;UNTIL={until}"
        each = override("2026-10-20T02:30:00+02:00", "2026-10-20T02:45:00+02:00", rule, BERLIN)
        assert occurrences(each, "2026-10-20T00:00:00Z", 99)[-1][0] == last


def test_a_rule_that_is_exhausted_is_over() -> None:
    """By COUNT and by UNTIL; it is no mistake to leave it there."""
    for end in ("COUNT=2", "UNTIL=20261202T220000Z"):
        each = override("2026-12-01T22:00:00Z", "2026-12-02T06:00:00Z", f"FREQ=DAILY;{end}")
        assert len(occurrences(each, "2026-11-01T00:00:00Z", 99)) == 2
        assert standing(each, "2036-12-03T06:00:00Z") == (None, None)


@pytest.mark.parametrize(
    ("rule", "begin", "expected"),
    [
        ("FREQ=WEEKLY;BYDAY=MO,WE", "2026-11-30T08:00", ["2026-11-30", "2026-12-02", "2026-12-07"]),
        ("FREQ=WEEKLY", "2026-12-02T08:00", ["2026-12-02", "2026-12-09", "2026-12-16"]),
        # The RFC's own example of what WKST changes.
        ("FREQ=WEEKLY;INTERVAL=2;BYDAY=TU,SU;WKST=MO", "1997-08-05T09:00", ["1997-08-05", "1997-08-10", "1997-08-19"]),
        ("FREQ=WEEKLY;INTERVAL=2;BYDAY=TU,SU;WKST=SU", "1997-08-05T09:00", ["1997-08-05", "1997-08-17", "1997-08-19"]),
        ("FREQ=MONTHLY", "2026-10-31T08:00", ["2026-10-31", "2026-12-31", "2027-01-31"]),
        ("FREQ=MONTHLY;BYDAY=-1FR", "2026-11-27T08:00", ["2026-11-27", "2026-12-25", "2027-01-29"]),
        ("FREQ=MONTHLY;BYDAY=FR;BYMONTHDAY=13", "2026-11-13T08:00", ["2026-11-13", "2027-08-13", "2028-10-13"]),
        (
            "FREQ=MONTHLY;BYDAY=MO,TU,WE,TH,FR;BYSETPOS=-1",
            "2026-10-30T08:00",
            ["2026-10-30", "2026-11-30", "2026-12-31"],
        ),
        ("FREQ=MONTHLY;INTERVAL=5;BYMONTHDAY=-1", "2026-09-30T08:00", ["2026-09-30", "2027-02-28", "2027-07-31"]),
        ("FREQ=YEARLY", "2024-02-29T08:00", ["2024-02-29", "2028-02-29", "2032-02-29"]),
        ("FREQ=YEARLY;BYMONTH=1;BYDAY=1MO", "2026-01-05T08:00", ["2026-01-05", "2027-01-04", "2028-01-03"]),
        ("FREQ=YEARLY;BYDAY=20MO", "1997-05-19T09:00", ["1997-05-19", "1998-05-18", "1999-05-17"]),
        ("FREQ=YEARLY;BYYEARDAY=-1", "2026-12-31T08:00", ["2026-12-31", "2027-12-31", "2028-12-31"]),
        ("FREQ=DAILY;INTERVAL=100", "2026-01-01T08:00", ["2026-01-01", "2026-04-11", "2026-07-20"]),
    ],
)
def test_rules_mean_what_the_rfc_says(rule: str, begin: str, expected: list[str]) -> None:
    """Also where the look is years after the beginning, so that not all is counted through."""
    each = override(f"{begin}:00Z", f"{begin.replace(':00', ':30')}:00Z", rule)
    assert [found[0][:10] for found in occurrences(each, f"{begin}:00Z", 3)] == expected
    late = f"{expected[2]}T00:00:00Z"
    assert [found[0][:10] for found in occurrences(each, late, 1)] == expected[2:]


# --- what makes no sense -------------------------------------------------------------------------------------------

BEGIN, END = "2026-12-01T22:00:00Z", "2026-12-02T06:00:00Z"


@pytest.mark.parametrize(
    ("each", "field", "told"),
    [
        (override(BEGIN, BEGIN), "end", [BEGIN, "begin"]),
        (override(END, BEGIN), "end", [BEGIN, END]),
        (override("2026-12-01T23:00:00+01:00", BEGIN), "end", [BEGIN]),
        (override("2026-12-01", END), "begin", ["'2026-12-01'", "offset"]),
        (override("2026-12-01T22:00:00", END), "begin", ["'2026-12-01T22:00:00'", "offset"]),
        (override("2026-02-30T22:00:00Z", END), "begin", ["'2026-02-30T22:00:00Z'"]),
        (override(BEGIN, "2026-12-02T24:00:00Z"), "end", ["'2026-12-02T24:00:00Z'"]),
        (override(BEGIN, "2026-12-02T06:00:00+99:00"), "end", ["+99:00"]),
        (override(BEGIN, "2026-12-02T06:00:00.5Z"), "end", ["06:00:00.5Z", "whole seconds"]),
        (override("0001-01-01T00:00:00+14:00", END), "begin", ["0001", "1971"]),
        (override(BEGIN, "9999-12-31T23:59:59-12:00"), "end", ["9999", "2998"]),
        (override(BEGIN, END, None, "Europe/Atlantis"), "timeZone", ["'Europe/Atlantis'", "Europe/Berlin"]),
        (override(BEGIN, END, None, "Europe"), "timeZone", ["'Europe'"]),
        (override(BEGIN, END, None, ""), "timeZone", ["''"]),
        (override(BEGIN, END, None, "../etc/passwd"), "timeZone", ["'../etc/passwd'"]),
        (override(BEGIN, END, None, "/etc/localtime"), "timeZone", ["'/etc/localtime'"]),
        # Its clock counts leap seconds, and is 27 seconds behind.
        (override(BEGIN, END, None, "right/UTC"), "timeZone", ["'right/UTC'"]),
        (override(BEGIN, END, None, "localtime"), "timeZone", ["'localtime'"]),
        (override(BEGIN, END, "FREQ=MINUTELY"), "recurrence", ["MINUTELY"]),
        (override(BEGIN, END, "FREQ=DAILY;UNTIL=20261201T215959Z"), "recurrence", ["UNTIL", "20261201T220000Z"]),
        (override(BEGIN, END, "FREQ=WEEKLY;BYDAY=MO"), "recurrence", ["2026-12-01T22:00:00 (Tuesday) in UTC", "begin"]),
        (override(BEGIN, END, "FREQ=WEEKLY;BYDAY=TU", "Asia/Tokyo"), "recurrence", ["2026-12-02T07:00:00 (Wednesday)"]),
        (override(BEGIN, END, "FREQ=DAILY;BYHOUR=20"), "recurrence", ["begin"]),
        (override(BEGIN, END, "FREQ=DAILY;BYHOUR=22;BYMINUTE=30"), "recurrence", ["begin"]),
        (override(BEGIN, END, "FREQ=YEARLY;BYMONTH=2;BYMONTHDAY=30"), "recurrence", ["begin"]),
        (override(BEGIN, END, "FREQ=HOURLY;INTERVAL=24;BYHOUR=5"), "recurrence", ["begin"]),
        (override(BEGIN, "2027-03-01T06:00:00Z", "FREQ=DAILY"), "recurrence", ["2026-12-02T22:00:00", "UNTIL"]),
        (override(BEGIN, "2026-12-02T22:00:01Z", "FREQ=DAILY"), "recurrence", ["2026-12-02T22:00:00", "first"]),
        (
            override("2026-10-25T02:30:00+02:00", "2026-10-25T02:15:00+01:00", "FREQ=DAILY", BERLIN),
            "recurrence",
            ["clock", "UTC"],
        ),
    ],
)
def test_what_makes_no_sense_is_refused_with_its_field_its_value_and_a_way_out(
    each: ManualOverride, field: str, told: list[str]
) -> None:
    """Nothing is corrected silently."""
    with pytest.raises(ScheduleError) as refusal:
        schedule_of(each)
    assert refusal.value.field == field
    for word in told:
        assert word in str(refusal.value)


def test_occurrences_may_follow_each_other_without_a_gap() -> None:
    """An end is not part of its occurrence."""
    each = override("2026-12-01T22:00:00Z", "2026-12-02T22:00:00Z", "FREQ=DAILY")
    assert occurrences(each, "2026-12-01T22:00:00Z", 2) == [
        ("2026-12-01T22:00Z", "2026-12-02T22:00Z"),
        ("2026-12-02T22:00Z", "2026-12-03T22:00Z"),
    ]


def test_where_later_occurrences_overlap_it_holds_until_the_last_of_them_ends() -> None:
    """A month of 31 days lies between the first two, one of 28 between the next."""
    each = override("2027-01-01T00:00:00Z", "2027-01-31T00:00:00Z", "FREQ=MONTHLY")
    assert standing(each, "2027-03-01T12:00:00Z").until == at("2027-03-31T00:00:00Z")


# --- how much work it is -------------------------------------------------------------------------------------------


@pytest.fixture
def expanded(monkeypatch: pytest.MonkeyPatch) -> list[datetime.datetime]:
    """Every occurrence that the library counts from now on."""
    counted: list[datetime.datetime] = []
    expand = rrule.rrule._iter  # noqa: SLF001 - what it counts comes from there in each version

    def counting(rule: object) -> Iterator[datetime.datetime]:
        for each in expand(rule):
            counted.append(each)
            yield each

    monkeypatch.setattr(rrule.rrule, "_iter", counting)
    return counted


@pytest.mark.parametrize("frequency", ["HOURLY", "DAILY", "WEEKLY", "MONTHLY", "YEARLY"])
def test_a_rule_of_long_ago_is_not_counted_through(frequency: str, expanded: list[datetime.datetime]) -> None:
    """Ten years are 87,600 hours; a few days of them are looked at."""
    each = override("2016-11-30T00:00:00Z", "2016-11-30T00:30:00Z", f"FREQ={frequency}")
    begins = standing(each, "2026-11-30T00:15:00Z").begins
    assert begins is not None
    assert begins.year >= 2026
    assert 0 < len(expanded) < 200


SPARSE = [
    # The next one after 2020 is 2048.
    "FREQ=HOURLY;BYMONTH=2;BYMONTHDAY=29;BYDAY=SA;BYHOUR=0;BYMINUTE=0",
    "FREQ=HOURLY;COUNT=9;BYMONTH=2;BYMONTHDAY=29;BYDAY=SA;BYHOUR=0",
    "FREQ=DAILY;BYMONTH=2;BYMONTHDAY=29;BYDAY=SA",
    "FREQ=DAILY;INTERVAL=5;BYMONTH=2;BYMONTHDAY=29;BYDAY=SA",
    "FREQ=DAILY;INTERVAL=365;BYMONTH=2;BYDAY=SA",
    "FREQ=WEEKLY;INTERVAL=104;BYMONTH=2",
    "FREQ=MONTHLY;INTERVAL=7;BYMONTH=2;BYMONTHDAY=29;BYDAY=SA",
    "FREQ=YEARLY;INTERVAL=3;BYMONTH=2;BYMONTHDAY=29;BYDAY=SA",
]


@pytest.mark.parametrize("rule", SPARSE)
def test_what_is_known_of_a_day_is_not_worked_out_again(rule: str, expanded: list[datetime.datetime]) -> None:
    """A provider may be asked about every second, with 32 overrides each time."""
    first = override("2020-02-29T00:00:00Z", "2020-02-29T00:20:00Z", rule)
    standing(first, "2026-11-30T08:00:00Z")
    worked = len(expanded)
    assert worked
    same = override("2020-02-29T00:00:00Z", "2020-02-29T00:20:00Z", rule)
    standing(same, "2026-11-30T19:00:00Z")
    assert len(expanded) == worked
    standing(same, "2026-12-01T00:00:00Z")
    assert len(expanded) > worked


def calls_of(work: Callable[[], object]) -> int:
    """How many functions were called meanwhile: a measure of work that is the same on every machine."""
    calls = 0

    def count(_frame: object, event: str, _argument: object) -> None:
        nonlocal calls
        calls += event == "call"

    sys.setprofile(count)
    try:
        work()
    finally:
        sys.setprofile(None)
    return calls


@pytest.mark.parametrize("rule", SPARSE)
def test_a_rule_that_hardly_ever_occurs_is_not_searched_day_by_day(rule: str) -> None:
    """Decades or centuries of days would keep the daemon busy."""
    each = override("2020-02-29T00:00:00Z", "2020-02-29T00:40:00Z", rule)
    assert calls_of(lambda: standing(each, "2026-11-30T08:00:00Z")) < 3_000


def test_an_occurrence_that_is_far_away_is_found_in_time() -> None:
    """It is looked for again from time to time, though clocks jump over the moment that is looked at again."""
    each = override(
        "2027-06-01T10:00:00+02:00", "2027-06-01T11:00:00+02:00", "FREQ=YEARLY;INTERVAL=9", BERLIN
    )  # of an hour, like the jump of 2030-03-31T02:00, which is just as far ahead as is looked at first
    assert standing(each, "2028-03-29T12:00:00Z").begins is not None
    assert occurrences(each, "2028-03-29T12:00:00Z", 1) == [("2036-06-01T08:00Z", "2036-06-01T09:00Z")]
    rare = override("2020-02-29T00:00:00Z", "2020-02-29T01:00:00Z", SPARSE[0])
    assert occurrences(rare, "2026-11-30T00:00:00Z", 1) == [("2048-02-29T00:00Z", "2048-02-29T01:00Z")]


@pytest.mark.parametrize(
    "rule",
    [
        "FREQ=DAILY;BYMONTH=2;BYMONTHDAY=30",
        "FREQ=HOURLY;BYMONTH=2;BYMONTHDAY=30",
        "FREQ=DAILY;INTERVAL=7;BYDAY=MO",
        "FREQ=YEARLY;BYDAY=1MO;BYMONTHDAY=20",
        "FREQ=MONTHLY;BYMONTHDAY=1;BYSETPOS=2",
        "FREQ=WEEKLY;BYMONTH=1",
    ],
)
def test_a_rule_that_never_occurs_is_not_searched_until_the_end_of_the_calendar(rule: str) -> None:
    """Eight thousand years of days would keep the daemon busy for seconds, again and again."""
    each = override("2026-12-01T22:00:00Z", "2026-12-01T23:00:00Z", rule)

    def refused() -> None:
        with pytest.raises(ScheduleError, match="is no occurrence of it"):
            schedule_of(each)

    assert calls_of(refused) < 3_000
