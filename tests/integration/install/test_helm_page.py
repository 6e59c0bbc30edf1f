"""docs/helm.md, typed as it stands: an installation, from `observe` to writing, and from kubectl to Helm and back."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import yaml

from tests.docs.shell_blocks import ROOT, Block, Typist, shell_blocks
from tests.integration.install.cluster import Cluster
from tests.manifests.rendered import NAMESPACE

PAGE: Final = "docs/helm.md"
REGISTRY: Final = "registry.example.com"
TAKEN: Final = "From kustomize to Helm"
DEPLOYMENTS: Final = f"/apis/apps/v1/namespaces/{NAMESPACE}/deployments"
ORCHESTRATOR: Final = f"{DEPLOYMENTS}/kueue-dqo-orchestrator"
ENFORCEMENT: Final = "DQO_ENFORCEMENT"


def _blocks(heading: str) -> list[Block]:
    return [each for each in shell_blocks() if (each.page, each.heading) == (PAGE, heading)]


class _Admin:
    def __init__(self, cluster: Cluster, folder: Path) -> None:
        for name in ("examples", "manifests"):
            (folder / name).symlink_to(ROOT / name)
        self._typist = Typist(folder, KUBECONFIG=str(cluster.plane.kubeconfig()))

    def type(self, block: Block, replaced: dict[str, str] | None = None) -> None:
        done = self._typist.type(block, replaced)
        assert done.code == 0, f"{block}\n{done.out}\n{done.err}"

    def run(self, commands: str) -> str:
        done = self._typist.run(commands)
        assert done.code == 0, f"{commands}\n{done.out}\n{done.err}"
        return done.out

    def refused(self, commands: str) -> str:
        done = self._typist.run(commands)
        assert done.code != 0, commands
        return done.err


def test_the_page_about_helm_is_typed(cluster: Cluster, tmp_path: Path) -> None:
    """The daemons come to work in the mode `observe`, and then write."""
    admin = _Admin(cluster, tmp_path)
    namespace, definitions, daemons = _blocks("Install with Helm")
    admin.type(namespace)
    admin.type(definitions)
    admin.type(daemons, {"REGISTRY": REGISTRY})
    cluster.plane.admin.forget_resources()
    cluster.wait_at_work(*_deployments(cluster))
    assert _enforcement(cluster) == "observe"
    (writing,) = _blocks("From `observe` to writing")
    admin.type(writing)
    cluster.wait_at_work(*_deployments(cluster))
    assert _enforcement(cluster) == "spec"


def test_no_block_of_the_page_is_left_out() -> None:
    """Those of the two tests here, and the one about an upgrade, whose test is elsewhere."""
    typed = ("Install with Helm", "From `observe` to writing", TAKEN, "Upgrade")
    assert {each.heading for each in shell_blocks() if each.page == PAGE} == set(typed)


def test_what_kubectl_has_applied_is_taken_over_and_given_back(cluster: Cluster, tmp_path: Path) -> None:
    """No pod is replaced on the way, and the definitions are this project's all the time."""
    admin = _Admin(cluster, tmp_path)
    kustomization = {
        "resources": [f"../manifests/{each}" for each in ("overlays/spec", "base/node-inventory")],
        "images": [{"name": "kueue-dqo", "newName": f"{REGISTRY}/kueue-dqo"}],
    }
    (tmp_path / "my-cluster").mkdir()
    (tmp_path / "my-cluster/kustomization.yaml").write_text(yaml.safe_dump(kustomization))
    values = {"image": {"repository": f"{REGISTRY}/kueue-dqo"}, "orchestrator": {"enforcement": "spec"}}
    (tmp_path / "values.yaml").write_text(yaml.safe_dump(values))
    for folder in ("manifests/crds/kueue", "manifests/crds/providers", "my-cluster"):
        admin.run(f"kubectl apply --server-side -k {folder}")
    cluster.plane.admin.forget_resources()
    cluster.wait_at_work(*_deployments(cluster))
    before = _pods(cluster)

    daemons, definitions, back = _blocks(TAKEN)
    bold = daemons.commands.replace("--take-ownership", "").replace("--force-conflicts", "")
    assert "cannot be imported into the current release" in admin.refused(bold)
    assert "conflict" in admin.refused(daemons.commands.replace("--force-conflicts", ""))
    admin.type(daemons)
    admin.type(definitions)
    _check(cluster, before, "Helm")
    admin.type(back)
    _check(cluster, before, "kueue-dqo")
    admin.run("kubectl apply --server-side -k my-cluster && kubectl apply --server-side -k manifests/crds/providers")
    assert admin.run(f"helm list --short --namespace {NAMESPACE}") == ""


def _check(cluster: Cluster, pods: dict[str, str], manager: str) -> None:
    """Whose the definitions are, and that the pods are the same as before."""
    cluster.wait_at_work(*_deployments(cluster))
    assert _pods(cluster) == pods
    found = [
        cluster.plane.admin.get(f"/apis/apiextensions.k8s.io/v1/customresourcedefinitions/{name}")
        for name in ("dynamicquotaorchestrators.kueue.x-k8s.io", "manualcapacities.kueue-dqo.dev")
    ]
    assert {each["metadata"]["labels"]["app.kubernetes.io/managed-by"] for each in found} == {manager}


def _deployments(cluster: Cluster) -> list[dict[str, Any]]:
    found = cluster.plane.admin.items(DEPLOYMENTS)
    assert [each["metadata"]["name"] for each in found] == ["kueue-dqo-node-inventory", "kueue-dqo-orchestrator"]
    return [{"apiVersion": "apps/v1", "kind": "Deployment"} | each for each in found]


def _pods(cluster: Cluster) -> dict[str, str]:
    pods = cluster.plane.admin.items(f"/api/v1/namespaces/{NAMESPACE}/pods")
    return {each["metadata"]["name"]: each["metadata"]["uid"] for each in pods}


def _enforcement(cluster: Cluster) -> str:
    (container,) = cluster.plane.admin.get(ORCHESTRATOR)["spec"]["template"]["spec"]["containers"]
    return next(str(each["value"]) for each in container["env"] if each["name"] == ENFORCEMENT)
