"""Amounts of the resources of one flavor, and how they compare."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from kueue_dqo.api import dqo
from kueue_dqo.api.quantity import Quantity

Amounts = Mapping[str, Quantity]
"""By resource; a resource that is not reported has no entry."""
NO_AMOUNTS: Final[Amounts] = MappingProxyType({})


def level(amount: Quantity | None) -> int:
    """Nanos, for comparing; a resource that is not reported is below one of which there is 0."""
    return -1 if amount is None else amount.nanos


def by_flavor(capacity: dqo.Capacity) -> dict[str, Amounts]:
    """The amounts of each flavor."""
    return {flavor.name: flavor.resources for flavor in capacity.flavors}


def falls_by_more(before: Quantity | None, after: Quantity | None, percent: int) -> bool:
    """Whether `after` is more than that share below `before`. Never by more than 100 percent."""
    if before is None or before.nanos <= 0:
        return False
    return (before.nanos - max(level(after), 0)) * 100 > before.nanos * percent


def fall_in_percent(before: Quantity | None, after: Quantity | None) -> int:
    """The share by which `after` is below `before`, rounded up so that it is above every limit that it exceeds."""
    if before is None or before.nanos <= 0:
        return 0
    return max(0, -(-(before.nanos - max(level(after), 0)) * 100 // before.nanos))
