"""The work queue: no lost key, no key with two workers, delays, shutting down, metrics."""

from __future__ import annotations

import asyncio
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from prometheus_client import CollectorRegistry

from kueue_dqo.runtime.workqueue import QueueMetrics, QueueShutDown, WorkQueue
from tests.unit.kueue_dqo.runtime.virtual_time import VirtualClock, run_in_virtual_time

pytestmark = pytest.mark.looptime


def _queue(
    registry: CollectorRegistry | None = None, *, base_delay: float = 1.0, max_delay: float = 100.0
) -> WorkQueue[str]:
    return WorkQueue(
        "test",
        clock=VirtualClock(),
        random=random.Random(1),
        metrics=QueueMetrics(registry or CollectorRegistry()),
        base_delay=base_delay,
        max_delay=max_delay,
    )


async def _taken(queue: WorkQueue[str]) -> str:
    """The next key, worked on in no time."""
    key = await queue.get()
    queue.done(key)
    return key


async def test_keys_come_in_the_order_in_which_they_were_added_and_once_each() -> None:
    queue = _queue()
    for key in "abacab":
        queue.add(key)
    assert [await _taken(queue) for _ in range(len(queue))] == ["a", "b", "c"]


async def test_a_waiting_worker_gets_a_key_that_is_added_later() -> None:
    queue = _queue()
    worker = asyncio.create_task(queue.get())
    await asyncio.sleep(1)
    queue.add("a")
    assert await worker == "a"


async def test_a_key_that_is_added_while_it_is_processed_comes_again_after_that_and_not_before() -> None:
    queue = _queue()
    queue.add("a")
    await queue.get()
    queue.add("a")
    queue.add("a")
    assert len(queue) == 0
    queue.done("a")
    assert len(queue) == 1
    assert await _taken(queue) == "a"
    assert len(queue) == 0


async def test_a_cancelled_worker_takes_no_key_along() -> None:
    queue = _queue()
    waiting = [asyncio.create_task(queue.get()) for _ in range(2)]
    await asyncio.sleep(1)
    queue.add("a")
    waiting[0].cancel()
    assert await waiting[1] == "a"


async def test_a_delayed_key_comes_at_the_earliest_of_its_times(looptime: float) -> None:
    queue = _queue()
    queue.add_after("a", 10)
    queue.add_after("a", 5)
    queue.add_after("a", 7)
    assert await _taken(queue) == "a"
    assert looptime == 5
    await asyncio.sleep(100)
    assert len(queue) == 0


async def test_no_delay_is_at_once() -> None:
    queue = _queue()
    queue.add_after("a", 0)
    assert len(queue) == 1


async def test_each_failure_in_a_row_doubles_the_delay_up_to_the_limit_and_forgetting_starts_anew() -> None:
    queue = _queue(base_delay=1, max_delay=100)
    delays = [queue.add_rate_limited("a") for _ in range(2000)]
    for failures, delay in enumerate(delays[:7]):
        assert 2**failures / 2 <= delay <= 2**failures
    assert all(50 <= delay <= 100 for delay in delays[7:])
    assert len(set(delays[7:])) > 100, "no jitter"
    assert queue.add_rate_limited("b") <= 1
    queue.forget("a")
    assert queue.failures("a") == 0
    assert queue.add_rate_limited("a") <= 1


async def test_a_rate_limited_key_comes_after_the_delay_that_is_returned(looptime: float) -> None:
    queue = _queue()
    delay = queue.add_rate_limited("a")
    await _taken(queue)
    assert float(looptime) == pytest.approx(delay, abs=1e-5)


async def test_shut_down_hands_out_what_waits_and_then_ends_every_worker() -> None:
    queue = _queue()
    queue.add("a")
    queue.add_after("later", 5)
    await queue.get()
    queue.add("a")
    queue.add("b")
    queue.shut_down()
    queue.add("refused")
    assert await _taken(queue) == "b"
    waiting = [asyncio.create_task(queue.get()) for _ in range(2)]
    await asyncio.sleep(10)
    assert not any(worker.done() for worker in waiting), "a key that is processed may still come again"
    queue.done("a")
    await asyncio.sleep(1)
    ended = [worker for worker in waiting if worker.done()]
    assert [worker.result() for worker in ended] == ["a"]
    queue.done("a")
    (left,) = set(waiting) - set(ended)
    with pytest.raises(QueueShutDown, match="test"):
        await left


def test_delays_that_cannot_grow_are_refused() -> None:
    with pytest.raises(ValueError, match="base_delay 2 s must be above 0 and at most 1 s"):
        _queue(base_delay=2, max_delay=1)


async def test_metrics_have_the_names_and_values_of_controller_runtime() -> None:
    registry = CollectorRegistry()
    queue = _queue(registry)

    def value(name: str) -> float | None:
        return registry.get_sample_value(f"workqueue_{name}", {"name": "test"})

    queue.add("a")
    queue.add("a")
    queue.add("b")
    assert (value("adds_total"), value("depth")) == (2, 2)
    await asyncio.sleep(3)
    assert await queue.get() == "a"
    assert (value("depth"), value("queue_duration_seconds_sum")) == (1, 3)
    await asyncio.sleep(1)
    assert await queue.get() == "b"
    await asyncio.sleep(1)
    assert value("unfinished_work_seconds") == pytest.approx(3)
    assert value("longest_running_processor_seconds") == pytest.approx(2)
    queue.done("a")
    assert value("work_duration_seconds_sum") == pytest.approx(2)
    assert value("longest_running_processor_seconds") == pytest.approx(1)
    queue.done("b")
    assert value("unfinished_work_seconds") == 0
    queue.add_rate_limited("a")
    assert value("retries_total") == 1


@settings(max_examples=200)
@given(
    changes=st.lists(
        st.tuples(
            st.sampled_from("abc"),
            st.sampled_from(["add", "add_after", "add_rate_limited"]),
            st.floats(0, 3),
        ),
        max_size=40,
    ),
    workers=st.integers(1, 4),
    seed=st.integers(0, 2**32),
)
def test_every_change_is_followed_by_a_pass_and_no_key_has_two_workers(
    changes: list[tuple[str, str, float]], workers: int, seed: int
) -> None:
    async def scenario() -> None:
        queue = _queue(base_delay=0.01, max_delay=5)
        chance = random.Random(seed)
        time = asyncio.get_running_loop().time
        last_change: dict[str, float] = {}
        last_pass: dict[str, float] = {}
        busy: set[str] = set()

        async def work() -> None:
            while True:
                try:
                    key = await queue.get()
                except QueueShutDown:
                    return
                assert key not in busy
                busy.add(key)
                last_pass[key] = time()
                try:
                    await asyncio.sleep(chance.choice([0, 0, chance.random()]))
                finally:
                    busy.discard(key)
                    queue.done(key)

        async with asyncio.TaskGroup() as group:
            for _ in range(workers):
                group.create_task(work())
            for key, how, pause in changes:
                last_change[key] = time()
                if how == "add_after":
                    queue.add_after(key, pause)
                else:
                    getattr(queue, how)(key)
                await asyncio.sleep(chance.choice([0, pause]))
            await asyncio.sleep(100)
            assert len(queue) == 0
            assert not busy
            assert last_pass.keys() == last_change.keys()
            assert all(last_pass[key] >= changed for key, changed in last_change.items())
            queue.shut_down()

    run_in_virtual_time(scenario())
