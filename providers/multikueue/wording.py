"""What a person is told of workers that make up a capacity. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Final

from kueue_dqo.api import dqo
from kueue_dqo.api.durations import Duration
from kueue_dqo.api.meta import time_text
from kueue_dqo.api.multikueue import AfterGrace
from kueue_dqo.api.parameters import ResourceSelection
from kueue_dqo.api.quantity import Quantity
from kueue_dqo.api.resources import CPU, FlavorResource
from kueue_dqo.api.wording import counted, some
from kueue_dqo.provider import Notice
from providers.amounts import FLAVOR_WITHOUT_AMOUNTS, that_is_selected
from providers.multikueue.objects import WorkerCount
from providers.multikueue.outages import Fate, Outage
from providers.multikueue.totals import Amounts, Largest

WORKER_HELD: Final = "WorkerHeld"
"""The reason of the Event about a worker that cannot be read and counts with what was last read of it."""
WORKER_LEFT_OUT: Final = "WorkerLeftOut"
"""The reason of the Event about a worker that cannot be read for longer than its grace."""
WORKER_FLAVOR_NOT_MAPPED: Final = "WorkerFlavorNotMapped"
"""The reason of the Event about flavors of workers that count as no flavor of the manager."""
_OF_MACHINES: Final = (CPU, "memory")
_LONGEST_AMOUNTS: Final = 4_000
"""Characters of amounts in a message: what stands behind them must not be cut off."""


# --- the message ---------------------------------------------------------------------------------------------------


def amounts_text(flavors: Iterable[str], capacity: dqo.Capacity, workers: Mapping[str, Amounts]) -> str:
    """`gpu: 21 cpu, 5 nvidia.com/gpu from 2 workers; spot: nothing`, all the flavors in the order given.

    Of a flavor that some worker has, zeros of devices are told as well.
    """
    by_flavor = {flavor.name: flavor.resources for flavor in capacity.flavors}
    sources = Counter(flavor for amounts in workers.values() for flavor in {pair.flavor for pair in amounts})
    texts = [
        f"{name}: {_amounts(by_flavor[name])} from {counted(sources[name], 'worker')}"
        if sources[name]
        else f"{name}: nothing"
        for name in flavors
    ]
    return _cut("; ".join(texts))


def _amounts(resources: Mapping[str, Quantity]) -> str:
    return ", ".join(f"{resources[name]} {name}" for name in _shown(resources))


def zeros_text(flavors: Sequence[str], zeros: Iterable[FlavorResource]) -> str:
    """`no worker that counts has nvidia.com/gpu`: what is published as zero since no worker that counts has it."""
    names = [pair.resource if len(flavors) == 1 else str(pair) for pair in sorted(zeros)]
    return f"no worker that counts has {some(names)}" if names else ""


def largest_text(
    flavors: Sequence[str], workers: Mapping[str, Amounts], largest: Mapping[FlavorResource, Largest]
) -> str:
    """`largest single worker: 13 cpu (worker1)`; empty where no flavor has something on more than one worker."""
    having = Counter(
        flavor
        for amounts in workers.values()
        for flavor in {pair.flavor for pair, quantity in amounts.items() if quantity.nanos}
    )
    texts: list[str] = []
    for name in flavors:
        if having[name] > 1:
            most = {
                pair.resource: each for pair, each in largest.items() if pair.flavor == name and each.quantity.nanos
            }
            told = [f"{most[resource].quantity} {resource} ({most[resource].cluster})" for resource in _shown(most)]
            of = "" if len(flavors) == 1 else f" of {name}"
            texts.append(f"largest single worker{of}: {', '.join(told)}")
    return _cut("; ".join(texts))


def _shown(resources: Collection[str]) -> list[str]:
    """Which are told of: cpu, memory and devices; whatever there is, where there is nothing else."""
    names = [name for name in resources if "/" in name or name in _OF_MACHINES]
    return sorted(names or resources, key=lambda name: ("/" in name, name))


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST_AMOUNTS else f"{text[:_LONGEST_AMOUNTS]}…"


def queues_texts(counts: Mapping[str, WorkerCount]) -> Iterator[str]:
    """Related queues that do not count, and workers without any: `not counted: worker2/team-a (Stopped)`."""
    inactive = [
        f"{cluster}/{queue} ({why})"
        for cluster, count in counts.items()
        for queue, why in sorted(count.inactive.items())
    ]
    if inactive:
        yield f"not counted: {some(inactive)}"
    bare = [name for name, count in counts.items() if not (count.queues or count.inactive)]
    if bare:
        yield f"nothing related on {some(bare)}"


# --- Events --------------------------------------------------------------------------------------------------------


def of_outages(outages: Mapping[str, Outage], grace: Duration, after_grace: AfterGrace) -> Iterator[Notice]:
    """One for each worker; it does not say why, which may be put in other words at every look."""
    why = f"the condition {dqo.CAPACITY_SYNCHRONIZED} says why"
    then = "it is left out" if after_grace is AfterGrace.LEAVE_OUT else "nothing new is published"
    for cluster, outage in outages.items():
        since = f"MultiKueueCluster {cluster} is unavailable since {time_text(outage.since)}"
        if outage.fate is Fate.HELD:
            held = f"what was last read of it counts until {time_text(outage.until)}, and then {then}"
            yield Notice(WORKER_HELD, f"{since}: {held}; {why}")
        elif outage.fate in (Fate.OVERDUE, Fate.UNREAD):
            overdue = f", for longer than its grace of {grace}," if outage.fate is Fate.OVERDUE else ""
            yield Notice(WORKER_LEFT_OUT, f"{since}{overdue} and is left out; {why}")


def of_unmapped(unmapped: Mapping[str, Iterable[str]]) -> Iterator[Notice]:
    """Flavors of workers, by worker, that nothing maps."""
    names = [f"{cluster}/{flavor}" for cluster, flavors in unmapped.items() for flavor in sorted(flavors)]
    if names:
        do = "does" if len(names) == 1 else "do"
        yield Notice(
            WORKER_FLAVOR_NOT_MAPPED,
            f"no entry of spec.flavorMapping fits {some(names)}, which {do} not count: add one, or say in "
            "spec.otherFlavors as what all others count",
        )


def of_bare_flavors(bare: Sequence[str], selection: ResourceSelection) -> Iterator[Notice]:
    """Orchestrated flavors of which no worker has any amount."""
    if bare:
        yield Notice(
            FLAVOR_WITHOUT_AMOUNTS,
            f"no worker has anything of {some(bare)}{that_is_selected(selection)}, so its quotas become 0: give "
            "related queues of a worker quotas of a flavor that counts as it, zeros if they are meant, or take it out "
            "of spec.orchestratedFlavors",
        )
