"""What the pods of a Workload need: their requests as Kueue counts them, and what forbids them.

The rules are those of Kueue 0.19 (`pkg/workload/resources.go`, `pkg/util/limitrange`), those of the sum over a pod's
containers Kubernetes' (KEP-753, KEP-2837).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Final

import msgspec

from kueue_dqo.api.core import RESTARTED_ALWAYS, Amounts
from kueue_dqo.api.podtemplates import (
    HUGE_PAGES,
    SUPPORTED_POD_RESOURCES,
    LimitRange,
    LimitRangeItem,
    ResourceNeeds,
    RuntimeClass,
    TemplateContainer,
    TemplatePodSpec,
)
from kueue_dqo.api.quantity import LARGEST_UNITS, NANOS, Quantity, away_from_zero
from kueue_dqo.api.queueing import ResourcesConfiguration, TransformationStrategy
from kueue_dqo.api.resources import unit_nanos

Requests = dict[str, int]
"""Of one pod or of many, by resource, in Kueue's units: milli for cpu, 1 for every other resource."""

_CONTAINER: Final = "Container"
_POD: Final = "Pod"
_THOUSANDTH: Final = NANOS // 1000
_ABOVE_LIMIT: Final = "requests must not exceed its limits"
_ABOVE_MAX: Final = "requests must not be above the limitRange max"
_BELOW_MIN: Final = "requests must not be below the limitRange min"


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What shapes the pods of a namespace besides their templates."""

    limit_ranges: tuple[LimitRange, ...] = ()
    """Those of the namespace. Where several have a default for one resource, Kueue's order is not defined; ours is
    by name."""
    runtime_classes: Mapping[str, RuntimeClass] = field(default_factory=dict)
    resources: ResourcesConfiguration = field(default_factory=ResourcesConfiguration)
    limits: dict[str, LimitRangeItem] = field(init=False)
    """All limit ranges in one, by type."""

    def __post_init__(self) -> None:
        """Sums up the limit ranges."""
        object.__setattr__(self, "limits", _summary(self.limit_ranges))


def adjusted(spec: TemplatePodSpec, around: Surroundings) -> TemplatePodSpec:
    """The pods as Kueue counts them: with the overhead of their runtime, defaults, and limits where requests lack."""
    overhead = spec.overhead
    if spec.runtime_class_name and not overhead and spec.runtime_class_name in around.runtime_classes:
        overhead = _in_thousandths(around.runtime_classes[spec.runtime_class_name].overhead.pod_fixed)
    container, pod = around.limits.get(_CONTAINER), around.limits.get(_POD)
    return msgspec.structs.replace(
        spec,
        overhead=overhead,
        containers=tuple(_with_defaults(each, container) for each in spec.containers),
        init_containers=tuple(_with_defaults(each, container) for each in spec.init_containers),
        resources=None if spec.resources is None else _defaulted(spec.resources, pod),
    )


def requests_of(spec: TemplatePodSpec, resources: ResourcesConfiguration) -> Requests:
    """What one pod, already adjusted, takes of the quotas: rounded up to whole units, each pod by itself."""
    exact = {
        name: nanos
        for name, nanos in _pod_nanos(spec).items()
        if not any(name.startswith(prefix) for prefix in resources.exclude_resource_prefixes)
    }
    if any(each.input in exact for each in resources.transformations):
        return _whole(_transformed(exact, resources))
    return _whole(exact)


def shape_of(spec: TemplatePodSpec) -> tuple[object, ...]:
    """What Kueue compares of adjusted pods to call Workloads equal (`SpecShape`): those wait for each other's luck."""
    return (
        [(each.resources.requests, each.ports) for each in spec.init_containers],
        [(each.resources.requests, each.ports) for each in spec.containers],
        spec.node_selector,
        spec.affinity,
        spec.tolerations,
        spec.runtime_class_name,
        spec.priority,
        spec.topology_spread_constraints,
        spec.overhead,
        spec.resource_claims,
        None if spec.resources is None else spec.resources.requests,
    )


def forbidden(specs: Iterable[TemplatePodSpec], around: Surroundings) -> str:
    """Why Kueue finds the Workload inadmissible, by the adjusted pods of each podset; empty where it does not."""
    specs = tuple(specs)
    for title, found in (
        ("resources validation failed", _above_limits),
        ("resources didn't satisfy LimitRange constraints", _outside_range),
    ):
        errors = [
            text
            for index, spec in enumerate(specs)
            for text in found(f"spec.podSets[{index}].template.spec", spec, around.limits)
        ]
        if errors:
            unique = list(dict.fromkeys(errors))
            listed = ", ".join(unique)
            return f"{title}: {listed}" if len(unique) == 1 else f"{title}: [{listed}]"
    return ""


# --- limit ranges --------------------------------------------------------------------------------------------------


def _summary(limit_ranges: Iterable[LimitRange]) -> dict[str, LimitRangeItem]:
    found: dict[str, LimitRangeItem] = {}
    for limit_range in sorted(limit_ranges, key=lambda each: each.metadata.name):
        for item in map(_stored_limits, limit_range.spec.limits):
            before = found.get(item.type, LimitRangeItem(item.type))
            found[item.type] = LimitRangeItem(
                item.type,
                max=_merged(before.max, item.max, min),
                min=_merged(before.min, item.min, max),
                default=_kept(before.default, item.default),
                default_request=_kept(before.default_request, item.default_request),
            )
    return found


def _stored_limits(item: LimitRangeItem) -> LimitRangeItem:
    """With what the API server fills in: a default from the maximum, a default request from that or the minimum."""
    item = LimitRangeItem(
        item.type,
        max=_in_thousandths(item.max),
        min=_in_thousandths(item.min),
        default=_in_thousandths(item.default),
        default_request=_in_thousandths(item.default_request),
    )
    if item.type != _CONTAINER:
        return item
    default = _kept(item.default, item.max)
    return msgspec.structs.replace(
        item, default=default, default_request=_kept(_kept(item.default_request, default), item.min)
    )


def _with_defaults(container: TemplateContainer, limits: LimitRangeItem | None) -> TemplateContainer:
    return msgspec.structs.replace(container, resources=_defaulted(container.resources, limits))


def _defaulted(needs: ResourceNeeds, limits: LimitRangeItem | None) -> ResourceNeeds:
    upper, lower = needs.limits, needs.requests
    if limits is not None:
        upper, lower = _kept(upper, limits.default), _kept(lower, limits.default_request)
    return msgspec.structs.replace(needs, limits=upper, requests=_kept(lower, upper))


def _kept(first: Amounts, second: Amounts) -> Amounts:
    """The first, and of the second what the first has not."""
    return {**_present(second), **_present(first)}


def _merged(first: Amounts, second: Amounts, choose: Callable[[Quantity, Quantity], Quantity]) -> Amounts:
    merged = _present(first)
    for name, value in _present(second).items():
        merged[name] = choose(merged[name], value) if name in merged else value
    return {**merged}


def _present(values: Amounts) -> dict[str, Quantity]:
    return {name: value for name, value in values.items() if value is not None}


# --- sums ----------------------------------------------------------------------------------------------------------


def _pod_nanos(spec: TemplatePodSpec) -> dict[str, int]:
    """The request of one pod in nanos: its containers' sum or what its start takes, the pod's own, the overhead."""
    total: dict[str, int] = {}
    for container in spec.containers:
        _add(total, container.resources.requests)
    sidecars: dict[str, int] = {}
    at_start: dict[str, int] = {}
    for container in spec.init_containers:
        if container.restart_policy == RESTARTED_ALWAYS:
            # It goes on running: it counts with the containers, and beside every later one of the start.
            _add(total, container.resources.requests)
            _add(sidecars, container.resources.requests)
            running = sidecars
        else:
            running = dict(sidecars)
            _add(running, container.resources.requests)
        for name, nanos in running.items():
            at_start[name] = max(at_start.get(name, nanos), nanos)
    for name, nanos in at_start.items():
        total[name] = max(total.get(name, nanos), nanos)
    if spec.resources is not None:
        total |= {name: value.nanos for name, value in _present(spec.resources.requests).items() if _is_of_pods(name)}
    _add(total, spec.overhead)
    return total


def _is_of_pods(resource: str) -> bool:
    return resource in SUPPORTED_POD_RESOURCES or resource.startswith(HUGE_PAGES)


def _add(total: dict[str, int], values: Amounts) -> None:
    for name, value in _present(values).items():
        total[name] = total.get(name, 0) + value.nanos


def _transformed(exact: dict[str, int], resources: ResourcesConfiguration) -> dict[str, Fraction]:
    """Resources counted as others; a product of three quantities is finer than a nano, so that it stays a fraction."""
    rules = {each.input: each for each in resources.transformations}
    found: dict[str, Fraction] = {}
    for name, nanos in exact.items():
        amount, rule = Fraction(nanos), rules.get(name)
        if rule is None:
            # Kueue takes resources in no order: one that an earlier output has the name of is overwritten or not.
            found[name] = found.get(name, Fraction(0)) + amount
            continue
        if rule.multiply_by and rule.multiply_by in exact:
            amount *= Fraction(exact[rule.multiply_by], NANOS)
        for output, factor in _present(rule.outputs).items():
            found[output] = found.get(output, Fraction(0)) + amount * Fraction(factor.nanos, NANOS)
        if rule.strategy is TransformationStrategy.RETAIN:
            found[name] = amount
    return found


def _whole(exact: Mapping[str, int] | Mapping[str, Fraction]) -> Requests:
    # Negated twice, since the quotient is rounded down.
    return {name: min(int(-(-nanos // unit_nanos(name))), LARGEST_UNITS) for name, nanos in exact.items()}


def as_stored(spec: TemplatePodSpec) -> TemplatePodSpec:
    """A Job's pods as the API server stores them: amounts are rounded up to thousandths. A Workload's are not."""
    change = msgspec.structs.replace
    return change(
        spec,
        overhead=_in_thousandths(spec.overhead),
        containers=tuple(change(each, resources=_stored_needs(each.resources)) for each in spec.containers),
        init_containers=tuple(change(each, resources=_stored_needs(each.resources)) for each in spec.init_containers),
        resources=None if spec.resources is None else _stored_needs(spec.resources),
    )


def _stored_needs(needs: ResourceNeeds) -> ResourceNeeds:
    return msgspec.structs.replace(
        needs, requests=_in_thousandths(needs.requests), limits=_in_thousandths(needs.limits)
    )


def _in_thousandths(values: Amounts) -> Amounts:
    if not any(value is not None and value.nanos % _THOUSANDTH for value in values.values()):
        return values
    return {
        name: Quantity(away_from_zero(value.nanos, _THOUSANDTH) * _THOUSANDTH, value.format)
        for name, value in _present(values).items()
    }


def in_units(values: Amounts) -> Requests:
    """Quantities in Kueue's units, rounded up."""
    return _whole({name: value.nanos for name, value in _present(values).items()})


# --- what is forbidden ---------------------------------------------------------------------------------------------


def _above_limits(path: str, spec: TemplatePodSpec, limits: Mapping[str, LimitRangeItem]) -> Iterator[str]:
    del limits
    places = [
        *((f"{path}.initContainers[{index}]", each.resources) for index, each in enumerate(spec.init_containers)),
        *((f"{path}.containers[{index}]", each.resources) for index, each in enumerate(spec.containers)),
    ]
    if spec.resources is not None:
        places.append((f"{path}.resources", spec.resources))
    for place, needs in places:
        yield from _exceeding(place, in_units(needs.requests), in_units(needs.limits), _ABOVE_LIMIT)


def _outside_range(path: str, spec: TemplatePodSpec, limits: Mapping[str, LimitRangeItem]) -> Iterator[str]:
    item = limits.get(_CONTAINER)
    if item is not None:
        for kind, containers in (("initContainers", spec.init_containers), ("containers", spec.containers)):
            for index, each in enumerate(containers):
                needs, place = each.resources, f"{path}.{kind}[{index}]"
                most = in_units(_merged(needs.requests, needs.limits, max))
                least = in_units(_merged(needs.requests, needs.limits, min))
                yield from _exceeding(place, most, in_units(item.max), _ABOVE_MAX)
                yield from _exceeding(place, in_units(item.min), least, _BELOW_MIN)
    item = limits.get(_POD)
    if item is not None:
        total = _whole(_pod_nanos(spec))
        yield from _exceeding(path, total, in_units(item.max), _ABOVE_MAX)
        yield from _exceeding(path, in_units(item.min), total, _BELOW_MIN)


def _exceeding(place: str, values: Requests, bounds: Requests, message: str) -> Iterator[str]:
    """Kueue's words where a value is above its bound. Its names of resources come in no order; ours are sorted."""
    names = sorted(name for name, value in values.items() if name in bounds and value > bounds[name])
    if names:
        yield f"{place}: Invalid value: {json.dumps(names, separators=(',', ':'))}: {message}"
