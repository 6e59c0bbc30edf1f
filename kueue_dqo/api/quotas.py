"""Quotas as ClusterQueues and Cohorts declare them and as an orchestrator puts them in force."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import msgspec

from kueue_dqo.api.quantity import Quantity
from kueue_dqo.api.resources import FlavorResource


class ResourceQuota(msgspec.Struct, frozen=True, gc=False, rename="camel", omit_defaults=True):
    """The quota of one resource in one flavor. A limit of None is no limit; a limit of 0 is one."""

    name: str
    nominal_quota: Quantity
    borrowing_limit: Quantity | None = None
    lending_limit: Quantity | None = None


class FlavorQuotas(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """The quotas of one flavor in a resource group."""

    name: str
    resources: tuple[ResourceQuota, ...] = ()


class ResourceGroup(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """Resources that are handed out together, and the flavors they come in."""

    covered_resources: tuple[str, ...] = ()
    flavors: tuple[FlavorQuotas, ...] = ()


class OrchestratorRef(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """Who wrote effective quotas (`status.effectiveQuotas.orchestratorRef`)."""

    api_group: str
    kind: str
    name: str

    def __str__(self) -> str:
        """`Kind.group/name`."""
        return f"{self.kind}.{self.api_group}/{self.name}" if self.api_group else f"{self.kind}/{self.name}"


class EffectiveQuotas(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """`status.effectiveQuotas`: set, it is used instead of the spec, even where the list is empty."""

    orchestrator_ref: OrchestratorRef
    resource_groups: tuple[ResourceGroup, ...] = ()


def quotas_by_pair(groups: tuple[ResourceGroup, ...]) -> Iterator[tuple[FlavorResource, ResourceQuota]]:
    """Each quota in the groups with its pair, in the order of the groups."""
    for group in groups:
        for flavor in group.flavors:
            for quota in flavor.resources:
                yield FlavorResource(flavor.name, quota.name), quota


def map_quotas(
    groups: tuple[ResourceGroup, ...], change: Callable[[FlavorResource, ResourceQuota], ResourceQuota]
) -> tuple[ResourceGroup, ...]:
    """The groups with each quota changed; the shape stays."""
    return tuple(
        ResourceGroup(
            group.covered_resources,
            tuple(
                FlavorQuotas(
                    flavor.name,
                    tuple(change(FlavorResource(flavor.name, quota.name), quota) for quota in flavor.resources),
                )
                for flavor in group.flavors
            ),
        )
        for group in groups
    )
