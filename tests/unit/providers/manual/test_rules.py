"""Which rules an override may repeat by, and what is said of the others."""

from __future__ import annotations

import datetime

import pytest

from providers.manual.rules import Day, Frequency, RuleError, parse_rule


def test_a_rule_is_read_whole() -> None:
    """Every part that is taken, numbers sorted and each once."""
    rule = parse_rule(
        "FREQ=YEARLY;INTERVAL=2;UNTIL=20301231T235959Z;WKST=SU;BYMONTH=12,1,01;BYMONTHDAY=-1,+3;BYYEARDAY=-366,1;"
        "BYDAY=1MO,-1FR;BYHOUR=22,6;BYMINUTE=30;BYSETPOS=-1,1"
    )
    assert rule.frequency is Frequency.YEARLY
    assert rule.interval == 2
    assert rule.count is None
    assert rule.until == datetime.datetime(2030, 12, 31, 23, 59, 59, tzinfo=datetime.UTC)
    assert rule.week_start == 6
    assert rule.months == (1, 12)
    assert rule.month_days == (-1, 3)
    assert rule.year_days == (-366, 1)
    assert rule.days == (Day(0, 1), Day(4, -1))
    assert rule.hours == (6, 22)
    assert rule.minutes == (30,)
    assert rule.positions == (-1, 1)


def test_a_part_that_is_not_there_has_the_default_of_the_rfc() -> None:
    """Every period, weeks from Monday, no end."""
    rule = parse_rule("FREQ=DAILY")
    assert (rule.interval, rule.week_start, rule.count, rule.until) == (1, 0, None, None)
    for part in (rule.days, rule.months, rule.month_days, rule.year_days, rule.hours, rule.minutes, rule.positions):
        assert not part


@pytest.mark.parametrize(
    "text",
    [
        "FREQ=HOURLY;BYHOUR=8,9,10,11,12,13,14,15,16,17,18,19;BYMINUTE=0,30",
        "FREQ=WEEKLY;COUNT=1000",
        "FREQ=MONTHLY;BYDAY=MO,TU,WE,TH,FR;BYSETPOS=-1",
        "FREQ=MONTHLY;BYDAY=5FR",
        "FREQ=YEARLY;BYDAY=53MO",
        "FREQ=YEARLY;BYDAY=-53MO",
        "FREQ=YEARLY;BYYEARDAY=366",
    ],
)
def test_what_lies_just_within_the_limits_is_taken(text: str) -> None:
    """The counterparts of those that are refused below."""
    parse_rule(text)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", ["FREQ="]),
        ("every night", ["'every night'", "FREQ="]),
        ("FREQ=MINUTELY", ["FREQ=MINUTELY", "HOURLY"]),
        ("FREQ=SECONDLY", ["FREQ=SECONDLY", "HOURLY"]),
        ("freq=daily", ["freq=daily"]),
        ("RRULE:FREQ=DAILY", ["RRULE:FREQ=DAILY"]),
        ("DTSTART:20261201T220000Z\nRRULE:FREQ=DAILY", ["DTSTART"]),
        ("FREQ=DAILY\nEXDATE:20261224T220000Z", ["EXDATE"]),
        ("FREQ=DAILY\n", ["FREQ=DAILY"]),
        ("FREQ=DAILY;EXDATE=20261224T220000Z", ["EXDATE", "no part that is taken"]),
        ("FREQ=DAILY;DTSTART=20261224T220000Z", ["DTSTART", "no part that is taken"]),
        ("FREQ=DAILY;BYSECOND=0", ["BYSECOND", "no part that is taken"]),
        ("FREQ=DAILY;BYEASTER=0", ["BYEASTER", "no part that is taken"]),
        ("FREQ=DAILY;", ["''"]),
        ("FREQ=DAILY;INTERVAL=0", ["INTERVAL=0"]),
        ("FREQ=DAILY;INTERVAL=-1", ["INTERVAL=-1"]),
        ("FREQ=DAILY;INTERVAL=2;INTERVAL=3", ["INTERVAL", "more than once"]),
        ("FREQ=DAILY;COUNT=0", ["COUNT=0"]),
        ("FREQ=DAILY;COUNT=1001", ["COUNT=1001", "1000", "UNTIL"]),
        ("FREQ=DAILY;COUNT=3;UNTIL=20261231T230000Z", ["COUNT", "UNTIL"]),
        ("FREQ=DAILY;UNTIL=20261231", ["UNTIL=20261231", "UTC"]),
        ("FREQ=DAILY;UNTIL=20261231T230000", ["UNTIL=20261231T230000", "UTC"]),
        ("FREQ=DAILY;UNTIL=20260230T230000Z", ["UNTIL=20260230T230000Z", "20261231T230000Z"]),
        ("FREQ=DAILY;BYMONTH=13", ["BYMONTH=13"]),
        ("FREQ=DAILY;BYHOUR=24", ["BYHOUR=24"]),
        ("FREQ=DAILY;BYHOUR=٣", ["BYHOUR"]),
        ("FREQ=WEEKLY;BYMONTHDAY=1", ["BYMONTHDAY", "FREQ=WEEKLY"]),
        ("FREQ=DAILY;BYYEARDAY=1", ["BYYEARDAY", "FREQ=DAILY", "YEARLY"]),
        ("FREQ=YEARLY;BYYEARDAY=367", ["BYYEARDAY=367", "366"]),
        ("FREQ=YEARLY;BYWEEKNO=51;BYDAY=MO", ["BYWEEKNO", "BYMONTH"]),
        ("FREQ=MONTHLY;BYSETPOS=1", ["BYSETPOS", "BYDAY"]),
        ("FREQ=MONTHLY;BYDAY=MO;BYSETPOS=-367", ["BYSETPOS=-367", "366"]),
        ("FREQ=WEEKLY;BYDAY=MO,TU;BYSETPOS=1", ["BYSETPOS", "FREQ=WEEKLY"]),
        ("FREQ=HOURLY;BYHOUR=1;BYSETPOS=2", ["BYSETPOS", "FREQ=HOURLY"]),
        ("FREQ=WEEKLY;BYDAY=1MO", ["BYDAY=1MO", "FREQ=MONTHLY"]),
        ("FREQ=MONTHLY;BYDAY=6MO", ["BYDAY=6MO", "5"]),
        ("FREQ=YEARLY;BYDAY=-54MO", ["BYDAY=-54MO", "53"]),
        ("FREQ=YEARLY;BYMONTH=2;BYDAY=53TH", ["BYDAY=53TH", "5"]),
        ("FREQ=MONTHLY;BYDAY=0MO", ["BYDAY=0MO"]),
        ("FREQ=MONTHLY;BYDAY=MO,1TU", ["BYDAY=MO,1TU", "two overrides"]),
        ("FREQ=HOURLY;BYMINUTE=0,30", ["48", "24"]),
        ("FREQ=DAILY;BYHOUR=0,1,2,3,4;BYMINUTE=0,10,20,30,40", ["25", "24"]),
        (f"FREQ=DAILY;BYHOUR={',1' * 300}", ["characters"]),
    ],
)
def test_what_is_no_rule_is_refused_with_its_value_and_a_way_out(text: str, told: list[str]) -> None:
    """Each text, and the words that its message has to have."""
    with pytest.raises(RuleError) as refusal:
        parse_rule(text)
    for word in told:
        assert word in str(refusal.value)
