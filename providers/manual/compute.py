"""From the numbers that a person wrote to a capacity, at one moment. Pure."""

from __future__ import annotations

import datetime
from collections.abc import Iterator
from typing import Final, NamedTuple

from kueue_dqo.api import dqo
from kueue_dqo.api.parameters import ManualCapacitySpec, ManualFlavor, ManualOverride
from kueue_dqo.api.quantity import Quantity
from kueue_dqo.api.resources import FlavorResource
from kueue_dqo.api.wording import some
from kueue_dqo.provider import InvalidCapacity, Misconfigured, Notice, Observation, Request
from providers.amounts import FLAVOR_WITHOUT_AMOUNTS, capacity_of, summary_of, that_is_selected
from providers.manual.recurrence import Standing
from providers.manual.schedule import ScheduleError, schedule_of
from providers.slips import not_orchestrated, parameters_name

LONGEST_SLEEP: Final = 24 * 3600.0
"""Seconds. A boundary may be years away, which is more than timers take; to look again once a day costs nothing."""
SHORTEST_SLEEP: Final = 0.001
"""Seconds. Whoever looks again must find that time has passed."""


class _Held(NamedTuple):
    """An override that can be read, and where it is now."""

    override: ManualOverride
    standing: Standing


def observe(request: Request[ManualCapacitySpec]) -> Observation:
    """The baseline, and over it, pair by pair, the overrides that hold now; the last in the list has the pair.

    It looks again when the next override begins or ends.

    Raises:
        InvalidCapacity: a negative amount.
        Misconfigured: a flavor, a time, a time zone, a rule or a name is wrong. Negative amounts come first, as in the
            API; the message lists all.
    """
    spec, flavors = request.parameters, request.provider.flavor_names
    misconfigured = [
        *_misplaced(spec, request.provider),
        *_repeated_names(spec.overrides),
    ]
    held: list[_Held] = []
    for index, override in enumerate(spec.overrides):
        try:
            held.append(_Held(override, schedule_of(override).standing(request.now)))
        except ScheduleError as error:
            misconfigured.append(f"{_place(index, override)}.{error.field}: {error}")
    _refuse(request, list(_negative(spec)), misconfigured)
    holding = [each for each in held if each.standing.until is not None]
    amounts: dict[FlavorResource, Quantity] = {}
    for listed in (spec.baseline.flavors, *(each.override.flavors for each in holding)):
        amounts |= {
            FlavorResource(flavor.name, resource): quantity
            for flavor in listed
            for resource, quantity in flavor.resources.items()
            if spec.resources.selects(resource)
        }
    capacity = capacity_of(flavors, amounts)
    return Observation(
        capacity,
        f"{_told(holding)}; {summary_of(flavors, capacity)}",
        _look_again(held, request.now),
        tuple(_notices(request)),
    )


def _refuse(request: Request[ManualCapacitySpec], invalid: list[str], misconfigured: list[str]) -> None:
    if invalid or misconfigured:
        error = InvalidCapacity if invalid else Misconfigured
        raise error(f"{parameters_name(request.provider)}: {'; '.join([*invalid, *misconfigured])}")


def _place(index: int, override: ManualOverride) -> str:
    return f"spec.overrides[{index}] ({override.name})"


def _lists(spec: ManualCapacitySpec) -> Iterator[tuple[str, tuple[ManualFlavor, ...]]]:
    """Every list of flavors, and where it stands."""
    yield "spec.baseline.flavors", spec.baseline.flavors
    for index, override in enumerate(spec.overrides):
        yield f"{_place(index, override)}.flavors", override.flavors


def _misplaced(spec: ManualCapacitySpec, provider: dqo.CapacityProvider) -> Iterator[str]:
    for place, flavors in _lists(spec):
        seen: set[str] = set()
        for index, flavor in enumerate(flavors):
            if flavor.name not in provider.flavor_names:
                yield not_orchestrated(f"{place}[{index}].name", flavor.name, provider)
            if flavor.name in seen:
                yield f"{place}[{index}].name: {flavor.name} is listed more than once: keep one of them"
            seen.add(flavor.name)


def _repeated_names(overrides: tuple[ManualOverride, ...]) -> Iterator[str]:
    seen: set[str] = set()
    for index, override in enumerate(overrides):
        if override.name in seen:
            yield f"{_place(index, override)}.name: an earlier override has that name as well: give it another one"
        seen.add(override.name)


def _negative(spec: ManualCapacitySpec) -> Iterator[str]:
    for place, flavors in _lists(spec):
        for index, flavor in enumerate(flavors):
            for resource, quantity in flavor.resources.items():
                if quantity.nanos < 0:
                    yield (
                        f"{place}[{index}].resources[{resource}]: {quantity} of {flavor.name} is negative: "
                        "write 0 or more"
                    )


def _told(holding: list[_Held]) -> str:
    """Which numbers these are: `baseline`, or `override night-shift until 2026-12-01T06:00:00Z`."""
    told = [f"{each.override.name} until {each.standing.until:%Y-%m-%dT%H:%M:%SZ}" for each in holding]
    if not told:
        return "baseline"
    return f"{'override' if len(told) == 1 else 'overrides'} {some(told)}"


def _look_again(held: list[_Held], now: datetime.datetime) -> float | None:
    """Seconds until an override begins or ends, as far as timers go; None where none ever does again."""
    boundaries = [each.standing.until or each.standing.begins for each in held]
    seconds = [(each - now).total_seconds() for each in boundaries if each is not None]
    return max(SHORTEST_SLEEP, min(*seconds, LONGEST_SLEEP)) if seconds else None


def _notices(request: Request[ManualCapacitySpec]) -> Iterator[Notice]:
    """By the baseline alone: what is told must not come and go with overrides."""
    selection = request.parameters.resources
    listed = {
        flavor.name
        for flavor in request.parameters.baseline.flavors
        if any(selection.selects(resource) for resource in flavor.resources)
    }
    bare = [name for name in request.provider.flavor_names if name not in listed]
    if bare:
        yield Notice(
            FLAVOR_WITHOUT_AMOUNTS,
            f"spec.baseline has nothing for {some(bare)}{that_is_selected(selection)}, so nobody reports it and its "
            "quotas become 0: add amounts there, zeros if they are meant, or take it out of spec.orchestratedFlavors",
        )
