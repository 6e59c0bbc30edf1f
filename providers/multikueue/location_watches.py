"""Watches of one object, and of one file."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Final, Generic, TypeVar

from kueue_dqo.provider import Environment
from kueue_dqo.runtime.cache import Cache
from kueue_dqo.runtime.resources import Resource

T = TypeVar("T")

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
        """`changed` is called when `seen` may have become another; it must not raise. `decode` must not either."""
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
            on_following=changed,
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

    async def run(self) -> None:
        await self._cache.run()


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
