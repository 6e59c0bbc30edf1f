"""What the model of admission reads: queues with all their fields, Workloads, the manager's configuration."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from kueue_dqo.api import kueue
from kueue_dqo.api.admission_kinds import ADMISSION_KINDS, FOREIGN_JOBS
from kueue_dqo.api.queueing import FungibilityPolicy, StopPolicy
from kueue_dqo.api.scheme import KNOWN_KINDS, ObjectInvalid, decode, decode_json, known_kind
from kueue_dqo.api.workloads import CheckState, PriorityClassRef

V1BETA2 = "kueue.x-k8s.io/v1beta2"
V1BETA1 = "kueue.x-k8s.io/v1beta1"
CONFIG = "config.kueue.x-k8s.io/v1beta2"


def _manifest(kind: str, api_version: str = V1BETA2, **fields: Any) -> dict[str, Any]:
    return {"apiVersion": api_version, "kind": kind, "metadata": {"name": "x", "namespace": "a"}, **fields}


def _decoded(manifest: dict[str, Any]) -> Any:
    known = known_kind(manifest["apiVersion"], manifest["kind"], ADMISSION_KINDS)
    assert known is not None
    version = manifest["apiVersion"].rpartition("/")[2]
    found = decode(known, version, manifest).object
    assert decode_json(known, version, msgspec.json.encode(manifest)).object == found
    return found


def _pod_set(requests: dict[str, Any] | None = None, **fields: Any) -> dict[str, Any]:
    containers = [{"name": "c", "image": "none", "resources": {"requests": requests or {}}}]
    return {"name": "main", "template": {"spec": {"restartPolicy": "Never", "containers": containers}}, **fields}


def _workload(*pod_sets: dict[str, Any], status: dict[str, Any] | None = None, **spec: Any) -> dict[str, Any]:
    return _manifest("Workload", spec={"podSets": list(pod_sets), **spec}, status=status or {})


def test_a_queue_has_kueues_defaults() -> None:
    """An empty spec, as the API server fills it in; no selector selects nothing."""
    spec = _decoded(_manifest("ClusterQueue", spec={})).spec
    assert spec.stop_policy is StopPolicy.NONE
    assert spec.namespace_selector is None
    assert spec.flavor_fungibility.when_can_borrow is FungibilityPolicy.MAY_STOP_SEARCH
    assert spec.flavor_fungibility.when_can_preempt is FungibilityPolicy.TRY_NEXT_FLAVOR
    assert spec.preemption.within_cluster_queue == spec.preemption.reclaim_within_cohort == "Never"
    assert spec.fair_sharing is None


def test_quotas_are_those_that_the_orchestrator_reads() -> None:
    """A queue of admission is one of quotas, with more."""
    queue = _decoded(_manifest("ClusterQueue", spec={"cohortName": "company"}))
    assert isinstance(queue, kueue.ClusterQueue)
    assert queue.parent == "company"


def test_v1beta1_is_read_as_v1beta2_writes_it() -> None:
    """Its words for stopping, its list of checks, its parent, where a priority is from."""
    spec = _decoded(
        _manifest("ClusterQueue", V1BETA1, spec={
            "cohort": "company", "admissionChecks": ["p"],
            "flavorFungibility": {"whenCanBorrow": "Borrow", "whenCanPreempt": "Preempt"},
        })
    ).spec  # fmt: skip
    assert (spec.cohort_name, spec.admission_checks_strategy.admission_checks[0].name) == ("company", "p")
    both = {spec.flavor_fungibility.when_can_borrow, spec.flavor_fungibility.when_can_preempt}
    assert both == {FungibilityPolicy.MAY_STOP_SEARCH}
    source: dict[str, Any] = {
        "priorityClassSource": "kueue.x-k8s.io/workloadpriorityclass",
        "priorityClassName": "high",
    }
    old = _workload(_pod_set(), priority=5, **source) | {"apiVersion": V1BETA1}
    assert _decoded(old).spec.priority_class_ref == PriorityClassRef("kueue.x-k8s.io", "WorkloadPriorityClass", "high")


def test_a_workload_comes_with_its_status() -> None:
    """As a live cluster has it."""
    status = {
        "conditions": [{"type": "QuotaReserved", "status": "True", "reason": "QuotaReserved", "message": ""}],
        "admission": {
            "clusterQueue": "q",
            "podSetAssignments": [{"name": "main", "flavors": {"cpu": "f"}, "resourceUsage": {"cpu": "1"}, "count": 1}],
        },
        "admissionChecks": [{"name": "p", "state": "Retry", "requeueAfterSeconds": 9, "retryCount": 1, "message": ""}],
        "requeueState": {"count": 1, "requeueAt": "2026-09-01T08:00:00Z"},
    }
    found = _decoded(_workload(_pod_set({"cpu": "1"}), status=status)).status
    assert found.admission.pod_set_assignments[0].flavors == {"cpu": "f"}
    assert found.admission_checks[0].state is CheckState.RETRY
    assert found.requeue_state.requeue_at.hour == 8


def test_a_configuration_needs_no_name() -> None:
    """It is a file and no object."""
    manifest = {"apiVersion": CONFIG, "kind": "Configuration", "admissionFairSharing": {
        "usageHalfLifeTime": "168h", "usageSamplingInterval": "5m", "resourceWeights": {"memory": 0.5}}}  # fmt: skip
    found = _decoded(manifest)
    assert found.admission_fair_sharing.usage_half_life_time.seconds == 168 * 3600
    assert found.admission_fair_sharing.resource_weights == {"memory": 0.5}


def test_other_kinds_of_jobs_are_read_in_any_version() -> None:
    """Of their metadata alone."""
    for group, kind in FOREIGN_JOBS:
        manifest = _manifest(kind, f"{group}/v9" if group else "v9", spec={"whatever": 1})
        assert _decoded(manifest).metadata.key == "a/x"


def test_what_quotas_need_is_no_more_than_before() -> None:
    """A plan takes no Job, no Workload, and no more of a queue."""
    assert known_kind(V1BETA2, "Workload") is None
    assert known_kind("batch/v1", "Job") is None
    assert {known.type for known in KNOWN_KINDS if known.kind == "ClusterQueue"} == {kueue.ClusterQueue}


def _queue(**spec: Any) -> dict[str, Any]:
    return _manifest("ClusterQueue", spec=spec)


def _config(**fields: Any) -> dict[str, Any]:
    return {"apiVersion": CONFIG, "kind": "Configuration", **fields}


BAD = [
    (_queue(queueingStrategy="Fifo"), r'spec\.queueingStrategy: "Fifo" is none of StrictFIFO, BestEffortFIFO'),
    (_queue(stopPolicy="Stop"), r'spec\.stopPolicy: "Stop" is none of None, Hold, HoldAndDrain'),
    (_queue(preemption={"withinClusterQueue": "Any"}), "withinClusterQueue.*none of Never, LowerPriority, LowerOr"),
    (_queue(preemption={"reclaimWithinCohort": "LowerOrNewerEqualPriority"}), "none of Never, LowerPriority, Any"),
    (_queue(preemption={"borrowWithinCohort": {"policy": "LowerPriority"}}), "needs a reclaimWithinCohort"),
    (_queue(preemption={"borrowWithinCohort": {"maxPriorityThreshold": 2**31}}), "is not at most 2147483647"),
    (_queue(flavorFungibility={"whenCanBorrow": "Borrow"}), "'Borrow' is none of MayStopSearch, TryNextFlavor"),
    (_queue(flavorFungibility={"preference": "BorrowingOverPreemption"}), "needs whenCanBorrow and whenCanPreempt"),
    (_queue(fairSharing={"weight": "-1"}), r"spec\.fairSharing\.weight: -1 is negative"),
    (_queue(fairSharing={"weight": "1n"}), "1n is too small"),
    (_queue(fairSharing={"weight": "heavy"}), "'heavy' is no quantity"),
    (_queue(admissionScope={"admissionMode": "Fair"}), '"Fair" is none of UsageBasedAdmissionFairSharing'),
    (_queue(namespaceSelector={"matchExpressions": [{"key": "a", "operator": "In"}]}), "In needs at least one"),
    (_queue(namespaceSelector={"matchExpressions": [{"key": "a", "operator": "Like"}]}), "none of In, NotIn"),
    (_queue(admissionChecksStrategy={"admissionChecks": [{"name": "p", "onFlavors": ["f"]}]}), "'f' is no flavor"),
    (_queue(admissionChecksStrategy={"admissionChecks": [{"name": "p"}, {"name": "p"}]}), "more than once"),
    (_manifest("Cohort", spec={"fairSharing": {"weight": "-2"}}), "-2 is negative"),
    (_manifest("LocalQueue", spec={"clusterQueue": "Q!"}), r"spec\.clusterQueue: 'Q!' is no object name"),
    (_manifest("LocalQueue", spec={"clusterQueue": 3}), "3 is an integer; a string is wanted: quote it"),
    (_manifest("WorkloadPriorityClass"), "value: is required and missing"),
    (_manifest("WorkloadPriorityClass", value="9"), "an integer is wanted"),
    (_manifest("LimitRange", "v1", spec={"limits": [{"type": "Pod", "min": {"cpu": "2"}, "max": {"cpu": "1"}}]}),
     "2 is above the max of 1"),
    (_manifest("RuntimeClass", "node.k8s.io/v1", handler="x", overhead={"podFixed": {"cpu": "-1"}}),
     r"podFixed\[cpu\]: -1 is negative"),
    (_workload(_pod_set({"cpu": "-1"})), r"podSets\[0\].template.spec.containers\[0\].resources.requests\[cpu\]: -1"),
    (_workload(_pod_set({"cpu": "1e30"})), "more than Kueue counts to"),
    (_workload(_pod_set(count=-1)), "-1 is not at least 0"),
    (_workload(_pod_set(count=2, minCount=3)), r"minCount: 3 is not from 1 to count \(2\)"),
    (_workload(_pod_set(), _pod_set()), "'main' is listed more than once"),
    (_workload(_pod_set(minCount=1), _pod_set(name="b", minCount=1)), "more than one podset has a minCount"),
    (_workload(_pod_set(), priorityClassRef={"group": "kueue.x-k8s.io", "kind": "PriorityClass", "name": "n"}),
     "'PriorityClass' is not WorkloadPriorityClass"),
    (_workload(_pod_set(), priorityClassRef={"group": "other", "kind": "PriorityClass", "name": "n"}),
     "'other' is none"),
    (_workload(_pod_set(), status={"admissionChecks": [{"name": "p", "state": "Maybe"}]}),
     '"Maybe" is none of Pending'),
    (_workload(_pod_set(), status={"admission": {"clusterQueue": "q", "podSetAssignments": [{"name": "b"}]}}),
     "'b' is no podset of this Workload.*'main' has no assignment"),
    (_workload(_pod_set(), status={"requeueState": {"requeueAt": "soon"}}), '"soon" is no time'),
    (_workload() | {"metadata": {"name": "x", "creationTimestamp": "2026-09-01"}}, '"2026-09-01" is no time'),
    (_config(fairSharing={"preemptionStrategies": []}), "is required and missing"),
    (_config(fairSharing={"preemptionStrategies": ["Most"]}), '"Most" is none of LessThan'),
    (_config(fairSharing={"preemptionStrategies": ["LessThanInitialShare", "LessThanOrEqualToFinalShare"]}),
     "is none of Kueue's lists"),
    (_config(admissionFairSharing={"usageSamplingInterval": "0s"}), "it has to be longer"),
    (_config(admissionFairSharing={"usageHalfLifeTime": "a week"}), "'a week' is no duration"),
    (_config(admissionFairSharing={"resourceWeights": {"cpu": -1.0}}), "-1.0 is no weight"),
    (_config(resources={"transformations": [{"input": "a"}, {"input": "a"}]}), "'a' is listed more than once"),
    (_config(resources={"transformations": [{"input": "a", "strategy": "Drop"}]}), '"Drop" is none of Retain, Replace'),
    (_config(resources={"excludeResourcePrefixes": ["a"], "quotaCheckStrategy": "IgnoreUndeclared"}),
     "not go together"),
]  # fmt: skip


@pytest.mark.parametrize(("manifest", "message"), BAD)
def test_what_kueue_would_refuse_is_refused_with_its_field_and_value(manifest: dict[str, Any], message: str) -> None:
    """Whatever decodes it."""
    known = known_kind(manifest["apiVersion"], manifest["kind"], ADMISSION_KINDS)
    assert known is not None
    version = manifest["apiVersion"].rpartition("/")[2]
    with pytest.raises(ObjectInvalid, match=message):
        decode(known, version, manifest)
    with pytest.raises(ObjectInvalid, match=message):
        decode_json(known, version, msgspec.json.encode(manifest))


def test_a_version_that_nobody_reads_is_said() -> None:
    """With those that are."""
    with pytest.raises(ObjectInvalid, match=r"'kueue.x-k8s.io/v1alpha1' of Workload is not read; .*v1beta2 or"):
        known_kind("kueue.x-k8s.io/v1alpha1", "Workload", ADMISSION_KINDS)
