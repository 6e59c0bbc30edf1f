"""One scheduling cycle: the heads of all queues, what each could have, in which order they are served.

The rules are those of Kueue 0.19 (`pkg/scheduler/scheduler.go`, `fair_sharing_iterator.go`).
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field

from admission.assignment import Assigner, Assignment, Way, fewer_pods
from admission.fair_preemption import fair_targets
from admission.pending import Requeue
from admission.preemption import Claim, Target, classical_targets, possibility
from admission.quota_tree import Amounts, Pair, QuotaNode, Share, share_of
from admission.state import Mode, QueueState, State, WorkloadState, removed, restored
from kueue_dqo.api.queueing import ReclaimWithinCohort

NO_LONGER_FITS = "Workload no longer fits after processing another workload"
OVERLAPPING = "Workload has overlapping preemption targets with another workload"
NAMESPACE_MISMATCH = "workload namespace doesn't match ClusterQueue selector"


class Outcome(enum.Enum):
    """What a cycle made of a head."""

    INADMISSIBLE = "inadmissible"
    """It was not looked at: its queue or its pods forbid that."""
    WAITS = "waits"
    SKIPPED = "skipped"
    """It could have been admitted, had not another one been before it."""
    PREEMPTS = "preempts"
    ADMITTED = "admitted"


@dataclass(slots=True, eq=False)
class Entry:
    """A head in a cycle."""

    workload: WorkloadState
    queue: QueueState
    assignment: Assignment = field(default_factory=Assignment)
    targets: list[Target] = field(default_factory=list)
    outcome: Outcome = Outcome.WAITS
    message: str = ""
    requeue: Requeue = Requeue.GENERIC


def targets_of(state: State, workload: WorkloadState, queue: QueueState, assignment: Assignment) -> list[Target]:
    """Whom the Workload would have to send away for this assignment; none where it may not or it is of no use."""
    requests = {pair: amount for pair, amount in assignment.usage.items() if amount}
    claim = Claim(state, workload, queue, assignment.pairs_to_free, requests)
    return fair_targets(claim) if state.fair_sharing else classical_targets(claim)


def attempt(state: State, workload: WorkloadState, queue: QueueState) -> tuple[Assignment, list[Target]]:
    """What the Workload could have as things stand, and whom it would send away for that. Nothing changes by asking.

    All pods first, by preemption as well; then fewer, where it allows for that.
    """

    def oracle(asking: WorkloadState, pair: Pair, amount: int) -> tuple[Way, int]:
        claim = Claim(state, asking, queue, frozenset({pair}), {pair: amount})
        return possibility(claim, fair_targets(claim) if state.fair_sharing else classical_targets(claim))

    assigner = Assigner(state, queue, workload, oracle)
    full = assigner.assign()
    if full.mode is Mode.FIT:
        return full, []
    if full.mode is Mode.PREEMPT:
        targets = targets_of(state, workload, queue, full)
        if targets:
            return full, targets
    found: list[tuple[Assignment, list[Target]]] = []

    def fits(counts: tuple[int, ...]) -> bool:
        fewer = assigner.assign(counts)
        if fewer.mode is Mode.FIT:
            found.append((fewer, []))
            return True
        if fewer.mode is Mode.PREEMPT:
            chosen = targets_of(state, workload, queue, fewer)
            if chosen:
                found.append((fewer, chosen))
                return True
        return False

    fewer_pods(workload, fits)
    return found[-1] if found else (full, [])


def run(
    state: State, heads: Iterable[tuple[WorkloadState, QueueState]], refused: Callable[[WorkloadState, QueueState], str]
) -> list[Entry]:
    """Serves the heads, one for each queue. Admitted ones hold their quota when it returns.

    Args:
        state: is changed by what is admitted, and by nothing else.
        heads: with their queues.
        refused: why a head is not looked at; empty where it is.

    Returns the entries in the order in which they were served, after those that were not looked at.
    """
    entries: list[Entry] = []
    passed_by: list[Entry] = []
    for workload, queue in heads:
        entry = Entry(workload, queue)
        why = refused(workload, queue)
        if why:
            entry.outcome, entry.message = Outcome.INADMISSIBLE, why
            if why == NAMESPACE_MISMATCH:
                entry.requeue = Requeue.NAMESPACE_MISMATCH
            passed_by.append(entry)
            continue
        entry.assignment, entry.targets = attempt(state, workload, queue)
        entry.message = entry.assignment.message
        workload.tried = tuple(entry.assignment.tried)
        workload.tried_generation = queue.generation
        entries.append(entry)
    reserved: list[tuple[QuotaNode, Amounts]] = []
    preempted: dict[str, WorkloadState] = {}
    served = []
    for entry in _in_order(state, entries):
        _serve(state, entry, preempted, reserved)
        served.append(entry)
    for node, usage in reversed(reserved):
        node.remove(usage)
    return [*passed_by, *served]


def _serve(
    state: State, entry: Entry, preempted: dict[str, WorkloadState], reserved: list[tuple[QuotaNode, Amounts]]
) -> None:
    mode, queue, workload = entry.assignment.mode, entry.queue, entry.workload
    if mode is Mode.NO_FIT:
        entry.requeue = Requeue.NO_FIT
        return
    if mode is Mode.PREEMPT and not entry.targets:
        entry.requeue = Requeue.NO_CANDIDATES
        if queue.object.spec.preemption.reclaim_within_cohort is not ReclaimWithinCohort.ANY:
            # It may not send anybody away, so nobody may take what it waits for meanwhile.
            _reserve(queue.node, _to_reserve(entry), reserved)
        return
    if any(each.workload.key in preempted for each in entry.targets):
        _skip(entry, OVERLAPPING)
        return
    taken = removed(state, [*preempted.values(), *(each.workload for each in entry.targets)])
    fits = all(queue.node.available(pair) >= amount for pair, amount in entry.assignment.usage.items())
    restored(state, taken)
    if not fits:
        _skip(entry, NO_LONGER_FITS)
        return
    preempted |= {each.workload.key: each.workload for each in entry.targets}
    if mode is Mode.PREEMPT:
        _reserve(queue.node, entry.assignment.usage, reserved)
        entry.outcome = Outcome.PREEMPTS
        entry.requeue = Requeue.PENDING_PREEMPTION
        entry.message += f". Pending the preemption of {len(entry.targets)} workload(s)"
        workload.tried = None
        return
    entry.outcome = Outcome.ADMITTED
    workload.tried = None
    workload.cluster_queue = queue.name
    workload.give(entry.assignment.assigned())
    state.hold(workload)


def _skip(entry: Entry, why: str) -> None:
    entry.outcome, entry.message, entry.requeue = Outcome.SKIPPED, why, Requeue.AFTER_NOMINATION
    entry.workload.tried = None


def _reserve(node: QuotaNode, usage: Amounts, reserved: list[tuple[QuotaNode, Amounts]]) -> None:
    """For the rest of the cycle."""
    node.add(usage)
    reserved.append((node, usage))


def _to_reserve(entry: Entry) -> Amounts:
    """Up to the borrowing limit where it would borrow, up to the nominal quota where not."""
    node = entry.queue.node
    found: Amounts = {}
    for pair, amount in entry.assignment.usage.items():
        free = node.nominal(pair) - node.usage.get(pair, 0)
        quota = node.quotas.get(pair)
        if entry.assignment.borrowing > 0:
            limit = quota.borrowing_limit if quota is not None else None
            found[pair] = amount if limit is None else min(amount, free + limit)
        else:
            found[pair] = max(0, min(amount, free))
    return {pair: amount for pair, amount in found.items() if amount > 0}


# --- order ---------------------------------------------------------------------------------------------------------


def _in_order(state: State, entries: list[Entry]) -> Iterator[Entry]:
    if state.fair_sharing:
        yield from _fairly(entries)
        return
    yield from sorted(
        entries, key=lambda each: (each.assignment.borrowing, -each.workload.priority, each.workload.waits_since)
    )


def _fairly(entries: list[Entry]) -> Iterator[Entry]:
    """A tournament in each tree for each place: at every level the child with the lowest share after admission."""
    by_node = {id(each.queue.node): each for each in entries}
    roots = {id(each.queue.node.root): each.queue.node.root for each in entries}
    for root in roots.values():
        if root.is_queue:
            yield by_node[id(root)]
            continue
        waiting = {id(queue): by_node[id(queue)] for queue in root.queues_below() if id(queue) in by_node}
        while waiting:
            shares = {key: _shares(entry) for key, entry in waiting.items()}
            winner = _winner(root, waiting, shares)
            if winner is None:
                break
            del waiting[id(winner.queue.node)]
            yield winner


def _shares(entry: Entry) -> dict[int, Share]:
    """With the entry admitted: for each Cohort above, the share of its child on the way down to the queue."""
    node = entry.queue.node
    node.add(entry.assignment.usage)
    found, below = {}, node
    for cohort in node.ancestors():
        found[id(cohort)] = share_of(below)
        below = cohort
    node.remove(entry.assignment.usage)
    return found


def _winner(cohort: QuotaNode, waiting: dict[int, Entry], shares: dict[int, dict[int, Share]]) -> Entry | None:
    candidates = [found for child in cohort.cohorts if (found := _winner(child, waiting, shares)) is not None]
    candidates += [waiting[id(queue)] for queue in cohort.queues if id(queue) in waiting]
    best = None
    for each in candidates:
        if best is None or _comes_before(each, best, cohort, shares):
            best = each
    return best


def _comes_before(one: Entry, other: Entry, cohort: QuotaNode, shares: dict[int, dict[int, Share]]) -> bool:
    share, share_of_other = (shares[id(each.queue.node)][id(cohort)] for each in (one, other))
    borrows, other_borrows = _borrows(one, share), _borrows(other, share_of_other)
    if borrows != other_borrows:
        return other_borrows
    compared = share.compared(share_of_other)
    if compared:
        return compared < 0
    if one.workload.priority != other.workload.priority:
        return one.workload.priority > other.workload.priority
    return one.workload.waits_since < other.workload.waits_since


def _borrows(entry: Entry, share: Share) -> bool:
    return any(entry.assignment.usage.get(pair, 0) > 0 for pair in share.borrowed)
