"""The model in time: steps are taken, and all settles in between, cycle by cycle, as Kueue's controllers would have it.

The rules are those of Kueue 0.19's controllers (`pkg/controller/core`, `pkg/controller/jobframework`). What they do at
the same time, is done here one after another: what is due at once before what waits for Kueue's batches (those that are
set aside are woken when nothing else is left to do).
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Final

from admission import cycle
from admission.activity import checks_of, cluster_queue_activity, groups_in_force
from admission.cycle import Entry, Outcome
from admission.findings import Finding
from admission.pending import PendingQueue
from admission.preemption import WORDS, Target
from admission.quota_tree import Pair, Quota, QuotaNode, summed
from admission.state import Condition, Group, PodSetAssigned, QueueState, State, WorkloadState
from admission.usage_ledger import UsageLedger
from admission.world import CountedWorkload, Event, Happening, Item, World
from kueue_dqo.api.kueue import CLUSTER_QUEUE, COHORT, RESOURCE_FLAVOR
from kueue_dqo.api.quantity import NANOS, Quantity
from kueue_dqo.api.queueing import (
    LOCAL_QUEUE,
    AdmissionMode,
    ClusterQueue,
    Cohort,
    LocalQueue,
    QuotaCheckStrategy,
    StopPolicy,
)
from kueue_dqo.api.quotas import ResourceGroup
from kueue_dqo.api.resources import unit_nanos
from kueue_dqo.api.workloads import (
    ADMISSION_GATED_BY,
    ADMITTED,
    EVICTED,
    FINISHED,
    QUOTA_RESERVED,
    AdmissionCheckState,
    CheckState,
    RequeueState,
)

PREEMPTED: Final = "Preempted"
REQUEUED: Final = "Requeued"
DEACTIVATED: Final = "Deactivated"
BY_CHECK: Final = "AdmissionCheck"
BY_QUEUE: Final = "ClusterQueueStopped"
BY_LOCAL_QUEUE: Final = "LocalQueueStopped"
_ENDS: Final = ("Complete", "Failed")
_PENDING: Final = "Pending"
_INADMISSIBLE: Final = "Inadmissible"
_BEGINNING: Final = dt.datetime(2000, 1, 1, tzinfo=dt.UTC)
_TICK: Final = dt.timedelta(seconds=1)
_MOST_PREEMPTIONS: Final = 20
"""So often one Workload is preempted before all settles: more is taken for a loop, which Kueue would go on with for
ever."""


@dataclass(slots=True)
class Settled:
    """What one step came to."""

    cycles: list[list[Entry]] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)


class Simulation:
    """A cluster's queues and Workloads. Take steps with `apply`; read it with `admission.statuses`."""

    def __init__(self, *, keeps_cycles: bool = True) -> None:
        """With `keeps_cycles` the answer to a step tells each cycle, with all that was looked at in it."""
        self._keeps_cycles = keeps_cycles
        self.world = World()
        self.state = State(now=_BEGINNING)
        self.workloads: dict[str, WorkloadState] = {}
        self.pending: dict[str, PendingQueue] = {}
        self.ledger: UsageLedger | None = None
        self.inactive: set[str] = set()
        """ClusterQueues that admit nothing."""
        self.cyclic: set[str] = set()
        """ClusterQueues below Cohorts that are their own ancestors."""
        self.cycles = 0
        """Scheduling cycles so far."""
        self._roots: dict[str, str] = {}
        self._trees: dict[str, list[str]] = {}
        self._waits_in: dict[str, str] = {}
        """The ClusterQueue of each Workload that waits."""
        self._came = 0
        self._dirty: set[str] = set()
        """Roots of which some head has to be looked at."""
        self._to_wake: set[str] = set()
        """Roots of which those that are set aside have to be looked at, once nothing else is left to do."""
        self._settled = Settled()
        self._preemptions: dict[str, int] = {}

    def apply(self, items: Iterable[Item]) -> Settled:
        """Takes one step: surroundings first, then Jobs and Workloads one by one; all settles in between."""
        self._settled = Settled()
        self._preemptions.clear()
        step = self.world.apply(items)
        self._settled.findings += step.findings
        if step.changed:
            self._surround(step.changed)
        for event in step.repriced:
            self._take(event)
        if step.changed or step.repriced:
            self._settle()
        for event in step.events:
            self._take(event)
            self._settle()
        return self._settled

    # --- surroundings ------------------------------------------------------------------------------------------------

    def _surround(self, changed: frozenset[tuple[str, str]]) -> None:
        self.state.now += _TICK
        configuration = self.world.configuration
        fair = configuration.fair_sharing
        self.state.fair_sharing = fair is not None and fair.enable is not False
        self.state.strategies = tuple(map(str, fair.preemption_strategies)) if fair is not None else ()
        self.state.ignores_undeclared = (
            configuration.resources.quota_check_strategy is QuotaCheckStrategy.IGNORE_UNDECLARED
        )
        self.state.flavors = self.world.of_kind(RESOURCE_FLAVOR)
        history = configuration.admission_fair_sharing
        if history is not None and (self.ledger is None or self.ledger.configuration != history):
            self.ledger = UsageLedger(history)
        for kind, key in changed:
            if kind == LOCAL_QUEUE:
                self._seed(key)
        self._plant(changed)
        for workload in list(self.workloads.values()):
            self._follow_queues(workload)
        self._wake(*self.state.queues)

    def _seed(self, key: str) -> None:
        found = self.world.of_kind(LOCAL_QUEUE).get(key)
        if self.ledger is None or found is None:
            return
        fair = found.status.fair_sharing
        consumed = fair.admission_fair_sharing_status if fair is not None else None
        if consumed is not None:
            self.ledger.seed(key, consumed.consumed_resources, self.state.now)

    def _plant(self, changed: frozenset[tuple[str, str]]) -> None:
        """The trees anew, from the objects as they are and what Workloads hold."""
        cohorts = self._cohorts()
        queues = {name: self._queue(obj, cohorts) for name, obj in sorted(self._cluster_queues.items())}
        in_cycles = {name for name, node in cohorts.items() if _is_cyclic(node)}
        self.cyclic = {name for name, queue in queues.items() if queue.object.parent in in_cycles}
        for node in (*cohorts.values(), *(queue.node for queue in queues.values())):
            if node.parent is None:
                summed(node)
        self.state.queues, self.state.cohorts = queues, cohorts
        self.inactive = {
            name for name, queue in queues.items() if not cluster_queue_activity(self.world, queue.object).is_active
        }
        self._roots = {name: self._found_root(queue) for name, queue in queues.items()}
        self._trees = {}
        for name, root in sorted(self._roots.items()):
            self._trees.setdefault(root, []).append(name)
        self._queue_up(changed)

    def _found_root(self, queue: QueueState) -> str:
        node = queue.node
        return f"ClusterQueue/{node.name}" if node.parent is None or node.name in self.cyclic else node.root.name

    @property
    def _cluster_queues(self) -> dict[str, ClusterQueue]:
        return self.world.of_kind(CLUSTER_QUEUE)

    def _cohorts(self) -> dict[str, QuotaNode]:
        """Those that are objects, and those that are only named: a Cohort need not be an object."""
        cohorts: dict[str, QuotaNode] = {}
        objects: dict[str, Cohort] = self.world.of_kind(COHORT)
        for name, cohort_object in objects.items():
            quotas = quotas_of(cohort_object)
            cohorts[name] = QuotaNode(name, is_queue=False, weight=_weight(cohort_object), quotas=quotas)
        parents = {each.parent for each in self._cluster_queues.values()} | {each.parent for each in objects.values()}
        for name in sorted(parents - cohorts.keys() - {""}):
            cohorts[name] = QuotaNode(name, is_queue=False)
        for name, obj in objects.items():
            if obj.parent:
                cohorts[name].parent = cohorts[obj.parent]
                cohorts[obj.parent].cohorts.append(cohorts[name])
        return cohorts

    def _queue(self, obj: ClusterQueue, cohorts: dict[str, QuotaNode]) -> QueueState:
        name = obj.metadata.name
        node = QuotaNode(name, is_queue=True, weight=_weight(obj), quotas=quotas_of(obj))
        queue = QueueState(obj, node, groups_of(obj))
        before = self.state.queues.get(name)
        if before is not None:
            queue.holders = before.holders
            queue.generation = before.generation + 1
        if obj.parent:
            node.parent = cohorts[obj.parent]
            node.parent.queues.append(node)
        for workload in queue.holders.values():
            for pair, amount in workload.held.items():
                node.usage[pair] = node.usage.get(pair, 0) + amount
        return queue

    def _queue_up(self, changed: frozenset[tuple[str, str]]) -> None:
        """A queue of those that wait for each ClusterQueue, kept where it can be."""
        gone = self.pending.keys() - self.state.queues.keys()
        for name in gone:
            del self.pending[name]
        for name, queue in self.state.queues.items():
            strategy = queue.object.spec.queueing_strategy
            scope = queue.object.spec.admission_scope
            queue.uses_history = (
                self.ledger is not None and scope is not None and scope.admission_mode is AdmissionMode.USAGE_BASED
            )
            pending = self.pending.get(name)
            if pending is None or pending.strategy is not strategy or (CLUSTER_QUEUE, name) in changed:
                fresh = PendingQueue(name, strategy)
                fresh.usage_of = self._usage_of if queue.uses_history else None
                for workload in pending.all() if pending is not None else ():
                    fresh.set_aside[workload.key] = workload
                self.pending[name] = fresh

    def _usage_of(self, workload: WorkloadState) -> float:
        if self.ledger is None:
            return 0.0
        return self.ledger.usage_of(workload.local_queue, self._local_weight(workload.local_queue))

    def _local_weight(self, key: str) -> Quantity | None:
        found: LocalQueue | None = self.world.of_kind(LOCAL_QUEUE).get(key)
        fair = found.spec.fair_sharing if found is not None and found.spec is not None else None
        return fair.weight if fair is not None else None

    # --- Workloads ---------------------------------------------------------------------------------------------------

    def _take(self, event: Event) -> None:
        counted = event.workload
        workload = self.workloads.get(counted.key)
        match event.happening:
            case Happening.ADDED:
                self._add(counted)
            case Happening.DELETED if workload is not None:
                self._release(workload)
                self._wake(self._queue_of(workload)[1])  # whether it held anything or not
                self._leave(workload)
                del self.workloads[workload.key]
            case Happening.FINISHED if workload is not None:
                reason = "Succeeded" if event.succeeded else "Failed"
                self._set(workload, FINISHED, status=True, reason=reason, message=self._last_words(workload))
                self._release(workload, keeps=True)
                self._wake(self._queue_of(workload)[1])
                self._leave(workload)
            case Happening.CHECKED if workload is not None:
                self._checked(workload, counted)
            case Happening.CHANGED if workload is not None:
                self._changed(workload, counted)
            case _:
                pass

    def _last_words(self, workload: WorkloadState) -> str:
        """Of its Job, on which ground it has finished."""
        job = self.world.jobs.get(f"{workload.namespace}/{workload.counted.job}")
        ends = [each.message for each in job.status.conditions if each.type in _ENDS] if job is not None else []
        return ends[0] if ends else ""

    def _add(self, counted: CountedWorkload) -> None:
        metadata, status = counted.object.metadata, counted.object.status
        self._came += 1
        created = metadata.creation_timestamp or self.state.now + _TICK
        self.state.now = max(self.state.now + _TICK, created)
        workload = WorkloadState(counted, created, self._came)
        spec = counted.object.spec
        workload.is_active = spec.active if spec is not None else True
        self.workloads[counted.key] = workload
        for each in status.conditions:
            at = _time(each.last_transition_time) or created
            workload.conditions[each.type] = Condition(each.status == "True", each.reason, each.message, at)
        workload.checks = list(status.admission_checks)
        workload.requeue = status.requeue_state
        for eviction in status.scheduling_stats.evictions:
            workload.evictions[eviction.reason, eviction.underlying_cause] = eviction.count
        if workload.is_true(FINISHED):
            return
        if workload.is_true(QUOTA_RESERVED) and status.admission is not None:
            self._hold_as_before(workload)
        self._follow_queues(workload)

    def _hold_as_before(self, workload: WorkloadState) -> None:
        """What a Workload already has, when it is read from a cluster."""
        admission = workload.counted.object.status.admission
        if admission is None or admission.cluster_queue not in self.state.queues:
            return
        workload.cluster_queue = admission.cluster_queue
        workload.give(
            tuple(
                PodSetAssigned(
                    each.name,
                    each.count or 0,
                    dict(each.flavors),
                    {
                        name: -(-amount.nanos // unit_nanos(name))
                        for name, amount in each.resource_usage.items()
                        if amount is not None
                    },
                )
                for each in admission.pod_set_assignments
            )
        )
        self.state.hold(workload)

    def _changed(self, workload: WorkloadState, counted: CountedWorkload) -> None:
        before = workload.counted
        workload.counted = counted
        spec = counted.object.spec
        workload.is_active = spec.active if spec is not None else True
        self._leave(workload)
        if workload.cluster_queue:
            self._shrink(workload)
            old, new = before.object.spec, counted.object.spec
            if old is not None and new is not None and old.priority != new.priority:
                self._wake(workload.cluster_queue)
        self._follow_queues(workload)

    def _shrink(self, workload: WorkloadState) -> None:
        """Pods that are done give their quota back."""
        counts = {each.name: each.count for each in workload.counted.pods}
        fewer = tuple(
            each if counts.get(each.name, each.count) >= each.count else _scaled(each, counts[each.name])
            for each in workload.assigned
        )
        if fewer != workload.assigned:
            self.state.release(workload)
            workload.give(fewer)
            self.state.hold(workload)
            self._wake(workload.cluster_queue)

    def _queue_of(self, workload: WorkloadState) -> tuple[LocalQueue | None, str]:
        """Its LocalQueue and the name of the ClusterQueue behind that."""
        found: LocalQueue | None = self.world.of_kind(LOCAL_QUEUE).get(workload.local_queue)
        return found, found.spec.cluster_queue if found is not None and found.spec is not None else ""

    def _follow_queues(self, workload: WorkloadState) -> None:
        """What Kueue's controller of Workloads does about one, whenever it or its surroundings change."""
        if workload.is_true(FINISHED):
            return
        if not workload.is_active:
            self._deactivate(workload)
            return
        self._reactivate(workload)
        local, name = self._queue_of(workload)
        queue = self.state.queues.get(workload.cluster_queue or name)
        if local is None or local.spec is None or local.spec.stop_policy is StopPolicy.NONE:
            self._restart(workload, queue, is_local_stopped=False)
        if queue is not None:
            self._sync_checks(workload, queue)
        if workload.cluster_queue and not self._loses_reservation(workload, local):
            return
        self._block(workload, local, name)
        self._enqueue(workload, local, name)

    def _loses_reservation(self, workload: WorkloadState, local: LocalQueue | None) -> bool:
        """Whether it has to wait again without having been evicted."""
        queue = self.state.queues.get(workload.cluster_queue)
        if not workload.is_true(ADMITTED):
            self._sync_admitted(workload)
        if self._evict_by_checks(workload):
            return False
        local_policy = local.spec.stop_policy if local is not None and local.spec is not None else StopPolicy.NONE
        policy = queue.object.spec.stop_policy if queue is not None else StopPolicy.NONE
        if workload.is_true(ADMITTED):
            if local_policy is StopPolicy.HOLD_AND_DRAIN:
                self._evict(workload, BY_LOCAL_QUEUE, "The LocalQueue is stopped")
            elif policy is StopPolicy.HOLD_AND_DRAIN:
                self._evict(workload, BY_QUEUE, "The ClusterQueue is stopped")
            return False
        for applies, message in (
            (local is None, f"LocalQueue {workload.queue_name} is terminating or missing"),
            (local_policy is not StopPolicy.NONE, f"LocalQueue {workload.queue_name} is stopped"),
            (queue is None, f"ClusterQueue {workload.cluster_queue} is terminating or missing"),
            (policy is not StopPolicy.NONE, f"ClusterQueue {workload.cluster_queue} is stopped"),
        ):
            if applies:
                self._release(workload)
                self._set(workload, QUOTA_RESERVED, status=False, reason=_INADMISSIBLE, message=message)
                return True
        return False

    def _restart(self, workload: WorkloadState, queue: QueueState | None, *, is_local_stopped: bool) -> None:
        """A queue that was stopped goes on."""
        requeued = workload.conditions.get(REQUEUED)
        if requeued is None or requeued.status or is_local_stopped:
            return
        if requeued.reason == BY_LOCAL_QUEUE:
            message = "The LocalQueue was restarted after being stopped"
            self._set(workload, REQUEUED, status=True, reason="LocalQueueRestarted", message=message)
        elif requeued.reason == BY_QUEUE and queue is not None and queue.object.spec.stop_policy is StopPolicy.NONE:
            message = "The ClusterQueue was restarted after being stopped"
            self._set(workload, REQUEUED, status=True, reason="ClusterQueueRestarted", message=message)

    def _reactivate(self, workload: WorkloadState) -> None:
        requeued = workload.conditions.get(REQUEUED)
        if requeued is None or requeued.status:
            return
        if requeued.reason == DEACTIVATED:
            message = "The workload was reactivated"
            self._set(workload, REQUEUED, status=True, reason="Reactivated", message=message)
        elif requeued.reason == BY_CHECK and not self._is_backing_off(workload):
            self._set(
                workload, REQUEUED, status=True, reason="BackoffFinished", message="The workload backoff was finished"
            )

    def _is_backing_off(self, workload: WorkloadState) -> bool:
        at = workload.requeue.requeue_at if workload.requeue is not None else None
        return at is not None and at > self.state.now

    def _block(self, workload: WorkloadState, local: LocalQueue | None, name: str) -> None:
        """What keeps it from being looked at at all is said in its condition."""
        message = ""
        if local is None:
            message = f"LocalQueue {workload.queue_name} doesn't exist"
        elif local.spec is not None and local.spec.stop_policy is not StopPolicy.NONE:
            message = f"LocalQueue {workload.queue_name} is inactive"
        elif name not in self.state.queues:
            message = f"ClusterQueue {name} doesn't exist"
        elif name in self.inactive:
            message = f"ClusterQueue {name} is inactive"
        if message:
            self._set(workload, QUOTA_RESERVED, status=False, reason=_INADMISSIBLE, message=message)

    def _enqueue(self, workload: WorkloadState, local: LocalQueue | None, name: str) -> None:
        is_gated = bool(workload.counted.object.metadata.annotations.get(ADMISSION_GATED_BY))
        if self._waits_in.get(workload.key, name) != name:
            self._leave(workload)
        if is_gated:
            text = workload.counted.object.metadata.annotations[ADMISSION_GATED_BY]
            message = f"Admission is gated by: {text}"
            self._set(workload, QUOTA_RESERVED, status=False, reason="AdmissionGated", message=message)
        stopped = local is None or local.spec is None or local.spec.stop_policy is not StopPolicy.NONE
        if is_gated or stopped or name not in self.pending or self._is_held_back(workload):
            self._leave(workload)
            return
        self._waits_in[workload.key] = name
        self.pending[name].add(workload, self.state.now)
        self._dirty.add(self._root_of(name))
        self._recounted(name)

    def _is_held_back(self, workload: WorkloadState) -> bool:
        """A Workload whose check said Rejected is never queued again, even when it is set active."""
        return any(each.state in (CheckState.REJECTED, CheckState.RETRY) for each in workload.checks)

    def _root_of(self, queue: str) -> str:
        """The root of its tree; of one without a Cohort, or below a cycle, one of its own."""
        return self._roots[queue]

    def _wake(self, *queues: str) -> None:
        for name in queues:
            if name in self.state.queues and name not in self.cyclic:
                self._to_wake.add(self._root_of(name))

    def _recounted(self, name: str) -> None:
        """A queue's status has changed: Kueue looks at the Cohorts between it and the root, and wakes the tree."""
        if name in self.cyclic:
            return
        cohorts = self.world.of_kind(COHORT)
        between = list(self.state.queues[name].node.ancestors())[:-1]
        if any(node.name in cohorts for node in between):
            self._wake(name)

    def _leave(self, workload: WorkloadState) -> None:
        """It waits no longer, and others may be heads, or have what a head kept from them."""
        name = self._waits_in.pop(workload.key, "")
        if name in self.pending:
            self.pending[name].delete(workload.key)
            self._dirty.add(self._root_of(name))
            self._recounted(name)

    def _release(self, workload: WorkloadState, *, keeps: bool = False) -> None:
        """Takes its reservation away. `keeps`: it still says what it had."""
        name = workload.cluster_queue
        if not name:
            return
        if name in self.state.queues:
            self.state.release(workload)
            for queue in self._in_tree_of(name):
                queue.generation += 1
            self._dirty.add(self._root_of(name))
            self._wake(name)
        if not keeps:
            workload.cluster_queue = ""
            workload.give(())

    def _in_tree_of(self, name: str) -> Iterator[QueueState]:
        for each in self._trees[self._root_of(name)]:
            yield self.state.queues[each]

    def _set(self, workload: WorkloadState, kind: str, *, status: bool, reason: str, message: str) -> None:
        before = workload.conditions.get(kind)
        at = before.at if before is not None and before.status == status else self.state.now
        workload.conditions[kind] = Condition(status, reason, message, at)

    # --- checks ------------------------------------------------------------------------------------------------------

    def _sync_checks(self, workload: WorkloadState, queue: QueueState) -> None:
        rules = checks_of(queue.object)
        every = {name for group in queue.groups for name in group.flavors}
        if workload.assigned and workload.cluster_queue:
            given = {flavor for each in workload.assigned for flavor in each.flavors.values()}
            wanted = {name for name, flavors in rules.items() if flavors & given}
        else:
            wanted = {name for name, flavors in rules.items() if flavors >= every}
        known = {each.name: each for each in workload.checks}
        if known.keys() == wanted:
            return
        workload.checks = [each for each in workload.checks if each.name in wanted] + [
            AdmissionCheckState(name, CheckState.PENDING, last_transition_time=self.state.now)
            for name in sorted(wanted - known.keys())
        ]

    def _checked(self, workload: WorkloadState, counted: CountedWorkload) -> None:
        """A check's controller has written its state."""
        workload.counted = counted
        news = {each.name: each for each in counted.object.status.admission_checks}
        changed = []
        for each in workload.checks:
            new = news.get(each.name)
            if new is not None and new.last_transition_time is None:
                new = AdmissionCheckState(
                    new.name,
                    new.state,
                    new.message,
                    self.state.now,
                    new.requeue_after_seconds,
                    new.retry_count,
                    new.pod_set_updates,
                )
            changed.append(new if new is not None else each)
        workload.checks = changed
        if workload.cluster_queue:
            self._follow_queues(workload)

    def _evict_by_checks(self, workload: WorkloadState) -> bool:
        if workload.is_true(EVICTED):
            return False
        for state in (CheckState.REJECTED, CheckState.RETRY):
            failed = [each for each in workload.checks if each.state is state]
            if not failed:
                continue
            message = _checks_message(failed, state)
            if state is CheckState.REJECTED:
                workload.is_active = False
                self._deactivate(workload, message, BY_CHECK)
                return True
            times = [
                each.last_transition_time + dt.timedelta(seconds=each.requeue_after_seconds)
                for each in failed
                if each.last_transition_time is not None and each.requeue_after_seconds is not None
            ]
            if times and max(times) > self.state.now:
                # Kueue's quirk: it waits for the end of the back-off before it looks at the check again.
                count = workload.requeue.count if workload.requeue is not None else None
                workload.requeue = RequeueState(count, max(times))
                return True
            self._evict(workload, BY_CHECK, f"Evicted due to {message}")
            return True
        return False

    def _sync_admitted(self, workload: WorkloadState) -> None:
        queue = self.state.queues.get(workload.cluster_queue)
        if queue is None:
            return
        if all(each.state is CheckState.READY for each in workload.checks) and not workload.is_true(ADMITTED):
            self._set(workload, ADMITTED, status=True, reason="Admitted", message="The workload is admitted")
            if self.ledger is not None and queue.uses_history:
                self._settle_history(workload)

    def _settle_history(self, workload: WorkloadState) -> None:
        """Its entry penalty becomes consumption."""
        ledger = self.ledger
        if ledger is None:
            return
        used: dict[str, int] = {}
        for other in self.state.queues[workload.cluster_queue].holders.values():
            if other.local_queue == workload.local_queue and other.is_true(ADMITTED):
                for pair, amount in other.held.items():
                    used[pair.resource] = used.get(pair.resource, 0) + amount
        ledger.settle(workload.local_queue, _total(workload), used, self.state.now)
        self.state.history[workload.local_queue] = self._usage_of(workload)

    # --- eviction ----------------------------------------------------------------------------------------------------

    def _evict(self, workload: WorkloadState, reason: str, message: str, cause: str = "") -> None:
        """Marks it, stops its job, and takes its reservation: done at once here."""
        whole = f"{reason}DueTo{cause}" if cause else reason
        self._set(workload, EVICTED, status=True, reason=whole, message=message)
        workload.evictions[reason, cause] = workload.evictions.get((reason, cause), 0) + 1
        workload.checks = [_reset(each, self.state.now) for each in workload.checks]
        if not workload.cluster_queue:
            return
        self._release(workload)
        is_preempted = reason == PREEMPTED
        self._set(workload, REQUEUED, status=is_preempted, reason=whole, message=message)
        self._set(workload, QUOTA_RESERVED, status=False, reason=_PENDING, message=message)
        if workload.is_true(ADMITTED):
            is_ready = all(each.state is CheckState.READY for each in workload.checks)
            reason_ = "NoReservation" if is_ready else "NoReservationUnsatisfiedChecks"
            text = "The workload has no reservation" + ("" if is_ready else " and not all checks ready")
            self._set(workload, ADMITTED, status=False, reason=reason_, message=text)
        self._follow_queues(workload)

    def _deactivate(self, workload: WorkloadState, because: str = "", cause: str = "") -> None:
        self._leave(workload)
        self._wake(self._queue_of(workload)[1])
        message = "The workload is deactivated" + (f" due to {because}" if because else "")
        if not workload.is_true(EVICTED):
            whole = f"{DEACTIVATED}DueTo{cause}" if cause else DEACTIVATED
            self._set(workload, EVICTED, status=True, reason=whole, message=message)
            workload.evictions[DEACTIVATED, cause] = workload.evictions.get((DEACTIVATED, cause), 0) + 1
            if workload.cluster_queue:
                workload.conditions.pop(EVICTED)
                workload.evictions[DEACTIVATED, cause] -= 1
                self._evict(workload, DEACTIVATED, message, cause)
        workload.requeue = None

    def _preempt(self, target: Target, entry: Entry) -> None:
        workload, preemptor = target.workload, entry.workload
        uid = preemptor.counted.object.metadata.uid or "<uid>"
        job = preemptor.counted.object.metadata.labels.get("kueue.x-k8s.io/job-uid") or "UNKNOWN"
        victim = self.state.queues[workload.cluster_queue]
        message = (
            f"Preempted to accommodate a workload (UID: {uid}, JobUID: {job}) due to {WORDS[target.reason]}; "
            f"preemptor path: {path_of(entry.queue.node)}; preemptee path: {path_of(victim.node)}"
        )
        self._set(workload, PREEMPTED, status=True, reason=target.reason, message=message)
        self._preemptions[workload.key] = self._preemptions.get(workload.key, 0) + 1
        self._evict(workload, PREEMPTED, message)

    # --- settling ----------------------------------------------------------------------------------------------------

    def _settle(self) -> None:
        while True:
            while self._dirty:
                self._one_cycle()
                if any(count > _MOST_PREEMPTIONS for count in self._preemptions.values()):
                    self._report_loop()
                    return
            if not self._to_wake:
                return
            roots, self._to_wake = self._to_wake, set()
            for root in sorted(roots):
                woken = [
                    self.pending[name].wake(self._is_selected, self.state.now) for name in self._trees.get(root, ())
                ]
                if any(woken):
                    self._dirty.add(root)

    def _report_loop(self) -> None:
        looping = sorted(key for key, count in self._preemptions.items() if count > _MOST_PREEMPTIONS // 2)
        self._dirty.clear()
        self._to_wake.clear()
        self._preemptions.clear()
        message = (
            f"{', '.join(looping)} preempt one another again and again: Kueue goes on with that for ever, and what is "
            "shown is one moment of it"
        )
        self._settled.findings.append(Finding(f"Workload/{looping[0]}", "status", message))

    def _is_selected(self, workload: WorkloadState) -> bool:
        _, name = self._queue_of(workload)
        queue = self.state.queues.get(name)
        if queue is None:
            return False
        selector = queue.object.spec.namespace_selector
        return selector is not None and selector.selects(self.world.namespace_labels(workload.namespace))

    def _refusal(self, workload: WorkloadState, queue: QueueState) -> str:
        """Why a head is not looked at."""
        if any(each.state in (CheckState.RETRY, CheckState.REJECTED) for each in workload.checks):
            return "The workload has failed admission checks"
        if queue.name in self.cyclic:
            return f"ClusterQueue {queue.name} is inactive"
        if not self._is_selected(workload):
            return cycle.NAMESPACE_MISMATCH
        return workload.counted.inadmissible

    def _heads(self) -> list[tuple[WorkloadState, QueueState]]:
        """Of all active queues of the trees in which something is to be looked at."""
        roots, self._dirty = self._dirty, set()
        names = sorted(name for root in roots for name in self._trees.get(root, ()) if name not in self.inactive)
        heads = ((self.pending[name].pop(), self.state.queues[name]) for name in names)
        return [(workload, queue) for workload, queue in heads if workload is not None]

    def _one_cycle(self) -> None:
        heads = self._heads()
        if not heads:
            return
        self.state.now += _TICK
        if self.ledger is not None:
            self.state.history = {
                key: self.ledger.usage_of(key, self._local_weight(key)) for key in self.world.of_kind(LOCAL_QUEUE)
            }
        entries = cycle.run(self.state, heads, self._refusal)
        self.cycles += 1
        if self._keeps_cycles:
            self._settled.cycles.append(entries)
        for entry in entries:
            if self._after(entry):
                self._dirty.add(self._root_of(entry.queue.name))
        for entry in entries:
            for target in entry.targets if entry.outcome is Outcome.PREEMPTS else ():
                if target.workload.cluster_queue:
                    self._preempt(target, entry)

    def _after(self, entry: Entry) -> bool:
        """Returns whether heads of the tree have to be looked at again: that this one comes back alone is no reason."""
        workload = entry.workload
        if entry.outcome is Outcome.ADMITTED:
            self._waits_in.pop(workload.key, None)
            self._admitted(workload)
            return True
        self._set(workload, QUOTA_RESERVED, status=False, reason=_PENDING, message=entry.message)
        is_back = self.pending[entry.queue.name].requeue(workload, entry.requeue, self.state.now)
        return entry.outcome is Outcome.PREEMPTS or not is_back or _is_going_on(workload)

    def _admitted(self, workload: WorkloadState) -> None:
        queue = self.state.queues[workload.cluster_queue]
        message = f"Quota reserved in ClusterQueue {queue.name}"
        self._set(workload, QUOTA_RESERVED, status=True, reason="QuotaReserved", message=message)
        for kind in (EVICTED, PREEMPTED):
            before = workload.conditions.get(kind)
            if before is not None and before.status:
                self._set(workload, kind, status=False, reason="QuotaReserved", message=f"Previously: {before.message}")
        self._recounted(queue.name)
        if self.ledger is not None and queue.uses_history:
            self.ledger.enter(workload.local_queue, _total(workload))
        self._follow_queues(workload)


def _time(value: str | None) -> dt.datetime | None:
    return dt.datetime.fromisoformat(value) if value else None


def _is_going_on(workload: WorkloadState) -> bool:
    return workload.tried is not None and any(index != -1 for each in workload.tried for index in each.values())


def _total(workload: WorkloadState) -> dict[str, int]:
    found: dict[str, int] = {}
    for requests in workload.requests():
        for resource, amount in requests.items():
            found[resource] = found.get(resource, 0) + amount
    return found


def _scaled(assigned: PodSetAssigned, count: int) -> PodSetAssigned:
    usage = {resource: amount * count // assigned.count for resource, amount in assigned.usage.items()}
    return PodSetAssigned(assigned.name, count, assigned.flavors, usage)


def _reset(check: AdmissionCheckState, now: dt.datetime) -> AdmissionCheckState:
    if check.state is CheckState.PENDING:
        return check
    retries = (check.retry_count or 0) + 1 if check.state is CheckState.RETRY else None
    message = f"Reset to Pending after eviction. Previously: {check.state}"
    return AdmissionCheckState(check.name, CheckState.PENDING, message, now, check.requeue_after_seconds, retries)


def _checks_message(checks: list[AdmissionCheckState], state: CheckState) -> str:
    told = [
        f'"{each.name}" ({each.message})' if each.message else f'"{each.name}"'
        for each in sorted(checks, key=lambda one: one.name)
    ]
    return f"AdmissionCheck{'s' if len(checks) > 1 else ''} in {state} state: {'; '.join(told)}"


def _weight(obj: ClusterQueue | Cohort) -> float:
    fair = obj.spec.fair_sharing
    return fair.weight.nanos / NANOS if fair is not None else 1.0


def _is_cyclic(node: QuotaNode) -> bool:
    seen: set[int] = set()
    current: QuotaNode | None = node
    while current is not None:
        if id(current) in seen:
            return True
        seen.add(id(current))
        current = current.parent
    return False


def _in_force(obj: ClusterQueue | Cohort) -> tuple[ResourceGroup, ...]:
    """Effective quotas where they are set, the declared ones where not."""
    effective = obj.status.effective_quotas
    return effective.resource_groups if effective is not None else obj.spec.resource_groups


def quotas_of(obj: ClusterQueue | Cohort) -> dict[Pair, Quota]:
    """The quotas in force, in Kueue's units, rounded up."""

    def units(resource: str, amount: Quantity | None) -> int | None:
        return None if amount is None else -(-amount.nanos // unit_nanos(resource))

    return {
        Pair(flavor.name, each.name): Quota(
            units(each.name, each.nominal_quota) or 0,
            units(each.name, each.borrowing_limit),
            units(each.name, each.lending_limit),
        )
        for group in _in_force(obj)
        for flavor in group.flavors
        for each in flavor.resources
    }


def groups_of(obj: ClusterQueue) -> tuple[Group, ...]:
    """The resource groups in force."""
    return tuple(
        Group(frozenset(group.covered_resources), tuple(flavor.name for flavor in group.flavors))
        for group in groups_in_force(obj)
    )


def path_of(node: QuotaNode) -> str:
    """`/root/…/queue`, as messages of preemption say it."""
    return "/" + "/".join([*reversed([each.name for each in node.ancestors()]), node.name])
