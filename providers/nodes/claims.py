"""Which nodes belong to which flavors of which providers, and where one would count twice. Pure.

Labels alone decide: a cordon or a taint must not make an overlap come and go.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final, NamedTuple, TypeVar

from kueue_dqo.api.core import Node
from kueue_dqo.api.kueue import ResourceFlavor
from kueue_dqo.api.parameters import LabelSelector, NodeParametersSpec, ResourceSelection
from kueue_dqo.api.wording import some
from kueue_dqo.provider import Peer, Request

N = TypeVar("N", bound=NodeParametersSpec)

_UNREADABLE: Final = (
    "parameters cannot be read, so it counts as claiming every resource of every node: see its own condition"
)


class Claim(NamedTuple):
    """What one CapacityProvider of this controller claims: of the nodes that it selects, resources by flavor."""

    provider: str
    flavors: tuple[str, ...]
    selection: ResourceSelection = ResourceSelection()
    node_selector: LabelSelector = LabelSelector()
    is_known: bool = True
    """Whether its parameters can be read; they may say anything, so one without claims every resource of every node."""

    def is_disjoint(self, other: Claim) -> bool:
        """Whether no resource of any node can be claimed by both, whatever their flavors."""
        return self.selection.is_disjoint(other.selection) or self.node_selector.is_disjoint(other.node_selector)


def claim_of(request: Request[N]) -> Claim:
    """The claim of the provider that is asked about."""
    return _claim(Peer(request.provider, request.parameters))


def rivals_of(request: Request[N]) -> list[Claim]:
    """The claims of other providers that may meet it, by name. One whose parameters are unknown claims everything."""
    mine = claim_of(request)
    others = sorted(map(_claim, request.peers), key=lambda claim: claim.provider)
    return [other for other in others if not mine.is_disjoint(other)]


def claimed_twice(claim: Claim, rivals: Iterable[Claim]) -> Iterator[str]:
    """A message for each rival that claims a flavor too, whatever nodes there are."""
    for rival in rivals:
        shared = [name for name in claim.flavors if name in rival.flavors]
        if not shared:
            continue
        claimed = f"CapacityProvider {rival.provider} claims the flavor {', '.join(shared)} as well"
        if rival.is_known:
            yield (
                f"{claimed}: let one of them have it, or give both parameters with disjoint resources or disjoint "
                "nodeSelector.matchLabels"
            )
        else:
            yield f"{claimed}: its {_UNREADABLE}"


class Membership(NamedTuple):
    """Where a node belongs."""

    mine: tuple[str, ...]
    """The provider's own flavors."""
    rivals: tuple[tuple[str, tuple[str, ...]], ...]
    """Flavors of rivals, each with the names of these."""

    @property
    def is_overlap(self) -> bool:
        """Whether the node would count for one flavor of the provider and for another one as well."""
        return bool(self.mine) and len(self.mine) + len(self.rivals) > 1


class Memberships:
    """Where nodes belong, by their labels, and which of them in more than one place."""

    def __init__(self, claim: Claim, rivals: Sequence[Claim], flavors: Mapping[str, ResourceFlavor]) -> None:
        self._claim = claim
        self._flavors = flavors
        # A flavor that both claim is reported as such. One without an object means nobody knows which nodes.
        self._rivals = [
            (rival, [name for name in rival.flavors if name in flavors and name not in claim.flavors])
            for rival in rivals
        ]
        self._unreadable = {rival.provider for rival in rivals if not rival.is_known}
        self._labels = tuple(sorted(self._deciding_labels()))
        self._known: dict[tuple[str | None, ...], Membership] = {}
        self._overlapping: dict[Membership, list[str]] = {}

    def of(self, node: Node) -> Membership:
        """Where the node belongs. Nodes with the same values of the labels that decide belong to the same flavors."""
        labels = node.metadata.labels
        key = tuple(map(labels.get, self._labels))
        found = self._known.get(key)
        if found is None:
            found = self._known[key] = self._find(labels)
        if found.is_overlap:
            self._overlapping.setdefault(found, []).append(node.metadata.name)
        return found

    def overlaps(self) -> Iterator[str]:
        """A message for each set of flavors that meet on some node."""
        for membership, nodes in sorted(self._overlapping.items()):
            claimed = [
                *membership.mine,
                *(f"{name} (of CapacityProvider {some(of)})" for name, of in membership.rivals),
            ]
            bare = [
                name
                for name in (*membership.mine, *(name for name, _ in membership.rivals))
                if not self._flavors[name].spec.node_labels
            ]
            unread = sorted(self._unreadable.intersection(name for _, of in membership.rivals for name in of))
            why = [f"CapacityProvider {name}'s {_UNREADABLE}" for name in unread]
            if not why:
                why = [f"flavor {', '.join(bare)} has no nodeLabels, so it takes every node"] if bare else []
                why.append("make their nodeLabels tell the nodes apart")
            yield (
                f"Node {some(sorted(nodes))} would count more than once, for the flavors {', '.join(claimed)}: "
                f"{'; '.join(why)}"
            )

    def _find(self, labels: dict[str, str]) -> Membership:
        if not self._claim.node_selector.selects(labels):
            return Membership((), ())
        mine = tuple(name for name in self._claim.flavors if self._carries(labels, name))
        rivals: dict[str, list[str]] = {}
        for rival, names in self._rivals:
            if rival.node_selector.selects(labels):
                for name in names:
                    if self._carries(labels, name):
                        rivals.setdefault(name, []).append(rival.provider)
        return Membership(mine, tuple((name, tuple(of)) for name, of in rivals.items()))

    def _carries(self, labels: dict[str, str], flavor: str) -> bool:
        return self._flavors[flavor].spec.node_labels.items() <= labels.items()

    def _deciding_labels(self) -> set[str]:
        names = {*self._claim.flavors, *(name for _, names in self._rivals for name in names)}
        selectors = [self._claim.node_selector, *(rival.node_selector for rival, _ in self._rivals)]
        return (
            {key for name in names for key in self._flavors[name].spec.node_labels}
            | {key for selector in selectors for key in selector.match_labels}
            | {each.key for selector in selectors for each in selector.match_expressions}
        )


def _claim(peer: Peer[N]) -> Claim:
    parameters = peer.parameters or NodeParametersSpec()
    return Claim(
        peer.provider.metadata.name,
        peer.provider.flavor_names,
        parameters.resources,
        parameters.node_selector,
        is_known=peer.parameters is not None,
    )
