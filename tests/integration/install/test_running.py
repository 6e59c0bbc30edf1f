"""Every daemon that can be installed is started as it was rendered, by Deployments, a scheduler and a kubelet."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

from kueue_dqo.runtime.resources import NODE_GPU_REPORTS
from tests.controlplane import binaries
from tests.controlplane.kueue import apply_crds
from tests.controlplane.processes import eventually
from tests.integration.install.cluster import GPU_NODE, GPUS, SYSTEM, Cluster
from tests.integration.install.installations import (
    identity,
    installations,
    whole,
    workloads,
)
from tests.manifests.charts import CHART, KUEUE_CHART, RELEASE, template, values_of
from tests.manifests.rendered import MANIFESTS, NAMESPACE, ROOT, build, render

_FOLDER: Final = ROOT / "examples" / "01-two-teams-one-pool"
EXAMPLE: Final = tuple(_FOLDER / name for name in ("flavors.yaml", "queues.yaml", "dqo.yaml"))
CONDITIONS: Final = {"capacityproviders": "CapacitySynchronized", "dynamicquotaorchestrators": "Distributed"}
OTHERS: Final = {
    *("overlays/auto", "overlays/observe", "overlays/status", "overlays/aws", "overlays/nvidia-gpu-hostpath"),
    *("components/nvidia-gpu-mig", "components/multikueue-kueue-secrets", "components/multikueue-cluster-profiles"),
    "helm two-accounts",
}
"""Those that start something in another way than the page's installation."""
EVERYTHING: Final = "everything"
"""The variant of the chart."""


def test_the_page_installs_everything_and_takes_it_away(cluster: Cluster, tmp_path: Path) -> None:
    """By kubectl: every daemon at work, its replicas on two nodes, agents on GPU nodes, quotas that follow."""
    for definitions in ("crds/kueue", "crds/providers"):
        cluster.run("kubectl", "apply", "--server-side", "-k", MANIFESTS / definitions)
    cluster.plane.admin.forget_resources()
    folder = whole(tmp_path / "my-cluster")
    cluster.run("kubectl", "apply", "--server-side", "-k", folder)
    installed = workloads(build(folder))
    assert len(installed) == 8
    cluster.wait_at_work(*installed)
    for workload in installed:
        nodes = sorted(each["spec"]["nodeName"] for each in cluster.pods(workload))
        assert nodes == ([GPU_NODE] if workload["kind"] == "DaemonSet" else list(SYSTEM))

    def has_reported() -> bool:
        (report,) = cluster.plane.admin.items(NODE_GPU_REPORTS.path())
        return [each["healthy"] for each in report["spec"]["inventory"]["devices"]] == [GPUS]

    eventually(has_reported, "the agent has told what NVML has")
    for file in EXAMPLE:
        cluster.run("kubectl", "apply", "-f", file)
    for kind, condition in CONDITIONS.items():
        cluster.run("kubectl", "wait", kind, "--all", f"--for=condition={condition}", "--timeout=60s")
    logs = ("logs", "deployment/kueue-dqo-orchestrator", "--all-pods", "--tail=200")
    assert "leader election won" in cluster.run("kubectl", "-n", NAMESPACE, *logs)
    cluster.wait_at_work(*installed)

    for file in reversed(EXAMPLE):
        cluster.run("kubectl", "delete", "-f", file)
    cluster.run("kubectl", "delete", "-k", folder)
    assert cluster.left() == []
    assert cluster.kubelet.containers(NAMESPACE) == {}


def test_whatever_else_can_be_installed_comes_to_work(cluster: Cluster, tmp_path: Path) -> None:
    """Every daemon of another account, other arguments or another environment than those of the page's installation.

    One replica of each: what two do is seen there.
    """
    seen = {identity(each) for each in workloads(build(whole(tmp_path / "seen")))}
    started = set()
    for name, objects in installations(tmp_path):
        new = [each for each in workloads(objects) if identity(each) not in seen]
        if not new and workloads(objects):
            continue
        others = [each for each in objects if each not in workloads(objects)]
        apply_crds(cluster.plane, *(each for each in others if each["kind"] == "CustomResourceDefinition"))
        cluster.plane.admin.apply(*(each for each in others if each["kind"] != "CustomResourceDefinition"))
        single = [_single(each) for each in new]
        cluster.plane.admin.apply(*single)
        cluster.wait_at_work(*single)
        seen |= {identity(each) for each in new}
        started |= {name for _ in new}
    assert started >= OTHERS


def _single(workload: dict[str, Any]) -> dict[str, Any]:
    return workload | {"spec": workload["spec"] | {"replicas": 1}} if workload["kind"] == "Deployment" else workload


def test_the_chart_installs_everything_and_takes_it_away(cluster: Cluster) -> None:
    """By Helm, into a namespace that enforces `restricted`. Definitions stay, since all of their objects would go."""
    helm = binaries.find(binaries.HELM)
    cluster.plane.admin.apply(*(each for each in render("base/namespace") if each["kind"] == "Namespace"))
    cluster.run(helm, "install", KUEUE_CHART.name, KUEUE_CHART)
    cluster.run(helm, "install", RELEASE, CHART, "--namespace", NAMESPACE, "--values", values_of(EVERYTHING))
    cluster.plane.admin.forget_resources()
    installed = workloads(template(EVERYTHING))
    assert len(installed) == 8
    cluster.wait_at_work(*installed)
    cluster.run(helm, "uninstall", RELEASE, "--namespace", NAMESPACE)
    assert cluster.left() == [f"namespace/{NAMESPACE}"]
