"""Jobs, Workloads and nonsense, given to the real Kueue and to ours: equal where admission depends on it."""

from __future__ import annotations

from typing import Any

from admission.jobs import Priorities, workload_of
from admission.pods import Surroundings, adjusted, in_units, requests_of
from kueue_dqo.api.admission_kinds import ADMISSION_KINDS
from kueue_dqo.api.podtemplates import PodTemplate
from kueue_dqo.api.queueing import ResourcesConfiguration
from kueue_dqo.api.scheme import decode, known_kind
from kueue_dqo.api.workloads import Workload
from tests.controlplane import kueue
from tests.controlplane.admin import Refused
from tests.controlplane.plane import ControlPlane
from tests.controlplane.processes import eventually
from tests.unit.admission.odd_jobs import (
    CONFIGURATION,
    ODD_JOBS,
    PLAIN,
    QUEUE,
    QUEUES,
    SURROUNDINGS,
    Manifest,
    OddJob,
    container,
)
from tests.unit.admission.test_jobs import BAD as BAD_JOBS
from tests.unit.kueue_dqo.api.test_admission_kinds import BAD as BAD_OBJECTS

WORKLOADS = "/apis/kueue.x-k8s.io/v1beta2/workloads"


def _decoded(manifest: Manifest) -> Any:
    known = known_kind(manifest["apiVersion"], manifest["kind"], ADMISSION_KINDS)
    assert known is not None
    return decode(known, manifest["apiVersion"].rpartition("/")[2], manifest).object


def _of_kind(kind: str) -> dict[str, Any]:
    return {each["metadata"]["name"]: _decoded(each) for each in SURROUNDINGS if each["kind"] == kind}


def _condition(workload: Workload, kind: str) -> tuple[str, str]:
    return next(((each.status, each.message) for each in workload.status.conditions if each.type == kind), ("", ""))


def test_workloads_are_those_of_kueue_where_admission_depends_on_it(fresh_plane: ControlPlane) -> None:
    """Name, queue, priority, podset, what decides on flavors, requests, and what is called inadmissible."""
    plane = fresh_plane
    kueue.start_manager(plane, configuration=CONFIGURATION)
    plane.admin.apply(*SURROUNDINGS, *QUEUES)
    created = {odd.name: plane.admin.create(odd.job) for odd in ODD_JOBS}

    def settled() -> dict[str, Workload]:
        found = {}
        for plain in plane.admin.items(WORKLOADS):
            workload = _decoded({**plain, "apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "Workload"})
            if _condition(workload, "QuotaReserved")[0]:
                found[workload.metadata.owner_references[0].name] = workload
        return found

    eventually(lambda: len(settled()) == len(ODD_JOBS), "Kueue has looked at every Job")
    real = settled()
    differences = [text for odd in ODD_JOBS for text in _differences(odd, created[odd.name], real[odd.name])]
    assert differences == []


def test_workloads_by_themselves_are_not_rounded_as_jobs_are(fresh_plane: ControlPlane) -> None:
    """Of a Job the API server rounds each container's amounts up to thousandths, of a Workload Kueue each pod's."""
    plane = fresh_plane
    kueue.start_manager(plane)
    plane.admin.apply(*SURROUNDINGS, *QUEUES)
    for name, count, *requests in (
        ("tenths-add-up", 1, {"cpu": "0.4m"}, {"cpu": "0.4m"}),
        ("each-pod-rounded-up", 5, {"cpu": "0.1m"}),
        ("bytes", 3, {"memory": "1.5"}),
    ):
        containers = [container(each) | {"name": f"c{index}"} for index, each in enumerate(requests)]
        template = {"spec": {"restartPolicy": "Never", "containers": containers}}
        spec = {"queueName": QUEUE, "podSets": [{"name": "main", "count": count, "template": template}]}
        head = {"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "Workload"}
        plane.admin.create({**head, "metadata": {"name": name, "namespace": PLAIN}, "spec": spec})

    def admitted() -> list[Workload]:
        plain = [{**each, "kind": "Workload"} for each in plane.admin.items(WORKLOADS)]
        found = [_decoded({**each, "apiVersion": "kueue.x-k8s.io/v1beta2"}) for each in plain]
        return [each for each in found if each.status.admission is not None]

    eventually(lambda: len(admitted()) == 3, "all are admitted")
    for workload in admitted():
        assert workload.spec is not None
        assert workload.status.admission is not None
        pods = workload.spec.pod_sets[0]
        expected = {name: value * pods.count for name, value in _requests(pods.template, Surroundings()).items()}
        usage = in_units(workload.status.admission.pod_set_assignments[0].resource_usage)
        assert expected == usage, workload.metadata.name


def test_what_is_refused_here_is_refused_there(fresh_plane: ControlPlane) -> None:
    """By the API server or by Kueue's webhooks, but for what they should refuse and do not."""
    plane = fresh_plane
    kueue.start_manager(plane)
    plane.admin.apply(*SURROUNDINGS, *QUEUES, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "a"}})
    taken = []
    bad = [*((each.values[0], str(each.id)) for each in BAD_JOBS), *BAD_OBJECTS]
    for number, (manifest, message) in enumerate(bad):
        assert isinstance(manifest, dict)
        if manifest["kind"] == "Configuration" or manifest.get("status"):
            continue  # no object; no status is taken when an object is created
        try:
            plane.admin.create(_alone(manifest, f"n{number}"))
        except Refused:
            continue
        taken.append(message)
    # Negative and absurd requests of a Workload are taken by Kueue 0.19, and counted.
    assert taken == ["absurd", *_TAKEN]


_TAKEN = (
    r"podSets\[0\].template.spec.containers\[0\].resources.requests\[cpu\]: -1",
    "more than Kueue counts to",
)


def _alone(manifest: Manifest, name: str) -> Manifest:
    """Under another name, and without a namespace where the kind has none."""
    metadata = {**manifest["metadata"], "name": name}
    if manifest["kind"] in ("ClusterQueue", "Cohort", "WorkloadPriorityClass", "RuntimeClass"):
        metadata.pop("namespace", None)
    return {**manifest, "metadata": metadata}


def _differences(odd: OddJob, created: Manifest, real: Workload) -> list[str]:
    """What is not the same, in words. `created` is the Job as the API server has it."""
    namespace = odd.job["metadata"]["namespace"]
    limits = tuple(each for each in _of_kind("LimitRange").values() if each.metadata.namespace == namespace)
    resources = _decoded({"apiVersion": "config.kueue.x-k8s.io/v1beta2", "kind": "Configuration", **CONFIGURATION})
    around = Surroundings(limits, _of_kind("RuntimeClass"), resources.resources)
    plain = {**odd.job, "metadata": {**odd.job["metadata"], "uid": created["metadata"]["uid"]}}
    ours = workload_of(
        _decoded(plain), odd.queue, Priorities(_of_kind("WorkloadPriorityClass"), _of_kind("PriorityClass"))
    )
    assert ours.spec is not None
    assert real.spec is not None
    pods, theirs = ours.spec.pod_sets[0], real.spec.pod_sets[0]
    admission = real.status.admission
    usage = in_units(admission.pod_set_assignments[0].resource_usage) if admission is not None else None
    expected = {name: value * pods.count for name, value in _requests(pods.template, around).items()}
    reserved, message = _condition(real, "QuotaReserved")
    compared = {
        "name": (ours.metadata.name, real.metadata.name),
        "queue": (ours.spec.queue_name, real.spec.queue_name),
        "priority": (ours.spec.priority, real.spec.priority),
        "class": (ours.spec.priority_class_ref, real.spec.priority_class_ref),
        "time": (ours.spec.maximum_execution_time_seconds, real.spec.maximum_execution_time_seconds),
        "podset": ((pods.name, pods.count, pods.min_count), (theirs.name, theirs.count, theirs.min_count)),
        "node selector": (pods.template.spec.node_selector, theirs.template.spec.node_selector),
        "affinity": (pods.template.spec.affinity, theirs.template.spec.affinity),
        "tolerations": (pods.template.spec.tolerations, theirs.template.spec.tolerations),
        "labels": (ours.metadata.labels, real.metadata.labels),
        "reserved": ("False" if odd.forbidden else "True", reserved),
        "why not": (odd.forbidden, message if reserved == "False" else ""),
        "usage": (None if odd.forbidden else expected, usage),
    }
    return [
        f"{odd.name}: {what}: ours {ours!r}, Kueue's {real!r}"
        for what, (ours, real) in compared.items()
        if ours != real
    ]


def _requests(template: PodTemplate, around: Surroundings) -> dict[str, int]:
    assert isinstance(around.resources, ResourcesConfiguration)
    return requests_of(adjusted(template.spec, around), around.resources)
