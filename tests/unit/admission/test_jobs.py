"""Jobs, and the Workloads that Kueue makes of them. The integration tests give the same Jobs to the real Kueue."""

from __future__ import annotations

from typing import Any

import pytest

from admission.jobs import (
    JobRefused,
    Priorities,
    has_succeeded,
    is_finished,
    managing_owner,
    reclaimable_pods,
    workload_name,
    workload_of,
)
from admission.pods import Surroundings, adjusted, forbidden, requests_of
from kueue_dqo.api.admission_kinds import ADMISSION_KINDS
from kueue_dqo.api.podtemplates import Job
from kueue_dqo.api.queueing import ResourcesConfiguration
from kueue_dqo.api.scheme import ObjectInvalid, decode, known_kind
from tests.unit.admission.odd_jobs import (
    CONFIGURATION,
    GPU,
    MIG,
    ODD_JOBS,
    SURROUNDINGS,
    Manifest,
    OddJob,
    container,
    job,
)


def decoded(manifest: Manifest) -> Any:
    """The object in a manifest."""
    known = known_kind(manifest["apiVersion"], manifest["kind"], ADMISSION_KINDS)
    assert known is not None
    return decode(known, manifest["apiVersion"].rpartition("/")[2], manifest).object


def _of_kind(kind: str) -> dict[str, Any]:
    return {each["metadata"]["name"]: decoded(each) for each in SURROUNDINGS if each["kind"] == kind}


PRIORITIES = Priorities(_of_kind("WorkloadPriorityClass"), _of_kind("PriorityClass"))


def _resources(**fields: Any) -> ResourcesConfiguration:
    manifest = {"apiVersion": "config.kueue.x-k8s.io/v1beta2", "kind": "Configuration", "resources": fields}
    resources = decoded(manifest).resources
    assert isinstance(resources, ResourcesConfiguration)
    return resources


def _around(namespace: str) -> Surroundings:
    limits = tuple(each for each in _of_kind("LimitRange").values() if each.metadata.namespace == namespace)
    return Surroundings(limits, _of_kind("RuntimeClass"), _resources(**CONFIGURATION["resources"]))


@pytest.mark.parametrize("odd", [pytest.param(each, id=each.name) for each in ODD_JOBS])
def test_a_job_becomes_the_workload_that_kueue_makes(odd: OddJob) -> None:
    """Podset, priority, requests of all its pods, and what forbids them."""
    workload = workload_of(decoded(odd.job), odd.queue, PRIORITIES)
    assert workload.spec is not None
    pods, ref = workload.spec.pod_sets[0], workload.spec.priority_class_ref
    assert (pods.name, pods.count, pods.min_count) == ("main", odd.pods, odd.fewest)
    assert (workload.spec.queue_name, workload.spec.priority) == (odd.queue, odd.priority)
    assert ref is not None
    assert ref.name == odd.priority_class
    around = _around(odd.job["metadata"]["namespace"])
    spec = adjusted(pods.template.spec, around)
    requests = requests_of(spec, around.resources)
    assert {name: value * pods.count for name, value in requests.items()} == odd.usage
    assert forbidden([spec], around) == odd.forbidden


def test_a_workload_is_named_after_its_job_and_the_hash_of_its_uid() -> None:
    """The names that Kueue 0.19 gave; without a UID there is none to be had."""
    assert workload_name("train", "") == "<workload of train>"
    named = workload_name("train", "4a5f8a3e-0f0e-4f1c-9f39-6a4f8d1f8c11")
    assert named.startswith("job-train-")
    assert len(workload_name("x" * 260, "u")) == 253
    assert named != workload_name("train", "another")


REFUSED = [
    pytest.param({"annotations": {"kueue.x-k8s.io/job-min-parallelism": "3"}}, "'3' is no number from 1 to 2",
                 id="all of them at least"),
    pytest.param({"annotations": {"kueue.x-k8s.io/job-min-parallelism": "0"}}, "'0' is no number", id="none at least"),
    pytest.param({"annotations": {"kueue.x-k8s.io/job-min-parallelism": "two"}}, "'two' is no number", id="a word"),
    pytest.param({"annotations": {"kueue.x-k8s.io/job-completions-equal-parallelism": "true"}}, "Indexed",
                 id="indexed"),
    pytest.param({"annotations": {"kueue.x-k8s.io/job-completions-equal-parallelism": "yes"}}, "neither true nor false",
                 id="no boolean"),
    pytest.param({"labels": {"kueue.x-k8s.io/max-exec-time-seconds": "0"}}, "above 0", id="no time"),
    pytest.param({"labels": {"kueue.x-k8s.io/priority-class": "unheard-of"}}, "WorkloadPriorityClass 'unheard-of'",
                 id="no such class"),
    pytest.param({"pod": {"priorityClassName": "unheard-of"}}, "until there is a PriorityClass 'unheard-of'",
                 id="no such class of pods"),
]  # fmt: skip


@pytest.mark.parametrize(("more", "message"), REFUSED)
def test_a_job_that_kueue_does_not_take_says_why(more: dict[str, Any], message: str) -> None:
    """Annotations, labels, classes."""
    with pytest.raises(JobRefused, match=message):
        workload_of(decoded(job("odd", container({"cpu": "1"}), parallelism=3, **more)), "team", PRIORITIES)


@pytest.mark.parametrize(
    ("spec", "status", "free"),
    [
        ({"parallelism": 3, "completions": 6}, {"succeeded": 3}, 0),
        ({"parallelism": 3, "completions": 6}, {"succeeded": 4}, 1),
        ({"parallelism": 3}, {"succeeded": 2}, 2),
        ({"parallelism": 1, "completions": 2}, {"succeeded": 1}, 0),
        ({"parallelism": 3}, {}, 0),
        ({"parallelism": 3, "completions": 3, "completionMode": "Indexed"},
         {"succeeded": 3, "completedIndexes": "0,2,7-9"}, 2),
        ({"parallelism": 9, "completions": 9, "completionMode": "Indexed"}, {"completedIndexes": "1,3-5,x,5-3"}, 4),
    ],
)  # fmt: skip
def test_pods_that_have_completed_give_their_quota_back(spec: Manifest, status: Manifest, free: int) -> None:
    """As soon as fewer are left than run at a time."""
    found = reclaimable_pods(decoded({**job("odd", container({"cpu": "1"}), **spec), "status": status}))
    assert sum(each.count for each in found) == free


def test_a_job_is_finished_once_a_condition_says_so() -> None:
    """Complete or Failed."""
    for kind, succeeded in (("Complete", True), ("Failed", False)):
        done = decoded({**job("j"), "spec": None, "status": {"conditions": [{"type": kind, "status": "True"}]}})
        assert (is_finished(done), has_succeeded(done)) == (True, succeeded)
    suspended = decoded({**job("j"), "spec": None, "status": {"conditions": [{"type": "Suspended", "status": "True"}]}})
    assert not is_finished(suspended)


def test_a_job_of_a_kind_that_kueue_manages_leaves_admission_to_its_owner() -> None:
    """A JobSet's Job has no Workload of its own; a CronJob's has."""
    owner = {"kind": "JobSet", "name": "set", "apiVersion": "jobset.x-k8s.io/v1alpha2", "uid": "u", "controller": True}
    of_a_set = job("odd", container({"cpu": "1"}))
    of_a_set["metadata"]["ownerReferences"] = [owner]
    found = managing_owner(decoded(of_a_set).metadata)
    assert found is not None
    assert found.name == "set"
    of_a_set["metadata"]["ownerReferences"] = [owner | {"kind": "CronJob", "apiVersion": "batch/v1"}]
    assert managing_owner(decoded(of_a_set).metadata) is None
    of_a_set["metadata"]["ownerReferences"] = [owner | {"controller": False}]
    assert managing_owner(decoded(of_a_set).metadata) is None


def test_without_a_default_the_priority_is_zero_and_the_lowest_of_several_defaults_counts() -> None:
    """No class is named for a zero of nobody's."""
    plain: Job = decoded(job("odd", container({"cpu": "1"})))
    spec = workload_of(plain, "team", Priorities()).spec
    assert spec is not None
    assert (spec.priority, spec.priority_class_ref) == (0, None)
    classes = {
        name: decoded({"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": name},
                       "value": value, "globalDefault": True})
        for name, value in (("a", 9), ("b", 5), ("c", 7))
    }  # fmt: skip
    spec = workload_of(plain, "team", Priorities({}, classes)).spec
    assert spec is not None
    assert spec.priority == 5


def test_a_transformation_may_multiply_by_another_resource() -> None:
    """And what it multiplies stays multiplied where it is retained."""
    resources = _resources(transformations=[{"input": GPU, "multiplyBy": MIG, "outputs": {"example.com/units": "1.5"}}])
    pods = decoded(job("odd", container({GPU: "3", MIG: "2"}, {GPU: "3", MIG: "2"}))).spec.template.spec
    assert requests_of(pods, resources) == {GPU: 6, MIG: 2, "example.com/units": 9}


BAD = [
    pytest.param(job("j", container({"cpu": "-1"})), r"requests\[cpu\]: -1 is negative", id="negative"),
    pytest.param(job("j", container({"cpu": "1e30"})), "more than Kueue counts to", id="absurd"),
    pytest.param(job("j", container({"cpu": "one"})), r"requests\[cpu\]: 'one' is no quantity", id="a word"),
    pytest.param(job("j", container({"cpu": "2"}, {"cpu": "1"})), "2 is above the limit of 1", id="above its limit"),
    pytest.param(job("j"), "containers: is required", id="no containers"),
    pytest.param(job("j", container({"cpu": "1"}), parallelism=-1), "-1 is not at least 0", id="less than no pods"),
    pytest.param(job("j", container({"cpu": "1"}), parallelism=2**31), "is not at most 2147483647", id="too many pods"),
    pytest.param(job("j", container({"cpu": "1"}), parallelism="3"), "an integer is wanted", id="a text"),
    pytest.param(job("j", container({"pods": "1"})), "Kueue's own", id="pods"),
    pytest.param(job("j", container({"cpu": "1"}), labels={"a": 1}), "quote it", id="a label that is a number"),
]


@pytest.mark.parametrize(("manifest", "message"), BAD)
def test_a_job_that_no_api_server_takes_is_refused_with_field_and_value(manifest: Manifest, message: str) -> None:
    """Before anything is made of it."""
    with pytest.raises(ObjectInvalid, match=message):
        decoded(manifest)
