"""What the Pod Security Standards say of the agent's pod and of its variants, by the API server that enforces them."""

from __future__ import annotations

from collections.abc import Iterator
from http import HTTPStatus
from pathlib import Path
from typing import Any, Final

import pytest

from tests.controlplane.admin import Refused
from tests.controlplane.cleanup import remove_objects
from tests.controlplane.plane import ControlPlane
from tests.integration.daemons import NAMESPACE, install, rendered
from tests.manifests.rendered import kustomized

ENFORCE: Final = "pod-security.kubernetes.io/enforce"
VARIANTS: Final = {
    "nvidia-gpu-mig": ("allowPrivilegeEscalation != false", '"SYS_ADMIN"'),
    "nvidia-gpu-privileged": ("privileged",),
    "nvidia-gpu-hostpath": ("privileged", 'volume "driver"'),
}
"""With what each breaks the standards by, in the API server's words."""


@pytest.fixture(scope="module")
def standards(shared_plane: ControlPlane) -> Iterator[ControlPlane]:
    """A namespace for each standard, with the agent's account, its PriorityClass and its RuntimeClass."""
    runtime = {
        "apiVersion": "node.k8s.io/v1",
        "kind": "RuntimeClass",
        "metadata": {"name": "nvidia"},
        "handler": "nvidia",
    }
    shared_plane.admin.apply(runtime, *rendered("base/namespace"))
    for standard in ("restricted", "baseline", "privileged"):
        meta = {"name": f"is-{standard}", "labels": {ENFORCE: standard}}
        account = {"name": "kueue-dqo-nvidia-gpu-agent", "namespace": meta["name"]}
        shared_plane.admin.apply(
            {"apiVersion": "v1", "kind": "Namespace", "metadata": meta},
            {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": account},
        )
    yield shared_plane
    remove_objects(shared_plane)
    shared_plane.admin.delete("/apis/node.k8s.io/v1/runtimeclasses/nvidia")


def _try(plane: ControlPlane, standard: str, spec: dict[str, Any]) -> None:
    """What the controller of DaemonSets would do in a namespace with this standard, as a dry run."""
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "agent"}, "spec": spec}
    plane.admin.request("POST", f"/api/v1/namespaces/is-{standard}/pods", pod, query={"dryRun": "All"})


def _spec(objects: list[dict[str, Any]]) -> dict[str, Any]:
    (daemon_set,) = (each for each in objects if each["kind"] == "DaemonSet")
    spec: dict[str, Any] = daemon_set["spec"]["template"]["spec"]
    return spec


def _variant(folder: Path, component: str) -> list[dict[str, Any]]:
    return rendered(kustomized(folder, ["overlays/nvidia-gpu"], [f"components/{component}"]))


def test_the_default_satisfies_the_strictest(standards: ControlPlane) -> None:
    """Unprivileged, without a capability, without a part of the host."""
    _try(standards, "restricted", _spec(rendered("overlays/nvidia-gpu")))


@pytest.mark.parametrize("component", VARIANTS)
def test_a_variant_is_refused_by_all_but_the_loosest(component: str, standards: ControlPlane, tmp_path: Path) -> None:
    """For just the reasons that it is there for."""
    spec = _spec(_variant(tmp_path, component))
    for standard in ("restricted", "baseline"):
        with pytest.raises(Refused, match="violates PodSecurity") as refused:
            _try(standards, standard, spec)
        assert refused.value.code == HTTPStatus.FORBIDDEN
        expected = [word for word in VARIANTS[component] if standard == "restricted" or "Escalation" not in word]
        assert [word for word in expected if word not in refused.value.message] == []
    _try(standards, "privileged", spec)


@pytest.mark.parametrize("component", VARIANTS)
def test_a_variant_brings_the_namespace_that_it_may_run_in(
    component: str, standards: ControlPlane, tmp_path: Path
) -> None:
    """The DaemonSet's pods are created there."""
    spec = _spec(_variant(tmp_path, component))
    install(standards, tmp_path)
    standards.admin.apply({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n1"}})
    pod = standards.add_pod(NAMESPACE, spec["serviceAccountName"], "n1", spec)
    assert standards.admin.get(f"/api/v1/namespaces/{NAMESPACE}/pods/{pod}")["spec"]["nodeName"] == "n1"
