"""How summaries show amounts, and in which order a capacity lists them. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from kueue_dqo.api import dqo
from kueue_dqo.api.parameters import ResourceSelection
from kueue_dqo.api.quantity import Quantity
from kueue_dqo.api.resources import CPU, FlavorResource

_OF_MACHINES: Final = (CPU, "memory")


FLAVOR_WITHOUT_AMOUNTS: Final = "FlavorWithoutAmounts"
"""The reason of the Event about a flavor that is orchestrated and that nobody reports anything of."""
_LONGEST_AMOUNT: Final = 40


def brief(quantity: Quantity) -> str:
    """The amount in a message: that of an absurd one has hundreds of digits."""
    text = str(quantity)
    return text if len(text) <= _LONGEST_AMOUNT else f"{text[:_LONGEST_AMOUNT]}… ({len(text)} characters)"


def that_is_selected(selection: ResourceSelection) -> str:
    """What to add to `nothing`, where there may be resources that are not reported."""
    return " that spec.resources lets through" if selection.include or selection.exclude else ""


def capacity_of(flavors: Iterable[str], amounts: Mapping[FlavorResource, Quantity]) -> dqo.Capacity:
    """The capacity that consists of the amounts: as `capacity_by_flavor`."""
    by_flavor: dict[str, dict[str, Quantity]] = {}
    for pair, quantity in amounts.items():
        by_flavor.setdefault(pair.flavor, {})[pair.resource] = quantity
    return capacity_by_flavor(flavors, by_flavor)


def capacity_by_flavor(flavors: Iterable[str], amounts: Mapping[str, Mapping[str, Quantity]]) -> dqo.Capacity:
    """The capacity that consists of the amounts: flavors in the order given, resources sorted by name.

    The API wants a resource of each flavor that is listed, so flavors without amounts are left out.
    """
    return dqo.Capacity(
        tuple(dqo.FlavorCapacity(name, dict(sorted(amounts[name].items()))) for name in flavors if amounts.get(name))
    )


def summary_of(flavors: Iterable[str], capacity: dqo.Capacity) -> str:
    """`h100: 8 nvidia.com/gpu; a100: nothing`, all the flavors in the order given."""
    by_flavor = {flavor.name: flavor.resources for flavor in capacity.flavors}
    return "; ".join(f"{name}: {_told(by_flavor.get(name, {}))}" for name in flavors)


def _told(resources: Mapping[str, Quantity]) -> str:
    """Whatever there is, where there is nothing else to show."""
    told = shown(resources) or [f"{quantity} {name}" for name, quantity in sorted(resources.items())]
    return ", ".join(told) or "nothing"


def shown(resources: Mapping[str, Quantity], *, everything: bool = False) -> list[str]:
    """The amounts that a summary shows, such as `8 nvidia.com/gpu`.

    Extended resources tell a pool of devices best, cpu and memory all others. Devices of which there is none are shown
    too, since that zero may be what matters, but behind cpu and memory where these are there. `everything` shows both
    in any case.
    """
    devices = [name for name in sorted(resources) if "/" in name]
    of_machines = [name for name in _OF_MACHINES if name in resources]
    has_devices = any(resources[name].nanos for name in devices)
    has_machines = any(resources[name].nanos for name in of_machines)
    both = everything or (has_machines and not has_devices)
    names = [*of_machines, *devices] if both else devices or of_machines
    return [f"{resources[name]} {name}" for name in names]
