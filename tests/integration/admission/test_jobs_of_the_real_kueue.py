"""The same odd Jobs, given to the real Kueue and to ours: the Workloads are equal where admission depends on it."""

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
from tests.controlplane.plane import ControlPlane
from tests.controlplane.processes import eventually
from tests.unit.admission.odd_jobs import CONFIGURATION, ODD_JOBS, QUEUES, SURROUNDINGS, Manifest, OddJob

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
