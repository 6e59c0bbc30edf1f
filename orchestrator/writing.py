"""Writing quotas: sends what the transitions release, several at once, and says how each write went."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Final

import structlog

from kueue_dqo.api.meta import ObjectKey
from kueue_dqo.api.quotas import EffectiveQuotas
from kueue_dqo.runtime.client import Client
from kueue_dqo.runtime.clock import Clock
from kueue_dqo.runtime.errors import (
    Answered,
    ApiError,
    Conflict,
    Forbidden,
    Invalid,
    NotFound,
    ServerFailed,
    TooManyRequests,
    Unauthorized,
    Unreachable,
)
from kueue_dqo.runtime.limiter import TokenBucket
from orchestrator.cluster import QUOTA_RESOURCES, Cluster
from orchestrator.enforcement.held import Held, View
from orchestrator.enforcement.patches import Operation
from orchestrator.enforcement.roads import Road
from orchestrator.enforcement.spec import FIELD_MANAGER
from orchestrator.metrics import OrchestratorMetrics
from orchestrator.transition import Transition, Write

_FAILURES_IN_A_ROW: Final = 3
"""After so many writes that failed by themselves, the API server is left alone for a while."""

_log = structlog.get_logger(__name__)


@dataclass(slots=True)
class Report:
    """How a round of writes went."""

    landed: int = 0
    refused: dict[ObjectKey, str] = field(default_factory=dict)
    without_right: set[ObjectKey] = field(default_factory=set)
    """Those of the refused that this process may not write to at present."""
    outdated: set[ObjectKey] = field(default_factory=set)
    """Objects that were not what the computation saw."""
    uncertain: dict[ObjectKey, tuple[EffectiveQuotas, float]] = field(default_factory=dict)
    """Objects that may hold these quotas or not, and the monotonic time by which the server is through with them."""
    failures: list[ApiError] = field(default_factory=list)
    retry_after: float = 0.0
    was_interrupted: bool = False


class QuotaWriter:
    """Sends writes for one round at a time."""

    def __init__(  # noqa: PLR0913 - the parts of a daemon, by keyword
        self,
        client: Client,
        cluster: Cluster,
        *,
        may_write: Callable[[], bool],
        concurrency: int,
        limiter: TokenBucket | None,
        timeout: float,
        clock: Clock,
        metrics: OrchestratorMetrics,
        on_landed: Callable[[View, Held, View], None],
    ) -> None:
        """`timeout` of a write is in seconds, and less than what lies between a leader's term and the next one's."""
        self._client = client
        self._cluster = cluster
        self._may_write = may_write
        self._concurrency = concurrency
        self._limiter = limiter
        self._timeout = timeout
        self._clock = clock
        self._metrics = metrics
        self._on_landed = on_landed

    async def write(self, transitions: Mapping[str, Transition], road: Road, is_outdated: Callable[[], bool]) -> Report:
        """Sends all that may be sent, until nothing is left, the snapshot is outdated, or the API server fails.

        Writes under way are always waited for, also when this is cancelled.
        """
        report = Report()
        under_way: dict[asyncio.Task[ApiError | None], tuple[Transition, Write]] = {}
        failures_in_a_row = 0
        try:
            while True:
                while len(under_way) < self._concurrency:
                    if self._stops(report, failures_in_a_row, is_outdated):
                        break
                    chosen = _next(transitions)
                    if chosen is None:
                        break
                    transition, write = chosen
                    if self._limiter is not None:
                        await self._limiter.take()
                        if self._stops(report, failures_in_a_row, is_outdated):
                            transition.failed(write.key, may_have_landed=False)
                            break
                    # Built at once, while nothing has changed since the snapshot: it compares what that saw.
                    held, view = self._cluster.views[write.key]
                    operations = road.patch(held, view, write.quotas)
                    sending = self._send(write, operations, road, view)
                    task = asyncio.create_task(sending, name=f"write {write.key}")
                    under_way[task] = (transition, write)
                if not under_way:
                    return report
                finished, _ = await asyncio.wait(under_way, return_when=asyncio.FIRST_COMPLETED)
                for task in finished:
                    error = task.result()
                    failures_in_a_row = failures_in_a_row + 1 if _is_by_itself(error) else 0
                    self._take(error, *under_way.pop(task), report)
        finally:
            if under_way:
                await asyncio.wait(under_way)

    def _stops(self, report: Report, failures_in_a_row: int, is_outdated: Callable[[], bool]) -> bool:
        if report.was_interrupted:
            return True
        if is_outdated() or not self._may_write():
            report.was_interrupted = True
        return report.was_interrupted or failures_in_a_row >= _FAILURES_IN_A_ROW or report.retry_after > 0

    async def _send(self, write: Write, operations: list[Operation], road: Road, before: View) -> ApiError | None:
        key = write.key
        path = QUOTA_RESOURCES[key.kind].path(key.name, subresource=road.subresource)
        with self._cluster.expecting(key, write.quotas):
            try:
                raw = await self._client.json_patch(
                    path, operations, field_manager=FIELD_MANAGER, timeout=self._timeout
                )
            except ApiError as error:
                return error
            self._cluster.put_quotas(key.kind, raw)
        after = self._cluster.views.get(key)
        if after is not None:
            self._on_landed(before, *after)
        return None

    def _take(self, error: ApiError | None, transition: Transition, write: Write, report: Report) -> None:
        key = write.key
        if error is None:
            report.landed += 1
            self._metrics.writes.labels(key.kind, "landed").inc()
            transition.landed(key)
            return
        log = _log.bind(kind=key.kind, name=key.name, error=str(error))
        may_have_landed = isinstance(error, ServerFailed) or (isinstance(error, Unreachable) and error.may_have_landed)
        transition.failed(key, may_have_landed=may_have_landed)
        if may_have_landed:
            # Where no answer came, the server may still be at it, but not for longer than it was told.
            still = self._timeout if isinstance(error, Unreachable) else 0.0
            report.uncertain[key] = (write.quotas, self._clock.monotonic() + still)
        if isinstance(error, Conflict | NotFound) or (isinstance(error, Invalid) and error.is_failed_test):
            self._metrics.writes.labels(key.kind, "outdated").inc()
            report.outdated.add(key)
            log.info("quotas were changed by others meanwhile")
        elif _is_by_itself(error):
            self._metrics.writes.labels(key.kind, "failed").inc()
            report.failures.append(error)
            if isinstance(error, TooManyRequests | ServerFailed) and error.retry_after:
                report.retry_after = max(report.retry_after, error.retry_after)
            log.warning("write failed")
        else:
            self._metrics.writes.labels(key.kind, "refused").inc()
            report.refused[key] = _words(error)
            if isinstance(error, Forbidden) and error.is_missing_right:
                report.without_right.add(key)
            log.error("write refused")


def _next(transitions: Mapping[str, Transition]) -> tuple[Transition, Write] | None:
    for transition in transitions.values():
        write = transition.next_write()
        if write is not None:
            return transition, write
    return None


def _is_by_itself(error: ApiError | None) -> bool:
    """Whether it failed for no fault of the write's own, so that the same write may well go through later."""
    return isinstance(error, Unreachable | Unauthorized | TooManyRequests | ServerFailed)


def _words(error: ApiError) -> str:
    if isinstance(error, Answered):
        return f"{error.code} {error.reason}: {error.message}" if error.message else f"{error.code} {error.reason}"
    return str(error)
