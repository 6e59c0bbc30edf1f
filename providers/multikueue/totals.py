"""What workers have by the manager's flavors: each of them, all together, and the most of a single one. Pure."""

from __future__ import annotations

import datetime
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from kueue_dqo.api.parameters import ResourceSelection
from kueue_dqo.api.quantity import LARGEST_UNITS, NANOS, Quantity
from kueue_dqo.api.resources import FlavorResource
from providers.amounts import brief
from providers.multikueue.mapping import FlavorMap
from providers.multikueue.objects import Problem, WorkerCount
from providers.sums import Sum

Amounts = Mapping[FlavorResource, Quantity]
"""Of one worker or of all, by the manager's flavors."""


class Largest(NamedTuple):
    """The most that a single worker has of a pair: a Workload runs on one worker."""

    quantity: Quantity
    cluster: str


def by_manager_flavors(
    cluster: str, count: WorkerCount, flavors: FlavorMap, selection: ResourceSelection
) -> tuple[Amounts, set[str]]:
    """What the worker has of the selected resources, exactly, and which flavors of its own count as none."""
    sums: dict[str, Sum] = {}
    unmapped: set[str] = set()
    for (theirs, resource), quantity in count.amounts.items():
        flavor = flavors.manager_flavor(cluster, theirs)
        if flavor is None:
            unmapped.add(theirs)
        elif selection.selects(resource):
            sums.setdefault(flavor, Sum()).add(resource, quantity.nanos, quantity.format)
    return _amounts(sums), unmapped


def added_up(workers: Iterable[Amounts]) -> Amounts:
    """The exact sum of all."""
    sums: dict[str, Sum] = {}
    for amounts in workers:
        for pair, quantity in amounts.items():
            sums.setdefault(pair.flavor, Sum()).add(pair.resource, quantity.nanos, quantity.format)
    return _amounts(sums)


def without_excess(
    seen: Mapping[str, WorkerCount | Problem],
    flavors: FlavorMap,
    selection: ResourceSelection,
    now: datetime.datetime,
) -> dict[str, WorkerCount | Problem]:
    """The same, but a worker by which a sum is above the largest quantity is a problem, and not that of the others.

    Of several that have something of the pair, it is the one with the most: what it says is the least likely.
    """
    left = dict(seen)
    counted = {
        cluster: by_manager_flavors(cluster, each, flavors, selection)[0]
        for cluster, each in seen.items()
        if isinstance(each, WorkerCount)
    }
    while (pair := _excessive(counted)) is not None:
        most = largest_of(counted)[pair]
        del counted[most.cluster]
        left[most.cluster] = Problem(
            f"its {brief(most.quantity)} of {pair} and what the others have are more than the largest quantity that "
            f"Kueue holds ({LARGEST_UNITS}): lower the quotas of its queues, or leave the resource out by "
            "spec.resources.exclude",
            now,
        )
    return left


def _excessive(workers: Mapping[str, Amounts]) -> FlavorResource | None:
    totals = added_up(workers.values())
    return next((pair for pair, total in sorted(totals.items()) if total.nanos > LARGEST_UNITS * NANOS), None)


def _amounts(sums: Mapping[str, Sum]) -> dict[FlavorResource, Quantity]:
    return {
        FlavorResource(flavor, resource): quantity
        for flavor, each in sums.items()
        for resource, quantity in each.quantities().items()
    }


def largest_of(workers: Mapping[str, Amounts]) -> dict[FlavorResource, Largest]:
    """By pair; of equal ones the first by name."""
    largest: dict[FlavorResource, Largest] = {}
    for cluster, amounts in sorted(workers.items()):
        for pair, quantity in amounts.items():
            if pair not in largest or quantity > largest[pair].quantity:
                largest[pair] = Largest(quantity, cluster)
    return largest
