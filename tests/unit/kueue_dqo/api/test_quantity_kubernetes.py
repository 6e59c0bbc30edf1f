"""Quantities against Kubernetes' own: what its parser made of each text in `quantities.tsv`."""

from __future__ import annotations

import json
from collections import Counter
from fractions import Fraction
from pathlib import Path
from typing import Final, NamedTuple

import pytest

from kueue_dqo.api.quantity import LARGEST_UNITS, NANOS, Format, Quantity, QuantityError


class Line(NamedTuple):
    """A text and what Kubernetes made of it; no format, canonical form or value where it was refused."""

    text: str
    verdict: str
    format: str = ""
    canonical: str = ""
    unscaled: str = "0"
    scale: str = "0"
    difference: str = ""

    @property
    def nanos(self) -> Fraction:
        """The value that Kubernetes has for it."""
        return Fraction(int(self.unscaled)) / Fraction(10) ** int(self.scale) * NANOS


def _read() -> list[Line]:
    lines = (Path(__file__).parent / "quantities.tsv").read_text(encoding="utf-8").splitlines()
    cells = [line.split("\t") for line in lines if not line.startswith("#")]
    return [Line(json.loads(text), *rest) for text, *rest in cells]


LINES: Final = _read()


def test_all_lines_are_here() -> None:
    """A lost file, or a line that lost its mark, must not look like success."""
    assert len({line.text for line in LINES}) == len(LINES) == 845
    assert Counter((line.verdict, line.difference) for line in LINES) == {
        ("accepted", ""): 599,
        ("refused", ""): 185,
        ("accepted", "no digits"): 33,
        ("accepted", "no suffix"): 11,
        ("accepted", "capped"): 10,
        ("accepted", "exponent"): 4,
        ("accepted", "below one"): 3,
    }


@pytest.mark.parametrize("line", LINES, ids=lambda line: ascii(line.text))
def test_a_text_is_read_and_written_as_kubernetes_does(line: Line) -> None:
    """Verdict, exact value, format and canonical form are the same, but for these differences, each on purpose.

    - `no digits`: Kubernetes' parser takes `.`, `+` and `Ki` for 0. Its own description of the grammar and the pattern
      in its resource definitions refuse them, and so do we.
    - `exponent`: beyond 512 it is refused here. Kubernetes keeps the lower 32 bits of it, whatever they are.
    - `capped`: Kubernetes caps a binary quantity at 2^63-1 without a word. Here it keeps its value.
    - `no suffix`: for want of a suffix above E, Kubernetes writes `1000E` as `1`. Here it stays 1000E.
    - `below one`: Kubernetes calls a binary quantity between 0 and 1 decimal. Here only its text is.
    """
    if line.verdict == "refused" or line.difference in {"no digits", "exponent"}:
        with pytest.raises(QuantityError):
            Quantity.of(line.text)
        return
    quantity = Quantity.of(line.text)
    if line.difference == "capped":
        assert abs(line.nanos) == LARGEST_UNITS * NANOS < abs(quantity.nanos)
        assert (line.nanos < 0) == (quantity.nanos < 0)
        assert str(quantity).endswith("i")
        return
    assert quantity.nanos == line.nanos
    assert str(quantity) == (f"{line.nanos / NANOS / 10**18}E" if line.difference == "no suffix" else line.canonical)
    assert quantity.format is (Format.BINARY if line.difference == "below one" else Format(line.format))
