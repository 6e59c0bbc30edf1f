"""What each daemon may do in a cluster: for each road, and each provider, exactly what it needs."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tests.manifests.rendered import (
    AGENT,
    MULTIKUEUE,
    NAMESPACE,
    ORCHESTRATOR,
    OVERLAYS,
    PODS,
    PROVIDERS,
    build,
    component,
    daemon,
    kustomized,
    of_kind,
    overlay,
)


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

PUBLISHES = (
    _rights("", KUEUE, "capacityproviders", "get list watch")
    | _rights("", KUEUE, "capacityproviders/status", "patch")
    | _rights("", KUEUE, "resourceflavors", "list watch")
    | _rights("default", "", "events", "create patch")
    | _rights(NAMESPACE, LEASES, "leases", "create get update")
)
OURS = "kueue-dqo.dev"
OF_THE_PROVIDER = {
    "cloud-quota": _rights("", OURS, "cloudquotaparameters", "list watch"),
    "node-inventory": _rights("", OURS, "nodeinventoryparameters", "list watch")
    | _rights("", "", "nodes", "list watch")
    | _rights("", KUEUE, "clusterqueues cohorts", "list watch"),
    "nvidia-gpu": _rights("", OURS, "nvidiagpuparameters", "list watch")
    | _rights("", OURS, "nodegpureports", "list watch delete")
    | _rights("", "", "nodes", "list watch")
    | _rights("", KUEUE, "clusterqueues cohorts", "list watch"),
    "manual": _rights("", OURS, "manualcapacities", "list watch"),
    MULTIKUEUE: _rights("", OURS, "multikueueparameters", "list watch")
    | _rights(
        "",
        KUEUE,
        "clusterqueues cohorts localqueues admissionchecks multikueueconfigs multikueueclusters",
        "list watch",
    )
    | _rights(NAMESPACE, "", "secrets", "list watch"),
    "composite": _rights("", OURS, "compositeparameters", "list watch"),
}
OF_THE_AGENT = _rights("", OURS, "nodegpureports", "create patch") | _rights(
    "", "authentication.k8s.io", "selfsubjectreviews", "create"
)
READ_PODS = _rights("", "", "pods", "list watch")


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


def test_every_daemon_has_its_table() -> None:
    """A new one is not forgotten here."""
    assert set(OVERLAYS) == set(OF_THE_ROAD)
    assert set(PROVIDERS) == set(OF_THE_PROVIDER)


@pytest.mark.parametrize("name", OVERLAYS)
def test_the_rights_are_those_of_the_road(name: str) -> None:
    """Not one less, not one more; nothing by wildcard, since none stands in the table."""
    assert _granted(overlay(name)) == READS | OF_THE_ROAD[name]


@pytest.mark.parametrize("name", PROVIDERS)
def test_the_rights_are_those_of_the_provider(name: str) -> None:
    """None of them writes a quota, a queue or a node, and none reads pods."""
    assert _granted(daemon(name)) == PUBLISHES | OF_THE_PROVIDER[name]


@pytest.mark.parametrize("reads", ["node-inventory", "nvidia-gpu"])
def test_pods_are_read_by_one_provider_alone_and_only_with_its_component(reads: str, tmp_path: Path) -> None:
    """Beside an orchestrator and all other providers, whose rights stay as they are."""
    bases = [f"base/{name}" for name in (*PROVIDERS, AGENT)]
    objects = build(kustomized(tmp_path, ["overlays/spec", *bases], [f"components/{reads}-pods"]))

    def granted(name: str) -> set[Right]:
        label = "app.kubernetes.io/component"
        return _granted(tuple(each for each in objects if each["metadata"]["labels"].get(label) == name))

    assert granted(reads) == PUBLISHES | OF_THE_PROVIDER[reads] | READ_PODS
    for name in set(PROVIDERS) - {reads}:
        assert granted(name) == PUBLISHES | OF_THE_PROVIDER[name]
    assert granted("orchestrator") == READS | SPEC
    assert granted(AGENT) == OF_THE_AGENT


def test_an_agent_may_do_next_to_nothing() -> None:
    """It reads nothing and deletes nothing; the policy says whose report it may write."""
    assert _granted(daemon(AGENT)) == OF_THE_AGENT


@pytest.mark.parametrize("name", PODS)
def test_the_rights_go_to_one_account(name: str) -> None:
    """That of the pods, in their own namespace."""
    account = {"kind": "ServiceAccount", "name": f"kueue-dqo-{component(name)}", "namespace": NAMESPACE}
    for kind in ("ClusterRoleBinding", "RoleBinding"):
        for binding in of_kind(daemon(name), kind):
            assert binding["subjects"] == [account]


@pytest.mark.parametrize("name", OVERLAYS)
def test_a_change_of_the_overlay_takes_rights_away(name: str) -> None:
    """All overlays have objects of the same names, so that applying one replaces the rights of another."""
    identities = [{(each["kind"], each["metadata"]["name"]) for each in overlay(other)} for other in (name, "observe")]
    assert identities[0] == identities[1]
