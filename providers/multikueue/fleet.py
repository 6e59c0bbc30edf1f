"""From what counts of each worker to a capacity, at one moment. Pure.

A worker that cannot be read is never taken for one that has nothing: what was last read of it is held for a grace. What
comes after that is said in the parameters; without any worker that counts, the last capacity stays.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from typing import NamedTuple

from kueue_dqo.api.multikueue import AfterGrace, MultiKueueParametersSpec
from kueue_dqo.api.quantity import LARGEST_UNITS, NANOS
from kueue_dqo.api.resources import FlavorResource
from kueue_dqo.api.wording import some
from kueue_dqo.provider import InvalidCapacity, Observation, Request, SourceUnavailable
from providers.amounts import brief, capacity_of
from providers.multikueue import wording
from providers.multikueue.mapping import FlavorMap
from providers.multikueue.memory import Memory
from providers.multikueue.objects import Problem, WorkerCount
from providers.multikueue.outages import Fate, Outage, texts_of
from providers.multikueue.totals import (
    Amounts,
    Largest,
    added_up,
    by_manager_flavors,
    largest_of,
    pairs_of,
    without_excess,
    zeros_of,
)
from providers.slips import parameters_name


class Fleet(NamedTuple):
    """What was observed, and what it came of."""

    observation: Observation
    workers: Mapping[str, Amounts]
    """What counts of each worker, by the manager's flavors; those that are held included."""
    largest: Mapping[FlavorResource, Largest]
    """The most that one worker has of each pair."""


def observe(
    request: Request[MultiKueueParametersSpec],
    flavors: FlavorMap,
    seen: Mapping[str, WorkerCount | Problem],
    memory: Memory,
    reached: Mapping[str, frozenset[str]] | None = None,
) -> Fleet:
    """The exact sum over the workers that count, by the manager's flavors. It looks again when a grace ends.

    A pair that it answers for and that no worker has any more is a zero.

    Args:
        request: about the provider.
        flavors: as what each flavor of a worker counts.
        seen: of every worker that the provider's queues reach, what counts of it now, or why it cannot be read.
        memory: what the process knows from looks before; this one adds to it, whether or not it leads to a capacity.
        reached: the LocalQueues that are related on each worker. What was read of it by others, or counted by other
            parameters, is not held.

    Raises:
        SourceUnavailable: no worker counts; one that may not be left out is beyond its grace; or one is within its
            grace, and this process never read it.
        InvalidCapacity: a sum is above the largest quantity.
    """
    spec, names = request.parameters, request.provider.flavor_names
    unavailable = spec.unavailable_workers
    states = memory.look(
        request.provider,
        without_excess(seen, flavors, spec.resources, request.now),
        unavailable,
        request.now,
        asked=_asked(spec, seen, reached or {}),
    )
    outages = {cluster: state.outage for cluster, state in states.items() if state.outage is not None}
    counts = {cluster: state.counted for cluster, state in states.items() if state.counted is not None}
    _refuse_unavailable(request, counts, outages)
    workers: dict[str, Amounts] = {}
    unmapped: dict[str, set[str]] = {}
    for cluster, count in counts.items():
        workers[cluster], unmapped[cluster] = by_manager_flavors(cluster, count, flavors, spec.resources)
    totals = added_up(workers.values())
    _refuse_too_much(request, totals, workers, outages)
    largest = largest_of(workers)
    name = request.provider.metadata.name
    zeros = zeros_of(request.provider, spec.resources, totals, memory.answered(name))
    capacity = capacity_of(names, {**totals, **zeros})
    memory.answer(name, pairs_of(capacity))
    summary = [
        wording.amounts_text(names, capacity, workers),
        wording.zeros_text(names, zeros),
        wording.largest_text(names, workers, largest),
        *wording.queues_texts(counts),
        *texts_of(outages, is_counted=True),
    ]
    reported = {pair.flavor for pair in totals}
    notices = (
        *wording.of_outages(outages, unavailable.grace, unavailable.after_grace),
        *wording.of_unmapped(unmapped),
        *wording.of_bare_flavors([name for name in names if name not in reported], spec.resources),
    )
    look_again = memory.look_again(name, request.now)
    observation = Observation(capacity, "; ".join(filter(None, summary)), look_again, notices)
    return Fleet(observation, workers, largest)


def _asked(
    spec: MultiKueueParametersSpec, workers: Iterable[str], reached: Mapping[str, frozenset[str]]
) -> dict[str, Hashable]:
    """What of the question makes up the count of each worker."""
    how = (spec.counts, spec.worker_providers, spec.inactive_queues)
    return {cluster: (*how, reached.get(cluster)) for cluster in workers}


# --- what cannot be published ---------------------------------------------------------------------------------------


def _refuse_unavailable(
    request: Request[MultiKueueParametersSpec], counts: Mapping[str, WorkerCount], outages: Mapping[str, Outage]
) -> None:
    """Raises SourceUnavailable. It lists all that cannot be read, so that a new process knows since when."""
    where = f"spec.unavailableWorkers.afterGrace of {parameters_name(request.provider)}"
    leave_out = request.parameters.unavailable_workers.after_grace is AfterGrace.LEAVE_OUT
    overdue = [cluster for cluster, outage in outages.items() if outage.fate is Fate.OVERDUE]
    awaited = [cluster for cluster, outage in outages.items() if outage.fate is Fate.AWAITED]
    listed = "; ".join(texts_of(outages, is_counted=False))
    if not counts and not outages:
        raise SourceUnavailable(
            "no worker is left, so that the last capacity stays: name a MultiKueueCluster in spec.clusters of the "
            "MultiKueueConfig that the provider's queues use"
        )
    if not counts and not awaited:
        raise SourceUnavailable(
            f"no worker can be read within its grace, so that the last capacity stays until one can be; {listed}"
        )
    if overdue and not leave_out:
        raise SourceUnavailable(
            f"{some(overdue)} cannot be read within the grace, so that the last capacity stays until that is repaired, "
            f"or the worker is taken out of its MultiKueueConfig; {listed}; {where}: {AfterGrace.LEAVE_OUT} would do "
            "without"
        )
    if awaited:
        then = "what cannot be read by then is left out, as long as another worker counts"
        raise SourceUnavailable(
            f"this process has not read {some(awaited)} as it is asked for now, so that the last capacity stays; "
            f"{listed}; " + (then if leave_out else f"it stays then as well, as {where} says")
        )


def _refuse_too_much(
    request: Request[MultiKueueParametersSpec],
    totals: Amounts,
    workers: Mapping[str, Amounts],
    outages: Mapping[str, Outage],
) -> None:
    """Raises InvalidCapacity, which lists what cannot be read as well."""
    too_much = [
        f"{brief(total)} of {pair} ({some(cluster for cluster, amounts in workers.items() if pair in amounts)})"
        for pair, total in sorted(totals.items())
        if total.nanos > LARGEST_UNITS * NANOS
    ]
    if too_much:
        raise InvalidCapacity(
            "; ".join(
                [
                    f"workers have more together than the largest quantity that Kueue holds ({LARGEST_UNITS}): "
                    + some(too_much),
                    "lower the quotas of their queues, or leave the resource out by spec.resources.exclude of "
                    + parameters_name(request.provider),
                    *texts_of(outages, is_counted=False),
                ]
            )
        )
