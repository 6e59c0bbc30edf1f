"""Whether a cache follows the API server, for readiness, logs and metrics."""

from __future__ import annotations

from collections.abc import Callable

import structlog

from kueue_dqo.runtime.cache_metrics import CacheMetrics
from kueue_dqo.runtime.clock import Clock
from kueue_dqo.runtime.errors import ApiError
from kueue_dqo.runtime.following import problem_of
from kueue_dqo.runtime.resources import Resource


class CacheState:
    def __init__(
        self, resource: Resource, clock: Clock, metrics: CacheMetrics | None, on_following: Callable[[], None]
    ) -> None:
        self.problem: str | None = "not listed yet"
        self.last_contact: float | None = None
        self._resource = resource
        self._clock = clock
        self._metrics = metrics
        self._on_following = on_following
        self._objects = metrics.objects.labels(resource.full_name) if metrics else None
        self._held: int | None = None
        self._log = structlog.get_logger(__name__).bind(resource=resource.full_name)

    def contact(self) -> None:
        self.last_contact = self._clock.monotonic()

    def listed(self) -> None:
        if self._metrics:
            self._metrics.lists.labels(self._resource.full_name).inc()

    def watching(self) -> None:
        self.contact()
        self.recovered()
        if self._metrics:
            self._metrics.watches.labels(self._resource.full_name).inc()

    def holds(self, count: int) -> None:
        if self._objects is not None and count != self._held:
            self._objects.set(count)
            self._held = count

    def failed(self, verb: str, error: ApiError) -> None:
        problem = problem_of(verb, self._resource, error)
        # Said when it begins or becomes another, and not at every try.
        log = self._log.debug if problem == self.problem else self._log.warning
        log("cache does not follow the API server", problem=problem)
        self.problem = problem
        if self._metrics:
            self._metrics.failures.labels(self._resource.full_name, type(error).__name__).inc()
            self._metrics.up_to_date.labels(self._resource.full_name).set(0)
        self._on_following()

    def recovered(self) -> None:
        had_problem = self.problem is not None
        self.problem = None
        if self._metrics:
            self._metrics.up_to_date.labels(self._resource.full_name).set(1)
        if had_problem:
            self._log.info("cache follows the API server")
            self._on_following()
