"""From Nodes and ResourceFlavors to capacity. Pure.

A node counts for a flavor when it carries all the flavor's nodeLabels and nothing of `exclusion.py` speaks against it.
What it adds is its allocatable, exactly; less the reserve, where the parameters want one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from typing import NamedTuple

from kueue_dqo.api.core import Node
from kueue_dqo.api.parameters import Cordoned, NodeInventoryParametersSpec, Reserve
from kueue_dqo.provider import Observation, Request
from providers.amounts import capacity_by_flavor
from providers.node_inventory.counting import FlavorCount
from providers.node_inventory.exclusion import Exclusion, Rules
from providers.node_inventory.wording import notices_of, summary_of
from providers.nodes.causes import raise_causes
from providers.nodes.claims import Memberships, claim_of, claimed_twice, rivals_of
from providers.nodes.pods import NodePods
from providers.nodes.usable import unknown_operators
from providers.nodes.zeros import answered_for
from providers.pipeline import check_flavors
from providers.slips import not_orchestrated, parameters_name


class Inventory(NamedTuple):
    """What was observed, and what was counted for each flavor, in the order of the spec."""

    observation: Observation
    counts: Mapping[str, FlavorCount]


def observe(
    request: Request[NodeInventoryParametersSpec],
    nodes: Iterable[Node],
    declared: Mapping[str, AbstractSet[str]],
    pods: Mapping[str, NodePods],
) -> Observation:
    """The capacity of the provider that is asked about: `take_inventory` without the counts."""
    return take_inventory(request, nodes, declared, pods).observation


def take_inventory(
    request: Request[NodeInventoryParametersSpec],
    nodes: Iterable[Node],
    declared: Mapping[str, AbstractSet[str]],
    pods: Mapping[str, NodePods],
) -> Inventory:
    """The capacity of the provider that is asked about.

    Args:
        request: about that provider.
        nodes: every Node of the cluster.
        declared: resources by flavor that some queue has a quota for; they are published as zero where no node counts
            and the provider's parameters name none.
        pods: what pods hold, by the name of the node; read only where the parameters say so (`needs_pods`).

    Raises:
        InvalidCapacity: a negative allocatable, one of what is no name of a resource, or more than Kueue holds.
        Misconfigured: an orchestrated flavor has no object; parameters name a flavor that is not orchestrated; a flavor
            is claimed twice or has an unknown toleration operator; two claimed flavors match a node. Of several causes
            the first in the order of the API is raised, and its message lists all.
    """
    # A flavor may have gone while the first lists were waited for.
    check_flavors(request.provider, request.flavors)
    parameters = request.parameters
    claim, rivals = claim_of(request), rivals_of(request)
    misconfigured = [
        *_not_orchestrated(request),
        *(message for name in claim.flavors for message in unknown_operators(request.flavors[name])),
        *claimed_twice(claim, rivals),
    ]
    memberships = Memberships(claim, rivals, request.flavors)
    rules = {name: Rules(request.flavors[name], parameters, request.now) for name in claim.flavors}
    counts = {name: FlavorCount(parameters.resources) for name in claim.flavors}
    count_allocated = parameters.cordoned is Cordoned.COUNT_ALLOCATED
    keep_reserve = parameters.reserve is Reserve.UNMANAGED_PODS
    look_again: float | None = None
    for node in nodes:
        for name in memberships.of(node).mine:
            count, rule = counts[name], rules[name]
            reason = rule.why_excluded(node)
            held = pods.get(node.metadata.name) if count_allocated or keep_reserve else None
            if reason is None:
                count.add(node)
                if held is not None and keep_reserve:
                    count.keep_back(node, held)
                continue
            count.exclude(node, reason)
            # The cordon itself brings a taint, so that whatever else speaks against the node does not matter here.
            if reason is Exclusion.CORDONED and held is not None and count_allocated:
                count.add_allocated(node, held)
            elif reason is Exclusion.READY_DELAY:
                look_again = min(float(rule.wait(node)), look_again or float("inf"))
    invalid = sorted(message for count in counts.values() for message in count.settle())
    misconfigured += memberships.overlaps()
    raise_causes(invalid=invalid, misconfigured=misconfigured)
    for name, count in counts.items():
        answered = answered_for(name, parameters.resources, declared, nodes=count.nodes)
        count.publish_zeros(answered | _explicit_zeros(name, parameters))
    capacity = capacity_by_flavor(counts, {name: count.total.quantities() for name, count in counts.items()})
    observation = Observation(capacity, summary_of(counts), look_again, tuple(notices_of(counts, parameters)))
    return Inventory(observation, counts)


def _explicit_zeros(flavor: str, parameters: NodeInventoryParametersSpec) -> set[str]:
    """What the parameters have published as zero where there is none, whether or not nodes count."""
    return {resource for each in parameters.explicit_zeros if each.flavor == flavor for resource in each.resources}


def _not_orchestrated(request: Request[NodeInventoryParametersSpec]) -> Iterator[str]:
    """A slip of the pen would let nodes count that are not ready for the flavor."""
    parameters, provider = request.parameters, request.provider
    named = [
        *(("requiredResources", index, each.flavor) for index, each in enumerate(parameters.required_resources)),
        *(("explicitZeros", index, each.flavor) for index, each in enumerate(parameters.explicit_zeros)),
    ]
    for field, index, flavor in named:
        if flavor not in provider.flavor_names:
            slip = not_orchestrated(f"spec.{field}[{index}].flavor", flavor, provider)
            yield f"{parameters_name(provider)}: {slip}"
