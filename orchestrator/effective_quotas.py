"""Effective quotas: what a member's resource groups become, given its shares.

Source of every rule: Dynamic Quota Orchestration in the documentation of Kueue 0.20,
sections Distribution and Which quota Kueue uses.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from collections.abc import Set as AbstractSet

import msgspec

from kueue_dqo.api.kueue import CLUSTER_QUEUE
from kueue_dqo.api.quantity import Quantity
from kueue_dqo.api.quotas import ResourceGroup, ResourceQuota, map_quotas
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

    def change(pair: FlavorResource, quota: ResourceQuota) -> ResourceQuota:
        if pair.flavor not in flavors:
            return quota
        nominal = Quantity(next(shares[pair]) * unit_nanos(pair.resource), quota.nominal_quota.format)
        changed = msgspec.structs.replace(quota, nominal_quota=nominal)
        return with_lending_capped(changed) if member.key.kind == CLUSTER_QUEUE else changed

    return map_quotas(member.declared, change)


def with_lending_capped(quota: ResourceQuota) -> ResourceQuota:
    """A ClusterQueue lends no more than it has."""
    if quota.lending_limit is None or quota.lending_limit <= quota.nominal_quota:
        return quota
    return msgspec.structs.replace(quota, lending_limit=quota.nominal_quota)
