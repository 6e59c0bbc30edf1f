"""What of the objects the model of admission leaves out: detected, and said, with the object and the field."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final, NamedTuple

from kueue_dqo.api.kueue import MULTI_KUEUE_CONTROLLER, PROVISIONING_REQUEST_CONTROLLER
from kueue_dqo.api.podtemplates import ForeignJob, Job, PodTemplate, TemplatePodSpec
from kueue_dqo.api.queueing import AdmissionCheck, ClusterQueue, Configuration, ResourceFlavor, Topology
from kueue_dqo.api.wording import some
from kueue_dqo.api.workloads import ELASTIC_JOB, MAX_EXECUTION_SECONDS, QUEUE_NAME, PodSet, Workload

_TRUE: Final = "true"
_TOPOLOGY: Final = (
    "kueue.x-k8s.io/podset-required-topology",
    "kueue.x-k8s.io/podset-preferred-topology",
    "kueue.x-k8s.io/podset-unconstrained-topology",
    "kueue.x-k8s.io/podset-slice-required-topology",
    "kueue.x-k8s.io/podset-slice-required-topology-constraints",
    "kueue.x-k8s.io/podset-slice-size",
    "kueue.x-k8s.io/podset-group-name",
)
"""Annotations of pods that ask for a place in a topology."""
_VARIANTS: Final = ("kueue.x-k8s.io/concurrent-admission-parent",)
_ALLOWED_FLAVORS: Final = "kueue.x-k8s.io/workload-allowed-resource-flavors"
_POD_GROUP: Final = "kueue.x-k8s.io/pod-group-name"
_NO_TOPOLOGY: Final = "topology-aware scheduling is not modelled: quota is, as if every place fitted"
_NO_CLAIMS: Final = "dynamic resource allocation is not modelled: it is counted without what it claims"
_FIXED_SIZE: Final = "elastic jobs are not modelled: it is taken for one of fixed size"
_NO_VARIANTS: Final = "concurrent admission is not modelled: a Workload is admitted once"
_NO_CLUSTERS: Final = "what MultiKueue does in other clusters is not modelled"
_ENDLESS: Final = "is not modelled: what is admitted runs until a step ends it"
_UNASKED: Final = {
    MULTI_KUEUE_CONTROLLER: _NO_CLUSTERS,
    PROVISIONING_REQUEST_CONTROLLER: "what a cluster autoscaler provides is not modelled",
}
"""Controllers of checks that are known, and what of them is not modelled."""
_ASSUMED_GATES: Final[Mapping[str, bool]] = {
    "AdmissionFairSharing": True,
    "AdmissionGatedBy": True,
    "ConcurrentAdmission": False,
    "DisableWaitForPodsReady": False,
    "ElasticJobsViaWorkloadSlices": True,
    "FairSharingPreemptWithinNominal": True,
    "FairSharingPrioritizeNonBorrowing": True,
    "FlavorFungibility": True,
    "HierarchicalCohorts": True,
    "KueueDRAIntegration": True,
    "KueueDRAIntegrationExtendedResource": True,
    "ManagedJobsNamespaceSelectorAlwaysRespected": True,
    "MultiKueue": True,
    "ObjectRetentionPolicies": True,
    "PartialAdmission": True,
    "PriorityBoost": False,
    "PrioritySortingWithinCohort": True,
    "QuotaCheckStrategy": True,
    "ReclaimablePods": True,
    "SchedulingEquivalenceHashing": True,
    "SchedulerLongRequeueInterval": False,
    "SchedulerTimestampPreemptionBuffer": False,
    "ShortWorkloadNames": False,
    "TopologyAwareScheduling": True,
    "UnadmittedWorkloadsExplicitStatus": False,
    "UnadmittedWorkloadsObservability": False,
    "WorkloadPriorityClassDefaulting": False,
}
"""Gates that admission depends on, as the model takes them: the defaults of Kueue 0.19."""
_INDIFFERENT_GATES: Final = frozenset({
    "CustomMetricLabels", "LocalQueueMetrics", "MetricForWorkloadCreationLatency", "MetricsForCohorts", "TLSOptions",
    "RemoveFinalizersWithStrictPatch", "VectorizedResourceRequests", "VisibilityOnDemand",
    "WorkloadRequestUseMergePatch",
})  # fmt: skip
"""Gates that nothing of admission depends on."""


class Finding(NamedTuple):
    """What the model does not do, or what Kueue would not take, and where it stands."""

    object: str
    """`Kind/namespace/name`."""
    field: str
    """A path such as `spec.topologyName`; empty for the object as a whole."""
    message: str

    def __str__(self) -> str:
        """`Kind/name: field: message`."""
        return ": ".join(filter(None, self))


def unmodelled(kind: str, obj: Any) -> Iterator[Finding]:
    """What of the object is not modelled, in the order of its fields."""
    check = _CHECKS.get(type(obj))
    if check is not None:
        for field, message in check(obj):
            yield Finding(named(kind, obj), field, message)


def named(kind: str, obj: Any) -> str:
    """`Kind/namespace/name`, as messages name the object."""
    namespace = getattr(obj.metadata, "namespace", "")
    return f"{kind}/{namespace}/{obj.metadata.name}" if namespace else f"{kind}/{obj.metadata.name}"


_Said = Iterator[tuple[str, str]]
"""Fields with what is to be said of them."""


def _flavor(flavor: ResourceFlavor) -> _Said:
    if flavor.spec.topology_name:
        yield "spec.topologyName", f"{flavor.spec.topology_name!r}: {_NO_TOPOLOGY}"


def _topology(topology: Topology) -> _Said:
    del topology
    yield "", _NO_TOPOLOGY


def _queue(queue: ClusterQueue) -> _Said:
    if queue.spec.concurrent_admission_policy is not None:
        yield "spec.concurrentAdmissionPolicy", _NO_VARIANTS


def _check(check: AdmissionCheck) -> _Said:
    left_out = _UNASKED.get(check.spec.controller_name)
    if left_out is not None:
        until = "the check is Pending until a Workload's status.admissionChecks says otherwise"
        yield "spec.controllerName", f"{left_out}: {until}"


def _job(job: Job) -> _Said:
    if job.metadata.annotations.get(ELASTIC_JOB) == _TRUE:
        yield f"metadata.annotations[{ELASTIC_JOB}]", _FIXED_SIZE
    if MAX_EXECUTION_SECONDS in job.metadata.labels:
        yield f"metadata.labels[{MAX_EXECUTION_SECONDS}]", _ENDLESS
    if job.spec is not None:
        if job.spec.managed_by not in ("", "kubernetes.io/job-controller"):
            yield "spec.managedBy", f"{job.spec.managed_by!r}: what that controller does is not modelled"
        yield from _template("spec.template", job.spec.template)


def _workload(workload: Workload) -> _Said:
    annotations, spec = workload.metadata.annotations, workload.spec
    if annotations.get(ELASTIC_JOB) == _TRUE:
        yield f"metadata.annotations[{ELASTIC_JOB}]", _FIXED_SIZE
    if _ALLOWED_FLAVORS in annotations:
        yield f"metadata.annotations[{_ALLOWED_FLAVORS}]", _NO_VARIANTS
    for label in _VARIANTS:
        if label in workload.metadata.labels:
            yield f"metadata.labels[{label}]", _NO_VARIANTS
    if spec is not None:
        if spec.maximum_execution_time_seconds is not None:
            yield "spec.maximumExecutionTimeSeconds", _ENDLESS
        if spec.preemption_gates:
            yield "spec.preemptionGates", "gates of preemption are not modelled: it preempts as if there were none"
        for index, pod_set in enumerate(spec.pod_sets):
            yield from _pod_set(f"spec.podSets[{index}]", pod_set)
    if workload.status.cluster_name or workload.status.nominated_cluster_names:
        field = "status.clusterName" if workload.status.cluster_name else "status.nominatedClusterNames"
        yield field, _NO_CLUSTERS


def _pod_set(field: str, pod_set: PodSet) -> _Said:
    if pod_set.topology_request is not None and pod_set.topology_request.is_explicit:
        yield (
            f"{field}.topologyRequest",
            "topology-aware scheduling is not modelled: quota is, as if every place fitted",
        )
    yield from _template(f"{field}.template", pod_set.template)


def _template(field: str, template: PodTemplate) -> _Said:
    asked = sorted(set(_TOPOLOGY) & set(template.metadata.annotations))
    if asked:
        yield f"{field}.metadata.annotations", f"{some(asked)}: {_NO_TOPOLOGY}"
    if _claims(template.spec):
        yield f"{field}.spec.resourceClaims", _NO_CLAIMS


def _claims(spec: TemplatePodSpec) -> bool:
    containers = (*spec.init_containers, *spec.containers)
    return bool(spec.resource_claims) or any(container.resources.claims for container in containers)


def _foreign(job: ForeignJob) -> _Said:
    labels, annotations = job.metadata.labels, job.metadata.annotations
    if labels.get(QUEUE_NAME):
        way_out = "jobs of this kind are not modelled: add the Workload that Kueue has made of it, and that is"
        yield f"metadata.labels[{QUEUE_NAME}]", f"{labels[QUEUE_NAME]!r}: {way_out}"
    elif _POD_GROUP in labels or _POD_GROUP in annotations:
        yield f"metadata.labels[{_POD_GROUP}]", "groups of pods are not modelled: add their Workload, and that is"


def _configuration(configuration: Configuration) -> _Said:
    waiting = configuration.wait_for_pods_ready
    if waiting is not None and waiting.enable is not False:
        if waiting.block_admission:
            yield "waitForPodsReady.blockAdmission", "is not modelled: pods are taken to be ready as soon as admitted"
        yield "waitForPodsReady", "is not modelled: pods are taken to be ready in time"
    if configuration.resources.device_class_mappings:
        yield "resources.deviceClassMappings", "dynamic resource allocation is not modelled"
    for gate, is_on in sorted(configuration.feature_gates.items()):
        if gate in _INDIFFERENT_GATES:
            continue
        assumed = _ASSUMED_GATES.get(gate)
        if assumed is None:
            yield f"featureGates[{gate}]", "is not modelled: it is taken to make no difference to admission"
        elif assumed is not is_on:
            state = "on" if assumed else "off"
            yield f"featureGates[{gate}]", f"is not modelled: it is taken to be {state}, Kueue's default"


_CHECKS: Final[dict[type, Callable[[Any], _Said]]] = {
    ResourceFlavor: _flavor,
    Topology: _topology,
    ClusterQueue: _queue,
    AdmissionCheck: _check,
    Job: _job,
    Workload: _workload,
    ForeignJob: _foreign,
    Configuration: _configuration,
}
