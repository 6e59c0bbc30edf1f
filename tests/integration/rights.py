"""What manifests grant, and what an account has asked for by the API server's own record."""

from __future__ import annotations

from collections.abc import Iterable
from http import HTTPStatus
from typing import Any, NamedTuple


class Right(NamedTuple):
    """One thing that may be asked for. An empty name or namespace: any."""

    namespace: str
    group: str
    resource: str
    verb: str
    name: str = ""

    def covers(self, request: Right) -> bool:
        """Whether the request needs no other right."""
        return self[1:4] == request[1:4] and (self.namespace or request.namespace, self.name or request.name) == (
            request.namespace,
            request.name,
        )


def granted(objects: Iterable[dict[str, Any]], namespace: str, account: str) -> set[Right]:
    """The rights that the bindings among the objects give to the account, by roles that are among them too."""
    objects = list(objects)
    roles = {_identity(each): each for each in objects if each["kind"] in {"ClusterRole", "Role"}}
    subject = {"kind": "ServiceAccount", "name": account, "namespace": namespace}
    bound = [
        (each["metadata"].get("namespace", ""), each["roleRef"])
        for each in objects
        if each["kind"] in {"ClusterRoleBinding", "RoleBinding"} and subject in each["subjects"]
    ]
    return {
        Right(within, group, resource, verb, name)
        for within, ref in bound
        for rule in roles[ref["kind"], within if ref["kind"] == "Role" else "", ref["name"]]["rules"]
        for group in rule["apiGroups"]
        for resource in rule["resources"]
        for verb in rule["verbs"]
        for name in rule.get("resourceNames", [""])
    }


def _identity(obj: dict[str, Any]) -> tuple[str, str, str]:
    return obj["kind"], obj["metadata"].get("namespace", ""), obj["metadata"]["name"]


def asked(events: Iterable[dict[str, Any]], namespace: str, account: str) -> set[Right]:
    """What the account has asked for. A list or a watch of one object by its name counts as that object's.

    A patch that has created its object, as the first apply does, has asked for both.
    """
    user = f"system:serviceaccount:{namespace}:{account}"
    found = set()
    for event in events:
        ref = event.get("objectRef", {})
        if event["user"]["username"] == user and "resource" in ref:
            resource = "/".join(filter(None, (ref["resource"], ref.get("subresource"))))
            right = Right(ref.get("namespace", ""), ref.get("apiGroup", ""), resource, event["verb"])
            if event["verb"] != "create":
                found.add(right._replace(name=ref.get("name", "")))
            if event["verb"] == "create" or _created(event):
                found.add(right._replace(verb="create"))
    return found


def _created(event: dict[str, Any]) -> bool:
    return bool(event["verb"] == "patch" and event.get("responseStatus", {}).get("code") == HTTPStatus.CREATED)


def assert_used_is_granted(used: set[Right], given: set[Right]) -> None:
    """Nothing was granted in vain, and nothing else was asked for."""
    assert {right for right in given if not any(right.covers(each) for each in used)} == set()
    assert {each for each in used if not any(right.covers(each) for right in given)} == set()
