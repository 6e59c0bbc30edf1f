"""One worker cluster: what is known of it, by whichever kubeconfig it has at present."""

from __future__ import annotations

import asyncio
import contextlib
import datetime
import itertools
from collections.abc import Callable
from collections.abc import Set as AbstractSet
from typing import Final, NamedTuple

import structlog

from kueue_dqo.provider import Environment
from kueue_dqo.runtime.resources import Resource
from providers.multikueue.kinds import ALWAYS
from providers.multikueue.locations import Kubeconfig, Locations
from providers.multikueue.objects import Problem, WorkerView
from providers.multikueue.requests import WorkerRequests
from providers.multikueue.session import Session

_PATIENCE: Final = 10.0
"""Seconds that a question waits for what has never been read, and that an old connection stays beside a new one."""
_PATIENCE_WITH_FAILURE: Final = 2.0
"""The same where a first try has failed: another one may do."""
_numbers: Final = itertools.count(1)
"""Of sessions, in the order in which they are looked at."""


class Sighting(NamedTuple):
    """A worker as it is known now: either what it has, or why that is not known."""

    seen: WorkerView | Problem
    stamp: tuple[int, int]
    """Equal stamps: nothing that counts has changed, nor has the worker gone and come back."""


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
        self.name: Final = name
        self._locations = locations
        self._environment = environment
        self._requests = requests
        self._changed = changed
        self._wanted_since = environment.clock.monotonic()
        self._moved = asyncio.Event()
        """Set when its kubeconfig may be another, or other resources are wanted."""
        self._progress = asyncio.Event()
        self._is_over = False
        """Whether it is not followed any more."""
        self._nowhere: str | None = None
        """Why there is no kubeconfig to connect by."""
        self._now: Session | None = None
        """What is looked at."""
        self._next: Session | None = None
        """What is to be looked at as soon as it has read everything."""
        self._tasks: dict[Session, asyncio.Task[None]] = {}
        self._number = 0
        """Of the session that is looked at."""
        self._giving_up: asyncio.TimerHandle | None = None
        """Set while nobody knows its kubeconfig, and one that it had works on."""
        self._since: dict[Resource, datetime.datetime] = {}
        """Since when each cannot be trusted that cannot be now, whether or not anybody looks."""

    def sighting(self, needed: AbstractSet[Resource]) -> Sighting:
        """What is known of it now, for somebody who needs these resources."""
        session, problem = self._now, self._problem(needed)
        stamp = (self._number, session.version if session is not None else 0)
        if problem is None and session is not None and session.view is not None:
            return Sighting(session.view, stamp)
        self._note_times()
        now = self._environment.clock.now()
        since = min((self._since[each] for each in needed if each in self._since), default=now)
        return Sighting(Problem(problem or "it is being read", since), stamp)

    def _problem(self, needed: AbstractSet[Resource]) -> str | None:
        if self._now is None:
            return self._nowhere or "its kubeconfig is being read"
        return self._now.problem(needed)

    def _note_times(self) -> None:
        now = self._environment.clock.now()
        bad = [each for each in self._wanted if self._problem({each}) is not None]
        self._since = {each: self._since.get(each, now) for each in bad}

    async def wait_read(self, needed: AbstractSet[Resource]) -> None:
        """Returns when it has been read whole, or has had the time for it since it is needed: less where it fails."""
        while not self._is_over and (self._now is None or self._now.problem(needed) is not None):
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
            self._note_times()  # what is not wanted any more is forgotten

    def move(self) -> None:
        """Its kubeconfig may have become another."""
        self._moved.set()

    async def run(self) -> None:
        """Follows it until it is cancelled."""
        structlog.contextvars.bind_contextvars(worker=self.name)
        try:
            async with asyncio.TaskGroup() as group:
                while True:
                    self._moved.clear()
                    self._arrange(group)
                    await self._moved.wait()
        finally:
            self._is_over = True
            self._progress.set()

    def _arrange(self, group: asyncio.TaskGroup) -> None:
        """What is known of it is read by the kubeconfig that is there now."""
        found = self._locations.at(self.name)
        if found is None and self._now is not None:
            # It is elsewhere, where it is still being read: the same one may come out.
            if self._giving_up is None:
                self._giving_up = asyncio.get_running_loop().call_later(_PATIENCE, self._lose, None)
            return
        if self._giving_up is not None:
            self._giving_up.cancel()
            self._giving_up = None
        if not isinstance(found, Kubeconfig):
            self._lose(found)
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
            if session is self._next and (session.problem(self._wanted) is None or self._is_elsewhere(session)):
                self._take_over(session)
            else:
                self._told()

        session = Session(
            kubeconfig, self._wanted, self._environment, metrics=self._requests.of(self.name), changed=changed
        )
        self._tasks[session] = group.create_task(session.run(), name="session with a worker")
        return session

    def _is_elsewhere(self, session: Session) -> bool:
        """Whether it leads to another server: that is another cluster, and says nothing of what this one has."""
        return self._now is not None and session.server is not None and session.server != self._now.server

    def _take_over(self, session: Session) -> None:
        if session is not self._next:
            return  # it has, or is not wanted any more
        self._end(self._now)
        self._now, self._next = session, None
        self._number = next(_numbers)
        self._told()

    def _lose(self, why: str | None) -> None:
        """There is no kubeconfig any more."""
        self._end(self._next)
        self._end(self._now)
        self._next = self._now = None
        self._nowhere = why
        self._told()

    def _end(self, session: Session | None) -> None:
        if session is not None:
            self._tasks.pop(session).cancel()

    def _told(self) -> None:
        self._note_times()
        self._progress.set()
        self._changed()
