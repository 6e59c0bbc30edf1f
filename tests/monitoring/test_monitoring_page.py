"""What docs/monitoring.md tells an admin to write is taken by kustomize and by Prometheus."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import yaml

from tests.docs.pages import blocks_of
from tests.manifests.rendered import MANIFESTS, build, of_kind, only
from tests.monitoring.rules import ROOT, promtool

PAGE = (ROOT / "docs/monitoring.md").read_text()


def _block(first: str) -> str:
    (found,) = (block for block in blocks_of("yml", PAGE) if block.startswith(first))
    return found


def _built(folder: Path) -> tuple[dict[str, Any], ...]:
    """The page's components and patches, beside an orchestrator and the agents."""
    shutil.copytree(MANIFESTS, folder / "manifests")
    mine = folder / "my-cluster"
    mine.mkdir()
    for name in ("labelled.yaml", "thresholds.yaml"):
        (mine / name).write_text(_block(f"# {name}"))
    kustomization = {
        "resources": ["../manifests/overlays/spec", "../manifests/base/nvidia-gpu-agent"],
        "patches": [
            {"path": "labelled.yaml", "target": {"group": "monitoring.coreos.com"}},
            {"path": "thresholds.yaml", "target": {"kind": "PrometheusRule", "name": "kueue-dqo"}},
        ],
    }
    (mine / "kustomization.yaml").write_text(yaml.safe_dump(kustomization | yaml.safe_load(_block("components:"))))
    return build(mine)


def test_the_patches_change_what_they_say(tmp_path: Path) -> None:
    """A label on all of the operator's kinds; another threshold; an alert less. The rest stays."""
    objects = _built(tmp_path)
    monitors = [each for each in objects if each["apiVersion"].startswith("monitoring.coreos.com/")]
    assert sorted(each["kind"] for each in monitors) == ["PodMonitor", "PrometheusRule", "ServiceMonitor"]
    assert {each["metadata"]["labels"]["release"] for each in monitors} == {"kube-prometheus-stack"}
    rules = {
        rule["alert"]: rule["expr"]
        for group in only(objects, "PrometheusRule")["spec"]["groups"]
        for rule in group["rules"]
    }
    assert rules["KueueDqoCapacityStale"].endswith("> 2700")
    assert "KueueDqoOrchestratorAbsent" not in rules
    assert len(rules) > 20
    (dashboard,) = of_kind(objects, "ConfigMap")
    assert dashboard["metadata"]["labels"]["grafana_dashboard"] == "1"


def test_the_scrape_configuration_has_what_alerts_ask_for() -> None:
    """The job and the labels; and the rule file beside it is one for Prometheus. The relabelling itself was not run."""
    plain = yaml.safe_load(_block("scrape_configs:"))
    done = promtool("check", "rules", MANIFESTS / "prometheus/rules.yaml")
    assert done.returncode == 0, done.stderr
    (job,) = plain["scrape_configs"]
    assert job["job_name"] == "kueue-dqo"
    targets = {each.get("target_label") for each in job["relabel_configs"]}
    assert {"component", "namespace", "pod", "node"} <= targets
