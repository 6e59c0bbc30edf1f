"""The alert rules as Prometheus takes them, and what it says of series that were made up."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any, Final

import yaml

from scripts.generators import metrics
from tests.controlplane import binaries

ROOT: Final = Path(__file__).parents[2]
RULES: Final = ROOT / "manifests/components/prometheus-rules/rules.yaml"
DASHBOARD: Final = ROOT / "manifests/components/grafana-dashboard/kueue-dqo.json"
RUNBOOKS: Final = ROOT / "docs/runbooks"
OF_THE_SCRAPE: Final = {"job", "cluster", "namespace", "pod", "component", "instance", "node"}
"""Labels that Prometheus adds by what it scrapes, and one that evaluates for many clusters by whom it has it from."""


@cache
def rule_file() -> dict[str, Any]:
    """`spec` of the PrometheusRule, which is what stands in a rule file of Prometheus."""
    plain: dict[str, Any] = yaml.safe_load(RULES.read_text())["spec"]
    return plain


@cache
def alerts() -> dict[str, dict[str, Any]]:
    """Each alert by its name."""
    return {rule["alert"]: rule for group in rule_file()["groups"] for rule in group["rules"]}


@cache
def known() -> dict[str, frozenset[str]]:
    """The labels of each series that a daemon serves, those of the scrape left out."""
    found: dict[str, frozenset[str]] = {"up": frozenset()}
    for section in metrics.sections():
        for family in section.families:
            labels = frozenset(family.labels)
            if family.type == "histogram":
                found |= {f"{family.name}_{part}": labels for part in ("count", "sum")}
                found[f"{family.name}_bucket"] = labels | {"le"}
            else:
                found[family.name] = labels
    found |= {family.name: frozenset(family.labels) for family in metrics.of_every_process()}
    return found


def unknown_in(query: str) -> list[str]:
    """What of a query no daemon serves: names of series, and labels that the series does not have."""
    wrong = []
    for name, matchers in re.findall(
        r"\b((?:kueue_dqo|controller_runtime|workqueue|rest_client|leader_election|process|up)\w*)(?:\{([^}]*)\})?",
        query,
    ):
        if name not in known():
            wrong.append(name)
            continue
        labels = set(re.findall(r"(\w+)\s*[=!]", matchers))
        wrong += [f"{name}{{{label}}}" for label in sorted(labels - known()[name] - OF_THE_SCRAPE)]
    served = {label for labels in known().values() for label in labels} | OF_THE_SCRAPE
    grouped = {label.strip() for group in re.findall(r"\b(?:by|on)\s*\(([^)]*)\)", query) for label in group.split(",")}
    return wrong + sorted(grouped - served - {""})


def promtool(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    """Runs it."""
    command = [binaries.find(binaries.PROMTOOL), *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def rendered(template: str, labels: Mapping[str, str], value: str) -> str:
    """A template of an annotation as Prometheus fills it in."""
    text = re.sub(r"\{\{ \$labels\.(\w+) \}\}", lambda found: labels.get(found[1], ""), template)
    return re.sub(r"\{\{ \$value(?: \| \w+)? \}\}", value, text)
