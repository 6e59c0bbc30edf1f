"""`dqo plan` of a live cluster whose providers nobody has written to yet, because no daemon of theirs runs."""

from __future__ import annotations

import json
from typing import Any

from tests.controlplane.admin import JSON_PATCH, Refused
from tests.controlplane.kueue import CRDS
from tests.controlplane.plane import ControlPlane
from tests.controlplane.processes import eventually
from tests.integration.cli.clusters import user
from tests.integration.cli.conftest import Dqo, Printed
from tests.integration.objects import add_node, add_pod, flavor, provider

OURS = "kueue-dqo.dev/v1alpha1"
LISTED = [
    {"apiGroups": [""], "resources": ["nodes"], "verbs": ["list"]},
    {"apiGroups": ["kueue.x-k8s.io", "kueue-dqo.dev"], "resources": ["*"], "verbs": ["list"]},
]
PODS = {"apiGroups": [""], "resources": ["pods"], "verbs": ["list"]}
POOL = {"pool": "a"}


def parameters(kind: str, **spec: Any) -> dict[str, Any]:
    return {"apiVersion": OURS, "kind": kind, "metadata": {"name": "mine"}, "spec": spec}


RESERVE = parameters("NodeInventoryParameters", reserve="UnmanagedPods", resources={"include": ["cpu"]})
BASELINE = {"flavors": [{"name": "batch", "resources": {"cpu": "5"}}]}


def computed(printed: Printed) -> dict[str, str]:
    """The cpu that each provider would publish."""
    assert printed.code == 0, printed.err
    return {
        item["metadata"]["name"]: item["status"]["capacity"]["flavors"][0]["resources"]["cpu"]
        for item in json.loads(printed.out)["items"]
        if item["kind"] == "CapacityProvider" and "capacity" in item["status"]
    }


def test_the_first_status_of_every_provider_of_ours_is_computed(plane: ControlPlane, dqo: Dqo) -> None:
    """From nodes, pods, numbers of a person, and both."""
    add_node(plane, "n", {"cpu": "8", "pods": "110"}, labels=POOL)
    add_pod(plane, "agent", "n", {"cpu": "1"}, managed=False)
    add_pod(plane, "job", "n", {"cpu": "2"}, managed=True)
    manual = parameters("ManualCapacity", baseline=BASELINE)
    both = parameters("CompositeParameters", combine="Sum", members=[{"name": "nodes"}, {"name": "person"}])
    plane.admin.apply(flavor("batch", POOL), RESERVE, manual, both)
    plane.admin.apply(
        provider("nodes", "batch", controller="kueue-dqo.dev/node-inventory", parameters=RESERVE),
        provider("person", "batch", controller="kueue-dqo.dev/manual", parameters=manual),
        provider("both", "batch", controller="kueue-dqo.dev/composite", parameters=both),
    )
    printed = dqo(plane.kubeconfig(), "plan", "-o", "json")
    assert computed(printed) == {"nodes": "7", "person": "5", "both": "12"}
    assert "Pod" not in printed.err


GPU = "nvidia.com/gpu"
GPUS = parameters("NvidiaGpuParameters", migStrategy="None")


def report(name: str, healthy: int, **spec: Any) -> dict[str, Any]:
    devices = [{"name": GPU, "healthy": healthy}]
    inventory = {"renewTime": "2026-01-31T12:00:00Z", "heartbeatSeconds": 300, "gpus": healthy, "devices": devices}
    spec = {"inventory": inventory, **spec}
    return {"apiVersion": OURS, "kind": "NodeGPUReport", "metadata": {"name": name}, "spec": spec}


def set_gpus(plane: ControlPlane) -> None:
    """Two nodes of eight, and a provider that nobody has written to."""
    for name in ("n1", "n2"):
        add_node(plane, name, {GPU: "8", "pods": "110"}, labels=POOL)
    plane.admin.apply(flavor("batch", POOL), GPUS)
    plane.admin.apply(provider("gpus", "batch", controller="kueue-dqo.dev/nvidia-gpu", parameters=GPUS))


def published(printed: Printed) -> tuple[dict[str, str] | None, str]:
    """What the only provider would report of the flavor, and say."""
    assert printed.code == 0, printed.err
    [status] = [item["status"] for item in json.loads(printed.out)["items"] if item["kind"] == "CapacityProvider"]
    [condition] = status["conditions"]
    amounts = status["capacity"]["flavors"][0]["resources"] if "capacity" in status else None
    return amounts, condition["message"]


def test_gpus_are_computed_from_the_reports_of_their_agents(plane: ControlPlane, dqo: Dqo) -> None:
    """However old these are, and with what an agent read last that cannot read any more."""
    set_gpus(plane)
    problem = {"reason": "LibraryNotFound", "message": "gone", "since": "2026-01-31T12:05:00Z"}
    plane.admin.apply(report("n1", 7), report("n2", 8, problem=problem))
    printed = dqo(plane.kubeconfig(), "plan", "-o", "json")
    assert published(printed) == ({GPU: "15"}, "batch: 2 nodes, 15 nvidia.com/gpu")
    assert "Warning: the agent cannot read NVML on n2 (LibraryNotFound since 2026-01-31T12:05:00Z): " in printed.err


def test_reports_are_read_only_for_gpus_that_are_computed(plane: ControlPlane, dqo: Dqo) -> None:
    """Without the right to read them there is no plan of GPUs, and one of everything else."""
    without = [
        {"apiGroups": [""], "resources": ["nodes"], "verbs": ["list"]},
        {"apiGroups": ["kueue.x-k8s.io"], "resources": ["*"], "verbs": ["list"]},
        {
            "apiGroups": ["kueue-dqo.dev"],
            "resources": ["nodeinventoryparameters", "nvidiagpuparameters", "manualcapacities", "compositeparameters"],
            "verbs": ["list"],
        },
    ]
    plane.admin.apply(flavor("batch", POOL))
    plane.admin.apply(provider("nodes", "batch", controller="kueue-dqo.dev/node-inventory"))
    assert dqo(user(plane, "without-reports", without), "plan", "-o", "json").code == 0
    set_gpus(plane)
    printed = dqo(user(plane, "without-reports", without), "plan", "-o", "json")
    assert printed.code == 1
    assert "not allowed to list nodegpureports.v1alpha1.kueue-dqo.dev: " in printed.err


def test_gpus_without_a_report_are_unknown(plane: ControlPlane, dqo: Dqo) -> None:
    """As they are to the daemon."""
    set_gpus(plane)
    printed = dqo(plane.kubeconfig(), "plan", "-o", "json")
    assert published(printed)[0] is None
    assert "Warning: there is no NodeGPUReport in the cluster: " in printed.err


def test_a_cluster_without_the_definition_of_reports_is_planned_without(fresh_plane: ControlPlane, dqo: Dqo) -> None:
    """A note names it, like that of parameters."""
    set_gpus(fresh_plane)
    fresh_plane.admin.request("DELETE", f"{CRDS}/nodegpureports.kueue-dqo.dev")
    note = "Note: the cluster has no nodegpureports.v1alpha1.kueue-dqo.dev: planned without"

    def is_planned_without() -> bool:
        printed = dqo(fresh_plane.kubeconfig(), "plan", "-o", "json")
        return printed.code == 0 and note in printed.err

    eventually(is_planned_without, "a plan without the definition")


def test_a_report_that_cannot_be_used_leaves_out_its_node_alone(fresh_plane: ControlPlane, dqo: Dqo) -> None:
    """Such as one that was stored before a rule was made."""
    set_gpus(fresh_plane)
    healthy = (
        "/spec/versions/0/schema/openAPIV3Schema/properties/spec/properties/inventory/properties/devices/items"
        "/properties/healthy/maximum"
    )
    fresh_plane.admin.patch(
        f"{CRDS}/nodegpureports.kueue-dqo.dev", [{"op": "replace", "path": healthy, "value": 9999}], JSON_PATCH
    )
    bad = report("n2", 8)
    bad["spec"]["inventory"]["devices"][0]["healthy"] = 5000

    def is_taken() -> bool:
        try:
            fresh_plane.admin.apply(bad)
        except Refused:
            return False
        return True

    eventually(is_taken, "the definition takes any number")
    fresh_plane.admin.apply(report("n1", 8))
    printed = dqo(fresh_plane.kubeconfig(), "plan", "-o", "json")
    assert published(printed)[0] == {GPU: "8"}
    assert (
        "Note: NodeGPUReport/n2 cannot be used, so it was planned without: spec.inventory.devices[0].healthy: 5000 is "
    ) in printed.err


def test_pods_are_read_where_they_count_and_their_lack_is_said(plane: ControlPlane, dqo: Dqo) -> None:
    """A plan needs the right for that alone, and does without."""
    add_node(plane, "n", {"cpu": "8", "pods": "110"}, labels=POOL)
    add_pod(plane, "agent", "n", {"cpu": "1"}, managed=False)
    plane.admin.apply(flavor("batch", POOL), RESERVE)
    plane.admin.apply(provider("nodes", "batch", controller="kueue-dqo.dev/node-inventory", parameters=RESERVE))
    assert computed(dqo(user(plane, "with-pods", [*LISTED, PODS]), "plan", "-o", "json")) == {"nodes": "7"}
    printed = dqo(user(plane, "without-pods", LISTED), "plan", "-o", "json")
    assert computed(printed) == {"nodes": "8"}
    assert (
        "Note: Pods could not be listed: computed as if none ran, although the parameters of CapacityProvider "
        "nodes have them counted (cordoned, reserve): "
    ) in printed.err
    assert "pods is forbidden" in printed.err
    plane.admin.apply(parameters("NodeInventoryParameters", reserve="None", resources={"include": ["cpu"]}))
    assert "Pods" not in dqo(user(plane, "without-pods", LISTED), "plan", "-o", "json").err


def test_parameters_that_cannot_be_used_stop_their_provider_alone(fresh_plane: ControlPlane, dqo: Dqo) -> None:
    """Such as those of a later version: a field that is not known might change a capacity."""
    schema = "/spec/versions/0/schema/openAPIV3Schema/properties/spec"
    anything = [
        {"op": "replace", "path": schema, "value": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}
    ]
    fresh_plane.admin.patch(f"{CRDS}/manualcapacities.kueue-dqo.dev", anything, JSON_PATCH)
    later = parameters("ManualCapacity", baseline=BASELINE, later=1)

    def is_taken() -> bool:
        try:
            fresh_plane.admin.apply(later)
        except Refused:  # some part of the API server knows the definition as it was
            return False
        return "later" in fresh_plane.admin.get(f"/apis/{OURS}/manualcapacities/mine")["spec"]

    eventually(is_taken, "the definition takes any field")
    fresh_plane.admin.apply(flavor("batch", POOL))
    fresh_plane.admin.apply(provider("person", "batch", controller="kueue-dqo.dev/manual", parameters=later))
    printed = dqo(fresh_plane.kubeconfig(), "plan", "-o", "json")
    assert printed.code == 0, printed.err
    [item] = json.loads(printed.out)["items"]
    [condition] = item["status"]["conditions"]
    assert (condition["status"], condition["reason"]) == ("False", "Misconfigured")
    assert condition["message"].startswith("ManualCapacity/mine cannot be used: spec.later: ")
    assert "Note: ManualCapacity/mine cannot be used, so it was planned without: spec.later: " in printed.err
