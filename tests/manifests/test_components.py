"""What components do to a whole installation: every daemon, on one road, as docs/install.md puts it together."""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.docs.pages import blocks_of
from tests.manifests.rendered import AGENT, CLOUDS, MANIFESTS, NAMESPACE, ROOT, build, of_kind, only

PAGE = (ROOT / "docs/install.md").read_text()
BASES = ("../manifests/overlays/spec", *(f"../manifests/base/{each.name}" for each in (MANIFESTS / "base").iterdir()))
Objects = tuple[dict[str, Any], ...]


def _blocks(language: str) -> list[str]:
    return blocks_of(language, PAGE)


(COMPONENTS,) = (
    yaml.safe_load(block)["components"] for block in _blocks("yml") if block.startswith("# for the whole installation")
)


def _put_together(folder: Path, **more: Any) -> Objects:
    """Every base beside an orchestrator, with what else a kustomization may say."""
    shutil.copytree(MANIFESTS, folder / "manifests")
    (folder / "my-cluster").mkdir()
    plain = {"resources": [each for each in BASES if not each.endswith(("/namespace", "/orchestrator"))], **more}
    (folder / "my-cluster/kustomization.yaml").write_text(yaml.safe_dump(plain))
    return build(folder / "my-cluster")


@pytest.fixture(scope="module")
def without(tmp_path_factory: pytest.TempPathFactory) -> Objects:
    """The installation without any component."""
    return _put_together(tmp_path_factory.mktemp("without"))


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Objects:
    """With the components of the page's list, and its patches for them, each with the target that stands above it."""
    folder = tmp_path_factory.mktemp("with")
    patches = []
    for name in ("monitored.yaml", "narrow.yaml"):
        (text,) = (block for block in _blocks("yml") if block.startswith(f"# {name}"))
        (target,) = re.findall(r"`target: (\{.*\})`", text)
        patches.append({"patch": text, "target": yaml.safe_load(target)})
    monitor = "../manifests/components/nvidia-gpu-podmonitor"
    return _put_together(folder, components=[*COMPONENTS, monitor], patches=patches)


def _identity(obj: dict[str, Any]) -> tuple[str, str]:
    return obj["kind"], obj["metadata"]["name"]


def _added(installed: Objects, without: Objects) -> list[dict[str, Any]]:
    before = {_identity(each) for each in without}
    return [each for each in installed if _identity(each) not in before]


def test_components_add_and_change_just_this(installed: Objects, without: Objects) -> None:
    """What was there before differs in the replicas alone. What is new is in the namespace, and says whose it is."""
    after = {_identity(each): each for each in installed}
    for each in without:
        expected = each | {"spec": each["spec"] | {"replicas": 1}} if each["kind"] == "Deployment" else each
        assert after[_identity(each)] == expected
    added = _added(installed, without)
    assert sorted(each["kind"] for each in added) == [
        "ConfigMap",
        *["NetworkPolicy"] * 2,
        "PodMonitor",
        "PrometheusRule",
        "ServiceMonitor",
    ]
    for each in added:
        assert each["metadata"]["namespace"] == NAMESPACE
        assert each["metadata"]["labels"]["app.kubernetes.io/part-of"] == "kueue-dqo"


def test_every_pod_is_scraped_once(installed: Objects) -> None:
    """Those of Deployments through their Services, agents by themselves, each with a job and a component."""
    monitor = only(installed, "ServiceMonitor")
    services = of_kind(installed, "Service")
    deployments = of_kind(installed, "Deployment")
    assert len(services) == len(deployments) == 7
    (endpoint,) = monitor["spec"]["endpoints"]
    for service in services:
        labels = service["metadata"]["labels"]
        assert monitor["spec"]["selector"]["matchLabels"].items() <= labels.items()
        assert endpoint["port"] in {each["name"] for each in service["spec"]["ports"]}
        served = [each for each in deployments if service["spec"]["selector"].items() <= _labels(each).items()]
        assert len(served) == 1
        assert labels["app.kubernetes.io/component"] == _labels(served[0])["app.kubernetes.io/component"]
    selector = only(installed, "PodMonitor")["spec"]["selector"]["matchLabels"]
    workloads = [*deployments, only(installed, "DaemonSet")]
    found = [each["metadata"]["name"] for each in workloads if selector.items() <= _labels(each).items()]
    assert found == [f"kueue-dqo-{AGENT}"]


def _labels(workload: dict[str, Any]) -> dict[str, str]:
    labels: dict[str, str] = workload["spec"]["template"]["metadata"]["labels"]
    return labels


def test_prometheus_finds_monitors_and_rules_by_a_label_of_its_own(installed: Objects) -> None:
    """The page's patch, which reaches those kinds and no other."""
    labelled = {each["kind"] for each in installed if "release" in each["metadata"]["labels"]}
    assert labelled == {"PodMonitor", "PrometheusRule", "ServiceMonitor"}


def test_every_pod_is_closed_but_for_its_metrics(installed: Objects) -> None:
    """To the namespaces with the page's label; the port is the one that probes and monitors go to."""
    policy = next(each for each in of_kind(installed, "NetworkPolicy") if each["metadata"]["name"] == "kueue-dqo")[
        "spec"
    ]
    assert policy["policyTypes"] == ["Ingress", "Egress"]
    for each in [*of_kind(installed, "Deployment"), only(installed, "DaemonSet")]:
        assert policy["podSelector"]["matchLabels"].items() <= _labels(each).items()
        (container,) = each["spec"]["template"]["spec"]["containers"]
        assert [port["name"] for port in container["ports"]] == ["http"]
    (allowed,) = policy["ingress"]
    assert allowed["ports"] == [{"port": "http"}]
    ((key, value),) = allowed["from"][0]["namespaceSelector"]["matchLabels"].items()
    assert f"kubectl label namespace monitoring {key}={value}\n" in PAGE


def test_only_the_provider_for_clouds_reaches_identities_of_a_cloud(installed: Objects) -> None:
    """All others reach DNS and API servers; by the page's patch, the cluster's own API server alone."""
    policies = {each["metadata"]["name"]: each["spec"] for each in of_kind(installed, "NetworkPolicy")}
    everybody, clouds = policies["kueue-dqo"], policies[f"kueue-dqo-{CLOUDS}"]
    assert everybody["egress"] == [
        {"ports": [{"port": 53, "protocol": "UDP"}, {"port": 53, "protocol": "TCP"}]},
        {"to": [{"ipBlock": {"cidr": "192.0.2.10/32"}}], "ports": [{"port": 6443, "protocol": "TCP"}]},
    ]
    selector = clouds["podSelector"]["matchLabels"]
    chosen = [
        each["metadata"]["name"]
        for each in of_kind(installed, "Deployment")
        if selector.items() <= _labels(each).items()
    ]
    assert chosen == [f"kueue-dqo-{CLOUDS}"]
    addresses = {to["ipBlock"]["cidr"] for rule in clouds["egress"] for to in rule["to"]}
    assert all(re.fullmatch(r"169\.254\.\d+\.\d+/32", each) for each in addresses)
    assert clouds["policyTypes"] == ["Egress"]
