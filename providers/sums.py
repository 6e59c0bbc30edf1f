"""Amounts by resource, added up in whole nanos, and several amounts made one. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from kueue_dqo.api.parameters import Combine
from kueue_dqo.api.quantity import Format, Quantity, common_format


class Sum:
    """Amounts by resource. The format of each follows from what was added, not from the order."""

    def __init__(self) -> None:
        self.nanos: Final[dict[str, int]] = {}
        self._formats: dict[str, set[Format]] = {}

    def add(self, resource: str, nanos: int, fmt: Format) -> None:
        """Adds so much of a resource; a zero makes the resource known."""
        self.nanos[resource] = self.nanos.get(resource, 0) + nanos
        self._formats.setdefault(resource, set()).add(fmt)

    def add_all(self, other: Sum) -> None:
        """Adds another sum."""
        for resource, nanos in other.nanos.items():
            for fmt in other._formats[resource]:
                self.add(resource, 0, fmt)
            self.nanos[resource] += nanos

    def quantities(self) -> dict[str, Quantity]:
        """By resource, sorted by name."""
        return {
            name: Quantity(nanos, common_format(self._formats.get(name, set())))
            for name, nanos in sorted(self.nanos.items())
        }


def combined(combine: Combine, quantities: Sequence[Quantity]) -> Quantity:
    """The least, the most or the sum of at least one. It is written as the first that it is, or as sums are."""
    match combine:
        case Combine.MIN:
            return min(quantities)
        case Combine.MAX:
            return max(quantities)
        case Combine.SUM:
            return Quantity(sum(each.nanos for each in quantities), common_format({each.format for each in quantities}))
