"""The folders in `manifests/` as kustomize builds them. Needs no cluster."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any, Final

import yaml

ROOT: Final = Path(__file__).parents[2]
MANIFESTS: Final = ROOT / "manifests"
GPUS: Final = "nvidia-gpu"
AGENT: Final = "nvidia-gpu-agent"
CLOUDS: Final = "cloud-quota"
MULTIKUEUE: Final = "multikueue"
PROVIDERS: Final = (CLOUDS, "composite", "manual", MULTIKUEUE, "node-inventory", GPUS)
PROVIDERS_OVERLAY: Final = "providers"
GPU_OVERLAYS: Final = ("nvidia-gpu", "nvidia-gpu-hostpath")
CLOUD_OVERLAYS: Final = ("aws", "gcp")
"""What differs between them and the base is in `test_cloud_quota.py`."""
_OTHERS: Final = {PROVIDERS_OVERLAY, MULTIKUEUE, *GPU_OVERLAYS, *CLOUD_OVERLAYS}
OVERLAYS: Final = tuple(sorted({folder.name for folder in (MANIFESTS / "overlays").iterdir()} - _OTHERS))
"""Those of the orchestrator, one for each road."""
DAEMONS: Final = (*OVERLAYS, *PROVIDERS)
"""Everything that runs as a Deployment: the orchestrator on each road, and each provider."""
PODS: Final = (*DAEMONS, AGENT)
"""And the DaemonSet."""
NAMESPACE: Final = "kueue-dqo-system"
ORCHESTRATOR: Final = "kueue-dqo-orchestrator"


@cache
def render(folder: str) -> tuple[dict[str, Any], ...]:
    """The objects that `kubectl apply -k manifests/FOLDER` would apply. To be read only: all tests share them."""
    return build(MANIFESTS / folder)


def build(folder: Path) -> tuple[dict[str, Any], ...]:
    """The objects of any folder with a kustomization."""
    built = subprocess.run([_kubectl(), "kustomize", folder], capture_output=True, text=True, timeout=120, check=False)
    assert built.returncode == 0, built.stderr
    return tuple(yaml.safe_load_all(built.stdout))


def kustomized(folder: Path, resources: Iterable[Path | str], components: Iterable[Path | str] = ()) -> Path:
    """Writes an admin's kustomization of folders below `manifests/` into a folder, which it returns."""
    here = folder.resolve()
    plain = {
        "apiVersion": "kustomize.config.k8s.io/v1beta1",
        "kind": "Kustomization",
        "resources": [os.path.relpath(MANIFESTS / each, here) for each in resources],
        "components": [os.path.relpath(MANIFESTS / each, here) for each in components],
    }
    (folder / "kustomization.yaml").write_text(yaml.safe_dump(plain))
    return folder


def overlay(name: str) -> tuple[dict[str, Any], ...]:
    return render(f"overlays/{name}")


def daemon(name: str) -> tuple[dict[str, Any], ...]:
    """What one of the daemons is installed with: its own objects, and those that all have in common."""
    if name in OVERLAYS:
        return overlay(name)
    if name == CLOUDS:
        return render("base/namespace") + render(f"base/{CLOUDS}")
    own = {GPUS: GPUS, AGENT: GPUS, MULTIKUEUE: MULTIKUEUE}
    return tuple(
        each
        for each in overlay(own.get(name, PROVIDERS_OVERLAY))
        if each["metadata"]["labels"].get("app.kubernetes.io/component") in (None, name)
    )


def component(name: str) -> str:
    """What the daemon's objects and its container are called."""
    return "orchestrator" if name in OVERLAYS else name


def selector(name: str) -> dict[str, str]:
    """The labels that tell the daemon's pods from all others; where several may stand side by side, from theirs too."""
    labels = {"app.kubernetes.io/name": "kueue-dqo", "app.kubernetes.io/component": component(name)}
    return labels | ({"app.kubernetes.io/instance": name} if name == CLOUDS else {})


def of_kind(objects: tuple[dict[str, Any], ...], kind: str) -> list[dict[str, Any]]:
    return [each for each in objects if each["kind"] == kind]


def only(objects: tuple[dict[str, Any], ...], kind: str) -> dict[str, Any]:
    """The one object of the kind."""
    (found,) = of_kind(objects, kind)
    return found


def pod(name: str) -> dict[str, Any]:
    """The pod template of the daemon's Deployment or DaemonSet."""
    template: dict[str, Any] = only(daemon(name), "DaemonSet" if name == AGENT else "Deployment")["spec"]["template"]
    return template


def container(name: str) -> dict[str, Any]:
    """Its one container."""
    (found,) = pod(name)["spec"]["containers"]
    assert isinstance(found, dict)
    return found


def spreads(spec: Mapping[str, Any]) -> list[dict[str, Any]]:
    """What keeps the replicas of a pod's specification apart: off each other's node, and in several zones."""
    preferred = spec["affinity"]["podAntiAffinity"]["preferredDuringSchedulingIgnoredDuringExecution"]
    return [*(each["podAffinityTerm"] for each in preferred), *spec["topologySpreadConstraints"]]


def is_chosen(spec: Mapping[str, Any], labels: Mapping[str, str]) -> bool:
    """Whether a pod's required node affinity takes a node with these labels; its `nodeSelector` is another matter."""
    terms = spec["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]["nodeSelectorTerms"]
    return any(all(_holds(each, labels) for each in term["matchExpressions"]) for term in terms)


def _holds(expression: Mapping[str, Any], labels: Mapping[str, str]) -> bool:
    value = labels.get(expression["key"])
    match expression["operator"]:
        case "In":
            return value in expression["values"]
        case "Exists":
            return value is not None
        case "DoesNotExist":
            return value is None
    raise AssertionError(expression)


def keys(value: object) -> Iterator[str]:
    """Every key in it, at any depth."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield key
            yield from keys(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from keys(inner)


def _kubectl() -> str:
    """That of the development environment; where it has none, the one on PATH."""
    path = os.pathsep.join((str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath)))
    found = shutil.which("kubectl", path=path)
    assert found, "kubectl is neither in the development environment nor on PATH: install it to test the manifests"
    return found
