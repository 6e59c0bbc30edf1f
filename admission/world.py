"""The objects of a cluster as steps in time change them, with each Job as the Workload that Kueue makes of it.

In a step all that is no Job and no Workload takes effect first, then Jobs and Workloads one by one in their order. An
object with a `deletionTimestamp` is deleted; of one that was there before, the spec is replaced, of a Job the labels
alone; a Job without a spec has news of its status. A Workload without podsets that a Job owns is that Job's: a check's
controller has written its `status.admissionChecks`, or a user its `spec.active`.
"""

from __future__ import annotations

import enum
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

import msgspec

from admission.findings import Finding, named, unmodelled
from admission.jobs import (
    JobRefused,
    Priorities,
    has_succeeded,
    is_finished,
    managing_owner,
    queue_of,
    reclaimable_pods,
    workload_of,
)
from admission.pods import Requests, Surroundings, adjusted, forbidden, requests_of, shape_of
from kueue_dqo.api.kueue import COHORT
from kueue_dqo.api.meta import condition_is
from kueue_dqo.api.podtemplates import (
    BATCH_GROUP,
    JOB,
    LIMIT_RANGE,
    NAME_LABEL,
    NAMESPACE,
    PRIORITY_CLASS,
    RUNTIME_CLASS,
    ForeignJob,
    Job,
    LimitRange,
    Metadata,
    TemplatePodSpec,
)
from kueue_dqo.api.queueing import (
    CONFIGURATION,
    DEFAULT_LOCAL_QUEUE,
    LOCAL_QUEUE,
    Configuration,
    LocalQueue,
)
from kueue_dqo.api.workloads import (
    FINISHED,
    PREBUILT_WORKLOAD,
    WORKLOAD,
    WORKLOAD_PRIORITY_CLASS,
    PriorityClassRef,
    Workload,
)

_KUBE_SYSTEM: Final = "kube-system"
_ORDERED: Final = frozenset({JOB, WORKLOAD})


class Item(NamedTuple):
    """An object with its kind, as it was decoded."""

    kind: str
    object: Any


@dataclass(frozen=True, slots=True)
class CountedPods:
    """A podset as Kueue counts it."""

    name: str
    count: int
    min_count: int | None
    requests: Requests
    """Of one pod."""
    spec: TemplatePodSpec
    """Adjusted: with overhead, defaults, and limits where requests lack."""


@dataclass(frozen=True, slots=True)
class CountedWorkload:
    """A Workload, and what Kueue counts it for."""

    object: Workload
    """With a spec."""
    pods: tuple[CountedPods, ...]
    inadmissible: str
    """Why its pods forbid that it is admitted; empty where they do not."""
    job: str = ""
    """The name of the Job that it is of, in its namespace; empty for none."""

    @property
    def key(self) -> str:
        """`namespace/name`."""
        return self.object.metadata.key

    @property
    def shape(self) -> bytes:
        """Equal for Workloads that Kueue takes for equal: after one did not fit, the others are not tried.

        Of adjusted pods, counts, requests and the priority; a topology request counts as well.
        """
        spec = self.object.spec
        requests = [] if spec is None else [each.topology_request for each in spec.pod_sets]
        pods = [(each.name, each.count, each.min_count, each.requests, shape_of(each.spec)) for each in self.pods]
        shape = (pods, requests, 0 if spec is None else spec.priority or 0)
        return msgspec.json.encode(shape, enc_hook=str, order="sorted")


class Happening(enum.Enum):
    """What a step does with a Workload."""

    ADDED = enum.auto()
    CHANGED = enum.auto()
    """Queue, priority, activity, podsets, or reclaimable pods."""
    CHECKED = enum.auto()
    """The status of its checks was written."""
    FINISHED = enum.auto()
    DELETED = enum.auto()


class Event(NamedTuple):
    """What happens to one Workload; `workload` is as it is afterwards, or was at last."""

    happening: Happening
    workload: CountedWorkload
    succeeded: bool = True
    """Of one that has finished."""


@dataclass(frozen=True, slots=True)
class Step:
    """What a step changes: first the surroundings, all at once, then Workloads in this order."""

    changed: frozenset[tuple[str, str]]
    """Kind and key of what is no Job and no Workload and was created, changed or deleted."""
    repriced: tuple[Event, ...]
    """Workloads that the surroundings change: another priority of their class, other defaults of their pods."""
    events: tuple[Event, ...]
    findings: tuple[Finding, ...]


@dataclass(slots=True)
class World:
    """All objects as they are after the steps so far, by kind and key (`namespace/name` or the name)."""

    objects: dict[str, dict[str, Any]] = field(default_factory=dict)
    workloads: dict[str, CountedWorkload] = field(default_factory=dict)
    """By key; without those that were deleted."""
    jobs: dict[str, Job] = field(default_factory=dict)
    _workload_of_job: dict[str, str] = field(default_factory=dict)
    _waiting_jobs: dict[str, None] = field(default_factory=dict)
    """Jobs of which no Workload can be made yet."""
    _around: dict[str, Surroundings] = field(default_factory=dict)

    def of_kind(self, kind: str) -> dict[str, Any]:
        """The objects of a kind by key."""
        return self.objects.get(kind, {})

    @property
    def configuration(self) -> Configuration:
        """The manager's."""
        found: Configuration = next(iter(self.of_kind(CONFIGURATION).values()), Configuration())
        return found

    def namespace_labels(self, name: str) -> dict[str, str]:
        """Of a namespace; one that is not among the objects has what the API server gives."""
        namespace = self.of_kind(NAMESPACE).get(name)
        return namespace.labels if namespace is not None else {NAME_LABEL: name}

    def apply(self, items: Iterable[Item]) -> Step:
        """Takes one step. Never raises: what Kueue would not take is a finding, and left out."""
        items = list(items)
        findings = list(self._unmodelled(items))
        changed = frozenset(self._surround(item) for item in items if item.kind not in _ORDERED)
        if changed:
            self._around.clear()
        repriced = [*self._repriced()] if changed else []
        given = {owner for item in items for owner in self._owners_of_whole_workloads(item)}
        events: list[Event] = []
        for key in list(self._waiting_jobs):
            events += self._made(self.jobs[key], findings)
        for item in items:
            if item.kind == JOB:
                events += self._job(item.object, given, findings)
            elif item.kind == WORKLOAD:
                events += self._workload(item.object, findings)
        findings += self._missing(items)
        return Step(changed, tuple(repriced), tuple(events), tuple(dict.fromkeys(findings)))

    # --- surroundings ------------------------------------------------------------------------------------------------

    def _surround(self, item: Item) -> tuple[str, str]:
        kind, obj = item
        key = _key_of(obj)
        known = self.objects.setdefault(kind, {})
        if obj.metadata.deletion_timestamp is not None:
            known.pop(key, None)
            return kind, key
        before = known.get(key)
        if before is not None and isinstance(obj, LocalQueue) and obj.spec is None:
            obj = msgspec.structs.replace(before, status=obj.status)
        known[key] = obj
        return kind, key

    def _repriced(self) -> Iterator[Event]:
        for key, counted in list(self.workloads.items()):
            workload, spec = counted.object, counted.object.spec
            if spec is None or condition_is(workload.status.conditions, FINISHED, "True"):
                continue
            ref = spec.priority_class_ref
            named_ = self.of_kind(WORKLOAD_PRIORITY_CLASS).get(ref.name) if ref is not None else None
            if ref is not None and ref.kind == WORKLOAD_PRIORITY_CLASS and named_ is not None:
                workload = _with_spec(workload, priority=named_.value)
            recounted = self._counted(workload, counted.job)
            if recounted != counted:
                self.workloads[key] = recounted
                yield Event(Happening.CHANGED, recounted)

    def _surroundings(self, namespace: str) -> Surroundings:
        if namespace not in self._around:
            ranges: list[LimitRange] = [
                each for each in self.of_kind(LIMIT_RANGE).values() if each.metadata.namespace == namespace
            ]
            self._around[namespace] = Surroundings(
                tuple(ranges), self.of_kind(RUNTIME_CLASS), self.configuration.resources
            )
        return self._around[namespace]

    def _counted(self, workload: Workload, job: str) -> CountedWorkload:
        around = self._surroundings(workload.metadata.namespace)
        pods, specs = [], []
        freed = {each.name: each.count for each in workload.status.reclaimable_pods}
        for pod_set in workload.spec.pod_sets if workload.spec is not None else ():
            spec = adjusted(pod_set.template.spec, around)
            specs.append(spec)
            count = pod_set.count - min(freed.get(pod_set.name, 0), pod_set.count)
            requests = requests_of(spec, around.resources)
            pods.append(CountedPods(pod_set.name, count, pod_set.min_count, requests, spec))
        return CountedWorkload(workload, tuple(pods), forbidden(specs, around), job)

    # --- Jobs --------------------------------------------------------------------------------------------------------

    def _job(self, job: Job, given: set[str], findings: list[Finding]) -> Iterator[Event]:
        key = job.metadata.key
        before = self.jobs.get(key)
        if job.metadata.is_deleted:
            self.jobs.pop(key, None)
            self._waiting_jobs.pop(key, None)
            yield from self._deleted(self._workload_of_job.pop(key, ""))
            return
        if before is None:
            if job.spec is None:
                findings.append(Finding(named(JOB, job), "spec", "is missing, and no earlier step has this Job"))
                return
            self.jobs[key] = job
            if is_finished(job):
                return
            if key in given or key in self._workload_of_job:
                return  # its Workload is among the objects
            yield from self._made(job, findings)
            return
        kept = before.metadata
        if job.spec is not None:
            kept = msgspec.structs.replace(kept, labels=job.metadata.labels)
        self.jobs[key] = msgspec.structs.replace(before, metadata=kept, status=job.status)
        yield from self._followed(self.jobs[key], findings)

    def _made(self, job: Job, findings: list[Finding]) -> Iterator[Event]:
        """The Workload of a Job that has none yet, unless Kueue makes none."""
        key, name = job.metadata.key, named(JOB, job)
        self._waiting_jobs.pop(key, None)
        unmanaged = self._unmanaged(job)
        if unmanaged is not None:
            findings.append(Finding(name, *unmanaged))
            return
        try:
            workload = workload_of(job, self._queue(job), self._priorities())
        except JobRefused as refusal:
            findings.append(Finding(name, "", str(refusal)))
            self._waiting_jobs[key] = None
            return
        self._workload_of_job[key] = workload.metadata.key
        counted = self.workloads[workload.metadata.key] = self._counted(workload, job.metadata.name)
        yield Event(Happening.ADDED, counted)

    def _unmanaged(self, job: Job) -> tuple[str, str] | None:
        """The field by which Kueue leaves the Job alone, and what follows; None where it manages it."""
        meta, configuration = job.metadata, self.configuration
        owner = managing_owner(meta)
        if owner is not None:
            return "metadata.ownerReferences", f"{owner.kind}/{owner.name} owns it: Kueue admits that, and not this Job"
        prebuilt = meta.annotations.get(PREBUILT_WORKLOAD) or meta.labels.get(PREBUILT_WORKLOAD)
        if prebuilt:
            return "metadata", f"its Workload is {prebuilt!r}, which Kueue does not make: give it among the objects"
        selector = configuration.managed_jobs_namespace_selector
        is_selected = (
            selector.selects(self.namespace_labels(meta.namespace))
            if selector is not None
            else meta.namespace not in (_KUBE_SYSTEM, configuration.namespace)
        )
        if not is_selected:
            return (
                "metadata.namespace",
                f"{meta.namespace!r} is no namespace of Kueue's Jobs: it runs without quota",
            )
        if not self._queue(job) and not configuration.manage_jobs_without_queue_name:
            return "metadata.labels", "names no LocalQueue (kueue.x-k8s.io/queue-name): it runs without Kueue and quota"
        return None

    def _queue(self, job: Job) -> str:
        default = f"{job.metadata.namespace}/{DEFAULT_LOCAL_QUEUE}"
        return queue_of(job) or (DEFAULT_LOCAL_QUEUE if default in self.of_kind(LOCAL_QUEUE) else "")

    def _priorities(self) -> Priorities:
        return Priorities(self.of_kind(WORKLOAD_PRIORITY_CLASS), self.of_kind(PRIORITY_CLASS))

    def _followed(self, job: Job, findings: list[Finding]) -> Iterator[Event]:
        """What becomes of the Workload when its Job's labels or status change."""
        counted = self.workloads.get(self._workload_of_job.get(job.metadata.key, ""))
        if counted is None:
            if not is_finished(job):
                yield from self._made(job, findings)
            return
        if is_finished(job):
            yield Event(Happening.FINISHED, counted, has_succeeded(job))
            return
        workload = counted.object
        spec = workload.spec
        if spec is None:
            return
        ref: PriorityClassRef | None = spec.priority_class_ref
        priority = spec.priority
        if ref is None or ref.kind == WORKLOAD_PRIORITY_CLASS:
            try:
                made = workload_of(job, self._queue(job), self._priorities())
            except JobRefused as refusal:
                findings.append(Finding(named(JOB, job), "", str(refusal)))
                return
            if made.spec is not None:
                ref, priority = made.spec.priority_class_ref, made.spec.priority
        workload = _with_spec(workload, queue_name=self._queue(job), priority_class_ref=ref, priority=priority)
        workload = _with_status(workload, reclaimable_pods=reclaimable_pods(job))
        recounted = self._counted(workload, counted.job)
        if recounted != counted:
            self.workloads[counted.key] = recounted
            yield Event(Happening.CHANGED, recounted)

    # --- Workloads ---------------------------------------------------------------------------------------------------

    def _workload(self, workload: Workload, findings: list[Finding]) -> Iterator[Event]:
        key = workload.metadata.key
        owner = _job_of(workload.metadata)
        if owner and not _is_whole(workload):
            key = self._workload_of_job.get(f"{workload.metadata.namespace}/{owner}", "")
        before = self.workloads.get(key)
        if workload.metadata.is_deleted:
            yield from self._deleted(key)
            return
        if before is None:
            if not _is_whole(workload):
                where = f"the Job {owner!r}" if owner else "a Workload of this name"
                message = f"no podsets, and no earlier object is {where}: it is left out"
                findings.append(Finding(named(WORKLOAD, workload), "spec.podSets", message))
                return
            if owner:
                self._workload_of_job[f"{workload.metadata.namespace}/{owner}"] = key
            counted = self.workloads[key] = self._counted(workload, owner)
            yield Event(Happening.ADDED, counted)
            return
        yield from self._updated(before, workload)

    def _updated(self, before: CountedWorkload, news: Workload) -> Iterator[Event]:
        """A new spec (of a Job's Workload, whether it is active), and what a check's controller has written."""
        merged = before.object
        if news.spec is not None:
            merged = (
                msgspec.structs.replace(merged, spec=news.spec)
                if _is_whole(news)
                else _with_spec(merged, active=news.spec.active)
            )
        if news.status.admission_checks:
            merged = _with_status(merged, admission_checks=news.status.admission_checks)
        if news.status.reclaimable_pods:
            merged = _with_status(merged, reclaimable_pods=news.status.reclaimable_pods)
        counted = self.workloads[before.key] = self._counted(merged, before.job)
        if news.status.admission_checks:
            yield Event(Happening.CHECKED, counted)
        if merged.spec != before.object.spec or counted.pods != before.pods:
            yield Event(Happening.CHANGED, counted)
        if condition_is(news.status.conditions, FINISHED, "True"):
            yield Event(Happening.FINISHED, counted)

    def _deleted(self, key: str) -> Iterator[Event]:
        counted = self.workloads.pop(key, None)
        if counted is not None:
            yield Event(Happening.DELETED, counted)

    def _owners_of_whole_workloads(self, item: Item) -> Iterator[str]:
        if item.kind == WORKLOAD and _is_whole(item.object):
            owner = _job_of(item.object.metadata)
            if owner:
                yield f"{item.object.metadata.namespace}/{owner}"

    # --- findings ----------------------------------------------------------------------------------------------------

    def _unmodelled(self, items: list[Item]) -> Iterator[Finding]:
        owners = {
            (item.object.metadata.namespace, owner.kind, owner.name)
            for item in items
            if item.kind == WORKLOAD
            for owner in item.object.metadata.owner_references
        }
        for kind, obj in items:
            if obj.metadata.deletion_timestamp is not None:
                continue
            # Kueue has made its Workload, or it belongs to a job that has one.
            if isinstance(obj, ForeignJob) and (
                (obj.metadata.namespace, kind, obj.metadata.name) in owners or managing_owner(obj.metadata)
            ):
                continue
            yield from unmodelled(kind, obj)

    def _missing(self, items: list[Item]) -> Iterator[Finding]:
        """What objects refer to and is not there, as far as the status of a Workload will not say it."""
        namespaces = self.of_kind(NAMESPACE)
        for kind, obj in items:
            if obj.metadata.deletion_timestamp is not None:
                continue
            place = getattr(obj.metadata, "namespace", "")
            if kind in (JOB, WORKLOAD, LOCAL_QUEUE) and not place:
                yield Finding(named(kind, obj), "metadata.namespace", "is missing: it is taken for one without a name")
            elif kind in (JOB, WORKLOAD, LOCAL_QUEUE) and namespaces and place not in namespaces:
                message = f"there is no Namespace {place!r} among the objects: it is taken for one without other labels"
                yield Finding(named(kind, obj), "metadata.namespace", message)
            if isinstance(obj, Job) and obj.spec is not None:
                runtime = obj.spec.template.spec.runtime_class_name
                if runtime and runtime not in self.of_kind(RUNTIME_CLASS):
                    message = f"there is no RuntimeClass {runtime!r}: Kueue counts its pods without overhead"
                    yield Finding(named(kind, obj), "spec.template.spec.runtimeClassName", message)
        yield from self._cycles(items)

    def _cycles(self, items: list[Item]) -> Iterator[Finding]:
        cohorts = self.of_kind(COHORT)
        for kind, obj in items:
            if kind != COHORT or obj.metadata.deletion_timestamp is not None:
                continue
            path, name = [obj.metadata.name], obj.spec.parent_name
            while name and name in cohorts and name not in path:
                path.append(name)
                name = cohorts[name].spec.parent_name
            if name == obj.metadata.name:
                ring = " → ".join([*path, name])
                yield Finding(
                    named(kind, obj), "spec.parentName", f"{ring}: a cycle; no queue below it admits anything"
                )


def _key_of(obj: Any) -> str:
    namespace = getattr(obj.metadata, "namespace", "")
    return f"{namespace}/{obj.metadata.name}" if namespace else str(obj.metadata.name)


def _job_of(metadata: Metadata) -> str:
    """The name of the Job that owns it, empty for none."""
    for owner in metadata.owner_references:
        if owner.kind == JOB and owner.api_version.rpartition("/")[0] in (BATCH_GROUP, ""):
            return owner.name
    return ""


def _is_whole(workload: Workload) -> bool:
    """Whether it has podsets: it is a Workload by itself, and no news of one."""
    return workload.spec is not None and bool(workload.spec.pod_sets)


def _with_spec(workload: Workload, **changes: Any) -> Workload:
    change = msgspec.structs.replace
    return workload if workload.spec is None else change(workload, spec=change(workload.spec, **changes))


def _with_status(workload: Workload, **changes: Any) -> Workload:
    change = msgspec.structs.replace
    return change(workload, status=change(workload.status, **changes))
