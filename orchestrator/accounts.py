"""The accounts that a transition keeps: of each object on its way, and of each pair. Pure."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass, field

import msgspec

from kueue_dqo.api.kueue import CLUSTER_QUEUE
from kueue_dqo.api.meta import ObjectKey
from kueue_dqo.api.quantity import Quantity
from kueue_dqo.api.quotas import EffectiveQuotas, ResourceGroup, ResourceQuota, map_quotas, quotas_by_pair
from kueue_dqo.api.resources import FlavorResource, unit_nanos
from orchestrator.effective_quotas import with_lending_capped

Amounts = dict[FlavorResource, int]
"""Nominal quotas by pair, in units of the resource."""


@dataclass(slots=True)
class Target:
    """An object on its way from `held` to `wanted`, both for the pairs that are counted."""

    key: ObjectKey
    quotas: EffectiveQuotas
    found: tuple[ResourceGroup, ...]
    """What was in force at the start."""
    held: Amounts
    wanted: Amounts
    in_flight: Amounts | None = None
    """What the write under way would leave in force."""
    is_done: bool = False
    is_given_up: bool = False

    @property
    def is_waiting(self) -> bool:
        return not (self.is_done or self.is_given_up or self.in_flight is not None)


Line = OrderedDict[ObjectKey, Target]
"""Objects that wait, in the order in which they lined up. Taking any of them out costs the same."""


@dataclass(slots=True)
class PairAccount:
    """The account of one pair, in its units."""

    capacity: int
    highest: int = 0
    """The sum in force, every write under way counted at the larger of its ends."""
    lacking: int = 0
    """Growth that is wanted and not on its way."""
    moving: int = 0
    """What the writes under way change, up or down."""
    growing: Line = field(default_factory=OrderedDict)
    shrinking: Line = field(default_factory=OrderedDict)

    @property
    def room(self) -> int:
        """By how much the sum may still rise."""
        return max(0, self.capacity - self.highest)

    @property
    def unclaimed(self) -> int:
        """The room that growth wants and has not been given."""
        return min(self.room, self.lacking)

    @property
    def is_dipping(self) -> bool:
        """Whether more is unclaimed than the writes under way move."""
        return self.unclaimed > self.moving


def units_of(quantity: Quantity, pair: FlavorResource) -> int:
    """As Kueue counts it: rounded up to the unit of the resource."""
    return -(-quantity.nanos // unit_nanos(pair.resource))


def larger(one: Amounts, other: Amounts) -> Amounts:
    """Pair by pair, the larger of both."""
    return {pair: max(one.get(pair, 0), other.get(pair, 0)) for pair in one | other}


def partial_quotas(target: Target, step: Amounts) -> EffectiveQuotas:
    """The quotas with the nominal ones that are within reach now."""
    found = {pair: quota.nominal_quota for pair, quota in quotas_by_pair(target.found)}

    def change(pair: FlavorResource, quota: ResourceQuota) -> ResourceQuota:
        if pair not in step or step[pair] == target.wanted[pair]:
            return quota
        nominal = Quantity(step[pair] * unit_nanos(pair.resource), quota.nominal_quota.format)
        if pair in found and units_of(found[pair], pair) == step[pair]:
            nominal = found[pair]  # which stays as it is; it may be a fraction of the unit
        changed = msgspec.structs.replace(quota, nominal_quota=nominal)
        return with_lending_capped(changed) if target.key.kind == CLUSTER_QUEUE else changed

    return msgspec.structs.replace(target.quotas, resource_groups=map_quotas(target.quotas.resource_groups, change))
