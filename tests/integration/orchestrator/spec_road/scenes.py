"""What the tests of the spec road share: two teams, Workloads, declarations, what the daemon told, kubectl."""

from __future__ import annotations

import json
import subprocess
from typing import Any, Final

from kueue_dqo.api.quantity import NANOS
from tests.controlplane.admin import JSON_PATCH
from tests.controlplane.plane import ControlPlane
from tests.controlplane.processes import eventually
from tests.integration.daemons import Daemon, start_orchestrator
from tests.integration.objects import (
    APPLIED,
    DECLARED,
    GROUP,
    ORCHESTRATORS,
    QUEUES,
    Manifest,
    Quotas,
    cohort,
    condition,
    flavor,
    nominal,
    orchestrator,
    provider,
    publish,
    queue,
    wait_for_condition,
    wait_for_quotas,
)

EVENTS: Final = "/api/v1/namespaces/default/events"
WORKLOADS: Final = f"/apis/{GROUP}/v1beta2/namespaces/default/workloads"
TEAM_A: Final = f"{QUEUES}/team-a"
TEAM_B: Final = f"{QUEUES}/team-b"
OF_A: Final[Quotas] = {"default": {"cpu": "10", "memory": "20Gi"}}
OF_B: Final[Quotas] = {"default": {"cpu": "30", "memory": "20Gi"}}


def two_teams(plane: ControlPlane) -> None:
    """Declared: 10 and 30 cpu, 20Gi each. There are 24 cpu and 20Gi, which makes 6 and 18 cpu, 10Gi each."""
    plane.admin.apply(flavor("default"), cohort("teams"), manager="git")
    plane.admin.apply(
        queue("team-a", OF_A, cohort="teams"), queue("team-b", OF_B, cohort="teams"), manager="kubectl-create"
    )
    plane.admin.apply(provider("pool", "default"), orchestrator("dqo", "pool", root=("Cohort", "teams")))
    capacity(plane, 24)


def capacity(plane: ControlPlane, cpu: float, memory: str = "20Gi") -> None:
    """Publishes what there is."""
    publish(plane, "pool", {"default": {"cpu": str(cpu), "memory": memory}})


def start_adopted(plane: ControlPlane) -> Daemon:
    """Starts the orchestrator, and returns when it has written the quotas of both teams."""
    daemon = start_orchestrator(plane)
    wait_for_quotas(plane, team_a=6, team_b=18)
    wait_for_condition(plane, "True", "QuotasDistributed")
    return daemon


def wait_for_computation(plane: ControlPlane, cpu: int) -> None:
    """Until a pass has seen this capacity, whether or not it writes quotas."""

    def is_seen() -> bool:
        found = plane.admin.get(f"{ORCHESTRATORS}/dqo").get("status", {}).get("effectiveCapacity") or {"flavors": []}
        return any(str(each["resources"].get("cpu")) == str(cpu) for each in found["flavors"])

    eventually(is_seen, f"effective capacity of {cpu} cpu")


def wait_for_message(plane: ControlPlane, reason: str, *parts: str) -> str:
    """Until Distributed is False for this reason, and its message holds these parts. Returns the message."""

    def holds() -> bool:
        found = condition(plane)
        return (found.get("status"), found.get("reason")) == ("False", reason) and all(
            part in found["message"] for part in parts
        )

    eventually(holds, f"Distributed is False {reason} with {parts}")
    return str(condition(plane)["message"])


# --- Workloads -------------------------------------------------------------------------------------------------------


def local_queue(cluster_queue: str) -> Manifest:
    """A LocalQueue of the same name in the namespace default."""
    return {
        "apiVersion": f"{GROUP}/v1beta2",
        "kind": "LocalQueue",
        "metadata": {"name": cluster_queue, "namespace": "default"},
        "spec": {"clusterQueue": cluster_queue},
    }


def submit(plane: ControlPlane, name: str, amount: str, *, to: str, resource: str = "cpu") -> None:
    """Creates a Workload of one pod."""
    container = {"name": "main", "image": "none", "resources": {"requests": {resource: amount}}}
    template = {"spec": {"restartPolicy": "Never", "containers": [container]}}
    plane.admin.create(
        {
            "apiVersion": f"{GROUP}/v1beta2",
            "kind": "Workload",
            "metadata": {"name": name, "namespace": "default"},
            "spec": {"queueName": to, "podSets": [{"name": "main", "count": 1, "template": template}]},
        }
    )


def has_condition(plane: ControlPlane, name: str, kind: str, status: str = "True") -> bool:
    """Whether a Workload has the condition with this status."""
    found = plane.admin.get(f"{WORKLOADS}/{name}").get("status", {}).get("conditions", [])
    return any((each["type"], each["status"]) == (kind, status) for each in found)


def wait_admitted(plane: ControlPlane, name: str) -> None:
    """Until the Workload is admitted."""
    eventually(lambda: has_condition(plane, name, "Admitted"), f"{name} is admitted")


def wait_refused(plane: ControlPlane, name: str) -> None:
    """Until the scheduler has looked at the Workload and has said that it does not fit."""
    eventually(lambda: has_condition(plane, name, "QuotaReserved", "False"), f"{name} waits")
    assert not has_condition(plane, name, "Admitted")


# --- queues ----------------------------------------------------------------------------------------------------------


def declaration(plane: ControlPlane, path: str) -> list[Manifest]:
    """The resource groups in the annotation, as they are written there."""
    found: list[Manifest] = json.loads(plane.admin.get(path)["metadata"]["annotations"][DECLARED])
    return found


def declared(plane: ControlPlane, path: str) -> dict[str, float]:
    """The nominal quotas that are declared, by `flavor/resource`, in whole units."""
    return _units({"spec": {"resourceGroups": declaration(plane, path)}})


def in_force(plane: ControlPlane, path: str) -> dict[str, float]:
    """The nominal quotas of the spec, by `flavor/resource`, in whole units."""
    return _units(plane.admin.get(path))


def noted(plane: ControlPlane, path: str) -> dict[str, str]:
    """Both annotations of ours, where they are there."""
    found = plane.admin.get(path)["metadata"].get("annotations", {})
    return {name: found[name] for name in (DECLARED, APPLIED) if name in found}


def annotate(plane: ControlPlane, path: str, values: dict[str, Any]) -> None:
    """Sets annotations, or with None takes them away."""
    plane.admin.patch(path, {"metadata": {"annotations": values}}, manager="kubectl-annotate")


def set_quota(plane: ControlPlane, path: str, field: str, value: Any, *, manager: str = "kubectl-patch") -> None:
    """A JSON patch of one field of the first resource of the first flavor."""
    pointer = f"/spec/resourceGroups/0/flavors/0/resources/0/{field}"
    plane.admin.patch(path, [{"op": "add", "path": pointer, "value": value}], JSON_PATCH, manager=manager)


def _units(obj: Manifest) -> dict[str, float]:
    return {pair: nanos / NANOS for pair, nanos in nominal(obj).items()}


# --- what was told, and kubectl --------------------------------------------------------------------------------------


def told(plane: ControlPlane, reason: str, name: str) -> list[str]:
    """The messages of the Events about an object."""
    selector = f"reason={reason},involvedObject.name={name}"
    return [each["message"] for each in plane.admin.items(EVENTS, fieldSelector=selector)]


def wait_told(plane: ControlPlane, reason: str, name: str) -> str:
    """Until there is such an Event; its message."""
    eventually(lambda: bool(told(plane, reason, name)), f"an Event {reason} about {name}")
    return told(plane, reason, name)[0]


def kubectl(plane: ControlPlane, *arguments: str, manifest: Manifest | None = None, editor: str = "") -> str:
    """Runs the real kubectl as an administrator, with the manifest on standard input. Raises CalledProcessError."""
    done = subprocess.run(
        ["env", f"KUBECONFIG={plane.kubeconfig()}", f"KUBE_EDITOR={editor}", "kubectl", *arguments],
        input=json.dumps(manifest) if manifest is not None else "",
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise subprocess.CalledProcessError(done.returncode, done.args, done.stdout, done.stderr)
    return done.stdout
