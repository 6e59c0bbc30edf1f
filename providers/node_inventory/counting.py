"""What the nodes of one flavor have together, in whole nanos. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from kueue_dqo.api.core import Amounts, Node
from kueue_dqo.api.parameters import ResourceSelection
from kueue_dqo.api.problems import RESOURCE_NAME, shown
from kueue_dqo.api.quantity import LARGEST_UNITS, NANOS, Quantity
from kueue_dqo.api.wording import counted, some
from providers.amounts import brief
from providers.node_inventory.exclusion import Exclusion
from providers.nodes.pods import NodePods
from providers.nodes.wording import negative_allocatable
from providers.sums import Sum


class FlavorCount:
    """What was counted for one flavor. `total` is complete after `settle`."""

    def __init__(self, selection: ResourceSelection) -> None:
        self._selection = selection
        self._alike: dict[int, tuple[Amounts, list[str]]] = {}
        self._cordoned: list[Node] = []
        self.nodes = 0
        """How many count."""
        self.excluded: dict[Exclusion, list[str]] = {}
        """The names of those that do not."""
        self.total = Sum()
        self.reserve = Sum()
        """What was taken off for pods that Kueue does not manage."""
        self.on_cordoned = Sum()
        """What was added for pods that Kueue manages on cordoned nodes."""

    def add(self, node: Node) -> None:
        """A node that counts: its allocatable."""
        self.nodes += 1
        # Nodes of a kind are alike, and hold one and the same mapping where it was shared when they were decoded.
        allocatable = node.status.allocatable
        self._alike.setdefault(id(allocatable), (allocatable, []))[1].append(node.metadata.name)

    def exclude(self, node: Node, reason: Exclusion) -> None:
        """A node that does not count."""
        self.excluded.setdefault(reason, []).append(node.metadata.name)

    def keep_back(self, node: Node, pods: NodePods) -> None:
        """Takes off what pods that Kueue does not manage request of a node that counts, and no more than it has."""
        for resource, quantity, nanos in self._held(node, pods.unmanaged):
            self.reserve.add(resource, nanos, quantity.format)

    def add_allocated(self, node: Node, pods: NodePods) -> None:
        """Adds what pods that Kueue manages still hold of a cordoned node, and no more than it has."""
        self._cordoned.append(node)
        for resource, quantity, nanos in self._held(node, pods.allocated):
            self.on_cordoned.add(resource, nanos, quantity.format)

    def settle(self) -> Iterator[str]:
        """Adds everything up. Yields a message for each amount that cannot be, which names nodes that have it."""
        for allocatable, names in self._alike.values():
            for resource, quantity in allocatable.items():
                if quantity is None or not self._selection.selects(resource):
                    continue
                if quantity.nanos < 0:
                    for name in names:
                        yield negative_allocatable(name, quantity, resource)
                self.total.add(resource, quantity.nanos * len(names), quantity.format)
        for resource, nanos in self.reserve.nanos.items():
            self.total.nanos[resource] -= nanos
        self.total.add_all(self.on_cordoned)
        yield from self._impossible()
        self._alike.clear()
        self._cordoned.clear()

    def publish_zeros(self, resources: set[str]) -> None:
        """A resource that the provider answers for is an explicit zero where there is none of it."""
        for resource in resources:
            if self._selection.selects(resource):
                self.total.nanos.setdefault(resource, 0)

    def _impossible(self) -> Iterator[str]:
        for resource, nanos in self.total.nanos.items():
            if not RESOURCE_NAME.fits(resource):
                yield (
                    f"{self._nodes_with(resource)} {shown(resource)} in status.allocatable, which is no "
                    f"{RESOURCE_NAME.wanted}: correct the device plugin, or choose the resources that are reported by "
                    "spec.resources.include of the parameters"
                )
            elif nanos > LARGEST_UNITS * NANOS:
                most = max(held for each, _ in self._kinds() if (held := each.get(resource)) is not None)
                yield (
                    f"{self._nodes_with(resource, most)} an allocatable of {brief(most)} {resource}, so that its "
                    f"flavor has more than the largest quantity that Kueue holds ({LARGEST_UNITS}): repair what the "
                    "kubelet or device plugin reports, or leave the resource out by spec.resources.exclude of the "
                    "parameters"
                )

    def _nodes_with(self, resource: str, most: Quantity | None = None) -> str:
        """`Node n1 has`, `2 nodes (n1, n2) have`: those that have any of it, or so much."""
        names = sorted(
            name
            for allocatable, listed in self._kinds()
            if (held := allocatable.get(resource)) is not None and most in {None, held}
            for name in listed
        )
        return f"Node {names[0]} has" if len(names) == 1 else f"{counted(len(names), 'node')} ({some(names)}) have"

    def _kinds(self) -> Iterator[tuple[Amounts, list[str]]]:
        """What nodes that something was counted of have, and the names of those that have it."""
        yield from self._alike.values()
        for node in self._cordoned:
            yield node.status.allocatable, [node.metadata.name]

    def _held(self, node: Node, nanos: Mapping[str, int]) -> Iterator[tuple[str, Quantity, int]]:
        for resource, held in nanos.items():
            quantity = node.status.allocatable.get(resource)
            if quantity is not None and quantity.nanos > 0 and held > 0 and self._selection.selects(resource):
                yield resource, quantity, min(held, quantity.nanos)
