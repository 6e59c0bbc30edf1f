"""Calls of the driver in a thread of their own, which may be lost; the loop and the process are not."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import threading

import pytest

from providers.nvidia_gpu.agent.watchdog import Hung, Worker, call_in

LOST = """
import asyncio, threading
from providers.nvidia_gpu.agent.watchdog import Worker, end_at_once

async def main():
    worker = Worker("nvml")
    asyncio.get_running_loop().call_later(0.05, asyncio.current_task().cancel)
    try:
        await worker.call(threading.Event().wait, limit=3600)
    except asyncio.CancelledError:
        print("cancelled")
    if {at_once}:
        end_at_once(7)

asyncio.run(main())
"""


async def test_calls_run_one_after_another_in_one_thread() -> None:
    """Not in the caller's."""
    worker = Worker("nvml")
    threads = await asyncio.gather(*(worker.call(threading.get_ident, limit=60) for _ in range(5)))
    assert len(set(threads)) == 1
    assert threading.get_ident() not in threads


async def test_what_a_call_raises_is_its_callers() -> None:
    """A timeout of its own included, which is no hang."""
    worker = Worker("nvml")

    def fail() -> None:
        raise TimeoutError("of its own")

    with pytest.raises(TimeoutError, match="of its own"):
        await worker.call(fail, limit=60)
    with pytest.raises(ZeroDivisionError):
        await worker.call(lambda: 1 // 0, limit=60)
    assert await worker.call(lambda: 1, limit=60) == 1


async def test_a_call_that_does_not_come_back_is_given_up() -> None:
    """What it returns later is dropped."""
    worker, back = Worker("nvml"), threading.Event()
    with pytest.raises(Hung, match=r"within 0\.01 s"):
        await worker.call(back.wait, limit=0.01)
    back.set()
    assert await worker.call(lambda: "alive", limit=60) == "alive"


@pytest.mark.parametrize(("at_once", "code"), [(False, 0), (True, 7)])
def test_a_process_ends_although_a_call_is_under_way(at_once: bool, code: int) -> None:
    """In order, and at once."""
    program = LOST.format(at_once=at_once)
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (code, "cancelled\n", "")


def test_a_loop_that_has_ended_is_told_nothing() -> None:
    """By a thread that outlives it."""
    loop = asyncio.new_event_loop()
    loop.close()
    call_in(loop, lambda: None)
