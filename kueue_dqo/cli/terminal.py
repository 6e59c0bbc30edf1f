"""Text on its way to a terminal."""

from __future__ import annotations

import re
from typing import Final

_CONTROL: Final = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")


def one_line(text: str) -> str:
    """On one line and without control characters: what stands in a manifest must not steer the terminal."""
    return printable(text.replace("\n", " "))


def printable(text: str) -> str:
    """Without control characters other than line ends and tabs."""
    return _CONTROL.sub("\N{REPLACEMENT CHARACTER}", text)
