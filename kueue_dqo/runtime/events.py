"""Kubernetes Events: what `kubectl describe` shows of an object's history.

Recording never blocks and never fails for the caller. Equal Events become one whose count goes up; different messages
about the same thing are limited; and what the API server refuses is logged and counted.
"""

from __future__ import annotations

import asyncio
import datetime
import enum
import re
import secrets
from collections import OrderedDict
from collections.abc import Mapping
from typing import Any, Final, NamedTuple, Protocol

import msgspec
import structlog
from prometheus_client import CollectorRegistry, Counter

from kueue_dqo.api.meta import time_text
from kueue_dqo.runtime.clock import Clock
from kueue_dqo.runtime.errors import ApiError, Conflict, NotFound, is_transient
from kueue_dqo.runtime.event_limits import BURST, SECONDS_PER_TOKEN, SpamFilter
from kueue_dqo.runtime.resources import EVENTS

_log: structlog.stdlib.BoundLogger = structlog.get_logger()

_SAME_WITHIN: Final = 600.0
"""Seconds since an Event's last occurrence within which an equal one only raises its count."""
_PATCH_INTERVAL: Final = 5.0
"""Seconds between two writes of one Event's count, so that an Event in a tight loop costs little."""
_RETRY_DELAYS: Final = (1.0, 5.0, 25.0)
_DRAIN_LIMIT: Final = 3.0
_TIMEOUT: Final = 4.0
_KNOWN: Final = 4096
"""How many Events are remembered, and how many pairs of subject and reason are limited, as in client-go."""
_MAX_MESSAGE: Final = 1024
"""Bytes: what events.k8s.io allows in a note."""
_MAX_NAME: Final = 253
_SUBDOMAIN: Final = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")


class Subject(NamedTuple):
    """The object that an Event is about."""

    api_version: str
    kind: str
    name: str
    uid: str = ""
    namespace: str = ""


class EventClient(Protocol):
    """What of a client Events use. Every method may raise ApiError."""

    async def create(self, path: str, body: bytes, /, *, timeout: float) -> bytes: ...  # noqa: ASYNC109 - sent along

    async def merge_patch(
        self,
        path: str,
        body: Mapping[str, Any],
        /,
        *,
        field_manager: str,
        timeout: float,  # noqa: ASYNC109 - sent to the server as well
    ) -> bytes: ...


class Lost(enum.StrEnum):
    """Why an Event was not written."""

    SPAM = "spam"
    BACKLOG = "backlog"
    """Too many waited."""
    FAILED = "failed"
    SHUTDOWN = "shutdown"


class EventMetrics:
    """What became of the Events of a process."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self.written = Counter(
            "kueue_dqo_events_written_total", "Events that were created or patched", ("verb",), registry=registry
        )
        self._dropped = Counter(
            "kueue_dqo_events_dropped_total",
            "Events that were not written, by the cause",
            ("cause",),
            registry=registry,
        )
        for cause in Lost:
            self._dropped.labels(cause)  # there from the start: the first one is a change
        self.failures = Counter(
            "kueue_dqo_event_write_failures_total", "Requests about Events that failed", registry=registry
        )

    def lost(self, cause: Lost, events: int = 1) -> None:
        """Events that nobody will write any more."""
        self._dropped.labels(cause).inc(events)


class _Key(NamedTuple):
    subject: Subject
    type: str
    reason: str
    message: str


class _Series:
    """One Event: how often it occurred, and how much of that the API server knows."""

    def __init__(self, key: _Key, namespace: str, at: datetime.datetime) -> None:
        self.key = key
        self.namespace = namespace
        self.name = _event_name(key.subject.name)
        self.count = 0
        self.first = at
        self.last = at
        self.last_seen = 0.0
        self.created = False
        self.due = 0.0
        self.failures = 0


class EventRecorder:
    """Takes Events from anywhere in the process, and writes them from `run`.

    `namespace` is where Events about cluster-scoped objects go; the API server allows no other than `default`.
    """

    def __init__(  # noqa: PLR0913 - all by keyword but the client
        self,
        client: EventClient,
        *,
        component: str,
        clock: Clock,
        metrics: EventMetrics,
        namespace: str = "default",
        backlog: int = 1000,
    ) -> None:
        self._client = client
        self._component = component
        self._clock = clock
        self._metrics = metrics
        self._namespace = namespace
        self._max_backlog = backlog
        self._known: OrderedDict[_Key, _Series] = OrderedDict()
        self._backlog: dict[_Key, _Series] = {}
        """Those of which the API server does not know everything yet, the longest waiting first."""
        self._filter = SpamFilter(burst=BURST, seconds_per_token=SECONDS_PER_TOKEN, keys=_KNOWN)
        self._changed = asyncio.Event()

    def normal(self, subject: Subject, reason: str, message: str) -> None:
        """Something went as it should. `reason` is a constant in CamelCase, `message` a sentence for a person."""
        self._record(_Key(subject, "Normal", reason, _shortened(message)))

    def warning(self, subject: Subject, reason: str, message: str) -> None:
        """Something needs a look."""
        self._record(_Key(subject, "Warning", reason, _shortened(message)))

    async def run(self) -> None:
        """Writes for ever. Cancelled, it tries for at most 3 s to write what is left."""
        try:
            while True:
                await self._wait_for_work()
                series = min(self._backlog.values(), key=lambda each: each.due)
                await self._write(series)
        finally:
            await self._drain()

    def _record(self, key: _Key) -> None:
        now = self._clock.monotonic()
        series = self._backlog.get(key)
        if series is None:
            if len(self._backlog) >= self._max_backlog:
                self._drop(Lost.BACKLOG, key)
                return
            series = self._known.get(key)
            if series is None or now - series.last_seen > _SAME_WITHIN:
                if not self._filter.allows((key.subject, key.reason), now):
                    self._drop(Lost.SPAM, key)
                    return
                series = _Series(key, key.subject.namespace or self._namespace, self._clock.now())
            self._backlog[key] = series
            self._remember(series)
        series.count += 1
        series.last = self._clock.now()
        series.last_seen = now
        self._changed.set()

    def _remember(self, series: _Series) -> None:
        self._known[series.key] = series
        self._known.move_to_end(series.key)
        if len(self._known) > _KNOWN:
            self._known.popitem(last=False)

    async def _wait_for_work(self) -> None:
        """Until an Event is due."""
        while True:
            self._changed.clear()
            wait = None
            if self._backlog:
                wait = min(each.due for each in self._backlog.values()) - self._clock.monotonic()
                if wait <= 0:
                    return
            try:
                async with asyncio.timeout(wait):
                    await self._changed.wait()
            except TimeoutError:
                return

    async def _write(self, series: _Series) -> None:
        """One try. What occurs meanwhile leaves the series in the backlog, for a later patch."""
        count = series.count
        try:
            await self._send(series)
        except Exception as error:  # noqa: BLE001 - an Event is not worth the process
            self._failed(series, error)
            return
        series.failures = 0
        series.due = self._clock.monotonic() + _PATCH_INTERVAL
        if series.count == count:
            self._backlog.pop(series.key, None)

    async def _send(self, series: _Series) -> None:
        if not series.created:
            path = EVENTS.path(namespace=series.namespace)
            try:
                await self._client.create(path, self._body(series), timeout=_TIMEOUT)
            except Conflict:
                # The name is ours alone: an earlier try landed, though its answer was lost. Its count may be lower.
                series.created = True
            else:
                series.created = True
                self._metrics.written.labels("create").inc()
                return
        changes = {"count": series.count, "lastTimestamp": time_text(series.last)}
        path = EVENTS.path(series.name, namespace=series.namespace)
        try:
            await self._client.merge_patch(path, changes, field_manager=self._component, timeout=_TIMEOUT)
        except NotFound:
            # Events are deleted after a while. The next try creates it anew, under another name.
            series.created = False
            series.name = _event_name(series.key.subject.name)
            raise
        self._metrics.written.labels("patch").inc()

    def _failed(self, series: _Series, error: Exception) -> None:
        self._metrics.failures.inc()
        details = {"subject": _shown(series.key.subject), "reason": series.key.reason, "error": str(error)}
        passes = is_transient(error) or isinstance(error, NotFound)
        if passes and series.failures < len(_RETRY_DELAYS):
            delay = _RETRY_DELAYS[series.failures]
            series.failures += 1
            series.due = self._clock.monotonic() + delay
            _log.warning("event not written, trying again", retry_in_seconds=delay, **details)
            return
        series.failures = 0
        self._backlog.pop(series.key, None)
        self._metrics.lost(Lost.FAILED)
        unexpected = None if isinstance(error, ApiError) else error
        _log.warning("event given up", message=series.key.message, exc_info=unexpected, **details)

    async def _drain(self) -> None:
        try:
            async with asyncio.timeout(_DRAIN_LIMIT):
                for series in list(self._backlog.values()):
                    await self._write(series)
        except TimeoutError:
            pass  # what is left is counted and logged below
        if self._backlog:
            self._metrics.lost(Lost.SHUTDOWN, len(self._backlog))
            _log.warning("events not written before the end", events=len(self._backlog))

    def _drop(self, cause: Lost, key: _Key) -> None:
        self._metrics.lost(cause)
        _log.debug("event dropped", cause=cause, subject=_shown(key.subject), reason=key.reason, message=key.message)

    def _body(self, series: _Series) -> bytes:
        subject, kind, reason, message = series.key
        involved = {"apiVersion": subject.api_version, "kind": subject.kind, "name": subject.name}
        if subject.uid:
            involved["uid"] = subject.uid
        if subject.namespace:
            involved["namespace"] = subject.namespace
        return msgspec.json.encode(
            {
                "apiVersion": EVENTS.api_version,
                "kind": EVENTS.kind,
                "metadata": {"name": series.name, "namespace": series.namespace},
                "involvedObject": involved,
                "type": kind,
                "reason": reason,
                "message": message,
                "count": series.count,
                "firstTimestamp": time_text(series.first),
                "lastTimestamp": time_text(series.last),
                "source": {"component": self._component},
                "reportingComponent": self._component,
                "reportingInstance": "",
            }
        )


def _event_name(subject: str) -> str:
    """A name that no other Event has: the subject's, as far as it fits and is allowed in one, and a random part."""
    suffix = f".{secrets.token_hex(8)}"
    name = subject[: _MAX_NAME - len(suffix)].rstrip(".-")
    if not _SUBDOMAIN.fullmatch(name):
        name = re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-") or "event"
    return name + suffix


def _shortened(message: str) -> str:
    raw = message.encode(errors="replace")
    if len(raw) <= _MAX_MESSAGE:
        return raw.decode()
    return raw[: _MAX_MESSAGE - len("…".encode())].decode(errors="ignore") + "…"


def _shown(subject: Subject) -> str:
    return f"{subject.kind}/{subject.namespace + '/' if subject.namespace else ''}{subject.name}"
