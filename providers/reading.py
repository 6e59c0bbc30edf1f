"""Whether a cache can be trusted, or why not: a source that was not read whole is not a source with nothing in it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Any, Final

from kueue_dqo.provider import SourceUnavailable
from kueue_dqo.runtime.cache import Cache
from kueue_dqo.runtime.clock import Clock

_PATIENCE: Final = 45.0
"""Seconds from its beginning that a first list may take: less than a question has (`--observe-timeout`)."""
_PATIENCE_WITH_FAILURE: Final = 10.0
"""The same where the API server has refused it, or could not be reached."""
_BLIND_AT_MOST: Final = 60.0
"""Seconds without any news. Watches break off now and then; what is held is good meanwhile."""
_STEP: Final = 0.5
_MARGIN: Final = 0.001
"""Seconds. Whoever looks again must find that time has passed."""


class Reading:
    """A cache as somebody sees it who is asked what is in it."""

    def __init__(self, cache: Cache[Any], clock: Clock, *, way_out: str) -> None:
        """`way_out` is what to do where the API server does not allow it."""
        self._cache = cache
        self._clock = clock
        self._way_out = way_out
        self._began = clock.monotonic()
        self._first_problem = cache.problem

    async def wait(self) -> None:
        """Returns when the cache has been read whole, and follows the API server.

        A question that comes late waits no more: the failure is known by then, and so is the end of it, which is a
        reason to ask anew.

        Raises:
            SourceUnavailable: it was not read in time, or is not followed any more.
        """
        cache = self._cache
        while not cache.is_synced:
            is_failing = cache.problem not in (None, self._first_problem)
            left = self._began + (_PATIENCE_WITH_FAILURE if is_failing else _PATIENCE) - self._clock.monotonic()
            if left <= 0:
                raise self._unavailable()
            try:
                async with asyncio.timeout(min(left, _STEP)):
                    await cache.wait_synced()
            except TimeoutError:
                continue
        self.require()

    def require(self) -> None:
        """Raises SourceUnavailable where it is not good."""
        if not self.is_good:
            raise self._unavailable()

    @property
    def is_good(self) -> bool:
        """Whether the cache has been read whole, and follows the API server or did so not long ago."""
        return self._cache.is_synced and (self._cache.problem is None or self._silence() <= _BLIND_AT_MOST)

    @property
    def good_for(self) -> float | None:
        """Seconds until it is not good any more unless there is news; None where that does not come by itself."""
        if self._cache.problem is None or not self.is_good:
            return None
        return _BLIND_AT_MOST - self._silence() + _MARGIN

    def _silence(self) -> float:
        last = self._cache.last_contact
        return self._clock.monotonic() - (self._began if last is None else last)

    def _unavailable(self) -> SourceUnavailable:
        plural = self._cache.resource.plural
        problem = self._cache.problem or "the list has not come to its end"
        return SourceUnavailable(f"{plural} could not be read: {problem}; {self._way_out}")


async def follow(readings: Sequence[Reading], following: asyncio.Event, look: Callable[[], None]) -> None:
    """Calls `look` whenever all become good, and when one of them is not any more, until it is cancelled.

    `following` is set after every change of what the caches say of themselves.
    """
    was_good = all(reading.is_good for reading in readings)
    while True:
        following.clear()
        is_good = all(reading.is_good for reading in readings)
        if is_good is not was_good:
            was_good = is_good
            look()
        until_blind = [each for each in (reading.good_for for reading in readings) if each is not None]
        try:
            async with asyncio.timeout(min(until_blind, default=None)):
                await following.wait()
        except TimeoutError:
            continue
