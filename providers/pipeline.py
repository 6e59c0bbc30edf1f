"""From what a source observed to what may be published, before any guard. Pure; the same in a daemon and in a plan."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from kueue_dqo.api import dqo
from kueue_dqo.api.kueue import ResourceFlavor
from kueue_dqo.api.parameters import CommonParameters, Headroom
from kueue_dqo.api.problems import RESOURCE_NAME, shown
from kueue_dqo.api.quantity import LARGEST_UNITS, NANOS, Quantity
from kueue_dqo.api.resources import FlavorResource, unit_nanos
from kueue_dqo.api.wording import LONGEST_MESSAGE, message_of, some
from kueue_dqo.provider import InvalidCapacity, Misconfigured
from providers.amounts import brief, capacity_by_flavor
from providers.guards import Hold, texts_of
from providers.slips import not_orchestrated, parameters_name

_FOR_THE_REST: Final = 2_000
"""Characters of a message that holds leave to what the source says, which may be why it fails."""


class Settled(NamedTuple):
    """What may be published, as far as guards let it."""

    capacity: dqo.Capacity
    """Flavors in the order of the spec, those without resources left out; resources sorted by name."""
    held_back: Mapping[FlavorResource, Quantity]
    """What headroom keeps back, where it is more than nothing."""
    notes: tuple[str, ...]
    """Parts of the message, such as `headroom h100: 8 nvidia.com/gpu`."""


def check_flavors(provider: dqo.CapacityProvider, flavors: Mapping[str, ResourceFlavor]) -> None:
    """Whether each orchestrated flavor is there; `flavors` are all ResourceFlavors of the cluster by name.

    Raises:
        Misconfigured: one has no object.
    """
    missing = [name for name in provider.flavor_names if name not in flavors]
    if missing:
        raise Misconfigured(
            "; ".join(
                f"ResourceFlavor {name} does not exist: create it, or take it out of spec.orchestratedFlavors"
                for name in missing
            )
        )


def settle(provider: dqo.CapacityProvider, parameters: CommonParameters, observed: dqo.Capacity) -> Settled:
    """Selects resources, checks the limits of the API, keeps headroom back.

    Headroom in percent is of what is observed. It is rounded up to the unit of its resource (1m of cpu, 1 of all else),
    and what is left is never below 0.

    Raises:
        InvalidCapacity: a negative or too large quantity, a flavor twice, a resource name that is none.
        Misconfigured: more flavors or resources than the API takes, headroom for what the provider does not report.
            Of several causes the first in this order is raised, and its message lists all.
    """
    selected = {
        flavor.name: {
            name: amount for name, amount in sorted(flavor.resources.items()) if parameters.resources.selects(name)
        }
        for flavor in observed.flavors
        if flavor.name in provider.flavor_names
    }
    invalid = [*_listed_twice(observed), *_invalid(selected)]
    misconfigured = [*_too_many(provider, selected), *_misplaced_headroom(provider, parameters)]
    if invalid:
        raise InvalidCapacity("; ".join([some(invalid), some(misconfigured)] if misconfigured else [some(invalid)]))
    if misconfigured:
        raise Misconfigured(some(misconfigured))
    held_back: dict[FlavorResource, Quantity] = {}
    for headroom in parameters.headroom:
        amounts = selected.get(headroom.flavor, {})
        before = amounts.get(headroom.resource)
        if before is None:
            continue
        kept = _kept(headroom, before)
        if kept:
            pair = FlavorResource(headroom.flavor, headroom.resource)
            held_back[pair] = Quantity(kept, before.format)
            amounts[headroom.resource] = Quantity(before.nanos - kept, before.format)
    return Settled(
        capacity_by_flavor(provider.flavor_names, selected),
        held_back,
        tuple(_notes(provider, parameters, observed, selected, held_back)),
    )


def message_of_status(holds: Sequence[Hold], summary: str, notes: Sequence[str]) -> str:
    """The message of the condition while capacity is published; `holds_in` reads the holds back from it."""
    held = texts_of(holds, room=LONGEST_MESSAGE - _FOR_THE_REST)
    return message_of("; ".join(part for part in (*held, summary, *notes) if part))


# --- limits --------------------------------------------------------------------------------------------------------


def _listed_twice(observed: dqo.Capacity) -> Iterator[str]:
    for name, times in Counter(flavor.name for flavor in observed.flavors).items():
        if times > 1:
            yield f"the source reports flavor {name!r} {times} times: once is wanted, with all of its resources"


def _invalid(selected: Mapping[str, Mapping[str, Quantity]]) -> Iterator[str]:
    for flavor, amounts in selected.items():
        for name, amount in amounts.items():
            if not RESOURCE_NAME.fits(name):
                yield (
                    f"the source reports {brief(amount)} {shown(name)} of flavor {flavor}, which is no "
                    f"{RESOURCE_NAME.wanted}: correct the source, or choose in the parameters, by resources.include"
                )
            elif amount.nanos < 0:
                yield f"the source reports {brief(amount)} {name} of flavor {flavor}: 0 or more is wanted"
            elif amount.nanos > LARGEST_UNITS * NANOS:
                yield (
                    f"the source reports {brief(amount)} {name} of flavor {flavor}, more than the largest quantity "
                    f"that Kueue holds ({LARGEST_UNITS})"
                )


def _too_many(provider: dqo.CapacityProvider, selected: Mapping[str, Mapping[str, Quantity]]) -> Iterator[str]:
    if len(provider.flavor_names) > dqo.MAX_PROVIDER_FLAVORS:
        yield (
            f"spec.orchestratedFlavors has {len(provider.flavor_names)} flavors; at most {dqo.MAX_PROVIDER_FLAVORS} "
            "are allowed: give some of them to another CapacityProvider"
        )
    for flavor, amounts in selected.items():
        if len(amounts) > dqo.MAX_FLAVOR_RESOURCES:
            yield (
                f"flavor {flavor} has {len(amounts)} resources; at most {dqo.MAX_FLAVOR_RESOURCES} are allowed: choose "
                "them in the parameters, by resources.include or resources.exclude"
            )


# --- headroom ------------------------------------------------------------------------------------------------------


def _misplaced_headroom(provider: dqo.CapacityProvider, parameters: CommonParameters) -> Iterator[str]:
    for index, headroom in enumerate(parameters.headroom):
        place = f"spec.headroom[{index}]"
        if headroom.flavor not in provider.flavor_names:
            slip = not_orchestrated(f"{place}.flavor", headroom.flavor, provider)
            yield f"{parameters_name(provider)}: {slip}"
        elif not parameters.resources.selects(headroom.resource):
            yield (
                f"{parameters_name(provider)}: {place}.resource names {headroom.resource!r}, which the provider does "
                "not report: correct it, or spec.resources.include and exclude"
            )


def _kept(headroom: Headroom, before: Quantity) -> int:
    """Nanos that are kept back of a pair, at most all that there is."""
    if headroom.quantity is not None:
        wanted, parts = headroom.quantity.nanos, 1
    else:
        wanted, parts = before.nanos * (headroom.percent or 0), 100
    unit = unit_nanos(headroom.resource)
    units = -(-wanted // (parts * unit))
    return max(0, min(units * unit, before.nanos))


# --- words ---------------------------------------------------------------------------------------------------------


def _notes(
    provider: dqo.CapacityProvider,
    parameters: CommonParameters,
    observed: dqo.Capacity,
    selected: Mapping[str, Mapping[str, Quantity]],
    held_back: Mapping[FlavorResource, Quantity],
) -> Iterator[str]:
    for name in provider.flavor_names:
        kept = [f"{amount} {pair.resource}" for pair, amount in held_back.items() if pair.flavor == name]
        if kept:
            yield f"headroom {name}: {', '.join(kept)}"
    absent = _absent(parameters.headroom, selected)
    if absent:
        yield f"headroom finds nothing reported of {some(absent)}"
    emptied = [flavor.name for flavor in observed.flavors if flavor.resources and selected.get(flavor.name) == {}]
    if emptied:
        yield f"{some(emptied)}: nothing of what is observed is reported (resources.include, resources.exclude)"
    left_out = [flavor.name for flavor in observed.flavors if flavor.name not in provider.flavor_names]
    if left_out:
        yield f"left out {some(sorted(left_out))}: not in spec.orchestratedFlavors"


def _absent(headroom: Iterable[Headroom], selected: Mapping[str, Mapping[str, Quantity]]) -> list[FlavorResource]:
    return [
        FlavorResource(each.flavor, each.resource)
        for each in headroom
        if each.resource not in selected.get(each.flavor, {})
    ]
