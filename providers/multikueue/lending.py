"""The most that some queues of a cohort tree can use together while the others use nothing. Pure.

It follows how Kueue lends quota: a node keeps for itself what is above its lending limit and stores the rest in its
parent. What is used in it is taken from what it keeps first, then from the parent, and no more from there than what it
stores there and its borrowing limit. The root has all that is stored in it. Limits of a root say nothing.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from kueue_dqo.api.resources import FlavorResource


class Limits(NamedTuple):
    """The quota of a node for a pair, in any unit, never negative. A limit of None is none; a limit of 0 is one."""

    nominal: int
    borrowing: int | None = None
    lending: int | None = None


class Node(NamedTuple):
    """A ClusterQueue or a Cohort in its tree."""

    parent: int | None
    """The position of the node above; None for a root."""
    limits: Mapping[FlavorResource, Limits]
    uses: bool = False
    """Whether it is a queue whose use is asked for. A queue can use only pairs that it lists."""


def most_usable(nodes: Sequence[Node]) -> dict[FlavorResource, int]:
    """What the queues that use something can use at most, together, by each pair that one of them lists.

    Nodes come after their parents. Each is looked at once for each pair that it, or one below it, lists.
    """
    total = {pair: 0 for node in nodes if node.uses for pair in node.limits}
    flows: dict[int, defaultdict[FlavorResource, _Flow]] = {}
    for position in range(len(nodes) - 1, -1, -1):
        node, here = nodes[position], flows.pop(position, None) or defaultdict(_Flow)
        for pair, limits in node.limits.items():
            if pair in total:
                own = here[pair]
                own.quota += limits.nominal
                if node.uses:
                    own.wanted = None
        if node.parent is None:
            for pair, flow in here.items():
                total[pair] += flow.used + _least(flow.quota, flow.wanted)
        else:
            above = flows.setdefault(node.parent, defaultdict(_Flow))
            for pair, flow in here.items():
                _rise(flow, node.limits.get(pair, _WITHOUT_QUOTA), above[pair])
    return total


_WITHOUT_QUOTA: Final = Limits(0)
"""What a Cohort has of a pair that it does not list: it hands on what is below it."""


@dataclass(slots=True)
class _Flow:
    """What comes together in a node, of one pair."""

    quota: int = 0
    """Its own, and what is stored in it from below: `SubtreeQuota` in Kueue."""
    used: int = 0
    """What queues below use of what nodes below keep for themselves."""
    wanted: int | None = 0
    """What they could use beyond that, if this node had all of it; None: without end."""


def _rise(flow: _Flow, limits: Limits, above: _Flow) -> None:
    """Adds to the parent what a node stores in it and wants of it."""
    kept = 0 if limits.lending is None else max(0, flow.quota - limits.lending)
    stored = flow.quota - kept
    used = _least(kept, flow.wanted)
    above.quota += stored
    above.used += flow.used + used
    wanted = None if flow.wanted is None else flow.wanted - used
    if limits.borrowing is not None:
        wanted = _least(stored + limits.borrowing, wanted)
    above.wanted = None if wanted is None or above.wanted is None else above.wanted + wanted


def _least(amount: int, wanted: int | None) -> int:
    return amount if wanted is None else min(amount, wanted)
