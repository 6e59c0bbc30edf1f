"""Pairs of flavor and resource, and the unit in which quotas of a resource are split."""

from __future__ import annotations

from typing import Final, NamedTuple

from kueue_dqo.api.quantity import NANOS

CPU: Final = "cpu"
_NANOS_IN_MILLI: Final = NANOS // 1000


class FlavorResource(NamedTuple):
    """A pair of ResourceFlavor and resource, by name: what one quota is about."""

    flavor: str
    resource: str

    def __str__(self) -> str:
        """`flavor/resource`, as messages and tables name the pair."""
        return f"{self.flavor}/{self.resource}"


def unit_nanos(resource: str) -> int:
    """The smallest share of a resource, in nanos: 1m for cpu, 1 for every other (specification, Distribution)."""
    return _NANOS_IN_MILLI if resource == CPU else NANOS
