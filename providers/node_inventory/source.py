"""The node inventory as a daemon runs it: watches of nodes, of what queues declare and, where needed, of pods."""

from __future__ import annotations

import asyncio
import dataclasses
from collections.abc import Callable
from collections.abc import Set as AbstractSet
from typing import Any, Final, TypeVar

from kueue_dqo.api.core import Node
from kueue_dqo.api.parameters import (
    NODE_INVENTORY_CONTROLLER,
    Cordoned,
    NodeInventoryParametersSpec,
    Reserve,
)
from kueue_dqo.provider import (
    CapacityController,
    Environment,
    Observation,
    ParametersKind,
    Request,
    Source,
    WithoutParameters,
)
from kueue_dqo.runtime.cache import Cache
from kueue_dqo.runtime.resources import CLUSTER_QUEUES, COHORTS, NODE_INVENTORY_PARAMETERS, NODES, Resource
from providers.node_inventory.ahead import Ahead
from providers.node_inventory.compute import take_inventory
from providers.node_inventory.metrics import NodeMetrics
from providers.nodes.declared import Declared, Pairs, pairs_of
from providers.nodes.decoding import NodeDecoder
from providers.nodes.pod_watch import PodWatch
from providers.nodes.pods import PodUse
from providers.reading import Reading, follow

T = TypeVar("T")
_WAY_OUT: Final = "see the log of the daemon, and the ClusterRole of its ServiceAccount"


class NodeInventory(Source[NodeInventoryParametersSpec]):
    """The source. It asks to be asked only after a change of something that counts: heartbeats lead to nothing."""

    def __init__(self, environment: Environment) -> None:
        self._environment = environment
        self._metrics = NodeMetrics(environment.registry)
        self._ahead = Ahead()
        self._following = asyncio.Event()
        """Some cache has failed, or follows the API server again."""
        self._declared = Declared()
        self._pods = PodWatch(environment, self._pod_changed)
        self._asked: dict[str, NodeInventoryParametersSpec] = {}
        """The parameters of each provider that was asked about."""
        self._nodes: Cache[Node] = self._cache(NODES, NodeDecoder(self._held).decode, self._node_changed)
        queues = [self._cache(resource, pairs_of, self._queue_changed) for resource in (CLUSTER_QUEUES, COHORTS)]
        self._caches: list[Cache[Any]] = [self._nodes, *queues]
        self._readings = [Reading(cache, environment.clock, way_out=_WAY_OUT) for cache in self._caches]

    async def observe(self, request: Request[NodeInventoryParametersSpec]) -> Observation:
        """Waits for the first lists, but not for ever."""
        self._note(request)
        for reading in self._readings:
            await reading.wait()
        pods = await self._pods.nodes() if request.parameters.needs_pods else {}
        request = dataclasses.replace(request, now=self._environment.clock.now())  # the lists may have taken a while
        nodes = self._ahead.corrected(self._nodes.objects.values())
        inventory = take_inventory(request, nodes, self._declared.resources, pods)
        self._metrics.counted(request.provider.metadata.name, inventory.counts)
        return inventory.observation

    def forget(self, provider: str) -> None:
        self._keep(self._asked.keys() - {provider})

    async def run(self) -> None:
        """Follows the cluster until it is cancelled."""
        async with asyncio.TaskGroup() as group:
            for cache in self._caches:
                group.create_task(cache.run(), name=f"cache of {cache.resource.full_name}")
            group.create_task(self._pods.run(), name="watch of pods")
            await follow(self._readings, self._following, self._environment.look)

    def _cache(
        self, resource: Resource, decode: Callable[[bytes], T], on_change: Callable[[str, T | None, T | None], None]
    ) -> Cache[T]:
        return Cache(
            self._environment.client,
            resource,
            decode,
            on_change=on_change,
            clock=self._environment.clock,
            random=self._environment.random,
            metrics=self._environment.cache_metrics,
            on_following=self._following.set,
        )

    # --- who is there, and what they need ----------------------------------------------------------------------------

    def _note(self, request: Request[NodeInventoryParametersSpec]) -> None:
        """Every question names all the providers there are."""
        name = request.provider.metadata.name
        self._asked[name] = request.parameters
        self._keep({name, *(peer.provider.metadata.name for peer in request.peers)})

    def _keep(self, providers: AbstractSet[str]) -> None:
        """Only these are there, and their needs count."""
        self._asked = {name: parameters for name, parameters in self._asked.items() if name in providers}
        self._metrics.keep(providers)
        self._pods.want(wanted=any(parameters.needs_pods for parameters in self._asked.values()))

    # --- what changes ------------------------------------------------------------------------------------------------

    def _held(self, name: str) -> Node | None:
        return self._nodes.objects.get(name)

    def _node_changed(self, name: str, old: Node | None, new: Node | None) -> None:
        if new is old:
            return  # a heartbeat
        if new is None:
            self._ahead.forget(name)
        else:
            self._ahead.note(new, self._environment.clock.now())
        if self._nodes.is_synced:  # else the end of the first list is told at once
            self._environment.look()

    def _queue_changed(self, name: str, old: Pairs | None, new: Pairs | None) -> None:
        del name
        if self._declared.change(old, new):
            self._environment.look()

    def _pod_changed(self, use: PodUse) -> None:
        """Of pods that Kueue manages, those on cordoned nodes matter; of others those on every node."""
        if use.is_managed:
            node = self._held(use.node)
            matters = node is not None and node.spec.unschedulable and self._any_counts_allocated()
        else:
            matters = any(each.reserve is Reserve.UNMANAGED_PODS for each in self._asked.values())
        if matters:
            self._environment.look()

    def _any_counts_allocated(self) -> bool:
        return any(each.cordoned is Cordoned.COUNT_ALLOCATED for each in self._asked.values())


CONTROLLER: Final = CapacityController(
    name=NODE_INVENTORY_CONTROLLER,
    open=NodeInventory,
    parameters=ParametersKind(NODE_INVENTORY_PARAMETERS, NodeInventoryParametersSpec),
    without_parameters=WithoutParameters.DEFAULTS,
)
