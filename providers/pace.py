"""When a provider is looked at again though nothing was heard of it. All times are in seconds."""

from __future__ import annotations

from random import Random
from typing import Final

PAUSE: Final = 0.5
"""Between the end of a look at a provider and the next one: a change in the cluster comes as many events."""
_FIRST_RETRY: Final = 1.0
_JITTER: Final = 0.1


class Pace:
    """Providers that began together do not stay in step."""

    def __init__(self, interval: float, random: Random) -> None:
        self._interval = interval
        self._random = random

    def next(self, again: float | None) -> float:
        """After a success: the interval, up to a tenth more or less, or sooner where the answer will be another one."""
        wait = self._interval * self._random.uniform(1 - _JITTER, 1 + _JITTER)
        return wait if again is None else max(min(wait, again), PAUSE)

    def after(self, failures: int) -> float:
        """After so many failures in a row: from 1 s to the interval, less a random part of up to a half."""
        wait = min(_FIRST_RETRY * 2.0 ** min(failures - 1, 64), self._interval)
        return wait * self._random.uniform(0.5, 1.0)
