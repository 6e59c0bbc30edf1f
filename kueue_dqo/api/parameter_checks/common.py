"""What parameters of every kind have in common: the selection of resources, headroom, guards."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from kueue_dqo.api import dqo
from kueue_dqo.api.durations import Duration
from kueue_dqo.api.parameters import CommonParameters, Guards, Headroom, ResourceSelection
from kueue_dqo.api.problems import OBJECT_NAME, RESOURCE_NAME, FieldProblem, amount, shown, unique

MAX_SELECTED_RESOURCES: Final = dqo.MAX_FLAVOR_RESOURCES
MAX_HEADROOM: Final = 256


def common_problems(spec: CommonParameters) -> Iterator[FieldProblem]:
    """Every problem of the fields that all parameters have."""
    yield from resources("spec.resources.include", spec.resources.include)
    yield from resources("spec.resources.exclude", spec.resources.exclude)
    pairs = [f"{each.flavor}/{each.resource}" for each in spec.headroom]
    yield from unique("spec.headroom", pairs, MAX_HEADROOM)
    for index, headroom in enumerate(spec.headroom):
        yield from _headroom(f"spec.headroom[{index}]", headroom, spec.resources)
    yield from _guards(spec.guards)


def resources(field: str, names: tuple[str, ...]) -> Iterator[FieldProblem]:
    """Of a list of resources, each named once."""
    yield from unique(field, names, MAX_SELECTED_RESOURCES)
    for index, name in enumerate(names):
        yield from RESOURCE_NAME.problems(f"{field}[{index}]", name)


def _headroom(field: str, headroom: Headroom, selection: ResourceSelection) -> Iterator[FieldProblem]:
    yield from OBJECT_NAME.problems(f"{field}.flavor", headroom.flavor)
    yield from RESOURCE_NAME.problems(f"{field}.resource", headroom.resource)
    yield from selected(f"{field}.resource", headroom.resource, selection)
    if (headroom.percent is None) == (headroom.quantity is None):
        has = "neither" if headroom.percent is None else "both"
        yield FieldProblem(field, f"has {has} of percent and quantity: give one of them")
    if headroom.percent is not None:
        yield from _share(f"{field}.percent", headroom.percent, most=100)
    if headroom.quantity is not None:
        yield from amount(f"{field}.quantity", headroom.quantity)


def _guards(guards: Guards) -> Iterator[FieldProblem]:
    if guards.max_fall_percent is not None:
        yield from _share("spec.guards.maxFallPercent", guards.max_fall_percent, most=99)  # 100: no fall is larger
        if guards.breaker_grace is None:
            yield FieldProblem(
                "spec.guards.breakerGrace",
                f"is missing: maxFallPercent {guards.max_fall_percent} needs it, to say for how long such a fall waits",
            )
    elif guards.breaker_grace is not None:
        yield FieldProblem(
            "spec.guards.maxFallPercent",
            f"is missing: breakerGrace {guards.breaker_grace} needs it, to say what falls wait",
        )
    if guards.breaker_grace == Duration(0):
        yield FieldProblem("spec.guards.breakerGrace", "0s is no time to wait: without maxFallPercent no fall waits")


def _share(field: str, percent: int, *, most: int) -> Iterator[FieldProblem]:
    if not 1 <= percent <= most:
        yield FieldProblem(field, f"{percent} is no share: 1 to {most} percent are allowed")


def selected(field: str, resource: str, selection: ResourceSelection) -> Iterator[FieldProblem]:
    """Of a resource that has to be among those that are reported."""
    if resource in selection.exclude:
        yield FieldProblem(field, f"{shown(resource)} is not reported: it is in spec.resources.exclude")
    elif not selection.selects(resource):
        yield FieldProblem(field, f"{shown(resource)} is not reported: it is not in spec.resources.include")


def named(field: str, name: str) -> Iterator[FieldProblem]:
    """Of the name of an object, where an empty one was told already."""
    if name:
        yield from OBJECT_NAME.problems(field, name)
