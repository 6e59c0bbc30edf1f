"""Writing quotas: sends what the transitions release, several at once, and says how each write went."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from http import HTTPStatus
from typing import NamedTuple

import msgspec
import structlog

from kueue_dqo.api.meta import ObjectKey
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
from orchestrator.metrics import OrchestratorMetrics, WriteResult
from orchestrator.transition import Transition, Write

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
    uncertain: dict[ObjectKey, float] = field(default_factory=dict)
    """Objects whose last write may or may not have landed, and the monotonic time by which the server is through."""
    failures: dict[ObjectKey, ApiError] = field(default_factory=dict)
    """Objects whose writes failed by themselves, and may well go through later."""
    last: dict[str, ObjectKey] = field(default_factory=dict)
    """The object that was written last, by orchestrator."""
    retry_after: float = 0.0
    was_interrupted: bool = False


class _Sent(NamedTuple):
    """A write that is under way, and whose it is."""

    orchestrator: str
    transition: Transition
    write: Write


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

    async def write(
        self, transitions: Mapping[str, Transition], road: Road, is_outdated: Callable[[], bool], report: Report
    ) -> None:
        """Sends all that may be sent, until nothing is left, the snapshot is outdated, or the API server fails.

        Writes under way are always waited for and reported, also when this is cancelled.
        """
        under_way: dict[asyncio.Task[ApiError | None], _Sent] = {}
        turns = deque(transitions)
        failures_in_a_row = 0
        try:
            while True:
                while len(under_way) < self._concurrency:
                    stops = partial(self._stops, report, failures_in_a_row, is_outdated)
                    chosen = await self._choose(transitions, turns, stops)
                    if chosen is None:
                        break
                    # Built at once, while nothing has changed since the snapshot: it compares what that saw.
                    held, view = self._cluster.views[chosen.write.key]
                    operations = road.patch(held, view, chosen.write.quotas)
                    sending = self._send(chosen.write, operations, road, view)
                    under_way[asyncio.create_task(sending, name=f"write {chosen.write.key}")] = chosen
                if not under_way:
                    return
                finished, _ = await asyncio.wait(under_way, return_when=asyncio.FIRST_COMPLETED)
                for task in finished:
                    error = task.result()
                    failures_in_a_row = failures_in_a_row + 1 if _is_by_itself(error) else 0
                    self._take(error, under_way.pop(task), report)
        finally:
            if under_way:
                await asyncio.wait(under_way)
                for task, sent in under_way.items():
                    self._take(task.result(), sent, report)

    async def _choose(
        self, transitions: Mapping[str, Transition], turns: deque[str], stops: Callable[[], bool]
    ) -> _Sent | None:
        """A write that may be sent at this very moment, the rate limit included."""
        if stops():
            return None
        chosen = _next(transitions, turns)
        if chosen is not None and self._limiter is not None:
            await self._limiter.take()
            if stops():
                chosen.transition.failed(chosen.write.key, may_have_landed=False)
                return None
        return chosen

    def _stops(self, report: Report, failures_in_a_row: int, is_outdated: Callable[[], bool]) -> bool:
        if report.was_interrupted:
            return True
        if is_outdated() or not self._may_write():
            report.was_interrupted = True
        # So many in a row, and it is the API server that fails, not the webhook of a few objects.
        return report.was_interrupted or failures_in_a_row >= self._concurrency or report.retry_after > 0

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
            try:
                self._cluster.put_quotas(key.kind, raw)
            except (ValueError, msgspec.DecodeError) as error:
                text = f"the answer cannot be read: {error}"
                return Unreachable(text, method="PATCH", path=path, may_have_landed=True)
        after = self._cluster.views.get(key)
        if after is not None:
            self._on_landed(before, *after)
        return None

    def _take(self, error: ApiError | None, sent: _Sent, report: Report) -> None:
        write, transition = sent.write, sent.transition
        key = write.key
        if error is None:
            report.landed += 1
            report.last[sent.orchestrator] = key
            self._metrics.wrote(key.kind, WriteResult.LANDED)
            transition.landed(key)
            return
        log = _log.bind(kind=key.kind, name=key.name, error=str(error))
        may_have_landed = isinstance(error, ServerFailed) or (isinstance(error, Unreachable) and error.may_have_landed)
        transition.failed(key, may_have_landed=may_have_landed)
        if may_have_landed:
            # Where the server itself did not answer, it may still be at it, but not for longer than it was told.
            is_over = isinstance(error, ServerFailed) and error.code == HTTPStatus.INTERNAL_SERVER_ERROR
            report.uncertain[key] = self._clock.monotonic() + (0.0 if is_over else self._timeout)
        if isinstance(error, Conflict | NotFound) or (isinstance(error, Invalid) and error.is_failed_test):
            self._metrics.wrote(key.kind, WriteResult.OUTDATED)
            report.outdated.add(key)
            log.info("quotas were changed by others meanwhile")
        elif _is_by_itself(error):
            self._metrics.wrote(key.kind, WriteResult.FAILED)
            report.failures[key] = error
            if isinstance(error, TooManyRequests | ServerFailed) and error.retry_after:
                report.retry_after = max(report.retry_after, error.retry_after)
            log.warning("write failed")
        else:
            self._metrics.wrote(key.kind, WriteResult.REFUSED)
            report.refused[key] = _words(error)
            if isinstance(error, Forbidden) and error.is_missing_right:
                report.without_right.add(key)
            log.error("write refused")


def _next(transitions: Mapping[str, Transition], turns: deque[str]) -> _Sent | None:
    """The next write of the orchestrator whose turn it is, so that none waits for all of another's."""
    for _ in range(len(turns)):
        name = turns[0]
        turns.rotate(-1)
        write = transitions[name].next_write()
        if write is not None:
            return _Sent(name, transitions[name], write)
    return None


def _is_by_itself(error: ApiError | None) -> bool:
    """Whether it failed for no fault of the write's own, so that the same write may well go through later."""
    return isinstance(error, Unreachable | Unauthorized | TooManyRequests | ServerFailed)


def _words(error: ApiError) -> str:
    if isinstance(error, Answered):
        return f"{error.code} {error.reason}: {error.message}" if error.message else f"{error.code} {error.reason}"
    return str(error)
