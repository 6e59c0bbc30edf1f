"""What stands in a label is told where the values are all known, and their series are there from the start."""

from __future__ import annotations

import re
from enum import Enum

import pytest
from prometheus_client import CollectorRegistry
from prometheus_client.exposition import generate_latest
from prometheus_client.parser import text_string_to_metric_families

from kueue_dqo.api.cloud import CLOUDS
from kueue_dqo.api.dqo import ROOT_KINDS
from kueue_dqo.runtime.controller import RESULTS
from kueue_dqo.runtime.events import EventMetrics, Lost
from orchestrator.enforcement.roads import Road
from orchestrator.metrics import OrchestratorMetrics, WriteResult
from providers.cloud_quota.cloud import Result
from providers.guards import Guard
from providers.nvidia_gpu.metrics import STATES
from scripts.generators.tree import ROOT

PAGE = (ROOT / "docs/reference/metrics.md").read_text()


@pytest.mark.parametrize(
    ("begins", "values"),
    [
        ("| `cause` |", Lost),
        ("| `cloud` |", CLOUDS),
        ("| `guard` |", Guard),
        ("| `kind` |", ROOT_KINDS),
        ("| `road` |", Road),
        ("| `state` |", STATES),
        ("- `result` of `kueue_dqo_quota_writes_total`:", WriteResult),
        ("- `result` of `kueue_dqo_cloud_quota_calls_total`:", Result),
        ("- `result` of `controller_runtime_reconcile_total`:", RESULTS),
    ],
)
def test_the_page_has_the_values_that_the_code_has(begins: str, values: type[Enum] | tuple[str, ...]) -> None:
    """All of them and no other."""
    (line,) = (each for each in PAGE.splitlines() if each.startswith(begins))
    assert set(re.findall(r"`(\w+)`", line.removeprefix(begins))) == {str(each) for each in values}


def _served(registry: CollectorRegistry, name: str) -> dict[tuple[str, ...], float]:
    return {
        tuple(sample.labels.values()): sample.value
        for family in text_string_to_metric_families(generate_latest(registry).decode())
        for sample in family.samples
        if sample.name == name
    }


def test_counters_whose_labels_are_all_known_begin_with_0() -> None:
    """So that the first occurrence is an increase."""
    registry = CollectorRegistry()
    OrchestratorMetrics(registry)
    EventMetrics(registry)
    writes = {(kind, str(result)): 0.0 for kind in ROOT_KINDS for result in WriteResult}
    assert _served(registry, "kueue_dqo_quota_writes_total") == writes
    assert _served(registry, "kueue_dqo_events_dropped_total") == {(str(cause),): 0.0 for cause in Lost}
