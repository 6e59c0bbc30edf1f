"""The reconcile loop: it survives every exception, retries, and ends when it is told to."""

from __future__ import annotations

import asyncio
import itertools
import random
from collections.abc import Awaitable, Callable

import pytest
import structlog
from prometheus_client import CollectorRegistry
from structlog.testing import capture_logs

from kueue_dqo.runtime.controller import Controller, ControllerMetrics, Result
from kueue_dqo.runtime.errors import Unreachable
from kueue_dqo.runtime.workqueue import QueueMetrics, WorkQueue
from tests.unit.kueue_dqo.runtime.virtual_time import VirtualClock

pytestmark = pytest.mark.looptime

DONE = Result()


class Loop:
    """A controller with its queue and registry."""

    def __init__(self, reconcile: Callable[[str], Awaitable[Result]], workers: int = 1) -> None:
        self.registry = CollectorRegistry()
        clock = VirtualClock()
        self.queue: WorkQueue[str] = WorkQueue(
            "test", clock=clock, random=random.Random(1), metrics=QueueMetrics(self.registry), base_delay=1
        )
        self.controller = Controller(
            "test",
            reconcile,
            queue=self.queue,
            clock=clock,
            metrics=ControllerMetrics(self.registry),
            workers=workers,
        )

    async def run_for(self, seconds: float) -> None:
        """Runs it, and expects it not to end by itself."""
        running = asyncio.create_task(self.controller.run())
        await asyncio.wait({running}, timeout=seconds)
        assert not running.done()
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running

    def value(self, name: str, **labels: str) -> float | None:
        return self.registry.get_sample_value(f"controller_runtime_{name}", {"controller": "test"} | labels)


async def test_a_key_that_did_well_is_not_called_again() -> None:
    calls: list[str] = []

    async def reconcile(key: str) -> Result:
        calls.append(key)
        return DONE

    loop = Loop(reconcile)
    loop.queue.add("a")
    loop.queue.add("b")
    await loop.run_for(1000)
    assert calls == ["a", "b"]
    assert loop.value("reconcile_total", result="success") == 2


async def test_a_failing_key_is_retried_more_and_more_slowly_while_the_others_go_on() -> None:
    calls: list[tuple[str, float]] = []

    async def reconcile(key: str) -> Result:
        calls.append((key, asyncio.get_running_loop().time()))
        if key == "bad":
            raise RuntimeError("broken")
        return Result(requeue_after=10)

    loop = Loop(reconcile)
    loop.queue.add("bad")
    loop.queue.add("good")
    with capture_logs():
        await loop.run_for(101)
    assert len([key for key, _ in calls if key == "good"]) == 11
    times = [time for key, time in calls if key == "bad"]
    gaps = [after - before for before, after in itertools.pairwise(times)]
    assert len(gaps) >= 5
    assert all(2**failures / 2 <= gap <= 2**failures + 0.001 for failures, gap in enumerate(gaps))


async def test_each_failure_is_logged_once_with_key_delay_and_traceback() -> None:
    async def reconcile(key: str) -> Result:
        raise RuntimeError(f"{key} is broken")

    loop = Loop(reconcile)
    loop.queue.add("a")
    with capture_logs(processors=[structlog.contextvars.merge_contextvars]) as logs:
        await loop.run_for(0.1)
    (line,) = logs
    assert line["event"] == "reconcile failed"
    assert (line["log_level"], line["controller"], line["key"], line["failures"]) == ("error", "test", "a", 1)
    assert 0.5 <= line["retry_in_seconds"] <= 1
    assert str(line["exc_info"]) == "a is broken"


async def test_what_passes_by_itself_is_a_warning_without_traceback() -> None:
    async def reconcile(_: str) -> Result:
        raise Unreachable("refused", method="GET", path="/x", may_have_landed=False)

    loop = Loop(reconcile)
    loop.queue.add("a")
    with capture_logs() as logs:
        await loop.run_for(0.1)
    assert [(line["log_level"], line["error"]) for line in logs] == [("warning", "GET /x: refused")]
    assert "exc_info" not in logs[0]


async def test_a_cancellation_from_inside_is_a_failure_of_that_key_alone() -> None:
    calls = 0

    async def reconcile(_: str) -> Result:
        nonlocal calls
        calls += 1
        inner = asyncio.create_task(asyncio.sleep(1))
        inner.cancel()
        await inner
        return DONE

    loop = Loop(reconcile)
    loop.queue.add("a")
    with capture_logs() as logs:
        await loop.run_for(10)
    assert calls > 2
    assert len(logs) == calls


async def test_cancellation_waits_until_the_running_reconcile_has_cleaned_up() -> None:
    cleaned = False

    async def reconcile(_: str) -> Result:
        nonlocal cleaned
        try:
            await asyncio.sleep(1000)
        finally:
            await asyncio.sleep(5)
            cleaned = True
        return DONE

    loop = Loop(reconcile)
    loop.queue.add("a")
    await loop.run_for(10)
    assert cleaned
    assert loop.value("active_workers") == 0


async def test_cancellation_ends_the_loop_although_a_reconcile_swallows_it() -> None:
    calls = 0

    async def reconcile(_: str) -> Result:
        nonlocal calls
        calls += 1
        try:
            await asyncio.sleep(1000)
        except asyncio.CancelledError:
            return DONE
        return DONE

    loop = Loop(reconcile)
    loop.queue.add("a")
    loop.queue.add("b")
    await loop.run_for(10)
    assert calls == 1


async def test_an_error_while_it_is_cancelled_is_logged_and_ends_the_loop() -> None:
    async def reconcile(_: str) -> Result:
        try:
            await asyncio.sleep(1000)
        finally:
            raise RuntimeError("cannot clean up")

    loop = Loop(reconcile)
    loop.queue.add("a")
    with capture_logs() as logs:
        await loop.run_for(10)
    assert [str(line["exc_info"]) for line in logs] == ["cannot clean up"]


async def test_several_workers_run_at_the_same_time_and_never_on_one_key() -> None:
    busy: list[str] = []
    most = 0

    async def reconcile(key: str) -> Result:
        nonlocal most
        assert key not in busy
        busy.append(key)
        most = max(most, len(busy))
        loop.queue.add(key)
        await asyncio.sleep(1)
        busy.remove(key)
        return DONE

    loop = Loop(reconcile, workers=3)
    for key in "abcde":
        loop.queue.add(key)
    await loop.run_for(20)
    assert most == 3
    assert loop.value("max_concurrent_reconciles") == 3
    assert loop.value("reconcile_errors_total") == 0


async def test_wishing_to_come_again_at_once_slows_down_and_counts_as_requeue() -> None:
    calls = 0

    async def reconcile(_: str) -> Result:
        nonlocal calls
        calls += 1
        return Result(requeue_after=0)

    loop = Loop(reconcile)
    loop.queue.add("a")
    await loop.run_for(63.5)
    assert 6 <= calls <= 8
    assert loop.value("reconcile_total", result="requeue") == calls


async def test_a_shut_down_queue_ends_the_loop() -> None:
    async def reconcile(_: str) -> Result:
        return DONE

    loop = Loop(reconcile, workers=2)
    loop.queue.add("a")
    loop.queue.shut_down()
    await loop.controller.run()
    assert loop.value("reconcile_total", result="success") == 1


async def test_metrics_have_the_names_and_labels_of_controller_runtime() -> None:
    async def reconcile(key: str) -> Result:
        assert loop.value("active_workers") == 1
        await asyncio.sleep(2)
        if key == "bad":
            raise RuntimeError
        return Result(requeue_after=500)

    loop = Loop(reconcile)
    results = ("success", "error", "requeue", "requeue_after")
    assert [loop.value("reconcile_total", result=result) for result in results] == [0, 0, 0, 0]
    loop.queue.add("good")
    loop.queue.add("bad")
    with capture_logs():
        await loop.run_for(4.2)
    assert [loop.value("reconcile_total", result=result) for result in results] == [0, 1, 0, 1]
    assert loop.value("reconcile_errors_total") == 1
    assert loop.value("reconcile_time_seconds_count") == 2
    assert loop.value("reconcile_time_seconds_sum") == pytest.approx(4)
    assert loop.value("active_workers") == 0


def test_a_controller_without_workers_is_refused() -> None:
    async def reconcile(_: str) -> Result:
        return DONE

    with pytest.raises(ValueError, match="0 workers"):
        Loop(reconcile, workers=0)
