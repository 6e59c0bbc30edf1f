"""A clock on the event loop's virtual time, and a loop that has it outside of pytest's own."""

from __future__ import annotations

import asyncio
import datetime
from collections.abc import Coroutine
from typing import Any, TypeVar

import looptime

T = TypeVar("T")

EPOCH = datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC)


class VirtualClock:
    """The loop's time; `skew` seconds off for people, and `stall` seconds further than the loop has noticed."""

    def __init__(self, skew: float = 0.0) -> None:
        self.skew = skew
        self.stall = 0.0

    def now(self) -> datetime.datetime:
        return EPOCH + datetime.timedelta(seconds=self.monotonic() + self.skew)

    def monotonic(self) -> float:
        return asyncio.get_running_loop().time() + self.stall


def run_in_virtual_time(main: Coroutine[Any, Any, T]) -> T:
    """For properties, which hypothesis runs many times within one test."""
    # Nothing here waits for the outside, so that time may go on as soon as no callback is left.
    with asyncio.Runner(loop_factory=lambda: looptime.new_event_loop(noop_cycles=1)) as runner:
        return runner.run(main)
