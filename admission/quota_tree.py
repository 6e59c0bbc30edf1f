"""Quotas and usage of ClusterQueues and Cohorts as a tree: what is available to whom, what is borrowed, what lent.

A node keeps what its lending limit withholds (`local quota`) for itself; the rest counts as its parent's. Usage beyond
the local quota is stored in the parent, and so on to the root. The rules are those of Kueue 0.19
(`pkg/cache/scheduler/resource_node.go`, KEP-79). Amounts are integers in Kueue's units: milli for cpu, 1 for every
other resource.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final, NamedTuple

NO_AMOUNT: Final = 0


class Pair(NamedTuple):
    """What quotas are of: a resource in a flavor."""

    flavor: str
    resource: str


Amounts = dict[Pair, int]


class Quota(NamedTuple):
    """What a node declares, or what stands in its effective quotas. A limit that is None does not bind."""

    nominal: int
    borrowing_limit: int | None = None
    lending_limit: int | None = None


@dataclass(slots=True, eq=False)
class QuotaNode:
    """A ClusterQueue or Cohort of the tree."""

    name: str
    is_queue: bool
    weight: float = 1.0
    quotas: dict[Pair, Quota] = field(default_factory=dict)
    parent: QuotaNode | None = None
    cohorts: list[QuotaNode] = field(default_factory=list)
    queues: list[QuotaNode] = field(default_factory=list)
    subtree: Amounts = field(default_factory=dict)
    """Own nominal quotas, and of the children what these do not keep for themselves."""
    usage: Amounts = field(default_factory=dict)
    """Of a ClusterQueue what its Workloads hold; of a Cohort what its children use beyond what they keep."""
    height: int = 0
    """Of a Cohort: the way to its furthest leaf."""

    def ancestors(self) -> Iterator[QuotaNode]:
        """From the parent up to the root."""
        node = self.parent
        while node is not None:
            yield node
            node = node.parent

    @property
    def root(self) -> QuotaNode:
        """The topmost node, which may be this one."""
        node = self
        while node.parent is not None:
            node = node.parent
        return node

    def queues_below(self) -> Iterator[QuotaNode]:
        """All ClusterQueues of the subtree."""
        if self.is_queue:
            yield self
        yield from self.queues
        for cohort in self.cohorts:
            yield from cohort.queues_below()

    # --- amounts -----------------------------------------------------------------------------------------------------

    def local_quota(self, pair: Pair) -> int:
        """What the lending limit keeps back for this subtree."""
        quota = self.quotas.get(pair)
        if quota is None or quota.lending_limit is None:
            return 0
        return max(0, self.subtree.get(pair, 0) - quota.lending_limit)

    def local_available(self, pair: Pair) -> int:
        """What of that is not used."""
        return max(0, self.local_quota(pair) - self.usage.get(pair, 0))

    def available_or_debt(self, pair: Pair) -> int:
        """What can still be used, limits respected; negative where more is used than there is."""
        if self.parent is None:
            return self.subtree.get(pair, 0) - self.usage.get(pair, 0)
        above = self.parent.available_or_debt(pair)
        quota = self.quotas.get(pair)
        if quota is not None and quota.borrowing_limit is not None:
            local = self.local_quota(pair)
            stored = self.subtree.get(pair, 0) - local
            used = max(0, self.usage.get(pair, 0) - local)
            above = min(stored - used + quota.borrowing_limit, above)
        return self.local_available(pair) + above

    def available(self, pair: Pair) -> int:
        """As above; 0 in debt."""
        return max(0, self.available_or_debt(pair))

    def potential(self, pair: Pair) -> int:
        """What would be available if nothing were used: no Workload that asks for more is ever admitted."""
        if self.parent is None:
            return self.subtree.get(pair, 0)
        found = self.local_quota(pair) + self.parent.potential(pair)
        quota = self.quotas.get(pair)
        if quota is not None and quota.borrowing_limit is not None:
            return min(self.subtree.get(pair, 0) + quota.borrowing_limit, found)
        return found

    def nominal(self, pair: Pair) -> int:
        """The declared quota of this node alone."""
        quota = self.quotas.get(pair)
        return quota.nominal if quota is not None else 0

    def base(self, pair: Pair) -> int:
        """From where on usage is borrowed: of a ClusterQueue its nominal quota, of a Cohort that of its subtree."""
        return self.nominal(pair) if self.is_queue else self.subtree.get(pair, 0)

    def borrows_with(self, pair: Pair, amount: int) -> bool:
        """Whether it uses more than its own with so much more."""
        return self.base(pair) < self.usage.get(pair, 0) + amount

    def is_within_nominal(self, pairs: Iterable[Pair]) -> bool:
        """Whether it borrows none of these."""
        return all(self.subtree.get(pair, 0) >= self.usage.get(pair, 0) for pair in pairs)

    def fits(self, requests: Mapping[Pair, int]) -> tuple[bool, Amounts]:
        """Whether the subtree's own quota is enough, and what is left to be found above."""
        is_enough = all(self.subtree.get(pair, 0) >= self.usage.get(pair, 0) + want for pair, want in requests.items())
        rest = {pair: max(0, want - self.local_available(pair)) for pair, want in requests.items()}
        return is_enough, rest

    def lowest_height_that_fits(self, pair: Pair, amount: int) -> tuple[int, bool]:
        """How far up quota has to be borrowed from (0: nowhere), and whether that is less than the whole tree."""
        if not self.borrows_with(pair, amount) or self.parent is None:
            return 0, self.parent is not None
        rest = amount - self.local_available(pair)
        for node in self.ancestors():
            if not node.borrows_with(pair, rest):
                return node.height, node.parent is not None
            rest -= node.local_available(pair)
        return self.root.height, False

    # --- usage -------------------------------------------------------------------------------------------------------

    def add(self, requests: Mapping[Pair, int]) -> None:
        """Takes quota, above as well where it is borrowed."""
        for pair, wanted in requests.items():
            node: QuotaNode | None = self
            amount = wanted
            while node is not None and amount > 0:
                free = node.local_available(pair)
                node.usage[pair] = node.usage.get(pair, 0) + amount
                amount -= free
                node = node.parent

    def remove(self, requests: Mapping[Pair, int]) -> None:
        """Gives quota back, first what is borrowed."""
        for pair, given in requests.items():
            node: QuotaNode | None = self
            amount = given
            while node is not None and amount > 0:
                stored = node.usage.get(pair, 0) - node.local_quota(pair)
                node.usage[pair] = node.usage.get(pair, 0) - amount
                if stored <= 0:
                    break
                amount = min(amount, stored)
                node = node.parent


def summed(root: QuotaNode) -> None:
    """Reckons quotas and usage of a tree anew, from the quotas of its nodes and the usage of its ClusterQueues."""
    root.subtree = {pair: quota.nominal for pair, quota in root.quotas.items()}
    if root.is_queue:
        return
    root.usage = {}
    root.height = min(1, len(root.queues) + len(root.cohorts))
    for child in (*root.cohorts, *root.queues):
        summed(child)
        if not child.is_queue:
            root.height = max(root.height, child.height + 1)
        for pair, amount in child.subtree.items():
            root.subtree[pair] = root.subtree.get(pair, 0) + amount - child.local_quota(pair)
        for pair, amount in child.usage.items():
            root.usage[pair] = root.usage.get(pair, 0) + max(0, amount - child.local_quota(pair))


# --- shares -------------------------------------------------------------------------------------------------------


class Share(NamedTuple):
    """A node's dominant resource share: of the resource of which it borrows the largest part (KEP-1714)."""

    weight: float
    ratio: float = 0.0
    """Thousandths of what is lendable; 0 where nothing is borrowed, -1 before all others."""
    resource: str = ""
    borrowed: tuple[Pair, ...] = ()

    @property
    def weighted(self) -> float:
        """What nodes are compared by."""
        if self.ratio == 0:
            return 0.0
        return float("inf") if self.weight == 0 else self.ratio / self.weight

    @property
    def _key(self) -> tuple[bool, float]:
        """Who borrows with a weight of 0 comes last, and those by the ratio alone."""
        if self.weight == 0 and self.ratio != 0:
            return True, self.ratio
        return False, self.weighted

    def compared(self, other: Share) -> int:
        """-1, 0 or 1: a lower one is admitted first, a higher one preempted first."""
        return (self._key > other._key) - (self._key < other._key)


NEGATIVE: Final = Share(1.0, -1.0)


def share_of(node: QuotaNode) -> Share:
    """The share of a node as it is used now. A root has none."""
    if node.parent is None:
        return Share(node.weight)
    borrowing: dict[str, int] = {}
    pairs = []
    for pair, quota in node.subtree.items():
        more = node.usage.get(pair, 0) - quota
        if more > 0:
            borrowing[pair.resource] = borrowing.get(pair.resource, 0) + more
            pairs.append(pair)
    ratio, dominant = 0.0, ""
    lendable: dict[str, int] = {}
    if borrowing:
        for pair in node.root.subtree:
            if pair.resource in borrowing:
                lendable[pair.resource] = lendable.get(pair.resource, 0) + node.parent.potential(pair)
    for resource, more in sorted(borrowing.items()):
        whole = lendable.get(resource, 0)
        if whole > 0 and more * 1000.0 / whole > ratio:
            ratio, dominant = more * 1000.0 / whole, resource
    return Share(node.weight, ratio, dominant, tuple(pairs))
