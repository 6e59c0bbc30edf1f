"""What workers have by the manager's flavors: each of them, all together, and the most of a single one. Pure."""

from __future__ import annotations

import datetime
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import NamedTuple

from kueue_dqo.api import dqo
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


def pairs_of(capacity: dqo.Capacity | None) -> frozenset[FlavorResource]:
    """The pairs that a capacity has, zeros included."""
    flavors = capacity.flavors if capacity is not None else ()
    return frozenset(FlavorResource(flavor.name, resource) for flavor in flavors for resource in flavor.resources)


def zeros_of(
    provider: dqo.CapacityProvider,
    selection: ResourceSelection,
    totals: Amounts,
    answered: Collection[FlavorResource],
) -> dict[FlavorResource, Quantity]:
    """A zero for each pair that the provider answers for and that the totals do not have.

    A pair that is not reported says nothing: a composite then goes by its other members. So what was published once
    stays in the answer, be it lost with a worker, a queue or a mapping.

    Of each orchestrated flavor, it answers for the resources of `include`, which are all that is reported then, else
    for those that it `answered` for before and that are still selected. Zeros never make a flavor more than the API
    takes: the last by name give way.
    """
    found: dict[FlavorResource, Quantity] = {}
    for flavor in provider.flavor_names:
        room = dqo.MAX_FLAVOR_RESOURCES - sum(pair.flavor == flavor for pair in totals)
        before = sorted(pair.resource for pair in answered if pair.flavor == flavor)
        mine = selection.include or before
        pairs = [FlavorResource(flavor, resource) for resource in mine if selection.selects(resource)]
        zeros = [pair for pair in pairs if pair not in totals]
        found |= dict.fromkeys(zeros[: max(room, 0)], Quantity(0))
    return found


def without_excess(
    seen: Mapping[str, WorkerCount | Problem],
    flavors: FlavorMap,
    selection: ResourceSelection,
    now: datetime.datetime,
) -> dict[str, WorkerCount | Problem]:
    """The same, but a worker by which the others could not be published is a problem, and not that of the others.

    Where a sum is above the largest quantity, it is the one with the most of that pair; where a flavor has more
    resources than the API takes, the one with the most that no other has. What these say is the least likely.
    """
    counted = {
        cluster: by_manager_flavors(cluster, each, flavors, selection)[0]
        for cluster, each in sorted(seen.items())
        if isinstance(each, WorkerCount)
    }
    problems = dict([*_excessive_amounts(counted), *_excessive_resources(counted)])
    return {**seen, **{cluster: Problem(text, now) for cluster, text in problems.items()}}


def _excessive_amounts(counted: dict[str, Amounts]) -> Iterator[tuple[str, str]]:
    """Takes workers out until no sum is too large, and yields each, with why."""
    totals = Counter[FlavorResource]()
    for amounts in counted.values():
        totals.update({pair: quantity.nanos for pair, quantity in amounts.items()})
    for pair in sorted(totals):
        while totals[pair] > LARGEST_UNITS * NANOS:
            having = {cluster: amounts[pair] for cluster, amounts in counted.items() if pair in amounts}
            most = max(having, key=having.__getitem__)
            totals.subtract({each: quantity.nanos for each, quantity in counted.pop(most).items()})
            text = (
                f"its {brief(having[most])} of {pair} and what the others have are more than the largest quantity that "
                f"Kueue holds ({LARGEST_UNITS}): lower the quotas of its queues, or leave the resource out by "
                "spec.resources.exclude"
            )
            yield most, text


def _excessive_resources(counted: dict[str, Amounts]) -> Iterator[tuple[str, str]]:
    """Takes workers out until no flavor has too many resources, and yields each, with why."""
    flavors: defaultdict[str, Counter[FlavorResource]] = defaultdict(Counter)
    for amounts in counted.values():
        for pair in amounts:
            flavors[pair.flavor][pair] += 1
    for flavor, workers in sorted(flavors.items()):
        while (resources := sum(1 for count in workers.values() if count)) > dqo.MAX_FLAVOR_RESOURCES:
            own = {
                cluster: (sum(workers[pair] == 1 for pair in amounts), sum(pair in workers for pair in amounts))
                for cluster, amounts in counted.items()
            }
            most = max(own, key=own.__getitem__)
            for pair in counted.pop(most):
                flavors[pair.flavor][pair] -= 1
            alone, of_it = own[most]
            text = (
                f"{of_it} resources of its queues count as {flavor}, {alone} of them of no other worker, and the "
                f"{resources} of all workers are more than the {dqo.MAX_FLAVOR_RESOURCES} that a flavor may have: take "
                "some out of its queues, or choose by spec.resources"
            )
            yield most, text


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
