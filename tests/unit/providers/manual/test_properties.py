"""What holds of every rule at every time: a slow reference agrees, and nothing changes before it is looked at again."""

from __future__ import annotations

import contextlib
import datetime
import random
import re
from typing import Final
from zoneinfo import ZoneInfo

from hypothesis import assume, event, example, given, settings
from hypothesis import strategies as st

from kueue_dqo.api import dqo
from kueue_dqo.api.meta import ObjectMeta
from kueue_dqo.api.parameters import ManualBaseline, ManualCapacitySpec, ManualFlavor, ManualOverride
from kueue_dqo.api.quantity import Quantity
from kueue_dqo.provider import Misconfigured, Observation, Request
from providers.manual.compute import LONGEST_SLEEP, observe
from providers.manual.schedule import ScheduleError, schedule_of
from tests.unit.providers.manual.reference import WEEKDAYS, spans

ZONES: Final = ["UTC", "Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Pacific/Apia", "Asia/Kolkata"]
HORIZON: Final = {"HOURLY": 20, "DAILY": 60, "WEEKLY": 150, "MONTHLY": 700, "YEARLY": 1500}
"""Days after the beginning that are looked at."""
# Near the changes of the clock of each of the zones, and Samoa's lost day.
DAYS: Final = [
    datetime.datetime(*day)  # noqa: DTZ001 - on the clock on the wall
    for day in [
        (2026, 3, 7),
        (2026, 3, 28),
        (2026, 4, 4),
        (2026, 10, 3),
        (2026, 10, 24),
        (2026, 10, 31),
        (2011, 12, 28),
    ]
]
AMOUNTS: Final = (
    ManualFlavor("f", {"cpu": Quantity.of(1), "memory": Quantity.of("1Gi")}),
    ManualFlavor("g", {"cpu": Quantity.of(2)}),
)


def rule_of(chance: random.Random, begin: datetime.datetime) -> str:
    """A rule of which the time, on the clock on the wall, is mostly an occurrence."""
    frequency = chance.choice(list(HORIZON))
    is_long = frequency in {"YEARLY", "MONTHLY"}
    parts = [f"FREQ={frequency}", f"INTERVAL={chance.randint(1, 4)}", f"WKST={chance.choice(WEEKDAYS)}"]
    numbers = {
        "BYMONTH": (begin.month, range(1, 13)),
        "BYMONTHDAY": (begin.day, [*range(-31, 0), *range(1, 32)]),
        "BYHOUR": (begin.hour, range(24)),
        "BYYEARDAY": (begin.timetuple().tm_yday, [*range(-366, 0), *range(1, 367)]),
    }
    for name, (ours, others) in numbers.items():
        goes = frequency == "YEARLY" if name == "BYYEARDAY" else frequency != "WEEKLY" or name != "BYMONTHDAY"
        if goes and chance.random() < 0.3:
            parts.append(f"{name}={','.join(map(str, [ours, *chance.choices(others, k=chance.randint(0, 3))]))}")
    if chance.random() < 0.5:
        days = [WEEKDAYS[begin.weekday()], *chance.choices(WEEKDAYS, k=chance.randint(0, 3))]
        if is_long and chance.random() < 0.5:
            first, *others = days
            days = [
                f"{(begin.day - 1) // 7 + 1}{first}",
                *(f"{chance.choice([-5, -1, 1, 2, 4])}{day}" for day in others),
            ]
        parts.append(f"BYDAY={','.join(days)}")
        if is_long and chance.random() < 0.5:
            positions = chance.choices([-5, -4, -3, -2, -1, 1, 2, 3, 4, 5], k=chance.randint(1, 3))
            parts.append(f"BYSETPOS={','.join(map(str, positions))}")
    if frequency != "HOURLY" and chance.random() < 0.2:
        parts.append(f"BYMINUTE={begin.minute},{chance.randint(0, 59)}")
    ends = chance.choice(["", "COUNT", "UNTIL"])
    if ends == "COUNT":
        parts.append(f"COUNT={chance.randint(1, 9)}")
    if ends == "UNTIL":
        until = begin + datetime.timedelta(minutes=30 * chance.randint(-30, 3000))
        parts.append(f"UNTIL={until:%Y%m%dT%H%M%SZ}")
    return ";".join(parts)


def override_of(seed: int) -> ManualOverride:
    """Once, or by a rule, in any of the zones, beginning near a change of the clock."""
    chance = random.Random(seed)
    zone = chance.choice(ZONES)
    wall = chance.choice(DAYS) + datetime.timedelta(minutes=30 * chance.randrange(144))
    begin = wall.replace(tzinfo=ZoneInfo(zone), fold=chance.randrange(2)).astimezone(datetime.UTC)
    end = begin + datetime.timedelta(minutes=15 * chance.choice([1, 2, 4, 8, 32, 96, 160]))
    shown = begin.astimezone(ZoneInfo(zone)).replace(tzinfo=None)
    recurrence = rule_of(chance, shown) if chance.random() < 0.8 else None
    flavors = chance.choice([AMOUNTS[:1], AMOUNTS[1:], AMOUNTS])
    return ManualOverride("o", begin.isoformat(), end.isoformat(), flavors, recurrence, zone)


# By a seed, because many small draws take most of the time of a test.
overrides = st.integers(0, 2**32).map(override_of)


def after(override: ManualOverride, part: float) -> datetime.datetime:
    """A time not long before the override begins, or some time after; every other one within an occurrence."""
    rule = override.recurrence or "FREQ=DAILY"
    days = HORIZON[rule.partition(";")[0].removeprefix("FREQ=")]
    begin = datetime.datetime.fromisoformat(override.begin)
    now = begin + datetime.timedelta(seconds=int((days + 2) * part * 86400)) - datetime.timedelta(days=2)
    held = [each for each in spans(override, now) if each[0] <= now]
    if not held or round(part * 1000) % 2:
        return now
    return held[-1][0] + (held[-1][1] - held[-1][0]) * part


@settings(max_examples=400)
@given(overrides, st.floats(0, 1))
def test_a_slow_reference_agrees_on_when_an_override_holds(override: ManualOverride, part: float) -> None:
    """And on when it ends and begins again, and on whether its rule makes sense."""
    now = after(override, part)
    expected = spans(override, now)
    try:
        until, begins = schedule_of(override).standing(now)
    except ScheduleError:
        event("refused")
        assert expected == []
        return
    event("once" if override.recurrence is None else override.recurrence.partition(";")[0])
    assert expected != []
    assert until == max((end for begin, end in expected if begin <= now < end), default=None)
    upcoming = min((begin for begin, _ in expected if begin > now), default=None)
    if upcoming is not None or begins is None:
        assert begins == upcoming
    else:
        # Further away than the reference went.
        assert begins > now + datetime.timedelta(days=2)


def request(overrides: list[ManualOverride], now: datetime.datetime) -> Request[ManualCapacitySpec]:
    baseline = ManualBaseline((ManualFlavor("f", {"cpu": Quantity.of(10), "nvidia.com/gpu": Quantity.of(8)}),))
    return Request(
        provider=dqo.CapacityProvider(
            ObjectMeta("p"), dqo.CapacityProviderSpec("c", (dqo.FlavorRef("g"), dqo.FlavorRef("f")))
        ),
        parameters=ManualCapacitySpec(baseline=baseline, overrides=tuple(overrides)),
        flavors={},
        peers=(),
        providers={},
        now=now,
    )


def seen(overrides: list[ManualOverride], now: datetime.datetime) -> Observation | None:
    try:
        return observe(request(overrides, now))
    except Misconfigured:
        return None


def amounts(found: Observation) -> dict[tuple[str, str], str]:
    return {
        (flavor.name, name): str(quantity)
        for flavor in found.capacity.flavors
        for name, quantity in flavor.resources.items()
    }


def numbered(listed: list[ManualOverride]) -> list[ManualOverride]:
    """With names and amounts of their own."""
    return [
        ManualOverride(
            f"o{n}",
            each.begin,
            each.end,
            tuple(
                ManualFlavor(flavor.name, dict.fromkeys(flavor.resources, Quantity.of(100 + n)))
                for flavor in each.flavors
            ),
            each.recurrence,
            each.time_zone,
        )
        for n, each in enumerate(listed)
    ]


several = st.lists(overrides, min_size=1, max_size=3).map(numbered)


@settings(max_examples=100)
@given(several, st.floats(0, 1))
def test_each_pair_has_the_amount_of_the_last_override_that_holds(listed: list[ManualOverride], part: float) -> None:
    """Else that of the baseline; a pair that neither has is not reported."""
    now = after(listed[0], part)
    found = seen(listed, now)
    if found is None:
        assert any(spans(each, now) == [] for each in listed)
        return
    expected = {("f", "cpu"): "10", ("f", "nvidia.com/gpu"): "8"}
    for each in listed:
        if any(begin <= now < end for begin, end in spans(each, now)):
            expected |= {(flavor.name, name): str(q) for flavor in each.flavors for name, q in flavor.resources.items()}
    assert amounts(found) == expected


@settings(max_examples=200)
@given(several, st.floats(0, 1), st.floats(0, 0.999))
def test_nothing_changes_before_it_is_looked_at_again(listed: list[ManualOverride], part: float, share: float) -> None:
    """And looking again is no later than a day, and never at once."""
    now = after(listed[0], part)
    found = seen(listed, now)
    assume(found is not None)
    assert found is not None
    if found.look_again is not None:
        assert 0 < found.look_again <= LONGEST_SLEEP
    within = found.look_again if found.look_again is not None else 400 * 86400.0
    later = seen(listed, now + datetime.timedelta(seconds=within * share))
    assert later is not None
    assert later.capacity == found.capacity
    assert words(later) == words(found)


def words(found: Observation) -> list[str]:
    """Which overrides the summary names."""
    return re.findall(r"o\d", found.summary)


@settings(max_examples=50)
@given(several, st.floats(0, 1))
def test_an_answer_depends_on_the_time_alone(listed: list[ManualOverride], part: float) -> None:
    """Whoever is asked, however often: two replicas never disagree."""
    now = after(listed[0], part)
    assert seen(listed, now) == seen(listed, now)


# --- texts of any kind ---------------------------------------------------------------------------------------------

VALUES: Final = {
    "BYMONTH": ["2", "1,2,12", "2,2", "13"],
    "BYMONTHDAY": ["29", "-1", "1,15,29,-1", "30", "32"],
    "BYYEARDAY": ["60", "-366,-1,366", "367"],
    "BYDAY": ["TH", "MO,TU,WE,TH,FR", "5TH,-1TH", "-53TH,53TH,9TH", "1MO,TH", "5FR", "0MO"],
    "BYHOUR": ["0", "0,12,23", ",".join(map(str, range(24))), "24"],
    "BYMINUTE": ["0", "0,10,20,30,40,50", "60"],
    "BYSETPOS": ["1", "-1", "366", "-366,366", "0"],
    "BYWEEKNO": ["9"],
    "BYSECOND": ["0"],
    "INTERVAL": ["1", "2", "3", "7", "24", "365", "9999", "0", "10000"],
    "COUNT": ["1", "1000", "1001"],
    "UNTIL": ["20270101T000000Z", "99991231T235959Z", "00010101T000000Z", "20270101T000000", "29990230T000000Z"],
    "WKST": ["SU", "SO"],
}
"""Of each part, mostly such values as are taken, the 29th of February 2024, a Thursday, among them."""


def text_of(seed: int) -> str:
    chance = random.Random(seed)
    names = chance.sample(list(VALUES), k=chance.choice([0, 1, 1, 2, 2, 3, 3, 4, 5]))
    listed = [f"{name}={chance.choice([*VALUES[name], *VALUES[name][:2] * 2])}" for name in names]
    return ";".join([f"FREQ={chance.choice([*HORIZON, *HORIZON, 'MINUTELY'])}", *listed])


texts = st.integers(0, 2**32).map(text_of)


@settings(max_examples=600)
@example("FREQ=YEARLY;BYMONTH=2;BYDAY=-53TH,53TH,9TH;BYYEARDAY=-366,-1,366;BYHOUR=0,12,23", "UTC")
@given(st.one_of(texts, texts, st.text(max_size=40)), st.sampled_from(ZONES))
def test_a_rule_of_any_text_has_an_answer_or_is_refused(text: str, zone: str) -> None:
    """It never takes long, and no other error escapes."""
    override = ManualOverride("o", "2024-02-29T00:00:00Z", "2024-02-29T00:10:00Z", (), text, zone)
    try:
        until, begins = schedule_of(override).standing(datetime.datetime(2026, 11, 30, tzinfo=datetime.UTC))
    except ScheduleError:
        event("refused")
    else:
        event("taken")
        assert until is None or begins is None or begins.year <= 2999


@settings(max_examples=200)
@given(st.text(max_size=40), st.text(max_size=40), st.text(max_size=40))
def test_times_and_zones_of_any_text_have_an_answer_or_are_refused(begin: str, end: str, zone: str) -> None:
    """No other error escapes."""
    for each in (
        ManualOverride("o", begin, end, (), None, "UTC"),
        ManualOverride("o", "2026-12-01T00:00:00Z", "2026-12-02T00:00:00Z", (), None, zone),
    ):
        with contextlib.suppress(ScheduleError):
            schedule_of(each)
