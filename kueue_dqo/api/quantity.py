"""Kubernetes quantities: exact amounts of a resource, in the grammar and the canonical form of the API server.

The grammar is that of `k8s.io/apimachinery/pkg/api/resource`: sign, ASCII digits with an optional fraction, then
nothing, a binary suffix (Ki … Ei), a decimal suffix (n u m k M G T P E), or an exponent (`e` or `E` and a signed
integer). Floats appear nowhere: a quantity is a whole number of nanos, the finest step that Kubernetes knows.
"""

from __future__ import annotations

import enum
import functools
import re
from typing import Final

NANOS: Final = 10**9
"""Nanos in one unit."""

LARGEST_UNITS: Final = 2**63 - 1
"""The largest whole value that Kueue's (Go) quantities hold; beyond it they are capped without a word."""

_LONGEST_TEXT: Final = 256
_FURTHEST_EXPONENT: Final = 512
_LARGEST_INTEGER: Final = 10**_FURTHEST_EXPONENT
_SHOWN_TEXT: Final = 40

_BINARY: Final = {"Ki": 1024, "Mi": 1024**2, "Gi": 1024**3, "Ti": 1024**4, "Pi": 1024**5, "Ei": 1024**6}
_DECIMAL: Final = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_DECIMAL_BY_EXPONENT: Final = {exponent: suffix for suffix, exponent in _DECIMAL.items()}
_LARGEST_DECIMAL_EXPONENT: Final = 18

_GRAMMAR: Final = re.compile(
    r"(?P<sign>[+-]?)(?P<whole>[0-9]*)(?:\.(?P<fraction>[0-9]*))?"
    r"(?:(?P<binary>[KMGTPE]i)|(?P<exponent>[eE][+-]?[0-9]+)|(?P<decimal>[numkMGTPE]?))",
    re.ASCII,
)

WAY_OUT: Final = 'write digits with at most one suffix, such as 2, "500m", "1.5", "16Gi", "1e3"'


class QuantityError(ValueError):
    """The value is no Kubernetes quantity; the message shows it and says how to write one."""


class Format(enum.Enum):
    """How a quantity is written. It belongs to the text only: values compare without it."""

    BINARY = "BinarySI"
    DECIMAL = "DecimalSI"
    EXPONENT = "DecimalExponent"


@functools.total_ordering
class Quantity:
    """An exact amount, in nanos, and the format in which it is written back. Equality and order are by value.

    `written` is what stood in the manifest (`1000m`, 8), None for a computed amount: what is restored, is restored as
    its author wrote it.

    Immutable. A plain class and no dataclass, because msgspec decodes those by itself and hands only other types over.
    """

    __slots__ = ("format", "nanos", "written")

    nanos: int
    format: Format
    written: str | float | None

    def __init__(self, nanos: int, fmt: Format = Format.DECIMAL, written: str | float | None = None) -> None:
        """Takes the amount in nanos, the format of its text, and what stood in the manifest."""
        object.__setattr__(self, "nanos", nanos)
        object.__setattr__(self, "format", fmt)
        object.__setattr__(self, "written", written)

    def __setattr__(self, name: str, value: object) -> None:
        """Refused."""
        msg = f"a Quantity does not change: {name}={value!r}"
        raise AttributeError(msg)

    def __delattr__(self, name: str) -> None:
        """Refused."""
        msg = f"a Quantity does not change: {name}"
        raise AttributeError(msg)

    def __reduce__(self) -> tuple[type[Quantity], tuple[int, Format, str | float | None]]:
        """Copies are made by the constructor, since attributes cannot be set."""
        return (Quantity, (self.nanos, self.format, self.written))

    def __eq__(self, other: object) -> bool:
        """By value: `2Gi` equals `2147483648`."""
        return self.nanos == other.nanos if isinstance(other, Quantity) else NotImplemented

    def __lt__(self, other: Quantity) -> bool:
        """By value."""
        return self.nanos < other.nanos

    def __hash__(self) -> int:
        """By value."""
        return hash(self.nanos)

    def __repr__(self) -> str:
        """`Quantity(500m)`."""
        return f"Quantity({self})"

    @classmethod
    def of(cls, value: object) -> Quantity:
        """The quantity that a manifest's value means: a string of the grammar, an integer or a float.

        A float counts as the decimal number that was written (its shortest form), so that 0.29 is 29 hundredths.

        Raises:
            QuantityError: the value is of another type or outside the grammar.
        """
        if isinstance(value, str):
            return _parse(value)
        if isinstance(value, bool) or not isinstance(value, int | float):
            msg = f"{_shown(value)} is no quantity: {WAY_OUT}"
            raise QuantityError(msg)
        if isinstance(value, int):
            if abs(value) > _LARGEST_INTEGER:
                msg = f"an integer of more than {_FURTHEST_EXPONENT} digits is no quantity: {WAY_OUT}"
                raise QuantityError(msg)
            return cls(value * NANOS, written=value)
        return cls(_parse(repr(value)).nanos, written=value)

    def __str__(self) -> str:
        """The canonical form in this quantity's format, as the API server writes it."""
        if self.format is Format.BINARY and abs(self.nanos) >= 1024 * NANOS and self.nanos % NANOS == 0:
            return _binary_text(self.nanos // NANOS)
        return _decimal_text(self.nanos, exponential=self.format is Format.EXPONENT)


def common_format(formats: set[Format]) -> Format:
    """The format of a sum, whatever the order of its addends: binary where one of them is, then decimal."""
    for candidate in (Format.BINARY, Format.DECIMAL):
        if candidate in formats:
            return candidate
    return Format.EXPONENT if formats else Format.DECIMAL


def _binary_text(units: int) -> str:
    suffix = ""
    for candidate in _BINARY:
        if units % 1024:
            break
        units //= 1024
        suffix = candidate
    return f"{units}{suffix}"


def _decimal_text(nanos: int, *, exponential: bool) -> str:
    if nanos == 0:
        return "0"
    mantissa, exponent = nanos, -9
    while mantissa % 1000 == 0 and (exponential or exponent < _LARGEST_DECIMAL_EXPONENT):
        mantissa //= 1000
        exponent += 3
    if not exponential:
        return f"{mantissa}{_DECIMAL_BY_EXPONENT[exponent]}"
    return f"{mantissa}e{exponent}" if exponent else f"{mantissa}"


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= _SHOWN_TEXT else f"{text[:_SHOWN_TEXT]}… ({len(text)} characters)"


@functools.lru_cache(maxsize=4096)
def _parse(text: str) -> Quantity:
    if len(text) > _LONGEST_TEXT:
        msg = f"{_shown(text)} is too long for a quantity: {WAY_OUT}"
        raise QuantityError(msg)
    match = _GRAMMAR.fullmatch(text)
    if match is None or not (match["whole"] or match["fraction"]):
        msg = f"{_shown(text)} is no quantity: {WAY_OUT}"
        raise QuantityError(msg)
    fraction = match["fraction"] or ""
    mantissa = int(f"{match['sign']}{match['whole']}{fraction}")
    places = -len(fraction)
    if match["binary"]:
        return Quantity(_scaled(mantissa * _BINARY[match["binary"]], places + 9), Format.BINARY, text)
    if match["exponent"]:
        exponent = int(match["exponent"][1:])
        if mantissa and abs(exponent) > _FURTHEST_EXPONENT:
            msg = f"{_shown(text)} has an exponent beyond {_FURTHEST_EXPONENT}: {WAY_OUT}"
            raise QuantityError(msg)
        return Quantity(_scaled(mantissa, places + exponent + 9) if mantissa else 0, Format.EXPONENT, text)
    return Quantity(_scaled(mantissa, places + _DECIMAL[match["decimal"]] + 9), Format.DECIMAL, text)


def _scaled(mantissa: int, exponent: int) -> int:
    """mantissa × 10^exponent as an integer; what is finer than a nano is rounded away from zero, as Kubernetes does."""
    if exponent >= 0:
        return int(mantissa * 10**exponent)
    return away_from_zero(mantissa, 10**-exponent)


def away_from_zero(numerator: int, denominator: int) -> int:
    """The quotient, rounded away from zero."""
    return -(-numerator // denominator) if numerator > 0 else numerator // denominator
