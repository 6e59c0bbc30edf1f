"""Flavors whose capacity is that of the nodes that are there."""

from __future__ import annotations

import pytest

from kueue_dqo.api.dqo import (
    CapacityDiscovery,
    CapacityProvider,
    CapacityProviderSpec,
    DiscoveredProvider,
    DynamicQuotaOrchestrator,
    DynamicQuotaOrchestratorSpec,
    FlavorRef,
)
from kueue_dqo.api.meta import ObjectMeta
from orchestrator.autoscaling import flavors_from_nodes

LISTED = DynamicQuotaOrchestrator(
    ObjectMeta("dqo"), DynamicQuotaOrchestratorSpec(CapacityDiscovery((DiscoveredProvider("listed"),)))
)


def provider(name: str, controller: str, flavor: str) -> CapacityProvider:
    return CapacityProvider(ObjectMeta(name), CapacityProviderSpec(controller, (FlavorRef(flavor),)))


@pytest.mark.parametrize(
    ("controller", "follows_nodes"),
    [
        ("kueue-dqo.dev/node-inventory", True),
        ("kueue-dqo.dev/nvidia-gpu", True),
        ("kueue-dqo.dev/manual", False),
        ("example.com/other", False),
    ],
)
def test_only_controllers_that_count_nodes_follow_them(controller: str, follows_nodes: bool) -> None:
    """A GPU of a node that is not there yet is counted as little as its CPUs are."""
    providers = {
        "listed": provider("listed", controller, "gpu"),
        "not-listed": provider("not-listed", "kueue-dqo.dev/node-inventory", "cpu"),
    }
    assert flavors_from_nodes([LISTED], providers) == ({"gpu"} if follows_nodes else set())
