"""How long something lasts, as Kubernetes objects write it: `90s`, `10m`, `1h30m`."""

from __future__ import annotations

import functools
import re
from typing import Final

_PART: Final = re.compile(r"([0-9]+)(h|m|s)", re.ASCII)
_WHOLE: Final = re.compile(r"(?:[0-9]+(?:h|m|s))+", re.ASCII)
_SECONDS: Final = {"h": 3600, "m": 60, "s": 1}
_LONGEST_TEXT: Final = 32
LONGEST: Final = 366 * 24 * 3600
"""Seconds. More than a year is a slip of the pen."""


class DurationError(ValueError):
    """The value is no duration; the message shows it and says how to write one."""


@functools.total_ordering
class Duration:
    """A length of time in whole seconds, 0 or more. Immutable; equality and order are by value.

    A plain class, because msgspec decodes those that it knows by itself, and in other grammars.
    """

    __slots__ = ("seconds",)

    seconds: int

    def __init__(self, seconds: int) -> None:
        object.__setattr__(self, "seconds", seconds)

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"a Duration does not change: {name}={value!r}")

    def __reduce__(self) -> tuple[type[Duration], tuple[int]]:
        return (Duration, (self.seconds,))

    def __eq__(self, other: object) -> bool:
        return self.seconds == other.seconds if isinstance(other, Duration) else NotImplemented

    def __lt__(self, other: Duration) -> bool:
        return self.seconds < other.seconds

    def __hash__(self) -> int:
        return hash(self.seconds)

    def __bool__(self) -> bool:
        """Whether it is longer than nothing."""
        return self.seconds > 0

    def __repr__(self) -> str:
        return f"Duration({self})"

    def __str__(self) -> str:
        """The shortest text that means it: `1h30m`, `0s`."""
        hours, rest = divmod(self.seconds, 3600)
        minutes, seconds = divmod(rest, 60)
        parts = [f"{number}{unit}" for number, unit in ((hours, "h"), (minutes, "m"), (seconds, "s")) if number]
        return "".join(parts) or "0s"

    @classmethod
    def of(cls, value: object) -> Duration:
        """The duration that a manifest's value means.

        Raises:
            DurationError: it is no text of whole hours, minutes and seconds, or more than a year.
        """
        if not isinstance(value, str) or len(value) > _LONGEST_TEXT or not _WHOLE.fullmatch(value):
            shown = repr(value) if len(repr(value)) <= 2 * _LONGEST_TEXT else f"{repr(value)[: 2 * _LONGEST_TEXT]}…"
            raise DurationError(f"{shown} is no duration: write whole hours, minutes and seconds, such as 90s or 1h30m")
        seconds = sum(int(number) * _SECONDS[unit] for number, unit in _PART.findall(value))
        if seconds > LONGEST:
            raise DurationError(f"{value!r} is more than a year")
        return cls(seconds)
