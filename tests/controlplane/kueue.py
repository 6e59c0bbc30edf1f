"""Kueue on a control plane: its definitions and ours, its scheduler alone, its real manager with webhooks."""

from __future__ import annotations

import base64
import http.client
import ssl
import urllib.parse
from pathlib import Path
from typing import Any, Final

import yaml

from tests.controlplane import binaries
from tests.controlplane.admin import JSON_PATCH, Refused
from tests.controlplane.plane import ControlPlane
from tests.controlplane.processes import LOOPBACK, Server, eventually, free_port, http_status

ROOT: Final = Path(__file__).parents[2]
OUR_CRDS: Final = ROOT / "manifests" / "crds"
EFFECTIVE_QUOTAS: Final = Path(__file__).with_name("effective-quotas.yaml")
CRDS: Final = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
NAMESPACE: Final = "kueue-system"

V019: Final = "0.19"
V018: Final = "0.18"
_MINIMAL: Final = {V019: binaries.MINIMAL_KUEUE, V018: binaries.MINIMAL_KUEUE_018}


def install_crds(
    plane: ControlPlane, *, version: str = V019, ours: bool = True, effective_quotas: bool = False
) -> None:
    """Kueue's definitions and, unless `ours` is false, all of this project's. Returns when they are served.

    `effective_quotas` adds `status.effectiveQuotas`, which only Kueue 0.20 has. Then no Kueue may run: 0.19 deletes the
    field with its next update of a status.
    """
    manifests = binaries.kueue_manifests(_MINIMAL[version].module)
    files = sorted((manifests / "crds").glob("*.yaml"))
    if ours:
        files += sorted(file for file in OUR_CRDS.rglob("*.yaml") if file.name != "kustomization.yaml")
    apply_crds(plane, *(obj for file in files for obj in read(file)))
    if effective_quotas:
        for name in ("clusterqueues", "cohorts"):
            patch_ = yaml.safe_load(EFFECTIVE_QUOTAS.read_text())
            plane.admin.patch(f"{CRDS}/{name}.kueue.x-k8s.io", patch_, JSON_PATCH)
            _wait_for_field(plane, name)


def apply_crds(plane: ControlPlane, *definitions: dict[str, Any]) -> None:
    """Applies CustomResourceDefinitions, and returns when each is served."""
    plane.admin.apply(*definitions)
    wait_served(plane, *definitions)


def wait_served(plane: ControlPlane, *definitions: dict[str, Any]) -> None:
    """Returns when each definition is served, and told of by the API server; without any, all that it has.

    For definitions that others than `apply_crds` have brought, such as kubectl and Helm, which do not wait for that.
    """
    for definition in definitions or plane.admin.items(CRDS):
        name = definition["metadata"]["name"]

        def is_established(name: str = name) -> bool:
            conditions = plane.admin.get(f"{CRDS}/{name}").get("status", {}).get("conditions") or []
            return any(each["type"] == "Established" and each["status"] == "True" for each in conditions)

        eventually(is_established, f"{name} is established")
        for version in definition["spec"]["versions"]:
            group, plural = f"{definition['spec']['group']}/{version['name']}", definition["spec"]["names"]["plural"]
            eventually(
                lambda group=group, plural=plural: _is_served(plane, group, plural),  # type: ignore[misc]  # mypy infers no type for a default
                f"{plural}.{group} is served",
            )
    plane.admin.forget_resources()


def start_minimal(plane: ControlPlane, *, version: str = V019) -> Server:
    """Kueue's core controllers and its scheduler, without webhooks and without jobs: it admits Workloads."""
    program = binaries.find(_MINIMAL[version])
    command = [program, "-kubeconfig", plane.kubeconfig(), "-zap-log-level=info"]

    def is_ready() -> bool:
        return "Starting workers" in server.printed()

    server: Server = plane.new_server(f"minimalkueue-{version}", command, ready=is_ready)
    server.start()
    return server


def start_manager(
    plane: ControlPlane, *, configuration: dict[str, Any] | None = None, webhooks: bool = True, log_level: int = 3
) -> Server:
    """The real manager 0.19 with batch Jobs, and its webhooks for Jobs and for Kueue's own kinds unless told otherwise.

    `configuration` is laid over the Configuration (`config.kueue.x-k8s.io/v1beta2`), by its top-level fields.
    """
    plane.admin.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}})
    health, metrics, hooks = free_port(), free_port(), free_port()
    certificates = plane.folder / binaries.METRICS_CERTIFICATES
    certificates.mkdir(exist_ok=True)
    (certificates / "tls.crt").write_bytes(plane.ca.read_bytes())
    (certificates / "tls.key").write_bytes(plane.key.read_bytes())
    settings = {
        "apiVersion": "config.kueue.x-k8s.io/v1beta2",
        "kind": "Configuration",
        "namespace": NAMESPACE,
        "health": {"healthProbeBindAddress": f"{LOOPBACK}:{health}"},
        "metrics": {"bindAddress": f"{LOOPBACK}:{metrics}"},
        "webhook": {"host": LOOPBACK, "port": hooks, "certDir": str(certificates)},
        "leaderElection": {"leaderElect": False},
        "internalCertManagement": {"enable": False},
        "integrations": {"frameworks": ["batch/job"]},
        "featureGates": {"VisibilityOnDemand": False},
        "clientConnection": {"qps": 400, "burst": 800},
    } | (configuration or {})
    file = plane.folder / "kueue.yaml"
    file.write_text(yaml.safe_dump(settings))

    def is_ready() -> bool:
        serves_webhooks = http_status(hooks, "/", ssl.create_default_context(cafile=str(plane.ca))) is not None
        return serves_webhooks and http_status(health, "/readyz") == http.client.OK

    command = [
        binaries.find(binaries.KUEUE),
        f"--config={file}",
        f"--kubeconfig={plane.kubeconfig()}",
        f"--zap-log-level={log_level}",
    ]
    server = plane.new_server("kueue", command, ready=is_ready, folder=plane.folder)
    server.start()
    if webhooks:
        plane.admin.apply(*_webhooks(plane, hooks))
    return server


def read(file: Path) -> list[dict[str, Any]]:
    """The objects of a YAML file."""
    return [document for document in yaml.safe_load_all(file.read_text()) if document]


def _webhooks(plane: ControlPlane, port: int) -> list[dict[str, Any]]:
    """Kueue's own configurations, restricted to what the manager serves here, with the URLs that it listens on."""
    configurations = read(binaries.kueue_manifests(binaries.KUEUE.module) / "webhooks.yaml")
    kept = []
    for configuration in configurations:
        hooks = [
            hook
            for hook in configuration["webhooks"]
            if all(set(rule["apiGroups"]) <= {"kueue.x-k8s.io", "batch"} for rule in hook["rules"])
        ]
        for hook in hooks:
            path = hook["clientConfig"]["service"]["path"]
            url = urllib.parse.urlunsplit(("https", f"{LOOPBACK}:{port}", path, "", ""))
            hook["clientConfig"] = {"url": url, "caBundle": _base64(plane.ca)}
        name = f"kueue-{configuration['metadata']['name']}"
        kept.append({**configuration, "metadata": {"name": name}, "webhooks": hooks})
    return kept


def _wait_for_field(plane: ControlPlane, plural: str) -> None:
    """The server takes a changed schema into use a moment later. Nothing but a write shows whether it has."""
    kind = {"clusterqueues": "ClusterQueue", "cohorts": "Cohort"}[plural]
    path = f"/apis/kueue.x-k8s.io/v1beta2/{plural}"
    probe = {"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": kind, "metadata": {"name": "effective-quotas-probe"}}
    eventually(lambda: _is_created(plane, {**probe, "spec": {}}), f"{plural} can be created")
    reference = {"apiGroup": "example.com", "kind": "Probe", "name": "probe"}
    status = {"status": {"effectiveQuotas": {"orchestratorRef": reference}}}

    def is_kept() -> bool:
        answer = plane.admin.patch(f"{path}/effective-quotas-probe/status", status)
        return "effectiveQuotas" in (answer.get("status") or {})

    try:
        eventually(is_kept, f"{plural} have status.effectiveQuotas")
    finally:
        plane.admin.delete(f"{path}/effective-quotas-probe")


def _is_created(plane: ControlPlane, obj: dict[str, Any]) -> bool:
    try:
        plane.admin.create(obj)
    except Refused as error:
        if error.code != http.client.SERVICE_UNAVAILABLE:  # what serves the former schema is being ended
            raise
        return False
    return True


def _is_served(plane: ControlPlane, api_version: str, plural: str) -> bool:
    """By its objects and by the list of kinds, which are not changed in the same moment."""
    try:
        plane.admin.get(f"/apis/{api_version}/{plural}", limit="1")
        plane.admin.forget_resources()
        return plural in plane.admin.resources_of(api_version)
    except Refused as error:
        # 429: its storage is being made, or made anew.
        if error.code not in {http.client.NOT_FOUND, http.client.TOO_MANY_REQUESTS}:
            raise
        return False


def _base64(path: Path) -> str:
    return base64.b64encode(path.read_bytes()).decode()
