"""A cluster to install on: nodes that run pods, and an admin's commands."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Final, NamedTuple

from tests.controlplane.container import Container
from tests.controlplane.kubelet import Kubelet
from tests.controlplane.plane import ControlPlane
from tests.controlplane.processes import eventually
from tests.integration.lifecycle.inventory import inventory
from tests.manifests.rendered import NAMESPACE

SYSTEM: Final = ("system-1", "system-2")
POOL: Final = {"example.com/pool": "batch"}
"""The label of these two nodes."""
GPU_NODE: Final = "gpu-1"
GPUS: Final = 2
LABEL: Final = "app.kubernetes.io/part-of=kueue-dqo"
_KNOWS_WHO_LEADS: Final = ("leader election won", "standing by")
_INSTALLED: Final = (
    *("deployments.apps", "daemonsets.apps", "clusterroles", "clusterrolebindings", "roles", "rolebindings"),
    *("validatingadmissionpolicies", "validatingadmissionpolicybindings", "priorityclasses", "namespaces"),
)


class Cluster(NamedTuple):
    """A control plane with its kubelet."""

    plane: ControlPlane
    kubelet: Kubelet

    def run(self, *command: str | Path) -> str:
        """What a command prints that talks to this cluster. It must succeed, and warn of nothing."""
        environment = os.environ | {"KUBECONFIG": str(self.plane.kubeconfig())}
        done = subprocess.run(command, check=False, capture_output=True, text=True, env=environment)
        assert (done.returncode, done.stderr) == (0, ""), f"{command}: {done.stderr}"
        return done.stdout

    def wait_at_work(self, *objects: dict[str, Any]) -> None:
        """Until all replicas of each workload are ready, of this template alone, and know who leads.

        Fails where anything was refused: a request of theirs, or a pod.
        """
        for workload in objects:
            path = self.plane.admin.path_of(workload)
            eventually(lambda path=path: self._is_rolled_out(path), f"{path} is rolled out")  # type: ignore[misc]  # mypy infers no type for a default
            containers = self.containers(workload)
            assert containers, path
            for name, container in containers.items():
                if workload["kind"] == "Deployment":
                    eventually(lambda one=container: _knows_who_leads(one), f"{name} knows who leads")  # type: ignore[misc]  # mypy infers no type for a default
                assert "forbidden" not in log(container).lower(), name
        refused = [each for each in self.plane.admin.items("/api/v1/events") if "forbidden" in each["message"].lower()]
        assert [each["message"] for each in refused] == []

    def containers(self, workload: dict[str, Any]) -> dict[str, Container]:
        """Those of a workload's pods that stay, by the pod's name."""
        running = self.kubelet.containers(NAMESPACE)
        pods = (each["metadata"] for each in self.pods(workload))
        return {each["name"]: running[each["name"]] for each in pods if "deletionTimestamp" not in each}

    def pods(self, workload: dict[str, Any]) -> list[dict[str, Any]]:
        """A workload's pods."""
        labels = workload["spec"]["selector"]["matchLabels"]
        selector = ",".join(f"{key}={value}" for key, value in labels.items())
        return self.plane.admin.items(f"/api/v1/namespaces/{NAMESPACE}/pods", labelSelector=selector)

    def left(self) -> list[str]:
        """What an installation has left, but for definitions: kinds and names."""
        printed = self.run(
            "kubectl", "get", ",".join(_INSTALLED), "-A", "-l", LABEL, "-o", "name", "--ignore-not-found"
        )
        return printed.split()

    def clear(self) -> None:
        """Removes what is left of an installation, whoever has installed it, and its definitions."""
        delete = ("kubectl", "delete", "-A", "-l", LABEL, "--ignore-not-found")
        self.run(*delete, ",".join(_INSTALLED[:2]))
        # Pods have a grace, which the namespace would be waited for, whether it is used or not.
        eventually(lambda: not self.kubelet.containers(NAMESPACE), "no pod is left")
        inventory(self.plane)  # a definition that nobody has read since it was changed would take minutes to go
        self.run(*delete, ",".join([*_INSTALLED[2:], "customresourcedefinitions"]))
        self.run("kubectl", "delete", "namespace", NAMESPACE, "--ignore-not-found")  # by hand it has no label
        self.plane.admin.forget_resources()

    def _is_rolled_out(self, path: str) -> bool:
        found = self.plane.admin.get(path)
        status = found.get("status", {})
        if found["metadata"]["generation"] != status.get("observedGeneration"):
            return False
        if found["kind"] == "DaemonSet":
            wanted = status["desiredNumberScheduled"]
            names: Iterable[str] = ("currentNumberScheduled", "updatedNumberScheduled", "numberReady")
        else:
            wanted = found["spec"]["replicas"]
            names = ("replicas", "updatedReplicas", "availableReplicas")
        return bool(wanted) and all(status.get(name) == wanted for name in names)


def log(container: Container) -> str:
    """What the process that runs has printed."""
    assert container.server is not None
    return container.server.log.read_text(encoding="utf-8", errors="replace")


def _knows_who_leads(container: Container) -> bool:
    return any(said in log(container) for said in _KNOWS_WHO_LEADS)
