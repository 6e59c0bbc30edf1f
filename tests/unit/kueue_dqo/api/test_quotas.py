"""Quotas by pair, and who wrote them."""

from __future__ import annotations

import pytest

from kueue_dqo.api.quantity import Quantity
from kueue_dqo.api.quotas import FlavorQuotas, OrchestratorRef, ResourceGroup, ResourceQuota, quotas_by_pair


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
