"""Quantities: which texts and numbers they are read from, what they are worth, how they are written back."""

from __future__ import annotations

import copy
import itertools
import pickle
import re
from decimal import Decimal
from fractions import Fraction
from typing import Final

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from kueue_dqo.api.quantity import (
    LARGEST_UNITS,
    NANOS,
    WAY_OUT,
    Format,
    Quantity,
    QuantityError,
    away_from_zero,
    common_format,
)

BINARY, DECIMAL, EXPONENT = Format.BINARY, Format.DECIMAL, Format.EXPONENT

# --- grammar -------------------------------------------------------------------------------------------------------

ACCEPTED: Final = [
    # every suffix
    ("1n", 1, DECIMAL),
    ("1u", 10**3, DECIMAL),
    ("1m", 10**6, DECIMAL),
    ("1", NANOS, DECIMAL),
    ("1k", 10**3 * NANOS, DECIMAL),
    ("1M", 10**6 * NANOS, DECIMAL),
    ("1G", 10**9 * NANOS, DECIMAL),
    ("1T", 10**12 * NANOS, DECIMAL),
    ("1P", 10**15 * NANOS, DECIMAL),
    ("1E", 10**18 * NANOS, DECIMAL),
    ("1Ki", 2**10 * NANOS, BINARY),
    ("1Mi", 2**20 * NANOS, BINARY),
    ("1Gi", 2**30 * NANOS, BINARY),
    ("1Ti", 2**40 * NANOS, BINARY),
    ("1Pi", 2**50 * NANOS, BINARY),
    ("1Ei", 2**60 * NANOS, BINARY),
    # signs
    ("+1", NANOS, DECIMAL),
    ("-1", -NANOS, DECIMAL),
    ("-1500m", -1_500_000_000, DECIMAL),
    ("-2Ki", -2048 * NANOS, BINARY),
    ("-0", 0, DECIMAL),
    # fractions, and zeros that say nothing
    (".5", NANOS // 2, DECIMAL),
    ("-.5", -NANOS // 2, DECIMAL),
    ("5.", 5 * NANOS, DECIMAL),
    ("5.Gi", 5 * 2**30 * NANOS, BINARY),
    (".5Ki", 512 * NANOS, BINARY),
    ("0.5m", 500_000, DECIMAL),
    ("1.50", 1_500_000_000, DECIMAL),
    ("007", 7 * NANOS, DECIMAL),
    ("0.29", 290_000_000, DECIMAL),
    ("123456789.123456789", 123456789123456789, DECIMAL),
    # exponents
    ("1e3", 10**3 * NANOS, EXPONENT),
    ("1E3", 10**3 * NANOS, EXPONENT),
    ("1e0", NANOS, EXPONENT),
    ("1E0", NANOS, EXPONENT),
    ("1e+3", 10**3 * NANOS, EXPONENT),
    ("1E-3", 10**6, EXPONENT),
    ("-1.5e3", -1500 * NANOS, EXPONENT),
    (".5e1", 5 * NANOS, EXPONENT),
    ("5.e1", 50 * NANOS, EXPONENT),
    ("1e003", 10**3 * NANOS, EXPONENT),
    # above what Kueue holds, and still exact
    ("9223372036854775808", 2**63 * NANOS, DECIMAL),
    ("12Ei", 12 * 2**60 * NANOS, BINARY),
    ("1e30", 10**39, EXPONENT),
    # as long and as far as it goes
    ("0" * 255 + "7", 7 * NANOS, DECIMAL),
    ("1" * 256, int("1" * 256) * NANOS, DECIMAL),
    ("1e512", 10**521, EXPONENT),
    ("1e-512", 1, EXPONENT),
    ("0e99999", 0, EXPONENT),
]

REFUSED_TEXTS: Final = [
    *("", " ", ".", "+", "-", "-.", "e", "E", "e3", "Ki", "m", "+Gi", ".m"),
    *("1K", "1ki", "1KI", "1mi", "1gi", "1g", "1t", "1p", "1N", "1U", "1i", "1GiB", "1GB", "1B", "1mm", "1Kim", "1kKi"),
    *("1e", "1E+", "1e-", "1e1.5", "1e.5", "1ee3", "1EE", "1E3E", "1e3k", "1e3Ki", "1e+-3", "1ke3", "1e 3", "1e1_0"),
    *("1 Gi", " 1", "1 ", "\t1", "1\t", "1\n", "\n1", "1\r\n", "1\x00", "1\N{NO-BREAK SPACE}", "\N{ZERO WIDTH SPACE}1"),
    *("1_000", "1,000", "1.5.2", "1..5", "..5", "--1", "+-1", "1-", "1+1", "0x10", "1/2", "1%", "$1", '"1"', "1m1"),
    *("NaN", "nan", "inf", "Inf", "Infinity", "-Infinity", "null", "None", "true", "one"),
    *("\N{FULLWIDTH DIGIT ONE}", "1\N{FULLWIDTH DIGIT TWO}", "\N{ARABIC-INDIC DIGIT THREE}", "\N{SUPERSCRIPT TWO}"),
    *("1\N{MICRO SIGN}", "\N{MINUS SIGN}1", "1\N{CYRILLIC CAPITAL LETTER KA}i", "1e\N{FULLWIDTH DIGIT THREE}"),
    *("0" * 257, "1" * 257, "1" * 100_000, "0." + "0" * 255),
    *("1e513", "-1e513", "1e-513", "0.1e-99999", "1e4294967296", "1e" + "9" * 200),
]


@pytest.mark.parametrize(("text", "nanos", "fmt"), ACCEPTED, ids=lambda value: str(value)[:20])
def test_a_text_of_the_grammar_has_an_exact_value_and_a_format(text: str, nanos: int, fmt: Format) -> None:
    """Every sign, suffix and exponent of Kubernetes: `1E` is exa, `1E3` an exponent."""
    quantity = Quantity.of(text)
    assert quantity.nanos == nanos
    assert quantity.format is fmt


@pytest.mark.parametrize("text", REFUSED_TEXTS, ids=lambda text: ascii(text)[:20])
def test_a_text_outside_the_grammar_is_refused(text: str) -> None:
    """What Python or a human would still read as a number is no quantity; the message says how to write one."""
    with pytest.raises(QuantityError) as raised:
        Quantity.of(text)
    assert WAY_OUT in str(raised.value)
    assert repr(text)[:40] in str(raised.value)


@pytest.mark.parametrize(
    "value",
    [True, False, None, [], ["1"], {}, {"cpu": 1}, (1,), b"1", Decimal(1), Fraction(1, 2), 1j, object()],
    ids=lambda value: "object" if type(value) is object else repr(value),
)
def test_a_value_that_is_neither_text_nor_number_is_refused(value: object) -> None:
    """A boolean is no number here, although Python counts with it."""
    with pytest.raises(QuantityError) as raised:
        Quantity.of(value)
    assert repr(value)[:40] in str(raised.value)
    assert WAY_OUT in str(raised.value)


def test_a_long_value_is_shown_in_part() -> None:
    """A message stays readable, whatever stands in the manifest."""
    with pytest.raises(QuantityError, match=r"^'xxx.*x… \(502 characters\) is ") as raised:
        Quantity.of("x" * 500)
    assert len(str(raised.value)) < 250


def test_a_refusal_is_a_value_error() -> None:
    """So it passes through a decoder, which adds the field."""
    assert issubclass(QuantityError, ValueError)


# The pattern that Kubernetes' resource definitions put on quantities. It lets an exponent have a fraction, which the
# server's own parser refuses, and it has no limits.
PATTERN: Final = re.compile(
    r"(\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))(([KMGTPE]i)|[numkMGTPE]|([eE](\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))))?"
)
# How the server's parser describes its input in its own error message.
ROUGH_PATTERN: Final = re.compile(r"([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)")
SIGNS: Final = "0123456789.+-eEinumkKMGTP"
ODD_SIGNS: Final = SIGNS + " _,\n\t\N{FULLWIDTH DIGIT ONE}\N{ARABIC-INDIC DIGIT THREE}\N{NO-BREAK SPACE}iaxN"


@st.composite
def nearly_quantities(draw: st.DrawFn) -> str:
    """A text of the pattern, with one of its characters replaced, lost or doubled."""
    text = draw(st.from_regex(PATTERN, fullmatch=True))
    at = draw(st.integers(0, len(text) - 1))
    return text[:at] + draw(st.text(ODD_SIGNS, max_size=2)) + text[at + 1 :]


def within_limits(text: str) -> bool:
    """Whether the text is short enough and its exponent small enough to be read here."""
    _, _, exponent = text.lower().partition("e")
    zero = not re.search(r"[1-9]", text.lower().partition("e")[0])
    return len(text) <= 256 and (zero or not exponent.strip("+-").isdigit() or abs(int(exponent)) <= 512)


@given(st.from_regex(PATTERN, fullmatch=True) | nearly_quantities() | st.text(SIGNS, max_size=8) | st.text(max_size=8))
@example("1e1.5")
@example(".")
@example("1\n")
def test_what_is_accepted_is_what_kubernetes_accepts(text: str) -> None:
    """The grammar is Kubernetes' own, less exponents with a fraction and what goes beyond all measure."""
    try:
        Quantity.of(text)
    except QuantityError:
        assert not PATTERN.fullmatch(text) or re.search(r"[eE][+-]?[0-9]*\.", text) or not within_limits(text)
    else:
        assert PATTERN.fullmatch(text)
        assert ROUGH_PATTERN.fullmatch(text)
        assert within_limits(text)


# --- value ---------------------------------------------------------------------------------------------------------

MULTIPLIERS: Final = {
    **{suffix: Fraction(10) ** power for suffix, power in zip("num", (-9, -6, -3), strict=True)},
    **{suffix: Fraction(1000) ** power for power, suffix in enumerate(("", *"kMGTPE"))},
    **{f"{suffix}i": Fraction(1024) ** power for power, suffix in enumerate("KMGTPE", start=1)},
}
digits = st.text("0123456789", max_size=30)
suffixes = st.sampled_from(sorted(MULTIPLIERS))


@given(st.sampled_from(["", "+", "-"]), digits, digits, suffixes | st.integers(-40, 40))
def test_the_value_is_exact_up_to_a_nano(sign: str, whole: str, fraction: str, suffix: str | int) -> None:
    """Value and rounding agree with fractions, however many digits there are."""
    digits_text = f"{sign}{whole or '0'}.{fraction}"
    multiplier = MULTIPLIERS[suffix] if isinstance(suffix, str) else Fraction(10) ** suffix
    text = f"{digits_text}{suffix}" if isinstance(suffix, str) else f"{digits_text}e{suffix}"
    exact = Fraction(f"{digits_text}0") * multiplier * NANOS
    nanos = Quantity.of(text).nanos
    assert abs(nanos) >= abs(exact)
    assert abs(nanos - exact) < 1
    assert nanos * exact >= 0


@given(
    st.lists(st.tuples(st.integers(-(10**12), 10**12), st.integers(0, 999_999_999), st.sampled_from(["", *"kMGTPE"])))
)
def test_sums_are_exact(addends: list[tuple[int, int, str]]) -> None:
    """However many quantities are added, not a nano is lost."""
    total = Fraction(0)
    nanos = 0
    for whole, billionths, suffix in addends:
        total += Fraction(f"{whole}.{billionths:09}") * MULTIPLIERS[suffix]
        nanos += Quantity.of(f"{whole}.{billionths:09}{suffix}").nanos
    assert Fraction(nanos, NANOS) == total
    assert Quantity.of(str(Quantity(nanos))).nanos == nanos


@pytest.mark.parametrize(
    ("text", "nanos"),
    [
        ("0.1n", 1),
        ("-0.1n", -1),
        ("0.5n", 1),
        ("1.1n", 2),
        ("-1.1n", -2),
        ("1.0n", 1),
        ("0.0000000001", 1),
        ("1.0000000001", 1_000_000_001),
        ("-1.0000000001", -1_000_000_001),
        ("0.0001u", 1),
        ("3.33e-10", 1),
        ("-1e-10", -1),
        ("1.0000000009e0", 1_000_000_001),
        ("0.0000000000001Ki", 1),
        ("-1.0000000000001Ki", -1_024_000_000_001),
        ("0.00000000000", 0),
        ("0n", 0),
    ],
)
def test_what_is_finer_than_a_nano_is_rounded_away_from_zero(text: str, nanos: int) -> None:
    """As Kubernetes does it: whoever asks for a little gets a little."""
    assert Quantity.of(text).nanos == nanos


@given(st.integers(), st.integers(1, 10**12))
@example(-6, 3)
@example(-7, 3)
@example(7, 3)
def test_a_quotient_is_rounded_away_from_zero(numerator: int, denominator: int) -> None:
    """Never nearer to zero than the exact quotient, and less than one off."""
    exact = Fraction(numerator, denominator)
    rounded = away_from_zero(numerator, denominator)
    assert abs(rounded) >= abs(exact)
    assert abs(rounded - exact) < 1
    assert rounded * numerator >= 0


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.29, "290m"),
        (0.1, "100m"),
        (1.1, "1100m"),
        (-0.5, "-500m"),
        (2.0, "2"),
        (-0.0, "0"),
        (1e22, "10000E"),
        (1e16, "10P"),
        (1e-9, "1n"),
        (1e-10, "1n"),
        (5e-324, "1n"),
        (-5e-324, "-1n"),
        (2.5e-7, "250n"),
    ],
)
def test_a_float_counts_as_the_decimal_that_was_written(value: float, text: str) -> None:
    """Of a bare 0.29 in YAML, 29 hundredths are meant and not the nearest binary fraction."""
    quantity = Quantity.of(value)
    assert str(quantity) == text
    assert quantity.format is DECIMAL


@pytest.mark.parametrize("value", [float("nan"), float("inf"), float("-inf")])
def test_a_float_that_is_no_number_is_refused(value: float) -> None:
    """YAML and JSON decoders can yield them."""
    with pytest.raises(QuantityError, match=f"{value!r}"):
        Quantity.of(value)


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_every_finite_float_is_read_by_its_shortest_form(value: float) -> None:
    """The very largest and smallest included."""
    exact = Fraction(repr(value)) * NANOS
    assert Quantity.of(value).nanos == away_from_zero(exact.numerator, exact.denominator)


@given(st.integers())
@example(LARGEST_UNITS + 1)
@example(10**400)
def test_an_integer_is_a_number_of_units(value: int) -> None:
    """Of whatever size, and written in the decimal format."""
    assert Quantity.of(value) == Quantity(value * NANOS)
    assert Quantity.of(value).format is DECIMAL


@pytest.mark.parametrize("sign", [1, -1])
def test_an_integer_goes_as_far_as_an_exponent(sign: int) -> None:
    """Texts and integers have one limit, and one that is refused is not shown whole."""
    assert Quantity.of(sign * 10**512) == Quantity.of(f"{sign}e512")
    with pytest.raises(QuantityError) as raised:
        Quantity.of(sign * (10**512 + 1))
    assert WAY_OUT in str(raised.value)
    assert len(str(raised.value)) < 250
    with pytest.raises(QuantityError):
        Quantity.of(sign * 10**5000)


def test_units_are_written_in_the_format_asked_for() -> None:
    """The constructor takes the format of the text that is to come out."""
    assert str(Quantity(2048 * NANOS, BINARY)) == "2Ki"
    assert str(Quantity(2000 * NANOS, EXPONENT)) == "2e3"


def test_the_largest_whole_value_is_what_64_bits_hold() -> None:
    """One more and Kueue caps it."""
    assert LARGEST_UNITS == 9_223_372_036_854_775_807


# --- canonical form ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        # decimal: the largest suffix that leaves no fraction
        ("0", "0"),
        ("-0.0", "0"),
        ("+1", "1"),
        ("007", "7"),
        ("1.0", "1"),
        ("1000m", "1"),
        ("1500m", "1500m"),
        ("1.5", "1500m"),
        ("-1.5", "-1500m"),
        ("0.5m", "500u"),
        ("0.0005m", "500n"),
        ("1.000000001", "1000000001n"),
        ("1000", "1k"),
        ("1024", "1024"),
        ("1500", "1500"),
        ("1000000", "1M"),
        ("1000k", "1M"),
        ("1.5G", "1500M"),
        ("1000000000000000000", "1E"),
        ("1000E", "1000E"),
        ("1000000E", "1000000E"),
        ("1100000000000000000000", "1100E"),
        # binary: the largest suffix that leaves no fraction, plain below 1Ki, decimal where there is a fraction
        ("0Gi", "0"),
        ("1024Ki", "1Mi"),
        ("1.5Gi", "1536Mi"),
        ("16Gi", "16Gi"),
        ("-1024Mi", "-1Gi"),
        ("1025Ki", "1025Ki"),
        ("0.5Ki", "512"),
        ("-0.5Ki", "-512"),
        ("0.25Ki", "256"),
        ("1Ki", "1Ki"),
        ("-1Ki", "-1Ki"),
        ("1.25Ki", "1280"),
        ("1.1Ki", "1126400m"),
        ("0.1Ki", "102400m"),
        ("0.001Ki", "1024m"),
        ("1024Ei", "1024Ei"),
        ("1048576Ei", "1048576Ei"),
        # exponent: always a multiple of three, none for units
        ("0e3", "0"),
        ("1e0", "1"),
        ("1e2", "100"),
        ("1e3", "1e3"),
        ("1E3", "1e3"),
        ("1e4", "10e3"),
        ("1e+6", "1e6"),
        ("1500e-3", "1500e-3"),
        ("1000e-3", "1"),
        ("1e-1", "100e-3"),
        ("1e-9", "1e-9"),
        ("1e-10", "1e-9"),
        ("-12e6", "-12e6"),
        ("1e21", "1e21"),
        ("1e22", "10e21"),
    ],
)
def test_a_quantity_is_written_in_the_canonical_form_of_its_format(text: str, canonical: str) -> None:
    """As the API server would: no fraction, the largest suffix or exponent, no sign but the minus."""
    assert str(Quantity.of(text)) == canonical


def test_a_quantity_shows_itself_in_canonical_form() -> None:
    """A failed comparison of quantities has to be readable."""
    assert repr(Quantity.of("0.5")) == "Quantity(500m)"


amounts = (
    st.integers(-(10**12), 10**12)
    | st.integers()
    | st.builds(lambda n, power: n * 10**power, st.integers(-(10**4), 10**4), st.integers(0, 40))
    | st.builds(lambda n, power: n * 1024**power * NANOS, st.integers(-(10**4), 10**4), st.integers(0, 8))
    | st.builds(lambda n, power: n * 1024**power, st.integers(-(10**4), 10**4), st.integers(0, 8))
)
quantities = st.builds(Quantity, amounts, st.sampled_from(Format))


@given(quantities)
@example(Quantity(1024 * NANOS, BINARY))
@example(Quantity(-1024 * NANOS, BINARY))
@example(Quantity(10**30, DECIMAL))
@example(Quantity(5000 * NANOS, BINARY))
def test_the_canonical_form_reads_back_as_the_same_value(quantity: Quantity) -> None:
    """And it is a fixed point: written once more, it is the same text.

    Binary 5000 is written `5000`, which reads back as decimal, as in Kubernetes; it is the one text that has two forms.
    """
    text = str(quantity)
    back = Quantity.of(text)
    assert back.nanos == quantity.nanos
    if text.endswith("i") or "e" in text:
        assert back.format is quantity.format
    else:
        assert back.format is DECIMAL
    if quantity.format is BINARY and text.lstrip("-").isdigit():
        back = Quantity(back.nanos, BINARY)
    assert str(back) == text


@given(quantities)
def test_the_canonical_form_has_no_fraction_and_the_largest_suffix(quantity: Quantity) -> None:
    """The mantissa is whole and cannot be made smaller by another suffix of the format."""
    match = re.fullmatch(r"(-?)(0|[1-9][0-9]*)(?:([KMGTPE]i)|([numkMGTPE])|e(-?[1-9][0-9]*))?", str(quantity))
    assert match is not None
    sign, mantissa, binary, decimal, exponent = match[1], int(match[2]), match[3], match[4], match[5]
    assert (sign == "-") == (quantity.nanos < 0)
    fine_binary = quantity.format is BINARY and abs(quantity.nanos) >= 1024 * NANOS and quantity.nanos % NANOS == 0
    if fine_binary:
        assert (decimal, exponent) == (None, None)
        assert mantissa % 1024 or binary == "Ei"
    elif quantity.nanos == 0:
        assert (mantissa, binary, decimal, exponent) == (0, None, None, None)
    elif quantity.format is EXPONENT:
        assert (binary, decimal) == (None, None)
        assert mantissa % 1000
        assert int(exponent or 0) % 3 == 0
    else:
        assert (binary, exponent) == (None, None)
        assert mantissa % 1000 or decimal == "E"


# --- comparison, immutability --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("left", "right"),
    [("2Gi", "2147483648"), ("1000m", "1"), ("1e3", "1k"), ("0.5", "500m"), ("-0", "0Ki"), ("1E", "1e18")],
)
def test_quantities_of_one_value_are_equal_however_they_are_written(left: str, right: str) -> None:
    """The format belongs to the text: equality, order and hash do without it."""
    a, b = Quantity.of(left), Quantity.of(right)
    assert a == b
    assert a <= b
    assert a >= b
    assert not a < b
    assert hash(a) == hash(b)
    assert len({a, b}) == 1


@given(quantities, quantities)
def test_order_and_equality_are_by_value(left: Quantity, right: Quantity) -> None:
    """Every comparison says what the nanos say."""
    assert (left == right) == (left.nanos == right.nanos)
    assert (left != right) == (left.nanos != right.nanos)
    assert (left < right) == (left.nanos < right.nanos)
    assert (left <= right) == (left.nanos <= right.nanos)
    assert (left > right) == (left.nanos > right.nanos)
    assert (left >= right) == (left.nanos >= right.nanos)


@pytest.mark.parametrize("other", [1, NANOS, 1.0, "1", None, True], ids=repr)
def test_a_quantity_equals_nothing_of_another_type(other: object) -> None:
    """So that a forgotten conversion shows."""
    assert Quantity.of(1) != other


@pytest.mark.parametrize(("name", "value"), [("nanos", 2), ("format", BINARY), ("unit", "GB")])
def test_a_quantity_does_not_change(name: str, value: object) -> None:
    """One text is parsed once and the quantity is shared by all who read it."""
    quantity = Quantity.of("1500m")
    with pytest.raises(AttributeError, match=name):
        setattr(quantity, name, value)
    assert (quantity.nanos, quantity.format) == (1_500_000_000, DECIMAL)


@pytest.mark.parametrize("name", ["nanos", "format"])
def test_a_quantity_loses_nothing(name: str) -> None:
    """Deleting an attribute would break every holder of the quantity."""
    quantity = Quantity(7)
    with pytest.raises(AttributeError):
        delattr(quantity, name)
    assert str(quantity) == "7n"


def test_a_copy_of_a_quantity_is_an_equal_quantity() -> None:
    """Objects that hold quantities can be copied, and sent to another process, like any other value."""
    quantity = Quantity.of("2Gi")
    unpickled = pickle.loads(pickle.dumps(quantity))  # noqa: S301  # bytes that were made in this line
    for twin in (copy.copy(quantity), copy.deepcopy(quantity), unpickled):
        assert (twin.nanos, twin.format) == (quantity.nanos, quantity.format)


# --- the format of a sum -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("formats", "expected"),
    [
        (set(), DECIMAL),
        ({DECIMAL}, DECIMAL),
        ({BINARY}, BINARY),
        ({EXPONENT}, EXPONENT),
        ({DECIMAL, BINARY}, BINARY),
        ({DECIMAL, EXPONENT}, DECIMAL),
        ({BINARY, EXPONENT}, BINARY),
        ({BINARY, DECIMAL, EXPONENT}, BINARY),
    ],
    ids=lambda value: "+".join(sorted(each.value for each in value)) if isinstance(value, set) else value.value,
)
def test_a_sum_is_binary_where_an_addend_is_and_else_decimal(formats: set[Format], expected: Format) -> None:
    """An exponent comes out only where nothing else went in."""
    assert common_format(formats) is expected


@given(st.lists(st.sampled_from(Format), min_size=1, max_size=5))
def test_the_format_of_a_sum_does_not_depend_on_the_order_of_adding(formats: list[Format]) -> None:
    """Formats may be brought together one at a time, or all at once."""
    for order in itertools.permutations(formats):
        so_far = order[0]
        for fmt in order[1:]:
            so_far = common_format({so_far, fmt})
        assert so_far is common_format(set(formats))
