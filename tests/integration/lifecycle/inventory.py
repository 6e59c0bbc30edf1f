"""Everything that an API server holds."""

from __future__ import annotations

import json
from collections.abc import Iterator
from http import HTTPStatus
from typing import Any, Final, NamedTuple

from tests.controlplane.admin import Refused
from tests.controlplane.plane import ControlPlane
from tests.controlplane.processes import eventually

Manifest = dict[str, Any]
_AGGREGATED: Final = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
_OF_EACH_WRITE: Final = ("resourceVersion", "generation", "managedFields")


class Key(NamedTuple):
    """One object: its resource as kubectl takes it (`leases.coordination.k8s.io`), its namespace if any, its name."""

    resource: str
    namespace: str
    name: str


def inventory(plane: ControlPlane) -> dict[Key, Manifest]:
    """Every object of every resource that can be listed, in all namespaces, by discovery."""
    return {key: obj for path, resource in _lists(plane) for key, obj in _objects(plane, path, resource)}


def content(obj: Manifest) -> Manifest:
    """All but what every write changes: versions, and who has written which field. An empty status is none."""
    meta = {key: value for key, value in obj["metadata"].items() if key not in _OF_EACH_WRITE}
    return {key: value for key, value in obj.items() if (key, value) != ("status", {})} | {"metadata": meta}


def owners(obj: Manifest) -> set[str]:
    """Who owns fields of it. An entry that names no field, but at most what it would be in, is not counted."""
    entries = obj["metadata"].get("managedFields", [])
    return {each["manager"] for each in entries if any(_leaves(each.get("fieldsV1", {})))}


def _leaves(fields: Manifest) -> Iterator[str]:
    """The fields in `fieldsV1` that have a value of their own."""
    for step, inner in fields.items():
        if inner:
            yield from _leaves(inner)
        elif step not in {".", "f:spec", "f:metadata", "f:annotations", "f:status"}:
            yield step


def listed(plane: ControlPlane, path: str) -> list[Manifest]:
    """The objects of a list. A definition that was changed has to be read once before it is in use."""
    found: list[Manifest] = []

    def is_answered() -> bool:
        try:
            found[:] = plane.admin.items(path)
        except Refused as error:
            if error.code != HTTPStatus.TOO_MANY_REQUESTS:
                raise
            return False
        return True

    eventually(is_answered, f"{path} can be read")
    return found


def _objects(plane: ControlPlane, path: str, resource: str) -> Iterator[tuple[Key, Manifest]]:
    for obj in listed(plane, path):
        meta = obj["metadata"]
        yield Key(resource, meta.get("namespace", ""), meta["name"]), obj


def _lists(plane: ControlPlane) -> Iterator[tuple[str, str]]:
    """The path of each list, in the version that the server prefers, and the resource."""
    for root in ("/api", "/apis"):
        found = json.loads(plane.admin.request("GET", root, accept=_AGGREGATED))
        for group in found["items"]:
            name = group["metadata"].get("name", "")
            seen: set[str] = set()
            for version in group["versions"]:
                start = "/".join(each for each in (root, name, version["version"]) if each)
                for each in version["resources"]:
                    plural = each["resource"]
                    if "list" in each["verbs"] and plural not in seen:
                        seen.add(plural)
                        yield f"{start}/{plural}", f"{plural}.{name}" if name else plural
