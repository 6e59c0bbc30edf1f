"""The road, and whether quotas are written, as Prometheus sees them: alerts about quotas ask for it."""

from __future__ import annotations

from types import SimpleNamespace
from typing import cast

import pytest
from prometheus_client import CollectorRegistry

from orchestrator.cluster import Cluster, Mode
from orchestrator.enforcement.roads import Road
from orchestrator.metrics import ClusterCollector


@pytest.mark.parametrize(
    ("mode", "labels"),
    [
        (Mode(Road.SPEC, writes=True), {"road": "spec", "writes": "true"}),
        (Mode(Road.STATUS, writes=True), {"road": "status", "writes": "true"}),
        (Mode(Road.SPEC, writes=False), {"road": "spec", "writes": "false"}),
        (None, None),
    ],
)
def test_the_mode_is_one_series(mode: Mode | None, labels: dict[str, str] | None) -> None:
    """None while nobody knows yet."""
    cluster = SimpleNamespace(mode=mode, providers={}, orchestrators={}, views={})
    registry = CollectorRegistry()
    registry.register(ClusterCollector(cast("Cluster", cluster), with_quotas=False))
    (family,) = (each for each in registry.collect() if each.name == "kueue_dqo_enforcement")
    assert [(sample.labels, sample.value) for sample in family.samples] == ([(labels, 1.0)] if labels else [])
