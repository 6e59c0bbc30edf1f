"""Amounts and messages as the table shows them: exact while they are short, and never out of hand."""

from __future__ import annotations

import datetime
import itertools
import re
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kueue_dqo.api.meta import time_text
from kueue_dqo.api.quantity import LARGEST_UNITS, NANOS, Format, Quantity
from kueue_dqo.cli.plan.text import amount_text, rounded
from kueue_dqo.cli.terminal import one_line

STEPS: dict[str, int] = {"": 1}
STEPS |= {f"{letter}i": 1024**power for power, letter in enumerate("KMGTPE", 1)}
STEPS |= {suffix: 1000**power for power, suffix in enumerate("kMGTPE", 1)}


@pytest.mark.parametrize(
    ("written", "shown"),
    [
        pytest.param("0", "0", id="zero"),
        pytest.param("48", "48", id="a small number"),
        pytest.param("9500m", "9.5", id="millis read better with a point"),
        pytest.param("63560m", "63.56", id="no zeros at the end"),
        pytest.param("1n", "0.000000001", id="a nano is no zero"),
        pytest.param("1234567", "1234567", id="seven digits"),
        pytest.param("1234567m", "1234.567", id="seven digits with a point"),
        pytest.param("12345678", "~12.35M", id="eight digits are rounded, in decimal steps"),
        pytest.param("12345678m", "~12.35k", id="eight digits with a point"),
        pytest.param("2000000000", "2G", id="a round number has a suffix"),
        pytest.param("191976Mi", "~187.48Gi", id="memory in the largest binary step"),
        pytest.param("9000Gi", "9000Gi", id="four digits of memory"),
        pytest.param("12345Gi", "~12.06Ti", id="five digits of memory"),
        pytest.param("10Ti", "10Ti", id="a round number of memory"),
        pytest.param("1Ki", "1Ki", id="a kibibyte"),
        pytest.param("9223372036854775807", "~9.22E", id="the largest that Kueue holds"),
        pytest.param("-5", "-5", id="a negative number"),
        pytest.param("-9500m", "-9.5", id="a negative fraction"),
        pytest.param("-1500m", "-1.5", id="a negative fraction above minus two"),
        pytest.param("-12345678", "~-12.35M", id="a negative number that is rounded"),
        pytest.param("-191976Mi", "~-187.48Gi", id="negative memory that is rounded"),
        pytest.param("66667e-3", "66.667", id="a negative exponent reads better with a point"),
        pytest.param("5e6", "5e6", id="an exponent, as it was written"),
    ],
)
def test_an_amount_is_exact_while_it_is_short(written: str, shown: str) -> None:
    """Then it is rounded to two places in the largest step of its format, and marked as such."""
    assert amount_text(Quantity.of(written)) == shown


@pytest.mark.parametrize(
    ("suffixes", "shown"), [(["", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"], "12.06"), (["", *"kMGTPE"], "12.35")]
)
def test_every_step_of_a_format_is_used(suffixes: list[str], shown: str) -> None:
    """The largest that leaves something before the point."""
    for below, suffix in itertools.pairwise(suffixes):
        fmt = Format.BINARY if "Ki" in suffixes else Format.DECIMAL
        assert amount_text(Quantity(STEPS[below] * 123456789 * NANOS // 10**4, fmt)) == f"~{shown}{suffix}"


@pytest.mark.parametrize(
    ("digits", "zeros", "shown"),
    [
        pytest.param("9999999", 17, "~999999.90E", id="the last that has a suffix"),
        pytest.param("12345678", 17, "~1.23e24", id="the first that has none"),
        pytest.param("12345678", 60, "~1.23e67", id="far beyond"),
        pytest.param("1", 100, "~1.00e100", id="a one and a hundred zeros"),
    ],
)
def test_what_is_beyond_every_suffix_stays_short(digits: str, zeros: int, shown: str) -> None:
    """Kueue holds no such number, but a manifest may."""
    text = amount_text(Quantity.of(digits + "0" * zeros))
    assert len(text) <= len("-0.123456789")
    assert text == shown


def value(text: str) -> Fraction:
    match = re.fullmatch(r"(-?[0-9.]+(?:e-?\d+)?)([A-Za-z]*)", text)
    assert match is not None, text
    return Fraction(match[1]) * STEPS[match[2]]


quantities = st.builds(
    Quantity,
    st.one_of(
        st.integers(-(10**6), 10**6),
        st.integers(-(10**16), 10**16),
        st.integers(-LARGEST_UNITS * NANOS, LARGEST_UNITS * NANOS),
        st.integers(-LARGEST_UNITS, LARGEST_UNITS).map(lambda units: units * NANOS),
    ),
    st.sampled_from([Format.BINARY, Format.DECIMAL]),
)


@given(quantities)
def test_a_shown_amount_is_the_amount(quantity: Quantity) -> None:
    """To the nano where nothing marks it, else within half of the last place."""
    shown, real = amount_text(quantity), Fraction(quantity.nanos, NANOS)
    if shown.startswith("~"):
        match = re.fullmatch(r"~-?\d+\.(\d+)([A-Za-z]*)", shown)
        assert match is not None, shown
        assert abs(value(shown[1:]) - real) <= Fraction(STEPS[match[2]], 2 * 10 ** len(match[1]))
    else:
        assert value(shown) == real


@given(quantities)
def test_a_shown_amount_is_short(quantity: Quantity) -> None:
    """Whatever Kueue can hold fits a column; below one unit all nine places are shown."""
    assert len(amount_text(quantity)) <= len("-0.123456789")


@given(st.integers(0, 10**40), st.integers(1, 10**40), st.integers(1, 4))
def test_a_quotient_is_rounded_half_up_without_floats(numerator: int, denominator: int, places: int) -> None:
    """Numbers beyond the range of a float included."""
    text = rounded(numerator, denominator, places)
    error = Fraction(text) - Fraction(numerator, denominator)
    assert -Fraction(1, 2 * 10**places) < error <= Fraction(1, 2 * 10**places)
    assert len(text.partition(".")[2]) == places


@pytest.mark.parametrize(
    "hostile",
    [
        pytest.param("\x1b[31mred", id="a colour"),
        pytest.param("\x1b]0;title\x07", id="the title of the window"),
        pytest.param("\x9b31m", id="the one-byte form"),
        pytest.param("a\rb", id="back to the start of the line"),
        pytest.param("a\bb", id="backspace"),
        pytest.param("a\x00b", id="null"),
        pytest.param("a\x7fb", id="delete"),
        pytest.param("a\x0bb\x0cc", id="vertical tab and form feed"),
        pytest.param("a\x85b", id="next line"),
    ],
)
def test_control_characters_are_made_visible(hostile: str) -> None:
    """A message from a cluster must not steer the terminal; what it says stays readable."""
    cleaned = one_line(hostile)
    assert not re.search(r"[\x00-\x1f\x7f-\x9f]", cleaned)
    assert len(cleaned) == len(hostile)
    assert "�" in cleaned


def test_ordinary_text_is_left_alone() -> None:
    """In any language; a line end becomes a space, because a message is one line."""
    assert one_line("größer — 更大 ▼ naïve 🙂") == "größer — 更大 ▼ naïve 🙂"
    assert one_line("one\ntwo") == "one two"


def test_a_time_is_shown_in_utc_and_in_whole_seconds() -> None:
    """As an API server writes it."""
    berlin = datetime.timezone(datetime.timedelta(hours=1))
    time = datetime.datetime(2026, 12, 24, 0, 30, 0, 999999, tzinfo=berlin)
    assert time_text(time) == "2026-12-23T23:30:00Z"
