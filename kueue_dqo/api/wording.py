"""How messages count and list things."""

from __future__ import annotations

from collections.abc import Iterable


def counted(count: int, noun: str) -> str:
    """`1 queue`, `2 queues`."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def some(texts: Iterable[object], *, at_most: int = 5) -> str:
    """The first few, with commas between them, and how many more there are."""
    listed = [str(text) for text in texts]
    more = len(listed) - at_most
    return ", ".join(listed[:at_most]) + (f" and {more} more" if more > 0 else "")
