"""The controllers, the scheduler and the kubelet together: what an admin types does what it does in any cluster."""

from __future__ import annotations

from collections.abc import Iterator
from http import HTTPStatus
from typing import Any, Final

import pytest

from kueue_dqo import __version__
from tests.controlplane.admin import Refused
from tests.controlplane.controllers import add_node, start_controllers
from tests.controlplane.kubelet import Kubelet
from tests.controlplane.plane import ControlPlane
from tests.controlplane.processes import eventually

NAMESPACE: Final = "pods"
Manifest = dict[str, Any]


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[ControlPlane, Kubelet]]:
    """A control plane with controllers and one node, which a kubelet keeps."""
    with ControlPlane(tmp_path_factory.mktemp("kubelet")) as plane:
        start_controllers(plane)
        add_node(plane, "node-1", labels={"example.com/pool": "blue"})
        plane.admin.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}})
        plane.admin.apply(_account("default"), _account("reader"))
        with Kubelet(plane, ["node-1"]) as kubelet:
            yield plane, kubelet


def _account(name: str) -> Manifest:
    return {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": name, "namespace": NAMESPACE}}


def _pod(name: str, *arguments: str, image: str = "registry.example.com/kueue-dqo:1", **spec: Any) -> Manifest:
    container = {"name": "only", "image": image, "args": list(arguments), **spec.pop("container", {})}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": NAMESPACE},
        "spec": {"containers": [container], **spec},
    }


def _status(plane: ControlPlane, name: str) -> Manifest:
    found: Manifest = plane.admin.get(f"/api/v1/namespaces/{NAMESPACE}/pods/{name}")["status"]
    return found


def _container(plane: ControlPlane, name: str) -> Manifest:
    """Its status; empty before there is one."""
    return next(iter(_status(plane, name).get("containerStatuses", [])), {})


def _log(plane: ControlPlane, name: str, **query: str) -> str:
    return plane.admin.request("GET", f"/api/v1/namespaces/{NAMESPACE}/pods/{name}/log", query=query).decode()


def test_a_pod_is_scheduled_run_to_its_end_and_leaves_its_log(kept: tuple[ControlPlane, Kubelet]) -> None:
    """Of the image there is, whatever its registry. The node selector is for the scheduler to see to."""
    plane, _ = kept
    selector = {"example.com/pool": "blue", "kubernetes.io/os": "linux"}
    plane.admin.create(_pod("version", "--version", restartPolicy="Never", nodeSelector=selector))
    eventually(lambda: _status(plane, "version")["phase"] == "Succeeded", "the pod has succeeded")
    assert __version__ in _log(plane, "version")
    plane.admin.create(_pod("nonsense", "nonsense", restartPolicy="Never"))
    eventually(lambda: _status(plane, "nonsense")["phase"] == "Failed", "the pod has failed")
    assert _container(plane, "nonsense")["state"]["terminated"]["exitCode"] == 1
    assert "No such command" in _log(plane, "nonsense")


def test_another_image_cannot_be_pulled(kept: tuple[ControlPlane, Kubelet]) -> None:
    """Nor a program be run that the image does not have, nor a variable be set that nobody can tell."""
    plane, _ = kept
    secret = {"name": "KEY", "valueFrom": {"secretKeyRef": {"name": "keys", "key": "one"}}}
    plane.admin.create(_pod("foreign", image="registry.example.com/training:1"))
    plane.admin.create(_pod("shell", container={"command": ["sh"]}))
    plane.admin.create(_pod("secret", container={"env": [secret]}))
    for name, reason in {
        "foreign": "ErrImagePull",
        "shell": "CreateContainerError",
        "secret": "CreateContainerConfigError",
    }.items():
        eventually(lambda name=name: "waiting" in _container(plane, name).get("state", {}), f"{name} waits")  # type: ignore[misc]  # mypy infers no type for a default
        assert _container(plane, name)["state"]["waiting"]["reason"] == reason
        assert _status(plane, name)["phase"] == "Pending"


def test_a_container_that_ends_is_started_again(kept: tuple[ControlPlane, Kubelet]) -> None:
    """At once the first time, then after a pause. What the former one printed can be read."""
    plane, _ = kept
    plane.admin.create(_pod("restarted", "nonsense"))
    eventually(lambda: _container(plane, "restarted").get("restartCount") == 2, "it has been started twice")
    status = _container(plane, "restarted")
    assert status["state"]["waiting"]["reason"] == "CrashLoopBackOff"
    assert status["lastState"]["terminated"]["exitCode"] == 1
    assert "No such command" in _log(plane, "restarted", previous="true")


DAEMON: Final[Manifest] = {
    "args": ["provider", "manual", "--no-leader-elect"],
    "ports": [{"name": "http", "containerPort": 8080}],
    "env": [{"name": "DQO_IDENTITY", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}}],
    "livenessProbe": {"httpGet": {"path": "/healthz", "port": "http"}},
}
READY: Final[Manifest] = {"readinessProbe": {"httpGet": {"path": "/readyz", "port": "http"}}}


def test_a_daemon_runs_as_the_account_of_its_pod(kept: tuple[ControlPlane, Kubelet]) -> None:
    """By a token that is bound to the pod and says which node it is on. Without rights it is alive and not ready."""
    plane, _ = kept
    plane.admin.create(_pod("daemon", container=DAEMON | READY, serviceAccountName="reader"))
    eventually(lambda: bool(_container(plane, "daemon").get("started")), "it is alive")
    eventually(lambda: "forbidden" in _log(plane, "daemon"), "it has asked")
    assert f"system:serviceaccount:{NAMESPACE}:reader" in _log(plane, "daemon")
    assert _container(plane, "daemon")["ready"] is False
    (token,) = plane.folder.glob(f"pods/{NAMESPACE}/daemon/*/only/serviceaccount/token")
    review = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenReview", "metadata": {}}
    user = plane.admin.create({**review, "spec": {"token": token.read_text()}})["status"]["user"]
    assert user["username"] == f"system:serviceaccount:{NAMESPACE}:reader"
    assert user["extra"]["authentication.kubernetes.io/pod-name"] == ["daemon"]
    assert user["extra"]["authentication.kubernetes.io/node-name"] == ["node-1"]


def test_a_daemon_that_listens_elsewhere_than_its_probes_ask_is_not_ready(kept: tuple[ControlPlane, Kubelet]) -> None:
    """Although all daemons have other ports on this machine than in their pods."""
    plane, kubelet = kept
    env = [*DAEMON["env"], {"name": "DQO_LISTEN", "value": "0.0.0.0:9090"}]
    probe = {"livenessProbe": DAEMON["livenessProbe"] | {"periodSeconds": 1, "failureThreshold": 1}}
    plane.admin.create(_pod("elsewhere", container=DAEMON | probe | {"env": env}, serviceAccountName="reader"))
    eventually(lambda: bool(_container(plane, "elsewhere").get("restartCount")), "its liveness has cost its life")
    assert kubelet.container(NAMESPACE, "elsewhere").is_ready is False


def test_a_namespace_goes_with_the_daemons_of_its_deployments(kept: tuple[ControlPlane, Kubelet]) -> None:
    """They get SIGTERM, and end in order; nothing is left, neither objects nor processes."""
    plane, kubelet = kept
    meta = {"name": "daemons", "namespace": "leaving"}
    labels = {"app": "daemons"}
    pod = _pod("", container=DAEMON, terminationGracePeriodSeconds=4)["spec"]
    deployment = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": meta,
        "spec": {
            "replicas": 2,
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": pod},
        },
    }
    plane.admin.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "leaving"}}, deployment)
    path = plane.admin.path_of(deployment)
    eventually(lambda: plane.admin.get(path)["status"].get("availableReplicas") == 2, "both replicas are available")
    servers = [each.server for each in kubelet.containers("leaving").values()]
    assert len(servers) == 2
    plane.admin.request("DELETE", "/api/v1/namespaces/leaving")
    eventually(lambda: not _is_there(plane, "/api/v1/namespaces/leaving"), "the namespace is gone")
    for server in servers:
        assert server is not None
        assert not server.is_running
        assert '"event": "drained"' in server.log.read_text()


def _is_there(plane: ControlPlane, path: str) -> bool:
    try:
        plane.admin.get(path)
    except Refused as error:
        if error.code != HTTPStatus.NOT_FOUND:
            raise
        return False
    return True


def test_a_token_of_a_secret_is_filled_in(kept: tuple[ControlPlane, Kubelet]) -> None:
    """As the one of the account that reads a worker cluster."""
    plane, _ = kept
    name, kind = "reader-token", "kubernetes.io/service-account-token"
    meta = {"name": name, "namespace": NAMESPACE, "annotations": {"kubernetes.io/service-account.name": "reader"}}
    plane.admin.create({"apiVersion": "v1", "kind": "Secret", "metadata": meta, "type": kind})
    path = f"/api/v1/namespaces/{NAMESPACE}/secrets/{name}"
    eventually(lambda: {"token", "ca.crt"} <= plane.admin.get(path).get("data", {}).keys(), "it has a token")


def test_containers_end_with_their_kubelet(kept: tuple[ControlPlane, Kubelet]) -> None:
    """It keeps the pods of its own nodes alone."""
    plane, other = kept
    add_node(plane, "node-2")
    with Kubelet(plane, ["node-2"]) as kubelet:
        plane.admin.create(_pod("two", container=DAEMON, nodeName="node-2"))
        eventually(lambda: bool(_container(plane, "two").get("started")), "it is alive")
        server = kubelet.container(NAMESPACE, "two").server
        assert "two" not in other.containers(NAMESPACE)
    assert server is not None
    assert not server.is_running
