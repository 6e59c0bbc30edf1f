"""Which nodes of a provider are expected to report, and what those add whose agents are heard. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from typing import Final

from kueue_dqo.api import dqo
from kueue_dqo.api.core import Node
from kueue_dqo.api.gpu import NO_DEVICES, NVIDIA_PREFIX, GPUInventory
from kueue_dqo.api.parameters import Cordoned, NvidiaGpuParametersSpec
from kueue_dqo.provider import Request
from providers.nodes.pods import NodePods
from providers.nodes.usable import Unusable, why_unusable
from providers.nvidia_gpu.counting import Contribution, FlavorCount
from providers.nvidia_gpu.hearing import Excluded, Held, Seen
from providers.nvidia_gpu.memory import Memory
from providers.nvidia_gpu.silence import Aside, Listening, Published, listen

_PRESENT_LABEL: Final = "nvidia.com/gpu.present"
"""GPU feature discovery sets it to `true` where it finds a GPU."""


class RollCall:
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
        self._usable: list[tuple[str, Node, Seen | None]] = []
        """With their flavors."""
        self._ready: dict[str, Seen | None] = {}
        """Those that do not count although they are Ready."""
        self._not_ready: set[str] = set()
        memory.begin(request.parameters)

    def take(self, node: Node, flavor: str) -> None:
        """A node of the flavor. One without GPUs adds nothing, and nobody asks why."""
        name, count = node.metadata.name, self.counts[flavor]
        seen = self._reports.get(name)
        if seen is not None and not seen.is_of(node.metadata.uid):
            seen = None
        if (seen is None or _finds_none(seen)) and not _has_gpus(node):
            return
        reason = why_unusable(node, self._request.flavors[flavor])
        if reason is None:
            self._expected[name] = seen
            self._usable.append((flavor, node, seen))
            return
        if node.is_ready:
            self._ready[name] = seen
        else:
            self._not_ready.add(name)
        count.exclude(name, reason)
        # The cordon itself brings a taint, so that whatever else speaks against the node does not matter here.
        held = self._pods.get(name) if reason is Unusable.CORDONED else None
        inventory = seen.report.spec.inventory if seen is not None else None
        if held is not None and inventory is not None:
            count.add_allocated(self._contribution(node, inventory), held)

    def listen(self) -> Listening:
        """Counts the nodes that were taken. Returns what is made of their agents."""
        request = self._request
        listening = listen(
            self._expected,
            request.parameters.agents,
            request.now,
            published=_published(request.provider.status.capacity),
            aside=Aside(self._ready, len(self._not_ready)),
            suspicion=self._memory.suspicion,
        )
        self._memory.unheard, self._memory.suspicion = listening.unheard, listening.suspicion
        for flavor, node, seen in self._usable:
            name, count = node.metadata.name, self.counts[flavor]
            state = listening.states[name]
            inventory = seen.report.spec.inventory if seen is not None else None
            if isinstance(state, Excluded):
                count.exclude(name, state.reason)
            elif inventory is not None:
                count.add(name, self._contribution(node, inventory))
                if isinstance(state, Held):
                    count.hold(name, state)
            if seen is not None and seen.report.spec.problem is not None:
                count.said[name] = seen.report.spec.problem.message
        return listening

    def flavors_of(self, nodes: AbstractSet[str]) -> set[str]:
        """The flavors of those that would count if their agents were heard."""
        return {flavor for flavor, node, _ in self._usable if node.metadata.name in nodes}

    def _contribution(self, node: Node, inventory: GPUInventory) -> Contribution:
        return self._memory.contribution(node, inventory, self._request.parameters)


def _published(capacity: dqo.Capacity | None) -> Published:
    if capacity is None:
        return Published.NOTHING
    is_some = any(quantity.nanos for flavor in capacity.flavors for quantity in flavor.resources.values())
    return Published.SOME if is_some else Published.ZERO


def _finds_none(seen: Seen) -> bool:
    """Whether the agent finds no GPU, and never did: so it is on a node without any, if nothing else speaks of one."""
    spec = seen.report.spec
    return spec.inventory is None and spec.problem is not None and spec.problem.reason == NO_DEVICES


def _has_gpus(node: Node) -> bool:
    """Whether a node without a report is one whose agent is missing."""
    return node.metadata.labels.get(_PRESENT_LABEL) == "true" or any(
        quantity is not None and quantity.nanos > 0 and resource.startswith(NVIDIA_PREFIX)
        for resource, quantity in node.status.allocatable.items()
    )
