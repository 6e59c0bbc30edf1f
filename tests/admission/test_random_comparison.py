"""Random small clusters in the real Kueue 0.19 and in the model: who is admitted, where, who is preempted and why."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.admission.comparing import compare, verdicts
from tests.admission.found import FOUND
from tests.admission.generator import CONFIGURATIONS, KINDS, cluster
from tests.admission.real import start
from tests.controlplane.plane import ControlPlane

SEEDS = range(200)


def test_a_cluster_is_the_same_for_ever() -> None:
    """A seed that showed a difference shows it again."""
    assert [cluster(seed) for seed in SEEDS] == [cluster(seed) for seed in SEEDS]
    assert {cluster(seed).kind for seed in SEEDS} == set(KINDS)
    assert {cluster(seed).configuration for seed in SEEDS} == set(CONFIGURATIONS)


@pytest.mark.parametrize("configuration", CONFIGURATIONS)
def test_the_model_decides_as_the_real_kueue(configuration: str, fresh_plane: ControlPlane, tmp_path: Path) -> None:
    """Every cluster of the configuration, after each of its steps; where Kueue's own chance decides, as it may."""
    every = (*map(cluster, SEEDS), *FOUND)
    clusters = [each for each in every if each.configuration == configuration]
    start(fresh_plane, configuration)
    found = verdicts(fresh_plane, compare(fresh_plane, clusters, tmp_path), tmp_path)
    wrong = [str(each) for each in found if not each.is_chance]
    assert wrong == [], "\n\n".join(wrong)


def test_a_copy_has_other_names_and_is_otherwise_the_same() -> None:
    """So that a cluster can be taken to one manager again, beside itself."""
    for seed in SEEDS:
        one = cluster(seed)
        other = one.again(2)
        assert other.prefix == f"{one.prefix}c2"
        assert str(other.steps).replace(f"{other.prefix}-", f"{one.prefix}-") == str(one.steps)
