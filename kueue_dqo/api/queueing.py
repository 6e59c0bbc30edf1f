"""Kueue's queues with all that admission reads of them, and the manager's Configuration.

The structs of `kueue.py` hold what quotas depend on, because daemons hold many of them; these add the rest.
"""

from __future__ import annotations

import enum
from typing import Any, Final

import msgspec

from kueue_dqo.api import kueue
from kueue_dqo.api.core import Amounts, Time
from kueue_dqo.api.durations import Duration
from kueue_dqo.api.meta import Condition, ObjectMeta
from kueue_dqo.api.parameters import LabelSelector
from kueue_dqo.api.podtemplates import Int32, Metadata
from kueue_dqo.api.quantity import NANOS, Quantity

LOCAL_QUEUE: Final = "LocalQueue"
TOPOLOGY: Final = "Topology"
CONFIGURATION: Final = "Configuration"
CONFIGURATION_GROUP: Final = "config.kueue.x-k8s.io"
DEFAULT_LOCAL_QUEUE: Final = "default"
"""The LocalQueue of jobs that name none, where a namespace has one of this name."""
ACTIVE: Final = "Active"
"""The condition of an AdmissionCheck that its controller sets."""


class QueueingStrategy(enum.StrEnum):
    """Whether a head that has to wait holds up those behind it."""

    STRICT_FIFO = "StrictFIFO"
    BEST_EFFORT_FIFO = "BestEffortFIFO"


class StopPolicy(enum.StrEnum):
    """Whether a queue admits, and what becomes of what it has admitted."""

    NONE = "None"
    HOLD = "Hold"
    HOLD_AND_DRAIN = "HoldAndDrain"


class FungibilityPolicy(enum.StrEnum):
    """Whether the search for a flavor may stop where borrowing or preemption is needed."""

    MAY_STOP_SEARCH = "MayStopSearch"
    TRY_NEXT_FLAVOR = "TryNextFlavor"
    BORROW = "Borrow"
    """v1beta1's word for MayStopSearch in whenCanBorrow."""
    PREEMPT = "Preempt"
    """v1beta1's word for MayStopSearch in whenCanPreempt."""


class FungibilityPreference(enum.StrEnum):
    """What is better where both are possible."""

    BORROWING_OVER_PREEMPTION = "BorrowingOverPreemption"
    PREEMPTION_OVER_BORROWING = "PreemptionOverBorrowing"


class WithinClusterQueue(enum.StrEnum):
    """Which Workloads of its own queue one may preempt."""

    NEVER = "Never"
    LOWER_PRIORITY = "LowerPriority"
    LOWER_OR_NEWER_EQUAL_PRIORITY = "LowerOrNewerEqualPriority"


class ReclaimWithinCohort(enum.StrEnum):
    """Which Workloads of other queues one may preempt to have its own queue's quota back."""

    NEVER = "Never"
    LOWER_PRIORITY = "LowerPriority"
    ANY = "Any"


class BorrowPolicy(enum.StrEnum):
    """Which Workloads of other queues one may preempt while it borrows."""

    NEVER = "Never"
    LOWER_PRIORITY = "LowerPriority"


class AdmissionMode(enum.StrEnum):
    """Whether past usage of LocalQueues decides the order in a ClusterQueue."""

    USAGE_BASED = "UsageBasedAdmissionFairSharing"
    NONE = "NoAdmissionFairSharing"


class FlavorFungibility(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """How flavors are tried one after another."""

    when_can_borrow: FungibilityPolicy = FungibilityPolicy.MAY_STOP_SEARCH
    when_can_preempt: FungibilityPolicy = FungibilityPolicy.TRY_NEXT_FLAVOR
    preference: FungibilityPreference | None = None


class BorrowWithinCohort(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """Preemption while borrowing; only up to a priority, where there is a threshold."""

    policy: BorrowPolicy = BorrowPolicy.NEVER
    max_priority_threshold: Int32 | None = None


class Preemption(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """Whom Workloads of the queue may preempt."""

    within_cluster_queue: WithinClusterQueue = WithinClusterQueue.NEVER
    reclaim_within_cohort: ReclaimWithinCohort = ReclaimWithinCohort.NEVER
    borrow_within_cohort: BorrowWithinCohort = BorrowWithinCohort()


class FairSharing(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """The weight among siblings; 1 where none is set."""

    weight: Quantity = Quantity(NANOS)


class AdmissionScope(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """How Workloads of different LocalQueues come before one another."""

    admission_mode: AdmissionMode


class ClusterQueueSpec(kueue.ClusterQueueSpec, frozen=True, gc=False, rename="camel"):
    """A ClusterQueue's spec with what admission reads."""

    queueing_strategy: QueueingStrategy = QueueingStrategy.BEST_EFFORT_FIFO
    namespace_selector: LabelSelector | None = None
    """None selects nothing, the empty selector everything."""
    flavor_fungibility: FlavorFungibility = FlavorFungibility()
    preemption: Preemption = Preemption()
    stop_policy: StopPolicy = StopPolicy.NONE
    fair_sharing: FairSharing | None = None
    admission_scope: AdmissionScope | None = None
    concurrent_admission_policy: Any = None


class ClusterQueue(kueue.ClusterQueue, frozen=True, gc=False, rename="camel"):
    """A queue with quotas, and how it admits."""

    spec: ClusterQueueSpec = ClusterQueueSpec()


class CohortSpec(kueue.CohortSpec, frozen=True, gc=False, rename="camel"):
    """A Cohort's spec with its weight."""

    fair_sharing: FairSharing | None = None


class Cohort(kueue.Cohort, frozen=True, gc=False, rename="camel"):
    """A Cohort with its weight."""

    spec: CohortSpec = CohortSpec()


class ResourceFlavorSpec(kueue.ResourceFlavorSpec, frozen=True, gc=False, rename="camel"):
    """A flavor's spec with its topology."""

    topology_name: str = ""


class ResourceFlavor(kueue.ResourceFlavor, frozen=True, gc=False, rename="camel"):
    """A flavor with its topology."""

    spec: ResourceFlavorSpec = ResourceFlavorSpec()


class AdmissionCheckStatus(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """What the check's controller says: `Active` is True while it answers."""

    conditions: tuple[Condition, ...] = ()


class AdmissionCheck(kueue.AdmissionCheck, frozen=True, gc=False, rename="camel"):
    """A check with its status."""

    status: AdmissionCheckStatus = AdmissionCheckStatus()


# --- LocalQueue ----------------------------------------------------------------------------------------------------


class LocalQueueSpec(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """A LocalQueue's spec."""

    cluster_queue: str = ""
    stop_policy: StopPolicy = StopPolicy.NONE
    fair_sharing: FairSharing | None = None


class ConsumedResources(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """What was consumed in the past, halved in each half-life, and when that was last reckoned."""

    consumed_resources: Amounts = {}
    last_update: Time | None = None


class LocalQueueFairSharing(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """Admission fair sharing's record of a LocalQueue."""

    admission_fair_sharing_status: ConsumedResources | None = None


class LocalQueueStatus(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """A LocalQueue's status: usage in the past."""

    fair_sharing: LocalQueueFairSharing | None = None


class LocalQueue(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """A queue of a namespace, into a ClusterQueue. In a folder of steps, one without a spec has news of its status."""

    metadata: Metadata
    spec: LocalQueueSpec | None = None
    status: LocalQueueStatus = LocalQueueStatus()


class Topology(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """A topology of nodes; it is read to say that it is not modelled."""

    metadata: ObjectMeta


# --- Configuration -------------------------------------------------------------------------------------------------


class PreemptionStrategy(enum.StrEnum):
    """When fair sharing lets one queue preempt another."""

    LESS_THAN_OR_EQUAL_TO_FINAL_SHARE = "LessThanOrEqualToFinalShare"
    LESS_THAN_INITIAL_SHARE = "LessThanInitialShare"


class FairSharingConfiguration(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """Fair sharing: on where it is there, in v1beta1 where it is enabled."""

    preemption_strategies: tuple[PreemptionStrategy, ...] = ()
    enable: bool | None = None
    """v1beta1's."""


class AdmissionFairSharingConfiguration(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """How usage in the past is reckoned."""

    usage_half_life_time: Duration = Duration(0)
    usage_sampling_interval: Duration = Duration(300)
    resource_weights: dict[str, float] = {}
    """As Kueue holds them; 1 for a resource that has none."""


class TransformationStrategy(enum.StrEnum):
    """Whether the resource that is turned into others stays."""

    RETAIN = "Retain"
    REPLACE = "Replace"


class ResourceTransformation(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """One resource of a pod, counted as others."""

    input: str
    strategy: TransformationStrategy = TransformationStrategy.RETAIN
    multiply_by: str = ""
    outputs: Amounts = {}


class QuotaCheckStrategy(enum.StrEnum):
    """What becomes of a Workload with a resource that its queue does not cover."""

    BLOCK_UNDECLARED = "BlockUndeclared"
    IGNORE_UNDECLARED = "IgnoreUndeclared"


class ResourcesConfiguration(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """Which resources of pods count, and as what."""

    quota_check_strategy: QuotaCheckStrategy = QuotaCheckStrategy.BLOCK_UNDECLARED
    exclude_resource_prefixes: tuple[str, ...] = ()
    transformations: tuple[ResourceTransformation, ...] = ()
    device_class_mappings: tuple[Any, ...] = ()


class RequeuingTimestamp(enum.StrEnum):
    """By which time an evicted Workload waits: that of its eviction, or that of its creation."""

    CREATION = "Creation"
    EVICTION = "Eviction"


class RequeuingStrategy(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """How Workloads whose pods were not ready are put back; `timestamp` counts for all that were evicted."""

    timestamp: RequeuingTimestamp = RequeuingTimestamp.EVICTION


class WaitForPodsReady(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """What Kueue does about pods that are not ready."""

    enable: bool | None = None
    """v1beta1's."""
    block_admission: bool = False
    requeuing_strategy: RequeuingStrategy = RequeuingStrategy()


class Configuration(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """The manager's configuration, as far as it decides what is admitted. It has no name."""

    metadata: ObjectMeta = ObjectMeta("configuration")
    namespace: str = "kueue-system"
    """Where Kueue itself runs: Jobs there are not managed."""
    manage_jobs_without_queue_name: bool = False
    managed_jobs_namespace_selector: LabelSelector | None = None
    fair_sharing: FairSharingConfiguration | None = None
    admission_fair_sharing: AdmissionFairSharingConfiguration | None = None
    resources: ResourcesConfiguration = ResourcesConfiguration()
    wait_for_pods_ready: WaitForPodsReady | None = None
    feature_gates: dict[str, bool] = {}
    multi_kueue: Any = None
