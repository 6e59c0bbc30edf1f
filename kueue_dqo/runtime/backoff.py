"""How long to wait before the next try."""

from __future__ import annotations

from random import Random
from typing import Final

FIRST: Final = 0.5
LONGEST: Final = 30.0


class Backoff:
    """Waits that double from `first` to `longest` seconds, each drawn from the whole span below (full jitter).

    Full jitter spreads the replicas and caches that lost their server in the same moment.
    """

    def __init__(self, random: Random, *, first: float = FIRST, longest: float = LONGEST) -> None:
        self._random = random
        self._first = first
        self._longest = longest
        self._failures = 0

    def next(self, *, at_least: float | None = None) -> float:
        """The wait after one more failure, in seconds: not below what the server asked for."""
        span = min(self._longest, self._first * 2.0 ** min(self._failures, 64))
        self._failures += 1
        return self._random.uniform(0, span) + (at_least or 0)

    def reset(self) -> None:
        """Called after a success."""
        self._failures = 0
