"""Short ways to say what stands in a test's cluster, and what came out."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final, NamedTuple

from kueue_dqo.api import dqo
from kueue_dqo.api.kueue import CLUSTER_QUEUE, COHORT
from kueue_dqo.api.meta import KUEUE_GROUP, Condition, ObjectKey, ObjectMeta, find_condition
from kueue_dqo.api.quantity import Quantity
from kueue_dqo.api.quotas import (
    EffectiveQuotas,
    FlavorQuotas,
    OrchestratorRef,
    ResourceGroup,
    ResourceQuota,
    quotas_by_pair,
)
from orchestrator.compute import Outcome, Snapshot, compute
from orchestrator.hierarchy import Hierarchy
from orchestrator.members import Member

CPU: Final = "cpu"
MEMORY: Final = "memory"
GPU: Final = "nvidia.com/gpu"

Written = str | int | float
"""A quantity as it stands in a manifest."""


class Quota(NamedTuple):
    """A quota with limits; a bare quantity stands for one without."""

    nominal: Written
    borrowing: Written | None = None
    lending: Written | None = None


Flavors = Mapping[str, Mapping[str, Written | Quota]]
"""Quotas by flavor and resource: what one resource group holds."""
Amounts = Mapping[str, Mapping[str, Written]]
"""Capacity by flavor and resource."""


# --- quotas --------------------------------------------------------------------------------------------------------


def groups(*each: Flavors) -> tuple[ResourceGroup, ...]:
    """Resource groups, one for each argument."""
    return tuple(_group(flavors) for flavors in each)


def _group(flavors: Flavors) -> ResourceGroup:
    covered = dict.fromkeys(resource for resources in flavors.values() for resource in resources)
    return ResourceGroup(
        tuple(covered),
        tuple(
            FlavorQuotas(name, tuple(_quota(resource, each) for resource, each in resources.items()))
            for name, resources in flavors.items()
        ),
    )


def _quota(resource: str, written: Written | Quota) -> ResourceQuota:
    quota = written if isinstance(written, Quota) else Quota(written)
    return ResourceQuota(
        resource,
        Quantity.of(quota.nominal),
        Quantity.of(quota.borrowing) if quota.borrowing is not None else None,
        Quantity.of(quota.lending) if quota.lending is not None else None,
    )


def ref(name: str, *, kind: str = dqo.DYNAMIC_QUOTA_ORCHESTRATOR, group: str = KUEUE_GROUP) -> OrchestratorRef:
    """How quotas name their writer."""
    return OrchestratorRef(group, kind, name)


# --- the tree ------------------------------------------------------------------------------------------------------


def queue(
    name: str, *declared: Flavors, parent: str = "", uid: str | None = None, owner: OrchestratorRef | None = None
) -> Member:
    """A ClusterQueue; its UID is its name where nothing else is said."""
    return _member(CLUSTER_QUEUE, name, declared, parent, uid, owner)


def cohort(
    name: str, *declared: Flavors, parent: str = "", uid: str | None = None, owner: OrchestratorRef | None = None
) -> Member:
    """A Cohort; its UID is its name where nothing else is said."""
    return _member(COHORT, name, declared, parent, uid, owner)


def _member(
    kind: str, name: str, declared: tuple[Flavors, ...], parent: str, uid: str | None, owner: OrchestratorRef | None
) -> Member:
    quotas = groups(*declared)
    return Member(ObjectKey(kind, name), name if uid is None else uid, parent, quotas, quotas, owner)


def queue_key(name: str) -> ObjectKey:
    """The key of a ClusterQueue."""
    return ObjectKey(CLUSTER_QUEUE, name)


def cohort_key(name: str) -> ObjectKey:
    """The key of a Cohort."""
    return ObjectKey(COHORT, name)


# --- providers and orchestrators -----------------------------------------------------------------------------------


def synchronized(
    status: str = "True",
    *,
    observed: int | None = 1,
    reason: str = dqo.SYNCHRONIZED,
    message: str = "",
    since: str | None = None,
) -> Condition:
    """A provider's condition CapacitySynchronized."""
    return Condition(dqo.CAPACITY_SYNCHRONIZED, status, reason, message, observed, since)


READY: Final = (synchronized(),)


def provider(
    name: str,
    reported: Amounts | None,
    orchestrates: Iterable[str] | None = None,
    *,
    generation: int | None = 1,
    conditions: tuple[Condition, ...] = READY,
) -> dqo.CapacityProvider:
    """A provider, ready where nothing else is said, that orchestrates the flavors which it reports."""
    flavors = list(reported or ()) if orchestrates is None else orchestrates
    capacity = (
        dqo.Capacity(
            tuple(
                dqo.FlavorCapacity(flavor, {resource: Quantity.of(each) for resource, each in resources.items()})
                for flavor, resources in reported.items()
            )
        )
        if reported is not None
        else None
    )
    return dqo.CapacityProvider(
        ObjectMeta(name, generation=generation),
        dqo.CapacityProviderSpec(f"example.com/{name}", tuple(map(dqo.FlavorRef, flavors))),
        dqo.CapacityProviderStatus(capacity, conditions),
    )


def orchestrator(
    name: str,
    *providers: str,
    multipliers: Mapping[str, Written] | None = None,
    root: ObjectKey | None = None,
    uid: str | None = None,
    created: str | None = "2026-01-01T00:00:00Z",
    deleting: bool = False,
    generation: int = 1,
    conditions: tuple[Condition, ...] = (),
) -> dqo.DynamicQuotaOrchestrator:
    """An orchestrator over `providers` and then `multipliers`; without a root, discovery only."""
    entries = [dqo.DiscoveredProvider(each) for each in providers]
    entries += [dqo.DiscoveredProvider(each, Quantity.of(times)) for each, times in (multipliers or {}).items()]
    distribution = dqo.CapacityDistribution(dqo.SubtreeRootQuotaRef(*root)) if root is not None else None
    return dqo.DynamicQuotaOrchestrator(
        ObjectMeta(
            name,
            uid=name if uid is None else uid,
            generation=generation,
            creation_timestamp=created,
            deletion_timestamp="2026-02-01T00:00:00Z" if deleting else None,
        ),
        dqo.DynamicQuotaOrchestratorSpec(dqo.CapacityDiscovery(tuple(entries)), distribution),
        dqo.DynamicQuotaOrchestratorStatus(conditions=conditions),
    )


def distributed(status: str, *, reason: str = "", since: str | None = None) -> Condition:
    """An orchestrator's condition Distributed, as an earlier pass left it."""
    return Condition(dqo.DISTRIBUTED, status, reason, "as it was", 1, since)


# --- what comes out ------------------------------------------------------------------------------------------------


def settled(
    orchestrators: Iterable[dqo.DynamicQuotaOrchestrator],
    providers: Iterable[dqo.CapacityProvider],
    members: Iterable[Member],
) -> dict[str, Outcome]:
    """The outcome of every orchestrator by name."""
    return compute(
        Snapshot(
            {each.metadata.name: each for each in orchestrators},
            {each.metadata.name: each for each in providers},
            Hierarchy(members),
        )
    )


def nominals(quotas: EffectiveQuotas | tuple[ResourceGroup, ...]) -> dict[str, str]:
    """Nominal quotas by `flavor/resource`, as they are written."""
    held = quotas.resource_groups if isinstance(quotas, EffectiveQuotas) else quotas
    return {str(pair): str(quota.nominal_quota) for pair, quota in quotas_by_pair(held)}


def shares(outcome: Outcome) -> dict[str, dict[str, str]]:
    """Nominal quotas that an outcome writes, by object name and `flavor/resource`."""
    return {key.name: nominals(quotas) for key, quotas in outcome.quotas.items()}


def effective(outcome: Outcome) -> dict[str, dict[str, str]] | None:
    """`status.effectiveCapacity` by flavor and resource, as it is written; None where it is cleared."""
    capacity = outcome.status.effective_capacity
    if capacity is None:
        return None
    return {
        flavor.name: {resource: str(amount) for resource, amount in flavor.resources.items()}
        for flavor in capacity.flavors
    }


def condition_of(outcome: Outcome, kind: str) -> Condition:
    """The condition of that type, which has to be there."""
    condition = find_condition(outcome.status.conditions, kind)
    assert condition is not None, f"no condition {kind}"
    return condition


def verdict(outcome: Outcome) -> tuple[str, str]:
    """Status and reason of the condition Distributed, which has to be there."""
    condition = condition_of(outcome, dqo.DISTRIBUTED)
    return condition.status, condition.reason


def verdicts(outcomes: Mapping[str, Outcome]) -> dict[str, str]:
    """The reason of the condition Distributed by orchestrator, which has to be there."""
    return {name: verdict(outcome)[1] for name, outcome in outcomes.items()}
