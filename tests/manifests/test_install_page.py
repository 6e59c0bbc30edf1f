"""What docs/install.md tells an admin to type is there."""

from __future__ import annotations

import os
import re
import shutil
from pathlib import Path
from typing import Any

import pytest
import yaml

from kueue_dqo import __version__
from orchestrator.enforcement.spec import APPLIED_QUOTAS, DECLARED_QUOTAS
from tests.docs.pages import blocks_of
from tests.manifests.rendered import (
    AGENT,
    GPU_OVERLAYS,
    MANIFESTS,
    NAMESPACE,
    ORCHESTRATOR,
    OVERLAYS,
    PROVIDERS,
    ROOT,
    build,
    is_chosen,
    of_kind,
    only,
    overlay,
    pod,
    render,
)

COMPONENTS = tuple(folder.name for folder in (MANIFESTS / "components").iterdir())
CHOICES = {
    *("nvidia-gpu-privileged", "nvidia-gpu-hostpath"),
    *("multikueue-kueue-secrets", "multikueue-cluster-profiles"),
}
"""Those that take the place of others, or change where something is read."""
PAGE = (ROOT / "docs/install.md").read_text()


def _blocks(language: str) -> list[str]:
    return blocks_of(language, PAGE)


SNIPPETS: dict[str, Any] = {
    next(iter(plain.get("spec", plain))): plain
    for plain in map(yaml.safe_load, reversed(_blocks("yml")))
    if isinstance(plain, dict)
}
"""By their first field, of several the first; but for patches that are lists."""


def _pointer(*parts: str) -> str:
    return "".join("/" + part.replace("~", "~0").replace("/", "~1") for part in parts)


FIELDS = {
    _pointer("spec", "resourceGroups"),
    _pointer("metadata", "annotations", APPLIED_QUOTAS),
    _pointer("metadata", "annotations", DECLARED_QUOTAS),
}


def test_every_folder_that_is_named_can_be_built() -> None:
    """Those behind `-k`, and the resources of the admin's own kustomization. Components need one to be built in."""
    named = set(re.findall(r"manifests/([a-z/-]*[a-z])", PAGE))
    assert {"crds/kueue", "crds/providers", "overlays/observe", "overlays/providers", "overlays/nvidia-gpu"} <= named
    for folder in named - {f"components/{each}" for each in COMPONENTS}:
        assert (MANIFESTS / folder / "kustomization.yaml").is_file()
        assert render(folder)


@pytest.mark.parametrize("name", OVERLAYS)
def test_every_overlay_is_told(name: str) -> None:
    """In the table that one is chosen by."""
    assert f"\n| `{name}` |" in PAGE


@pytest.mark.parametrize("name", PROVIDERS)
def test_every_provider_is_told(name: str) -> None:
    """With its base in the table, and in the kustomization that has it beside an orchestrator."""
    assert f"\n| `base/{name}` |" in PAGE
    assert f"../manifests/base/{name}" in SNIPPETS["resources"]["resources"]


@pytest.mark.parametrize("name", COMPONENTS)
def test_every_component_is_told(name: str) -> None:
    """By its name. And in a kustomization, where it is no matter of choice."""
    assert f"the component `{name}`" in PAGE
    lists = [plain.get("components", []) for plain in map(yaml.safe_load, _blocks("yml")) if isinstance(plain, dict)]
    told = [each for components in lists for each in components]
    assert (f"../manifests/components/{name}" in told) is (name not in CHOICES)


def test_providers_and_an_orchestrator_are_installed_by_one_kustomization(tmp_path: Path) -> None:
    """The page's file, beside `manifests/`: every daemon, and the agents, with the admin's image."""
    shutil.copytree(MANIFESTS, tmp_path / "manifests")
    (tmp_path / "my-cluster").mkdir()
    (tmp_path / "my-cluster/kustomization.yaml").write_text(yaml.safe_dump(SNIPPETS["resources"]))
    objects = build(tmp_path / "my-cluster")
    deployments = of_kind(objects, "Deployment")
    assert {each["metadata"]["name"] for each in deployments} == {
        ORCHESTRATOR,
        *(f"kueue-dqo-{name}" for name in PROVIDERS),
    }
    pods = [*deployments, only(objects, "DaemonSet")]
    images = {each["spec"]["template"]["spec"]["containers"][0]["image"] for each in pods}
    assert images == {f"REGISTRY/kueue-dqo:{__version__}"}


def test_components_for_gpus_are_added_to_it(tmp_path: Path) -> None:
    """The page's other list, with the bases that it is for."""
    shutil.copytree(MANIFESTS, tmp_path / "manifests")
    (tmp_path / "my-cluster").mkdir()
    components = {"components": SNIPPETS["resources"]["components"] + SNIPPETS["components"]["components"]}
    plain = SNIPPETS["resources"] | components
    (tmp_path / "my-cluster/kustomization.yaml").write_text(yaml.safe_dump(plain))
    objects = build(tmp_path / "my-cluster")
    added = only(objects, "DaemonSet")["spec"]["template"]["spec"]["containers"][0]["securityContext"]["capabilities"]
    assert added["add"] == ["SYS_ADMIN"]
    assert len(of_kind(objects, "PodMonitor")) == 1


def test_another_folder_with_the_driver_is_told_by_a_patch(tmp_path: Path) -> None:
    """The page's patch: only the path differs."""
    (text,) = (block for block in _blocks("yml") if block.startswith("# driver.yaml"))
    (tmp_path / "driver.yaml").write_text(text)
    resources = [os.path.relpath(MANIFESTS / "overlays/nvidia-gpu-hostpath", tmp_path)]
    plain = {"resources": resources, "patches": [{"path": "driver.yaml"}]}
    (tmp_path / "kustomization.yaml").write_text(yaml.safe_dump(plain))
    before, after = (
        only(objects, "DaemonSet")["spec"]["template"]["spec"]
        for objects in (overlay("nvidia-gpu-hostpath"), build(tmp_path))
    )
    assert after.pop("volumes") == [{"name": "driver", "hostPath": {"path": "/opt/nvidia", "type": "Directory"}}]
    assert before == {**after, "volumes": before["volumes"]}


def test_the_page_names_what_agents_need_of_a_cluster() -> None:
    """The RuntimeClass, the labels of nodes, the namespace's label, the account, the folder."""
    spec = pod(AGENT)["spec"]
    assert f"kubectl get runtimeclass {spec['runtimeClassName']}\n" in PAGE
    assert f"kubectl get nodes -L {','.join(_affinity_keys(spec))}\n" in PAGE
    assert f"daemonset/kueue-dqo-{AGENT}\n" in PAGE
    assert f"`{spec['serviceAccountName']}`" in PAGE
    hostpath = only(overlay("nvidia-gpu-hostpath"), "DaemonSet")["spec"]["template"]["spec"]
    assert f"`{hostpath['volumes'][0]['hostPath']['path']}`" in PAGE
    for each in _affinity_keys(hostpath):
        assert re.search(rf"`{each}[`=]", PAGE)
    label = "pod-security.kubernetes.io/enforce"
    (enforced,) = re.findall(rf"{label}=(\S+)", PAGE)
    assert only(overlay("nvidia-gpu-hostpath"), "Namespace")["metadata"]["labels"][label] == enforced


def _affinity_keys(spec: dict[str, Any]) -> list[str]:
    """In the order of the page's command: those of GPUs, then the one that sends the agent away."""
    required = spec["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
    found = {each["key"] for term in required["nodeSelectorTerms"] for each in term["matchExpressions"]}
    return sorted(found, key=lambda key: ("deploy" in key, "count" in key))


@pytest.mark.parametrize("name", GPU_OVERLAYS)
def test_nodes_with_another_label_get_an_agent_by_a_patch(name: str, tmp_path: Path) -> None:
    """The page's patch, with the target that stands above it. The other nodes keep theirs."""
    (text,) = (block for block in _blocks("yml") if block.startswith("# labelled.yaml"))
    (target,) = re.findall(r"`target: (\{.*\})`", text)
    (tmp_path / "labelled.yaml").write_text(text)
    resources = [os.path.relpath(MANIFESTS / "overlays" / name, tmp_path)]
    plain = {"resources": resources, "patches": [{"path": "labelled.yaml", "target": yaml.safe_load(target)}]}
    (tmp_path / "kustomization.yaml").write_text(yaml.safe_dump(plain))
    before, after = (
        only(objects, "DaemonSet")["spec"]["template"]["spec"] for objects in (overlay(name), build(tmp_path))
    )
    (added,) = set(_affinity_keys(after)) - set(_affinity_keys(before))
    client = "nvidia.com/gpu.deploy.client"
    assert is_chosen(after, {added: ""})
    assert not is_chosen(after, {added: "", client: "false"})
    assert not is_chosen(before, {added: ""})
    for labels in ({"nvidia.com/gpu.present": "true", client: "true"}, {"nvidia.com/gpu.count": "1"}):
        assert is_chosen(after, labels)


@pytest.mark.parametrize("name", OVERLAYS)
def test_the_names_are_those_of_the_objects(name: str) -> None:
    """Namespace, Deployment, Service, Role, PriorityClass, and the variables that an overlay sets."""
    for kind in ("Deployment", "Service", "Role", "PriorityClass", "Namespace"):
        told = [each["metadata"]["name"] for each in of_kind(overlay(name), kind) if each["metadata"]["name"] in PAGE]
        assert told, kind
    (deployment,) = of_kind(overlay(name), "Deployment")
    for variable in deployment["spec"]["template"]["spec"]["containers"][0]["env"]:
        assert f"`{variable['name']}`" in PAGE
    assert set(re.findall(r"-n ([a-z-]+)", PAGE)) == {NAMESPACE, "default"}
    assert set(re.findall(r"deployment/([a-z-]+)", PAGE)) == {ORCHESTRATOR}


def test_argo_cd_ignores_the_three_fields() -> None:
    """Of both kinds, and at a sync too."""
    rules = SNIPPETS["ignoreDifferences"]["spec"]["ignoreDifferences"]
    assert {(rule["group"], rule["kind"]) for rule in rules} == {
        ("kueue.x-k8s.io", "ClusterQueue"),
        ("kueue.x-k8s.io", "Cohort"),
    }
    assert all(set(rule["jsonPointers"]) == FIELDS for rule in rules)
    assert "RespectIgnoreDifferences=true" in SNIPPETS["ignoreDifferences"]["spec"]["syncPolicy"]["syncOptions"]


def test_flux_ignores_the_three_fields() -> None:
    """Its targets are regular expressions."""
    (rule,) = SNIPPETS["driftIgnoreRules"]["spec"]["driftIgnoreRules"]
    assert set(rule["paths"]) == FIELDS
    assert all(re.fullmatch(rule["target"]["kind"], kind) for kind in ("ClusterQueue", "Cohort"))
    assert rule["target"]["group"] == "kueue.x-k8s.io"


def test_the_admins_own_kustomization_names_the_image_and_changes_a_setting(tmp_path: Path) -> None:
    """The page's file with the page's patch, beside `manifests/`."""
    shutil.copytree(MANIFESTS, tmp_path / "manifests")
    (file,) = re.findall(r"^cat > (\S+) <<'EOF'\n(.*?)^EOF$", PAGE, re.MULTILINE | re.DOTALL)
    path = tmp_path / file[0]
    path.parent.mkdir()
    path.write_text(file[1] + yaml.safe_dump(SNIPPETS["patches"]))
    deployments = {each["metadata"]["name"]: each for each in of_kind(build(path.parent), "Deployment")}
    assert deployments.keys() == {ORCHESTRATOR, "kueue-dqo-node-inventory"}
    deployment = deployments[ORCHESTRATOR]
    (container,) = deployment["spec"]["template"]["spec"]["containers"]
    assert container["image"] == f"REGISTRY/kueue-dqo:{__version__}"
    assert f"-t {container['image']} ." in PAGE
    assert {each["name"]: each.get("value") for each in container["env"]} == {
        "DQO_ENFORCEMENT": "observe",
        "DQO_NAMESPACE": None,
        "DQO_IDENTITY": None,
        "DQO_WRITE_QPS": "20",
    }
