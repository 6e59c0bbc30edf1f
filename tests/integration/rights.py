"""What manifests grant, and what an account has asked for by the API server's own record."""

from __future__ import annotations

from collections.abc import Iterable
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


def granted(objects: Iterable[dict[str, Any]]) -> set[Right]:
    """The rights of all roles among the objects."""
    return {
        Right(role["metadata"].get("namespace", ""), group, resource, verb, name)
        for role in objects
        if role["kind"] in {"ClusterRole", "Role"}
        for rule in role["rules"]
        for group in rule["apiGroups"]
        for resource in rule["resources"]
        for verb in rule["verbs"]
        for name in rule.get("resourceNames", [""])
    }


def asked(events: Iterable[dict[str, Any]], namespace: str, account: str) -> set[Right]:
    """What the account has asked for. A list or a watch of one object by its name counts as that object's."""
    user = f"system:serviceaccount:{namespace}:{account}"
    found = set()
    for event in events:
        ref = event.get("objectRef", {})
        if event["user"]["username"] == user and "resource" in ref:
            resource = "/".join(filter(None, (ref["resource"], ref.get("subresource"))))
            name = "" if event["verb"] == "create" else ref.get("name", "")
            found.add(Right(ref.get("namespace", ""), ref.get("apiGroup", ""), resource, event["verb"], name))
    return found


def assert_used_is_granted(used: set[Right], given: set[Right]) -> None:
    """Nothing was granted in vain, and nothing else was asked for."""
    assert {right for right in given if not any(right.covers(each) for each in used)} == set()
    assert {each for each in used if not any(right.covers(each) for right in given)} == set()
