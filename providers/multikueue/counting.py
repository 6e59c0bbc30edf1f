"""What counts of one worker: its related ClusterQueues, and what they, or the providers behind them, have. Pure."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Final, NamedTuple

from kueue_dqo.api.kueue import CLUSTER_QUEUE
from kueue_dqo.api.multikueue import Counts, InactiveQueues, MultiKueueParametersSpec
from kueue_dqo.api.quantity import Format, Quantity, common_format
from kueue_dqo.api.quotas import quotas_by_pair
from kueue_dqo.api.resources import FlavorResource
from kueue_dqo.api.wording import some
from providers.multikueue.cohort_trees import Place, trees_of
from providers.multikueue.lending import Limits, Node, most_usable
from providers.multikueue.objects import Unreadable, WorkerCount, WorkerProblem, WorkerQueue, WorkerView
from providers.multikueue.tally import LARGEST_NANOS, Tally
from providers.multikueue.worker_providers import add_providers

_THE_QUEUES: Final = "the related ClusterQueues"
_NOMINAL: Final = "nominalQuota in force"


def count(view: WorkerView, reached: Collection[str], spec: MultiKueueParametersSpec) -> WorkerCount:
    """What the worker's related queues have; `reached` are keys `namespace/name` of the manager's LocalQueues.

    Related are the ClusterQueues that the worker's LocalQueues of these keys lead to, each once. Amounts are sorted by
    pair. Nothing related, or nothing of it active, counts as nothing.

    Raises:
        WorkerProblem: a related object cannot be read, or has a number that cannot be; QuotaAndBorrowable: also one in
            its cohort tree; WorkerProviders: a provider is missing or not ready, or none is known. The message does
            not name the worker's cluster.
    """
    related = _related(view, reached, spec.inactive_queues)
    queues = related.queues
    tally = Tally(spec.resources)
    whose = _THE_QUEUES
    match spec.counts:
        case Counts.QUOTA_IN_FORCE:
            _add_quotas(queues, tally)
        case Counts.QUOTA_AND_BORROWABLE:
            _add_borrowable(view, queues, tally)
        case Counts.WORKER_PROVIDERS if queues:
            whose = add_providers(view, queues, spec, tally)
        case Counts.WORKER_PROVIDERS:
            pass
    uids = frozenset(queue.uid for queue in queues.values() if queue.uid)
    return WorkerCount(tally.amounts(whose), tuple(queues), related.inactive, uids)


# --- which queues --------------------------------------------------------------------------------------------------


class _Related(NamedTuple):
    """The related queues, both sorted by name."""

    queues: Mapping[str, WorkerQueue]
    """Those that count."""
    inactive: Mapping[str, str]
    """Why the others do not, in one word."""


def _related(view: WorkerView, reached: Collection[str], inactive_queues: InactiveQueues) -> _Related:
    excludes = inactive_queues is InactiveQueues.EXCLUDE
    problems: list[str] = []
    names: set[str] = set()
    for key in sorted(reached):
        local = view.local_queues.get(key)
        if isinstance(local, Unreadable):
            problems.append(f"LocalQueue {key} cannot be read: {local.why}")
        elif local is not None and not (excludes and local.is_stopped):
            names.add(local.cluster_queue)
    queues: dict[str, WorkerQueue] = {}
    inactive: dict[str, str] = {}
    for name in sorted(names):
        queue = view.queues.get(name)
        if isinstance(queue, Unreadable):
            problems.append(f"{CLUSTER_QUEUE} {name} cannot be read: {queue.why}")
        elif queue is not None and excludes and queue.inactive:
            inactive[name] = queue.inactive
        elif queue is not None:
            queues[name] = queue
    if problems:
        raise WorkerProblem(some(problems))
    return _Related(queues, inactive)


# --- what they have ------------------------------------------------------------------------------------------------


def _add_quotas(queues: Mapping[str, WorkerQueue], tally: Tally) -> None:
    for name, queue in queues.items():
        owner = f"{CLUSTER_QUEUE} {name}"
        for pair, quota in quotas_by_pair(queue.quotas):
            nominal = quota.nominal_quota
            if tally.takes(owner, _NOMINAL, pair, nominal):
                tally.add(pair, nominal.nanos, nominal.format)


def _add_borrowable(view: WorkerView, queues: Mapping[str, WorkerQueue], tally: Tally) -> None:
    for tree in trees_of(view, queues):
        uses = [place.kind == CLUSTER_QUEUE and place.name in queues for place in tree]
        # What nobody uses does not matter, not even a number that cannot be.
        formats: dict[FlavorResource, set[Format]] = {
            pair: set()
            for place, place_uses in zip(tree, uses, strict=True)
            if place_uses
            for pair, _ in quotas_by_pair(place.quotas)
        }
        nodes = [
            Node(place.parent, _limits(place, formats, tally), place_uses)
            for place, place_uses in zip(tree, uses, strict=True)
        ]
        for pair, nanos in most_usable(nodes).items():
            tally.add(pair, nanos, common_format(formats[pair]))


def _limits(place: Place, formats: Mapping[FlavorResource, set[Format]], tally: Tally) -> dict[FlavorResource, Limits]:
    """The quotas of the pairs that have formats, to which theirs are added. One that cannot be is as if not there."""
    owner = str(place)
    limits: dict[FlavorResource, Limits] = {}
    for pair, quota in quotas_by_pair(place.quotas):
        if pair not in formats:
            continue
        nominal, borrowing, lending = quota.nominal_quota, _limit(quota.borrowing_limit), _limit(quota.lending_limit)
        can_be = tally.takes(owner, _NOMINAL, pair, nominal)
        can_be &= borrowing is None or tally.takes(owner, "borrowingLimit", pair, borrowing)
        can_be &= lending is None or tally.takes(owner, "lendingLimit", pair, lending)
        if can_be:
            formats[pair].add(nominal.format)
            limits[pair] = Limits(nominal.nanos, _nanos(borrowing), _nanos(lending))
    return limits


def _limit(limit: Quantity | None) -> Quantity | None:
    """One above the largest quantity is none for Kueue either."""
    return None if limit is None or limit.nanos > LARGEST_NANOS else limit


def _nanos(quantity: Quantity | None) -> int | None:
    return None if quantity is None else quantity.nanos
