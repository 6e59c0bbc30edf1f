"""The status road: `status.effectiveQuotas` beside a spec that is the admin's."""

from __future__ import annotations

from typing import Any

import pytest

from kueue_dqo.api.kueue import ClusterQueue, ClusterQueueSpec, ClusterQueueStatus, Cohort, CohortSpec, CohortStatus
from kueue_dqo.api.meta import ObjectKey, ObjectMeta
from kueue_dqo.api.quotas import EffectiveQuotas
from orchestrator.enforcement.roads import Road
from tests.unit.orchestrator.builders import CPU, MEMORY, Quota, groups, ref

DECLARED = groups({"f": {CPU: 10}})
EFFECTIVE = EffectiveQuotas(ref("dqo"), groups({"f": {CPU: 4}}))
EMPTY = EffectiveQuotas(ref("dqo"))
META = ObjectMeta("a", uid="u")


def _queue(effective: EffectiveQuotas | None) -> ClusterQueue:
    return ClusterQueue(META, ClusterQueueSpec(DECLARED, cohort_name="team"), ClusterQueueStatus(effective))


def _cohort(effective: EffectiveQuotas | None) -> Cohort:
    return Cohort(META, CohortSpec(DECLARED, parent_name="team"), CohortStatus(effective))


@pytest.mark.parametrize("node", [_queue(EFFECTIVE), _cohort(EFFECTIVE)], ids=["ClusterQueue", "Cohort"])
def test_an_object_is_seen_with_its_key_its_uid_and_its_parent(node: ClusterQueue | Cohort) -> None:
    """Whatever its kind calls the parent."""
    member = Road.STATUS.member_of(node)
    assert member.key == ObjectKey(type(node).__name__, "a")
    assert (member.uid, member.parent, member.problem) == ("u", "team", None)


@pytest.mark.parametrize("make", [_queue, _cohort], ids=["ClusterQueue", "Cohort"])
def test_without_effective_quotas_the_spec_is_in_force(make: Any) -> None:
    """And nobody owns it."""
    member = Road.STATUS.member_of(make(None))
    assert (member.declared, member.in_force, member.owner) == (DECLARED, DECLARED, None)


@pytest.mark.parametrize("make", [_queue, _cohort], ids=["ClusterQueue", "Cohort"])
@pytest.mark.parametrize("effective", [EFFECTIVE, EMPTY], ids=["some quotas", "an empty list"])
def test_effective_quotas_are_in_force_even_where_the_list_is_empty(make: Any, effective: EffectiveQuotas) -> None:
    """The spec stays the declaration."""
    member = Road.STATUS.member_of(make(effective))
    assert (member.declared, member.in_force, member.owner) == (DECLARED, effective.resource_groups, ref("dqo"))


def test_the_quotas_are_written_whole_into_the_status() -> None:
    """Limits that are absent stay absent, limits of 0 do not."""
    quotas = EffectiveQuotas(ref("dqo"), groups({"f": {CPU: Quota("1500m", lending=0), MEMORY: "1Gi"}}))
    assert Road.STATUS.written(_queue(None), quotas) == {
        "status": {
            "effectiveQuotas": {
                "orchestratorRef": {
                    "apiGroup": "kueue.x-k8s.io",
                    "kind": "DynamicQuotaOrchestrator",
                    "name": "dqo",
                },
                "resourceGroups": [
                    {
                        "coveredResources": ["cpu", "memory"],
                        "flavors": [
                            {
                                "name": "f",
                                "resources": [
                                    {"name": "cpu", "nominalQuota": "1500m", "lendingLimit": "0"},
                                    {"name": "memory", "nominalQuota": "1Gi"},
                                ],
                            }
                        ],
                    }
                ],
            }
        }
    }


def test_an_empty_list_is_written_as_one() -> None:
    """Left out it would mean the spec."""
    assert Road.STATUS.written(_cohort(None), EMPTY)["status"]["effectiveQuotas"]["resourceGroups"] == []


@pytest.mark.parametrize(
    ("present", "same"),
    [
        pytest.param(EFFECTIVE, True, id="the same"),
        pytest.param(EffectiveQuotas(ref("dqo"), groups({"f": {CPU: "4000m"}})), True, id="the same by value"),
        pytest.param(None, False, id="nothing"),
        pytest.param(EMPTY, False, id="an empty list"),
        pytest.param(EffectiveQuotas(ref("other"), EFFECTIVE.resource_groups), False, id="another writer"),
        pytest.param(EffectiveQuotas(ref("dqo"), groups({"f": {CPU: 5}})), False, id="another number"),
        pytest.param(EffectiveQuotas(ref("dqo"), groups({"f": {CPU: Quota(4, 0)}})), False, id="another limit"),
    ],
)
def test_quotas_are_written_where_they_and_their_writer_are_there(present: EffectiveQuotas | None, same: bool) -> None:
    """Then there is nothing to write."""
    assert Road.STATUS.is_written(_queue(present), EFFECTIVE) == same
    assert Road.STATUS.is_written(_cohort(present), EFFECTIVE) == same
