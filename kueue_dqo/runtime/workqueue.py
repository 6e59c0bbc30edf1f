"""A queue of keys for reconcile loops, with the semantics of client-go's work queues.

A key waits in it at most once, is never handed to two workers, and is handed out again where it was added while
somebody worked on it. So no change is lost, and a burst of changes costs one pass.
"""

from __future__ import annotations

import asyncio
import random as chance
from collections import deque
from collections.abc import Hashable
from typing import Final, Generic, TypeVar

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

from kueue_dqo.runtime.clock import Clock

K = TypeVar("K", bound=Hashable)

_LABELS: Final = ("name",)
_BUCKETS: Final = tuple(10.0**exponent for exponent in range(-8, 4))
"""10 ns to 1000 s: the buckets of controller-runtime."""
_MAX_EXPONENT: Final = 64
"""2 to the power of more would leave the floats; any delay has reached its limit long before."""


class QueueShutDown(Exception):
    """There is nothing left to hand out, and nothing more will come."""


class QueueMetrics:
    """The metrics of all work queues of a process, under the names that dashboards know from controller-runtime."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self.depth = Gauge("workqueue_depth", "Keys that wait in the queue", _LABELS, registry=registry)
        self.adds = Counter("workqueue_adds_total", "Keys that were added to the queue", _LABELS, registry=registry)
        self.queue_duration = Histogram(
            "workqueue_queue_duration_seconds",
            "How long a key waits in the queue before it is handed to a worker",
            _LABELS,
            buckets=_BUCKETS,
            registry=registry,
        )
        self.work_duration = Histogram(
            "workqueue_work_duration_seconds",
            "How long a worker takes for a key",
            _LABELS,
            buckets=_BUCKETS,
            registry=registry,
        )
        self.unfinished_work = Gauge(
            "workqueue_unfinished_work_seconds",
            "How long all workers together have been at their present keys; large values point to stuck workers",
            _LABELS,
            registry=registry,
        )
        self.longest_running = Gauge(
            "workqueue_longest_running_processor_seconds",
            "How long the slowest worker has been at its present key",
            _LABELS,
            registry=registry,
        )
        self.retries = Counter(
            "workqueue_retries_total", "Keys that were added again after a failure", _LABELS, registry=registry
        )


class WorkQueue(Generic[K]):
    """Keys in the order in which they were added. It belongs to one event loop.

    A key that fails again and again waits `base_delay` seconds the first time and twice as long each further time, at
    most `max_delay`, of which a random part of up to a half is taken off, so that keys that failed together do not come
    back together.
    """

    def __init__(  # noqa: PLR0913 - what a queue is made of, all by keyword but its name
        self,
        name: str,
        *,
        clock: Clock,
        random: chance.Random,
        metrics: QueueMetrics,
        base_delay: float = 0.005,
        max_delay: float = 1000.0,
    ) -> None:
        if not 0 < base_delay <= max_delay:
            raise ValueError(f"work queue {name}: base_delay {base_delay} s must be above 0 and at most {max_delay} s")
        self.name = name
        self._clock = clock
        self._random = random
        self._base_delay = base_delay
        self._max_delay = max_delay
        self._queue: deque[K] = deque()
        self._dirty: dict[K, float] = {}
        """Keys that have to be worked on, with the time since when; not in the queue while they are processed."""
        self._processing: dict[K, float] = {}
        """Keys that are worked on, with the time since when."""
        self._later: dict[K, asyncio.TimerHandle] = {}
        self._failures: dict[K, int] = {}
        self._shutting_down = False
        self._changed = asyncio.Event()
        """Set while there is something to hand out, or nothing to wait for any more."""
        self._depth = metrics.depth.labels(name)
        self._adds = metrics.adds.labels(name)
        self._retries = metrics.retries.labels(name)
        self._queue_duration = metrics.queue_duration.labels(name)
        self._work_duration = metrics.work_duration.labels(name)
        self._depth.set_function(lambda: len(self._queue))
        metrics.unfinished_work.labels(name).set_function(lambda: sum(self._ages()))
        metrics.longest_running.labels(name).set_function(lambda: max(self._ages(), default=0.0))

    def __len__(self) -> int:
        """How many keys wait to be handed out, without those that are only due later."""
        return len(self._queue)

    def add(self, key: K) -> None:
        """Wants the key worked on soon. Nothing happens where it waits already, or after `shut_down`."""
        if self._shutting_down or key in self._dirty:
            return
        self._adds.inc()
        self._dirty[key] = self._clock.monotonic()
        if key not in self._processing:
            self._queue.append(key)
            self._changed.set()

    def add_after(self, key: K, delay: float) -> None:
        """Wants the key worked on in `delay` seconds. Of several such wishes for a key, the earliest counts."""
        if self._shutting_down:
            return
        if delay <= 0:
            self.add(key)
            return
        loop = asyncio.get_running_loop()
        due = loop.time() + delay
        waiting = self._later.get(key)
        if waiting is not None:
            if waiting.when() <= due:
                return
            waiting.cancel()
        self._later[key] = loop.call_at(due, self._is_due, key)

    def add_rate_limited(self, key: K) -> float:
        """Wants the key worked on after a delay that grows with each call until `forget`. Returns it, in seconds."""
        failures = self._failures.get(key, 0)
        self._failures[key] = failures + 1
        delay = min(self._base_delay * 2.0 ** min(failures, _MAX_EXPONENT), self._max_delay)
        delay *= self._random.uniform(0.5, 1.0)
        self._retries.inc()
        self.add_after(key, delay)
        return delay

    def failures(self, key: K) -> int:
        """How often `add_rate_limited` was called for the key since it was last forgotten."""
        return self._failures.get(key, 0)

    def forget(self, key: K) -> None:
        """The key did well: its next failure starts with the shortest delay again."""
        self._failures.pop(key, None)

    async def get(self) -> K:
        """Waits for a key and hands it out; `done` has to follow. Raises QueueShutDown where no more will come."""
        while not self._queue:
            if self._shutting_down and not self._processing:
                raise QueueShutDown(f"work queue {self.name} is shut down")
            self._changed.clear()
            await self._changed.wait()
        key = self._queue.popleft()
        now = self._clock.monotonic()
        self._queue_duration.observe(now - self._dirty.pop(key))
        self._processing[key] = now
        return key

    def done(self, key: K) -> None:
        """The worker is through with the key, well or not. Where it was added meanwhile, it waits again now."""
        self._work_duration.observe(self._clock.monotonic() - self._processing.pop(key))
        if key in self._dirty:
            self._queue.append(key)
        self._changed.set()

    def shut_down(self) -> None:
        """Takes no more keys and drops those that are only due later; what waits is still handed out."""
        self._shutting_down = True
        for waiting in self._later.values():
            waiting.cancel()
        self._later.clear()
        self._changed.set()

    def _is_due(self, key: K) -> None:
        del self._later[key]
        self.add(key)

    def _ages(self) -> list[float]:
        """For how many seconds each worker has been at its key."""
        if not self._processing:
            return []
        now = self._clock.monotonic()
        return [now - since for since in self._processing.values()]
