"""One kubeconfig of a worker, and what is read with it: connected, asked for its versions, listed and watched."""

from __future__ import annotations

import asyncio
import contextlib
import math
from collections.abc import Callable, Mapping
from collections.abc import Set as AbstractSet
from functools import partial
from typing import Any, Final, NamedTuple

import structlog

from kueue_dqo.provider import Environment
from kueue_dqo.runtime.backoff import Backoff
from kueue_dqo.runtime.cache import Cache
from kueue_dqo.runtime.client import Client
from kueue_dqo.runtime.connection import Connection
from kueue_dqo.runtime.errors import ApiError, ConfigurationError, NotFound
from kueue_dqo.runtime.kubeconfig_text import connection_from_text
from kueue_dqo.runtime.pace import Pace
from kueue_dqo.runtime.request_metrics import RequestCounter
from kueue_dqo.runtime.resources import Resource
from providers.multikueue.foreign_text import one_line
from providers.multikueue.kinds import OPTIONAL, decoder_of, view_of
from providers.multikueue.locations import Kubeconfig
from providers.multikueue.objects import WorkerView
from providers.multikueue.settings import ALLOW_INSECURE_TLS
from providers.multikueue.versions import served_resources

_MOST_OBJECTS: Final = 20_000
"""Of one kind. A worker with more is not read: it would take the memory that the others need."""
_PAGE: Final = 50
_LARGEST_ANSWER: Final = 16 * 2**20
"""Bytes: some 300 KB for each object of a page, ten times what the largest queues have."""
_PACE: Final = Pace(
    page=_PAGE,
    most_objects=_MOST_OBJECTS,
    inactivity=90.0,
    longest_wait=15.0,
    longest_wait_for_resource=15.0,
    longest_retry_after=30.0,  # so that it is back well within a grace
)
_TOLERATED: Final = 3.0
"""Seconds for which a watch may be broken before anybody is told: most are resumed at once."""
_SETTLED: Final = 1.0
"""Seconds for which a watch stays open before it counts as followed again: it may break at its first line each time."""
_STEADY: Final = 30.0
"""Seconds of following after which the waits between tries begin anew."""
_MARGIN: Final = 0.05
"""Seconds. Whoever looks again must find that time has passed."""
_CONNECTING: Final = "it is being connected to"
_CONNECTIONS: Final = 4
_FIRST_WAIT: Final = 0.5
_LONGEST_WAIT: Final = 15.0
_ASK_VERSIONS_EVERY: Final = 600.0
"""Seconds after which a worker may have another Kueue."""
_ASK_FOR_MISSING_EVERY: Final = 60.0
"""The same where it lacks something that is wanted."""
_ASK_VERSIONS_AFTER: Final = 2.0
"""Seconds after it said that it does not know a resource any more; a definition that is made anew is back by then."""

_log = structlog.get_logger(__name__)


class _Failure(NamedTuple):
    """A cache that does not follow, or has not done so for long enough again."""

    since: float
    """By the monotonic clock."""
    problem: str


class Session:
    """`changed` is called when something that counts has changed, or a `problem` has.

    Usage of queues changes with every Workload, and counts for nothing.
    """

    def __init__(
        self,
        kubeconfig: Kubeconfig,
        wanted: AbstractSet[Resource],
        environment: Environment,
        *,
        metrics: RequestCounter,
        changed: Callable[[], None],
    ) -> None:
        """`wanted` are the resources to be read, in the versions of `kueue_dqo.runtime.resources`."""
        self.made_for: Final = (kubeconfig, wanted)
        self.version = 0
        """Grows with every change of what is read."""
        self.server: str | None = None
        """Where the kubeconfig leads to, once that is known."""
        self.is_outdated = False
        """Whether the worker serves other resources or versions by now than are followed."""
        self._environment = environment
        self._metrics = metrics
        self._changed = changed
        self._trouble: str | None = _CONNECTING
        """Why nothing is followed at all."""
        self._caches: dict[Resource, Cache[Any]] = {}
        self._failing: dict[Resource, _Failure] = {}
        self._steady_at = math.inf
        """When it will have followed for a while, by the monotonic clock."""
        self._absent = asyncio.Event()
        """Set when the worker does not know a resource any more, in the version in which it is followed."""
        self._view: WorkerView | None = None

    # --- what is known -----------------------------------------------------------------------------------------------

    @property
    def view(self) -> WorkerView | None:
        """What has been read; only what `problem` has nothing against is there, whole and fresh."""
        return self._view

    def problem(self, needed: AbstractSet[Resource]) -> str | None:
        """Why these resources cannot be trusted; None where they can. Trouble with others is none of theirs."""
        if self._trouble is not None:
            return self._trouble
        if not needed <= self.made_for[1]:
            return "more of it is being read"
        missing = sorted(each.plural for each in needed if each not in self._caches and each not in OPTIONAL)
        if missing:
            return f"it does not serve {', '.join(missing)} of kueue.x-k8s.io in a version that is read"
        now = self._environment.clock.monotonic()
        for resource, cache in self._caches.items():
            if resource not in needed:
                continue
            failure = self._failing.get(resource)
            if not cache.is_synced:
                return failure.problem if failure else f"its {resource.plural} are being read"
            if failure is not None and now - failure.since >= _TOLERATED:
                return failure.problem
        return None

    def is_reading(self, needed: AbstractSet[Resource]) -> bool:
        """Whether these are on their way, and nothing has gone wrong with that yet."""
        if self._trouble is not None:
            return self._trouble == _CONNECTING
        mine = [(resource, cache) for resource, cache in self._caches.items() if resource in needed]
        return any(not cache.is_synced and resource not in self._failing for resource, cache in mine)

    # --- following ---------------------------------------------------------------------------------------------------

    async def run(self) -> None:
        """Connects and follows until it is cancelled. Whatever a worker does, it is that worker's problem alone."""
        backoff = Backoff(self._environment.random, first=_FIRST_WAIT, longest=_LONGEST_WAIT)
        task = asyncio.current_task()
        assert task is not None  # noqa: S101 - this is a coroutine
        while True:
            self._steady_at = math.inf
            try:
                connection = await self._connection()
                if self.server is None:
                    self.server = connection.server
                    self._changed()
                async with Client(
                    connection, connections=_CONNECTIONS, metrics=self._metrics, largest=_LARGEST_ANSWER
                ) as client:
                    await self._follow(client)
            except NotFound:
                self._fail("its API server knows no group kueue.x-k8s.io: is Kueue installed there?")
            except (ApiError, ConfigurationError) as error:
                self._fail(str(error))
            except Exception as error:  # noqa: BLE001 - it must not end the process
                _log.exception("worker cannot be followed")
                self._fail(f"what it answers cannot be used ({_name(error)}): the log has the traceback")
            if task.cancelling():
                return  # a cache failed in that very moment, and the TaskGroup raised nothing else
            if self._environment.clock.monotonic() >= self._steady_at:
                backoff.reset()
            await asyncio.sleep(backoff.next())

    async def _connection(self) -> Connection:
        kubeconfig, settings = self.made_for[0], self._environment.settings
        return await connection_from_text(
            kubeconfig.text,
            origin=kubeconfig.origin,
            allow_exec=kubeconfig.allow_exec,
            allow_insecure=settings.get(ALLOW_INSECURE_TLS) is True,
        )

    async def _follow(self, client: Client) -> None:
        """Follows what is wanted, as far as the worker serves it."""
        wanted = self.made_for[1]
        served = await served_resources(client, wanted)
        self._caches = {resource: self._cache(client, resource, served[resource]) for resource in sorted(served)}
        self._failing = {}
        self._view = view_of(self._caches)
        self._trouble = None
        self.version += 1
        self._steady_at = self._environment.clock.monotonic() + _STEADY
        self._changed()
        async with asyncio.TaskGroup() as group:
            for cache in self._caches.values():
                group.create_task(cache.run(), name="cache of a worker")
            await self._until_outdated(client, wanted, served)
            await asyncio.Event().wait()  # whoever replaces it ends it

    def _cache(self, client: Client, resource: Resource, served: Resource) -> Cache[Any]:
        return Cache(
            client,
            served,
            decoder_of(served),
            on_change=partial(self._object_changed, resource),
            clock=self._environment.clock,
            random=self._environment.random,
            on_following=partial(self._followed, resource),
            pace=_PACE,
        )

    async def _until_outdated(
        self, client: Client, wanted: AbstractSet[Resource], served: Mapping[Resource, Resource]
    ) -> None:
        """Asks now and then what the worker serves, until it is something else: its Kueue is newer, or older."""
        while True:
            every = _ASK_VERSIONS_EVERY if served.keys() == wanted else _ASK_FOR_MISSING_EVERY
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(every * self._environment.random.uniform(0.9, 1.1)):
                    await self._absent.wait()
                    await asyncio.sleep(_ASK_VERSIONS_AFTER)
            self._absent.clear()
            try:
                now = await served_resources(client, wanted)
            except ApiError:
                continue  # the caches say so
            if now != served:
                self.is_outdated = True
                self._changed()
                return

    # --- what happens ------------------------------------------------------------------------------------------------

    def _object_changed(self, resource: Resource, name: str, old: Any, new: Any) -> None:
        del name
        if old != new:
            self.version += 1
            if self._caches[resource].is_synced:  # else the end of its first list is told
                self._changed()

    def _followed(self, resource: Resource) -> None:
        """A cache failed, or follows again."""
        cache, failure = self._caches[resource], self._failing.get(resource)
        loop = asyncio.get_running_loop()
        if cache.problem is not None:
            since = failure.since if failure else self._environment.clock.monotonic()
            self._failing[resource] = _Failure(since, cache.problem)
            if failure is None:
                loop.call_later(_TOLERATED + _MARGIN, self._changed)
        elif failure is not None:
            loop.call_later(_SETTLED, self._settle, resource, failure)
        if cache.is_absent:
            self._absent.set()
        self._changed()

    def _settle(self, resource: Resource, failure: _Failure) -> None:
        """It follows again, unless it has failed anew since."""
        if self._failing.get(resource) is failure:
            del self._failing[resource]
            self._changed()

    def _fail(self, trouble: str) -> None:
        is_news = trouble != self._trouble
        self._trouble = trouble
        self._caches, self._failing, self._view = {}, {}, None
        if is_news:
            _log.warning("worker cannot be followed", problem=one_line(trouble))
            self._changed()


def _name(error: Exception) -> str:
    """Of several that came at once, of the first."""
    while isinstance(error, ExceptionGroup):
        error = error.exceptions[0]
    return type(error).__name__
