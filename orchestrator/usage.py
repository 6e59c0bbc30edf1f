"""Where Workloads hold more than a queue's quota. Pure.

Nobody is evicted because a quota fell, but what is above it counts as borrowed, and queues of the same cohort may take
it back by preemption.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from kueue_dqo.api.kueue import ClusterQueue
from kueue_dqo.api.quantity import Quantity
from kueue_dqo.api.quotas import ResourceGroup, quotas_by_pair
from kueue_dqo.api.resources import FlavorResource


class Excess(NamedTuple):
    """A pair of which a queue's Workloads hold more than its nominal quota."""

    pair: FlavorResource
    used: Quantity
    nominal: Quantity

    @property
    def over(self) -> Quantity:
        """How much more."""
        return Quantity(self.used.nanos - self.nominal.nanos, self.used.format)


def usage_of(queue: ClusterQueue) -> Iterator[tuple[FlavorResource, Quantity]]:
    """What the queue's Workloads hold: reservations count against quota; usage stands in where there are none."""
    for flavor in queue.status.flavors_reservation or queue.status.flavors_usage:
        for resource in flavor.resources:
            yield FlavorResource(flavor.name, resource.name), resource.total


def excesses(
    queue: ClusterQueue, planned: tuple[ResourceGroup, ...], before: tuple[ResourceGroup, ...]
) -> Iterator[Excess]:
    """The pairs whose quota changes from `before` to `planned`, and of which more is held than that."""
    quotas, old = dict(quotas_by_pair(planned)), dict(quotas_by_pair(before))
    for pair, used in usage_of(queue):
        quota = quotas.get(pair)
        if quota is not None and quota != old.get(pair) and used > quota.nominal_quota:
            yield Excess(pair, used, quota.nominal_quota)


def excess_text(excess: Excess, *, has_siblings: bool) -> str:
    """What it means for those who run jobs."""
    consequence = (
        f"the {excess.over} above it count as borrowed, and queues of its cohort may reclaim them by preemption"
        if has_siblings
        else "nobody is evicted, and nothing more is admitted until usage has fallen"
    )
    return f"uses {excess.used} {excess.pair}, its new quota is {excess.nominal}: {consequence}"
