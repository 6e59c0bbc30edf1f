"""What one node offers, and what the nodes of one flavor offer together, in whole devices. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from kueue_dqo.api.core import Node
from kueue_dqo.api.gpu import MIG_PREFIX, GPUInventory, UnhealthyDevice
from kueue_dqo.api.parameters import NvidiaGpuParametersSpec, ResourceSelection
from kueue_dqo.api.quantity import NANOS, Quantity
from providers.nodes.pods import NodePods
from providers.nodes.wording import negative_allocatable
from providers.nvidia_gpu.hearing import Held
from providers.nvidia_gpu.naming import offered


class Cap(NamedTuple):
    """A resource of which a node has fewer to allocate than its agent found healthy ones."""

    resource: str
    counted: int
    of: int


class Contribution(NamedTuple):
    """What a node adds to its flavor where it counts."""

    devices: Mapping[str, int]
    """By the name that the device plugin gives; 0 where all of a kind are unhealthy.

    Not MIG devices of which there is none and that the node's allocatable does not know either: their names are the
    agent's word alone, and each name takes a place in the capacity.
    """
    caps: tuple[Cap, ...]
    unhealthy: tuple[UnhealthyDevice, ...]
    unhealthy_not_listed: int
    problems: tuple[str, ...]
    """What is odd about how the node offers its devices."""
    impossible: tuple[str, ...]
    """Messages of InvalidCapacity."""


def contribution_of(node: Node, inventory: GPUInventory, parameters: NvidiaGpuParametersSpec) -> Contribution:
    """What the node adds of the resources that are reported."""
    offer = offered(inventory, node, parameters)
    devices: dict[str, int] = {}
    caps: list[Cap] = []
    impossible: list[str] = []
    for resource, healthy in offer.healthy.items():
        if not parameters.resources.selects(resource):
            continue
        devices[resource] = healthy
        if not parameters.cap_by_allocatable:
            continue
        quantity = node.status.allocatable.get(resource)
        allocatable = quantity.nanos // NANOS if quantity is not None else 0
        if quantity is not None and allocatable < 0:
            impossible.append(negative_allocatable(node.metadata.name, quantity, resource))
        elif allocatable < healthy:
            devices[resource] = allocatable
            caps.append(Cap(resource, allocatable, healthy))
    made_up = [
        resource
        for resource, count in devices.items()
        if count == 0 and resource.startswith(MIG_PREFIX) and node.status.allocatable.get(resource) is None
    ]
    for resource in made_up:
        del devices[resource]
    return Contribution(
        devices,
        tuple(caps),
        inventory.unhealthy,
        inventory.unhealthy_not_listed,
        offer.problems,
        tuple(impossible),
    )


class FlavorCount:
    """What was counted for one flavor."""

    def __init__(self) -> None:
        self.nodes = 0
        """How many count, those with devices that are held included."""
        self.devices: dict[str, int] = {}
        """By resource, what is counted on cordoned nodes included."""
        self.on_cordoned: dict[str, int] = {}
        """What was added for pods that Kueue manages on cordoned nodes."""
        self.excluded: dict[str, list[str]] = {}
        """The names of nodes that do not count, by the reason."""
        self.held: dict[str, Held] = {}
        """Nodes that count as their agents said last, and until when."""
        self.said: dict[str, str] = {}
        """What the agent of a node says that is held or excluded for a problem."""
        self.unhealthy: list[tuple[str, UnhealthyDevice]] = []
        """Devices of the nodes that count, each with its node."""
        self.unhealthy_not_listed = 0
        self.caps: list[tuple[str, Cap]] = []
        """What was taken off, each with its node."""
        self.odd: dict[str, list[str]] = {}
        """The names of nodes by what is odd about how they offer their devices."""
        self.impossible: list[str] = []

    def add(self, name: str, contribution: Contribution) -> None:
        """A node that counts."""
        self.nodes += 1
        for resource, count in contribution.devices.items():
            self.devices[resource] = self.devices.get(resource, 0) + count
        if contribution.unhealthy:
            self.unhealthy += [(name, device) for device in contribution.unhealthy]
        self.unhealthy_not_listed += contribution.unhealthy_not_listed
        if contribution.caps:
            self.caps += [(name, cap) for cap in contribution.caps]
        for problem in contribution.problems:
            self.odd.setdefault(problem, []).append(name)
        self.impossible += contribution.impossible

    def hold(self, name: str, state: Held) -> None:
        """A node that counts as its agent said last."""
        self.held[name] = state

    def exclude(self, name: str, reason: str) -> None:
        """A node that does not count."""
        self.excluded.setdefault(reason, []).append(name)

    def add_allocated(self, contribution: Contribution, pods: NodePods) -> None:
        """Adds what pods that Kueue manages still hold of a cordoned node, and no more than would count there."""
        for resource, count in contribution.devices.items():
            held = min(pods.allocated.get(resource, 0) // NANOS, count)
            if held > 0:
                self.devices[resource] = self.devices.get(resource, 0) + held
                self.on_cordoned[resource] = self.on_cordoned.get(resource, 0) + held
        self.impossible += contribution.impossible

    def publish_zeros(self, resources: set[str], selection: ResourceSelection) -> None:
        """A resource that the provider answers for is an explicit zero where there is none of it."""
        for resource in resources:
            if selection.selects(resource):
                self.devices.setdefault(resource, 0)

    def capped(self) -> Iterator[tuple[str, int]]:
        """How many devices were taken off, by resource."""
        taken_off: dict[str, int] = {}
        for _, cap in self.caps:
            taken_off[cap.resource] = taken_off.get(cap.resource, 0) + cap.of - cap.counted
        yield from sorted(taken_off.items())


def quantities(devices: Mapping[str, int]) -> dict[str, Quantity]:
    """Whole devices as amounts, sorted by resource."""
    return {resource: Quantity(count * NANOS) for resource, count in sorted(devices.items())}
