"""Lengths of time: how they are read, written and compared."""

from __future__ import annotations

import copy
import pickle
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kueue_dqo.api.durations import LONGEST, Duration, DurationError

lengths = st.integers(0, LONGEST).map(Duration)


@pytest.mark.parametrize(
    ("text", "seconds", "canonical"),
    [
        ("0s", 0, "0s"),
        ("0h0m0s", 0, "0s"),
        ("90s", 90, "1m30s"),
        ("10m", 600, "10m"),
        ("1h30m", 5400, "1h30m"),
        ("1h1s", 3601, "1h1s"),
        ("007m", 420, "7m"),
        ("30m1h", 5400, "1h30m"),
        ("1m1m", 120, "2m"),
        ("24h", 86400, "24h"),
        ("8784h", LONGEST, "8784h"),
        ("31622400s", LONGEST, "8784h"),
    ],
)
def test_a_duration_is_the_sum_of_its_parts(text: str, seconds: int, canonical: str) -> None:
    """In whatever order; it is written from the largest unit down."""
    duration = Duration.of(text)
    assert duration.seconds == seconds
    assert str(duration) == canonical
    assert repr(duration) == f"Duration({canonical})"


@given(lengths)
def test_what_is_written_is_read_back(duration: Duration) -> None:
    """Whatever its length, and in the form that the definitions ask for."""
    assert Duration.of(str(duration)) == duration
    assert re.fullmatch(r"([0-9]+(h|m|s))+", str(duration))


@pytest.mark.parametrize(
    "value",
    [
        *("", "s", "10", "1.5h", "-1m", "+1m", "1d", "500ms", "1 h", " 1h", "1h ", "1h\n", "1H", "PT1H", "1h30", "h1"),
        *("\N{FULLWIDTH DIGIT ONE}h", "1s" * 17, 90, 1.5, 0, None, True, ["1h"], {"h": 1}),
    ],
    ids=ascii,
)
def test_what_is_no_duration_is_refused_and_shown(value: object) -> None:
    """With the way to write one."""
    with pytest.raises(DurationError, match="such as 90s or 1h30m") as raised:
        Duration.of(value)
    assert str(raised.value).startswith(repr(value)[:60])


def test_a_long_text_is_shown_in_part() -> None:
    """It is somebody's mistake, and goes into a condition."""
    with pytest.raises(DurationError) as raised:
        Duration.of("x" * 10_000)
    assert len(str(raised.value)) < 200


@pytest.mark.parametrize("text", ["8784h1s", "31622401s", "527041m", "9" * 31 + "h"])
def test_more_than_a_year_is_refused(text: str) -> None:
    """The longest year has 366 days."""
    with pytest.raises(DurationError, match="is more than a year"):
        Duration.of(text)
    assert LONGEST == 366 * 24 * 60 * 60


@given(lengths, lengths)
def test_durations_compare_by_their_length(one: Duration, other: Duration) -> None:
    """However they were written."""
    assert (one < other, one == other, one >= other) == (
        one.seconds < other.seconds,
        one.seconds == other.seconds,
        one.seconds >= other.seconds,
    )
    assert hash(one) == hash(Duration(one.seconds))


def test_a_duration_equals_nothing_else() -> None:
    """Not even its number of seconds."""
    assert Duration(60) == Duration.of("1m")
    assert Duration(60) != 60
    assert Duration(60) != "1m"


def test_only_nothing_is_false() -> None:
    """As with numbers."""
    assert not Duration(0)
    assert Duration(1)


def test_a_duration_does_not_change() -> None:
    """It may be a default of many objects."""
    duration = Duration(60)
    with pytest.raises(AttributeError, match="does not change: seconds=61"):
        duration.seconds = 61
    assert duration.seconds == 60


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, lambda each: pickle.loads(pickle.dumps(each))])  # noqa: S301 - our own
def test_a_copy_is_equal(copied: object) -> None:
    """Objects are copied whole, to other processes too."""
    assert callable(copied)
    assert copied(Duration(90)) == Duration(90)
