"""What the orchestrator may do in a cluster: for each road exactly what it needs."""

from __future__ import annotations

from typing import Any, NamedTuple

import pytest

from tests.manifests.rendered import NAMESPACE, ORCHESTRATOR, OVERLAYS, of_kind, overlay


class Right(NamedTuple):
    """One thing that is allowed."""

    namespace: str
    """Empty: everywhere."""
    group: str
    resource: str
    verb: str
    name: str = ""
    """Empty: whatever the object's name."""


def _rights(namespace: str, group: str, resources: str, verbs: str, name: str = "") -> set[Right]:
    return {Right(namespace, group, resource, verb, name) for resource in resources.split() for verb in verbs.split()}


KUEUE = "kueue.x-k8s.io"
LEASES = "coordination.k8s.io"
READS = (
    _rights(
        "",
        KUEUE,
        "clusterqueues cohorts dynamicquotaorchestrators capacityproviders admissionchecks multikueueconfigs",
        "list watch",
    )
    | _rights("default", "", "events", "create patch")
    | _rights(NAMESPACE, LEASES, "leases", "get update", ORCHESTRATOR)
    | _rights(NAMESPACE, LEASES, "leases", "create list watch")
)
DEFINITION = _rights(
    "", "apiextensions.k8s.io", "customresourcedefinitions", "list watch", "dynamicquotaorchestrators.kueue.x-k8s.io"
)
WRITTEN = _rights("", KUEUE, "clusterqueues cohorts dynamicquotaorchestrators", "get") | _rights(
    "", KUEUE, "dynamicquotaorchestrators/status", "patch"
)
SPEC = _rights("", KUEUE, "clusterqueues cohorts", "patch") | WRITTEN
STATUS = _rights("", KUEUE, "clusterqueues/status cohorts/status", "patch") | WRITTEN
OF_THE_ROAD = {"observe": DEFINITION, "spec": SPEC, "status": STATUS, "auto": SPEC | DEFINITION}


def _granted(objects: tuple[dict[str, Any], ...]) -> set[Right]:
    """What the bindings give to the account, as an API server would add it up."""
    roles = {
        (each["kind"], each["metadata"].get("namespace", ""), each["metadata"]["name"]): each["rules"]
        for kind in ("ClusterRole", "Role")
        for each in of_kind(objects, kind)
    }
    bindings = of_kind(objects, "ClusterRoleBinding") + of_kind(objects, "RoleBinding")
    granted = set()
    for binding in bindings:
        namespace = binding["metadata"].get("namespace", "")
        reference = binding["roleRef"]
        assert reference["apiGroup"] == "rbac.authorization.k8s.io"
        for rule in roles.pop((reference["kind"], namespace, reference["name"])):
            assert rule.keys() <= {"apiGroups", "resources", "resourceNames", "verbs"}
            granted |= {
                Right(namespace, group, resource, verb, name)
                for group in rule["apiGroups"]
                for resource in rule["resources"]
                for verb in rule["verbs"]
                for name in rule.get("resourceNames", [""])
            }
    assert roles == {}, "a role that nobody is bound to"
    return granted


def test_every_overlay_has_its_table() -> None:
    """A new one is not forgotten here."""
    assert set(OVERLAYS) == set(OF_THE_ROAD)


@pytest.mark.parametrize("name", OVERLAYS)
def test_the_rights_are_those_of_the_road(name: str) -> None:
    """Not one less, not one more; nothing by wildcard, since none stands in the table."""
    assert _granted(overlay(name)) == READS | OF_THE_ROAD[name]


@pytest.mark.parametrize("name", OVERLAYS)
def test_the_rights_go_to_one_account(name: str) -> None:
    """That of the pods, in their own namespace."""
    account = {"kind": "ServiceAccount", "name": ORCHESTRATOR, "namespace": NAMESPACE}
    for kind in ("ClusterRoleBinding", "RoleBinding"):
        for binding in of_kind(overlay(name), kind):
            assert binding["subjects"] == [account]


@pytest.mark.parametrize("name", OVERLAYS)
def test_a_change_of_the_overlay_takes_rights_away(name: str) -> None:
    """All overlays have objects of the same names, so that applying one replaces the rights of another."""
    identities = [{(each["kind"], each["metadata"]["name"]) for each in overlay(other)} for other in (name, "observe")]
    assert identities[0] == identities[1]
