"""A token bucket that holds back writes."""

from __future__ import annotations

import asyncio


class TokenBucket:
    """Lets `burst` requests through at once and `rate` a second after that, in the order in which they came."""

    def __init__(self, *, rate: float, burst: int) -> None:
        if rate <= 0 or burst < 1:
            raise ValueError(f"a rate above 0 and a burst of at least 1 are needed, not {rate:g} and {burst}")
        self._interval = 1 / rate
        self._tolerance = (burst - 1) * self._interval
        self._due = float("-inf")
        """When the bucket will be full again, by the event loop's time."""

    async def take(self) -> None:
        """Returns when a token is there. A caller that is cancelled gives its token back."""
        now = asyncio.get_running_loop().time()
        due = max(self._due, now)
        self._due = due + self._interval
        wait = due - self._tolerance - now
        if wait <= 0:
            return
        try:
            await asyncio.sleep(wait)
        except asyncio.CancelledError:
            self._due -= self._interval
            raise
