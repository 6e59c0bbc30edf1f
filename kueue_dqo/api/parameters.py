"""Our own parameter objects (`kueue-dqo.dev/v1alpha1`).

Unknown fields are refused: a typo must not change a capacity.
"""

from __future__ import annotations

from typing import Final

import msgspec

from kueue_dqo.api.meta import ObjectMeta

NODE_INVENTORY_CONTROLLER: Final = "kueue-dqo.dev/node-inventory"
COMPOSITE_CONTROLLER: Final = "kueue-dqo.dev/composite"
NODE_INVENTORY_PARAMETERS: Final = "NodeInventoryParameters"
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


class NodeInventoryParametersSpec(msgspec.Struct, frozen=True, gc=False, rename="camel", forbid_unknown_fields=True):
    """Parameters of the node inventory."""

    resources: ResourceSelection = ResourceSelection()


class NodeInventoryParameters(msgspec.Struct, frozen=True, gc=False, rename="camel", forbid_unknown_fields=True):
    """How a provider of the node inventory counts."""

    metadata: ObjectMeta
    spec: NodeInventoryParametersSpec = NodeInventoryParametersSpec()
    api_version: str = ""
    kind: str = ""


class CompositeMember(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """A CapacityProvider that a composite reads."""

    name: str


class CompositeParametersSpec(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """Members of a composite."""

    members: tuple[CompositeMember, ...] = ()


class CompositeParameters(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """What a composite is made of, as far as a plan warns of it: other fields are passed over."""

    metadata: ObjectMeta
    spec: CompositeParametersSpec = CompositeParametersSpec()
