"""On which road quotas are in force, by what an orchestrator has left on the objects."""

from __future__ import annotations

import pytest

from kueue_dqo.api.kueue import ClusterQueue, ClusterQueueStatus, Cohort
from kueue_dqo.api.meta import ObjectMeta
from kueue_dqo.api.quotas import EffectiveQuotas
from orchestrator.enforcement.roads import Road, road_in_force
from orchestrator.enforcement.spec import APPLIED_QUOTAS
from tests.unit.orchestrator.builders import ref

PLAIN = Cohort(ObjectMeta("plain"))
BY_SPEC = ClusterQueue(ObjectMeta("s", annotations={APPLIED_QUOTAS: "{}"}))
BY_STATUS = ClusterQueue(ObjectMeta("t"), status=ClusterQueueStatus(EffectiveQuotas(ref("dqo"))))


@pytest.mark.parametrize(
    ("nodes", "road", "shown_by"),
    [
        ([PLAIN, BY_SPEC], Road.SPEC, "ClusterQueue/s has the annotation kueue-dqo.dev/applied-quotas"),
        ([BY_STATUS, PLAIN], Road.STATUS, "ClusterQueue/t has effective quotas of"),
    ],
)
def test_one_object_is_enough(nodes: list[ClusterQueue | Cohort], road: Road, shown_by: str) -> None:
    found = road_in_force(nodes)
    assert found is not None
    assert found[0] is road
    assert found[1].startswith(shown_by)


@pytest.mark.parametrize("nodes", [[], [PLAIN], [BY_SPEC, BY_STATUS]])
def test_without_a_sign_or_with_both_it_is_not_known(nodes: list[ClusterQueue | Cohort]) -> None:
    assert road_in_force(nodes) is None
