"""From a Job to the Workload that Kueue makes of it: queue, podset, priority, name.

The rules are those of Kueue 0.19's Job controller and webhooks (`pkg/controller/jobs/job`, `jobframework`), with the
defaults that the API server gives Jobs.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final, NamedTuple

import msgspec

from admission.pods import as_stored
from kueue_dqo.api.admission_kinds import FOREIGN_JOBS
from kueue_dqo.api.meta import KUEUE_GROUP
from kueue_dqo.api.podtemplates import BATCH_GROUP, JOB, Job, Metadata, OwnerReference, PriorityClass
from kueue_dqo.api.workloads import (
    ADMISSION_GATED_BY,
    COMPLETIONS_EQUAL_PARALLELISM,
    DEFAULT_POD_SET,
    JOB_UID,
    MAX_EXECUTION_SECONDS,
    MIN_PARALLELISM,
    PRIORITY_CLASS_LABEL,
    QUEUE_NAME,
    WORKLOAD_PRIORITY_CLASS,
    PodSet,
    PriorityClassRef,
    ReclaimablePod,
    Workload,
    WorkloadPriorityClass,
    WorkloadSpec,
)

_LONGEST_NAME: Final = 253
_HASH_CHARACTERS: Final = 5
_INDEXED: Final = "Indexed"
_TRUE: Final = frozenset({"1", "t", "T", "TRUE", "true", "True"})
_FALSE: Final = frozenset({"0", "f", "F", "FALSE", "false", "False"})
_MOST_SECONDS: Final = 2**31 - 1
_MOST_DIGITS: Final = 18
_SCHEDULING_GROUP: Final = "scheduling.k8s.io"
_FINISHED: Final = ("Complete", "Failed")
BUILT_IN_PRIORITIES: Final = {"system-cluster-critical": 2_000_000_000, "system-node-critical": 2_000_001_000}
"""PriorityClasses that every cluster has."""


@dataclass(frozen=True, slots=True)
class Priorities:
    """The classes by name."""

    of_workloads: Mapping[str, WorkloadPriorityClass] = field(default_factory=dict)
    of_pods: Mapping[str, PriorityClass] = field(default_factory=dict)


class Priority(NamedTuple):
    """A priority and the class that it is from, None for the default of a cluster without one."""

    value: int
    ref: PriorityClassRef | None = None


class JobRefused(ValueError):
    """The API server or a webhook of Kueue would not take the Job, or Kueue makes no Workload of it; says why."""


def workload_of(job: Job, queue_name: str, priorities: Priorities) -> Workload:
    """The Workload that Kueue makes of the Job.

    Args:
        job: one with a spec.
        queue_name: the LocalQueue that it goes to, as `queue_of` or a namespace's default has it.
        priorities: the classes that there are.

    Raises:
        JobRefused: an annotation or a label is wrong, a class of priority is missing.
    """
    if job.spec is None:
        raise JobRefused("it has no spec")
    for refusal in _refusals(job):
        raise JobRefused(refusal)
    priority = priority_of(job, priorities)
    meta, annotations = job.metadata, {}
    if meta.annotations.get(ADMISSION_GATED_BY):
        annotations[ADMISSION_GATED_BY] = meta.annotations[ADMISSION_GATED_BY]
    owner = OwnerReference(JOB, meta.name, f"{BATCH_GROUP}/v1", meta.uid, controller=True)
    template = msgspec.structs.replace(job.spec.template, spec=as_stored(job.spec.template.spec))
    pod_set = PodSet(template, DEFAULT_POD_SET, pods_of(job), min_pods_of(job))
    return Workload(
        Metadata(
            workload_name(meta.name, meta.uid),
            namespace=meta.namespace,
            labels={JOB_UID: meta.uid} if meta.uid else {},
            annotations=annotations,
            creation_timestamp=meta.creation_timestamp,
            owner_references=(owner,),
        ),
        WorkloadSpec(
            (pod_set,),
            queue_name,
            priority.ref,
            priority=priority.value,
            maximum_execution_time_seconds=_seconds(meta.labels.get(MAX_EXECUTION_SECONDS)),
        ),
    )


def workload_name(job: str, uid: str) -> str:
    """The name that Kueue gives the Workload; without the Job's UID, which its hash is of, `<workload of JOB>`."""
    if not uid:
        return f"<workload of {job}>"
    digest = hashlib.sha1(f"{JOB}\n{BATCH_GROUP}\n{job}\n{uid}".encode(), usedforsecurity=False).hexdigest()
    prefix = f"{JOB.lower()}-{job}"[: _LONGEST_NAME - _HASH_CHARACTERS - 1]
    return f"{prefix}-{digest[:_HASH_CHARACTERS]}"


def queue_of(job: Job) -> str:
    """The LocalQueue that the Job names, empty for none."""
    return job.metadata.labels.get(QUEUE_NAME, "")


def pods_of(job: Job) -> int:
    """How many pods run at a time: never more than have to complete."""
    if job.spec is None:
        return 0
    parallelism = 1 if job.spec.parallelism is None else job.spec.parallelism
    return parallelism if job.spec.completions is None else min(parallelism, job.spec.completions)


def min_pods_of(job: Job) -> int | None:
    """The fewest pods with which the Job may be admitted; None without the annotation or where it is no number."""
    return _integer(job.metadata.annotations.get(MIN_PARALLELISM))


def priority_of(job: Job, priorities: Priorities) -> Priority:
    """By the class of Workloads in the label, else by that of the pods, else by the cluster's default, else 0.

    Raises:
        JobRefused: the class does not exist; Kueue waits for it.
    """
    name = job.metadata.labels.get(PRIORITY_CLASS_LABEL, "")
    if name:
        found = priorities.of_workloads.get(name)
        if found is None:
            raise JobRefused(f"Kueue makes no Workload of it until there is a WorkloadPriorityClass {name!r}")
        return Priority(found.value, PriorityClassRef(KUEUE_GROUP, WORKLOAD_PRIORITY_CLASS, name))
    name = job.spec.template.spec.priority_class_name if job.spec is not None else ""
    if name:
        value = priorities.of_pods[name].value if name in priorities.of_pods else BUILT_IN_PRIORITIES.get(name)
        if value is None:
            raise JobRefused(f"Kueue makes no Workload of it until there is a PriorityClass {name!r}")
        return Priority(value, PriorityClassRef(_SCHEDULING_GROUP, "PriorityClass", name))
    # A race may leave more than one default; the lowest counts.
    defaults = sorted((each.value, key) for key, each in priorities.of_pods.items() if each.global_default)
    if not defaults:
        return Priority(0)
    return Priority(defaults[0][0], PriorityClassRef(_SCHEDULING_GROUP, "PriorityClass", defaults[0][1]))


def managing_owner(metadata: Metadata) -> OwnerReference | None:
    """The owner that Kueue looks at instead of this object, if that is managed: of a kind whose jobs it knows."""
    for owner in metadata.owner_references:
        group = owner.api_version.rpartition("/")[0]
        if owner.controller and (group, owner.kind) in (*FOREIGN_JOBS, (BATCH_GROUP, JOB)):
            return owner
    return None


def is_finished(job: Job) -> bool:
    """Whether it has completed or failed for good."""
    return any(each.type in _FINISHED and each.status == "True" for each in job.status.conditions)


def has_succeeded(job: Job) -> bool:
    """Of a finished Job, whether it completed."""
    return any(each.type == "Complete" and each.status == "True" for each in job.status.conditions)


def reclaimable_pods(job: Job) -> tuple[ReclaimablePod, ...]:
    """Pods whose quota the Job needs no longer: fewer are left than run at a time."""
    if job.spec is None:
        return ()
    parallelism = 1 if job.spec.parallelism is None else job.spec.parallelism
    completions = parallelism if job.spec.completions is None else job.spec.completions
    succeeded = job.status.succeeded
    if job.spec.completion_mode == _INDEXED:
        succeeded = _completed(job.status.completed_indexes, completions)
    if parallelism <= 1 or not succeeded:
        return ()
    free = parallelism - max(completions - succeeded, 0)
    return (ReclaimablePod(DEFAULT_POD_SET, free),) if free > 0 else ()


# --- what Kueue refuses --------------------------------------------------------------------------------------------


def _refusals(job: Job) -> Iterator[str]:
    if (text := job.metadata.annotations.get(MIN_PARALLELISM)) is not None:
        fewest, pods = _integer(text), pods_of(job)
        if fewest is None or not 0 < fewest < pods:
            yield (
                f"metadata.annotations[{MIN_PARALLELISM}]: {text!r} is no number from 1 to {pods - 1}, fewer than "
                "the Job's pods: Kueue refuses that"
            )
    if (text := job.metadata.annotations.get(COMPLETIONS_EQUAL_PARALLELISM)) is not None:
        field_ = f"metadata.annotations[{COMPLETIONS_EQUAL_PARALLELISM}]"
        if text not in _TRUE | _FALSE:
            yield f"{field_}: {text!r} is neither true nor false: Kueue refuses that"
        elif text in _TRUE and job.spec is not None:
            if job.spec.completion_mode != _INDEXED:
                yield f"{field_}: only a Job of completionMode Indexed may have it: Kueue refuses that"
            if (job.spec.parallelism or 1) != (job.spec.completions or 1):
                yield f"{field_}: completions have to be equal to parallelism: Kueue refuses that"
    if (text := job.metadata.labels.get(MAX_EXECUTION_SECONDS)) is not None and _seconds(text) is None:
        yield f"metadata.labels[{MAX_EXECUTION_SECONDS}]: {text!r} is no number of seconds above 0: Kueue refuses that"


def _integer(text: str | None) -> int | None:
    """As Go's Atoi reads it: digits of ASCII with a sign."""
    digits = (text or "").removeprefix("+").removeprefix("-")
    return int(text or "") if digits.isascii() and digits.isdecimal() and len(digits) <= _MOST_DIGITS else None


def _seconds(text: str | None) -> int | None:
    value = _integer(text)
    return value if value is not None and 0 < value <= _MOST_SECONDS else None


def _completed(indexes: str, completions: int) -> int:
    """How many indexes below `completions` a text such as `1,3-5,7` lists."""
    count = 0
    for interval in filter(None, indexes.split(",")):
        first, _, last = interval.partition("-")
        low, high = _integer(first), _integer(last or first)
        if low is not None and high is not None:
            count += max(min(high, completions - 1) - low + 1, 0)
    return count
