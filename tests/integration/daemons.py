"""Daemons as processes, with the ServiceAccount, the rights and the environment that the manifests give them."""

from __future__ import annotations

import json
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from http import HTTPStatus
from pathlib import Path
from typing import Any, Final

import yaml
from prometheus_client.parser import text_string_to_metric_families

from tests.controlplane.kueue import apply_crds
from tests.controlplane.plane import ControlPlane
from tests.controlplane.processes import LOOPBACK, Server, free_port

ROOT: Final = Path(__file__).parents[2]
MANIFESTS: Final = ROOT / "manifests"
NAMESPACE: Final = "kueue-dqo-system"
ORCHESTRATOR: Final = "kueue-dqo-orchestrator"
DQO: Final = Path(sys.executable).with_name("dqo")

QUICK_ELECTION: Final = {"DQO_LEASE_DURATION": "5", "DQO_RENEW_DEADLINE": "2", "DQO_RETRY_PERIOD": "0.5"}
"""For tests in which a leader is lost, where the shipped 15 s would only be waited for."""


class Daemon:
    """A running daemon."""

    def __init__(self, server: Server, port: int) -> None:
        self.server = server
        self.port = port

    def get(self, path: str) -> tuple[int, str]:
        """Status code and body of its own HTTP server."""
        return _get(self.port, path)

    def metric(self, name: str, /, **labels: str) -> float:
        """The sum of a metric's samples that carry these labels; 0 for none."""
        families = text_string_to_metric_families(self.get("/metrics")[1])
        return sum(
            sample.value
            for family in families
            for sample in family.samples
            if sample.name == name and labels.items() <= sample.labels.items()
        )

    def logs(self, event: str = "") -> list[dict[str, Any]]:
        """Its log lines, or those with this event."""
        lines = self.server.log.read_text(encoding="utf-8", errors="replace").splitlines()
        records = [json.loads(line) for line in lines if line.startswith("{")]
        return [record for record in records if not event or record["event"] == event]

    def resident_bytes(self) -> int:
        """Its resident memory now."""
        status = Path(f"/proc/{self.server.pid}/status").read_text(encoding="ascii")
        line = next(line for line in status.splitlines() if line.startswith("VmRSS:"))
        return int(line.split()[1]) * 1024


def rendered(folder: Path | str) -> list[dict[str, Any]]:
    """The objects of a folder with a kustomization; a text is a path below `manifests/`."""
    return [each for each in yaml.safe_load_all(_built(MANIFESTS / folder)) if each]


@cache
def _built(folder: Path) -> str:
    return subprocess.run(["kubectl", "kustomize", folder], check=True, capture_output=True, text=True).stdout


def install(plane: ControlPlane, *folders: Path | str) -> list[dict[str, Any]]:
    """Applies what such folders hold, strictly. Nothing starts its pods here."""
    objects = [each for folder in folders for each in rendered(folder)]
    definitions = [each for each in objects if each["kind"] == "CustomResourceDefinition"]
    apply_crds(plane, *definitions)
    plane.admin.apply(*(each for each in objects if each not in definitions))
    return objects


def start_orchestrator(
    plane: ControlPlane,
    overlay: str = "spec",
    *,
    name: str = "orchestrator",
    server: str | None = None,
    environment: Mapping[str, str] | None = None,
    wait: bool = True,
) -> Daemon:
    """Installs an overlay of `manifests/overlays` and starts its daemon: see `start_daemon`."""
    objects = install(plane, Path("overlays") / overlay)
    return start_daemon(plane, objects, name=name, server=server, environment=environment, wait=wait)


def start_daemon(
    plane: ControlPlane,
    installed: Iterable[Mapping[str, Any]],
    *,
    name: str,
    arguments: Sequence[str] = (),
    server: str | None = None,
    environment: Mapping[str, str] | None = None,
    wait: bool = True,
) -> Daemon:
    """Starts a daemon as its container would be, with its ServiceAccount's token, but for addresses.

    Args:
        plane: the control plane; the daemon ends with it, or with the test's `plane` fixture.
        installed: what `install` has applied; the one Deployment among these objects is started.
        name: of the process and its log, and its identity in the election.
        arguments: added to the container's.
        server: a URL in front of the API server, such as that of a fault proxy.
        environment: laid over the container's, such as `QUICK_ELECTION`.
        wait: until it is ready.
    """
    (deployment,) = (each for each in installed if each["kind"] == "Deployment")
    namespace, account = deployment["metadata"]["namespace"], _pod_of(deployment)["serviceAccountName"]
    kubeconfig = plane.service_account_kubeconfig(namespace, account, server=server)
    fields = {"metadata.namespace": namespace, "metadata.name": name}
    return _start(plane, deployment, name, fields, kubeconfig, arguments, environment or {}, wait=wait)


def start_agent(
    plane: ControlPlane,
    installed: Iterable[Mapping[str, Any]],
    *,
    node: str,
    name: str = "",
    arguments: Sequence[str] = (),
    server: str | None = None,
    environment: Mapping[str, str] | None = None,
    wait: bool = True,
) -> Daemon:
    """Starts an agent as the container of its pod on a node would be, with a token that is bound to that pod.

    The pod is created from the template, as the controller of DaemonSets would do, so that the API server judges it;
    the admin's RuntimeClass comes along. Each call makes another pod; a container that is restarted in its pod is
    `daemon.server.restart()`.

    Args:
        plane: the control plane; the agent ends with it, or with the test's `plane` fixture.
        installed: what `install` has applied; the one DaemonSet among these objects is started.
        node: the name of a Node, which must exist.
        name: of the process and its log; without it, that of the container and of the node.
        arguments: added to the container's.
        server: a URL in front of the API server.
        environment: laid over the container's.
        wait: until it is ready.
    """
    (daemon_set,) = (each for each in installed if each["kind"] == "DaemonSet")
    namespace, spec = daemon_set["metadata"]["namespace"], _pod_of(daemon_set)
    if "runtimeClassName" in spec:
        plane.admin.apply(_runtime_class(spec["runtimeClassName"]))
    pod = plane.add_pod(namespace, spec["serviceAccountName"], node, spec)
    kubeconfig = plane.service_account_kubeconfig(namespace, spec["serviceAccountName"], server=server, pod=pod)
    fields = {"metadata.namespace": namespace, "metadata.name": pod, "spec.nodeName": node}
    process = name or f"{spec['containers'][0]['name']}-{node}"
    return _start(plane, daemon_set, process, fields, kubeconfig, arguments, environment or {}, wait=wait)


def _pod_of(controller: Mapping[str, Any]) -> dict[str, Any]:
    spec: dict[str, Any] = controller["spec"]["template"]["spec"]
    return spec


def _runtime_class(name: str) -> dict[str, Any]:
    return {"apiVersion": "node.k8s.io/v1", "kind": "RuntimeClass", "metadata": {"name": name}, "handler": name}


def _start(
    plane: ControlPlane,
    controller: Mapping[str, Any],
    name: str,
    fields: Mapping[str, str],
    kubeconfig: Path,
    arguments: Sequence[str],
    environment: Mapping[str, str],
    *,
    wait: bool,
) -> Daemon:
    """The process of the template's one container; `fields` are what the downward API would say."""
    (container,) = _pod_of(controller)["containers"]
    port = free_port()
    values = dict(_environment(container["env"], fields)) | {
        "DQO_LISTEN": f"{LOOPBACK}:{port}",
        "DQO_KUBECONFIG": str(kubeconfig),
        **environment,
    }
    command = ["env", *(f"{key}={value}" for key, value in values.items()), str(DQO), *container["args"], *arguments]
    process = plane.new_server(name, command, ready=lambda: _is_ready(port))
    process.log.unlink(missing_ok=True)  # of an earlier one
    process.launch()
    if wait:
        process.wait_ready()
    return Daemon(process, port)


def _is_ready(port: int) -> bool:
    try:
        return _get(port, "/readyz")[0] == HTTPStatus.OK
    except OSError:  # not listening yet
        return False


def _get(port: int, path: str) -> tuple[int, str]:
    try:
        with urllib.request.urlopen(f"http://{LOOPBACK}:{port}{path}", timeout=10) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()


def _environment(variables: list[dict[str, Any]], fields: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """The container's variables, with what the downward API would fill in."""
    for variable in variables:
        if "value" in variable:
            yield variable["name"], variable["value"]
        else:
            yield variable["name"], fields[variable["valueFrom"]["fieldRef"]["fieldPath"]]
