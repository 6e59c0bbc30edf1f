"""Our own parameter objects (`kueue-dqo.dev/v1alpha1`): what a provider of the suite is told.

Unknown fields are refused: a typo must not change a capacity. What the definitions of these kinds check on the API
server, `parameter_checks/` checks for manifests that never saw one.
"""

from __future__ import annotations

import enum
from typing import Final, Generic, TypeVar

import msgspec

from kueue_dqo.api.durations import Duration
from kueue_dqo.api.meta import ObjectMeta
from kueue_dqo.api.quantity import Quantity

NODE_INVENTORY_CONTROLLER: Final = "kueue-dqo.dev/node-inventory"
NVIDIA_GPU_CONTROLLER: Final = "kueue-dqo.dev/nvidia-gpu"
MANUAL_CONTROLLER: Final = "kueue-dqo.dev/manual"
COMPOSITE_CONTROLLER: Final = "kueue-dqo.dev/composite"
NODE_CONTROLLERS: Final = frozenset({NODE_INVENTORY_CONTROLLER, NVIDIA_GPU_CONTROLLER})
"""Those whose capacity is what the nodes have that are there now."""
NODE_INVENTORY_PARAMETERS: Final = "NodeInventoryParameters"
NVIDIA_GPU_PARAMETERS: Final = "NvidiaGpuParameters"
MANUAL_CAPACITY: Final = "ManualCapacity"
COMPOSITE_PARAMETERS: Final = "CompositeParameters"


class ResourceSelection(msgspec.Struct, frozen=True, gc=False, rename="camel", forbid_unknown_fields=True):
    """Which resources a provider reports: those of `include` (empty: all), less those of `exclude`."""

    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()

    def selects(self, resource: str) -> bool:
        """Whether the provider reports the resource."""
        return (not self.include or resource in self.include) and resource not in self.exclude

    def is_disjoint(self, other: ResourceSelection) -> bool:
        """Whether no resource, of whatever name, is selected by both."""
        for finite, rest in ((self, other), (other, self)):
            if finite.include:
                return not any(finite.selects(name) and rest.selects(name) for name in finite.include)
        return False


class Headroom(msgspec.Struct, frozen=True, gc=False, rename="camel", forbid_unknown_fields=True):
    """What is kept back of a pair: a share of what is observed, in percent, or a quantity; exactly one of them."""

    flavor: str
    resource: str
    percent: int | None = None
    quantity: Quantity | None = None


class Guards(msgspec.Struct, frozen=True, gc=False, rename="camel", forbid_unknown_fields=True):
    """What keeps a capacity from following every change at once; all off by default.

    A fall is published once it has lasted for `fall_after`, a rise for `rise_after`. A fall of more than
    `max_fall_percent` of the highest amount that was published within the last 5 minutes waits for `breaker_grace`, or
    for a person's acknowledgement.
    """

    fall_after: Duration = Duration(0)
    rise_after: Duration = Duration(0)
    max_fall_percent: int | None = None
    breaker_grace: Duration | None = None


class CommonParameters(msgspec.Struct, frozen=True, gc=False, rename="camel", forbid_unknown_fields=True, kw_only=True):
    """What the publisher does for every provider. A third party's parameters inherit it."""

    resources: ResourceSelection = ResourceSelection()
    headroom: tuple[Headroom, ...] = ()
    guards: Guards = Guards()


P = TypeVar("P", bound=CommonParameters)


class ParametersObject(
    msgspec.Struct,
    Generic[P],
    frozen=True,
    gc=False,
    rename="camel",
    forbid_unknown_fields=True,
    omit_defaults=True,
):
    """An object of any parameters kind, by the type of its spec. A part of the spec beside it is refused as well."""

    metadata: ObjectMeta
    spec: P
    api_version: str = ""
    kind: str = ""


# --- node inventory ------------------------------------------------------------------------------------------------


class SelectorOperator(enum.StrEnum):
    """How an expression of a label selector compares."""

    IN = "In"
    NOT_IN = "NotIn"
    EXISTS = "Exists"
    DOES_NOT_EXIST = "DoesNotExist"


class SelectorExpression(msgspec.Struct, frozen=True, gc=False, rename="camel", forbid_unknown_fields=True):
    """One of `matchExpressions`."""

    key: str
    operator: SelectorOperator
    values: tuple[str, ...] = ()


class LabelSelector(msgspec.Struct, frozen=True, gc=False, rename="camel", forbid_unknown_fields=True):
    """A label selector of Kubernetes; the empty one selects everything."""

    match_labels: dict[str, str] = {}
    match_expressions: tuple[SelectorExpression, ...] = ()

    def selects(self, labels: dict[str, str]) -> bool:
        """Whether an object with these labels is selected; an absent label satisfies `NotIn`."""
        return self.match_labels.items() <= labels.items() and all(
            _holds(each, labels) for each in self.match_expressions
        )

    def is_disjoint(self, other: LabelSelector) -> bool:
        """Whether it can be told from `matchLabels` alone that no object is selected by both."""
        return any(other.match_labels.get(key, value) != value for key, value in self.match_labels.items())


def _holds(expression: SelectorExpression, labels: dict[str, str]) -> bool:
    value = labels.get(expression.key)
    match expression.operator:
        case SelectorOperator.IN:
            return value is not None and value in expression.values
        case SelectorOperator.NOT_IN:
            return value is None or value not in expression.values
        case SelectorOperator.EXISTS:
            return value is not None
        case SelectorOperator.DOES_NOT_EXIST:
            return value is None


class RequiredResource(msgspec.Struct, frozen=True, gc=False, rename="camel", forbid_unknown_fields=True):
    """Nodes of the flavor count once they have more than nothing of the resource."""

    flavor: str
    resource: str


class ExcludedCondition(msgspec.Struct, frozen=True, gc=False, rename="camel", forbid_unknown_fields=True):
    """Nodes whose condition of this type has this status do not count."""

    type: str
    status: str = "True"


class ExplicitZeros(msgspec.Struct, frozen=True, gc=False, rename="camel", forbid_unknown_fields=True):
    """Resources of a flavor that are published as zero where no node has any."""

    flavor: str
    resources: tuple[str, ...]


class Cordoned(enum.StrEnum):
    """What a cordoned node adds."""

    EXCLUDE = "Exclude"
    """Nothing."""
    COUNT_ALLOCATED = "CountAllocated"
    """What pods that Kueue manages still hold there, until they end."""


class Reserve(enum.StrEnum):
    """What is taken off each node that counts."""

    NONE = "None"
    UNMANAGED_PODS = "UnmanagedPods"
    """What pods that Kueue does not manage request there."""


class NodeParametersSpec(CommonParameters, frozen=True, gc=False, kw_only=True):
    """What every provider that counts nodes is told."""

    node_selector: LabelSelector = LabelSelector()
    """Nodes that it does not select are none of this provider's."""
    cordoned: Cordoned = Cordoned.EXCLUDE

    @property
    def needs_pods(self) -> bool:
        """Whether anything is counted by pods."""
        return self.cordoned is Cordoned.COUNT_ALLOCATED


class NodeInventoryParametersSpec(NodeParametersSpec, frozen=True, gc=False, kw_only=True):
    """Parameters of the node inventory."""

    required_resources: tuple[RequiredResource, ...] = ()
    excluded_conditions: tuple[ExcludedCondition, ...] = ()
    ready_delay: Duration = Duration(0)
    """How long a node has to be Ready before it counts."""
    explicit_zeros: tuple[ExplicitZeros, ...] = ()
    reserve: Reserve = Reserve.NONE

    @property
    def needs_pods(self) -> bool:
        """Whether anything is counted by pods."""
        return super().needs_pods or self.reserve is Reserve.UNMANAGED_PODS


NodeInventoryParameters = ParametersObject[NodeInventoryParametersSpec]


# --- GPUs of NVIDIA ------------------------------------------------------------------------------------------------


class MigStrategy(enum.StrEnum):
    """By which resource names the device plugin offers MIG devices."""

    AUTO = "Auto"
    """As the node says: its label `nvidia.com/mig.strategy`; without it Mixed where its allocatable has a resource
    `nvidia.com/mig-…`, else None."""
    NONE = "None"
    """It offers whole GPUs only, those whose MIG mode is on included."""
    SINGLE = "Single"
    """Every MIG device is a `nvidia.com/gpu`."""
    MIXED = "Mixed"
    """A MIG device is a `nvidia.com/mig-<profile>`, a GPU without MIG a `nvidia.com/gpu`."""


class SharedResource(msgspec.Struct, frozen=True, gc=False, rename="camel", forbid_unknown_fields=True):
    """How the device plugin shares devices: each of the resource is offered as so many, perhaps by another name."""

    resource: str
    """Before it is renamed: `nvidia.com/gpu` or `nvidia.com/mig-…`."""
    replicas: int
    rename: str | None = None


class Agents(msgspec.Struct, frozen=True, gc=False, rename="camel", forbid_unknown_fields=True):
    """What is made of agents of which nothing is heard, or that cannot read NVML."""

    grace: Duration = Duration(600)
    """How long their last report holds."""
    max_silent_percent: int = 20
    """Where more than this share of the nodes falls silent at once, the observer is broken, not the nodes."""


class NvidiaGpuParametersSpec(NodeParametersSpec, frozen=True, gc=False, kw_only=True):
    """Parameters of the provider of NVIDIA's GPUs."""

    cap_by_allocatable: bool = True
    """Whether a node never counts with more of a resource than its allocatable has of it."""
    mig_strategy: MigStrategy = MigStrategy.AUTO
    sharing: tuple[SharedResource, ...] = ()
    """Goes before the labels of nodes, which say it otherwise."""
    agents: Agents = Agents()


NvidiaGpuParameters = ParametersObject[NvidiaGpuParametersSpec]


# --- manual --------------------------------------------------------------------------------------------------------


class ManualFlavor(msgspec.Struct, frozen=True, gc=False, rename="camel", forbid_unknown_fields=True):
    """Amounts of one flavor, by resource."""

    name: str
    resources: dict[str, Quantity]


class ManualBaseline(msgspec.Struct, frozen=True, gc=False, rename="camel", forbid_unknown_fields=True):
    """What holds while no override does."""

    flavors: tuple[ManualFlavor, ...]


class ManualOverride(msgspec.Struct, frozen=True, gc=False, rename="camel", forbid_unknown_fields=True):
    """Amounts that replace the baseline's, pair by pair, from `begin` until just before `end`.

    `recurrence` is an RRULE of RFC 5545 whose first occurrence is `begin`; it is expanded in `time_zone` (a name of the
    IANA database), so that an occurrence keeps its hour on the clock when daylight saving time changes.
    """

    name: str
    begin: str
    end: str
    flavors: tuple[ManualFlavor, ...]
    recurrence: str | None = None
    time_zone: str = "UTC"


class ManualCapacitySpec(CommonParameters, frozen=True, gc=False, kw_only=True):
    """Numbers that a person wrote. Where several overrides hold, the last in the list has the pair."""

    baseline: ManualBaseline
    overrides: tuple[ManualOverride, ...] = ()


ManualCapacity = ParametersObject[ManualCapacitySpec]


# --- composite -----------------------------------------------------------------------------------------------------


class CompositeMember(msgspec.Struct, frozen=True, gc=False, rename="camel", forbid_unknown_fields=True):
    """A CapacityProvider that a composite reads."""

    name: str


class Combine(enum.StrEnum):
    """What becomes of the amounts that members report of one pair."""

    MIN = "Min"
    MAX = "Max"
    SUM = "Sum"


class OnMemberNotReady(enum.StrEnum):
    """What a composite does while the capacity of a member may not be used."""

    FAIL = "Fail"
    """It publishes nothing new: SourceUnavailable."""
    SKIP = "Skip"
    """It goes on without that member."""


class CompositeParametersSpec(CommonParameters, frozen=True, gc=False, kw_only=True):
    """What a composite is made of."""

    members: tuple[CompositeMember, ...]
    combine: Combine
    on_member_not_ready: OnMemberNotReady = OnMemberNotReady.FAIL


CompositeParameters = ParametersObject[CompositeParametersSpec]
