"""The objects of Dynamic Quota Orchestration: CapacityProvider and DynamicQuotaOrchestrator (v1alpha1)."""

from __future__ import annotations

from typing import Final

import msgspec

from kueue_dqo.api.kueue import CLUSTER_QUEUE, COHORT
from kueue_dqo.api.meta import KUEUE_GROUP, Condition, ObjectKey, ObjectMeta
from kueue_dqo.api.quantity import NANOS, Quantity
from kueue_dqo.api.quotas import OrchestratorRef

CAPACITY_PROVIDER: Final = "CapacityProvider"
DYNAMIC_QUOTA_ORCHESTRATOR: Final = "DynamicQuotaOrchestrator"

# Conditions and their reasons, as the API defines them.
CAPACITY_SYNCHRONIZED: Final = "CapacitySynchronized"
SYNCHRONIZED: Final = "Synchronized"
SOURCE_UNAVAILABLE: Final = "SourceUnavailable"
INVALID_CAPACITY: Final = "InvalidCapacity"
MISCONFIGURED: Final = "Misconfigured"

EFFECTIVE_CAPACITY_COMPUTED: Final = "EffectiveCapacityComputed"
COMPUTED: Final = "Computed"
PROVIDER_NOT_READY: Final = "ProviderNotReady"
AGGREGATION_FAILED: Final = "AggregationFailed"

DISTRIBUTED: Final = "Distributed"
QUOTAS_DISTRIBUTED: Final = "QuotasDistributed"
EFFECTIVE_CAPACITY_NOT_COMPUTED: Final = "EffectiveCapacityNotComputed"
CONFLICTING_ORCHESTRATOR: Final = "ConflictingDynamicQuotaOrchestrator"
EFFECTIVE_QUOTAS_CONFLICT: Final = "EffectiveQuotasConflict"

MAX_PROVIDER_FLAVORS: Final = 64
MAX_FLAVOR_RESOURCES: Final = 64
MAX_EFFECTIVE_FLAVORS: Final = 128
MAX_PROVIDERS: Final = 8
MAX_RESOURCE_GROUPS: Final = 16
MAX_CONDITIONS: Final = 16


class FlavorRef(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """A ResourceFlavor by name."""

    name: str


class ParametersRef(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """The object that holds a provider's parameters. Kueue does not read it."""

    api_group: str
    kind: str
    name: str


class FlavorCapacity(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """Capacity of one flavor, by resource."""

    name: str
    resources: dict[str, Quantity] = {}


class Capacity(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """Capacity by flavor."""

    flavors: tuple[FlavorCapacity, ...] = ()


class CapacityProviderSpec(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """What a provider reports capacity for, and which controller does it."""

    controller_name: str
    orchestrated_flavors: tuple[FlavorRef, ...]
    parameters: ParametersRef | None = None


class CapacityProviderStatus(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """What a provider reports."""

    capacity: Capacity | None = None
    conditions: tuple[Condition, ...] = ()


class CapacityProvider(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """Capacity as one controller reports it."""

    metadata: ObjectMeta
    spec: CapacityProviderSpec
    status: CapacityProviderStatus = CapacityProviderStatus()

    @property
    def key(self) -> ObjectKey:
        """Kind and name."""
        return ObjectKey(CAPACITY_PROVIDER, self.metadata.name)

    @property
    def flavor_names(self) -> tuple[str, ...]:
        """The names of the orchestrated flavors, in the order of the spec."""
        return tuple(flavor.name for flavor in self.spec.orchestrated_flavors)

    @property
    def has_status(self) -> bool:
        """Whether anybody has reported anything yet."""
        return self.status.capacity is not None or bool(self.status.conditions)


class DiscoveredProvider(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """A provider that an orchestrator reads. A multiplier of 0 is not the same as none."""

    name: str
    effective_capacity_multiplier: Quantity = Quantity(NANOS)


class CapacityDiscovery(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """`spec.capacityDiscovery`."""

    providers: tuple[DiscoveredProvider, ...]


class SubtreeRootQuotaRef(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """The root of the subtree that receives the capacity: a ClusterQueue or a Cohort."""

    kind: str
    name: str

    @property
    def key(self) -> ObjectKey:
        """Kind and name."""
        return ObjectKey(self.kind, self.name)


class CapacityDistribution(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """`spec.capacityDistribution`."""

    subtree_root_quota_ref: SubtreeRootQuotaRef


class DynamicQuotaOrchestratorSpec(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """Where capacity comes from and where it goes; without `capacity_distribution`, discovery only."""

    capacity_discovery: CapacityDiscovery
    capacity_distribution: CapacityDistribution | None = None


class DynamicQuotaOrchestratorStatus(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """The capacity that was added up, and how it went."""

    effective_capacity: Capacity | None = None
    conditions: tuple[Condition, ...] = ()


class DynamicQuotaOrchestrator(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """Adds the capacities of providers up and splits them over a subtree."""

    metadata: ObjectMeta
    spec: DynamicQuotaOrchestratorSpec
    status: DynamicQuotaOrchestratorStatus = DynamicQuotaOrchestratorStatus()

    @property
    def key(self) -> ObjectKey:
        """Kind and name."""
        return ObjectKey(DYNAMIC_QUOTA_ORCHESTRATOR, self.metadata.name)

    @property
    def ref(self) -> OrchestratorRef:
        """How effective quotas name this orchestrator."""
        return OrchestratorRef(KUEUE_GROUP, DYNAMIC_QUOTA_ORCHESTRATOR, self.metadata.name)

    @property
    def root(self) -> ObjectKey | None:
        """The root of its subtree, None in discovery-only mode."""
        distribution = self.spec.capacity_distribution
        return distribution.subtree_root_quota_ref.key if distribution is not None else None

    @property
    def is_deleting(self) -> bool:
        """Whether its deletion has begun: it then writes nothing and does not compete."""
        return self.metadata.deletion_timestamp is not None

    @property
    def competes(self) -> bool:
        """Whether it takes part in the precedence between orchestrators."""
        return self.root is not None and not self.is_deleting


ROOT_KINDS: Final = (CLUSTER_QUEUE, COHORT)
