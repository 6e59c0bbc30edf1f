"""What counts of one worker: its related ClusterQueues, and what they, or the providers behind them, have. Pure."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping
from typing import Final, NamedTuple

from kueue_dqo.api.kueue import CLUSTER_QUEUE
from kueue_dqo.api.multikueue import Counts, InactiveQueues, MultiKueueParametersSpec
from kueue_dqo.api.quantity import Format, Quantity, common_format
from kueue_dqo.api.quotas import ResourceGroup, quotas_by_pair
from kueue_dqo.api.resources import FlavorResource
from kueue_dqo.api.wording import some
from providers.multikueue.cohort_trees import TreeMember, trees_of
from providers.multikueue.decoding import STOPPED
from providers.multikueue.lending import Limits, Node, most_usable
from providers.multikueue.objects import Unreadable, WorkerCount, WorkerProblem, WorkerQueue, WorkerView
from providers.multikueue.tally import LARGEST_NANOS, MOST_NUMBERS, Tally
from providers.multikueue.worker_providers import add_providers

_THE_QUEUES: Final = "the related ClusterQueues"
_NOMINAL: Final = "nominalQuota in force"
_NO_CLUSTER_QUEUE: Final = "NoClusterQueue"
"""Why a LocalQueue does not count that leads to a ClusterQueue which is not there; `Stopped` is the other reason."""
_MOST_IN_TREES: Final = 40_000
"""ClusterQueues, Cohorts and quotas of the trees together, as `MOST_NUMBERS`: these take longer."""


def count(view: WorkerView, reached: Collection[str], spec: MultiKueueParametersSpec) -> WorkerCount:
    """What the worker's related queues have; `reached` are keys `namespace/name` of the manager's LocalQueues.

    Related are the ClusterQueues that the worker's LocalQueues of these keys lead to, each once. Amounts are sorted by
    pair. Nothing related, or nothing of it active, counts as nothing.

    Raises:
        WorkerProblem: a related object cannot be read, or has a number that cannot be; there are too many quotas;
            QuotaAndBorrowable: also one in its cohort tree; WorkerProviders: a provider is missing or not ready, or
            none is known. The message does not name the worker's cluster.
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
    """Why the others do not, in one word; LocalQueues that lead to none by `namespace/name`."""


def _related(view: WorkerView, reached: Collection[str], inactive_queues: InactiveQueues) -> _Related:
    excludes = inactive_queues is InactiveQueues.EXCLUDE
    problems: list[str] = []
    keys: defaultdict[str, list[str]] = defaultdict(list)
    stopped: dict[str, str] = {}
    for key in sorted(reached):
        local = view.local_queues.get(key)
        if isinstance(local, Unreadable):
            problems.append(f"LocalQueue {key} cannot be read: {local.why}")
        elif local is not None and excludes and local.is_stopped:
            stopped[key] = local.cluster_queue
        elif local is not None:
            keys[local.cluster_queue].append(key)
    queues: dict[str, WorkerQueue] = {}
    inactive = {key: STOPPED for key, name in stopped.items() if name not in keys}
    for name in sorted(keys):
        queue = view.queues.get(name)
        if isinstance(queue, Unreadable):
            problems.append(f"{CLUSTER_QUEUE} {name} cannot be read: {queue.why}")
        elif queue is None:
            inactive |= dict.fromkeys(keys[name], _NO_CLUSTER_QUEUE)
        elif excludes and queue.inactive:
            inactive[name] = queue.inactive
        else:
            queues[name] = queue
    if problems:
        raise WorkerProblem(some(problems))
    return _Related(queues, dict(sorted(inactive.items())))


# --- what they have ------------------------------------------------------------------------------------------------


def _add_quotas(queues: Mapping[str, WorkerQueue], tally: Tally) -> None:
    number = sum(_number_of_quotas(queue.quotas) for queue in queues.values())
    if number > MOST_NUMBERS:
        raise WorkerProblem(
            f"{_THE_QUEUES} have {number} quotas, more than the {MOST_NUMBERS} that are counted of a worker: have "
            "fewer queues, flavors or resources there, or share the queues out to several CapacityProviders"
        )
    for name, queue in queues.items():
        owner = f"{CLUSTER_QUEUE} {name}"
        for pair, quota in quotas_by_pair(queue.quotas):
            nominal = quota.nominal_quota
            if tally.takes(owner, _NOMINAL, pair, nominal):
                tally.add(pair, nominal.nanos, nominal.format)


def _add_borrowable(view: WorkerView, queues: Mapping[str, WorkerQueue], tally: Tally) -> None:
    trees = [*trees_of(view, queues)]
    number = sum(1 + _number_of_quotas(member.quotas) for tree in trees for member in tree)
    if number > _MOST_IN_TREES:
        raise WorkerProblem(
            f"the cohort trees of {_THE_QUEUES} have {number} ClusterQueues, Cohorts and quotas, more than the "
            f"{_MOST_IN_TREES} that are counted of a worker: say counts: {Counts.QUOTA_IN_FORCE} in the parameters"
        )
    for tree in trees:
        uses = [member.kind == CLUSTER_QUEUE and member.name in queues for member in tree]
        # What nobody uses does not matter, not even a number that cannot be.
        formats: dict[FlavorResource, set[Format]] = {
            pair: set()
            for member, member_uses in zip(tree, uses, strict=True)
            if member_uses
            for pair, _ in quotas_by_pair(member.quotas)
        }
        nodes = [
            Node(member.parent, _limits(member, formats, tally), member_uses)
            for member, member_uses in zip(tree, uses, strict=True)
        ]
        for pair, nanos in most_usable(nodes).items():
            tally.add(pair, nanos, common_format(formats[pair]))


def _number_of_quotas(groups: tuple[ResourceGroup, ...]) -> int:
    return sum(len(flavor.resources) for group in groups for flavor in group.flavors)


def _limits(
    member: TreeMember, formats: Mapping[FlavorResource, set[Format]], tally: Tally
) -> dict[FlavorResource, Limits]:
    """The quotas of the pairs that have formats, to which theirs are added. One that cannot be is as if not there."""
    owner = str(member)
    limits: dict[FlavorResource, Limits] = {}
    for pair, quota in quotas_by_pair(member.quotas):
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
