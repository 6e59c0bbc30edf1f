"""What follows from the fields of CapacityProviders and DynamicQuotaOrchestrators."""

from __future__ import annotations

import pytest

from kueue_dqo.api import cloud, dqo, kueue, parameters
from kueue_dqo.api.dqo import (
    Capacity,
    CapacityDiscovery,
    CapacityDistribution,
    CapacityProvider,
    CapacityProviderSpec,
    CapacityProviderStatus,
    DynamicQuotaOrchestrator,
    DynamicQuotaOrchestratorSpec,
    FlavorRef,
    SubtreeRootQuotaRef,
)
from kueue_dqo.api.meta import Condition, ObjectKey, ObjectMeta
from kueue_dqo.api.quotas import OrchestratorRef

SPEC = CapacityProviderSpec("example.com/a", (FlavorRef("b"), FlavorRef("a")))
TO_COHORT = CapacityDistribution(SubtreeRootQuotaRef("Cohort", "root"))


def orchestrator(distribution: CapacityDistribution | None, deleted: str | None = None) -> DynamicQuotaOrchestrator:
    """An orchestrator without providers."""
    spec = DynamicQuotaOrchestratorSpec(CapacityDiscovery(()), distribution)
    return DynamicQuotaOrchestrator(ObjectMeta("main", deletion_timestamp=deleted), spec)


def test_flavors_keep_the_order_of_the_spec() -> None:
    """And a provider is known by kind and name."""
    provider = CapacityProvider(ObjectMeta("nodes"), SPEC)
    assert provider.flavor_names == ("b", "a")
    assert provider.key == ObjectKey("CapacityProvider", "nodes")
    assert str(provider.key) == "CapacityProvider/nodes"


@pytest.mark.parametrize(
    ("status", "reported"),
    [
        (CapacityProviderStatus(), False),
        (CapacityProviderStatus(Capacity()), True),
        (CapacityProviderStatus(None, (Condition("CapacitySynchronized", "False"),)), True),
        (CapacityProviderStatus(Capacity(), (Condition("CapacitySynchronized", "True"),)), True),
    ],
)
def test_a_capacity_or_a_condition_is_a_report(status: CapacityProviderStatus, reported: bool) -> None:
    """An empty capacity is one as well: nothing is there."""
    assert CapacityProvider(ObjectMeta("nodes"), SPEC, status).has_status is reported


@pytest.mark.parametrize(
    ("distribution", "deleted", "root", "competes"),
    [
        (None, None, None, False),
        (TO_COHORT, None, ObjectKey("Cohort", "root"), True),
        (TO_COHORT, "2026-01-31T12:00:00Z", ObjectKey("Cohort", "root"), False),
        (None, "2026-01-31T12:00:00Z", None, False),
        (
            CapacityDistribution(SubtreeRootQuotaRef("ClusterQueue", "q")),
            None,
            ObjectKey("ClusterQueue", "q"),
            True,
        ),
    ],
)
def test_an_orchestrator_competes_where_it_distributes_and_stays(
    distribution: CapacityDistribution | None, deleted: str | None, root: ObjectKey | None, competes: bool
) -> None:
    """Discovery only, or a deletion that has begun, and it does not."""
    found = orchestrator(distribution, deleted)
    assert found.root == root
    assert found.is_deleting is (deleted is not None)
    assert found.competes is competes


def test_an_orchestrator_is_named_in_quotas_by_group_kind_and_name() -> None:
    """Anything else that has its name is somebody else."""
    found = orchestrator(None)
    assert found.ref == OrchestratorRef("kueue.x-k8s.io", "DynamicQuotaOrchestrator", "main")
    assert str(found.ref) == "DynamicQuotaOrchestrator.kueue.x-k8s.io/main"
    assert found.key == ObjectKey("DynamicQuotaOrchestrator", "main")


def test_conditions_and_reasons_are_those_of_the_api() -> None:
    """Others wait for these words."""
    assert (dqo.CAPACITY_SYNCHRONIZED, dqo.SYNCHRONIZED) == ("CapacitySynchronized", "Synchronized")
    assert dqo.SOURCE_UNAVAILABLE == "SourceUnavailable"
    assert dqo.INVALID_CAPACITY == "InvalidCapacity"
    assert dqo.MISCONFIGURED == "Misconfigured"
    assert (dqo.EFFECTIVE_CAPACITY_COMPUTED, dqo.COMPUTED) == ("EffectiveCapacityComputed", "Computed")
    assert dqo.PROVIDER_NOT_READY == "ProviderNotReady"
    assert dqo.AGGREGATION_FAILED == "AggregationFailed"
    assert (dqo.DISTRIBUTED, dqo.QUOTAS_DISTRIBUTED) == ("Distributed", "QuotasDistributed")
    assert dqo.EFFECTIVE_CAPACITY_NOT_COMPUTED == "EffectiveCapacityNotComputed"
    assert dqo.CONFLICTING_ORCHESTRATOR == "ConflictingDynamicQuotaOrchestrator"
    assert dqo.EFFECTIVE_QUOTAS_CONFLICT == "EffectiveQuotasConflict"


def test_controllers_are_known_by_their_names() -> None:
    """As providers and admission checks name them."""
    assert parameters.NODE_INVENTORY_CONTROLLER == "kueue-dqo.dev/node-inventory"
    assert cloud.CLOUD_QUOTA_CONTROLLER == "kueue-dqo.dev/cloud-quota"
    assert parameters.COMPOSITE_CONTROLLER == "kueue-dqo.dev/composite"
    assert kueue.PROVISIONING_REQUEST_CONTROLLER == "kueue.x-k8s.io/provisioning-request"
