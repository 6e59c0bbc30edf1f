"""Objects of Kueue and of Dynamic Quota Orchestration as tests create and read them on a control plane."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from kueue_dqo.api.quantity import NANOS, Quantity
from tests.controlplane.plane import ControlPlane
from tests.controlplane.processes import eventually

Manifest = dict[str, Any]
Quotas = Mapping[str, Mapping[str, Any]]
"""By flavor and resource: a quantity, or a mapping with `nominalQuota` and limits."""

GROUP: Final = "kueue.x-k8s.io"
QUEUES: Final = f"/apis/{GROUP}/v1beta2/clusterqueues"
COHORTS: Final = f"/apis/{GROUP}/v1beta2/cohorts"
PROVIDERS: Final = f"/apis/{GROUP}/v1alpha1/capacityproviders"
ORCHESTRATORS: Final = f"/apis/{GROUP}/v1alpha1/dynamicquotaorchestrators"
NODES: Final = "/api/v1/nodes"
PODS: Final = "/api/v1/namespaces/default/pods"
EVENTS: Final = "/api/v1/namespaces/default/events"
DECLARED: Final = "kueue-dqo.dev/declared-quotas"
APPLIED: Final = "kueue-dqo.dev/applied-quotas"


def groups(quotas: Quotas) -> list[Manifest]:
    """One resource group with these quotas; none for none."""
    if not quotas:
        return []
    covered = list(dict.fromkeys(resource for resources in quotas.values() for resource in resources))
    return [
        {
            "coveredResources": covered,
            "flavors": [
                {
                    "name": flavor,
                    "resources": [
                        {"name": resource, **(quota if isinstance(quota, Mapping) else {"nominalQuota": quota})}
                        for resource, quota in resources.items()
                    ],
                }
                for flavor, resources in quotas.items()
            ],
        }
    ]


def flavor(name: str, labels: Mapping[str, str] | None = None) -> Manifest:
    """A ResourceFlavor of the nodes with these labels; without any, it matches every node."""
    spec = {"nodeLabels": dict(labels)} if labels else {}
    return {"apiVersion": f"{GROUP}/v1beta2", "kind": "ResourceFlavor", "metadata": {"name": name}, "spec": spec}


def queue(name: str, quotas: Quotas, *, cohort: str = "", **spec: Any) -> Manifest:
    """A ClusterQueue that takes Workloads from every namespace."""
    parent = {"cohortName": cohort} if cohort else {}
    return {
        "apiVersion": f"{GROUP}/v1beta2",
        "kind": "ClusterQueue",
        "metadata": {"name": name},
        "spec": {"namespaceSelector": {}, "resourceGroups": groups(quotas), **parent, **spec},
    }


def cohort(name: str, quotas: Quotas | None = None, *, parent: str = "") -> Manifest:
    """A Cohort."""
    above = {"parentName": parent} if parent else {}
    return {
        "apiVersion": f"{GROUP}/v1beta2",
        "kind": "Cohort",
        "metadata": {"name": name},
        "spec": {"resourceGroups": groups(quotas or {}), **above},
    }


def provider(
    name: str, *flavors: str, controller: str = "example.com/by-hand", parameters: Manifest | None = None
) -> Manifest:
    """A CapacityProvider without a status; `parameters` is the object that it names."""
    spec: Manifest = {"controllerName": controller, "orchestratedFlavors": [{"name": each} for each in flavors]}
    if parameters is not None:
        group, _, _ = parameters["apiVersion"].rpartition("/")
        spec["parameters"] = {"apiGroup": group, "kind": parameters["kind"], "name": parameters["metadata"]["name"]}
    return {
        "apiVersion": f"{GROUP}/v1alpha1",
        "kind": "CapacityProvider",
        "metadata": {"name": name},
        "spec": spec,
    }


def orchestrator(name: str, *providers: str, root: tuple[str, str] | None = None, multiplier: str = "1") -> Manifest:
    """A DynamicQuotaOrchestrator; without a root, discovery only."""
    entries = [{"name": each, "effectiveCapacityMultiplier": multiplier} for each in providers]
    spec: Manifest = {"capacityDiscovery": {"providers": entries}}
    if root is not None:
        spec["capacityDistribution"] = {"subtreeRootQuotaRef": {"kind": root[0], "name": root[1]}}
    return {
        "apiVersion": f"{GROUP}/v1alpha1",
        "kind": "DynamicQuotaOrchestrator",
        "metadata": {"name": name},
        "spec": spec,
    }


def publish(
    plane: ControlPlane,
    name: str,
    capacity: Mapping[str, Mapping[str, Any]],
    *,
    status: str = "True",
    reason: str = "Synchronized",
) -> None:
    """Writes a provider's status as its controller would: capacity and condition, for the present generation."""
    generation = plane.admin.get(f"{PROVIDERS}/{name}")["metadata"]["generation"]
    condition = {
        "type": "CapacitySynchronized",
        "status": status,
        "reason": reason,
        "message": "by hand",
        "observedGeneration": generation,
        "lastTransitionTime": "2026-01-31T12:00:00Z",
    }
    flavors = [{"name": each, "resources": dict(resources)} for each, resources in capacity.items()]
    body = {"status": {"capacity": {"flavors": flavors}, "conditions": [condition]}}
    plane.admin.patch(f"{PROVIDERS}/{name}/status", body, manager="by-hand")


def add_node(
    plane: ControlPlane,
    name: str,
    allocatable: Mapping[str, Any],
    *,
    labels: Mapping[str, str],
    ready: str = "True",
    since: str = "2026-01-31T12:00:00Z",
) -> None:
    """Creates a node as its kubelet and its cloud would, or changes what it reports.

    `since` it is Ready, or is not.
    """
    condition = {
        "type": "Ready",
        "status": ready,
        "reason": "KubeletReady" if ready == "True" else "KubeletNotReady",
        "message": "",
        "lastHeartbeatTime": since,
        "lastTransitionTime": since,
    }
    status = {"allocatable": dict(allocatable), "capacity": dict(allocatable), "conditions": [condition]}
    metadata = {"name": name, "labels": dict(labels)}
    plane.admin.apply({"apiVersion": "v1", "kind": "Node", "metadata": metadata, "status": status})
    # The API server gives every new node the taint not-ready; there is no controller that would take it away.
    plane.admin.patch(f"{NODES}/{name}", {"spec": {"taints": None}})


def add_pod(plane: ControlPlane, name: str, node: str, requests: Mapping[str, Any], *, managed: bool) -> None:
    """Creates a pod that is bound to the node and pending there; `managed`: one of Kueue's."""
    account = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "default", "namespace": "default"}}
    container = {"name": "main", "image": "none", "resources": {"requests": dict(requests), "limits": dict(requests)}}
    metadata = {"name": name, "namespace": "default", "labels": {f"{GROUP}/podset": "main"} if managed else {}}
    spec = {"nodeName": node, "containers": [container]}
    plane.admin.apply(account, {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec})


def end_pod(plane: ControlPlane, name: str) -> None:
    """The pod has run to its end; the object stays."""
    plane.admin.patch(f"{PODS}/{name}/status", {"status": {"phase": "Succeeded"}})


def nominal(obj: Manifest, *, road: str = "spec") -> dict[str, int]:
    """What a queue or Cohort has in force, by `flavor/resource`, in nanos."""
    held = obj["spec"].get("resourceGroups") or []
    effective = obj.get("status", {}).get("effectiveQuotas")
    if road == "status" and effective is not None:
        held = effective.get("resourceGroups") or []
    return {
        f"{each['name']}/{resource['name']}": Quantity.of(resource["nominalQuota"]).nanos
        for group in held
        for each in group["flavors"]
        for resource in group_resources(each)
    }


def group_resources(each: Manifest) -> list[Manifest]:
    """The resources of a flavor in a resource group."""
    return list(each.get("resources") or [])


def cores(plane: ControlPlane, name: str, *, road: str = "spec", pair: str = "default/cpu") -> float:
    """The nominal quota of a ClusterQueue that is in force, in whole units."""
    return nominal(plane.admin.get(f"{QUEUES}/{name}"), road=road).get(pair, 0) / NANOS


def condition(plane: ControlPlane, kind: str = "Distributed", name: str = "dqo") -> Manifest:
    """A condition of an orchestrator; empty for none."""
    conditions = plane.admin.get(f"{ORCHESTRATORS}/{name}").get("status", {}).get("conditions") or []
    return next((each for each in conditions if each["type"] == kind), {})


def wait_for_quotas(plane: ControlPlane, road: str = "spec", pair: str = "default/cpu", **wanted: float) -> None:
    """Until each ClusterQueue (underscores for dashes in its name) has its quota in force."""

    def present() -> dict[str, float]:
        return {name: cores(plane, name.replace("_", "-"), road=road, pair=pair) for name in wanted}

    eventually(lambda: present() == wanted, f"quotas {wanted}")


def wait_for_condition(
    plane: ControlPlane, status: str, reason: str, kind: str = "Distributed", name: str = "dqo"
) -> None:
    """Until an orchestrator's condition has this status and reason, for the present generation."""

    def holds() -> bool:
        generation = plane.admin.get(f"{ORCHESTRATORS}/{name}")["metadata"]["generation"]
        found = condition(plane, kind, name)
        return (found.get("status"), found.get("reason"), found.get("observedGeneration")) == (
            status,
            reason,
            generation,
        )

    eventually(holds, f"{kind} of {name} is {status} {reason}")
