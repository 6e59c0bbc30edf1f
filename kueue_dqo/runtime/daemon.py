"""The life of a daemon's process: it runs until a signal, drains, and says with its exit code how that went."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import Awaitable, Callable
from types import FrameType
from typing import Any, Final, NoReturn

import structlog

_log: structlog.stdlib.BoundLogger = structlog.get_logger()

EXIT_OK: Final = 0
EXIT_FAILED: Final = 1
_SIGNALS: Final = (signal.SIGTERM, signal.SIGINT)


async def run_until_signalled(main: Callable[[], Awaitable[None]], *, grace: float) -> int:
    """Runs `main` until it ends, or until SIGTERM or SIGINT cancels it. Returns the process's exit code.

    0: it ended, or drained after a signal. 1: it failed, which is logged with its traceback. It has `grace` seconds
    to drain; if it takes longer, the process ends at once with 1, and after a second signal with 128 and the signal's
    number. Both end it without any further clean-up, since what does not drain would hold that up as well. To be
    called in the main thread.
    """
    loop = asyncio.get_running_loop()
    signalled: asyncio.Future[signal.Signals] = loop.create_future()
    for number in _SIGNALS:
        loop.add_signal_handler(number, _note, signalled, number)
    working = asyncio.ensure_future(main())
    try:
        first: set[asyncio.Future[Any]] = {working, signalled}
        await asyncio.wait(first, return_when=asyncio.FIRST_COMPLETED)
        if not working.done():
            await _drain(working, signalled.result(), grace=grace)
    finally:
        for number in _SIGNALS:
            loop.remove_signal_handler(number)  # nothing where draining took it over
        if not working.done():
            # This function itself was cancelled.
            working.cancel()
            await asyncio.wait({working})
    return _exit_code(working, was_signalled=signalled.done())


async def _drain(working: asyncio.Future[None], number: signal.Signals, *, grace: float) -> None:
    _log.info("signal received, draining", signal=number.name, grace_seconds=grace)
    for each in _SIGNALS:
        # From here to the end of the process, and not by the loop, which may be what is stuck.
        asyncio.get_running_loop().remove_signal_handler(each)
        signal.signal(each, _end_at_once)
    working.cancel()
    await asyncio.wait({working}, timeout=grace)
    if not working.done():
        _log.error("not drained in time, ending at once", grace_seconds=grace)
        _end(EXIT_FAILED)


def _exit_code(working: asyncio.Future[None], *, was_signalled: bool) -> int:
    if working.cancelled():
        if was_signalled:
            _log.info("drained")
            return EXIT_OK
        _log.error("ended by a cancellation that no signal asked for")
        return EXIT_FAILED
    error = working.exception()
    if error is not None:
        _log.error("failed", exc_info=error)
        return EXIT_FAILED
    _log.info("drained" if was_signalled else "ended")
    return EXIT_OK


def _note(signalled: asyncio.Future[signal.Signals], number: signal.Signals) -> None:
    if signalled.done():
        _end(_after_signal(number))
    signalled.set_result(number)


def _end_at_once(number: int, frame: FrameType | None) -> NoReturn:
    del frame
    _end(_after_signal(number))


def _after_signal(number: int) -> int:
    """The exit code by which a shell reports a process that a signal ended."""
    return 128 + number


def _end(code: int) -> NoReturn:
    """Not by `sys.exit`, which waits for threads, nor by the signal itself, which process 1 of a container ignores."""
    for stream in (sys.stdout, sys.stderr):
        if stream is not None:
            stream.flush()
    os._exit(code)
