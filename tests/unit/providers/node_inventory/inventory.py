"""Short ways to say what stands in a test's cluster, and what the inventory makes of it."""

from __future__ import annotations

import datetime
from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import Any, Final

from kueue_dqo.api import dqo
from kueue_dqo.api.core import Node, NodeCondition, NodeMeta, NodeSpec, NodeStatus, Taint, Toleration
from kueue_dqo.api.durations import Duration
from kueue_dqo.api.kueue import ResourceFlavor, ResourceFlavorSpec
from kueue_dqo.api.meta import ObjectMeta
from kueue_dqo.api.parameters import (
    NODE_INVENTORY_CONTROLLER,
    NODE_INVENTORY_PARAMETERS,
    NodeInventoryParametersSpec,
)
from kueue_dqo.api.quantity import Quantity
from kueue_dqo.provider import Observation, Peer, Request
from providers.node_inventory.compute import Inventory, take_inventory
from providers.nodes.claims import Claim
from providers.nodes.pods import NodePods

POOL: Final = {"pool": "a"}
ONE_CPU: Final = {"cpu": 1}
NOTHING: Final[Mapping[str, AbstractSet[str]]] = {}
GPU: Final = "nvidia.com/gpu"
GPU_TAINT: Final = Taint(GPU, "NoSchedule", "present")
NOW: Final = datetime.datetime(2026, 9, 20, 10, 0, tzinfo=datetime.UTC)
READY: Final = (NodeCondition("Ready", "True"),)
DEFAULTS: Final = NodeInventoryParametersSpec()


def node(
    name: str = "n1",
    labels: Mapping[str, str] = POOL,
    *,
    conditions: tuple[NodeCondition, ...] = READY,
    unschedulable: bool = False,
    deleting: bool = False,
    taints: tuple[Taint, ...] = (),
    has: Mapping[str, object] = ONE_CPU,
) -> Node:
    """A node that counts unless said otherwise; `has` is its allocatable."""
    return Node(
        NodeMeta(name, dict(labels), "2026-09-20T10:00:00Z" if deleting else None),
        NodeSpec(unschedulable, taints),
        NodeStatus({resource: Quantity.of(value) for resource, value in has.items()}, conditions),
    )


def ready_since(seconds: float, *others: NodeCondition) -> tuple[NodeCondition, ...]:
    """Conditions of a node that has been Ready for so long at NOW; less than 0: that says it will be."""
    return (*others, NodeCondition("Ready", "True", NOW - datetime.timedelta(seconds=seconds)))


def flavor(
    name: str = "batch",
    labels: Mapping[str, str] = POOL,
    *,
    taints: tuple[Taint, ...] = (),
    tolerations: tuple[Toleration, ...] = (),
) -> ResourceFlavor:
    return ResourceFlavor(ObjectMeta(name), ResourceFlavorSpec(dict(labels), taints, tolerations))


def provider(name: str, flavors: Iterable[str], parameters: str = "") -> dqo.CapacityProvider:
    """A CapacityProvider of the node inventory; `parameters` is the name of their object."""
    ref = dqo.ParametersRef("kueue-dqo.dev", NODE_INVENTORY_PARAMETERS, parameters) if parameters else None
    refs = tuple(dqo.FlavorRef(each) for each in flavors)
    return dqo.CapacityProvider(ObjectMeta(name), dqo.CapacityProviderSpec(NODE_INVENTORY_CONTROLLER, refs, ref))


def spec(ready_delay: int = 0, **fields: Any) -> NodeInventoryParametersSpec:
    """Parameters; the delay is in seconds."""
    return NodeInventoryParametersSpec(ready_delay=Duration(ready_delay), **fields)


def peer(claim: Claim) -> Peer[NodeInventoryParametersSpec]:
    """Another provider that claims so."""
    return Peer(
        provider(claim.provider, claim.flavors), spec(resources=claim.selection, node_selector=claim.node_selector)
    )


def asks(
    flavors: Mapping[str, ResourceFlavor],
    claim: Claim,
    peers: Sequence[Peer[NodeInventoryParametersSpec]] = (),
    *,
    parameters: NodeInventoryParametersSpec | None = None,
    now: datetime.datetime = NOW,
) -> Request[NodeInventoryParametersSpec]:
    """The question about a provider that claims so; `parameters` instead of what the claim says of them."""
    asked = provider(claim.provider, claim.flavors, "tuning" if parameters is not None else "")
    return Request(
        provider=asked,
        parameters=parameters or spec(resources=claim.selection, node_selector=claim.node_selector),
        flavors=flavors,
        peers=tuple(peers),
        providers={each.metadata.name: each for each in (asked, *(other.provider for other in peers))},
        now=now,
    )


def taken(
    nodes: Iterable[Node],
    flavors: Iterable[ResourceFlavor] = (flavor(),),
    claim: Claim | None = None,
    others: Sequence[Claim] = (),
    declared: Mapping[str, AbstractSet[str]] = NOTHING,
    *,
    parameters: NodeInventoryParametersSpec | None = None,
    pods: Mapping[str, NodePods] | None = None,
    now: datetime.datetime = NOW,
) -> Inventory:
    """What is counted for a provider that claims all the flavors, unless another claim is given."""
    by_name = {each.metadata.name: each for each in flavors}
    claim = claim or Claim("mine", tuple(by_name))
    request = asks(by_name, claim, [peer(other) for other in others], parameters=parameters, now=now)
    return take_inventory(request, nodes, declared, pods or {})


def seen(
    nodes: Iterable[Node],
    flavors: Iterable[ResourceFlavor] = (flavor(),),
    claim: Claim | None = None,
    others: Sequence[Claim] = (),
    declared: Mapping[str, AbstractSet[str]] = NOTHING,
    **more: Any,
) -> Observation:
    """What the provider sees; as `taken`."""
    return taken(nodes, flavors, claim, others, declared, **more).observation


def amounts(observation: Observation) -> dict[str, dict[str, str]]:
    return {
        each.name: {resource: str(quantity) for resource, quantity in each.resources.items()}
        for each in observation.capacity.flavors
    }


def nanos(**units: float) -> dict[str, int]:
    """Nanos by resource from units; `gpu` is the extended resource."""
    return {GPU if name == "gpu" else name: round(amount * 10**9) for name, amount in units.items()}
