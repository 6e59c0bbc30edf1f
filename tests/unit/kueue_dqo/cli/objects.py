"""Small objects for manifests, as plain dicts, and how to read them as `dqo` reads standard input."""

from __future__ import annotations

import io
import json
import sys
from typing import Any
from unittest import mock

from kueue_dqo.api.quantity import Quantity
from kueue_dqo.cli.manifests import STANDARD_INPUT, read_manifests
from kueue_dqo.cli.objects import Manifests

Plain = dict[str, Any]

LIMIT = Quantity.of("1Gi")
QUEUES = "kueue.x-k8s.io/v1beta2"
OURS = "kueue.x-k8s.io/v1alpha1"
QUOTA_FIELD = "spec.resourceGroups[0].flavors[0].resources[0].nominalQuota"


def queue(name: object = "a", quota: object = 1, *, resource: str = "cpu", cohort: str = "", **more: object) -> Plain:
    """A ClusterQueue with one quota in flavor `f`; `more` goes into its spec."""
    quotas = [{"name": "f", "resources": [{"name": resource, "nominalQuota": quota}]}]
    spec: Plain = {"resourceGroups": [{"coveredResources": [resource], "flavors": quotas}], **more}
    if cohort:
        spec["cohortName"] = cohort
    return {
        "apiVersion": QUEUES,
        "kind": "ClusterQueue",
        "metadata": {"name": name, "uid": f"uid-{name}"},
        "spec": spec,
    }


def cohort(name: str) -> Plain:
    """A Cohort without quota of its own."""
    return {"apiVersion": QUEUES, "kind": "Cohort", "metadata": {"name": name, "uid": f"uid-{name}"}}


def provider(name: str = "p", *, status: str = "True", reason: str = "Synchronized", **resources: object) -> Plain:
    """A CapacityProvider of another controller that reports flavor `f`."""
    condition = {"type": "CapacitySynchronized", "status": status, "reason": reason, "observedGeneration": 1}
    return {
        "apiVersion": OURS,
        "kind": "CapacityProvider",
        "metadata": {"name": name, "generation": 1},
        "spec": {"controllerName": "example.com/by-hand", "orchestratedFlavors": [{"name": "f"}]},
        "status": {
            "capacity": {"flavors": [{"name": "f", "resources": resources or {"cpu": "4"}}]},
            "conditions": [condition],
        },
    }


def orchestrator(root: str = "ClusterQueue/a", *providers: str) -> Plain:
    """A DynamicQuotaOrchestrator that splits what the providers (`p`) report."""
    kind, _, name = root.partition("/")
    return {
        "apiVersion": OURS,
        "kind": "DynamicQuotaOrchestrator",
        "metadata": {"name": "o", "generation": 1},
        "spec": {
            "capacityDiscovery": {"providers": [{"name": each} for each in providers or ("p",)]},
            "capacityDistribution": {"subtreeRootQuotaRef": {"kind": kind, "name": name}},
        },
    }


def node(name: str) -> Plain:
    """A Node."""
    return {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}}


def listed(*items: object, api_version: str = "v1", kind: str = "List") -> Plain:
    """A List of the items."""
    return {"apiVersion": api_version, "kind": kind, "items": list(items)}


def as_json(*documents: object) -> bytes:
    """The documents one after the other, each on a line of its own."""
    return b"".join(json.dumps(document).encode() + b"\n" for document in documents)


def read(data: bytes, limit: Quantity = LIMIT) -> Manifests:
    """What `-f -` makes of the data."""
    with mock.patch.object(sys, "stdin", io.TextIOWrapper(io.BytesIO(data))):
        return read_manifests((STANDARD_INPUT,), limit)
