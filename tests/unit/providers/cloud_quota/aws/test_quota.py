"""Quotas of vCPUs: whole instances, shares, defaults, no limit."""

from __future__ import annotations

import math
from typing import Any

import pytest

from kueue_dqo.api.cloud import AwsQuota
from kueue_dqo.api.quantity import Quantity
from kueue_dqo.provider import InvalidCapacity
from providers.cloud_quota.cloud import Limit
from tests.unit.providers.cloud_quota.aws.entries import P5, P_ON_DEMAND, REGION, derived, entry, shown

P = AwsQuota(P_ON_DEMAND)
WHAT = f"quota {P_ON_DEMAND} in {REGION}"


@pytest.mark.parametrize(
    ("value", "fields", "is_default", "instances", "details"),
    [
        (384, {}, False, 2, "384 vCPU"),
        (300, {}, False, 1, "300 vCPU"),
        (191.9, {}, False, 0, "191.9 vCPU"),
        (0, {}, True, 0, "0 vCPU, default"),
        (768, {"share": "0.5"}, False, 2, "0.5 of 768 vCPU"),
        (1920, {"max_instances": 3}, False, 3, "1920 vCPU, at most 3"),
        (192, {"max_instances": 3}, True, 1, "192 vCPU, default, at most 3"),
        (9.22337e18, {"max_instances": 3}, False, 3, "no limit, at most 3"),
        (-1, {"max_instances": 2}, False, 2, "no limit, at most 2"),
        # An override is what a job gets of an instance, not what an instance takes of the quota.
        (384, {"per_instance": {"cpu": Quantity.of(96)}}, False, 2, "384 vCPU"),
    ],
)
def test_a_quota_allows_whole_instances(
    value: float, fields: dict[str, Any], is_default: bool, instances: int, details: str
) -> None:
    found = derived(entry(P, **fields), value=value, is_default=is_default)
    assert (found.instances, found.text) == (instances, f"{instances} {P5} of {WHAT} ({details})")
    assert found.notices == ()


def test_amounts_are_those_of_all_instances() -> None:
    assert shown(derived(entry(P), value=384)) == {"cpu": "384", "memory": "4Ti", "nvidia.com/gpu": "16"}
    assert shown(derived(entry(P), value=0)) == {"cpu": "0", "memory": "0", "nvidia.com/gpu": "0"}


@pytest.mark.parametrize("value", [math.inf, 9.22337e18, -1, -5, math.nan])
def test_what_is_no_limit_is_refused_where_the_entry_sets_none(value: float) -> None:
    with pytest.raises(InvalidCapacity, match=f"{WHAT} is"):
        derived(entry(P), value=value)


def test_the_limit_is_told_as_the_cloud_tells_it() -> None:
    assert derived(entry(P), value=300).limits == (Limit(P_ON_DEMAND, REGION, 300),)
    assert derived(entry(P, max_instances=1), value=-1).limits == (Limit(P_ON_DEMAND, REGION, math.inf),)
