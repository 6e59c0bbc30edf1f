"""Empties a control plane between two tests."""

from __future__ import annotations

import http.client
from collections.abc import Iterator
from typing import Any, Final

from tests.controlplane.admin import Refused, root_of
from tests.controlplane.plane import ControlPlane
from tests.controlplane.processes import eventually

_WEBHOOKS: Final = ("mutatingwebhookconfigurations", "validatingwebhookconfigurations")
_GROUPS: Final = ("kueue.x-k8s.io", "kueue-dqo.dev")
_OTHERS: Final = (
    ("v1", ("nodes", "pods", "events")),
    ("batch/v1", ("jobs",)),
    ("coordination.k8s.io/v1", ("leases",)),
)
# What an installation brings, by its label: there are others of these kinds, which belong to the server.
_INSTALLED: Final = (
    ("v1", ("serviceaccounts", "configmaps", "secrets", "services")),
    (
        "rbac.authorization.k8s.io/v1",
        ("clusterroles", "clusterrolebindings", "roles", "rolebindings"),
    ),
    ("apps/v1", ("deployments", "daemonsets")),
    ("admissionregistration.k8s.io/v1", ("validatingadmissionpolicies", "validatingadmissionpolicybindings")),
)
_LABEL: Final = "app.kubernetes.io/part-of=kueue-dqo"
_OF_THE_SERVER: Final = "kube-system"
# Gone; changed meanwhile; a webhook that was just removed is still asked.
_LOOK_AGAIN: Final = {http.client.NOT_FOUND, http.client.CONFLICT, http.client.INTERNAL_SERVER_ERROR}


def remove_objects(plane: ControlPlane) -> None:
    """Deletes every object of Kueue and of this project, nodes, pods, jobs, events, leases, and what is installed.

    Finalizers do not hold anything up: a Kueue that would see to them need not run. Definitions and namespaces stay.
    """
    for path, selector in _paths(plane):
        _remove(plane, path, selector)


def _paths(plane: ControlPlane) -> Iterator[tuple[str, str]]:
    """Where objects may be, and the label that they must have."""
    for plural in _WEBHOOKS:  # first: a manager that has ended answers none
        yield f"{root_of('admissionregistration.k8s.io/v1')}/{plural}", ""
    for group in plane.admin.get("/apis")["groups"]:
        if group["name"] in _GROUPS:
            preferred: dict[str, str] = {}
            for version in group["versions"]:
                for plural in plane.admin.resources_of(version["groupVersion"]):
                    preferred.setdefault(plural, version["groupVersion"])
            for plural, api_version in preferred.items():
                yield f"{root_of(api_version)}/{plural}", ""
    for resources, selector in ((_OTHERS, ""), (_INSTALLED, _LABEL)):
        for api_version, plurals in resources:
            for plural in plurals:
                yield f"{root_of(api_version)}/{plural}", selector


def _remove(plane: ControlPlane, path: str, selector: str) -> None:
    def is_empty() -> bool:
        found = [obj for obj in plane.admin.items(path, labelSelector=selector) if not _is_of_the_server(obj)]
        for obj in found:
            _delete(plane, path, obj["metadata"])
        return not found

    eventually(is_empty, f"nothing is left at {path}")


def _is_of_the_server(obj: dict[str, Any]) -> bool:
    return bool(obj["metadata"].get("namespace") == _OF_THE_SERVER)


def _delete(plane: ControlPlane, path: str, metadata: dict[str, Any]) -> None:
    namespace = metadata.get("namespace")
    root, _, plural = path.rpartition("/")
    one = f"{root}/namespaces/{namespace}/{plural}" if namespace else path
    one = f"{one}/{metadata['name']}"
    try:
        if metadata.get("finalizers"):
            plane.admin.patch(one, {"metadata": {"finalizers": None}})
        plane.admin.delete(one)
    except Refused as error:
        if error.code not in _LOOK_AGAIN:
            raise
