"""Calls of the driver, each within its time: one thread for them, and the end of the process where it hangs."""

from __future__ import annotations

import asyncio
import os
import queue
import sys
import threading
from collections.abc import Callable
from typing import Any, NoReturn, TypeVar

T = TypeVar("T")

_Call = tuple[Callable[[], Any], asyncio.AbstractEventLoop, "asyncio.Future[Any]"]


class Hung(Exception):
    """The driver has not come back in time. It cannot be told to, and the thread is lost with it."""


class Worker:
    """One thread that makes one call after another. A daemon thread: the process ends without waiting for it.

    Not the loop's executor, which a process waits for at its end, and which has many threads to lose.
    """

    def __init__(self, name: str) -> None:
        self._calls: queue.SimpleQueue[_Call] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)
        self._thread.start()

    async def call(self, function: Callable[[], T], *, limit: float) -> T:
        """What `function` returns or raises in the thread. `limit` is in seconds.

        Raises Hung after that time. Where it is cancelled, the call goes on, and what comes of it is dropped.
        """
        loop = asyncio.get_running_loop()
        result: asyncio.Future[T] = loop.create_future()
        self._calls.put((function, loop, result))
        try:
            async with asyncio.timeout(limit):
                return await result
        except TimeoutError as error:
            # Without a result, it is this limit; else it is the function's own error.
            if result.cancelled():
                raise Hung(f"a call of the driver has not come back within {limit:g} s") from error
            raise

    def _run(self) -> None:
        while True:
            function, loop, result = self._calls.get()
            try:
                value = function()
            except BaseException as error:  # noqa: BLE001 - it is the caller's, whatever it is
                _hand_over(loop, result, None, error)
            else:
                _hand_over(loop, result, value, None)


def end_at_once(code: int) -> NoReturn:
    """Without clean-up, which a thread that hangs in the driver may hold up for ever."""
    for stream in (sys.stdout, sys.stderr):
        if stream is not None:
            stream.flush()
    os._exit(code)


def _hand_over(
    loop: asyncio.AbstractEventLoop, result: asyncio.Future[Any], value: Any, error: BaseException | None
) -> None:
    def set_it() -> None:
        if result.done():  # nobody waits any more
            return
        if error is not None:
            result.set_exception(error)
        else:
            result.set_result(value)

    call_in(loop, set_it)


def call_in(loop: asyncio.AbstractEventLoop, function: Callable[[], object]) -> None:
    """In the loop, soon; from any thread. Nothing where the loop has ended meanwhile."""
    try:
        loop.call_soon_threadsafe(function)
    except RuntimeError:
        if not loop.is_closed():
            raise
