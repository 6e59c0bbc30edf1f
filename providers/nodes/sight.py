"""Watches of what every provider that counts nodes reads: the Nodes, and what queues declare for their flavors."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from collections.abc import Set as AbstractSet
from typing import Any, Final, TypeVar

from kueue_dqo.api.core import Node
from kueue_dqo.provider import Environment
from kueue_dqo.runtime.cache import Cache
from kueue_dqo.runtime.resources import CLUSTER_QUEUES, COHORTS, NODES, Resource
from providers.nodes.declared import Declared, Pairs, pairs_of
from providers.nodes.decoding import NodeDecoder
from providers.reading import Reading, follow

T = TypeVar("T")
WAY_OUT: Final = "see the log of the daemon, and the ClusterRole of its ServiceAccount"


class Sight:
    """`look` is called after a change of something that counts; heartbeats of nodes lead to nothing."""

    def __init__(
        self, environment: Environment, *, on_node: Callable[[str, Node | None], None], look: Callable[[], None]
    ) -> None:
        """`on_node` is told of every node that came, changed or went (None), before `look` is called."""
        self._environment = environment
        self._on_node = on_node
        self._look = look
        self._following = asyncio.Event()
        """Some cache has failed, or follows the API server again."""
        self._declared = Declared()
        self._caches: list[Cache[Any]] = []
        self._readings: list[Reading] = []
        self._nodes: Cache[Node] = self.follow(NODES, NodeDecoder(self.node).decode, self._node_changed)
        for resource in (CLUSTER_QUEUES, COHORTS):
            self.follow(resource, pairs_of, self._queue_changed)

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
    def nodes(self) -> Mapping[str, Node]:
        """By name, a live view."""
        return self._nodes.objects

    @property
    def declared(self) -> Mapping[str, AbstractSet[str]]:
        """The resources that some queue has a quota for, by flavor."""
        return self._declared.resources

    @property
    def is_good(self) -> bool:
        """Whether everything has been read whole, and is followed or was not long ago."""
        return all(reading.is_good for reading in self._readings)

    def node(self, name: str) -> Node | None:
        """The node of that name, where it is known."""
        return self._nodes.objects.get(name)

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

    def _node_changed(self, name: str, old: Node | None, new: Node | None) -> None:
        if new is old:
            return  # a heartbeat
        self._on_node(name, new)
        if self._nodes.is_synced:  # else the end of the first list is told at once
            self._look()

    def _queue_changed(self, name: str, old: Pairs | None, new: Pairs | None) -> None:
        del name
        if self._declared.change(old, new):
            self._look()
