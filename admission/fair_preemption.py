"""Whom a Workload sends away under fair sharing: of the queue with the largest share, as long as that evens out.

The rules are those of Kueue 0.19 (`pkg/scheduler/preemption/fairsharing`, KEP-1714).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from typing import Final

from admission.preemption import (
    IN_CLUSTER_QUEUE,
    IN_COHORT_FAIR_SHARING,
    IN_COHORT_RECLAMATION,
    Claim,
    Target,
    candidates_order,
    satisfies,
    spared,
)
from admission.quota_tree import NEGATIVE, QuotaNode, Share, share_of
from admission.state import WorkloadState, removed, restored
from kueue_dqo.api.queueing import PreemptionStrategy, ReclaimWithinCohort, WithinClusterQueue

BOTH: Final = (PreemptionStrategy.LESS_THAN_OR_EQUAL_TO_FINAL_SHARE, PreemptionStrategy.LESS_THAN_INITIAL_SHARE)


def fair_targets(claim: Claim) -> list[Target]:
    """The Workloads to be sent away; none where that is of no use."""
    state, node = claim.state, claim.queue.node
    order = candidates_order(state, claim.queue.name)
    candidates = sorted(_candidates(claim), key=order)
    if not candidates:
        return []
    strategies = state.strategies or BOTH
    node.add(claim.requests)  # shares are those after its admission
    try:
        is_enough, targets, again = _first(claim, candidates, strategies[0])
        if not is_enough and len(strategies) > 1:
            is_enough = _second(claim, again, targets)
    finally:
        node.remove(claim.requests)
    if not is_enough:
        restored(state, [each.workload for each in targets])
        return []
    return spared(claim, targets, may_borrow=True)


def _candidates(claim: Claim) -> Iterator[WorkloadState]:
    spec = claim.queue.object.spec.preemption
    if spec.within_cluster_queue is not WithinClusterQueue.NEVER:
        yield from _of(claim, claim.queue.node, spec.within_cluster_queue)
    if claim.queue.node.parent is not None and spec.reclaim_within_cohort is not ReclaimWithinCohort.NEVER:
        for queue in claim.queue.node.root.queues_below():
            if queue is not claim.queue.node and any(queue.borrows_with(pair, 0) for pair in claim.pairs):
                yield from _of(claim, queue, spec.reclaim_within_cohort)


def _of(claim: Claim, queue: QuotaNode, policy: str) -> Iterator[WorkloadState]:
    for each in claim.state.queue_of(queue).holders.values():
        if satisfies(policy, claim.workload, each) and each.uses(claim.pairs):
            yield each


def _fits(claim: Claim) -> bool:
    """Without its own usage, which was added to compare shares."""
    node = claim.queue.node
    node.remove(claim.requests)
    found = claim.fits()
    node.add(claim.requests)
    return found


def _first(
    claim: Claim, candidates: list[WorkloadState], strategy: str
) -> tuple[bool, list[Target], list[WorkloadState]]:
    """By the first strategy: whether it is enough, who goes, and who could be tried again by the second."""
    targets: list[Target] = []
    again: list[WorkloadState] = []
    own = claim.queue.node
    is_entitled = not any(own.borrows_with(pair, 0) for pair in claim.pairs)

    def take(workload: WorkloadState, reason: str) -> bool:
        removed(claim.state, [workload])
        targets.append(Target(workload, reason))
        return _fits(claim)

    ordering = _Ordering(claim, candidates)
    for queue in ordering.queues():
        waiting = ordering.candidates[queue.name]
        if queue is own or is_entitled:
            if take(waiting.popleft(), IN_CLUSTER_QUEUE if queue is own else IN_COHORT_RECLAMATION):
                return True, targets, []
            continue
        mine, theirs = _below_common(own, queue), _below_common(queue, own)
        new_share, old_share = share_of(mine), share_of(theirs)
        while waiting:
            candidate = waiting.popleft()
            if _passes(strategy, new_share, old_share, _share_without(claim, theirs, candidate)):
                if take(candidate, IN_COHORT_FAIR_SHARING):
                    return True, targets, []
                break  # shares have changed, so another queue may be next
            again.append(candidate)
    return False, targets, again


def _second(claim: Claim, candidates: list[WorkloadState], targets: list[Target]) -> bool:
    """By the second strategy, once for each queue: whether it is enough. Adds to the targets."""
    ordering = _Ordering(claim, candidates)
    own = claim.queue.node
    for queue in ordering.queues():
        new_share, old_share = share_of(_below_common(own, queue)), share_of(_below_common(queue, own))
        candidate = ordering.candidates[queue.name].popleft()
        if new_share.compared(old_share) < 0:
            removed(claim.state, [candidate])
            targets.append(Target(candidate, IN_COHORT_FAIR_SHARING))
            if _fits(claim):
                return True
        ordering.drop(queue)
    return False


def _passes(strategy: str, new_share: Share, old_share: Share, without: Callable[[], Share]) -> bool:
    if strategy == PreemptionStrategy.LESS_THAN_INITIAL_SHARE:
        return new_share.compared(old_share) < 0
    return new_share.compared(without()) <= 0


def _share_without(claim: Claim, node: QuotaNode, candidate: WorkloadState) -> Callable[[], Share]:
    def found() -> Share:
        taken = removed(claim.state, [candidate])
        share = share_of(node)
        restored(claim.state, taken)
        return share

    return found


def _below_common(queue: QuotaNode, other: QuotaNode) -> QuotaNode:
    """The last node on the way up from a queue before the first Cohort that it has in common with the other."""
    above = set(map(id, other.ancestors()))
    node = queue
    while node.parent is not None and id(node.parent) not in above:
        node = node.parent
    return node


class _Ordering:
    """Which queue gives the next candidate: from the root down, the child with the largest share."""

    def __init__(self, claim: Claim, candidates: list[WorkloadState]) -> None:
        self._claim = claim
        self._own = claim.queue.node
        self._path = set(map(id, self._own.ancestors()))
        self._pruned: set[int] = set()
        self._order = candidates_order(claim.state, claim.queue.name, by_history=False)
        self.candidates: dict[str, deque[WorkloadState]] = {}
        for each in candidates:
            self.candidates.setdefault(each.cluster_queue, deque()).append(each)

    def drop(self, queue: QuotaNode) -> None:
        """Takes no more of it."""
        self._pruned.add(id(queue))

    def queues(self) -> Iterator[QuotaNode]:
        """The next one, each time as shares are then. Whoever gets one takes a candidate of it, or drops it."""
        if self._own.parent is None:
            while id(self._own) not in self._pruned and self.candidates.get(self._own.name):
                yield self._own
            return
        root = self._own.root
        while id(root) not in self._pruned:
            found = self._next(root)
            if found is not None:
                yield found

    def _next(self, cohort: QuotaNode) -> QuotaNode | None:
        """None where something was only pruned."""
        best_queue, best_share = self._best_queue(cohort)
        best_cohort, best_cohort_share = None, NEGATIVE
        for child in cohort.cohorts:
            if id(child) in self._pruned:
                continue
            share = share_of(child)
            if not share.borrowed and id(child) not in self._path:
                self._pruned.add(id(child))
            elif share.compared(best_cohort_share) >= 0:
                best_cohort, best_cohort_share = child, share
        if best_cohort is None and best_queue is None:
            self._pruned.add(id(cohort))
            return None
        if best_cohort is not None and best_cohort_share.compared(best_share) >= 0:
            return self._next(best_cohort)
        return best_queue

    def _best_queue(self, cohort: QuotaNode) -> tuple[QuotaNode | None, Share]:
        best, best_share = None, NEGATIVE
        for queue in cohort.queues:
            if id(queue) in self._pruned:
                continue
            share = share_of(queue)
            waiting = self.candidates.get(queue.name)
            if (not share.borrowed and queue is not self._own) or not waiting:
                self._pruned.add(id(queue))
            elif best is None or share.compared(best_share) > 0:
                best, best_share = queue, share
            elif share.compared(best_share) == 0 and self._order(waiting[0]) < self._order(
                self.candidates[best.name][0]
            ):
                best = queue
        return best, best_share
