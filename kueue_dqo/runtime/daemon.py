"""The life of a daemon's process: it runs until a signal, drains, and says with its exit code how that went."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import threading
from collections.abc import Awaitable, Callable
from types import FrameType
from typing import Any, Final, NoReturn

import structlog

_log: structlog.stdlib.BoundLogger = structlog.get_logger()

EXIT_OK: Final = 0
EXIT_FAILED: Final = 1
_SIGNALS: Final = (signal.SIGTERM, signal.SIGINT)


def run_process(main: Callable[[], Awaitable[int | None]], *, grace: float) -> int:
    """Runs `main` until it ends, or until SIGTERM or SIGINT cancels it. Returns the process's exit code.

    0: it ended, or drained after a signal. 1: it failed, which is logged with its traceback. Or what `main` returned.

    From the signal, or from the end of `main` without one, the process has `grace` seconds. Then it is ended, whatever
    is left: `main` itself, which makes the exit code 1, or tasks and threads that others have left behind. A second
    signal ends it at once, with 128 and the signal's number. Both are without any further clean-up, since what does
    not end would hold that up as well. To be called in the main thread.
    """
    deadline = Deadline(grace)
    try:
        code = asyncio.run(run_until_signalled(main, deadline))
    except BaseException:
        deadline.cancel()
        raise
    # The tasks have ended, and the threads of the loop. Python waits for those of others before the process ends.
    if not deadline.threads():
        deadline.cancel()
    return code


class Deadline:
    """Ends the process some time after it has begun to end. By a thread: the loop may be what is stuck."""

    def __init__(self, grace: float) -> None:
        """`grace` is in seconds. Threads that are there already are none of its business."""
        self.code = EXIT_FAILED
        """What the process ends with, as far as that is known."""
        self.grace: Final = grace
        self._before = set(threading.enumerate())
        self._loop: asyncio.AbstractEventLoop | None = None
        self._timer = threading.Timer(grace, self._end)
        self._timer.daemon = True
        self._timer.name = "deadline"

    def begin(self, loop: asyncio.AbstractEventLoop) -> None:
        """The process is to end from now on. A second call changes nothing."""
        if self._loop is None:
            self._loop = loop
            self._timer.start()

    def cancel(self) -> None:
        """Nothing is left."""
        self._timer.cancel()

    def threads(self) -> list[str]:
        """The names of those that keep the process from ending."""
        mine = {*self._before, self._timer}
        return [each.name for each in threading.enumerate() if each not in mine and not each.daemon]

    def _end(self) -> None:
        assert self._loop is not None  # noqa: S101 - it was begun
        try:
            _log.error(
                "not ended in time, ending at once",
                grace_seconds=self.grace,
                exit_code=self.code,
                tasks=sorted(map(_described, asyncio.all_tasks(self._loop))),
                threads=self.threads(),
            )
        finally:
            _end(self.code)


async def run_until_signalled(main: Callable[[], Awaitable[int | None]], deadline: Deadline) -> int:
    """Runs `main` in the loop, as `run_process` says. Returns the exit code. The deadline has begun by then."""
    loop = asyncio.get_running_loop()
    signalled: asyncio.Future[signal.Signals] = loop.create_future()
    for number in _SIGNALS:
        loop.add_signal_handler(number, _note, signalled, number)
    working = asyncio.ensure_future(main())
    try:
        first: set[asyncio.Future[Any]] = {working, signalled}
        await asyncio.wait(first, return_when=asyncio.FIRST_COMPLETED)
        if not working.done():
            await _drain(working, signalled.result(), deadline)
    finally:
        deadline.begin(loop)
        for number in _SIGNALS:
            loop.remove_signal_handler(number)  # nothing where draining took it over
        if not working.done():
            # This function itself was cancelled.
            working.cancel()
            await asyncio.wait({working})
    deadline.code = _exit_code(working, was_signalled=signalled.done())
    return deadline.code


async def _drain(working: asyncio.Future[int | None], number: signal.Signals, deadline: Deadline) -> None:
    _log.info("signal received, draining", signal=number.name, grace_seconds=deadline.grace)
    deadline.begin(asyncio.get_running_loop())
    for each in _SIGNALS:
        # From here to the end of the process, and not by the loop, which may be what is stuck.
        asyncio.get_running_loop().remove_signal_handler(each)
        signal.signal(each, _end_at_once)
    working.cancel()
    await asyncio.wait({working})


def _exit_code(working: asyncio.Future[int | None], *, was_signalled: bool) -> int:
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
    code = working.result()
    if code:
        return code
    _log.info("drained" if was_signalled else "ended")
    return EXIT_OK


def _described(task: asyncio.Task[Any]) -> str:
    coroutine = task.get_coro()
    return f"{task.get_name()} ({getattr(coroutine, '__qualname__', coroutine)})"


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
