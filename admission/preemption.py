"""Whom a Workload sends away: candidates in their order, as few of them as are enough.

Classical preemption: within the ClusterQueue, to have back what others borrowed, and while borrowing, up to a priority.
The rules are those of Kueue 0.19 (`pkg/scheduler/preemption`, KEP-1337, KEP-79).
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cmp_to_key
from typing import Any, Final, NamedTuple

from admission.assignment import Way
from admission.quota_tree import Pair, QuotaNode
from admission.state import QueueState, State, WorkloadState, removed, restored
from kueue_dqo.api.queueing import BorrowPolicy, ReclaimWithinCohort, WithinClusterQueue
from kueue_dqo.api.workloads import EVICTED, QUOTA_RESERVED

IN_CLUSTER_QUEUE: Final = "InClusterQueue"
IN_COHORT_RECLAMATION: Final = "InCohortReclamation"
IN_COHORT_FAIR_SHARING: Final = "InCohortFairSharing"
IN_COHORT_RECLAIM_WHILE_BORROWING: Final = "InCohortReclaimWhileBorrowing"
WORDS: Final = {
    IN_CLUSTER_QUEUE: "prioritization in the ClusterQueue",
    IN_COHORT_RECLAMATION: "reclamation within the cohort",
    IN_COHORT_FAIR_SHARING: "Fair Sharing within the cohort",
    IN_COHORT_RECLAIM_WHILE_BORROWING: "reclamation within the cohort while borrowing",
}
"""In conditions and Events."""


class Target(NamedTuple):
    """A Workload that is to go, and why."""

    workload: WorkloadState
    reason: str


@dataclass(frozen=True, slots=True)
class Claim:
    """Who wants what."""

    state: State
    workload: WorkloadState
    queue: QueueState
    pairs: frozenset[Pair]
    """Of which others would have to give back."""
    requests: Mapping[Pair, int]
    """All that it needs."""

    def fits(self, *, may_borrow: bool = True) -> bool:
        """Whether it could be admitted as things stand."""
        node = self.queue.node
        return all(
            (may_borrow or not node.borrows_with(pair, amount)) and amount <= node.available(pair)
            for pair, amount in self.requests.items()
        )


def satisfies(policy: str, preemptor: WorkloadState, candidate: WorkloadState) -> bool:
    """Whether the policy lets the one send the other away."""
    match policy:
        case WithinClusterQueue.LOWER_PRIORITY | ReclaimWithinCohort.LOWER_PRIORITY:
            return preemptor.priority > candidate.priority
        case WithinClusterQueue.LOWER_OR_NEWER_EQUAL_PRIORITY:
            is_newer = preemptor.priority == candidate.priority and preemptor.waits_since[0] < candidate.waits_since[0]
            return preemptor.priority > candidate.priority or is_newer
        case ReclaimWithinCohort.ANY:
            return True
        case _:
            return False


def candidates_order(state: State, queue: str, *, by_history: bool = True) -> Callable[[WorkloadState], Any]:
    """The key to sort candidates by: those on their way already, then other queues', low priority, newest admitted."""

    def key(workload: WorkloadState) -> tuple[Any, ...]:
        return (
            not workload.is_true(EVICTED),
            workload.cluster_queue == queue,
            workload.priority,
            -_reserved_at(state, workload),
            workload.order,
        )

    if not by_history or not state.history:
        return key

    def compare(one: WorkloadState, other: WorkloadState) -> int:
        this, that = key(one), key(other)
        used = state.history.get(one.local_queue), state.history.get(other.local_queue)
        # Kueue's quirk: LocalQueues of one name, in two namespaces, count as the same here.
        if this[:2] == that[:2] and one.cluster_queue == other.cluster_queue and one.queue_name != other.queue_name:
            mine, theirs = used
            counts = state.queues[one.cluster_queue].uses_history
            if counts and mine is not None and theirs is not None and mine != theirs:
                return -1 if mine > theirs else 1
        return (this > that) - (this < that)

    return cmp_to_key(compare)


def _reserved_at(state: State, workload: WorkloadState) -> float:
    """When it got its reservation, in seconds since the epoch."""
    reserved = workload.conditions.get(QUOTA_RESERVED)
    return (reserved.at if reserved is not None and reserved.status else state.now).timestamp()


class _Variant(enum.Enum):
    """On what ground a candidate may be sent away."""

    SAME_QUEUE = IN_CLUSTER_QUEUE
    BY_HIERARCHY = IN_COHORT_RECLAMATION
    """The preemptor is nearer to the quota that it uses."""
    WITHOUT_BORROWING = "without borrowing"
    """Only if the preemptor does not borrow afterwards."""
    WHILE_BORROWING = IN_COHORT_RECLAIM_WHILE_BORROWING

    @property
    def reason(self) -> str:
        return IN_COHORT_RECLAMATION if self is _Variant.WITHOUT_BORROWING else self.value


class _Candidate(NamedTuple):
    workload: WorkloadState
    variant: _Variant
    top: QuotaNode | None
    """The lowest Cohort that it has in common with the preemptor."""


def classical_targets(claim: Claim) -> list[Target]:
    """The Workloads to be sent away; none where that is of no use."""
    hierarchy, priority = _others(claim)
    same = _of_own_queue(claim)
    order = candidates_order(claim.state, claim.queue.name)
    groups = [sorted(each, key=lambda one: order(one.workload)) for each in (hierarchy, priority, same)]
    candidates = [each for group in groups for each in group if each.workload.is_true(EVICTED)]
    candidates += [each for group in groups for each in group if not each.workload.is_true(EVICTED)]
    for may_borrow in _attempts(claim, has_hierarchy=bool(hierarchy), has_others=bool(hierarchy or priority)):
        targets = _attempt(claim, candidates, may_borrow=may_borrow)
        if targets:
            return targets
    return []


def _attempts(claim: Claim, *, has_hierarchy: bool, has_others: bool) -> tuple[bool, ...]:
    """Whether the preemptor may borrow at each try."""
    forbidden = claim.queue.object.spec.preemption.borrow_within_cohort.policy is BorrowPolicy.NEVER
    node = claim.queue.node
    is_under = all(node.nominal(pair) > node.usage.get(pair, 0) for pair in claim.pairs)
    if not has_others or (forbidden and not is_under):
        return (True,)
    if forbidden and not has_hierarchy:
        return False, True
    return True, False


def _attempt(claim: Claim, candidates: list[_Candidate], *, may_borrow: bool) -> list[Target]:
    targets: list[Target] = []
    state = claim.state
    for candidate in candidates:
        if not _is_valid(claim, candidate, may_borrow=may_borrow):
            continue
        removed(state, [candidate.workload])
        targets.append(Target(candidate.workload, candidate.variant.reason))
        if claim.fits(may_borrow=may_borrow):
            return spared(claim, targets, may_borrow=may_borrow)
    restored(state, [each.workload for each in targets])
    return []


def spared(claim: Claim, targets: list[Target], *, may_borrow: bool) -> list[Target]:
    """Puts back whoever need not go, the last one excepted, and then the usage of all others."""
    state = claim.state
    place = len(targets) - 2
    while place >= 0:
        restored(state, [targets[place].workload])
        if claim.fits(may_borrow=may_borrow):
            targets[place] = targets[-1]
            targets.pop()
        else:
            removed(state, [targets[place].workload])
        place -= 1
    restored(state, [each.workload for each in targets])
    return targets


def _is_valid(claim: Claim, candidate: _Candidate, *, may_borrow: bool) -> bool:
    """Others may have gone meanwhile, so that its queue no longer borrows."""
    if candidate.variant is _Variant.SAME_QUEUE:
        return True
    if may_borrow and candidate.variant is _Variant.WITHOUT_BORROWING:
        return False
    node = claim.state.queues[candidate.workload.cluster_queue].node
    while node is not candidate.top:
        if node.is_within_nominal(claim.pairs):
            return False
        if node.parent is None:
            break
        node = node.parent
    return True


def _of_own_queue(claim: Claim) -> list[_Candidate]:
    policy = claim.queue.object.spec.preemption.within_cluster_queue
    return [
        _Candidate(each, _Variant.SAME_QUEUE, None)
        for each in claim.queue.holders.values()
        if each.uses(claim.pairs) and satisfies(policy, claim.workload, each)
    ]


def _others(claim: Claim) -> tuple[list[_Candidate], list[_Candidate]]:
    """Candidates of other queues: those over which the preemptor has the advantage by the tree, and the rest."""
    by_hierarchy: list[_Candidate] = []
    by_priority: list[_Candidate] = []
    policy = claim.queue.object.spec.preemption.reclaim_within_cohort
    if policy is ReclaimWithinCohort.NEVER:
        return by_hierarchy, by_priority
    has_advantage, rest = claim.queue.node.fits(claim.requests)
    below: QuotaNode | None = None
    for cohort in claim.queue.node.ancestors():
        into = by_hierarchy if has_advantage else by_priority
        for queue in _borrowing_queues(claim, cohort, below):
            for each in claim.state.queue_of(queue).holders.values():
                if each.uses(claim.pairs) and satisfies(policy, claim.workload, each):
                    into.append(_Candidate(each, _variant(claim, each, has_advantage=has_advantage), cohort))
        is_enough, rest = cohort.fits(rest)
        has_advantage = has_advantage or is_enough
        below = cohort
    return by_hierarchy, by_priority


def _borrowing_queues(claim: Claim, cohort: QuotaNode, skipped: QuotaNode | None) -> Iterator[QuotaNode]:
    for child in cohort.cohorts:
        if child is not skipped and not child.is_within_nominal(claim.pairs):
            yield from _borrowing_queues(claim, child, skipped)
    for queue in cohort.queues:
        if queue is not claim.queue.node and not queue.is_within_nominal(claim.pairs):
            yield queue


def _variant(claim: Claim, candidate: WorkloadState, *, has_advantage: bool) -> _Variant:
    if has_advantage:
        return _Variant.BY_HIERARCHY
    borrowing = claim.queue.object.spec.preemption.borrow_within_cohort
    if borrowing.policy is BorrowPolicy.NEVER or candidate.priority >= claim.workload.priority:
        return _Variant.WITHOUT_BORROWING
    threshold = borrowing.max_priority_threshold
    if threshold is not None and candidate.priority > threshold:
        return _Variant.WITHOUT_BORROWING
    return _Variant.WHILE_BORROWING


def possibility(claim: Claim, targets: list[Target]) -> tuple[Way, int]:
    """What these targets make of one pair: of whom, and from how far up would be borrowed once they are gone."""
    ((pair, amount),) = claim.requests.items()
    node = claim.queue.node
    if not targets:
        return Way.NO_CANDIDATES, node.lowest_height_that_fits(pair, amount)[0]
    taken = removed(claim.state, [each.workload for each in targets])
    borrowing, _ = node.lowest_height_that_fits(pair, amount)
    restored(claim.state, taken)
    is_own = any(each.workload.cluster_queue == claim.queue.name for each in targets)
    return (Way.PREEMPT if is_own else Way.RECLAIM), borrowing
