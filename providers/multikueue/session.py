"""One kubeconfig of a worker, and what is read with it: connected, asked for its versions, listed and watched."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from collections.abc import Set as AbstractSet
from typing import Any, Final

from kueue_dqo.provider import Environment
from kueue_dqo.runtime.backoff import Backoff
from kueue_dqo.runtime.cache import Cache
from kueue_dqo.runtime.client import Client
from kueue_dqo.runtime.connection import Connection
from kueue_dqo.runtime.errors import ApiError, ConfigurationError, NotFound, Unreachable
from kueue_dqo.runtime.kubeconfig_text import connection_from_text
from kueue_dqo.runtime.pace import Pace
from kueue_dqo.runtime.request_metrics import RequestCounter
from kueue_dqo.runtime.resources import (
    CAPACITY_PROVIDERS,
    CLUSTER_QUEUES,
    COHORTS,
    DYNAMIC_QUOTA_ORCHESTRATORS,
    LOCAL_QUEUES,
    Resource,
)
from providers.multikueue import decoding
from providers.multikueue.locations import Kubeconfig
from providers.multikueue.objects import WorkerView
from providers.multikueue.versions import served_resources

ALWAYS: Final = frozenset({CLUSTER_QUEUES, LOCAL_QUEUES})
"""What is read of every worker."""
OPTIONAL: Final = frozenset({COHORTS})
"""What a worker may do without: an older Kueue has no such kind."""

_MOST_OBJECTS: Final = 20_000
"""Of one kind. A worker with more is not read: it would take the memory that the others need."""
_PAGE: Final = 100
_LARGEST_ANSWER: Final = 64 * 2**20
"""Bytes. A page of the largest queues that Kueue takes stays below."""
_PACE: Final = Pace(page=_PAGE, inactivity=90.0, longest_wait=15.0, longest_wait_for_resource=15.0)
_TOLERATED: Final = 3.0
"""Seconds for which a watch may be broken before anybody is told: most are resumed at once."""
_CONNECTING: Final = "it is being connected to"
_MARGIN: Final = 0.05
"""Seconds. Whoever looks again must find that time has passed."""
_CONNECTIONS: Final = 4
_FIRST_WAIT: Final = 0.5
_LONGEST_WAIT: Final = 15.0


class _WorkerClient(Client):
    """A worker may be anybody's: what it answers is bounded."""

    async def pages(self, path: str, **options: Any) -> AsyncIterator[bytes]:
        """As a client's, up to the most objects that are read. Raises ApiError."""
        count = 0
        async for page in super().pages(path, **options):
            count += 1
            if count * _PAGE > _MOST_OBJECTS:
                text = f"there are more than the {_MOST_OBJECTS} objects that are read of a worker"
                raise Unreachable(text, method="GET", path=path, may_have_landed=True)
            yield page


class Session:
    """`changed` is called when something that counts has changed, or `problem` has.

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
        self._environment = environment
        self._metrics = metrics
        self._changed = changed
        self._trouble: str | None = _CONNECTING
        """Why nothing is followed at all."""
        self._caches: dict[Resource, Cache[Any]] = {}
        self._failing: dict[Resource, float] = {}
        """Since when each cache does not follow, by the monotonic clock."""
        self._lost = asyncio.Event()
        """Set when the worker does not know a resource any more, in the version in which it is followed."""
        self._view: WorkerView | None = None

    # --- what is known -----------------------------------------------------------------------------------------------

    @property
    def view(self) -> WorkerView | None:
        """What has been read, whole; None before."""
        return self._view if self.problem is None else None

    @property
    def problem(self) -> str | None:
        """Why `view` cannot be trusted; None where it can."""
        if self._trouble is not None:
            return self._trouble
        now = self._environment.clock.monotonic()
        for resource, cache in self._caches.items():
            if not cache.is_synced:
                return cache.problem if resource in self._failing else f"its {resource.plural} are being read"
            if cache.problem is not None and now - self._failing.get(resource, now) >= _TOLERATED:
                return cache.problem
        return None

    @property
    def is_reading(self) -> bool:
        """Whether it is on its way, and nothing has gone wrong with that yet."""
        if self._trouble is not None:
            return self._trouble == _CONNECTING
        return any(not cache.is_synced for cache in self._caches.values()) and not self._failing

    def has_read(self, needed: AbstractSet[Resource] = frozenset()) -> bool:
        """Whether there is a view that can be trusted, and has these resources in it as far as there are any."""
        return self.view is not None and needed <= self.made_for[1]

    # --- following ---------------------------------------------------------------------------------------------------

    async def run(self) -> None:
        """Connects and follows until it is cancelled."""
        backoff = Backoff(self._environment.random, first=_FIRST_WAIT, longest=_LONGEST_WAIT)
        while True:
            try:
                connection = await self._connection()
                async with _WorkerClient(
                    connection, connections=_CONNECTIONS, metrics=self._metrics, largest=_LARGEST_ANSWER
                ) as client:
                    await self._follow(client, backoff)
            except NotFound:
                self._fail("its API server knows no group kueue.x-k8s.io: is Kueue installed there?")
            except (ApiError, ConfigurationError) as error:
                self._fail(str(error))
            await asyncio.sleep(backoff.next())

    async def _connection(self) -> Connection:
        kubeconfig, settings = self.made_for[0], self._environment.settings
        return await connection_from_text(
            kubeconfig.text,
            origin=kubeconfig.origin,
            allow_exec=kubeconfig.allow_exec or bool(settings.get("allow-exec-plugins")),
            allow_insecure=bool(settings.get("allow-insecure-tls")),
        )

    async def _follow(self, client: Client, backoff: Backoff) -> None:
        """Follows what is wanted, until the worker does not serve some of it any more."""
        wanted = self.made_for[1]
        self._lost.clear()
        served = await served_resources(client, wanted)
        missing = sorted(each.plural for each in wanted if each not in served and each not in OPTIONAL)
        if missing:
            self._fail(f"it does not serve {', '.join(missing)} of kueue.x-k8s.io in a version that is read")
            return
        self._caches = {resource: self._cache(client, served[resource]) for resource in sorted(served)}
        self._failing = {}
        self._view = _view(self._caches)
        self._trouble = None
        self.version += 1
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(cache.run(), name="cache of a worker") for cache in self._caches.values()]
            await self._lost.wait()
            for task in tasks:
                task.cancel()
        backoff.reset()

    def _cache(self, client: Client, served: Resource) -> Cache[Any]:
        key = served._replace(version=_NEWEST[served.plural].version)

        def on_following() -> None:
            self._followed(key)

        return Cache(
            client,
            served,
            _decoder(served),
            on_change=self._object_changed,
            clock=self._environment.clock,
            random=self._environment.random,
            on_following=on_following,
            pace=_PACE,
        )

    # --- what happens ------------------------------------------------------------------------------------------------

    def _object_changed(self, name: str, old: Any, new: Any) -> None:
        del name
        if old != new:
            self.version += 1
            if self.has_read():  # else the end of the first lists is told at once
                self._changed()

    def _followed(self, resource: Resource) -> None:
        """A cache failed, or follows again."""
        cache = self._caches[resource]
        if cache.problem is None:
            self._failing.pop(resource, None)
        elif resource not in self._failing:
            self._failing[resource] = self._environment.clock.monotonic()
            asyncio.get_running_loop().call_later(_TOLERATED + _MARGIN, self._changed)
        if cache.is_absent:
            self._lost.set()
        self._changed()

    def _fail(self, trouble: str) -> None:
        is_news = trouble != self._trouble
        self._trouble = trouble
        self._caches, self._failing, self._view = {}, {}, None
        if is_news:
            self._changed()


_NEWEST: Final[Mapping[str, Resource]] = {
    each.plural: each
    for each in (CLUSTER_QUEUES, LOCAL_QUEUES, COHORTS, CAPACITY_PROVIDERS, DYNAMIC_QUOTA_ORCHESTRATORS)
}


def _decoder(served: Resource) -> Callable[[bytes], Any]:
    match served.plural:
        case CLUSTER_QUEUES.plural:
            return decoding.worker_queue(served.version)
        case COHORTS.plural:
            return decoding.worker_cohort(served.version)
        case LOCAL_QUEUES.plural:
            return decoding.local_queue
        case CAPACITY_PROVIDERS.plural:
            return decoding.capacity_provider
        case _:
            return decoding.orchestrator


def _view(caches: Mapping[Resource, Cache[Any]]) -> WorkerView:
    """A live view of what the caches hold."""

    def held(resource: Resource) -> Mapping[str, Any]:
        return caches[resource].objects if resource in caches else {}

    return WorkerView(
        queues=held(CLUSTER_QUEUES),
        local_queues=held(LOCAL_QUEUES),
        cohorts=held(COHORTS),
        providers=held(CAPACITY_PROVIDERS),
        orchestrators=held(DYNAMIC_QUOTA_ORCHESTRATORS),
    )
