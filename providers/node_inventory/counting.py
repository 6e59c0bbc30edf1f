"""What the nodes of one flavor have together, in whole nanos. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from kueue_dqo.api.core import Amounts, Node
from kueue_dqo.api.parameters import ResourceSelection
from kueue_dqo.api.quantity import Format, Quantity, common_format
from providers.node_inventory.exclusion import Exclusion
from providers.node_inventory.pods import NodePods


class Sum:
    """Amounts by resource. The format of each follows from what was added, not from the order."""

    def __init__(self) -> None:
        self.nanos: Final[dict[str, int]] = {}
        self._formats: dict[str, set[Format]] = {}

    def add(self, resource: str, nanos: int, fmt: Format) -> None:
        """Adds so much of a resource; a zero makes the resource known."""
        self.nanos[resource] = self.nanos.get(resource, 0) + nanos
        self._formats.setdefault(resource, set()).add(fmt)

    def add_all(self, other: Sum) -> None:
        """Adds another sum."""
        for resource, nanos in other.nanos.items():
            for fmt in other._formats[resource]:
                self.add(resource, 0, fmt)
            self.nanos[resource] += nanos

    def quantities(self) -> dict[str, Quantity]:
        """By resource, sorted by name."""
        return {
            name: Quantity(nanos, common_format(self._formats.get(name, set())))
            for name, nanos in sorted(self.nanos.items())
        }


class FlavorCount:
    """What was counted for one flavor. `total` is complete after `settle`."""

    def __init__(self, selection: ResourceSelection) -> None:
        self._selection = selection
        self._alike: dict[int, tuple[Amounts, list[str]]] = {}
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
        for resource, quantity, nanos in self._held(node, pods.allocated):
            self.on_cordoned.add(resource, nanos, quantity.format)

    def settle(self) -> Iterator[str]:
        """Adds everything up. Yields a message for each node and resource of which there is less than nothing."""
        for allocatable, names in self._alike.values():
            for resource, quantity in allocatable.items():
                if quantity is None or not self._selection.selects(resource):
                    continue
                if quantity.nanos < 0:
                    for name in names:
                        yield (
                            f"Node {name} has a negative allocatable of {quantity} {resource}: its kubelet or device "
                            "plugin reports nonsense; repair it, or leave the resource out by spec.resources.exclude "
                            "of the parameters"
                        )
                self.total.add(resource, quantity.nanos * len(names), quantity.format)
        self._alike.clear()
        for resource, nanos in self.reserve.nanos.items():
            self.total.nanos[resource] -= nanos
        self.total.add_all(self.on_cordoned)

    def publish_zeros(self, resources: set[str]) -> None:
        """A resource that the provider answers for is an explicit zero where there is none of it."""
        for resource in resources:
            if self._selection.selects(resource):
                self.total.nanos.setdefault(resource, 0)

    def _held(self, node: Node, nanos: Mapping[str, int]) -> Iterator[tuple[str, Quantity, int]]:
        for resource, held in nanos.items():
            quantity = node.status.allocatable.get(resource)
            if quantity is not None and quantity.nanos > 0 and held > 0 and self._selection.selects(resource):
                yield resource, quantity, min(held, quantity.nanos)
