"""Amounts in Kueue's units as Kueue writes them in messages and statuses."""

from __future__ import annotations

from typing import Final

from kueue_dqo.api.podtemplates import HUGE_PAGES
from kueue_dqo.api.quantity import Format, Quantity
from kueue_dqo.api.resources import unit_nanos

_IN_BYTES: Final = ("memory", "ephemeral-storage")


def quantity(resource: str, amount: int) -> Quantity:
    """An amount in Kueue's units (milli for cpu, 1 for every other resource) as a quantity."""
    is_binary = resource in _IN_BYTES or resource.startswith(HUGE_PAGES)
    return Quantity(amount * unit_nanos(resource), Format.BINARY if is_binary else Format.DECIMAL)


def written(resource: str, amount: int) -> str:
    """Canonical text of an amount in Kueue's units."""
    return str(quantity(resource, amount))
