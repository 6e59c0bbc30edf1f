"""Parameters that choose nodes, and those of the node inventory."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from kueue_dqo.api import dqo
from kueue_dqo.api.parameter_checks.common import resources, selected
from kueue_dqo.api.parameters import (
    ExcludedCondition,
    LabelSelector,
    NodeInventoryParametersSpec,
    SelectorOperator,
)
from kueue_dqo.api.problems import (
    CONDITION_STATUSES,
    CONDITION_TYPE,
    LABEL_KEY,
    LABEL_VALUE,
    OBJECT_NAME,
    RESOURCE_NAME,
    FieldProblem,
    shown,
    unique,
)

MAX_SELECTOR_ENTRIES: Final = 64
MAX_EXCLUDED_CONDITIONS: Final = 32


def node_inventory_problems(spec: NodeInventoryParametersSpec) -> Iterator[FieldProblem]:
    """Every problem of the fields that only the node inventory has, and of its selector of nodes."""
    yield from selector("spec.nodeSelector", spec.node_selector)
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
        yield from resources(f"{field}[{index}].resources", zeros.resources)
        for number, name in enumerate(zeros.resources):
            yield from selected(f"{field}[{index}].resources[{number}]", name, spec.resources)


def selector(field: str, selector: LabelSelector) -> Iterator[FieldProblem]:
    """Of a label selector."""
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
