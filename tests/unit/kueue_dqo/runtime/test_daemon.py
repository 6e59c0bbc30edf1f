"""Signals and exit codes, with real processes: what a signal does cannot be seen from inside."""

from __future__ import annotations

import asyncio
import contextlib
import json
import signal
import subprocess
import sys
import textwrap
import threading
from collections.abc import Iterator
from typing import Any

import pytest
from structlog.testing import capture_logs

from kueue_dqo.runtime.daemon import Deadline, run_process, run_until_signalled

_PROGRAM = """
import asyncio, sys, threading, time
from kueue_dqo.runtime.daemon import run_process
from kueue_dqo.runtime.logs import configure_logs

def say(text):
    print(text, flush=True)

{main}

configure_logs(level="info", form="json")
code = run_process(main, grace={grace})
say("returned")
sys.exit(code)
"""
_DRAINS = """
async def main():
    say("running")
    try:
        await asyncio.Event().wait()
    finally:
        await asyncio.sleep(0)
        say("cleaned up")
"""
_IS_STUCK = """
async def main():
    say("running")
    while True:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            say("draining")
"""
_BLOCKS_THE_LOOP = """
async def main():
    say("running")
    try:
        await asyncio.Event().wait()
    finally:
        say("draining")
        while True:
            time.sleep(0.01)
"""
_FAILS_TO_DRAIN = """
async def main():
    say("running")
    try:
        await asyncio.Event().wait()
    finally:
        raise RuntimeError("cannot drain")
"""


_LEAVES_A_THREAD_OF_THE_LOOP = """
async def main():
    asyncio.get_running_loop().run_in_executor(None, time.sleep, 600)
    say("running")
    await asyncio.Event().wait()
"""
_LEAVES_A_THREAD = """
async def main():
    threading.Thread(target=time.sleep, args=(600,), name="of a library").start()
    say("running")
    await asyncio.Event().wait()
"""
_LEAVES_A_TASK = """
async def deaf():
    while True:
        try:
            await asyncio.sleep(600)
        except asyncio.CancelledError:
            say("cancelled")

async def main():
    global task
    task = asyncio.create_task(deaf(), name="deaf")
    await asyncio.sleep(0)
    say("running")
    await asyncio.Event().wait()
"""


@pytest.fixture
def deadline() -> Iterator[Deadline]:
    """One that ends nothing: it is over with the test."""
    deadline = Deadline(600)
    yield deadline
    deadline.cancel()


@contextlib.contextmanager
def _daemon(main: str, *, grace: float = 600) -> Iterator[subprocess.Popen[str]]:
    program = _PROGRAM.format(main=textwrap.dedent(main), grace=grace)
    with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True) as process:
        try:
            _wait_for(process, "running")
            yield process
        finally:
            process.kill()


def _wait_for(process: subprocess.Popen[str], text: str) -> None:
    assert process.stdout is not None
    for line in process.stdout:
        if line.strip() == text:
            return
    pytest.fail(f"the process ended without saying {text!r}")


def _rest(process: subprocess.Popen[str]) -> tuple[int, list[str], list[dict[str, Any]]]:
    """The exit code, what the program said, and its log lines."""
    assert process.stdout is not None
    # Not `communicate`: it would lose what was read ahead with an earlier line.
    limit = threading.Timer(60, process.kill)
    limit.start()
    try:
        lines = process.stdout.read().splitlines()
        process.wait()
    finally:
        limit.cancel()
    logs = [json.loads(line) for line in lines if line.startswith("{")]
    return process.returncode, [line for line in lines if not line.startswith("{")], logs


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_drains_and_that_is_success(number: signal.Signals) -> None:
    with _daemon(_DRAINS) as process:
        process.send_signal(number)
        code, said, logs = _rest(process)
    assert (code, said) == (0, ["cleaned up", "returned"])
    assert [(line["event"], line.get("signal")) for line in logs] == [
        ("signal received, draining", number.name),
        ("drained", None),
    ]


@pytest.mark.parametrize("main", [_IS_STUCK, _BLOCKS_THE_LOOP])
@pytest.mark.parametrize("second", [signal.SIGTERM, signal.SIGINT])
def test_a_second_signal_ends_at_once_whatever_is_stuck(main: str, second: signal.Signals) -> None:
    with _daemon(main) as process:
        process.send_signal(signal.SIGTERM)
        _wait_for(process, "draining")
        process.send_signal(second)
        code, said, _ = _rest(process)
    assert (code, said) == (128 + second, [])


def test_what_does_not_drain_within_its_grace_is_ended_and_that_is_a_failure() -> None:
    with _daemon(_IS_STUCK, grace=0.05) as process:
        process.send_signal(signal.SIGTERM)
        code, said, logs = _rest(process)
    assert (code, said) == (1, ["draining"])
    assert logs[-1]["event"] == "not ended in time, ending at once"
    assert any(task.endswith(" (main)") for task in logs[-1]["tasks"])


def test_work_that_blocks_the_loop_is_ended_by_its_grace_as_well() -> None:
    with _daemon(_BLOCKS_THE_LOOP, grace=0.05) as process:
        process.send_signal(signal.SIGTERM)
        code, _, logs = _rest(process)
    assert code == 1
    assert logs[-1]["event"] == "not ended in time, ending at once"


@pytest.mark.parametrize(
    ("main", "tasks", "threads"),
    [
        (_LEAVES_A_THREAD_OF_THE_LOOP, [], ["asyncio_0"]),
        (_LEAVES_A_THREAD, [], ["of a library"]),
        (_LEAVES_A_TASK, ["deaf (deaf)"], []),
    ],
    ids=["thread of the loop", "thread", "task"],
)
@pytest.mark.parametrize("ends", ["SIGTERM", "by itself"])
def test_what_others_leave_behind_holds_the_process_up_for_no_longer_than_its_grace(
    main: str, tasks: list[str], threads: list[str], ends: str
) -> None:
    """It has drained, so its exit code is that of a success; and it is said what was left."""
    program = main if ends == "SIGTERM" else main.replace("await asyncio.Event().wait()", "pass")
    with _daemon(program, grace=0.5) as process:
        if ends == "SIGTERM":
            process.send_signal(signal.SIGTERM)
        code, _, logs = _rest(process)
    assert code == 0
    assert [line["event"] for line in logs[-2:]] == [
        "drained" if ends == "SIGTERM" else "ended",
        "not ended in time, ending at once",
    ]
    assert set(tasks) <= set(logs[-1]["tasks"])
    assert set(threads) <= set(logs[-1]["threads"])  # with that of asyncio which waits for them
    assert logs[-1]["exit_code"] == 0


def test_a_process_that_leaves_nothing_behind_is_not_ended_later() -> None:
    async def main() -> None:
        await asyncio.to_thread(int)

    before = set(threading.enumerate())
    with capture_logs():
        assert run_process(main, grace=600) == 0
    for thread in set(threading.enumerate()) - before:
        thread.join()  # the deadline's, which was cancelled


def test_the_work_may_name_its_exit_code() -> None:
    async def main() -> int:
        await asyncio.sleep(0)
        return 3

    with capture_logs() as logs:
        assert run_process(main, grace=600) == 3
    assert logs == []


def test_an_error_while_draining_is_logged_and_a_failure() -> None:
    with _daemon(_FAILS_TO_DRAIN) as process:
        process.send_signal(signal.SIGTERM)
        code, _, logs = _rest(process)
    assert code == 1
    assert logs[-1]["event"] == "failed"
    assert logs[-1]["exception"].endswith("RuntimeError: cannot drain")


async def test_a_crash_is_logged_with_its_traceback_and_a_failure(deadline: Deadline) -> None:
    async def main() -> None:
        await asyncio.sleep(0)
        raise RuntimeError("crashed")

    with capture_logs() as logs:
        assert await run_until_signalled(main, deadline) == 1
    assert [str(line["exc_info"]) for line in logs] == ["crashed"]


async def test_work_that_comes_to_its_end_is_success(deadline: Deadline) -> None:
    async def main() -> None:
        await asyncio.sleep(0)

    with capture_logs():
        assert await run_until_signalled(main, deadline) == 0


async def test_work_that_is_cancelled_without_a_signal_is_a_failure(deadline: Deadline) -> None:
    async def main() -> None:
        raise asyncio.CancelledError

    with capture_logs() as logs:
        assert await run_until_signalled(main, deadline) == 1
    assert logs[0]["log_level"] == "error"


async def test_a_caller_that_is_cancelled_takes_the_work_along(deadline: Deadline) -> None:
    cleaned = False

    async def main() -> None:
        nonlocal cleaned
        try:
            await asyncio.Event().wait()
        finally:
            await asyncio.sleep(0)
            cleaned = True

    running = asyncio.create_task(run_until_signalled(main, deadline))
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert cleaned
