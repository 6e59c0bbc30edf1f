"""Why a Workload is where it is: the rungs from a job to its pods, the first that fails, and what would help. Pure.

What is said of quota comes from the same assignment that the scheduling cycle makes, asked once more as things stand.
"""

from __future__ import annotations

import enum
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from admission.activity import cluster_queue_activity, local_queue_activity
from admission.amounts import written
from admission.assignment import Assigner, Assignment, Look, Refusal, Way
from admission.cycle import attempt
from admission.preemption import Target
from admission.quota_tree import Pair, QuotaNode
from admission.settling import Simulation
from admission.state import Mode, QueueState, WorkloadState
from kueue_dqo.api.queueing import LocalQueue, QueueingStrategy, ReclaimWithinCohort, WithinClusterQueue
from kueue_dqo.api.wording import counted, some
from kueue_dqo.api.workloads import ADMISSION_GATED_BY, ADMITTED, EVICTED, FINISHED, CheckState
from kueue_dqo.cli.simulate.settled import named

_HOLDERS: Final = 5


class Outcome(enum.Enum):
    """What a rung says."""

    HOLDS = "ok"
    FAILS = "no"
    OPEN = "…"
    """Not reached: an earlier one fails."""


class Rung(NamedTuple):
    """One step of the way from a job to its pods."""

    title: str
    outcome: Outcome
    text: str


@dataclass(slots=True)
class Explanation:
    """Of one Workload."""

    name: str
    verdict: str = ""
    """In one sentence."""
    rungs: list[Rung] = field(default_factory=list)
    details: list[str] = field(default_factory=list)
    """In numbers: each flavor, who holds it, who could go."""
    helps: list[str] = field(default_factory=list)
    """What would let it in, and what would not."""
    pairs: list[Pair] = field(default_factory=list)
    """Whose quota it is about."""
    queue: str = ""
    """The ClusterQueue."""


_TITLES: Final = (
    "Workload is active",
    "LocalQueue",
    "ClusterQueue",
    "Namespace",
    "Requests",
    "Resources are covered",
    "Flavors match",
    "Quota",
    "Turn in the queue",
    "Admission checks",
    "Admitted",
)


def explained(simulation: Simulation, workload: WorkloadState) -> Explanation:
    """The rungs, down to the first that fails."""
    found = Explanation(named(workload))
    if workload.is_true(FINISHED):
        found.verdict = "It has finished: nothing holds it back."
        return found
    for title, outcome, text in _climb(simulation, workload, found):
        found.rungs.append(Rung(title, outcome, text))
        if outcome is Outcome.FAILS:
            found.verdict = found.verdict or f"It waits: {text}."
            break
    else:
        found.verdict = "It is admitted: its job may run."
    reached = {rung.title for rung in found.rungs}
    found.rungs += [Rung(title, Outcome.OPEN, "") for title in _TITLES if title not in reached]
    return found


def _climb(simulation: Simulation, workload: WorkloadState, found: Explanation) -> Iterator[tuple[str, Outcome, str]]:
    yield _rung(_TITLES[0], *_active(workload))
    world = simulation.world
    local: LocalQueue | None = world.of_kind("LocalQueue").get(workload.local_queue)
    if local is None:
        queue_name = workload.queue_name
        why = f"LocalQueue {workload.local_queue} does not exist" if queue_name else "it names no LocalQueue"
        yield _rung(_TITLES[1], "", f"{why}: create it, or correct the job's label kueue.x-k8s.io/queue-name")
        return
    activity = local_queue_activity(world, local)
    target = local.spec.cluster_queue if local.spec is not None else ""
    if activity.reason == "Stopped":
        yield _rung(_TITLES[1], "", f"LocalQueue {workload.local_queue} is stopped (spec.stopPolicy)")
        return
    if target not in simulation.state.queues:
        yield _rung(
            _TITLES[1], "", f"LocalQueue {workload.local_queue} leads to ClusterQueue {target}, which is not there"
        )
        return
    yield _rung(_TITLES[1], f"{workload.local_queue} leads to {target}")
    queue = simulation.state.queues[workload.cluster_queue or target]
    found.queue = queue.name
    whole = cluster_queue_activity(world, queue.object)
    if queue.name in simulation.cyclic:
        yield _rung(_TITLES[2], "", f"the Cohorts above ClusterQueue {queue.name} are a ring: correct spec.parentName")
        return
    yield _rung(
        _TITLES[2], f"{queue.name} is active" if whole.is_active else "", f"ClusterQueue {queue.name}: {whole.message}"
    )
    yield _rung(_TITLES[3], *_selected(simulation, workload, queue))
    inadmissible = workload.counted.inadmissible
    yield _rung(_TITLES[4], "" if inadmissible else _asked(workload), inadmissible)
    if workload.cluster_queue:
        yield from _holding(workload)
        return
    yield from _quota(simulation, workload, queue, found)


def _rung(title: str, good: str, bad: str = "") -> tuple[str, Outcome, str]:
    return (title, Outcome.HOLDS, good) if good else (title, Outcome.FAILS, bad)


def _active(workload: WorkloadState) -> tuple[str, str]:
    if not workload.is_active:
        evicted = workload.conditions.get(EVICTED)
        why = f": {evicted.message}" if evicted is not None and evicted.message else ""
        return "", f"it is deactivated (spec.active is false){why}"
    gate = workload.counted.object.metadata.annotations.get(ADMISSION_GATED_BY)
    if gate:
        return "", f"it is gated by {gate} (annotation {ADMISSION_GATED_BY})"
    if workload.requeue is not None and workload.requeue.requeue_at is not None:
        return "", f"it backs off until {workload.requeue.requeue_at.isoformat()}"
    return "yes", ""


def _selected(simulation: Simulation, workload: WorkloadState, queue: QueueState) -> tuple[str, str]:
    selector = queue.object.spec.namespace_selector
    if selector is None:
        return (
            "",
            f"ClusterQueue {queue.name} has no namespaceSelector, so it takes none: write {{}} to take all",
        )
    if not selector.selects(simulation.world.namespace_labels(workload.namespace)):
        return "", f"the namespaceSelector of ClusterQueue {queue.name} does not select Namespace {workload.namespace}"
    return f"{workload.namespace} is selected", ""


def _asked(workload: WorkloadState) -> str:
    texts = []
    for pods in workload.counted.pods:
        listed = ", ".join(f"{written(name, amount)} {name}" for name, amount in sorted(pods.requests.items()))
        texts.append(f"{pods.name}: {counted(pods.count, 'pod')} of {listed or 'nothing'} each")
    return "; ".join(texts) or "no pods"


def _holding(workload: WorkloadState) -> Iterator[tuple[str, Outcome, str]]:
    """Of one with quota: the checks."""
    for title in _TITLES[5:9]:
        yield _rung(title, "yes" if title != "Quota" else f"reserved in {workload.cluster_queue}")
    unanswered = [each for each in workload.checks if each.state is not CheckState.READY]
    told = [
        f"{each.name} is {each.state.value}" + (f" ({each.message})" if each.message else "") for each in unanswered
    ]
    said = f"quota is reserved, and its AdmissionChecks are not all Ready: {', '.join(told)}"
    yield _rung(_TITLES[9], "" if unanswered else "all Ready" if workload.checks else "none", said)
    yield _rung(_TITLES[10], "yes" if workload.is_true(ADMITTED) else "", "not yet")


# --- quota ---------------------------------------------------------------------------------------------------------


def _quota(
    simulation: Simulation, workload: WorkloadState, queue: QueueState, found: Explanation
) -> Iterator[tuple[str, Outcome, str]]:
    assignment, targets = _asked_anew(simulation, workload, queue)
    uncovered = [
        f"{name} ({pods.name})"
        for pods in workload.counted.pods
        for name, amount in sorted(pods.requests.items())
        if amount and queue.group_of(name) is None
    ]
    if uncovered and not simulation.state.ignores_undeclared:
        covered = sorted(name for group in queue.groups for name in group.resources)
        why = f"no resource group of ClusterQueue {queue.name} covers {some(uncovered)}; it covers {', '.join(covered)}"
        found.helps.append("waiting does not help: cover the resource in the queue, or do not ask for it")
        yield _rung(_TITLES[5], "", why)
        return
    yield _rung(_TITLES[5], "yes")
    looks = [each for each in assignment.looks if isinstance(each, Look)]
    refusals = [each for each in assignment.looks if isinstance(each, Refusal)]
    found.details += dict.fromkeys(each.why for each in refusals)
    if refusals and not looks:
        found.helps.append("waiting does not help: change what the pods select and tolerate, or the flavors")
        yield _rung(_TITLES[6], "", "; ".join(dict.fromkeys(each.why for each in refusals)))
        return
    yield _rung(_TITLES[6], some(dict.fromkeys(each.pair.flavor for each in looks)) or "nothing is asked for")
    found.pairs = list(dict.fromkeys(each.pair for each in looks if each.way is not Way.FIT))
    for look in dict.fromkeys(looks):
        found.details += _told(simulation, queue, look)
    if assignment.mode is Mode.FIT:
        yield _rung(_TITLES[7], "it fits as things stand")
        yield _rung(_TITLES[8], *_turn(simulation, workload, queue))
        return
    lacking = [each for each in looks if each.lacking or each.requested + each.assumed > each.potential]
    if targets:
        found.details.append(f"it would send away {_listed(targets)}")
        found.helps.append("it needs no help: Kueue preempts for it in one of its next cycles")
    else:
        _advise(simulation, workload, queue, lacking, found)
    short = [
        f"{each.pair.flavor} lacks {written(each.pair.resource, each.lacking)} of {each.pair.resource}"
        for each in dict.fromkeys(lacking)
    ]
    yield _rung(_TITLES[7], "", f"not enough quota: {'; '.join(short)}")


def _asked_anew(simulation: Simulation, workload: WorkloadState, queue: QueueState) -> tuple[Assignment, list[Target]]:
    """From the first flavor on, whatever was tried before."""
    tried, workload.tried = workload.tried, None
    try:
        return attempt(simulation.state, workload, queue)
    finally:
        workload.tried = tried


def _told(simulation: Simulation, queue: QueueState, look: Look) -> Iterator[str]:
    """One flavor in numbers: what is asked and there, which limit binds, who holds it."""
    node, pair, resource = queue.node, look.pair, look.pair.resource
    quota = node.quotas.get(pair)
    asked = look.requested + look.assumed
    limits = ""
    if quota is not None and quota.borrowing_limit is not None:
        limits = f", borrowingLimit {written(resource, quota.borrowing_limit)}"
    yield (
        f"{pair.flavor}/{resource}: {written(resource, asked)} asked, {written(resource, look.available)} available, "
        f"{written(resource, look.potential)} at most; {queue.name} has a nominalQuota of "
        f"{written(resource, node.nominal(pair))}{limits} and holds {written(resource, node.usage.get(pair, 0))}"
    )
    if look.way is Way.FIT:
        return
    yield from (f"{pair.flavor}/{resource}: {text}" for text in _limits(queue, pair, asked))
    holders = _holders(simulation, queue, pair)
    if holders:
        listed = [f"{named(each)} {written(resource, each.held[pair])} ({each.cluster_queue})" for each in holders]
        yield f"{pair.flavor}/{resource} is held by {some(listed, at_most=_HOLDERS)}"


def _limits(queue: QueueState, pair: Pair, asked: int) -> Iterator[str]:
    """Which limits stand in the way: without the limit, there would be more."""
    node = queue.node
    available, potential = node.available(pair), node.potential(pair)
    for each in (node, *node.ancestors()):
        quota = each.quotas.get(pair)
        if quota is None or quota.borrowing_limit is None:
            continue
        each.quotas[pair] = quota._replace(borrowing_limit=None)
        more, most = node.available(pair), node.potential(pair)
        each.quotas[pair] = quota
        if more > available or (asked > potential and most > potential):
            kind = "ClusterQueue" if each.is_queue else "Cohort"
            limit = written(pair.resource, quota.borrowing_limit)
            yield f"the borrowingLimit of {limit} of {kind} {each.name} binds"
    if node.parent is None:
        return
    for each in _all_below(node.root):
        quota = each.quotas.get(pair)
        if each is not node and quota is not None and quota.lending_limit is not None and each.local_available(pair):
            kept = written(pair.resource, each.local_available(pair))
            yield f"{each.name} keeps {kept} for itself by its lendingLimit"


def _all_below(node: QuotaNode) -> Iterator[QuotaNode]:
    yield node
    yield from node.queues
    for cohort in node.cohorts:
        yield from _all_below(cohort)


def _holders(simulation: Simulation, queue: QueueState, pair: Pair) -> list[WorkloadState]:
    """Those of its tree that hold it, the largest first."""
    nodes = [queue.node] if queue.node.parent is None else list(queue.node.root.queues_below())
    found = [
        each for node in nodes for each in simulation.state.queues[node.name].holders.values() if each.held.get(pair)
    ]
    return sorted(found, key=lambda each: (-each.held[pair], each.key))


def _advise(
    simulation: Simulation, workload: WorkloadState, queue: QueueState, lacking: list[Look], found: Explanation
) -> None:
    """Whether waiting, preemption, more quota or fewer pods would help."""
    over = [each for each in lacking if each.requested + each.assumed > each.potential]
    flavors = {each.pair.flavor for each in lacking}
    if over and flavors == {each.pair.flavor for each in over}:
        found.helps.append("waiting does not help: it asks for more than its queue could have if all others were gone")
        found.helps += dict.fromkeys(
            f"{written(each.pair.resource, each.requested + each.assumed - each.potential)} more quota of "
            f"{each.pair.flavor}/{each.pair.resource} would make it possible"
            for each in over
        )
    else:
        found.helps.append("waiting helps, once others give back what is lacking")
        found.helps += _preemption(simulation, workload, queue, lacking)
        found.helps += dict.fromkeys(
            f"or {written(each.pair.resource, each.lacking)} more quota of {each.pair.flavor}/{each.pair.resource}"
            for each in lacking
            if each not in over
        )
    pods = _pods_that_fit(simulation, workload, queue)
    if pods is not None:
        most, of = pods
        found.helps.append(
            f"{most} of its {counted(of, 'pod')} would fit now" if most else "not one of its pods would fit now"
        )
        if most and all(each.min_count is None for each in workload.counted.pods):
            found.helps.append("with the annotation kueue.x-k8s.io/job-min-parallelism, Kueue could admit so many")


def _preemption(
    simulation: Simulation, workload: WorkloadState, queue: QueueState, lacking: list[Look]
) -> Iterator[str]:
    """Why nobody is sent away, by the ground for each who holds it."""
    policy = queue.object.spec.preemption
    grounds: dict[str, list[str]] = {}
    for look in lacking:
        for each in _holders(simulation, queue, look.pair):
            grounds.setdefault(_why_not(simulation, workload, queue, each, look.pair), []).append(named(each))
    for ground, names in grounds.items():
        yield f"preemption does not help: {ground} — {some(dict.fromkeys(names), at_most=_HOLDERS)}"
    if not grounds:
        policies = (
            f"withinClusterQueue {policy.within_cluster_queue}, reclaimWithinCohort {policy.reclaim_within_cohort}"
        )
        yield f"there is nobody to preempt ({policies})"


def _why_not(
    simulation: Simulation, workload: WorkloadState, queue: QueueState, holder: WorkloadState, pair: Pair
) -> str:
    policy = queue.object.spec.preemption
    is_not_lower = holder.priority >= workload.priority
    lower = f"their priority is not below {workload.priority}"
    grounds: tuple[tuple[bool, str], ...]
    if holder.cluster_queue == queue.name:
        never = policy.within_cluster_queue is WithinClusterQueue.NEVER
        grounds = ((never, "withinClusterQueue is Never"), (is_not_lower, lower))
    else:
        reclaim, asked = policy.reclaim_within_cohort, sum(each.get(pair.resource, 0) for each in workload.requests())
        owns = simulation.state.queues[holder.cluster_queue].node.is_within_nominal([pair])
        while_borrowing = policy.borrow_within_cohort.policy
        grounds = (
            (reclaim is ReclaimWithinCohort.NEVER, "reclaimWithinCohort is Never"),
            (owns, f"{holder.cluster_queue} does not borrow, so it need not give back"),
            (reclaim is ReclaimWithinCohort.LOWER_PRIORITY and is_not_lower, lower),
            (
                queue.node.borrows_with(pair, asked),
                f"{queue.name} would borrow itself (borrowWithinCohort {while_borrowing})",
            ),
        )
    return next((why for applies, why in grounds if applies), "all that may go are not enough")


def _pods_that_fit(simulation: Simulation, workload: WorkloadState, queue: QueueState) -> tuple[int, int] | None:
    """Of a Workload of one podset: how many of its pods would fit without preemption, and how many it has."""
    if len(workload.counted.pods) != 1 or workload.counted.pods[0].count <= 1:
        return None
    tried, workload.tried = workload.tried, None
    assigner = Assigner(simulation.state, queue, workload, lambda *_: (Way.NO_CANDIDATES, 0))
    low, high = 0, workload.counted.pods[0].count
    while low < high:
        middle = (low + high + 1) // 2
        if assigner.assign((middle,)).mode is Mode.FIT:
            low = middle
        else:
            high = middle - 1
    workload.tried = tried
    return low, workload.counted.pods[0].count


def _turn(simulation: Simulation, workload: WorkloadState, queue: QueueState) -> tuple[str, str]:
    """Of one that fits and is not in: who is before it."""
    ahead = [
        each
        for each in simulation.pending[queue.name].all()
        if each is not workload and (-each.priority, each.waits_since) < (-workload.priority, workload.waits_since)
    ]
    first = sorted(ahead, key=lambda each: (-each.priority, each.waits_since))
    if first and queue.object.spec.queueing_strategy is QueueingStrategy.STRICT_FIFO:
        return "", f"StrictFIFO: {some([named(each) for each in first])} comes first, and cannot be admitted yet"
    if first:
        return "", f"{some([named(each) for each in first])} come first in the queue"
    return "", "others of its Cohort are served first; it comes with one of the next cycles"


def _listed(targets: list[Target]) -> str:
    return some([f"{named(each.workload)} ({each.reason})" for each in targets], at_most=_HOLDERS)
