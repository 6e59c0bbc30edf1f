"""The reconcile loop: takes keys from a work queue and calls one function for each, for ever."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Hashable
from typing import Final, Generic, NamedTuple, TypeVar

import structlog
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

from kueue_dqo.runtime.clock import Clock
from kueue_dqo.runtime.errors import is_transient
from kueue_dqo.runtime.workqueue import QueueShutDown, WorkQueue

K = TypeVar("K", bound=Hashable)

_log: structlog.stdlib.BoundLogger = structlog.get_logger()

_LABELS: Final = ("controller",)
RESULTS: Final = ("success", "error", "requeue", "requeue_after")
# The buckets of controller-runtime, so that its dashboards fit.
_BUCKETS: Final = (
    *(0.005, 0.01, 0.025, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0, 1.25),
    *(1.5, 1.75, 2.0, 2.5, 3.0, 3.5, 4.0, 4.5, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0, 15.0, 20.0, 25.0, 30.0, 40.0, 50.0, 60.0),
)


class Result(NamedTuple):
    """How a reconcile that did not fail went on."""

    requeue_after: float | None = None
    """Seconds until the key is wanted again; 0: again at once, slower each time in a row; None: at its next change."""


class ControllerMetrics:
    """The metrics of all controllers of a process, under the names that dashboards know from controller-runtime."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self.total = Counter(
            "controller_runtime_reconcile_total",
            "Reconciliations by their result",
            ("controller", "result"),
            registry=registry,
        )
        self.errors = Counter(
            "controller_runtime_reconcile_errors_total", "Reconciliations that failed", _LABELS, registry=registry
        )
        self.time = Histogram(
            "controller_runtime_reconcile_time_seconds",
            "How long a reconciliation takes",
            _LABELS,
            buckets=_BUCKETS,
            registry=registry,
        )
        self.active_workers = Gauge(
            "controller_runtime_active_workers", "Workers that reconcile at present", _LABELS, registry=registry
        )
        self.max_concurrent = Gauge(
            "controller_runtime_max_concurrent_reconciles",
            "How many reconciliations may run at the same time",
            _LABELS,
            registry=registry,
        )


class Controller(Generic[K]):
    """Calls `reconcile` for the keys of a queue, with `workers` of them at a time and never two for one key.

    An exception out of `reconcile` is logged and the key tried again later, each time in a row with a longer delay.
    """

    def __init__(  # noqa: PLR0913 - the parts of a loop, all by keyword but its name and its function
        self,
        name: str,
        reconcile: Callable[[K], Awaitable[Result]],
        *,
        queue: WorkQueue[K],
        clock: Clock,
        metrics: ControllerMetrics,
        workers: int = 1,
    ) -> None:
        if workers < 1:
            raise ValueError(f"controller {name}: {workers} workers are too few: give 1 or more")
        self.name = name
        self._reconcile = reconcile
        self._queue = queue
        self._clock = clock
        self._workers = workers
        self._results = {result: metrics.total.labels(name, result) for result in RESULTS}
        self._errors = metrics.errors.labels(name)
        self._time = metrics.time.labels(name)
        self._active_workers = metrics.active_workers.labels(name)
        metrics.max_concurrent.labels(name).set(workers)

    async def run(self) -> None:
        """Until it is cancelled, or its queue is shut down and empty. What is being reconciled is waited for."""
        async with asyncio.TaskGroup() as group:
            for number in range(self._workers):
                group.create_task(self._work(), name=f"{self.name} worker {number}")

    async def _work(self) -> None:
        while True:
            try:
                key = await self._queue.get()
            except QueueShutDown:
                return
            try:
                with structlog.contextvars.bound_contextvars(controller=self.name, key=str(key)):
                    await self._process(key)
            finally:
                self._queue.done(key)
            if _is_being_cancelled():
                # The reconcile caught the cancellation and ended well. It was still meant for this worker.
                raise asyncio.CancelledError

    async def _process(self, key: K) -> None:
        started = self._clock.monotonic()
        self._active_workers.inc()
        try:
            result = await self._reconcile(key)
        except asyncio.CancelledError as error:
            if _is_being_cancelled():
                raise
            # Something inside was cancelled by somebody else: for this key that is a failure like any other.
            self._failed(key, error)
        except Exception as error:  # noqa: BLE001 - whatever is wrong with one key, the others go on
            self._failed(key, error)
        else:
            self._succeeded(key, result)
        finally:
            self._active_workers.dec()
            self._time.observe(self._clock.monotonic() - started)

    def _succeeded(self, key: K, result: Result) -> None:
        if result.requeue_after is None:
            self._queue.forget(key)
            self._results["success"].inc()
        elif result.requeue_after > 0:
            self._queue.forget(key)
            self._queue.add_after(key, result.requeue_after)
            self._results["requeue_after"].inc()
        else:
            self._queue.add_rate_limited(key)
            self._results["requeue"].inc()

    def _failed(self, key: K, error: BaseException) -> None:
        delay = self._queue.add_rate_limited(key)
        self._errors.inc()
        self._results["error"].inc()
        details = {"failures": self._queue.failures(key), "retry_in_seconds": round(delay, 3)}
        if is_transient(error):
            # It says all there is to know; a traceback would only tell where requests are made.
            _log.warning("reconcile failed", error=str(error), **details)
        else:
            _log.error("reconcile failed", exc_info=error, **details)


def _is_being_cancelled() -> bool:
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0
