"""Objects as steps in time change them, and what becomes of Jobs and Workloads."""

from __future__ import annotations

from typing import Any

import pytest

from admission.world import Happening, Item, Step, World
from tests.unit.admission.odd_jobs import Manifest, container, job
from tests.unit.admission.test_jobs import decoded

V1BETA2 = "kueue.x-k8s.io/v1beta2"
ADDED, CHANGED, CHECKED, FINISHED, DELETED = (
    Happening.ADDED, Happening.CHANGED, Happening.CHECKED, Happening.FINISHED, Happening.DELETED,
)  # fmt: skip
CPU = container({"cpu": "1"})
LOCAL = {"kueue.x-k8s.io/queue-name": "team"}


def _object(kind: str, name: str, namespace: str = "", api_version: str = V1BETA2, **fields: Any) -> Manifest:
    meta = {"name": name, "namespace": namespace} if namespace else {"name": name}
    return {"apiVersion": api_version, "kind": kind, "metadata": meta | fields.pop("metadata", {}), **fields}


def _job(name: str, **more: Any) -> Manifest:
    return job(name, container({"cpu": "1"}), namespace="a", **more)


def _gone(manifest: Manifest) -> Manifest:
    return {**manifest, "metadata": {**manifest["metadata"], "deletionTimestamp": "2026-09-01T12:00:00Z"}}


def _done(manifest: Manifest, kind: str = "Complete") -> Manifest:
    plain = {key: value for key, value in manifest.items() if key != "spec"}
    return plain | {"status": {"conditions": [{"type": kind, "status": "True"}]}}


def _workload(name: str, owner: str = "", **fields: Any) -> Manifest:
    refs = [{"apiVersion": "batch/v1", "kind": "Job", "name": owner, "uid": ""}] if owner else []
    return _object("Workload", name, "a", metadata={"ownerReferences": refs}, **fields)


def _whole(name: str, owner: str = "", **spec: Any) -> Manifest:
    template = {"spec": {"containers": [container({"cpu": "2"})]}}
    return _workload(
        name, owner, spec={"queueName": "team", "podSets": [{"name": "main", "template": template}], **spec}
    )


def _class(value: int) -> Manifest:
    return _object("WorkloadPriorityClass", "research", value=value)


def _of_class(name: str) -> Manifest:
    return _job(name, labels={"kueue.x-k8s.io/priority-class": "research"})


def _check_state(state: str) -> Manifest:
    return {"admissionChecks": [{"name": "prov", "state": state, "message": "so"}]}


NAMESPACE = _object("Namespace", "a", api_version="v1")
LIMITS = _object("LimitRange", "l", "a", "v1", spec={"limits": [{"type": "Container", "default": {"memory": "1Gi"}}]})
QUEUE = _object("LocalQueue", "default", "a", spec={"clusterQueue": "team"})


def _steps(*steps: list[Manifest]) -> tuple[World, list[Step]]:
    world = World()
    return world, [world.apply([Item(each["kind"], decoded(each)) for each in step]) for step in steps]


def _events(step: Step) -> list[tuple[Happening, str]]:
    return [(each.happening, each.workload.job or each.workload.key) for each in (*step.repriced, *step.events)]


@pytest.mark.parametrize(
    ("steps", "events"),
    [
        pytest.param([[_job("j")], [_done(_job("j"))]], [(FINISHED, "j")], id="a job finishes"),
        pytest.param([[_job("j")], [_gone(_job("j"))]], [(DELETED, "j")], id="a job is deleted"),
        pytest.param([[_job("j")], [_job("j", queue="other")]], [(CHANGED, "j")], id="another queue"),
        pytest.param([[_job("j")], [_job("j", parallelism=7)]], [], id="of a job seen before the labels count alone"),
        pytest.param([[_job("j"), _job("i")], [_job("k"), _done(_job("j"))]], [(ADDED, "k"), (FINISHED, "j")],
                     id="in the order of the file"),
        pytest.param([[_class(1), _of_class("j"), _job("i")], [_class(2)]], [(CHANGED, "j")], id="another priority"),
        pytest.param([[_class(1), _of_class("j")], [_class(2), _job("k")]], [(CHANGED, "j"), (ADDED, "k")],
                     id="surroundings first"),
        pytest.param([[_job("j")], [LIMITS]], [(CHANGED, "j")], id="other defaults"),
        pytest.param([[_of_class("j")], [_class(1)]], [(ADDED, "j")], id="a class that comes later"),
        pytest.param([[_job("j")], [_workload("w", "j", status=_check_state("Ready"))]], [(CHECKED, "j")],
                     id="a check"),
        pytest.param([[_job("j")], [_workload("w", "j", spec={"active": False})]], [(CHANGED, "j")], id="set inactive"),
        pytest.param([[_job("j"), _whole("job-j", "j")], []], [], id="a job with its workload"),
        pytest.param([[_whole("w")], [_whole("w", active=False)]], [(CHANGED, "a/w")], id="a workload by itself"),
        pytest.param([[_whole("w")], [_gone(_whole("w"))]], [(DELETED, "a/w")], id="a workload is deleted"),
        pytest.param([[_job("j")], [_gone(_job("j"))], [_job("j")]], [(ADDED, "j")], id="a job of the same name"),
        pytest.param([[_job("j", queue=None)], [_job("j")]], [(ADDED, "j")], id="a label that comes later"),
    ],
)  # fmt: skip
def test_a_step_changes_workloads(steps: list[list[Manifest]], events: list[tuple[Happening, str]]) -> None:
    """What its last step does."""
    _, taken = _steps([NAMESPACE, *steps[0]], *steps[1:])
    assert _events(taken[-1]) == events


def test_a_job_with_its_workload_makes_no_second_one() -> None:
    """In whatever order they stand; the Workload keeps its own requests and status."""
    for order in ([_whole("job-j", "j"), _job("j")], [_job("j"), _whole("job-j", "j")]):
        world, steps = _steps(order)
        assert [key for step in steps for _, key in _events(step)] == ["j"]
        assert world.workloads["a/job-j"].pods[0].requests == {"cpu": 2000}


def test_pods_that_have_completed_are_counted_no_longer() -> None:
    """Two of three are left."""
    news = _job("j", parallelism=3, completions=3) | {"status": {"succeeded": 1}}
    world, _ = _steps([NAMESPACE, _job("j", parallelism=3, completions=3)], [news])
    assert [each.pods[0].count for each in world.workloads.values()] == [2]


def test_news_of_a_local_queue_keep_its_spec() -> None:
    """A status alone says what was used so far."""
    news = _object("LocalQueue", "default", "a", status={"fairSharing": {"admissionFairSharingStatus": {
        "consumedResources": {"cpu": "4"}, "lastUpdate": "2026-09-01T07:59:00Z"}}})  # fmt: skip
    world, _ = _steps([QUEUE], [news])
    queue = world.of_kind("LocalQueue")["a/default"]
    assert queue.spec.cluster_queue == "team"
    assert queue.status.fair_sharing is not None


CONFIGURATION = {"apiVersion": "config.kueue.x-k8s.io/v1beta2", "kind": "Configuration"}
SAID = [
    pytest.param([_job("j", queue=None)], "Job/a/j: metadata.labels: names no LocalQueue", id="no queue"),
    pytest.param([_job("j", annotations={"kueue.x-k8s.io/elastic-job": "true"})], "elastic jobs are not modelled",
                 id="elastic"),
    pytest.param([_job("j", managedBy="kueue.x-k8s.io/multikueue")], "spec.managedBy: 'kueue.x-k8s.io/multikueue'",
                 id="managed by another"),
    pytest.param([_job("j", pod={"resourceClaims": [{"name": "gpu"}]})], "dynamic resource allocation", id="claims"),
    pytest.param([_job("j", pod={"runtimeClassName": "none"})], "no RuntimeClass 'none'", id="no runtime class"),
    pytest.param([_of_class("j")], "until there is a WorkloadPriorityClass 'research'", id="no priority class"),
    pytest.param([_job("j", annotations={"kueue.x-k8s.io/job-min-parallelism": "1"})], "'1' is no number",
                 id="minimum"),
    pytest.param([_job("j", labels={"kueue.x-k8s.io/prebuilt-workload-name": "w"})], "its Workload is 'w'",
                 id="prebuilt"),
    pytest.param([_job("j", labels={"kueue.x-k8s.io/max-exec-time-seconds": "9"})], "seconds]: is not modelled",
                 id="a time limit"),
    pytest.param([job("j", CPU, namespace="b")], "no Namespace 'b' among the objects", id="no namespace"),
    pytest.param([job("j", CPU, namespace="kube-system")], "no namespace of Kueue's Jobs", id="the system's"),
    pytest.param([_done(_job("j"))], "no earlier step has this Job", id="news of nothing"),
    pytest.param([_workload("w", "j", status=_check_state("Ready"))], "no earlier object is the Job 'j'",
                 id="a check of nothing"),
    pytest.param([_object("ResourceFlavor", "f", spec={"topologyName": "racks", "nodeLabels": {"a": "b"}})],
                 "ResourceFlavor/f: spec.topologyName: 'racks': topology-aware", id="topology of a flavor"),
    pytest.param([_object("Topology", "racks")], "Topology/racks: topology-aware", id="topology"),
    pytest.param([_object("AdmissionCheck", "mk", spec={"controllerName": "kueue.x-k8s.io/multikueue"})],
                 "AdmissionCheck/mk: spec.controllerName: what MultiKueue", id="multikueue"),
    pytest.param([_object("AdmissionCheck", "p", spec={"controllerName": "kueue.x-k8s.io/provisioning-request"})],
                 "what a cluster autoscaler provides", id="provisioning"),
    pytest.param([_object("ClusterQueue", "q", spec={"concurrentAdmissionPolicy": {"migration": {"mode": "x"}}})],
                 "spec.concurrentAdmissionPolicy: concurrent admission", id="concurrent admission"),
    pytest.param([_object("RayJob", "r", "a", "ray.io/v1", metadata={"labels": LOCAL})],
                 "RayJob/a/r: metadata.labels[kueue.x-k8s.io/queue-name]: 'team': jobs of this kind",
                 id="another kind"),
    pytest.param([_object("Pod", "p", "a", "v1", metadata={"labels": {"kueue.x-k8s.io/pod-group-name": "g"}})],
                 "groups of pods", id="a group of pods"),
    pytest.param([CONFIGURATION | {"waitForPodsReady": {"timeout": "5m", "blockAdmission": True}}],
                 "waitForPodsReady.blockAdmission: is not modelled", id="waits for pods"),
    pytest.param([CONFIGURATION | {"featureGates": {"PartialAdmission": False}}],
                 "featureGates[PartialAdmission]: is not modelled: it is taken to be on", id="a gate"),
    pytest.param([CONFIGURATION | {"featureGates": {"Unheard": True}}], "featureGates[Unheard]: is not",
                 id="an odd gate"),
    pytest.param([_object("Cohort", "x", spec={"parentName": "y"}), _object("Cohort", "y", spec={"parentName": "x"})],
                 "Cohort/x: spec.parentName: x → y → x: a cycle", id="a cycle"),
]  # fmt: skip


@pytest.mark.parametrize(("objects", "said"), SAID)
def test_what_is_not_modelled_or_not_taken_is_said(objects: list[Manifest], said: str) -> None:
    """With the object and the field."""
    _, (step,) = _steps([NAMESPACE, *objects])
    assert said in "\n".join(map(str, step.findings))
    assert step.findings


@pytest.mark.parametrize(
    "objects",
    [
        pytest.param([_job("j", queue=None), QUEUE], id="a default queue"),
        pytest.param([_object("Pod", "p", "a", "v1")], id="a pod of nobody's"),
        pytest.param([_object("RayJob", "r", "a", "ray.io/v1")], id="a ray job without a queue"),
        pytest.param([CONFIGURATION | {"featureGates": {"VisibilityOnDemand": False}}], id="an indifferent gate"),
        pytest.param([CONFIGURATION | {"featureGates": {"PartialAdmission": True}}], id="a gate's default"),
        pytest.param([_object("Cohort", "x", spec={"parentName": "y"})], id="a cohort that is only named"),
        pytest.param([_object("JobSet", "s", "a", "jobset.x-k8s.io/v1alpha2", metadata={"labels": LOCAL}),
                      _whole("w") | {"metadata": {"name": "w", "namespace": "a", "ownerReferences": [
                          {"apiVersion": "jobset.x-k8s.io/v1alpha2", "kind": "JobSet", "name": "s", "uid": "u"}]}}],
                     id="another kind with its workload"),
    ],
)  # fmt: skip
def test_nothing_is_said_where_there_is_nothing_to_say(objects: list[Manifest]) -> None:
    """No finding for what admission does not depend on."""
    _, (step,) = _steps([NAMESPACE, *objects])
    assert step.findings == ()


@pytest.mark.parametrize(
    ("more", "is_equal"),
    [
        ({}, True),
        ({"annotations": {"team": "b"}, "completions": 3}, True),
        ({"parallelism": 2}, False),
        ({"labels": {"kueue.x-k8s.io/priority-class": "research"}}, False),
        ({"pod": {"nodeSelector": {"disk": "ssd"}}}, False),
        ({"pod": {"tolerations": [{"operator": "Exists", "tolerationSeconds": 9}]}}, False),
        ({"pod": {"topologySpreadConstraints": [{"maxSkew": 1}]}}, False),
    ],
)
def test_workloads_of_one_shape_are_equal_for_kueue(more: dict[str, Any], *, is_equal: bool) -> None:
    """Whatever their names and annotations."""
    world, _ = _steps([NAMESPACE, _class(1), _job("i"), _job("j", **more)])
    first, second = world.workloads.values()
    assert (first.shape == second.shape) is is_equal
