"""Kueue's Workload and its WorkloadPriorityClass, as far as admission reads and writes them."""

from __future__ import annotations

import enum
from typing import Final

import msgspec

from kueue_dqo.api.core import Amounts, Time, Toleration
from kueue_dqo.api.meta import Condition
from kueue_dqo.api.podtemplates import Count, Int32, Metadata, PodTemplate

WORKLOAD: Final = "Workload"
WORKLOAD_PRIORITY_CLASS: Final = "WorkloadPriorityClass"
DEFAULT_POD_SET: Final = "main"
QUOTA_RESERVED: Final = "QuotaReserved"
ADMITTED: Final = "Admitted"
EVICTED: Final = "Evicted"
FINISHED: Final = "Finished"

QUEUE_NAME: Final = "kueue.x-k8s.io/queue-name"
"""The label of a job that says its LocalQueue."""
PRIORITY_CLASS_LABEL: Final = "kueue.x-k8s.io/priority-class"
"""The label of a job that says its WorkloadPriorityClass."""
JOB_UID: Final = "kueue.x-k8s.io/job-uid"
MIN_PARALLELISM: Final = "kueue.x-k8s.io/job-min-parallelism"
"""The annotation of a Job that allows for partial admission."""
COMPLETIONS_EQUAL_PARALLELISM: Final = "kueue.x-k8s.io/job-completions-equal-parallelism"
PREBUILT_WORKLOAD: Final = "kueue.x-k8s.io/prebuilt-workload-name"
MAX_EXECUTION_SECONDS: Final = "kueue.x-k8s.io/max-exec-time-seconds"
ADMISSION_GATED_BY: Final = "kueue.x-k8s.io/admission-gated-by"
ELASTIC_JOB: Final = "kueue.x-k8s.io/elastic-job"


class PriorityClassRef(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """Which class the priority is from: a WorkloadPriorityClass of Kueue, or a PriorityClass of pods."""

    group: str
    kind: str
    name: str


class TopologyRequest(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """What a podset asks of topology; it is read to tell whether it asks anything."""

    required: str | None = None
    preferred: str | None = None
    unconstrained: bool | None = None
    pod_set_group_name: str | None = None
    pod_set_slice_required_topology: str | None = None
    pod_set_slice_size: int | None = None

    @property
    def is_explicit(self) -> bool:
        """Whether it asks for anything; Kueue also stores requests that say no more than a label's name."""
        return any(
            value is not None
            for value in (
                self.required, self.preferred, self.unconstrained, self.pod_set_slice_required_topology,
                self.pod_set_slice_size, self.pod_set_group_name,
            )
        )  # fmt: skip


class PodSet(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """Pods of one template."""

    template: PodTemplate = PodTemplate()
    name: str = DEFAULT_POD_SET
    count: Count = 1
    min_count: Count | None = None
    """The fewest pods that make sense; None where it is all or nothing."""
    topology_request: TopologyRequest | None = None


class NamedGate(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """A gate that holds preemptions back."""

    name: str


class WorkloadSpec(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """A Workload's spec. v1beta1 says the priority class by name and source, v1beta2 by reference."""

    pod_sets: tuple[PodSet, ...] = ()
    queue_name: str = ""
    priority_class_ref: PriorityClassRef | None = None
    priority_class_name: str = ""
    priority_class_source: str = ""
    priority: Int32 | None = None
    active: bool = True
    maximum_execution_time_seconds: Int32 | None = None
    preemption_gates: tuple[NamedGate, ...] = ()


class PodSetAssignment(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """What a podset was given."""

    name: str = DEFAULT_POD_SET
    flavors: dict[str, str] = {}
    resource_usage: Amounts = {}
    count: Count | None = None


class Admission(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """Where quota is reserved, and on which flavors."""

    cluster_queue: str
    pod_set_assignments: tuple[PodSetAssignment, ...] = ()


class CheckState(enum.StrEnum):
    """What a check says of a Workload."""

    PENDING = "Pending"
    READY = "Ready"
    RETRY = "Retry"
    REJECTED = "Rejected"


class PodSetUpdate(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """What a check adds to the pods of a podset."""

    name: str
    labels: dict[str, str] = {}
    annotations: dict[str, str] = {}
    node_selector: dict[str, str] = {}
    tolerations: tuple[Toleration, ...] = ()


class AdmissionCheckState(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """The state of one check of a Workload."""

    name: str
    state: CheckState
    message: str = ""
    last_transition_time: Time | None = None
    requeue_after_seconds: Count | None = None
    retry_count: Count | None = None
    pod_set_updates: tuple[PodSetUpdate, ...] = ()


class RequeueState(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """How often a Workload was put back, and when it may be tried again."""

    count: Count | None = None
    requeue_at: Time | None = None


class ReclaimablePod(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """Pods of a podset that need their quota no longer."""

    name: str
    count: Count


class Eviction(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """How often a Workload was evicted for a reason."""

    reason: str
    count: Count
    underlying_cause: str = ""


class SchedulingStats(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """What is counted of a Workload."""

    evictions: tuple[Eviction, ...] = ()


class WorkloadStatus(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """A Workload's status."""

    conditions: tuple[Condition, ...] = ()
    admission: Admission | None = None
    requeue_state: RequeueState | None = None
    reclaimable_pods: tuple[ReclaimablePod, ...] = ()
    admission_checks: tuple[AdmissionCheckState, ...] = ()
    scheduling_stats: SchedulingStats = SchedulingStats()
    cluster_name: str | None = None
    nominated_cluster_names: tuple[str, ...] = ()


class Workload(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """What Kueue admits: podsets, in a LocalQueue, with a priority."""

    metadata: Metadata
    spec: WorkloadSpec | None = None
    """None where a manifest holds a status alone: what a check's controller has written of a Job's Workload."""
    status: WorkloadStatus = WorkloadStatus()


class WorkloadPriorityClass(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """A priority of Workloads by name."""

    metadata: Metadata
    value: Int32
