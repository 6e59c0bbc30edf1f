"""How messages count and list things."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final


def counted(count: int, noun: str) -> str:
    """`1 queue`, `2 queues`."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


LONGEST_MESSAGE: Final = 32_768
"""Characters that the API server takes in the message of a condition; a longer one costs the whole status."""


def message_of(text: str) -> str:
    """The text as the message of a condition: cut, and said to be, where it is too long."""
    if len(text) <= LONGEST_MESSAGE:
        return text
    note = f" … (cut; {len(text)} characters)"
    return text[: LONGEST_MESSAGE - len(note)] + note


def some(texts: Iterable[object], *, at_most: int = 5) -> str:
    """The first few, with commas between them, and how many more there are."""
    listed = [str(text) for text in texts]
    more = len(listed) - at_most
    return ", ".join(listed[:at_most]) + (f" and {more} more" if more > 0 else "")
