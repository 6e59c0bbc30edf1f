"""How Kueue itself admits to a cohort tree, step by step, for one pair: a plain model to compare with.

It knows no shortcut: every use of quota goes up from node to node, and what is available is asked anew each time.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from hypothesis import strategies as st

from kueue_dqo.api.resources import FlavorResource
from providers.multikueue.lending import Limits, Node

PAIR = FlavorResource("default", "cpu")


@dataclass
class Member:
    """A Cohort or a ClusterQueue."""

    limits: Limits
    parent: Member | None
    children: list[Member] = field(default_factory=list)
    usage: int = 0

    @property
    def subtree_quota(self) -> int:
        return self.limits.nominal + sum(child.subtree_quota - child.local_quota for child in self.children)

    @property
    def local_quota(self) -> int:
        return 0 if self.limits.lending is None else max(0, self.subtree_quota - self.limits.lending)

    @property
    def local_available(self) -> int:
        return max(0, self.local_quota - self.usage)

    def available(self) -> int:
        if self.parent is None:
            return self.subtree_quota - self.usage
        from_parent = self.parent.available()
        if self.limits.borrowing is not None:
            stored = self.subtree_quota - self.local_quota
            taken = max(0, self.usage - self.local_quota)
            from_parent = min(from_parent, stored - taken + self.limits.borrowing)
        return self.local_available + from_parent

    def use(self, amount: int) -> None:
        beyond = amount - self.local_available
        self.usage += amount
        if self.parent is not None and beyond > 0:
            self.parent.use(beyond)


class Tree:
    """The nodes as Kueue sees them, before anything is used."""

    def __init__(self, nodes: Sequence[Node]) -> None:
        self.members: list[Member] = []
        for node in nodes:
            parent = None if node.parent is None else self.members[node.parent]
            self.members.append(Member(node.limits.get(PAIR, Limits(0)), parent))
            if parent is not None:
                parent.children.append(self.members[-1])
        self.queues = [
            member for member, node in zip(self.members, nodes, strict=True) if node.uses and PAIR in node.limits
        ]

    def used_in_turn(self, order: Iterable[int]) -> int:
        """Each queue in the order takes all that is left for it."""
        for position in order:
            self.queues[position].use(self.queues[position].available())
        return sum(queue.usage for queue in self.queues)

    def used_by_ones(self, order: Iterable[int]) -> int:
        """Each queue in the order takes one more, if there is one; then all take what is left, in turn."""
        for position in order:
            if self.queues and self.queues[position % len(self.queues)].available() > 0:
                self.queues[position % len(self.queues)].use(1)
        return self.used_in_turn(range(len(self.queues)))

    def most_by_trying_everything(self) -> int:
        """The most of all that can be reached from nothing, one at a time."""
        start = (0,) * len(self.queues)
        seen, waiting = {start}, [start]
        while waiting:
            for following in self._one_more(waiting.pop()):
                if following not in seen:
                    seen.add(following)
                    waiting.append(following)
        return max(map(sum, seen))

    def _one_more(self, usage: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
        for member in self.members:
            member.usage = 0
        for queue, amount in zip(self.queues, usage, strict=True):
            queue.use(amount)
        for position, queue in enumerate(self.queues):
            if queue.available() > 0:
                yield (*usage[:position], usage[position] + 1, *usage[position + 1 :])


def limits(largest: int) -> st.SearchStrategy[Limits]:
    limit = st.none() | st.integers(0, largest)
    return st.builds(Limits, st.integers(0, largest), limit, limit)


@st.composite
def trees(draw: st.DrawFn, *, largest: int = 9, cohorts: int = 5, queues: int = 7, using: int = 4) -> list[Node]:
    """A root and what is below it: Cohorts first, each after its parent, then queues.

    Some list the pair and some do not, at most `using` queues use something.
    """
    quotas: st.SearchStrategy[dict[FlavorResource, Limits]] = limits(largest).map(lambda each: {PAIR: each}) | st.just(
        {}
    )
    above = [None, *(draw(st.integers(0, position)) for position in range(draw(st.integers(0, cohorts - 1))))]
    nodes = [Node(parent, draw(quotas)) for parent in above]
    parents = st.integers(0, len(nodes) - 1)
    users = draw(st.integers(0, using))
    members = range(draw(st.integers(users, queues)))
    return nodes + [Node(draw(parents), draw(quotas), uses=position < users) for position in members]
