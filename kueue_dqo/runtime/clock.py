"""Time, passed in: what people read comes from `now`, every duration from `monotonic`."""

from __future__ import annotations

import asyncio
import datetime
from typing import Protocol


class Clock(Protocol):
    """Waiting is `asyncio.sleep` and `asyncio.timeout`: they follow the same event loop as `monotonic`."""

    def now(self) -> datetime.datetime:
        """The time of day in UTC, for timestamps that people read. It may jump: never subtract two of them."""
        ...

    def monotonic(self) -> float:
        """Seconds of the event loop's clock, which never goes back."""
        ...


class SystemClock:
    """The machine's clock and the running event loop's."""

    def now(self) -> datetime.datetime:
        return datetime.datetime.now(datetime.UTC)

    def monotonic(self) -> float:
        return asyncio.get_running_loop().time()
