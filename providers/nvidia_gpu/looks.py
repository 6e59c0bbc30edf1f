"""When to ask to be asked: at once after a change, and then not again for a while, however much changes."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Final

PAUSE: Final = 2.0
"""Seconds. An accident on many nodes comes as many reports, and each look counts all of them."""


class Looks:
    """Calls `look` for changes: for the first of a burst at once, for the others together after the pause."""

    def __init__(self, look: Callable[[], None], *, pause: float = PAUSE) -> None:
        self._look = look
        self._pause = pause
        self._changed = asyncio.Event()

    def want(self) -> None:
        """Something changed."""
        self._changed.set()

    async def run(self) -> None:
        """Goes on until it is cancelled."""
        while True:
            await self._changed.wait()
            self._changed.clear()
            self._look()
            await asyncio.sleep(self._pause)
