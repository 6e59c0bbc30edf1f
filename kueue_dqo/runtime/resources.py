"""The resources that the daemons read and write, and their paths on an API server."""

from __future__ import annotations

from typing import Final, NamedTuple
from urllib.parse import quote

import msgspec

from kueue_dqo.api.meta import KUEUE_GROUP, OUR_GROUP


class Resource(NamedTuple):
    """One resource in one version. The group of the core API is the empty text."""

    group: str
    version: str
    plural: str
    kind: str
    namespaced: bool = False

    @property
    def api_version(self) -> str:
        """As objects write it: `group/version`, or `v1` in the core API."""
        return f"{self.group}/{self.version}" if self.group else self.version

    @property
    def full_name(self) -> str:
        """As kubectl takes it: `clusterqueues.v1beta2.kueue.x-k8s.io`, or `nodes` in the core API."""
        return f"{self.plural}.{self.version}.{self.group}" if self.group else self.plural

    def path(self, name: str = "", *, namespace: str = "", subresource: str = "") -> str:
        """The path of the collection (of one namespace, or of all), of an object, or of an object's subresource.

        Raises ValueError where the parts do not go together.
        """
        if namespace and not self.namespaced:
            raise ValueError(f"{self.plural} have no namespace, but {namespace!r} is given")
        if name and self.namespaced and not namespace:
            raise ValueError(f"{self.plural} {name!r} is named without its namespace")
        if subresource and not name:
            raise ValueError(f"{self.plural} have the subresource {subresource!r} only one by one: a name is missing")
        root = f"/apis/{self.group}/{self.version}" if self.group else f"/api/{self.version}"
        within = f"/namespaces/{quote(namespace, safe='')}" if namespace else ""
        tail = "".join(f"/{quote(part, safe='')}" for part in (name, subresource) if part)
        return f"{root}{within}/{self.plural}{tail}"


CLUSTER_QUEUES: Final = Resource(KUEUE_GROUP, "v1beta2", "clusterqueues", "ClusterQueue")
COHORTS: Final = Resource(KUEUE_GROUP, "v1beta2", "cohorts", "Cohort")
RESOURCE_FLAVORS: Final = Resource(KUEUE_GROUP, "v1beta2", "resourceflavors", "ResourceFlavor")
ADMISSION_CHECKS: Final = Resource(KUEUE_GROUP, "v1beta2", "admissionchecks", "AdmissionCheck")
MULTI_KUEUE_CONFIGS: Final = Resource(KUEUE_GROUP, "v1beta2", "multikueueconfigs", "MultiKueueConfig")
MULTI_KUEUE_CLUSTERS: Final = Resource(KUEUE_GROUP, "v1beta2", "multikueueclusters", "MultiKueueCluster")
LOCAL_QUEUES: Final = Resource(KUEUE_GROUP, "v1beta2", "localqueues", "LocalQueue", namespaced=True)
WORKLOADS: Final = Resource(KUEUE_GROUP, "v1beta2", "workloads", "Workload", namespaced=True)
CAPACITY_PROVIDERS: Final = Resource(KUEUE_GROUP, "v1alpha1", "capacityproviders", "CapacityProvider")
DYNAMIC_QUOTA_ORCHESTRATORS: Final = Resource(
    KUEUE_GROUP, "v1alpha1", "dynamicquotaorchestrators", "DynamicQuotaOrchestrator"
)
NODE_INVENTORY_PARAMETERS: Final = Resource(OUR_GROUP, "v1alpha1", "nodeinventoryparameters", "NodeInventoryParameters")
CLOUD_QUOTA_PARAMETERS: Final = Resource(OUR_GROUP, "v1alpha1", "cloudquotaparameters", "CloudQuotaParameters")
MULTIKUEUE_PARAMETERS: Final = Resource(OUR_GROUP, "v1alpha1", "multikueueparameters", "MultiKueueParameters")
NVIDIA_GPU_PARAMETERS: Final = Resource(OUR_GROUP, "v1alpha1", "nvidiagpuparameters", "NvidiaGpuParameters")
NODE_GPU_REPORTS: Final = Resource(OUR_GROUP, "v1alpha1", "nodegpureports", "NodeGPUReport")
MANUAL_CAPACITIES: Final = Resource(OUR_GROUP, "v1alpha1", "manualcapacities", "ManualCapacity")
COMPOSITE_PARAMETERS: Final = Resource(OUR_GROUP, "v1alpha1", "compositeparameters", "CompositeParameters")
NODES: Final = Resource("", "v1", "nodes", "Node")
NAMESPACES: Final = Resource("", "v1", "namespaces", "Namespace")
PODS: Final = Resource("", "v1", "pods", "Pod", namespaced=True)
SECRETS: Final = Resource("", "v1", "secrets", "Secret", namespaced=True)
EVENTS: Final = Resource("", "v1", "events", "Event", namespaced=True)
LEASES: Final = Resource("coordination.k8s.io", "v1", "leases", "Lease", namespaced=True)
CLUSTER_PROFILES: Final = Resource(
    "multicluster.x-k8s.io", "v1alpha1", "clusterprofiles", "ClusterProfile", namespaced=True
)
SELF_SUBJECT_REVIEWS: Final = Resource("authentication.k8s.io", "v1", "selfsubjectreviews", "SelfSubjectReview")
CONTROLLER_LABEL: Final = "kueue-dqo.dev/controller-name"
"""The label by which a Lease is known as a provider's sign of life; the Lease has the provider's name."""
CUSTOM_RESOURCE_DEFINITIONS: Final = Resource(
    "apiextensions.k8s.io", "v1", "customresourcedefinitions", "CustomResourceDefinition"
)

ORCHESTRATOR_DEFINITION: Final = f"{DYNAMIC_QUOTA_ORCHESTRATORS.plural}.{DYNAMIC_QUOTA_ORCHESTRATORS.group}"
"""The CustomResourceDefinition that tells whose the two kinds of Dynamic Quota Orchestration are."""
_MANAGED_BY: Final = "app.kubernetes.io/managed-by"
_OURS: Final = "kueue-dqo"
_HELM: Final = "Helm"
_RELEASE: Final = "meta.helm.sh/release-name"
OUR_RELEASE: Final = "kueue-dqo.dev/helm-release"
"""The annotation by which our chart names its own release on the definitions that it brings."""


class DefinitionMeta(msgspec.Struct, frozen=True):
    """What of a definition's metadata tells whose it is."""

    labels: dict[str, str] = {}
    annotations: dict[str, str] = {}

    @property
    def is_ours(self) -> bool:
        """Whether this project has brought the definition, for a Kueue that has none.

        Helm puts its own name into the label `managed-by` of all that it installs. So our chart names its release in an
        annotation; once another release, Kueue's, has taken the definition over, the two names differ.
        """
        by = self.labels.get(_MANAGED_BY)
        release = self.annotations.get(OUR_RELEASE)
        return by == _OURS or (by == _HELM and release is not None and release == self.annotations.get(_RELEASE))
