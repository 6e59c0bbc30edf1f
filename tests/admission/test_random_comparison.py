"""Random small clusters in the real Kueue 0.19 and in the model: who is admitted, where, who is preempted and why."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.admission.comparing import compare, report
from tests.admission.found import FOUND
from tests.admission.generator import CONFIGURATIONS, KINDS, cluster
from tests.controlplane.plane import ControlPlane

SEEDS = range(200)


def test_a_cluster_is_the_same_for_ever() -> None:
    """A seed that showed a difference shows it again."""
    assert [cluster(seed) for seed in SEEDS] == [cluster(seed) for seed in SEEDS]
    assert {cluster(seed).kind for seed in SEEDS} == set(KINDS)
    assert {cluster(seed).configuration for seed in SEEDS} == set(CONFIGURATIONS)


@pytest.mark.parametrize("configuration", CONFIGURATIONS)
def test_the_model_decides_as_the_real_kueue(configuration: str, fresh_plane: ControlPlane, tmp_path: Path) -> None:
    """Every cluster of the configuration, after each of its steps."""
    every = (*map(cluster, SEEDS), *FOUND)
    clusters = [each for each in every if each.configuration == configuration]
    found = compare(fresh_plane, clusters, tmp_path)
    assert [each for each in found if each.differs] == [], report(found)
