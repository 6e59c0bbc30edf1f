"""What stands in a test's cluster, and users with few rights."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from tests.controlplane.admin import JSON_PATCH
from tests.controlplane.plane import ControlPlane

Plain = dict[str, Any]

QUEUES: Final = "kueue.x-k8s.io/v1beta2"
DQO: Final = "kueue.x-k8s.io/v1alpha1"
ORCHESTRATOR_MANAGER: Final = "kueue-dqo-orchestrator"
LABELS: Final = {"app.kubernetes.io/part-of": "kueue-dqo"}
"""What carries it is removed after a test."""
EARLIER: Final = "2026-01-31T12:00:00Z"


def groups(cpu: str) -> list[Plain]:
    """One quota, of cpu in flavor `batch`."""
    resources = [{"name": "cpu", "nominalQuota": cpu}]
    return [{"coveredResources": ["cpu"], "flavors": [{"name": "batch", "resources": resources}]}]


def queue(name: str, cpu: str = "10", *, cohort: str = "") -> Plain:
    spec: Plain = {"resourceGroups": groups(cpu)} | ({"cohortName": cohort} if cohort else {})
    return {"apiVersion": QUEUES, "kind": "ClusterQueue", "metadata": {"name": name}, "spec": spec}


def cohort(name: str) -> Plain:
    return {"apiVersion": QUEUES, "kind": "Cohort", "metadata": {"name": name}, "spec": {}}


def provider(name: str = "p", controller: str = "example.com/by-hand") -> Plain:
    spec = {"controllerName": controller, "orchestratedFlavors": [{"name": "batch"}]}
    return {"apiVersion": DQO, "kind": "CapacityProvider", "metadata": {"name": name}, "spec": spec}


def orchestrator(name: str = "dqo", root: str = "Cohort/teams") -> Plain:
    kind, _, root_name = root.partition("/")
    spec = {
        "capacityDiscovery": {"providers": [{"name": "p"}]},
        "capacityDistribution": {"subtreeRootQuotaRef": {"kind": kind, "name": root_name}},
    }
    return {"apiVersion": DQO, "kind": "DynamicQuotaOrchestrator", "metadata": {"name": name}, "spec": spec}


def stalled(name: str = "dqo", root: str = "Cohort/teams") -> Plain:
    """An orchestrator that has said that it cannot distribute."""
    condition = {
        "type": "Distributed",
        "status": "False",
        "reason": "EffectiveCapacityNotComputed",
        "message": "",
        "observedGeneration": 1,
        "lastTransitionTime": EARLIER,
    }
    return orchestrator(name, root) | {"status": {"conditions": [condition]}}


def effective(cpu: str, owner: str = "dqo", *, kind: str = "DynamicQuotaOrchestrator") -> Plain:
    """Effective quotas, as either road writes them down."""
    ref = {"apiGroup": "kueue.x-k8s.io", "kind": kind, "name": owner}
    return {"orchestratorRef": ref, "resourceGroups": groups(cpu)}


def path_of(obj: Plain, subresource: str = "") -> str:
    plural = {"ClusterQueue": "clusterqueues", "Cohort": "cohorts", "CapacityProvider": "capacityproviders"}
    end = f"/{subresource}" if subresource else ""
    return f"/apis/{obj['apiVersion']}/{plural[obj['kind']]}/{obj['metadata']['name']}{end}"


def write_status(plane: ControlPlane, obj: Plain, quotas: Plain) -> None:
    """What an orchestrator writes on the status road."""
    body = {"status": {"effectiveQuotas": quotas}}
    plane.admin.patch(path_of(obj, "status"), body, manager=ORCHESTRATOR_MANAGER)


def write_spec(plane: ControlPlane, obj: Plain, declared: list[Plain], quotas: Plain) -> None:
    """What an orchestrator writes on the spec road; first another number, so that the spec becomes its own."""
    annotations = {
        "kueue-dqo.dev/declared-quotas": json.dumps(declared),
        "kueue-dqo.dev/applied-quotas": json.dumps(quotas),
    }
    for written in (groups("1"), quotas["resourceGroups"]):
        operations = [
            {"op": "add", "path": "/metadata/annotations", "value": annotations},
            {"op": "add", "path": "/spec/resourceGroups", "value": written},
        ]
        plane.admin.patch(path_of(obj), operations, JSON_PATCH, manager=ORCHESTRATOR_MANAGER)


def user(plane: ControlPlane, name: str, rules: Sequence[Plain]) -> Path:
    """The kubeconfig of a service account that has just these rights in the whole cluster."""
    metadata: Plain = {"name": name, "labels": LABELS}
    rbac = "rbac.authorization.k8s.io"
    plane.admin.apply(
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "default"}},
        {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": metadata | {"namespace": "default"}},
        {"apiVersion": f"{rbac}/v1", "kind": "ClusterRole", "metadata": metadata, "rules": list(rules)},
        {
            "apiVersion": f"{rbac}/v1",
            "kind": "ClusterRoleBinding",
            "metadata": metadata,
            "roleRef": {"apiGroup": rbac, "kind": "ClusterRole", "name": name},
            "subjects": [{"kind": "ServiceAccount", "name": name, "namespace": "default"}],
        },
    )
    return plane.service_account_kubeconfig("default", name)
