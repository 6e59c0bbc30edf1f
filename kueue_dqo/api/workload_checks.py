"""What the API server or Kueue would refuse of Jobs, Workloads and what decides on their requests."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from kueue_dqo.api.core import Amounts
from kueue_dqo.api.podtemplates import (
    Job,
    LimitRange,
    PodTemplate,
    ResourceNeeds,
    RuntimeClass,
    TemplateContainer,
)
from kueue_dqo.api.problems import RESOURCE_NAME, FieldProblem, not_negative, unique
from kueue_dqo.api.quantity import LARGEST_UNITS, NANOS
from kueue_dqo.api.workloads import PodSet, PriorityClassRef, Workload, WorkloadSpec

_PODS: Final = "pods"
_MOST_POD_SETS: Final = 18
_PRIORITY_KINDS: Final = {
    "kueue.x-k8s.io": "WorkloadPriorityClass",
    "scheduling.k8s.io": "PriorityClass",
}


def problems_of_job(job: Job) -> Iterator[FieldProblem]:
    """Of a Job."""
    if job.spec is not None:
        yield from _template("spec.template", job.spec.template, limits_bind=True)


def problems_of_workload(workload: Workload) -> Iterator[FieldProblem]:
    """Of a Workload."""
    if workload.spec is not None:
        yield from _workload_spec(workload.spec)
    names = [pod_set.name for pod_set in workload.spec.pod_sets] if workload.spec is not None else []
    status = workload.status
    yield from unique("status.admissionChecks", [check.name for check in status.admission_checks], 8)
    if status.admission is not None and names:
        field = "status.admission.podSetAssignments"
        assigned = [each.name for each in status.admission.pod_set_assignments]
        yield from unique(field, assigned, _MOST_POD_SETS)
        for name in sorted(set(assigned) ^ set(names)):
            problem = "has no assignment" if name in names else "is no podset of this Workload"
            yield FieldProblem(field, f"{name!r} {problem}")
        for index, each in enumerate(status.admission.pod_set_assignments):
            yield from amounts(f"{field}[{index}].resourceUsage", each.resource_usage)
    for name in sorted({each.name for each in status.reclaimable_pods} - set(names)) if names else ():
        yield FieldProblem("status.reclaimablePods", f"{name!r} is no podset of this Workload")


def problems_of_limit_range(limits: LimitRange) -> Iterator[FieldProblem]:
    """Of a LimitRange."""
    for index, item in enumerate(limits.spec.limits):
        field = f"spec.limits[{index}]"
        for name, values in (
            ("max", item.max),
            ("min", item.min),
            ("default", item.default),
            ("defaultRequest", item.default_request),
        ):
            yield from amounts(f"{field}.{name}", values)
        yield from _at_most(f"{field}.min", item.min, item.max, "max")


def problems_of_runtime_class(runtime: RuntimeClass) -> Iterator[FieldProblem]:
    """Of a RuntimeClass."""
    yield from amounts("overhead.podFixed", runtime.overhead.pod_fixed)


def amounts(field: str, values: Amounts) -> Iterator[FieldProblem]:
    """Of quantities by resource: none is negative, none beyond what Kueue can count."""
    for name, quantity in values.items():
        place = f"{field}[{name}]"
        yield from RESOURCE_NAME.problems(place, name)
        yield from not_negative(place, quantity)
        if quantity is not None and quantity.nanos > LARGEST_UNITS * NANOS:
            yield FieldProblem(place, f"{quantity} is more than Kueue counts to; at most {LARGEST_UNITS} is allowed")


def _workload_spec(spec: WorkloadSpec) -> Iterator[FieldProblem]:
    yield from unique("spec.podSets", [pod_set.name for pod_set in spec.pod_sets], _MOST_POD_SETS)
    for index, pod_set in enumerate(spec.pod_sets):
        yield from _pod_set(f"spec.podSets[{index}]", pod_set)
    if sum(pod_set.min_count is not None for pod_set in spec.pod_sets) > 1:
        yield FieldProblem("spec.podSets", "more than one podset has a minCount; at most one may")
    if spec.priority_class_ref is not None:
        yield from _priority(spec.priority_class_ref)
        if spec.priority is None:
            yield FieldProblem("spec.priority", "is required where there is a priorityClassRef")


def _pod_set(field: str, pod_set: PodSet) -> Iterator[FieldProblem]:
    if pod_set.min_count is not None and not 1 <= pod_set.min_count <= pod_set.count:
        yield FieldProblem(f"{field}.minCount", f"{pod_set.min_count} is not from 1 to count ({pod_set.count})")
    yield from _template(f"{field}.template", pod_set.template, limits_bind=False)


def _priority(ref: PriorityClassRef) -> Iterator[FieldProblem]:
    wanted = _PRIORITY_KINDS.get(ref.group)
    if wanted is None:
        yield FieldProblem(
            "spec.priorityClassRef.group", f"{ref.group!r} is none of {', '.join(sorted(_PRIORITY_KINDS))}"
        )
    elif ref.kind != wanted:
        yield FieldProblem("spec.priorityClassRef.kind", f"{ref.kind!r} is not {wanted}, the kind of {ref.group}")


def _template(field: str, template: PodTemplate, *, limits_bind: bool) -> Iterator[FieldProblem]:
    spec = template.spec
    if not spec.containers:
        yield FieldProblem(f"{field}.spec.containers", "is required and missing")
    for place, container in _containers(f"{field}.spec", spec.init_containers, spec.containers):
        yield from _needs(f"{place}.resources", container.resources, limits_bind=limits_bind)
        if _PODS in container.resources.requests:
            yield FieldProblem(f"{place}.resources.requests[pods]", "is Kueue's own: it counts pods by itself")
    if spec.resources is not None:
        yield from _needs(f"{field}.spec.resources", spec.resources, limits_bind=limits_bind)
    yield from amounts(f"{field}.spec.overhead", spec.overhead)


def _containers(
    field: str, init: Iterable[TemplateContainer], containers: Iterable[TemplateContainer]
) -> Iterator[tuple[str, TemplateContainer]]:
    for name, some in (("initContainers", init), ("containers", containers)):
        for index, container in enumerate(some):
            yield f"{field}.{name}[{index}]", container


def _needs(field: str, needs: ResourceNeeds, *, limits_bind: bool) -> Iterator[FieldProblem]:
    """`limits_bind`: the API server refuses requests above limits. Of a Workload it does not; Kueue calls it so."""
    yield from amounts(f"{field}.requests", needs.requests)
    yield from amounts(f"{field}.limits", needs.limits)
    if limits_bind:
        yield from _at_most(f"{field}.requests", needs.requests, needs.limits, "limit")


def _at_most(field: str, values: Amounts, most: Amounts, name: str) -> Iterator[FieldProblem]:
    for resource, value in values.items():
        bound = most.get(resource)
        if value is not None and bound is not None and value > bound:
            yield FieldProblem(f"{field}[{resource}]", f"{value} is above the {name} of {bound}")
