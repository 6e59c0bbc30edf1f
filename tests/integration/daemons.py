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
    pod = deployment["spec"]["template"]["spec"]
    (container,) = pod["containers"]
    namespace, account = deployment["metadata"]["namespace"], pod["serviceAccountName"]
    port = free_port()
    values = dict(_environment(container["env"], namespace, name)) | {
        "DQO_LISTEN": f"{LOOPBACK}:{port}",
        "DQO_KUBECONFIG": str(plane.service_account_kubeconfig(namespace, account, server=server)),
        **(environment or {}),
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


def _environment(variables: list[dict[str, Any]], namespace: str, pod: str) -> Iterator[tuple[str, str]]:
    """The container's variables, with what the downward API would fill in."""
    fields = {"metadata.namespace": namespace, "metadata.name": pod}
    for variable in variables:
        if "value" in variable:
            yield variable["name"], variable["value"]
        else:
            yield variable["name"], fields[variable["valueFrom"]["fieldRef"]["fieldPath"]]
