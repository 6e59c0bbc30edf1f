"""The installation of the provider for MultiKueue: whose Secrets it reads, and what its account in a worker may."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import yaml

from tests.manifests.rendered import (
    MANIFESTS,
    MULTIKUEUE,
    NAMESPACE,
    build,
    kustomized,
    of_kind,
    only,
    overlay,
    render,
)

READER = "kueue-dqo-multikueue-reader"
SECRETS = "kueue-dqo-multikueue-secrets"
PROFILES = "kueue-dqo-multikueue-cluster-profiles"
OF_KUEUE = "kueue-system"
READS = ["list", "watch"]


def _with(folder: Path, *components: str) -> tuple[dict[str, Any], ...]:
    """The base with components, in a kustomization of the admin's."""
    names = [f"components/multikueue-{each}" for each in components]
    return build(kustomized(folder, ["overlays/multikueue"], names))


def _rules(objects: tuple[dict[str, Any], ...], name: str) -> dict[str, Any]:
    """The rules of the Roles of that name, by the namespace of each, where the daemon's account is bound to it."""
    account = {"kind": "ServiceAccount", "name": "kueue-dqo-multikueue", "namespace": NAMESPACE}
    roles, bindings = (
        {each["metadata"]["namespace"]: each for each in of_kind(objects, kind) if each["metadata"]["name"] == name}
        for kind in ("Role", "RoleBinding")
    )
    assert roles.keys() == bindings.keys()
    for each in bindings.values():
        assert (each["roleRef"]["name"], each["subjects"]) == (name, [account])
    return {namespace: role["rules"] for namespace, role in roles.items()}


def _variables(objects: tuple[dict[str, Any], ...]) -> dict[str, str]:
    (container,) = only(objects, "Deployment")["spec"]["template"]["spec"]["containers"]
    return {each["name"]: each["value"] for each in container["env"] if "value" in each}


def test_secrets_are_read_in_one_namespace_its_own() -> None:
    """That of the daemon, in which no other program's Secrets are."""
    rules = [{"apiGroups": [""], "resources": ["secrets"], "verbs": READS}]
    assert _rules(overlay(MULTIKUEUE), SECRETS) == {NAMESPACE: rules}
    assert _variables(overlay(MULTIKUEUE)) == {}


def test_the_right_can_be_for_single_secrets() -> None:
    """As the comment beside it says."""
    text = (MANIFESTS / "base/multikueue/role-secrets.yaml").read_text()
    told = yaml.safe_load("\n".join(line.removeprefix("#   ") for line in text.splitlines() if line.startswith("#   ")))
    (role,) = (each for each in yaml.safe_load_all(text) if each["kind"] == "Role")
    names = told.pop("resourceNames")
    assert names
    assert role["rules"] == [{"apiGroups": [""], **told}]


def test_the_secrets_of_kueue_take_the_place_of_its_own(tmp_path: Path) -> None:
    """One namespace, never both; everything else is as without the component."""
    plain, changed = overlay(MULTIKUEUE), _with(tmp_path, "kueue-secrets")
    rules = [{"apiGroups": [""], "resources": ["secrets"], "verbs": READS}]
    assert _rules(changed, SECRETS) == {OF_KUEUE: rules}
    assert _variables(changed) == {"DQO_SECRETS_NAMESPACE": OF_KUEUE}
    kept = [each for each in changed if each in plain]
    assert len(kept) == len(plain) - 3  # the Role, its binding, the Deployment
    assert len(changed) == len(plain)


def test_cluster_profiles_are_read_with_their_component_alone(tmp_path: Path) -> None:
    """They are no part of Kueue, and most managers have none. Kueue looks for them in its own namespace."""
    rules = [{"apiGroups": ["multicluster.x-k8s.io"], "resources": ["clusterprofiles"], "verbs": READS}]
    assert "clusterprofiles" not in yaml.safe_dump_all(overlay(MULTIKUEUE))
    objects = _with(tmp_path, "cluster-profiles")
    assert _rules(objects, PROFILES) == {OF_KUEUE: rules}
    assert _variables(objects) == {"DQO_CLUSTER_PROFILES_NAMESPACE": OF_KUEUE}
    assert _rules(objects, SECRETS).keys() == {NAMESPACE}
    changed = [each["kind"] for each in overlay(MULTIKUEUE) if each not in objects]
    assert changed == ["Deployment"]


def test_both_components_together_say_both_namespaces(tmp_path: Path) -> None:
    """For workers of both sorts."""
    objects = _with(tmp_path, "kueue-secrets", "cluster-profiles")
    both = ("DQO_SECRETS_NAMESPACE", "DQO_CLUSTER_PROFILES_NAMESPACE")
    assert _variables(objects) == dict.fromkeys(both, OF_KUEUE)


def test_every_component_tells_whose_it_is(tmp_path: Path) -> None:
    """By the labels of the daemon's other objects."""
    objects = _with(tmp_path, "kueue-secrets", "cluster-profiles")
    labels = only(objects, "ServiceAccount")["metadata"]["labels"]
    for each in of_kind(objects, "Role") + of_kind(objects, "RoleBinding"):
        assert each["metadata"]["labels"] == labels


# --- in a worker ---------------------------------------------------------------------------------------------------


def test_the_account_in_a_worker_reads_what_counts_and_nothing_else() -> None:
    """No Secret, no job, no node; and it writes nothing."""
    objects = render("worker/multikueue-reader")
    role, binding = only(objects, "ClusterRole"), only(objects, "ClusterRoleBinding")
    resources = [each for rule in role["rules"] for each in rule["resources"]]
    assert all(rule["apiGroups"] == ["kueue.x-k8s.io"] and rule["verbs"] == READS for rule in role["rules"])
    assert resources == [
        *("clusterqueues", "localqueues", "cohorts"),
        *("capacityproviders", "dynamicquotaorchestrators"),
    ]
    assert binding["roleRef"]["name"] == role["metadata"]["name"] == READER
    account = only(objects, "ServiceAccount")
    namespace = only(objects, "Namespace")["metadata"]["name"]
    assert binding["subjects"] == [{"kind": "ServiceAccount", "name": READER, "namespace": namespace}]
    assert (account["metadata"]["name"], account["metadata"]["namespace"]) == (READER, namespace)


def test_its_token_is_made_by_the_worker() -> None:
    """None is shipped: the Secret asks for one."""
    secret = only(render("worker/multikueue-reader"), "Secret")
    assert secret["type"] == "kubernetes.io/service-account-token"
    assert secret["metadata"]["annotations"] == {"kubernetes.io/service-account.name": READER}
    assert {"data", "stringData"}.isdisjoint(secret)


def test_nothing_in_a_worker_collides_with_daemons_there() -> None:
    """The worker may have providers and an orchestrator of its own, for `counts: WorkerProviders`."""

    def keys(folder: str) -> set[tuple[str, str]]:
        return {(each["kind"], each["metadata"]["name"]) for each in render(folder)}

    reader = keys("worker/multikueue-reader")
    for folder in ("overlays/spec", "overlays/providers", "overlays/nvidia-gpu", "overlays/multikueue"):
        assert reader.isdisjoint(keys(folder))
    assert all(re.fullmatch(r"kueue-dqo-(multikueue-)?reader", name) for _, name in reader)
