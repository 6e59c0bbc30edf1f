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
from kueue_dqo.api.gpu import NVIDIA_PREFIX, GPUInventory
from kueue_dqo.api.parameters import Cordoned, NvidiaGpuParametersSpec
from kueue_dqo.provider import Observation, Request
from providers.amounts import capacity_by_flavor
from providers.nodes.causes import raise_causes
from providers.nodes.claims import Memberships, claim_of, claimed_twice, rivals_of
from providers.nodes.pods import NodePods
from providers.nodes.usable import Unusable, unknown_operators, why_unusable
from providers.nodes.zeros import answered_for
from providers.nvidia_gpu.counting import Contribution, FlavorCount, contribution_of, quantities
from providers.nvidia_gpu.silence import NO_REPORT, Excluded, Fresh, Held, Published, Seen, listen
from providers.nvidia_gpu.wording import notices_of, summary_of
from providers.pipeline import check_flavors

_PRESENT_LABEL: Final = "nvidia.com/gpu.present"
"""GPU feature discovery sets it to `true` where it finds a GPU."""


class Inventory(NamedTuple):
    """What was observed, and what was counted for each flavor, in the order of the spec."""

    observation: Observation
    counts: Mapping[str, FlavorCount]


class Memory:
    """What is kept from one look at a provider to the next: of thousands of nodes, few have changed."""

    def __init__(self) -> None:
        self.unheard: frozenset[str] = frozenset()
        """Nodes whose agents were not heard at the last look: a word of them is news, whatever it says."""
        self._parameters: NvidiaGpuParametersSpec | None = None
        self._known: dict[str, tuple[Node, GPUInventory, Contribution]] = {}
        self._used: dict[str, tuple[Node, GPUInventory, Contribution]] = {}

    def begin(self, parameters: NvidiaGpuParametersSpec) -> None:
        """A look begins. What the last one did not use is forgotten, and everything where the parameters changed."""
        self._known, self._used = (self._used if parameters == self._parameters else {}), {}
        self._parameters = parameters

    def contribution(self, node: Node, inventory: GPUInventory, parameters: NvidiaGpuParametersSpec) -> Contribution:
        """What the node adds; as before, while node and inventory are the same objects."""
        name = node.metadata.name
        known = self._known.get(name)
        if known is None or known[0] is not node or known[1] is not inventory:
            known = (node, inventory, contribution_of(node, inventory, parameters))
        self._used[name] = known
        return known[2]


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
        declared: resources by flavor that some queue has a quota for; those of NVIDIA are published as zero where no
            node counts.
        pods: what pods hold, by the name of the node; read only with `cordoned: CountAllocated`.
        memory: of the last look at this provider.

    Raises:
        InvalidCapacity: a negative allocatable of a resource that counts.
        Misconfigured: an orchestrated flavor has no object; a flavor is claimed twice or has an unknown toleration
            operator; two claimed flavors match a node.
        SourceUnavailable: too many agents are not heard, so that it is not the nodes that are to blame.
    """
    # A flavor may have gone while the first lists were waited for.
    check_flavors(request.provider, request.flavors)
    look = _Look(request, reports, pods, memory or Memory())
    claim, rivals = claim_of(request), rivals_of(request)
    misconfigured = [
        *(message for name in claim.flavors for message in unknown_operators(request.flavors[name])),
        *claimed_twice(claim, rivals),
    ]
    memberships = Memberships(claim, rivals, request.flavors)
    for node in nodes:
        for name in memberships.of(node).mine:
            look.take(node, name)
    broken, look_again = look.listen()
    counts = look.counts
    raise_causes(
        invalid=sorted(message for count in counts.values() for message in count.impossible),
        misconfigured=[*misconfigured, *memberships.overlaps()],
        unavailable=[broken] if broken is not None else [],
    )
    selection = request.parameters.resources
    for name, count in counts.items():
        answered = answered_for(name, selection, declared, nodes=count.nodes)
        count.publish_zeros({each for each in answered if each.startswith(NVIDIA_PREFIX)}, selection)
    capacity = capacity_by_flavor(counts, {name: quantities(count.devices) for name, count in counts.items()})
    notices = tuple(notices_of(counts, request.parameters))
    return Inventory(Observation(capacity, summary_of(counts), look_again, notices), counts)


class _Look:
    """One look at the nodes of a provider: first which agents have to be heard, then what those that are report."""

    def __init__(
        self,
        request: Request[NvidiaGpuParametersSpec],
        reports: Mapping[str, Seen],
        pods: Mapping[str, NodePods],
        memory: Memory,
    ) -> None:
        self._request = request
        self._reports = reports
        self._pods = pods if request.parameters.cordoned is Cordoned.COUNT_ALLOCATED else {}
        self._memory = memory
        self.counts = {name: FlavorCount() for name in request.provider.flavor_names}
        self._expected: dict[str, Seen | None] = {}
        self._usable: list[tuple[FlavorCount, Node, Seen | None]] = []
        memory.begin(request.parameters)

    def take(self, node: Node, flavor: str) -> None:
        """A node of the flavor. One without GPUs adds nothing, and nobody asks why."""
        name, count = node.metadata.name, self.counts[flavor]
        seen = self._reports.get(name)
        if seen is None and not _has_gpus(node):
            return
        reason = why_unusable(node, self._request.flavors[flavor])
        if reason is None:
            self._expected[name] = seen
            self._usable.append((count, node, seen))
            return
        count.exclude(name, reason)
        # The cordon itself brings a taint, so that whatever else speaks against the node does not matter here.
        held = self._pods.get(name) if reason is Unusable.CORDONED else None
        inventory = seen.report.spec.inventory if seen is not None else None
        if held is not None and inventory is not None:
            count.add_allocated(self._contribution(node, inventory), held)

    def listen(self) -> tuple[str | None, float | None]:
        """Counts the nodes that were taken. Returns why nothing can be said, and when to look again."""
        request = self._request
        published = _published(request.provider.status.capacity)
        listening = listen(self._expected, request.parameters.agents, request.now, published=published)
        states = listening.states
        self._memory.unheard = frozenset(name for name, state in states.items() if not isinstance(state, Fresh))
        for count, node, seen in self._usable:
            name = node.metadata.name
            state = states[name]
            inventory = seen.report.spec.inventory if seen is not None else None
            if isinstance(state, Excluded) or inventory is None:
                count.exclude(name, NO_REPORT if isinstance(state, Fresh) else state.reason)
            else:
                count.add(name, self._contribution(node, inventory))
                if isinstance(state, Held):
                    count.hold(name, state)
            if seen is not None and seen.report.spec.problem is not None:
                count.said[name] = seen.report.spec.problem.message
        return listening.broken, listening.look_again

    def _contribution(self, node: Node, inventory: GPUInventory) -> Contribution:
        return self._memory.contribution(node, inventory, self._request.parameters)


def _published(capacity: dqo.Capacity | None) -> Published:
    if capacity is None:
        return Published.NOTHING
    is_some = any(quantity.nanos for flavor in capacity.flavors for quantity in flavor.resources.values())
    return Published.SOME if is_some else Published.ZERO


def _has_gpus(node: Node) -> bool:
    """Whether a node without a report is one whose agent is missing."""
    return node.metadata.labels.get(_PRESENT_LABEL) == "true" or any(
        quantity is not None and quantity.nanos > 0 and resource.startswith(NVIDIA_PREFIX)
        for resource, quantity in node.status.allocatable.items()
    )
