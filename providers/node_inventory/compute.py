"""From Nodes and ResourceFlavors to capacity. Pure.

A node counts for a flavor when it carries all the flavor's nodeLabels, is Ready, schedulable, not being deleted, and
each of its NoSchedule and NoExecute taints is admitted by the flavor. What it adds is its allocatable, exactly.
"""

from __future__ import annotations

import enum
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from kueue_dqo.api import dqo
from kueue_dqo.api.core import BLOCKING_EFFECTS, EQUAL, EXISTS, Node, Taint
from kueue_dqo.api.kueue import ResourceFlavor
from kueue_dqo.api.parameters import ResourceSelection
from kueue_dqo.api.quantity import LARGEST_UNITS, NANOS, Format, Quantity, common_format
from kueue_dqo.api.wording import counted, some
from kueue_dqo.provider import InvalidCapacity, Misconfigured, Observation

_LISTED_AT_MOST: Final = 5


class Exclusion(enum.StrEnum):
    """Why a node that matches a flavor does not count; the first that holds is the reason."""

    DELETING = "Deleting"
    NOT_READY = "NotReady"
    CORDONED = "Cordoned"
    UNTOLERATED_TAINT = "UntoleratedTaint"


class Claim(NamedTuple):
    """What one CapacityProvider of this controller claims: flavors by name, and the resources it reports of them."""

    provider: str
    flavors: tuple[str, ...]
    selection: ResourceSelection = ResourceSelection()


@dataclass(slots=True)
class FlavorCount:
    """What was counted for one flavor."""

    nodes: int = 0
    nanos: dict[str, int] = field(default_factory=dict)
    formats: dict[str, set[Format]] = field(default_factory=dict)

    def add(self, resource: str, quantity: Quantity) -> None:
        """Adds what one node has of a resource."""
        self.nanos[resource] = self.nanos.get(resource, 0) + quantity.nanos
        self.formats.setdefault(resource, set()).add(quantity.format)

    def quantities(self) -> dict[str, Quantity]:
        """The sums by resource, sorted by name."""
        return {
            name: Quantity(nanos, common_format(self.formats.get(name, set())))
            for name, nanos in sorted(self.nanos.items())
        }


def why_excluded(node: Node, flavor: ResourceFlavor) -> Exclusion | None:
    """Why a node that carries the flavor's labels does not count for it, None where it does."""
    if node.metadata.deletion_timestamp is not None:
        return Exclusion.DELETING
    if not node.is_ready:
        return Exclusion.NOT_READY
    if node.spec.unschedulable:
        return Exclusion.CORDONED
    if not all(_admits(flavor, taint) for taint in node.spec.taints if taint.effect in BLOCKING_EFFECTS):
        return Exclusion.UNTOLERATED_TAINT
    return None


def observe(
    claim: Claim,
    others: Iterable[Claim],
    flavors: Mapping[str, ResourceFlavor],
    nodes: Iterable[Node],
    declared: Mapping[str, AbstractSet[str]],
) -> Observation:
    """The capacity of one provider.

    Args:
        claim: of the provider.
        others: claims of the other providers of the same controller.
        flavors: every ResourceFlavor by name, those being deleted included.
        nodes: every Node of the cluster.
        declared: resources by flavor that some queue has a quota for; they are published as zero where no node counts
            and the provider's parameters name none.

    Raises:
        InvalidCapacity: a negative allocatable, or a sum above the largest quantity.
        Misconfigured: a flavor without an object, claimed twice or with an unknown toleration operator, a node that
            two claimed flavors match, more than 64 resources. Of several causes the first in the order of the API is
            raised, and its message lists all.
    """
    others = list(others)
    misconfigured = [*_unusable_flavors(claim, flavors), *_claimed_twice(claim, others)]
    rivals = [other for other in others if not claim.selection.is_disjoint(other.selection)]
    tally = _Tally(claim, rivals, flavors)
    for node in nodes:
        tally.take(node)
    misconfigured += tally.overlaps()
    tally.publish_zeros(declared)
    for name, count in tally.counts.items():
        if len(count.nanos) > dqo.MAX_FLAVOR_RESOURCES:
            misconfigured.append(
                f"flavor {name} has {len(count.nanos)} resources; at most {dqo.MAX_FLAVOR_RESOURCES} are "
                "allowed: choose them in the parameters, by resources.include or resources.exclude"
            )
    invalid = [*sorted(tally.invalid), *tally.too_large()]
    if invalid:
        raise InvalidCapacity("; ".join([*_first(invalid), *_first(misconfigured)]))
    if misconfigured:
        raise Misconfigured("; ".join(_first(misconfigured)))
    return Observation(tally.capacity(), tally.summary())


class _Tally:
    """Counts nodes one by one for the flavors of one claim."""

    def __init__(self, claim: Claim, rivals: Iterable[Claim], flavors: Mapping[str, ResourceFlavor]) -> None:
        self._claim = claim
        self._mine = {name: flavors[name] for name in claim.flavors if name in flavors}
        # A flavor that both claim is reported as such, whatever nodes there are.
        self._rivals: dict[str, list[str]] = {}
        for rival in rivals:
            for name in rival.flavors:
                if name in flavors and name not in self._mine:
                    self._rivals.setdefault(name, []).append(rival.provider)
        self._rival_flavors = {name: flavors[name] for name in self._rivals}
        self._overlapping: dict[tuple[str, ...], list[str]] = {}
        self.counts = {name: FlavorCount() for name in self._mine}
        self.excluded: Counter[Exclusion] = Counter()
        self.invalid: list[str] = []

    def take(self, node: Node) -> None:
        labels = node.metadata.labels.items()
        matching = [name for name, flavor in self._mine.items() if flavor.spec.node_labels.items() <= labels]
        if not matching:
            return
        # Labels alone decide: a cordon or a taint must not make an overlap come and go.
        also = [name for name, flavor in self._rival_flavors.items() if flavor.spec.node_labels.items() <= labels]
        if len(matching) + len(also) > 1:
            self._overlapping.setdefault((*matching, *also), []).append(node.metadata.name)
        for name in matching:
            self._count(node, name)

    def _count(self, node: Node, name: str) -> None:
        exclusion = why_excluded(node, self._mine[name])
        if exclusion is not None:
            self.excluded[exclusion] += 1
            return
        count = self.counts[name]
        count.nodes += 1
        for resource, quantity in node.status.allocatable.items():
            if quantity is None or not self._claim.selection.selects(resource):
                continue
            if quantity.nanos < 0:
                self.invalid.append(
                    f"Node {node.metadata.name} has a negative allocatable of {quantity} {resource}: "
                    "its kubelet or device plugin reports nonsense"
                )
            count.add(resource, quantity)

    def overlaps(self) -> Iterator[str]:
        for names, nodes in sorted(self._overlapping.items()):
            claimed = ", ".join(
                f"{name} (of CapacityProvider {some(sorted(self._rivals[name]))})" if name in self._rivals else name
                for name in names
            )
            yield (
                f"Node {some(sorted(nodes))} would count more than once, for the flavors {claimed}: "
                "make their nodeLabels tell the nodes apart"
            )

    def publish_zeros(self, declared: Mapping[str, AbstractSet[str]]) -> None:
        """A resource that the provider answers for is an explicit zero where there is none of it."""
        selection = self._claim.selection
        for name, count in self.counts.items():
            answered = set(selection.include) or (declared.get(name, set()) if count.nodes == 0 else set())
            for resource in answered:
                if selection.selects(resource):
                    count.nanos.setdefault(resource, 0)

    def too_large(self) -> Iterator[str]:
        for name, count in self.counts.items():
            for resource, quantity in count.quantities().items():
                if quantity.nanos > LARGEST_UNITS * NANOS:
                    yield (
                        f"the nodes of flavor {name} have {quantity} {resource} together, more than the largest "
                        "quantity "
                        f"that Kueue holds ({LARGEST_UNITS})"
                    )

    def capacity(self) -> dqo.Capacity:
        """The API wants a resource of each flavor that is listed, so one of which nothing is known is left out."""
        return dqo.Capacity(
            tuple(
                dqo.FlavorCapacity(name, self.counts[name].quantities())
                for name in self._claim.flavors
                if self.counts[name].nanos
            )
        )

    def summary(self) -> str:
        """One line, such as `h100: 10 nodes, 80 nvidia.com/gpu; excluded: NotReady=1, Cordoned=2`."""
        parts = [_flavor_summary(name, self.counts[name]) for name in self._claim.flavors]
        reasons = [f"{reason}={self.excluded[reason]}" for reason in Exclusion if self.excluded[reason]]
        if reasons:
            parts.append(f"excluded: {', '.join(reasons)}")
        return "; ".join(parts)


def _admits(flavor: ResourceFlavor, taint: Taint) -> bool:
    return any(toleration.tolerates(taint) for toleration in flavor.spec.tolerations) or any(
        (declared.key, declared.effect) == (taint.key, taint.effect) for declared in flavor.spec.node_taints
    )


def _unusable_flavors(claim: Claim, flavors: Mapping[str, ResourceFlavor]) -> Iterator[str]:
    for name in claim.flavors:
        flavor = flavors.get(name)
        if flavor is None:
            yield f"ResourceFlavor {name} does not exist: create it, or take it out of spec.orchestratedFlavors"
            continue
        for toleration in flavor.spec.tolerations:
            if toleration.operator not in ("", EXISTS, EQUAL):
                yield (
                    f"ResourceFlavor {name} has a toleration with the operator {toleration.operator!r}: "
                    f"only {EXISTS} and {EQUAL} are understood"
                )


def _claimed_twice(claim: Claim, others: Iterable[Claim]) -> Iterator[str]:
    for other in others:
        shared = [name for name in claim.flavors if name in other.flavors]
        if shared and not claim.selection.is_disjoint(other.selection):
            yield (
                f"CapacityProvider {other.provider} claims the flavor {', '.join(shared)} as well: let one of them "
                "have it, "
                "or give both parameters with disjoint resources"
            )


def _flavor_summary(name: str, count: FlavorCount) -> str:
    """Extended resources tell a pool of devices best, cpu and memory all others."""
    shown = [resource for resource, nanos in sorted(count.nanos.items()) if "/" in resource and nanos]
    if not shown:
        shown = [resource for resource in ("cpu", "memory") if resource in count.nanos]
    quantities = count.quantities()
    parts = [f"{quantities[resource]} {resource}" for resource in shown]
    return ", ".join([f"{name}: {counted(count.nodes, 'node')}", *parts])


def _first(texts: list[str]) -> list[str]:
    more = len(texts) - _LISTED_AT_MOST
    return texts[:_LISTED_AT_MOST] + ([f"and {more} more of the kind"] if more > 0 else [])
