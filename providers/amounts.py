"""How summaries show amounts, and in which order a capacity lists them. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from kueue_dqo.api import dqo
from kueue_dqo.api.quantity import Quantity
from kueue_dqo.api.resources import CPU, FlavorResource

_SHOWN_OF_MACHINES = (CPU, "memory")


def capacity_of(flavors: Iterable[str], amounts: Mapping[FlavorResource, Quantity]) -> dqo.Capacity:
    """The capacity that consists of the amounts: flavors in the order given, those without amounts left out."""
    by_flavor: dict[str, dict[str, Quantity]] = {}
    for pair, quantity in sorted(amounts.items()):
        by_flavor.setdefault(pair.flavor, {})[pair.resource] = quantity
    return dqo.Capacity(tuple(dqo.FlavorCapacity(name, by_flavor[name]) for name in flavors if name in by_flavor))


def summary_of(flavors: Iterable[str], capacity: dqo.Capacity) -> str:
    """`h100: 8 nvidia.com/gpu; a100: nothing`, all the flavors in the order given.

    Extended resources tell a pool of devices best, cpu and memory all others.
    """
    by_flavor = {flavor.name: flavor.resources for flavor in capacity.flavors}
    return "; ".join(f"{name}: {_shown(by_flavor.get(name, {}))}" for name in flavors)


def _shown(resources: Mapping[str, Quantity]) -> str:
    names = [name for name, quantity in sorted(resources.items()) if "/" in name and quantity.nanos]
    names = names or [name for name in _SHOWN_OF_MACHINES if name in resources] or sorted(resources)
    return ", ".join(f"{resources[name]} {name}" for name in names) or "nothing"
