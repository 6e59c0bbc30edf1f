"""The caches of one source, read and followed together."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, Final, TypeVar

from kueue_dqo.provider import Environment
from kueue_dqo.runtime.cache import Cache
from kueue_dqo.runtime.resources import Resource
from providers.reading import Reading, follow

T = TypeVar("T")
WAY_OUT: Final = "see the log of the daemon, and the ClusterRole of its ServiceAccount"


class Caches:
    """What a source reads of its own cluster. `look` is called whenever all of it becomes good, or is not any more."""

    def __init__(self, environment: Environment, *, look: Callable[[], None]) -> None:
        self._environment = environment
        self._look = look
        self._following = asyncio.Event()
        """Some cache has failed, or follows the API server again."""
        self._caches: list[Cache[Any]] = []
        self._readings: list[Reading] = []

    def follow(
        self,
        resource: Resource,
        decode: Callable[[bytes], T],
        on_change: Callable[[str, T | None, T | None], None],
        *,
        way_out: str = WAY_OUT,
    ) -> Cache[T]:
        """Has one more resource read and followed with the others, to be called before `run`."""
        cache = Cache(
            self._environment.client,
            resource,
            decode,
            on_change=on_change,
            clock=self._environment.clock,
            random=self._environment.random,
            metrics=self._environment.cache_metrics,
            on_following=self._following.set,
        )
        self._caches.append(cache)
        self._readings.append(Reading(cache, self._environment.clock, way_out=way_out))
        return cache

    @property
    def is_good(self) -> bool:
        """Whether everything has been read whole, and is followed or was not long ago."""
        return all(reading.is_good for reading in self._readings)

    async def wait(self) -> None:
        """Returns when everything has been read whole. Raises SourceUnavailable."""
        for reading in self._readings:
            await reading.wait()

    async def run(self) -> None:
        """Follows the cluster until it is cancelled."""
        async with asyncio.TaskGroup() as group:
            for cache in self._caches:
                group.create_task(cache.run(), name=f"cache of {cache.resource.full_name}")
            await follow(self._readings, self._following, self._look)
