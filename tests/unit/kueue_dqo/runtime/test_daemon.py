"""Signals and exit codes, with real processes: what a signal does cannot be seen from inside."""

from __future__ import annotations

import asyncio
import contextlib
import json
import signal
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from typing import Any

import pytest
from structlog.testing import capture_logs

from kueue_dqo.runtime.daemon import run_until_signalled

_PROGRAM = """
import asyncio, sys, time
from kueue_dqo.runtime.daemon import run_until_signalled
from kueue_dqo.runtime.logs import configure_logs

def say(text):
    print(text, flush=True)

{main}

configure_logs(level="info", form="json")
code = asyncio.run(run_until_signalled(main, grace={grace}))
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
    out, _ = process.communicate(timeout=60)
    lines = out.splitlines()
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
    assert logs[-1]["event"] == "not drained in time, ending at once"


def test_an_error_while_draining_is_logged_and_a_failure() -> None:
    with _daemon(_FAILS_TO_DRAIN) as process:
        process.send_signal(signal.SIGTERM)
        code, _, logs = _rest(process)
    assert code == 1
    assert logs[-1]["event"] == "failed"
    assert logs[-1]["exception"].endswith("RuntimeError: cannot drain")


async def test_a_crash_is_logged_with_its_traceback_and_a_failure() -> None:
    async def main() -> None:
        await asyncio.sleep(0)
        raise RuntimeError("crashed")

    with capture_logs() as logs:
        assert await run_until_signalled(main, grace=1) == 1
    assert [str(line["exc_info"]) for line in logs] == ["crashed"]


async def test_work_that_comes_to_its_end_is_success() -> None:
    async def main() -> None:
        await asyncio.sleep(0)

    with capture_logs():
        assert await run_until_signalled(main, grace=1) == 0


async def test_work_that_is_cancelled_without_a_signal_is_a_failure() -> None:
    async def main() -> None:
        raise asyncio.CancelledError

    with capture_logs() as logs:
        assert await run_until_signalled(main, grace=1) == 1
    assert logs[0]["log_level"] == "error"


async def test_a_caller_that_is_cancelled_takes_the_work_along() -> None:
    cleaned = False

    async def main() -> None:
        nonlocal cleaned
        try:
            await asyncio.Event().wait()
        finally:
            await asyncio.sleep(0)
            cleaned = True

    running = asyncio.create_task(run_until_signalled(main, grace=1))
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert cleaned
