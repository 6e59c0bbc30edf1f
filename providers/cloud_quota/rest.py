"""How long nothing is asked after a cloud has refused calls for their number."""

from __future__ import annotations

from random import Random
from typing import Final

FIRST: Final = 15.0
"""Seconds. Each further refusal doubles them."""
LONGEST: Final = 300.0
_JITTER: Final = 0.1


class Rest:
    """Of what a cloud counts together. Times are in seconds of whatever clock the caller keeps to.

    Many that rest do not stay in step.
    """

    def __init__(self, random: Random) -> None:
        self._random = random
        self._length = 0.0
        self._until = float("-inf")

    def begin(self, now: float) -> None:
        """Calls were refused. Those refused beside each other make one rest."""
        if now < self._until:
            return
        self._length = min(2 * self._length, LONGEST) if self._length else FIRST
        self._until = now + self._length * self._random.uniform(1 - _JITTER, 1 + _JITTER)

    def left(self, now: float) -> float:
        """Seconds for which nothing may be asked; 0 where it may."""
        return max(0.0, self._until - now)

    def forget(self) -> None:
        """Something was asked since and nothing refused: the next rest is a short one again."""
        self._length = 0.0
