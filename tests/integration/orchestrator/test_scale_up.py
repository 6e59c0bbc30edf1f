"""A quota made of present nodes, on a flavor whose nodes are provisioned on request, is told of."""

from __future__ import annotations

from tests.controlplane.plane import ControlPlane
from tests.controlplane.processes import eventually
from tests.integration.daemons import start_orchestrator
from tests.integration.objects import (
    GROUP,
    orchestrator,
    provider,
    publish,
    queue,
    wait_for_condition,
)

CHECK = {
    "apiVersion": f"{GROUP}/v1beta2",
    "kind": "AdmissionCheck",
    "metadata": {"name": "capacity"},
    "spec": {"controllerName": "kueue.x-k8s.io/provisioning-request"},
}


def test_a_quota_that_blocks_a_scale_up_is_told_once(plane: ControlPlane) -> None:
    """And not of a flavor whose capacity comes from elsewhere."""
    strategy = {"admissionChecks": [{"name": "capacity"}]}
    quotas = {"nodes": {"cpu": 10}, "contract": {"cpu": 10}}
    plane.admin.apply(
        CHECK,
        queue("team-a", quotas, admissionChecksStrategy=strategy),
        provider("inventory", "nodes", controller="kueue-dqo.dev/node-inventory"),
        provider("by-hand", "contract"),
        orchestrator("dqo", "inventory", "by-hand", root=("ClusterQueue", "team-a")),
    )
    start_orchestrator(plane)
    publish(plane, "by-hand", {"contract": {"cpu": "4"}})
    for cpu in ("4", "6"):
        publish(plane, "inventory", {"nodes": {"cpu": cpu}})
        wait_for_condition(plane, "True", "QuotasDistributed")

    def told() -> list[str]:
        events = plane.admin.items("/api/v1/namespaces/default/events")
        return [each["message"] for each in events if each["reason"] == "QuotaBlocksScaleUp"]

    eventually(lambda: bool(told()), "an Event")
    (message,) = told()
    assert message.startswith("The quota of flavor nodes comes from nodes")
    assert "AdmissionCheck capacity" in message
