"""The node inventory as a daemon runs it: watches of nodes, of what queues declare and, where needed, of pods."""

from __future__ import annotations

import asyncio
import dataclasses
from collections.abc import Set as AbstractSet
from typing import Final

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
from kueue_dqo.runtime.resources import NODE_INVENTORY_PARAMETERS
from providers.node_inventory.ahead import Ahead
from providers.node_inventory.compute import take_inventory
from providers.node_inventory.metrics import NodeMetrics
from providers.nodes.pod_watch import PodWatch
from providers.nodes.pods import PodUse
from providers.nodes.sight import Sight

_WAY_OUT_OF_PODS: Final = (
    "`cordoned: CountAllocated` and `reserve: UnmanagedPods` need the right to list and watch pods, which the "
    "component manifests/components/node-inventory-pods gives: add it, or take these out of the parameters"
)


class NodeInventory(Source[NodeInventoryParametersSpec]):
    """The source. It asks to be asked only after a change of something that counts: heartbeats lead to nothing."""

    def __init__(self, environment: Environment) -> None:
        self._environment = environment
        self._metrics = NodeMetrics(environment.registry)
        self._ahead = Ahead()
        self._sight = Sight(environment, on_node=self._node_changed, look=environment.look)
        self._pods = PodWatch(environment, self._pod_changed, way_out=_WAY_OUT_OF_PODS)
        self._asked: dict[str, NodeInventoryParametersSpec] = {}
        """The parameters of each provider that was asked about."""

    async def observe(self, request: Request[NodeInventoryParametersSpec]) -> Observation:
        """Waits for the first lists, but not for ever."""
        self._note(request)
        await self._sight.wait()
        pods = await self._pods.nodes() if request.parameters.needs_pods else {}
        request = dataclasses.replace(request, now=self._environment.clock.now())  # the lists may have taken a while
        nodes = self._ahead.corrected(self._sight.nodes.values())
        inventory = take_inventory(request, nodes, self._sight.declared, pods)
        self._metrics.counted(request.provider.metadata.name, inventory.counts)
        return inventory.observation

    def forget(self, provider: str) -> None:
        self._keep(self._asked.keys() - {provider})

    async def run(self) -> None:
        """Follows the cluster until it is cancelled."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self._sight.run(), name="sight of the cluster")
            group.create_task(self._pods.run(), name="watch of pods")

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

    def _node_changed(self, name: str, new: Node | None) -> None:
        if new is None:
            self._ahead.forget(name)
        else:
            self._ahead.note(new, self._environment.clock.now())

    def _pod_changed(self, use: PodUse) -> None:
        """Of pods that Kueue manages, those on cordoned nodes matter; of others those on every node."""
        if use.is_managed:
            node = self._sight.node(use.node)
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
