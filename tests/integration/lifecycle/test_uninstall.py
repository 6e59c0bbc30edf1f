"""docs/operations/uninstall.md, typed as it stands: what stays is what its table lists, and goes by what that says."""

from __future__ import annotations

import fnmatch
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from tests.controlplane.admin import APPLY_PATCH
from tests.controlplane.controllers import add_node, start_controllers
from tests.controlplane.kubelet import Kubelet
from tests.controlplane.kueue import install_crds, read, wait_served
from tests.controlplane.plane import ControlPlane
from tests.controlplane.processes import eventually
from tests.docs.pages import section_of
from tests.integration.install.installations import install_monitors
from tests.integration.lifecycle.checkout import PAGES, REGISTRY, ROOT, Checkout, block, blocks
from tests.integration.lifecycle.inventory import Key, Manifest, content, inventory, owners
from tests.integration.objects import (
    COHORTS,
    QUEUES,
    Quotas,
    cohort,
    flavor,
    groups,
    orchestrator,
    provider,
    publish,
    queue,
    wait_for_condition,
    wait_for_quotas,
)

PAGE: Final = "uninstall.md"
KUBECTL, HELM = "kubectl", "Helm"
PROVIDERS: Final = ("cloud-quota", "composite", "manual", "multikueue", "node-inventory", "nvidia-gpu")
COMPONENTS: Final = ("service-monitor", "prometheus-rules", "grafana-dashboard", "network-policy", "single-replica")
VALUES: Final = {
    "image.repository": f"{REGISTRY}/kueue-dqo",
    "replicas": "1",
    "orchestrator.enforcement": "status",
    "providers.nvidiaGpu.enabled": "true",
    "monitoring.serviceMonitor": "true",
    "monitoring.rules": "true",
    "monitoring.dashboard": "true",
    "networkPolicy.enabled": "true",
}
OF_ITSELF: Final = Key("leases.coordination.k8s.io", "kube-system", "apiserver-*")
"""What changes all the time."""
DECLARED: Final[dict[str, Quotas]] = {
    f"{QUEUES}/team-a": {"default": {"cpu": {"nominalQuota": "10000m", "borrowingLimit": "0.50"}}},
    f"{QUEUES}/team-b": {"default": {"cpu": {"nominalQuota": 20}}},
    f"{COHORTS}/teams": {"default": {"cpu": {"nominalQuota": "2e1"}}},
}
"""Numbers in notations of an admin's own."""


class Row:
    """A row of the table: what stays, after whose uninstall, and by which command it goes."""

    def __init__(self, line: str) -> None:
        what, where, after, _, by = (each.strip() for each in line.strip().strip("|").split("|"))
        self.resources = re.findall(r"`([^`]+)`", what)
        self.names = re.findall(r"`([^`]+)`", where)
        self.after = after
        self.commands = re.findall(r"`([^`]+)`", by)

    def tells_of(self, key: Key) -> bool:
        """Whether this object is among those that stay by it. An object in a namespace is written `NAMESPACE/NAME`."""
        name = f"{key.namespace}/{key.name}" if key.namespace else key.name
        return any(fnmatch.fnmatch(key.resource, each) for each in self.resources) and any(
            fnmatch.fnmatch(name, each) for each in self.names
        )


def rows(after: str) -> list[Row]:
    """Those of the table that hold after an uninstall by kubectl, or by Helm."""
    lines = re.findall(r"^\| [`o].*$", section_of(PAGES / PAGE, "What stays"), re.MULTILINE)
    return [row for row in map(Row, lines) if row.after in {after, "both"}]


@pytest.fixture
def plane(tmp_path: Path) -> Iterator[ControlPlane]:
    """With Kueue's definitions, one node, and the three objects of an admin's queues."""
    with ControlPlane(tmp_path / "controlplane") as plane:
        (tmp_path / "controlplane").mkdir(exist_ok=True)
        install_crds(plane, ours=False, effective_quotas=True)
        install_monitors(plane)
        start_controllers(plane)
        add_node(plane, "node-1")
        with Kubelet(plane, ["node-1"]):
            yield plane


def _settled(plane: ControlPlane) -> dict[Key, Manifest]:
    """Everything, once each namespace has what controllers put into it."""
    everywhere = {each["metadata"]["name"] for each in plane.admin.items("/api/v1/namespaces")}
    for path, name in (("configmaps", "kube-root-ca.crt"), ("serviceaccounts", "default")):

        def there(path: str = path, name: str = name) -> set[str]:
            found = plane.admin.items(f"/api/v1/{path}", fieldSelector=f"metadata.name={name}")
            return {each["metadata"]["namespace"] for each in found}

        eventually(lambda there=there: there() == everywhere, f"{name} is in each namespace")  # type: ignore[misc]  # mypy infers no type for a default
    return inventory(plane)


def _use(plane: ControlPlane, road: str) -> None:
    """Orchestrated queues, an object of each kind of this project, and quotas in force that nobody has declared."""
    wait_served(plane)
    plane.admin.apply(*(each for file in sorted((ROOT / "examples/parameters").glob("*.yaml")) for each in read(file)))
    plane.admin.apply(*read(ROOT / "examples/08-gpus-that-died/reports.yaml"))
    plane.admin.apply(provider("pool", "default"), orchestrator("dqo", "pool", root=("Cohort", "teams")))
    publish(plane, "pool", {"default": {"cpu": "25"}})
    wait_for_quotas(plane, road=road, team_a=5, team_b=10)
    wait_for_condition(plane, "True", "QuotasDistributed")


def _check_what_stays(after: str, before: dict[Key, Manifest], found: dict[Key, Manifest]) -> None:
    """Each object that is new has its row, each row has an object, and nothing else has changed."""
    assert before.keys() <= found.keys()
    new = found.keys() - before.keys()
    assert [key for key in sorted(new) if not any(row.tells_of(key) for row in rows(after))] == []
    assert [row.resources for row in rows(after) if not any(row.tells_of(key) for key in new)] == []
    for key, obj in before.items():
        if not fnmatch.fnmatch("/".join(key), "/".join(OF_ITSELF)):
            assert content(found[key]) == content(obj), key
            assert owners(found[key]) <= owners(obj), key


def _check_declared(plane: ControlPlane) -> None:
    """Character by character, and without a trace. Whoever declared them can go on by a server-side apply."""
    for path, quotas in DECLARED.items():
        found = plane.admin.get(path)
        assert found["spec"]["resourceGroups"] == groups(quotas), path
        assert "annotations" not in found["metadata"], path
        assert "effectiveQuotas" not in found.get("status", {}), path
    for obj in _queues():
        changed = json.loads(json.dumps(obj).replace('"2e1"', '"21"').replace('"10000m"', '"11"'))
        query = {"fieldManager": "admin", "dryRun": "All"}
        plane.admin.request("PATCH", plane.admin.path_of(obj), changed, content_type=APPLY_PATCH, query=query)


def test_nothing_stays_but_what_the_page_lists(plane: ControlPlane, tmp_path: Path) -> None:
    """By kubectl from the road `spec`, with everything that can be installed; then by Helm from the road `status`."""
    (tmp_path / "checkout").mkdir()
    checkout = Checkout(tmp_path / "checkout", plane)
    plane.admin.apply(flavor("default"), *_queues(), manager="admin")
    before = _settled(plane)
    stop = block(PAGE, "Stop writing")
    look, restore = blocks(PAGE, "Put the declared quotas back")
    by_kubectl, by_helm = blocks(PAGE, "Remove the daemons")

    bases = (f"base/{each}" for each in (*PROVIDERS, "nvidia-gpu-agent"))
    checkout.write_my_cluster("overlays/spec", *bases, components=COMPONENTS)
    for folder in ("manifests/crds/kueue", "manifests/crds/providers", "my-cluster"):
        checkout.run(f"kubectl apply --server-side -k {folder}")
    checkout.run("kubectl -n kueue-dqo-system rollout status deployment --timeout=2m")
    _use(plane, "spec")
    checkout.run(stop)
    looked = checkout.type(look)
    assert looked.code == 1
    assert "ClusterQueue/" in looked.out  # what it lists; with nobody to ask, it stops there
    checkout.run(restore)
    _check_declared(plane)
    checkout.run(by_kubectl)
    _check_what_stays(KUBECTL, before, _settled(plane))
    _remove(checkout, KUBECTL)
    assert _settled(plane).keys() == before.keys()

    settings = " ".join(f"--set {name}={value}" for name, value in VALUES.items())
    for chart, options in (("kueue-dqo-kueue-crds", "--create-namespace"), ("kueue-dqo", f"--wait {settings}")):
        checkout.run(f"helm install {chart} manifests/charts/{chart} --namespace kueue-dqo-system {options}")
    _use(plane, "status")
    checkout.run(stop)
    checkout.run(restore)
    _check_declared(plane)
    checkout.run(by_helm)
    _check_what_stays(HELM, before, _settled(plane))
    _remove(checkout, HELM)
    assert _settled(plane).keys() == before.keys()


def _queues() -> list[Manifest]:
    names = ("team-a", "team-b")
    teams = cohort("teams", DECLARED[f"{COHORTS}/teams"])
    return [teams, *(queue(name, DECLARED[f"{QUEUES}/{name}"], cohort="teams") for name in names)]


def _remove(checkout: Checkout, after: str) -> None:
    """By the commands of the table. Events would go by themselves."""
    for row in rows(after):
        for command in row.commands:
            checkout.run(command)
    checkout.run("kubectl -n default delete events --all")
