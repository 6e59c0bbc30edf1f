"""Effective quotas: what a member's resource groups become, given its shares.

Source of every rule: the specification, sections Distribution and Which quota Kueue uses.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from collections.abc import Set as AbstractSet

import msgspec

from kueue_dqo.api.kueue import CLUSTER_QUEUE
from kueue_dqo.api.quantity import Quantity
from kueue_dqo.api.quotas import FlavorQuotas, ResourceGroup, ResourceQuota
from kueue_dqo.api.resources import FlavorResource, unit_nanos
from orchestrator.members import Member


def effective_groups(
    member: Member, flavors: AbstractSet[str], shares: Mapping[FlavorResource, Iterator[int]]
) -> tuple[ResourceGroup, ...]:
    """The member's declared groups with the nominal quotas of orchestrated flavors replaced by its shares.

    The groups keep their shape, other flavors stay untouched, borrowingLimit is copied; lendingLimit too, but a
    ClusterQueue's is capped at its effective nominal quota.

    Args:
        member: whose groups these are.
        flavors: the orchestrated ones.
        shares: by pair, the units of the members that declare the pair, in the order in which members are asked for.
    """
    return tuple(
        ResourceGroup(
            group.covered_resources,
            tuple(
                FlavorQuotas(
                    flavor.name,
                    tuple(
                        _capped(
                            _shared(quota, next(shares[FlavorResource(flavor.name, quota.name)]))
                            if flavor.name in flavors
                            else quota,
                            member.key.kind,
                        )
                        for quota in flavor.resources
                    ),
                )
                for flavor in group.flavors
            ),
        )
        for group in member.declared
    )


def _shared(quota: ResourceQuota, share: int) -> ResourceQuota:
    nominal = Quantity(share * unit_nanos(quota.name), quota.nominal_quota.format)
    return msgspec.structs.replace(quota, nominal_quota=nominal)


def _capped(quota: ResourceQuota, kind: str) -> ResourceQuota:
    """A ClusterQueue lends no more than it has; of a flavor that is not orchestrated Kueue sees to that itself."""
    if kind != CLUSTER_QUEUE or quota.lending_limit is None or quota.lending_limit <= quota.nominal_quota:
        return quota
    return msgspec.structs.replace(quota, lending_limit=quota.nominal_quota)
