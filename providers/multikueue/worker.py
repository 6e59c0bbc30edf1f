"""One worker cluster: what is known of it, by whichever kubeconfig it has at present."""

from __future__ import annotations

import asyncio
import contextlib
import datetime
from collections.abc import Callable
from collections.abc import Set as AbstractSet
from typing import Final, NamedTuple

import structlog

from kueue_dqo.provider import Environment
from kueue_dqo.runtime.resources import Resource
from providers.multikueue.locations import Kubeconfig, Locations
from providers.multikueue.objects import Problem, WorkerView
from providers.multikueue.requests import WorkerRequests
from providers.multikueue.session import ALWAYS, Session

_PATIENCE: Final = 10.0
"""Seconds that a question waits for what has never been read, and that an old connection stays beside a new one."""
_PATIENCE_WITH_FAILURE: Final = 2.0
"""The same where a first try has failed: another one may do."""


class Sighting(NamedTuple):
    """A worker as it is known now: either what it has, or why that is not known."""

    seen: WorkerView | Problem
    stamp: tuple[int, int]
    """Equal stamps: nothing that counts has changed."""


class Worker:
    """One worker cluster, from the moment on that somebody needs it."""

    def __init__(  # noqa: PLR0913 - whom to follow, by what
        self,
        name: str,
        wanted: AbstractSet[Resource],
        locations: Locations,
        environment: Environment,
        *,
        requests: WorkerRequests,
        changed: Callable[[], None],
    ) -> None:
        self._wanted = wanted
        self._name = name
        self._locations = locations
        self._environment = environment
        self._requests = requests
        self._changed = changed
        self._wanted_since = environment.clock.monotonic()
        self._moved = asyncio.Event()
        """Set when its kubeconfig may be another, or other resources are wanted."""
        self._progress = asyncio.Event()
        self._nowhere: str | None = None
        """Why there is no kubeconfig to connect by."""
        self._now: Session | None = None
        """What is looked at."""
        self._next: Session | None = None
        """What is to be looked at as soon as it has read everything."""
        self._tasks: dict[Session, asyncio.Task[None]] = {}
        self._sessions = 0
        self._since: dict[AbstractSet[Resource], datetime.datetime] = {}
        """Since when there is a problem, by what is needed."""

    def sighting(self, needed: AbstractSet[Resource]) -> Sighting:
        """What is known of it now, for somebody who needs these resources."""
        session = self._now
        stamp = (self._sessions, session.version if session is not None else 0)
        if session is None:
            problem = self._nowhere or "its kubeconfig is being read"
        else:
            found = session.problem(needed)
            if found is None and session.view is not None:
                self._since.pop(frozenset(needed), None)
                return Sighting(session.view, stamp)
            problem = found or "it is being read"
        since = self._since.setdefault(frozenset(needed), self._environment.clock.now())
        return Sighting(Problem(problem, since), stamp)

    async def wait_read(self, needed: AbstractSet[Resource]) -> None:
        """Returns when it has been read whole, or has had the time for it since it is needed: less where it fails."""
        while self._now is None or self._now.problem(needed) is not None:
            patience = _PATIENCE if self._is_reading(needed) else _PATIENCE_WITH_FAILURE
            left = self._wanted_since + patience - self._environment.clock.monotonic()
            if left <= 0:
                return
            self._progress.clear()
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(left):
                    await self._progress.wait()

    def _is_reading(self, needed: AbstractSet[Resource]) -> bool:
        session = self._next or self._now
        return self._nowhere is None if session is None else session.is_reading(needed)

    def want(self, resources: AbstractSet[Resource]) -> None:
        """These are to be read from now on."""
        if resources != self._wanted:
            self._wanted = resources
            self._wanted_since = self._environment.clock.monotonic()
            self._moved.set()

    def move(self) -> None:
        """Its kubeconfig may have become another."""
        self._moved.set()

    async def run(self) -> None:
        """Follows it until it is cancelled."""
        structlog.contextvars.bind_contextvars(worker=self._name)
        async with asyncio.TaskGroup() as group:
            while True:
                self._moved.clear()
                self._arrange(group)
                await self._moved.wait()

    def _arrange(self, group: asyncio.TaskGroup) -> None:
        """What is known of it is read by the kubeconfig that is there now."""
        found = self._locations.at(self._name)
        if not isinstance(found, Kubeconfig):
            self._end(self._next)
            self._end(self._now)
            self._next = self._now = None
            self._nowhere = found
            self._told()
            return
        latest = self._next or self._now
        if latest is not None and latest.made_for == (found, self._wanted) and not latest.is_outdated:
            return
        self._end(self._next)
        self._next = session = self._session(found, group)
        # What works goes on until the new one has read everything: new credentials are no reason for a gap.
        if self._now is None or self._now.problem(ALWAYS) is not None:
            self._take_over(session)
        else:
            asyncio.get_running_loop().call_later(_PATIENCE, self._take_over, session)

    def _session(self, kubeconfig: Kubeconfig, group: asyncio.TaskGroup) -> Session:
        def changed() -> None:
            if session.is_outdated:
                self._moved.set()
            if session is self._next and session.problem(self._wanted) is None:
                self._take_over(session)
            else:
                self._told()

        session = Session(
            kubeconfig, self._wanted, self._environment, metrics=self._requests.of(self._name), changed=changed
        )
        self._tasks[session] = group.create_task(session.run(), name="session with a worker")
        return session

    def _take_over(self, session: Session) -> None:
        if session is not self._next:
            return  # it has, or is not wanted any more
        self._end(self._now)
        self._now, self._next = session, None
        self._sessions += 1
        self._told()

    def _end(self, session: Session | None) -> None:
        if session is not None:
            self._tasks.pop(session).cancel()

    def _told(self) -> None:
        self._progress.set()
        self._changed()
