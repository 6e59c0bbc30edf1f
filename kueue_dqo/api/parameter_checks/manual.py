"""Numbers that a person wrote: a baseline, and overrides that hold for a time."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from kueue_dqo.api import dqo
from kueue_dqo.api.meta import parse_time
from kueue_dqo.api.parameter_checks.common import named
from kueue_dqo.api.parameters import ManualCapacitySpec, ManualFlavor, ManualOverride
from kueue_dqo.api.problems import (
    DNS_LABEL,
    RESOURCE_NAME,
    FieldProblem,
    Form,
    amount,
    list_map,
    shown,
    unique,
)
from kueue_dqo.api.recurrences import problems_of_recurrence

MAX_OVERRIDES: Final = 32
TIME: Final = Form(
    re.compile(
        r"[0-9]{4}-[0-9]{2}-[0-9]{2}T([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9]"
        r"(Z|[+-]([01][0-9]|2[0-3]):[0-5][0-9])"
    ),
    40,
    "time in whole seconds: write it as 2026-01-31T12:00:00Z",
)
TIME_ZONE: Final = Form(
    re.compile(r"[A-Za-z0-9_+-]+(/[A-Za-z0-9_+-]+)*"), 64, "time zone of the IANA database, such as Europe/Berlin"
)


def manual_problems(spec: ManualCapacitySpec) -> Iterator[FieldProblem]:
    """Every problem of the fields that only a ManualCapacity has."""
    yield from _flavors("spec.baseline.flavors", spec.baseline.flavors)
    yield from _overrides(spec.overrides)


def _flavors(field: str, flavors: tuple[ManualFlavor, ...]) -> Iterator[FieldProblem]:
    yield from list_map(field, [flavor.name for flavor in flavors], 1, dqo.MAX_PROVIDER_FLAVORS)
    for index, flavor in enumerate(flavors):
        yield from named(f"{field}[{index}].name", flavor.name)
        resources = f"{field}[{index}].resources"
        count = len(flavor.resources)
        if not 1 <= count <= dqo.MAX_FLAVOR_RESOURCES:
            yield FieldProblem(
                resources,
                f"flavor {flavor.name!r} has {count} resources; 1 to {dqo.MAX_FLAVOR_RESOURCES} are allowed",
            )
        for name, quantity in flavor.resources.items():
            yield from RESOURCE_NAME.problems(resources, name)
            yield from amount(f"{resources}[{name}]", quantity)


def _overrides(overrides: tuple[ManualOverride, ...]) -> Iterator[FieldProblem]:
    yield from unique("spec.overrides", [each.name for each in overrides], MAX_OVERRIDES)
    for index, override in enumerate(overrides):
        field = f"spec.overrides[{index}]"
        yield from DNS_LABEL.problems(f"{field}.name", override.name)
        yield from _period(field, override)
        yield from TIME_ZONE.problems(f"{field}.timeZone", override.time_zone)
        if override.recurrence is not None:
            yield from problems_of_recurrence(f"{field}.recurrence", override.recurrence)
        yield from _flavors(f"{field}.flavors", override.flavors)


def _period(field: str, override: ManualOverride) -> Iterator[FieldProblem]:
    times = []
    for name, text in (("begin", override.begin), ("end", override.end)):
        try:
            times.append(parse_time(text))
        except ValueError:
            yield FieldProblem(f"{field}.{name}", f"{shown(text)} is no {TIME.wanted}")
        else:
            yield from TIME.problems(f"{field}.{name}", text)
    if len(times) == 2 and times[0] >= times[1]:  # noqa: PLR2004 - begin and end
        yield FieldProblem(f"{field}.end", f"{override.end!r} is not later than begin, {override.begin!r}")
