"""Calls to AWS as they happen: bounded in time, counted with all their requests, explained where they fail."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TypeVar

import botocore.session

from providers.cloud_quota.aws.errors import SDK_ERRORS, About, DeadlinePassed, failure_of, is_throttle
from providers.cloud_quota.cloud import Call, Record, Result

T = TypeVar("T")


@dataclass(slots=True)
class _Running:
    """A call that runs in this thread."""

    deadline: float
    requests: int = 0
    throttles: int = 0


class Calls:
    """All calls of one account. Safe in threads: botocore does the whole of a call in the thread that makes it."""

    def __init__(self, record: Record, secrets: tuple[str, ...] = ()) -> None:
        self._record = record
        self._secrets = secrets
        self._here = threading.local()

    def about(self, permission: str, region: str, subject: str = "") -> About:
        return About(permission, region, subject, self._secrets)

    def watch(self, session: botocore.session.Session) -> None:
        """Hears of every request of the clients that the session makes from now on."""
        session.register("before-send", self._before_send)
        session.register("response-received", self._received)

    def run(self, about: About, work: Callable[[], T], deadline: float | None = None) -> T:
        """What `work` returns; a record is made of it.

        Args:
            about: what the call is about.
            work: calls the SDK, with all pages.
            deadline: of `time.monotonic()`; no request begins after it. None: that of the call which needs this one.

        Raises:
            CapacityError, CredentialsExpired: as `Account.answer`.
        """
        started = time.monotonic()
        result = Result.FAILED
        with self._running(deadline) as running:
            try:
                answer = work()
            except SDK_ERRORS as error:
                failure = failure_of(error, about)
                gave_up = isinstance(error, DeadlinePassed) and running.throttles
                result = Result.THROTTLED if gave_up else failure.result
                # What the SDK says may hold what nobody should read: it is not shown as the cause.
                raise failure.error from None
            else:
                result = Result.OK
                return answer
            finally:
                seconds = time.monotonic() - started
                counts = (running.requests, running.throttles)
                self._record(Call(about.permission, about.region, about.subject, result, seconds, *counts))

    @staticmethod
    def explain(about: About, work: Callable[[], T]) -> T:
        """What `work` returns, which is no call but may fail as one. Raises CapacityError, CredentialsExpired."""
        try:
            return work()
        except SDK_ERRORS as error:
            raise failure_of(error, about).error from None

    @contextmanager
    def _running(self, deadline: float | None) -> Iterator[_Running]:
        """Credentials may be fetched by a call in the midst of another one."""
        outer: _Running | None = getattr(self._here, "running", None)
        if deadline is None:
            deadline = outer.deadline if outer is not None else float("inf")
        self._here.running = running = _Running(deadline)
        try:
            yield running
        finally:
            self._here.running = outer

    def _before_send(self, **_: Any) -> None:
        running: _Running | None = getattr(self._here, "running", None)
        if running is None:
            return
        if time.monotonic() >= running.deadline:
            raise DeadlinePassed("the time for this look is over, and no request begins any more")
        running.requests += 1

    def _received(self, parsed_response: Mapping[str, Any] | None = None, **_: Any) -> None:
        running: _Running | None = getattr(self._here, "running", None)
        if running is not None and is_throttle(parsed_response):
            running.throttles += 1
