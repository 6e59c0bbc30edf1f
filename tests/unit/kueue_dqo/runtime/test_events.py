"""Kubernetes Events: equal ones become one, floods are held back, nothing reaches the caller."""

from __future__ import annotations

import asyncio
import contextlib
import re
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Any

import msgspec
import pytest
from prometheus_client import CollectorRegistry
from structlog.testing import capture_logs

from kueue_dqo.runtime.errors import ApiError, Conflict, Forbidden, NotFound, ServerFailed, Unreachable
from kueue_dqo.runtime.event_limits import SpamFilter
from kueue_dqo.runtime.events import EventMetrics, EventRecorder, Subject
from tests.unit.kueue_dqo.runtime.virtual_time import VirtualClock

pytestmark = pytest.mark.looptime

QUEUE = Subject("kueue.x-k8s.io/v1beta2", "ClusterQueue", "team-a", "uid-1")
POD = Subject("v1", "Pod", "web-0", "uid-2", "shop")


class EventStore:
    """Events in memory. `trouble` may raise before or, where it returns an error, after a request is done."""

    def __init__(self) -> None:
        self.events: dict[str, dict[str, Any]] = {}
        self.requests: list[str] = []
        self.trouble: Callable[[], ApiError | None] = lambda: None

    async def create(self, path: str, body: bytes, /, *, timeout: float) -> bytes:  # noqa: ASYNC109 - as the client
        del timeout
        self.requests.append("create")
        after = self.trouble()
        event = msgspec.json.decode(body)
        key = f"{path}/{event['metadata']['name']}"
        if key in self.events:
            raise Conflict(method="POST", path=path, code=409, reason="AlreadyExists")
        self.events[key] = event
        if after is not None:
            raise after
        return body

    async def merge_patch(
        self,
        path: str,
        body: Mapping[str, Any],
        /,
        *,
        field_manager: str,
        timeout: float,  # noqa: ASYNC109 - as the client
    ) -> bytes:
        del field_manager, timeout
        self.requests.append("patch")
        self.trouble()
        if path not in self.events:
            raise NotFound(method="PATCH", path=path, code=404)
        self.events[path] |= body
        return b""

    @property
    def only(self) -> dict[str, Any]:
        (event,) = self.events.values()
        return event


class Recording:
    """A recorder with its store and registry."""

    def __init__(self, backlog: int = 1000, store: EventStore | None = None) -> None:
        self.store = store or EventStore()
        self.registry = CollectorRegistry()
        self.recorder = EventRecorder(
            self.store, component="dqo", clock=VirtualClock(), metrics=EventMetrics(self.registry), backlog=backlog
        )

    @asynccontextmanager
    async def running(self) -> AsyncIterator[EventRecorder]:
        task = asyncio.create_task(self.recorder.run())
        try:
            yield self.recorder
        finally:
            task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await task

    def dropped(self, cause: str) -> float:
        return self.registry.get_sample_value("kueue_dqo_events_dropped_total", {"cause": cause}) or 0

    def written(self, verb: str) -> float:
        return self.registry.get_sample_value("kueue_dqo_events_written_total", {"verb": verb}) or 0


async def test_an_event_is_written_as_kubectl_describe_expects_it() -> None:
    recording = Recording()
    async with recording.running() as recorder:
        recorder.warning(QUEUE, "Refused", "the quota was refused")
        await asyncio.sleep(1)
    ((path, event),) = recording.store.events.items()
    name = event["metadata"]["name"]
    assert path == f"/api/v1/namespaces/default/events/{name}"
    assert name.startswith("team-a.")
    assert event == {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"name": name, "namespace": "default"},
        "involvedObject": {
            "apiVersion": "kueue.x-k8s.io/v1beta2",
            "kind": "ClusterQueue",
            "name": "team-a",
            "uid": "uid-1",
        },
        "type": "Warning",
        "reason": "Refused",
        "message": "the quota was refused",
        "count": 1,
        "firstTimestamp": "2026-01-01T00:00:00Z",
        "lastTimestamp": "2026-01-01T00:00:00Z",
        "source": {"component": "dqo"},
        "reportingComponent": "dqo",
        "reportingInstance": "",
    }


async def test_an_event_about_a_namespaced_object_goes_to_its_namespace() -> None:
    recording = Recording()
    async with recording.running() as recorder:
        recorder.normal(POD, "Counted", "counted")
        await asyncio.sleep(1)
    event = recording.store.only
    assert (event["metadata"]["namespace"], event["involvedObject"]["namespace"]) == ("shop", "shop")


async def test_equal_events_become_one_with_a_count_and_few_requests() -> None:
    recording = Recording()
    async with recording.running() as recorder:
        for _ in range(100):
            recorder.normal(QUEUE, "Changed", "the quota changed")
            await asyncio.sleep(0.25)
        await asyncio.sleep(10)
    assert recording.store.only["count"] == 100
    assert recording.store.only["firstTimestamp"] == "2026-01-01T00:00:00Z"
    assert recording.store.only["lastTimestamp"] == "2026-01-01T00:00:24Z"
    assert len(recording.store.requests) <= 7
    assert recording.written("create") == 1
    assert recording.written("patch") == len(recording.store.requests) - 1


async def test_what_differs_in_type_reason_or_subject_is_an_event_of_its_own() -> None:
    recording = Recording()
    async with recording.running() as recorder:
        recorder.normal(QUEUE, "A", "text")
        recorder.warning(QUEUE, "A", "text")
        recorder.normal(QUEUE, "B", "text")
        recorder.normal(QUEUE._replace(uid="another"), "A", "text")
        await asyncio.sleep(1)
    assert len(recording.store.events) == 4


@pytest.mark.parametrize(("pause", "events"), [(599, 1), (601, 2)])
async def test_an_equal_event_is_a_new_one_after_ten_minutes(pause: float, events: int) -> None:
    recording = Recording()
    async with recording.running() as recorder:
        recorder.normal(QUEUE, "A", "text")
        await asyncio.sleep(pause)
        recorder.normal(QUEUE, "A", "text")
        await asyncio.sleep(10)
    assert len(recording.store.events) == events


async def test_a_flood_of_different_messages_is_cut_at_25_and_one_more_every_five_minutes() -> None:
    recording = Recording()
    async with recording.running() as recorder:
        for number in range(100):
            recorder.normal(QUEUE, "Flood", f"message {number}")
        recorder.normal(QUEUE, "Other", "another reason has tokens of its own")
        await asyncio.sleep(1)
        assert len(recording.store.events) == 26
        assert recording.dropped("spam") == 75
        await asyncio.sleep(301)
        recorder.normal(QUEUE, "Flood", "message 100")
        recorder.normal(QUEUE, "Flood", "message 101")
        await asyncio.sleep(1)
    assert len(recording.store.events) == 27
    assert recording.dropped("spam") == 76


async def test_the_backlog_is_bounded_and_what_is_beyond_is_counted() -> None:
    recording = Recording(backlog=10)
    for number in range(15):
        recording.recorder.normal(QUEUE._replace(name=f"q{number}"), "A", "text")
    recording.recorder.normal(QUEUE._replace(name="q3"), "A", "text")
    assert recording.dropped("backlog") == 5
    async with recording.running():
        await asyncio.sleep(1)
    assert len(recording.store.events) == 10
    assert sorted(event["count"] for event in recording.store.events.values()) == [1] * 9 + [2]


async def test_an_unreachable_server_is_tried_again_and_the_others_do_not_wait() -> None:
    recording = Recording()
    errors: list[ApiError] = [
        Unreachable("refused", method="POST", path="/x", may_have_landed=False),
        ServerFailed(method="POST", path="/x", code=503),
    ]

    def trouble() -> None:
        if errors:
            raise errors.pop()

    recording.store.trouble = trouble
    with capture_logs() as logs:
        async with recording.running() as recorder:
            recorder.normal(QUEUE, "A", "first")
            recorder.normal(QUEUE, "A", "second")
            recorder.normal(QUEUE, "A", "third")
            await asyncio.sleep(0.5)
            assert [event["message"] for event in recording.store.events.values()] == ["third"]
            await asyncio.sleep(2)
    assert len(recording.store.events) == 3
    assert [(line["log_level"], line["subject"]) for line in logs] == [("warning", "ClusterQueue/team-a")] * 2
    assert recording.registry.get_sample_value("kueue_dqo_event_write_failures_total") == 2


async def test_an_event_that_cannot_be_written_is_given_up_after_four_tries() -> None:
    recording = Recording()

    def trouble() -> None:
        raise Unreachable("refused", method="POST", path="/x", may_have_landed=False)

    recording.store.trouble = trouble
    with capture_logs() as logs:
        async with recording.running() as recorder:
            recorder.normal(QUEUE, "A", "text")
            await asyncio.sleep(100)
    assert len(recording.store.requests) == 4
    assert recording.dropped("failed") == 1
    assert logs[-1]["event"] == "event given up"
    assert logs[-1]["message"] == "text"


async def test_a_refusal_is_not_tried_again_and_does_not_end_the_recorder() -> None:
    recording = Recording()
    errors: list[Exception] = [RuntimeError("a defect"), Forbidden(method="POST", path="/x", code=403)]

    def trouble() -> None:
        if errors:
            raise errors.pop()

    recording.store.trouble = trouble
    with capture_logs() as logs:
        async with recording.running() as recorder:
            for text in ("refused", "defect", "well"):
                recorder.normal(QUEUE, "A", text)
            await asyncio.sleep(100)
    assert recording.store.only["message"] == "well"
    assert recording.dropped("failed") == 2
    assert [str(line["exc_info"]) for line in logs] == ["None", "a defect"]


async def test_a_create_whose_answer_was_lost_makes_no_second_event() -> None:
    recording = Recording()
    lost: list[ApiError] = [Unreachable("reset", method="POST", path="/x", may_have_landed=True)]
    recording.store.trouble = lambda: lost.pop() if lost else None
    with capture_logs():
        async with recording.running() as recorder:
            recorder.normal(QUEUE, "A", "text")
            await asyncio.sleep(0.5)
            recorder.normal(QUEUE, "A", "text")
            await asyncio.sleep(10)
    assert recording.store.only["count"] == 2


async def test_an_event_that_was_deleted_meanwhile_is_created_anew() -> None:
    recording = Recording()
    with capture_logs():
        async with recording.running() as recorder:
            recorder.normal(QUEUE, "A", "text")
            await asyncio.sleep(10)
            recording.store.events.clear()
            recorder.normal(QUEUE, "A", "text")
            await asyncio.sleep(10)
    assert recording.store.only["count"] == 2


async def test_the_end_writes_what_is_left() -> None:
    recording = Recording()
    async with recording.running() as recorder:
        await asyncio.sleep(1)
        for number in range(20):
            recorder.normal(QUEUE, "A", f"last words {number}")
    assert len(recording.store.events) == 20


async def test_the_end_does_not_wait_for_a_server_that_hangs(looptime: float) -> None:
    class Hanging(EventStore):
        async def create(self, path: str, body: bytes, /, *, timeout: float) -> bytes:  # noqa: ASYNC109 - as above
            await asyncio.sleep(1000)
            return await super().create(path, body, timeout=timeout)

    recording = Recording(store=Hanging())
    running = asyncio.create_task(recording.recorder.run())
    recording.recorder.normal(QUEUE, "A", "text")
    await asyncio.sleep(1)
    running.cancel()
    with capture_logs() as logs, pytest.raises(asyncio.CancelledError):
        await running
    assert float(looptime) == pytest.approx(4, abs=0.01)
    assert recording.dropped("shutdown") == 1
    assert logs == [{"event": "events not written before the end", "events": 1, "log_level": "warning"}]


SUBDOMAIN = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")


@pytest.mark.parametrize(
    "name", ["team-a", "a" * 253, "a." * 126 + "b", "system:node:X", "", "Ünïcode", "a-" * 118 + "b"]
)
async def test_every_name_is_valid_and_unique(name: str) -> None:
    recording = Recording()
    async with recording.running() as recorder:
        for number in range(20):
            recorder.normal(QUEUE._replace(name=name), "A", f"message {number}")
        await asyncio.sleep(1)
    names = [event["metadata"]["name"] for event in recording.store.events.values()]
    assert len(set(names)) == 20
    assert all(SUBDOMAIN.fullmatch(each) and len(each) <= 253 for each in names)


@pytest.mark.parametrize("message", ["x" * 2000, "×" * 2000, "\ud800 lone surrogate"])
async def test_a_message_is_cut_to_what_an_event_may_hold(message: str) -> None:
    recording = Recording()
    async with recording.running() as recorder:
        recorder.normal(QUEUE, "A", message)
        await asyncio.sleep(1)
    written = recording.store.only["message"]
    assert len(written.encode()) <= 1024
    assert written.endswith("…" if len(message) > 1024 else "surrogate")


def test_the_spam_filter_forgets_the_key_that_was_asked_about_least_recently() -> None:
    spam = SpamFilter(burst=1, seconds_per_token=300, keys=2)
    assert [spam.allows(key, 0.0) for key in ("a", "b", "a", "c")] == [True, True, False, True]
    assert not spam.allows("a", 1.0)
    assert spam.allows("b", 1.0), "it was forgotten for c"
