"""What makes pods of Deployments and places them on nodes: the real kube-controller-manager and kube-scheduler."""

from __future__ import annotations

import ssl
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any, Final

from tests.controlplane import binaries
from tests.controlplane.plane import ControlPlane
from tests.controlplane.processes import LOOPBACK, Server, free_port, http_status

CONTROLLERS: Final = (
    "clusterrole-aggregation-controller",
    "daemonset-controller",
    "deployment-controller",
    "disruption-controller",
    "endpointslice-controller",
    "garbage-collector-controller",
    "job-controller",
    "namespace-controller",
    "replicaset-controller",
    "root-ca-certificate-publisher-controller",
    "serviceaccount-controller",
    "serviceaccount-token-controller",
    "validatingadmissionpolicy-status-controller",
)
"""Those that an installation has to do with. That of nodes' lifecycle is not among them: nobody renews their Leases."""
_CAPACITY: Final = {"cpu": "8", "memory": "32Gi", "pods": "110", "ephemeral-storage": "100Gi"}
_NOT_READY: Final = "node.kubernetes.io/not-ready"


def start_controllers(plane: ControlPlane) -> None:
    """Adds both to the servers of a control plane. Returns when they are ready; their work begins a moment later.

    From then on, Deployments have pods, namespaces can be deleted, and what has lost its owner is removed. A pod runs
    where a `tests.controlplane.kubelet.Kubelet` keeps its node.
    """
    servers = (_controller_manager(plane), _scheduler(plane))
    for server in servers:
        server.launch()
    for server in servers:
        server.wait_ready()


def add_node(
    plane: ControlPlane,
    name: str,
    *,
    labels: Mapping[str, str] | None = None,
    capacity: Mapping[str, str] | None = None,
) -> None:
    """A Linux node that is Ready and stays so, to which pods can be bound.

    Args:
        plane: the control plane.
        name: of the node.
        labels: beside those that its kubelet sets, of its name and of its operating system.
        capacity: laid over 8 CPUs, 32 GiB and 110 pods, all of it allocatable.
    """
    amounts = {**_CAPACITY, **(capacity or {})}
    node = {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": dict(labels or {})},
        "status": {
            "capacity": amounts,
            "allocatable": amounts,
            "conditions": [{"type": "Ready", "status": "True", "reason": "KubeletReady"}],
        },
    }
    plane.admin.apply(node)
    untaint(plane, name)


def untaint(plane: ControlPlane, name: str) -> None:
    """Takes the taint not-ready away, which the API server gives every new node: no controller would do it here."""
    path = f"/api/v1/nodes/{name}"
    taints: list[dict[str, Any]] = plane.admin.get(path)["spec"].get("taints", [])
    plane.admin.patch(path, {"spec": {"taints": [each for each in taints if each["key"] != _NOT_READY]}})


def _controller_manager(plane: ControlPlane) -> Server:
    return _server(
        plane,
        binaries.KUBE_CONTROLLER_MANAGER,
        f"--controllers={','.join(CONTROLLERS)}",
        f"--service-account-private-key-file={plane.key}",
        f"--root-ca-file={plane.ca}",
        "--authentication-tolerate-lookup-failure",
        "--kube-api-qps=200",
        "--kube-api-burst=400",
    )


def _scheduler(plane: ControlPlane) -> Server:
    return _server(plane, binaries.KUBE_SCHEDULER)


def _server(plane: ControlPlane, program: binaries.Program, *flags: str) -> Server:
    port = free_port()
    command = [
        binaries.find(program),
        f"--kubeconfig={plane.kubeconfig()}",
        "--leader-elect=false",
        f"--bind-address={LOOPBACK}",
        f"--secure-port={port}",
        f"--tls-cert-file={plane.ca}",
        f"--tls-private-key-file={plane.key}",
        "--profiling=false",
        *flags,
    ]
    tls = ssl.create_default_context(cafile=str(plane.ca))
    return plane.new_server(program.name, command, ready=lambda: http_status(port, "/healthz", tls) == HTTPStatus.OK)
