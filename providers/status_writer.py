"""Writes the status of a CapacityProvider, and an Event where its condition becomes another."""

from __future__ import annotations

import enum
from collections.abc import Callable
from typing import Final

import structlog

from kueue_dqo.api import dqo
from kueue_dqo.api.meta import time_text
from kueue_dqo.provider import Notice
from kueue_dqo.runtime.client import Client
from kueue_dqo.runtime.clock import Clock
from kueue_dqo.runtime.errors import ApiError, Conflict, Invalid, NotFound, is_transient
from kueue_dqo.runtime.events import EventRecorder
from kueue_dqo.runtime.resources import CAPACITY_PROVIDERS
from providers import news
from providers.directory import Directory
from providers.metrics import ProviderMetrics
from providers.record import Record
from providers.status import Held, Verdict, is_written, patch, status_of
from providers.telling import tell

_ATTEMPTS: Final = 3
"""How often an object is read anew and written again, because somebody has changed it meanwhile."""

_log = structlog.get_logger(__name__)


class Written(enum.Enum):
    """How a write ended."""

    DONE = enum.auto()
    """The object says so now, perhaps without a write."""
    OUTDATED = enum.auto()
    """The object is another one, or asks for something else by now; or somebody else leads."""
    CONTESTED = enum.auto()
    """Others write to it all the time."""
    REFUSED = enum.auto()
    """The API server does not take it, and will not for as long as nobody changes anything."""


class StatusWriter:
    """Writes only what differs."""

    def __init__(  # noqa: PLR0913 - the parts of a daemon, by keyword
        self,
        client: Client,
        directory: Directory,
        *,
        field_manager: str,
        may_write: Callable[[], bool],
        timeout: float,
        events: EventRecorder,
        clock: Clock,
        metrics: ProviderMetrics,
    ) -> None:
        """`timeout` of a write is in seconds, and less than what lies between a leader's term and the next one's."""
        self._client = client
        self._directory = directory
        self.field_manager: Final = field_manager
        self._may_write = may_write
        self._timeout = timeout
        self._events = events
        self._clock = clock
        self._metrics = metrics

    async def write(self, name: str, record: Record, verdict: Verdict) -> Written:
        """Makes the status say so, as a compare-and-set. Raises an ApiError that passes by itself."""
        for _ in range(_ATTEMPTS):
            held = self._directory.find(name)
            if held is None or held.provider.metadata.uid != record.uid or record.outdated.is_set():
                return Written.OUTDATED
            now = time_text(self._clock.now())
            # A failure keeps what we published last, whatever somebody has made of it meanwhile.
            kept = verdict if verdict.capacity is not None else verdict._replace(capacity=record.published)
            status = status_of(held, kept, now)
            record.wanted = status
            try:
                if not is_written(held, status):
                    if not self._may_write():
                        return Written.OUTDATED
                    await self._send(held, status)
            except NotFound:
                return Written.OUTDATED  # the cache hears of it
            except ApiError as error:
                if not _was_changed(error):
                    return self._refused(held, error)
                await self._directory.reread(name)
            else:
                return self._done(record, verdict)
        _log.warning("status contested: changed by others at each try", provider=name, tries=_ATTEMPTS)
        return Written.CONTESTED

    async def _send(self, held: Held, status: dqo.CapacityProviderStatus) -> None:
        name = held.provider.metadata.name
        path = CAPACITY_PROVIDERS.path(name, subresource="status")
        self._directory.put(
            await self._client.json_patch(
                path, patch(held, status), field_manager=self.field_manager, timeout=self._timeout
            )
        )
        self._metrics.status_writes.labels(name).inc()
        condition = status.conditions[0]
        for notice in news.of_condition(held.condition, condition):
            _log.info(
                "condition changed",
                provider=name,
                status=condition.status,
                reason=condition.reason,
                message=condition.message,
            )
            tell(self._events, held.provider, notice)

    def _refused(self, held: Held, error: ApiError) -> Written:
        """Raises what passes by itself."""
        if is_transient(error):
            raise error
        _log.error("status refused", provider=held.provider.metadata.name, error=str(error))
        tell(self._events, held.provider, Notice(news.STATUS_REJECTED, f"the API server refuses the status: {error}"))
        return Written.REFUSED

    @staticmethod
    def _done(record: Record, verdict: Verdict) -> Written:
        record.verdict = verdict
        if verdict.capacity is not None:
            record.published = verdict.capacity
        return Written.DONE


def _was_changed(error: ApiError) -> bool:
    """Whether the object was not any more what the write replaces."""
    return isinstance(error, Conflict) or (isinstance(error, Invalid) and error.is_failed_test)
