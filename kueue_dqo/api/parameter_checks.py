"""What is wrong with parameters, as far as one object shows it: the rules of their definitions in `manifests/crds`.

A manifest that never saw an API server is judged by these; so is an object that was stored before a rule was made.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from kueue_dqo.api import dqo
from kueue_dqo.api.durations import Duration
from kueue_dqo.api.meta import parse_time
from kueue_dqo.api.parameters import (
    CommonParameters,
    CompositeParametersSpec,
    ExcludedCondition,
    Guards,
    Headroom,
    LabelSelector,
    ManualCapacitySpec,
    ManualFlavor,
    ManualOverride,
    NodeInventoryParametersSpec,
    ResourceSelection,
    SelectorOperator,
)
from kueue_dqo.api.problems import (
    CONDITION_STATUSES,
    CONDITION_TYPE,
    DNS_LABEL,
    LABEL_KEY,
    LABEL_VALUE,
    OBJECT_NAME,
    RESOURCE_NAME,
    FieldProblem,
    Form,
    amount,
    list_map,
    shown,
    unique,
)
from kueue_dqo.api.recurrences import problems_of_recurrence

MAX_SELECTED_RESOURCES: Final = dqo.MAX_FLAVOR_RESOURCES
MAX_HEADROOM: Final = 256
MAX_SELECTOR_ENTRIES: Final = 64
MAX_EXCLUDED_CONDITIONS: Final = 32
MAX_OVERRIDES: Final = 32
MAX_MEMBERS: Final = 16
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


def problems_of_parameters(spec: CommonParameters) -> Iterator[FieldProblem]:
    """Every problem of the spec; of one that a third party derived, those of the fields that all have."""
    yield from _common(spec)
    match spec:
        case NodeInventoryParametersSpec():
            yield from _node_inventory(spec)
        case ManualCapacitySpec():
            yield from _flavors("spec.baseline.flavors", spec.baseline.flavors)
            yield from _overrides(spec.overrides)
        case CompositeParametersSpec():
            members = [member.name for member in spec.members]
            yield from list_map("spec.members", members, 1, MAX_MEMBERS)
            for index, name in enumerate(members):
                yield from _named(f"spec.members[{index}].name", name)


# --- common --------------------------------------------------------------------------------------------------------


def _common(spec: CommonParameters) -> Iterator[FieldProblem]:
    yield from _resources("spec.resources.include", spec.resources.include)
    yield from _resources("spec.resources.exclude", spec.resources.exclude)
    pairs = [f"{each.flavor}/{each.resource}" for each in spec.headroom]
    yield from unique("spec.headroom", pairs, MAX_HEADROOM)
    for index, headroom in enumerate(spec.headroom):
        yield from _headroom(f"spec.headroom[{index}]", headroom, spec.resources)
    yield from _guards(spec.guards)


def _resources(field: str, names: tuple[str, ...]) -> Iterator[FieldProblem]:
    yield from unique(field, names, MAX_SELECTED_RESOURCES)
    for index, name in enumerate(names):
        yield from RESOURCE_NAME.problems(f"{field}[{index}]", name)


def _headroom(field: str, headroom: Headroom, selection: ResourceSelection) -> Iterator[FieldProblem]:
    yield from OBJECT_NAME.problems(f"{field}.flavor", headroom.flavor)
    yield from RESOURCE_NAME.problems(f"{field}.resource", headroom.resource)
    yield from _selected(f"{field}.resource", headroom.resource, selection)
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


def _selected(field: str, resource: str, selection: ResourceSelection) -> Iterator[FieldProblem]:
    if resource in selection.exclude:
        yield FieldProblem(field, f"{shown(resource)} is not reported: it is in spec.resources.exclude")
    elif not selection.selects(resource):
        yield FieldProblem(field, f"{shown(resource)} is not reported: it is not in spec.resources.include")


def _named(field: str, name: str) -> Iterator[FieldProblem]:
    """Where an empty name was told already."""
    if name:
        yield from OBJECT_NAME.problems(field, name)


# --- node inventory ------------------------------------------------------------------------------------------------


def _node_inventory(spec: NodeInventoryParametersSpec) -> Iterator[FieldProblem]:
    yield from _selector("spec.nodeSelector", spec.node_selector)
    field = "spec.requiredResources"
    yield from unique(field, [each.flavor for each in spec.required_resources], dqo.MAX_PROVIDER_FLAVORS)
    for index, required in enumerate(spec.required_resources):
        yield from OBJECT_NAME.problems(f"{field}[{index}].flavor", required.flavor)
        yield from RESOURCE_NAME.problems(f"{field}[{index}].resource", required.resource)
    yield from _excluded_conditions("spec.excludedConditions", spec.excluded_conditions)
    field = "spec.explicitZeros"
    yield from unique(field, [each.flavor for each in spec.explicit_zeros], dqo.MAX_PROVIDER_FLAVORS)
    for index, zeros in enumerate(spec.explicit_zeros):
        yield from OBJECT_NAME.problems(f"{field}[{index}].flavor", zeros.flavor)
        if not zeros.resources:
            yield FieldProblem(f"{field}[{index}].resources", "is empty: name at least one resource")
        yield from _resources(f"{field}[{index}].resources", zeros.resources)
        for number, name in enumerate(zeros.resources):
            yield from _selected(f"{field}[{index}].resources[{number}]", name, spec.resources)


def _selector(field: str, selector: LabelSelector) -> Iterator[FieldProblem]:
    yield from unique(f"{field}.matchLabels", tuple(selector.match_labels), MAX_SELECTOR_ENTRIES)
    for key, value in selector.match_labels.items():
        yield from LABEL_KEY.problems(f"{field}.matchLabels", key)
        yield from LABEL_VALUE.problems(f"{field}.matchLabels[{key}]", value)
    field = f"{field}.matchExpressions"
    count = len(selector.match_expressions)
    if count > MAX_SELECTOR_ENTRIES:
        yield FieldProblem(field, f"{count} entries; at most {MAX_SELECTOR_ENTRIES} are allowed")
    for index, expression in enumerate(selector.match_expressions):
        yield from LABEL_KEY.problems(f"{field}[{index}].key", expression.key)
        values = f"{field}[{index}].values"
        takes_values = expression.operator in {SelectorOperator.IN, SelectorOperator.NOT_IN}
        if takes_values and not expression.values:
            yield FieldProblem(values, f"is empty; {expression.operator} needs at least one value")
        elif expression.values and not takes_values:
            yield FieldProblem(values, f"{len(expression.values)} entries; {expression.operator} takes none")
        yield from unique(values, expression.values, MAX_SELECTOR_ENTRIES)
        for number, value in enumerate(expression.values):
            yield from LABEL_VALUE.problems(f"{values}[{number}]", value)


def _excluded_conditions(field: str, conditions: tuple[ExcludedCondition, ...]) -> Iterator[FieldProblem]:
    yield from unique(field, [f"{each.type}={each.status}" for each in conditions], MAX_EXCLUDED_CONDITIONS)
    for index, condition in enumerate(conditions):
        yield from CONDITION_TYPE.problems(f"{field}[{index}].type", condition.type)
        if condition.status not in CONDITION_STATUSES:
            yield FieldProblem(
                f"{field}[{index}].status", f"{shown(condition.status)} is none of {', '.join(CONDITION_STATUSES)}"
            )


# --- manual --------------------------------------------------------------------------------------------------------


def _flavors(field: str, flavors: tuple[ManualFlavor, ...]) -> Iterator[FieldProblem]:
    yield from list_map(field, [flavor.name for flavor in flavors], 1, dqo.MAX_PROVIDER_FLAVORS)
    for index, flavor in enumerate(flavors):
        yield from _named(f"{field}[{index}].name", flavor.name)
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
