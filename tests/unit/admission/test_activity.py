"""Whether queues admit at all, in Kueue's words."""

from __future__ import annotations

from typing import Any

import pytest

from admission.activity import cluster_queue_activity, local_queue_activity
from admission.world import Item, World
from tests.unit.admission.odd_jobs import Manifest
from tests.unit.admission.test_jobs import decoded


def _object(kind: str, name: str, **fields: Any) -> Manifest:
    meta = {"name": name} | ({"namespace": "a"} if kind == "LocalQueue" else {})
    return {"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": kind, "metadata": meta, **fields}


def _check(name: str, controller: str = "example.com/approval", status: str = "True") -> Manifest:
    conditions = [{"type": "Active", "status": status, "reason": "r", "message": ""}]
    return _object("AdmissionCheck", name, spec={"controllerName": controller}, status={"conditions": conditions})


def _queue(*checks: Manifest, flavors: tuple[str, ...] = ("f", "g"), **spec: Any) -> Manifest:
    quota = [{"name": "cpu", "nominalQuota": "1"}]
    group = {"coveredResources": ["cpu"], "flavors": [{"name": name, "resources": quota} for name in flavors]}
    strategy = {"admissionChecksStrategy": {"admissionChecks": list(checks)}} if checks else {}
    return _object("ClusterQueue", "q", spec={"resourceGroups": [group], **strategy, **spec})


MULTI, PROVISIONING = "kueue.x-k8s.io/multikueue", "kueue.x-k8s.io/provisioning-request"
F, G = _object("ResourceFlavor", "f", spec={}), _object("ResourceFlavor", "g", spec={})
TOPOLOGICAL = _object("ResourceFlavor", "g", spec={"topologyName": "racks", "nodeLabels": {"a": "b"}})
CANNOT = "Can't admit new workloads: "

CASES = [
    pytest.param([_queue(), F, G], "Ready", "Can admit new workloads", id="ready"),
    pytest.param([_queue(stopPolicy="Hold"), F, G], "Stopped", f"{CANNOT}is stopped.", id="held"),
    pytest.param([_queue(stopPolicy="HoldAndDrain"), F, G], "Stopped", f"{CANNOT}is stopped.", id="drained"),
    pytest.param([_queue()], "FlavorNotFound", f"{CANNOT}references missing ResourceFlavor(s): f,g.", id="no flavors"),
    pytest.param([_queue({"name": "p"}, {"name": "o"}), F, G], "AdmissionCheckNotFound",
                 f"{CANNOT}references missing AdmissionCheck(s): o,p.", id="no checks"),
    pytest.param([_queue({"name": "p"}), F, G, _check("p", status="False")], "AdmissionCheckInactive",
                 f"{CANNOT}references inactive AdmissionCheck(s): p.", id="an inactive check"),
    pytest.param([_queue({"name": "p"}), F, G, _object("AdmissionCheck", "p", spec={"controllerName": "c"})],
                 "AdmissionCheckInactive", f"{CANNOT}references inactive AdmissionCheck(s): p.",
                 id="a check unheard of"),
    pytest.param([_queue({"name": "p"}), F, G, _check("p")], "Ready", "Can admit new workloads", id="an active check"),
    pytest.param([_queue({"name": "p"}, stopPolicy="Hold"), F], "Stopped",
                 f"{CANNOT}is stopped, references missing ResourceFlavor(s): g, "
                 "references missing AdmissionCheck(s): p.",
                 id="three reasons"),
    pytest.param([_queue({"name": "m"}, {"name": "n"}), F, G, _check("m", MULTI), _check("n", MULTI)],
                 "MultipleMultiKueueAdmissionChecks",
                 f"{CANNOT}Cannot use multiple MultiKueue AdmissionChecks on the same ClusterQueue, found: m,n.",
                 id="two of multikueue"),
    pytest.param([_queue({"name": "m", "onFlavors": ["f"]}), F, G, _check("m", MULTI)],
                 "MultiKueueAdmissionCheckAppliedPerFlavor",
                 f"{CANNOT}Cannot specify MultiKueue AdmissionCheck per flavor, found: m.",
                 id="multikueue on a flavor"),
    pytest.param([_queue({"name": "m", "onFlavors": ["g", "f"]}), F, G, _check("m", MULTI)], "Ready",
                 "Can admit new workloads", id="multikueue on every flavor"),
    pytest.param([_queue({"name": "m"}, {"name": "p"}), F, G, _check("m", MULTI), _check("p", PROVISIONING)],
                 "MultiKueueWithProvisioningRequest",
                 f"{CANNOT}Cannot use both MultiKueue and ProvisioningRequest AdmissionChecks together, found: m, p.",
                 id="multikueue and provisioning"),
    pytest.param([_queue(), F, TOPOLOGICAL], "TopologyNotFound",
                 f'{CANNOT}there is no Topology "racks" for TAS flavor "g".', id="no topology"),
    pytest.param([_queue(), F, TOPOLOGICAL, _object("Topology", "racks")], "Ready", "Can admit new workloads",
                 id="a topology"),
]  # fmt: skip


def _world(objects: list[Manifest]) -> World:
    world = World()
    world.apply([Item(each["kind"], decoded(each)) for each in objects])
    return world


@pytest.mark.parametrize(("objects", "reason", "message"), CASES)
def test_a_cluster_queue_says_why_it_does_not_admit(objects: list[Manifest], reason: str, message: str) -> None:
    """The first reason, and all messages."""
    world = _world(objects)
    found = cluster_queue_activity(world, world.of_kind("ClusterQueue")["q"])
    assert found == (reason == "Ready", reason, message)


@pytest.mark.parametrize(
    ("spec", "reason"),
    [
        ({"clusterQueue": "q"}, "Ready"),
        ({"clusterQueue": "q", "stopPolicy": "Hold"}, "Stopped"),
        ({"clusterQueue": "other"}, "ClusterQueueDoesNotExist"),
        ({"clusterQueue": "h"}, "ClusterQueueIsInactive"),
    ],
)
def test_a_local_queue_follows_its_cluster_queue(spec: Manifest, reason: str) -> None:
    """Unless it is stopped itself."""
    held = _queue(stopPolicy="Hold") | {"metadata": {"name": "h"}}
    world = _world([_queue(), held, F, G, _object("LocalQueue", "l", spec=spec)])
    found = local_queue_activity(world, world.of_kind("LocalQueue")["a/l"])
    assert (found.is_active, found.reason) == (reason == "Ready", reason)
