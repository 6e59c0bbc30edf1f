"""The chart has the same content as kustomize's folders: what differs on one side alone is named here."""

from __future__ import annotations

import copy
import json
import re
import tarfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from kueue_dqo import __version__
from tests.manifests.charts import CHART, KUEUE_CHART, VARIANTS, helm, template
from tests.manifests.rendered import build, kustomized, render

OF_HELM = {"app.kubernetes.io/managed-by", "helm.sh/chart"}
ALONE = ["../base/namespace"]
FOLDERS: dict[str, tuple[list[str], list[str]]] = {
    "observe": (["overlays/observe", "base/node-inventory"], []),
    "spec": (["overlays/spec"], []),
    "status": (["overlays/status"], []),
    "auto": (["overlays/auto"], []),
    "providers": (["overlays/providers"], []),
    "gpu-toolkit": (["overlays/nvidia-gpu"], []),
    "gpu-mig": (["overlays/nvidia-gpu"], ["nvidia-gpu-mig"]),
    "gpu-privileged": (["overlays/nvidia-gpu"], ["nvidia-gpu-privileged"]),
    "gpu-hostpath": (["overlays/nvidia-gpu-hostpath"], []),
    "aws": (["overlays/aws"], []),
    "gcp": (["overlays/gcp"], []),
    "multikueue": (["overlays/multikueue"], []),
    "multikueue-kueue-secrets": (["overlays/multikueue"], ["multikueue-kueue-secrets"]),
    "multikueue-cluster-profiles": (["overlays/multikueue"], ["multikueue-cluster-profiles"]),
    "everything": (
        [
            "overlays/spec",
            *(f"base/{name}" for name in ("node-inventory", "manual", "composite", "cloud-quota", "multikueue")),
            *("base/nvidia-gpu", "base/nvidia-gpu-agent"),
        ],
        [
            *("node-inventory-pods", "nvidia-gpu-pods", "nvidia-gpu-podmonitor"),
            *("service-monitor", "prometheus-rules", "grafana-dashboard", "network-policy", "single-replica"),
        ],
    ),
}
"""Resources and components below `manifests/` that have what a variant of the chart has."""
ONLY_THE_CHART = {"two-accounts"}
"""What kustomize has a comment about, and no folder."""

Key = tuple[str, str, str]


def _by_key(objects: tuple[dict[str, Any], ...]) -> dict[Key, dict[str, Any]]:
    found = {}
    for each in objects:
        metadata = each["metadata"]
        key = each["kind"], metadata.get("namespace", ""), metadata["name"]
        assert key not in found, f"twice: {key}"
        found[key] = each
    return found


def _plain(value: dict[str, Any]) -> dict[str, Any]:
    """Without what Helm adds, and in an order of its own where the order says nothing."""
    plain = copy.deepcopy(value)
    labels = plain["metadata"].get("labels", {})
    plain["metadata"]["labels"] = {key: text for key, text in labels.items() if key not in OF_HELM}
    for container in plain.get("spec", {}).get("template", {}).get("spec", {}).get("containers", []):
        container["env"].sort(key=lambda each: str(each["name"]))
        container["image"] = container["image"].rpartition("/")[2]
    for rule in plain.get("rules", []):
        for field in ("resources", "verbs"):
            rule[field] = sorted(rule[field])
    if "rules" in plain:
        plain["rules"] = sorted(plain["rules"], key=json.dumps)
    return plain


def _without(objects: dict[Key, dict[str, Any]], *kinds: str) -> dict[Key, dict[str, Any]]:
    return {key: _plain(each) for key, each in objects.items() if key[0] not in kinds}


def test_every_variant_has_its_folders() -> None:
    """A new one is not forgotten here."""
    assert set(VARIANTS) == set(FOLDERS) | ONLY_THE_CHART


@pytest.mark.parametrize("variant", FOLDERS)
def test_the_chart_is_what_kustomize_builds(variant: str, tmp_path: Path) -> None:
    """Object by object, field by field. The namespace is Helm's to make; the CRDs are compared below."""
    resources, components = FOLDERS[variant]
    kustomized(tmp_path, resources, [f"components/{each}" for each in components])
    wanted = _without(_by_key(build(tmp_path)), "Namespace")
    found = _without(_by_key(template(variant)), "CustomResourceDefinition")
    assert found.keys() == wanted.keys()
    for key, each in wanted.items():
        assert found[key] == each, key


@pytest.mark.parametrize(("chart", "folder"), [(CHART, "crds/providers"), (KUEUE_CHART, "crds/kueue")])
def test_the_definitions_are_those_of_kustomize_and_are_kept(chart: Path, folder: str) -> None:
    """With a definition, all of its objects would go when the release goes."""
    found = {key: each for key, each in _by_key(template("", chart=chart)).items() if key[0].startswith("Custom")}
    wanted = _by_key(render(folder))
    assert found.keys() == wanted.keys()
    for key, each in found.items():
        annotations = each["metadata"]["annotations"]
        assert annotations["helm.sh/resource-policy"] == "keep"
        assert each["spec"] == wanted[key]["spec"]


def test_a_second_account_has_everything_of_its_own() -> None:
    """Names, labels, Lease, and which providers it serves: nothing of one selects the other's pods."""
    objects = _by_key(template("two-accounts"))
    one, two = (
        objects["Deployment", "kueue-dqo-system", f"kueue-dqo-cloud-quota{suffix}"] for suffix in ("", "-research")
    )
    assert one["spec"]["selector"]["matchLabels"] != two["spec"]["selector"]["matchLabels"]
    environment = {each["name"]: each.get("value") for each in two["spec"]["template"]["spec"]["containers"][0]["env"]}
    assert environment["DQO_ONLY"] == "research-a research-b"
    assert environment["DQO_LEASE_NAME"] == "kueue-dqo-cloud-quota-research"
    account = objects["ServiceAccount", "kueue-dqo-system", "kueue-dqo-cloud-quota-research"]
    assert "444455556666" in account["metadata"]["annotations"]["eks.amazonaws.com/role-arn"]
    assert "annotations" not in objects["ServiceAccount", "kueue-dqo-system", "kueue-dqo-cloud-quota"]["metadata"]


def test_another_namespace_is_used_throughout() -> None:
    """But for the Role about Events, which stand in `default`, and for Kueue's own namespace."""
    for each in template("everything", namespace="elsewhere"):
        text = yaml.safe_dump(each.get("subjects", []))
        assert "kueue-dqo-system" not in text
        assert each["metadata"].get("namespace") in {None, "elsewhere", "default", "kueue-system"}


@pytest.mark.parametrize("chart", [CHART, KUEUE_CHART])
def test_helm_has_nothing_to_complain_of(chart: Path) -> None:
    """Its linter, strictly."""
    done = helm("lint", "--strict", chart)
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_versions_are_those_of_the_project() -> None:
    """Chart, image and package go together."""
    for chart in (CHART, KUEUE_CHART):
        plain = yaml.safe_load((chart / "Chart.yaml").read_text())
        assert (plain["version"], plain["appVersion"]) == (__version__, __version__)


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        ("orchestrator.enforcement=sepc", "/orchestrator/enforcement"),
        ("orchestrator.enforcment=spec", "enforcment"),
        ("providers.nodeinventory.enabled=true", "nodeinventory"),
        ("providers.manual.enabled=maybe", "/providers/manual/enabled"),
        ("replicas=0", "/replicas"),
        ("image.digest=latest", "/image/digest"),
        ("providers.nvidiaGpu.agent.driver=nvml", "/providers/nvidiaGpu/agent/driver"),
        ("providers.cloudQuota.moreAccounts[0].name=Research", "/providers/cloudQuota/moreAccounts/0/name"),
        ("providers.manual.env[0].value=1", "/providers/manual/env/0"),
        ("monitoring.rule=true", "rule"),
    ],
)
def test_a_wrong_value_is_refused_by_its_name(wrong: str, told: str) -> None:
    """Before anything is installed."""
    done = helm("template", "x", CHART, "--set", wrong)
    assert done.returncode != 0
    assert told in done.stderr.replace("'", "").replace(".", "/")


def _leaves(value: dict[str, Any], path: str = ".Values") -> Iterator[str]:
    for key, inner in value.items():
        if isinstance(inner, dict) and inner:
            yield from _leaves(inner, f"{path}.{key}")
        else:
            yield f"{path}.{key}"


def test_every_value_has_an_effect() -> None:
    """Each last name is asked for by some template."""
    texts = "\n".join(file.read_text() for file in (CHART / "templates").iterdir())
    values = yaml.safe_load((CHART / "values.yaml").read_text())
    unused = [leaf for leaf in _leaves(values) if not re.search(rf"\.{leaf.rpartition('.')[2]}\b", texts)]
    # Below these, whole maps are written as they are.
    assert [leaf for leaf in unused if not re.search(r"\.(resources|requests|limits|metricsFrom|egress)", leaf)] == []


@pytest.mark.parametrize("chart", [CHART, KUEUE_CHART])
def test_the_package_has_what_it_needs_and_is_small(chart: Path, tmp_path: Path) -> None:
    """A release with it fits into a Secret, which holds 1 MiB."""
    done = helm("package", chart, "--destination", tmp_path)
    assert done.returncode == 0, done.stderr
    (package,) = tmp_path.glob("*.tgz")
    assert package.stat().st_size < 200_000
    with tarfile.open(package) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    assert {file.name for file in (chart / "templates").iterdir()} <= {name.rpartition("/")[2] for name in names}
    assert any(name.startswith("files/") for name in names)
