"""Kueue's long-standing objects: ResourceFlavor, ClusterQueue, Cohort, AdmissionCheck, those of MultiKueue."""

from __future__ import annotations

from typing import Final

import msgspec

from kueue_dqo.api.core import Taint, Toleration
from kueue_dqo.api.meta import Condition, ObjectKey, ObjectMeta
from kueue_dqo.api.quantity import Quantity
from kueue_dqo.api.quotas import EffectiveQuotas, ResourceGroup

CLUSTER_QUEUE: Final = "ClusterQueue"
COHORT: Final = "Cohort"
RESOURCE_FLAVOR: Final = "ResourceFlavor"
ADMISSION_CHECK: Final = "AdmissionCheck"
MULTI_KUEUE_CONFIG: Final = "MultiKueueConfig"
MULTI_KUEUE_CLUSTER: Final = "MultiKueueCluster"
MULTI_KUEUE_CONTROLLER: Final = "kueue.x-k8s.io/multikueue"
"""The AdmissionCheck controller that sends Workloads to other clusters."""
PROVISIONING_REQUEST_CONTROLLER: Final = "kueue.x-k8s.io/provisioning-request"
"""The AdmissionCheck controller that asks a cluster autoscaler for nodes before a Workload is admitted."""


class ResourceFlavorSpec(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """Which nodes belong to the flavor, and which of their taints its pods admit."""

    node_labels: dict[str, str] = {}
    node_taints: tuple[Taint, ...] = ()
    tolerations: tuple[Toleration, ...] = ()


class ResourceFlavor(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """A kind of node that quotas tell apart."""

    metadata: ObjectMeta
    spec: ResourceFlavorSpec = ResourceFlavorSpec()


class AdmissionCheckRule(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """An AdmissionCheck that a ClusterQueue uses; on all flavors where `on_flavors` is empty."""

    name: str
    on_flavors: tuple[str, ...] = ()


class AdmissionChecksStrategy(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """`spec.admissionChecksStrategy`."""

    admission_checks: tuple[AdmissionCheckRule, ...] = ()


class ClusterQueueSpec(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """A ClusterQueue's spec. `cohort` and `admission_checks` are v1beta1's; v1beta2 has `cohort_name`, a strategy."""

    resource_groups: tuple[ResourceGroup, ...] = ()
    cohort_name: str = ""
    cohort: str = ""
    admission_checks: tuple[str, ...] = ()
    admission_checks_strategy: AdmissionChecksStrategy = AdmissionChecksStrategy()


class ResourceUsage(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """What is reserved or used of one resource in one flavor, what of it is borrowed included."""

    name: str
    total: Quantity = Quantity(0)


class FlavorUsage(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """Usage of one flavor."""

    name: str
    resources: tuple[ResourceUsage, ...] = ()


class ClusterQueueStatus(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """A ClusterQueue's status: effective quotas, and what its Workloads hold."""

    effective_quotas: EffectiveQuotas | None = None
    flavors_reservation: tuple[FlavorUsage, ...] = ()
    flavors_usage: tuple[FlavorUsage, ...] = ()


class ClusterQueue(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """A queue with quotas."""

    metadata: ObjectMeta
    spec: ClusterQueueSpec = ClusterQueueSpec()
    status: ClusterQueueStatus = ClusterQueueStatus()

    @property
    def key(self) -> ObjectKey:
        """Kind and name."""
        return ObjectKey(CLUSTER_QUEUE, self.metadata.name)

    @property
    def parent(self) -> str:
        """The name of its Cohort, empty for none."""
        return self.spec.cohort_name

    @property
    def quotas(self) -> tuple[ResourceGroup, ...]:
        """`spec.resourceGroups`."""
        return self.spec.resource_groups


class CohortSpec(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """A Cohort's spec; its quotas are on top of those of its members."""

    resource_groups: tuple[ResourceGroup, ...] = ()
    parent_name: str = ""


class CohortStatus(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """A Cohort's status."""

    effective_quotas: EffectiveQuotas | None = None


class Cohort(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """A group of ClusterQueues and Cohorts that lend quota to one another."""

    metadata: ObjectMeta
    spec: CohortSpec = CohortSpec()
    status: CohortStatus = CohortStatus()

    @property
    def key(self) -> ObjectKey:
        """Kind and name."""
        return ObjectKey(COHORT, self.metadata.name)

    @property
    def parent(self) -> str:
        """The name of the Cohort above, empty for none."""
        return self.spec.parent_name

    @property
    def quotas(self) -> tuple[ResourceGroup, ...]:
        """`spec.resourceGroups`."""
        return self.spec.resource_groups


QuotaNode = ClusterQueue | Cohort
"""What holds quotas: a node of the cohort tree."""


class AdmissionCheckParameters(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """The object that configures a check for its controller."""

    api_group: str = ""
    kind: str = ""
    name: str = ""


class AdmissionCheckSpec(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """Which controller answers the check, and what configures it."""

    controller_name: str = ""
    parameters: AdmissionCheckParameters | None = None


class AdmissionCheck(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """A condition for admission that another controller answers."""

    metadata: ObjectMeta
    spec: AdmissionCheckSpec = AdmissionCheckSpec()


class MultiKueueConfigSpec(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """Where the ClusterQueues that use it send Workloads, and who sets the quotas of these."""

    clusters: tuple[str, ...] = ()
    """MultiKueueClusters by name."""
    quota_management: str = ""
    """`Manual` or `Automated`."""


class MultiKueueConfig(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """How MultiKueue treats the ClusterQueues whose AdmissionCheck names this object."""

    metadata: ObjectMeta
    spec: MultiKueueConfigSpec = MultiKueueConfigSpec()


class KubeConfigLocation(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """Where the kubeconfig of a worker cluster is: a `Secret` by name, or a file by its `Path`."""

    location: str
    location_type: str = "Secret"


class ClusterProfileReference(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """A ClusterProfile of the cluster inventory API, in the namespace of Kueue."""

    name: str


class ClusterSource(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """How a worker cluster is reached: exactly one of them is set."""

    kube_config: KubeConfigLocation | None = None
    cluster_profile_ref: ClusterProfileReference | None = None


class MultiKueueClusterSpec(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """The spec of a worker cluster."""

    cluster_source: ClusterSource = ClusterSource()


class MultiKueueClusterStatus(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """What Kueue says of a worker cluster: the condition `Active` is True while it is connected."""

    conditions: tuple[Condition, ...] = ()


class MultiKueueCluster(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """A worker cluster, as the manager knows it."""

    metadata: ObjectMeta
    spec: MultiKueueClusterSpec = MultiKueueClusterSpec()
    status: MultiKueueClusterStatus = MultiKueueClusterStatus()
