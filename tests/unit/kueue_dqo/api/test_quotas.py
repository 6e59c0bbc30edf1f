"""Quotas by pair, and who wrote them."""

from __future__ import annotations

import msgspec
import pytest

from kueue_dqo.api.quantity import Quantity
from kueue_dqo.api.quotas import (
    FlavorQuotas,
    OrchestratorRef,
    ResourceGroup,
    ResourceQuota,
    map_quotas,
    quotas_by_pair,
)
from kueue_dqo.api.resources import FlavorResource


def test_every_quota_comes_with_its_pair_in_the_order_of_the_groups() -> None:
    """A pair that stands twice comes twice."""
    quotas = [ResourceQuota(name, Quantity(number)) for number, name in enumerate(("cpu", "memory", "gpu", "cpu"))]
    groups = (
        ResourceGroup(("cpu", "memory"), (FlavorQuotas("b", (quotas[0], quotas[1])), FlavorQuotas("none"))),
        ResourceGroup((), ()),
        ResourceGroup(("gpu",), (FlavorQuotas("a", (quotas[2],)), FlavorQuotas("b", (quotas[3],)))),
    )
    found = list(quotas_by_pair(groups))
    assert [str(pair) for pair, _ in found] == ["b/cpu", "b/memory", "a/gpu", "b/cpu"]
    assert [quota for _, quota in found] == quotas


def test_quotas_change_one_by_one_and_their_groups_keep_their_shape() -> None:
    """Empty groups, flavors without quotas and the order stay, and so does what was there before."""

    def doubled(pair: FlavorResource, quota: ResourceQuota) -> ResourceQuota:
        seen.append(str(pair))
        return msgspec.structs.replace(quota, nominal_quota=Quantity(2 * quota.nominal_quota.nanos))

    def groups(factor: int) -> tuple[ResourceGroup, ...]:
        cpu, gpu = ResourceQuota("cpu", Quantity(factor), Quantity(3)), ResourceQuota("gpu", Quantity(5 * factor))
        return (
            ResourceGroup(("cpu", "memory"), (FlavorQuotas("b", (cpu, gpu)), FlavorQuotas("none"))),
            ResourceGroup(),
            ResourceGroup(("gpu",), (FlavorQuotas("a", (gpu,)),)),
        )

    seen: list[str] = []
    before = groups(1)
    assert map_quotas(before, doubled) == groups(2)
    assert before == groups(1)
    assert seen == ["b/cpu", "b/gpu", "a/gpu"]
    assert map_quotas((), doubled) == ()


@pytest.mark.parametrize(
    ("ref", "text"),
    [
        (OrchestratorRef("example.com", "Other", "a"), "Other.example.com/a"),
        (OrchestratorRef("", "ConfigMap", "a"), "ConfigMap/a"),
    ],
)
def test_an_owner_is_shown_with_its_group(ref: OrchestratorRef, text: str) -> None:
    """The core group has no name."""
    assert str(ref) == text
