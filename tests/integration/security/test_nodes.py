"""What docs/security.md says of root on a node: what the kubelet's credentials are good for, and what not.

The other half of `test_attackers.py`: here refusals come from the Node authorizer and from NodeRestriction, which look
at the pods that run on the node. So each refusal stands beside the same request for what is the node's own.
"""

from __future__ import annotations

from collections.abc import Iterator
from http import HTTPStatus
from typing import Any, Final

import pytest

from tests.controlplane.admin import JSON, MERGE_PATCH, Admin, Refused
from tests.controlplane.cleanup import remove_objects
from tests.controlplane.plane import ControlPlane
from tests.controlplane.processes import eventually
from tests.integration.daemons import NAMESPACE, install

CORE = "/api/v1"
OURS = f"{CORE}/namespaces/{NAMESPACE}"
OWN, OTHER = "n1", "n2"
AGENT, ORCHESTRATOR = "kueue-dqo-nvidia-gpu-agent", "kueue-dqo-orchestrator"
SECRET = "kubeconfig-of-a-worker"  # noqa: S105 - a name

# What Pod Security asks for in our namespace, so that it is not what refuses a pod.
RESTRICTED: Final = {
    "securityContext": {"runAsNonRoot": True, "runAsUser": 65532, "seccompProfile": {"type": "RuntimeDefault"}},
    "containers": [
        {
            "name": "daemon",
            "image": "kueue-dqo",
            "securityContext": {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}},
        }
    ],
}


class Nodes:
    """Two nodes with an agent each; the orchestrator's pod, which mounts a Secret, is on the other one."""

    def __init__(self, plane: ControlPlane) -> None:
        install(plane, "overlays/spec", "base/nvidia-gpu", "base/nvidia-gpu-agent")
        plane.admin.apply(
            *({"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}} for name in (OWN, OTHER)),
            {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": SECRET, "namespace": NAMESPACE}},
        )
        self.plane = plane
        self.agent, self.agent_elsewhere = (self.add_pod(AGENT, node) for node in (OWN, OTHER))
        self.orchestrator_elsewhere = self.add_pod(ORCHESTRATOR, OTHER, SECRET)
        self.attacker = plane.as_node(OWN)
        self.neighbour = plane.as_node(OTHER)
        # The authorizer learns of pods by a watch of its own.
        eventually(lambda: self.token(AGENT, self.agent) == HTTPStatus.CREATED, "the node gets its own pod's token")
        eventually(lambda: _code(self.neighbour, "GET", f"{OURS}/secrets/{SECRET}") == HTTPStatus.OK, "its Secret")

    def add_pod(self, account: str, node: str, secret: str = "") -> str:
        """One that mounts its account's token, as those of the daemons do, and the Secret."""
        volumes = [{"name": "secret", "secret": {"secretName": secret}}] if secret else []
        spec = {**RESTRICTED, "volumes": volumes, "automountServiceAccountToken": True}
        return self.plane.add_pod(NAMESPACE, account, node, spec)

    def token(self, account: str, pod: str = "") -> int:
        """The answer to the attacker who asks for an account's token; a token that is given is thrown away."""
        bound: dict[str, Any] = {}
        if pod:
            uid = self.plane.admin.get(f"{OURS}/pods/{pod}")["metadata"]["uid"]
            bound = {"boundObjectRef": {"apiVersion": "v1", "kind": "Pod", "name": pod, "uid": uid}}
        body = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": bound}
        return _code(self.attacker, "POST", f"{OURS}/serviceaccounts/{account}/token", body)


@pytest.fixture(scope="module")
def nodes(shared_plane: ControlPlane) -> Iterator[Nodes]:
    """On a plane with the authorizer and the admission plugin for nodes, as in every usual cluster."""
    yield Nodes(shared_plane)
    remove_objects(shared_plane)


def _code(client: Admin, method: str, path: str, body: Any = None) -> int:
    """The status of the answer. What is written is a dry run."""
    separator = "&" if "?" in path else "?"
    target = path if method == "GET" else f"{path}{separator}dryRun=All"
    try:
        client.request(method, target, body, content_type=MERGE_PATCH if method == "PATCH" else JSON)
    except Refused as refused:
        return refused.code
    return HTTPStatus.CREATED if method == "POST" else HTTPStatus.OK


def test_a_node_gets_no_token_of_a_pod_elsewhere(nodes: Nodes) -> None:
    """Nor one that is bound to no pod, nor another account's by its own pod. Its own pod's it gets."""
    assert nodes.token(AGENT, nodes.agent) == HTTPStatus.CREATED
    for account, pod in (
        (AGENT, nodes.agent_elsewhere),
        (ORCHESTRATOR, nodes.orchestrator_elsewhere),
        (ORCHESTRATOR, nodes.agent),
        (ORCHESTRATOR, ""),
        (AGENT, ""),
    ):
        assert nodes.token(account, pod) == HTTPStatus.FORBIDDEN, (account, pod)


def test_a_node_reads_no_secret_of_a_pod_elsewhere(nodes: Nodes) -> None:
    """The node that the pod is on does."""
    assert _code(nodes.neighbour, "GET", f"{OURS}/secrets/{SECRET}") == HTTPStatus.OK
    assert _code(nodes.attacker, "GET", f"{OURS}/secrets/{SECRET}") == HTTPStatus.FORBIDDEN


def test_a_node_has_what_a_daemon_on_it_has(nodes: Nodes) -> None:
    """Which is why daemons belong on nodes without tenants' pods: the token, and the Secrets that the pod mounts."""
    pod = nodes.add_pod(ORCHESTRATOR, OWN, SECRET)
    try:
        eventually(lambda: nodes.token(ORCHESTRATOR, pod) == HTTPStatus.CREATED, "the token of the daemon on the node")
        eventually(lambda: _code(nodes.attacker, "GET", f"{OURS}/secrets/{SECRET}") == HTTPStatus.OK, "its Secret")
    finally:
        nodes.plane.admin.request("DELETE", f"{OURS}/pods/{pod}", {"gracePeriodSeconds": 0})


def test_a_node_starts_no_pod_with_an_account_of_ours(nodes: Nodes) -> None:
    """Mirror pods are all that it may create, and these have no account."""
    uid = nodes.plane.admin.get(f"{CORE}/nodes/{OWN}")["metadata"]["uid"]
    owner = {"apiVersion": "v1", "kind": "Node", "name": OWN, "uid": uid, "controller": True}

    def mirror(account: dict[str, str]) -> dict[str, Any]:
        return {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {
                "name": "mirror",
                "annotations": {"kubernetes.io/config.mirror": "x"},
                "ownerReferences": [owner],
            },
            "spec": {**RESTRICTED, "nodeName": OWN, **account},
        }

    assert _code(nodes.attacker, "POST", f"{OURS}/pods", mirror({})) == HTTPStatus.CREATED
    for account in (AGENT, ORCHESTRATOR):
        with_account = mirror({"serviceAccountName": account})
        for pod in (with_account, with_account | {"metadata": {"name": "no-mirror"}}):
            assert _code(nodes.attacker, "POST", f"{OURS}/pods", pod) == HTTPStatus.FORBIDDEN


def test_a_node_changes_no_other_node(nodes: Nodes) -> None:
    """Neither what it has to allocate, nor its labels, nor its taints."""
    path = f"{CORE}/nodes"
    allocatable = {"status": {"allocatable": {"nvidia.com/gpu": "8"}, "capacity": {"nvidia.com/gpu": "8"}}}
    label = {"metadata": {"labels": {"example.com/pool": "batch"}}}
    taint = {"spec": {"taints": [{"key": "example.com/lost", "effect": "NoSchedule"}]}}
    for where, body in (("/status", allocatable), ("", label), ("", taint)):
        code = _code(nodes.attacker, "PATCH", f"{path}/{OTHER}{where}", body)
        assert code == HTTPStatus.FORBIDDEN, body
    assert _code(nodes.attacker, "DELETE", f"{path}/{OTHER}") == HTTPStatus.FORBIDDEN


def test_a_node_changes_what_it_is_itself(nodes: Nodes) -> None:
    """Its `allocatable`, and labels that are not reserved: by those it can move into another flavor."""
    path = f"{CORE}/nodes/{OWN}"
    allocatable = {"status": {"allocatable": {"nvidia.com/gpu": "8"}, "capacity": {"nvidia.com/gpu": "8"}}}
    label = {"metadata": {"labels": {"example.com/pool": "batch"}}}
    assert _code(nodes.attacker, "PATCH", f"{path}/status", allocatable) == HTTPStatus.OK
    assert _code(nodes.attacker, "PATCH", path, label) == HTTPStatus.OK


def test_a_node_gives_itself_no_reserved_label(nodes: Nodes) -> None:
    """Nor takes off the taint that keeps pods away from it."""
    path = f"{CORE}/nodes/{OWN}"
    reserved = {"metadata": {"labels": {"node-restriction.kubernetes.io/pool": "batch"}}}
    taint = {"spec": {"taints": [{"key": "example.com/lost", "effect": "NoSchedule"}]}}
    assert _code(nodes.attacker, "PATCH", path, reserved) == HTTPStatus.FORBIDDEN
    assert _code(nodes.attacker, "PATCH", path, taint) == HTTPStatus.FORBIDDEN


def test_a_node_writes_events_about_anything(nodes: Nodes) -> None:
    """About a ClusterQueue, too: an Event proves nothing, a condition does."""
    event = {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"name": "forged", "namespace": "default"},
        "involvedObject": {"kind": "ClusterQueue", "name": "team-a", "apiVersion": "kueue.x-k8s.io/v1beta2"},
        "reason": "QuotasDistributed",
        "message": "forged",
    }
    assert _code(nodes.attacker, "POST", f"{CORE}/namespaces/default/events", event) == HTTPStatus.CREATED
