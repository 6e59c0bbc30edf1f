"""A cache of one resource that follows the API server: a list in pages, then a watch, for ever."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Iterable, Mapping
from random import Random
from typing import Final, Generic, TypeVar

import msgspec
import structlog

from kueue_dqo.runtime import wire
from kueue_dqo.runtime.answers import error_of_event, unintelligible
from kueue_dqo.runtime.backoff import Backoff
from kueue_dqo.runtime.cache_metrics import CacheMetrics
from kueue_dqo.runtime.cache_state import CacheState
from kueue_dqo.runtime.client import Client
from kueue_dqo.runtime.clock import Clock
from kueue_dqo.runtime.decoding import ObjectDecoder
from kueue_dqo.runtime.errors import ApiError, Gone, NotFound, Silent
from kueue_dqo.runtime.following import must_list, retry_after
from kueue_dqo.runtime.holdings import Change, Holdings
from kueue_dqo.runtime.listing import collect, too_many
from kueue_dqo.runtime.pace import Pace
from kueue_dqo.runtime.resources import Resource

T = TypeVar("T")
_LIST_ATTEMPTS: Final = 3
"""How often a list is begun because its continue token expired, which takes minutes each time."""

_SHORT: Final = 1.0
"""Seconds that a watch lives at least, where all is well."""
_HURRIED: Final = 2
"""Watches in a row that may be shorter: a server that restarts ends some."""

_PACE: Final = Pace()

_log = structlog.get_logger(__name__)


class Cache(Generic[T]):
    """The objects of one resource, decoded, as of not long ago. `run` keeps them so.

    `on_change(name, old, new)` is called for every change, in order and at once: None for `old` is a new object, None
    for `new` one that went away. What it raises is logged. A name is `namespace/name` where the resource is
    namespaced. While the API server cannot be reached, what is held stays.

    `on_following()` is called after every list or watch that failed, and when the API server is followed again: then
    `problem` may have changed. It must not raise.
    """

    def __init__(  # noqa: PLR0913 - what to follow, by keyword
        self,
        client: Client,
        resource: Resource,
        decode: Callable[[bytes], T],
        *,
        on_change: Callable[[str, T | None, T | None], None],
        clock: Clock,
        random: Random,
        namespace: str = "",
        label_selector: str = "",
        field_selector: str = "",
        metrics: CacheMetrics | None = None,
        on_following: Callable[[], None] = lambda: None,
        pace: Pace = _PACE,
    ) -> None:
        self.resource: Final = resource
        self._client = client
        self._clock = clock
        self._on_change = on_change
        self._random = random
        self._path = resource.path(namespace=namespace)
        selectors = {"labelSelector": label_selector, "fieldSelector": field_selector}
        self._selectors = {key: value for key, value in selectors.items() if value}
        self._pace = pace
        self._holdings: Holdings[T] = Holdings()
        self._decoder = ObjectDecoder(resource, decode, metrics)
        self._state = CacheState(resource, clock, metrics, on_following)
        self._synced = asyncio.Event()
        self._absent = asyncio.Event()
        self._listing = asyncio.Lock()
        self._hurried = 0
        """How many watches in a row have ended as soon as they began."""
        self._lists_begun = 0
        self._lists_taken = 0
        """The number of the latest list that was taken in: of the `_lists_begun`th, if that one succeeded."""
        self._log = _log.bind(resource=resource.full_name)

    @property
    def objects(self) -> Mapping[str, T]:
        """What is held, by name: a live view, which changes only while its reader awaits something."""
        return self._holdings.objects

    @property
    def is_synced(self) -> bool:
        """Whether a complete list has been taken in. Not any more once the resource is gone from the API server."""
        return self._synced.is_set()

    @property
    def problem(self) -> str | None:
        """Why the cache does not follow the API server at present; None while it does."""
        return self._state.problem

    @property
    def last_contact(self) -> float | None:
        """`clock.monotonic()` of the last page, line or bookmark; None before the first."""
        return self._state.last_contact

    @property
    def is_absent(self) -> bool:
        """Whether the API server does not know the resource at present."""
        return self._absent.is_set()

    async def wait_synced(self) -> None:
        """Returns when a complete list has been taken in."""
        await self._synced.wait()

    async def wait_known(self) -> None:
        """Returns when a complete list has been taken in, or the API server has said that it has no such resource."""
        waits = [asyncio.ensure_future(each.wait()) for each in (self._synced, self._absent)]
        try:
            await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for each in waits:
                each.cancel()

    def put(self, raw: bytes) -> T:
        """Takes in the answer to a write, so that the cache is never behind what this process wrote itself.

        An answer that is older than what is held changes nothing. Returns the decoded answer in any case; raises what
        `decode` raises.
        """
        identity = wire.decode_identity(raw)
        new = self._decoder.decode(raw)
        self._report([self._holdings.put(identity.key, identity.version, new)])
        return new

    async def refresh(self) -> None:
        """Returns when a consistent list that began after this call has been taken in. Raises ApiError."""
        begun = self._lists_begun
        async with self._listing:
            if self._lists_taken <= begun:
                await self._list(watch_from_it=not self._holdings.watched)

    async def run(self) -> None:
        """Follows the API server until it is cancelled."""
        pace = self._pace
        lists = Backoff(self._random, first=pace.first_wait, longest=pace.longest_wait)
        absences = Backoff(self._random, first=pace.first_wait, longest=pace.longest_wait_for_resource)
        watches = Backoff(self._random, first=pace.first_wait, longest=pace.longest_wait)
        while True:
            if not self._holdings.watched:
                try:
                    async with self._listing:
                        if not self._holdings.watched:  # else `refresh` was quicker
                            await self._list(watch_from_it=True)
                except ApiError as error:
                    self._state.failed("list", error)
                    backoff = lists
                    if isinstance(error, NotFound):
                        self._lose_resource()
                        backoff = absences
                    await asyncio.sleep(backoff.next(at_least=self._asked_wait(error)))
                    continue
                lists.reset()
                absences.reset()
            await self._watch(watches)

    async def _list(self, *, watch_from_it: bool) -> None:
        """One consistent list, under the lock."""
        for attempt in range(1, _LIST_ATTEMPTS + 1):
            self._lists_begun += 1
            number = self._lists_begun
            self._holdings.begin_list()
            try:
                version, found = await collect(
                    self._client.pages(
                        self._path, params=self._selectors, limit=self._pace.page, timeout=self._pace.list_timeout
                    ),
                    path=self._path,
                    decoder=self._decoder,
                    is_held=self._holdings.is_held,
                    on_page=self._state.contact,
                    pace=self._pace,
                )
            except Gone as error:
                if attempt == _LIST_ATTEMPTS:
                    raise
                self._log.info("list begins anew, its continue token expired", error=str(error))
                continue
            else:
                self._lists_taken = number
                self._report(self._holdings.take_list(version, found, watch_from_it=watch_from_it))
            finally:
                self._holdings.end_list()
            self._synced.set()
            self._absent.clear()
            if watch_from_it:
                self._state.recovered()
            self._state.listed()
            return

    async def _watch(self, backoff: Backoff) -> None:
        """One watch, and the wait after it where one is due."""
        delivered = False
        wait_for: float | None = None
        began = self._clock.monotonic()
        params = {
            **self._selectors,
            "watch": "true",
            "allowWatchBookmarks": "true",
            "resourceVersion": self._holdings.watched,
            "timeoutSeconds": str(self._random.randint(*self._pace.watch_timeouts)),
        }
        lines = self._client.lines(
            self._path, params=params, inactivity=self._pace.inactivity, on_open=self._state.watching
        )
        try:
            async with contextlib.aclosing(lines):
                async for line in lines:
                    self._take_event(line)
                    delivered = True
                    self._state.contact()
                    backoff.reset()
        except ApiError as error:
            self._state.failed("watch", error)
            # Silence from the first moment on may also be the answer to a resourceVersion that lies in the future, as
            # after the storage was restored from a backup: the server accepts it and waits.
            if must_list(error) or (isinstance(error, Silent) and not delivered):
                self._holdings.forget_position()
            wait_for = backoff.next(at_least=self._asked_wait(error))
        else:
            # A server that ends watches as soon as they begin is not asked again and again, whatever it sends before.
            self._hurried = self._hurried + 1 if self._clock.monotonic() - began < _SHORT else 0
            if not delivered or self._hurried > _HURRIED:
                wait_for = backoff.next()
        if wait_for is not None:
            await asyncio.sleep(wait_for)

    def _asked_wait(self, error: ApiError) -> float | None:
        asked = retry_after(error)
        return None if asked is None else min(asked, self._pace.longest_retry_after)

    def _take_event(self, line: bytes) -> None:
        try:
            event = wire.decode_event(line)
        except msgspec.DecodeError as error:
            raise unintelligible("a line of the watch is no event", error, self._path) from error
        raw = event.object
        if event.type == wire.ERROR:
            raise error_of_event(path=self._path, status=raw)
        identity = self._decoder.identity(raw)
        if identity is None:
            return
        name, version = identity.key, identity.version
        if event.type == wire.DELETED:
            self._report([self._holdings.remove(name, version)])
        elif event.type in {wire.ADDED, wire.MODIFIED} and not self._holdings.is_known(name, version):
            new = self._decoder.object(raw, identity)
            if new is not None:
                self._report([self._holdings.take(name, version, new)])
                self._refuse_too_many()
        if version:
            self._holdings.advance(version)

    def _refuse_too_many(self) -> None:
        most = self._pace.most_objects
        if most is not None and len(self._holdings.objects) > most:
            self._holdings.forget_position()  # a list has to say that there are fewer again
            raise too_many(most, self._path)

    def _lose_resource(self) -> None:
        self._synced.clear()
        self._absent.set()
        self._report(self._holdings.clear())

    def _report(self, changes: Iterable[Change[T] | None]) -> None:
        for change in changes:
            if change is None:
                continue
            try:
                self._on_change(*change)
            except Exception:  # noqa: BLE001 - a fault of one listener must not blind the others
                self._log.exception("listener of the cache failed", name=change.name)
        self._state.holds(len(self._holdings.objects))
