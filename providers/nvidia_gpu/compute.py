"""From reports, Nodes and ResourceFlavors to capacity. Pure.

A node counts for a flavor when it carries all the flavor's nodeLabels, pods of the flavor can run on it, and its agent
is heard. What it adds is what its device plugin offers of the devices that NVML finds healthy, and no more than its
allocatable has.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from collections.abc import Set as AbstractSet
from typing import Final, NamedTuple

from kueue_dqo.api import dqo
from kueue_dqo.api.core import Node
from kueue_dqo.api.gpu import GPU, MIG_PREFIX, NVIDIA_PREFIX, SHARED_SUFFIX
from kueue_dqo.api.parameters import NvidiaGpuParametersSpec
from kueue_dqo.api.quantity import Quantity
from kueue_dqo.provider import Observation, Request, SourceUnavailable
from providers.amounts import capacity_by_flavor
from providers.nodes.causes import raise_causes
from providers.nodes.claims import Memberships, claim_of, claimed_twice, rivals_of
from providers.nodes.pods import NodePods
from providers.nodes.usable import unknown_operators
from providers.nodes.zeros import answered_for
from providers.nvidia_gpu.counting import FlavorCount, quantities
from providers.nvidia_gpu.hearing import Seen
from providers.nvidia_gpu.memory import Memory
from providers.nvidia_gpu.notices import notices_of
from providers.nvidia_gpu.roll_call import RollCall
from providers.nvidia_gpu.wording import summary_of
from providers.pipeline import check_flavors, settle

_NONE: Final = Quantity(0)


class Inventory(NamedTuple):
    """What was observed, and what was counted for each flavor, in the order of the spec."""

    observation: Observation
    counts: Mapping[str, FlavorCount]


def observe(  # noqa: PLR0913 - what is seen of the cluster, part by part
    request: Request[NvidiaGpuParametersSpec],
    nodes: Iterable[Node],
    reports: Mapping[str, Seen],
    declared: Mapping[str, AbstractSet[str]],
    pods: Mapping[str, NodePods],
    *,
    memory: Memory | None = None,
) -> Inventory:
    """The capacity of the provider that is asked about.

    Args:
        request: about that provider.
        nodes: every Node of the cluster.
        reports: by the name of the node.
        declared: resources by flavor that some queue has a quota for; those of NVIDIA are published as zero where
            there is none of them.
        pods: what pods hold, by the name of the node; read only with `cordoned: CountAllocated`.
        memory: of the last look at this provider.

    Raises:
        InvalidCapacity: a negative allocatable of a resource that counts.
        Misconfigured: an orchestrated flavor has no object; a flavor is claimed twice or has an unknown toleration
            operator; two claimed flavors match a node.
        SourceUnavailable: too many agents are not heard, so that it is not the nodes that are to blame; or nothing is
            known of too many nodes, which may be in the capacity that is published.
    """
    # A flavor may have gone while the first lists were waited for.
    check_flavors(request.provider, request.flavors)
    memory = memory or Memory()
    roll = RollCall(request, reports, pods, memory)
    claim, rivals = claim_of(request), rivals_of(request)
    misconfigured = [
        *(message for name in claim.flavors for message in unknown_operators(request.flavors[name])),
        *claimed_twice(claim, rivals),
    ]
    memberships = Memberships(claim, rivals, request.flavors)
    for node in nodes:
        for name in memberships.of(node).mine:
            roll.take(node, name)
    listening = roll.listen()
    counts = roll.counts
    raise_causes(
        invalid=sorted(message for count in counts.values() for message in count.impossible),
        misconfigured=[*misconfigured, *memberships.overlaps()],
        unavailable=[listening.broken] if listening.broken is not None else [],
    )
    for name, count in counts.items():
        count.publish_zeros(_answered_for(name, request, declared, nodes=count.nodes), request.parameters.resources)
    capacity = capacity_by_flavor(counts, {name: quantities(count.devices) for name, count in counts.items()})
    # After a look that ended well, what is published has no node of which nothing is known.
    unknown = None if memory.has_counted else listening.unknown
    if unknown is not None and _would_fall(request, capacity, roll.flavors_of(unknown.nodes)):
        raise SourceUnavailable(unknown.message)
    memory.has_counted = True
    notices = tuple(notices_of(counts, request.parameters))
    return Inventory(Observation(capacity, summary_of(counts), listening.look_again, notices), counts)


def _would_fall(request: Request[NvidiaGpuParametersSpec], capacity: dqo.Capacity, flavors: AbstractSet[str]) -> bool:
    """Whether less of some GPUs of these flavors would be published than is. Raises what `settle` raises."""
    published = request.provider.status.capacity
    settled = settle(request.provider, request.parameters, capacity).capacity
    after = {flavor.name: flavor.resources for flavor in settled.flavors}
    selects = request.parameters.resources.selects
    return published is not None and any(
        quantity.nanos > (after.get(flavor.name, {}).get(resource) or _NONE).nanos
        for flavor in published.flavors
        if flavor.name in flavors
        for resource, quantity in flavor.resources.items()
        if resource.startswith(NVIDIA_PREFIX) and selects(resource)
    )


def _answered_for(
    flavor: str, request: Request[NvidiaGpuParametersSpec], declared: Mapping[str, AbstractSet[str]], *, nodes: int
) -> set[str]:
    """What is published as zero where there is none of it.

    Where nodes count, it is also what queues declare of the device plugin's devices: MIG devices that are no more, or
    GPUs that are offered by another name now. Other `nvidia.com/…`, such as those of network cards, are not asked for.
    """
    parameters = request.parameters
    answered = {
        each
        for each in answered_for(flavor, parameters.resources, declared, nodes=nodes)
        if each.startswith(NVIDIA_PREFIX)
    }
    if parameters.resources.include:
        return answered
    renamed = {each.rename for each in parameters.sharing}
    return answered | {
        each
        for each in declared.get(flavor, ())
        if each in renamed or each.removesuffix(SHARED_SUFFIX) == GPU or each.startswith(MIG_PREFIX)
    }
