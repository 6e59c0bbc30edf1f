"""Watches of one object, and of one file."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Final, Generic, TypeVar

from kueue_dqo.provider import Environment
from kueue_dqo.runtime.cache import Cache
from kueue_dqo.runtime.resources import Resource

T = TypeVar("T")

_LONGEST_UNFOLLOWED: Final = 60.0
"""Seconds for which changes may go unseen before anybody is told: an API server restarts in less."""
_MARGIN: Final = 0.05
"""Seconds. Whoever looks again must find that time has passed."""
_LOOK_EVERY: Final = 10.0
"""Seconds between two looks at a file."""


class ObjectWatch(Generic[T]):
    """One object of a namespace, by name: a Role that names the object is enough for it."""

    def __init__(  # noqa: PLR0913 - what to follow, by keyword
        self,
        environment: Environment,
        resource: Resource,
        decode: Callable[[bytes], T],
        *,
        namespace: str,
        name: str,
        changed: Callable[[], None],
    ) -> None:
        """`changed` is called when `seen` or `unfollowed` may have become another.

        It must not raise, nor must `decode`.
        """
        self._clock = environment.clock
        self._changed = changed
        self._failing_since: float | None = None
        self._key = f"{namespace}/{name}"
        self._title = f"{resource.kind} {self._key}"
        self._way_out = (
            f"reading it takes a Role in the namespace {namespace} that allows list and watch of "
            f"{resource.plural} with the resourceName {name}"
        )
        self._cache: Cache[T] = Cache(
            environment.client,
            resource,
            decode,
            on_change=lambda *_: changed(),
            clock=environment.clock,
            random=environment.random,
            namespace=namespace,
            field_selector=f"metadata.name={name}",
            # No metrics: they are of a resource as a whole, and there are several such caches.
            on_following=self._followed,
        )
        self._at_first = self._cache.problem

    @property
    def seen(self) -> T | str | None:
        """The object; or why there is none to be seen; or None while nobody knows.

        What was seen once stays while the API server cannot be reached.
        """
        if self._cache.is_synced:
            return self._cache.objects.get(self._key, f"there is no {self._title}")
        problem = self._cache.problem
        return None if problem in {None, self._at_first} else f"{self._title}: {problem}; {self._way_out}"

    @property
    def unfollowed(self) -> str | None:
        """Why changes of what is seen have not been seen for a minute; None where they are."""
        since = self._failing_since
        if since is None or not self._cache.is_synced or self._clock.monotonic() - since < _LONGEST_UNFOLLOWED:
            return None
        return f"changes of {self._title} are not seen: {self._way_out}; {self._cache.problem}"

    async def run(self) -> None:
        await self._cache.run()

    def _followed(self) -> None:
        """The API server is not followed, or is again."""
        if self._cache.problem is None:
            self._failing_since = None
        elif self._failing_since is None:
            self._failing_since = self._clock.monotonic()
            asyncio.get_running_loop().call_later(_LONGEST_UNFOLLOWED + _MARGIN, self._changed)
        self._changed()


class FileWatch(Generic[T]):
    """A file, looked at every 10 seconds: of those that the kubelet replaces, not every file system tells news."""

    def __init__(self, read: Callable[[], T], *, changed: Callable[[], None]) -> None:
        """`read` is called in a thread; it must not raise. `changed` is called when `seen` has become another."""
        self.seen: T | None = None
        self._read = read
        self._changed = changed

    async def run(self) -> None:
        while True:
            found = await asyncio.to_thread(self._read)
            if found != self.seen:
                self.seen = found
                self._changed()
            await asyncio.sleep(_LOOK_EVERY)
