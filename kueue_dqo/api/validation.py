"""What the API server would refuse: limits, uniqueness, ranges.

Each problem names its field, the value and the way out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Final

from kueue_dqo.api import dqo, queueing
from kueue_dqo.api.gpu import NodeGPUReport
from kueue_dqo.api.gpu_checks import problems_of_report
from kueue_dqo.api.kueue import ClusterQueue, Cohort, QuotaNode
from kueue_dqo.api.meta import Condition, ObjectMeta, parse_time
from kueue_dqo.api.parameter_checks import problems_of_parameters
from kueue_dqo.api.parameters import CommonParameters, ParametersObject
from kueue_dqo.api.podtemplates import Job, LimitRange, RuntimeClass
from kueue_dqo.api.problems import (
    API_GROUP,
    CONDITION_STATUSES,
    DNS_LABEL,
    OBJECT_NAME,
    FieldProblem,
    list_map,
    not_negative,
    repeated,
    unique,
)
from kueue_dqo.api.queueing_checks import (
    problems_of_cohort,
    problems_of_configuration,
    problems_of_local_queue,
    problems_of_queue,
)
from kueue_dqo.api.quotas import ResourceGroup, quotas_by_pair
from kueue_dqo.api.workload_checks import (
    problems_of_job,
    problems_of_limit_range,
    problems_of_runtime_class,
    problems_of_workload,
)
from kueue_dqo.api.workloads import Workload

_LONGEST_SUBDOMAIN: Final = 253
_LONGEST_LABEL: Final = 63
_MAX_GROUP_FLAVORS: Final = 64
_MAX_GROUP_RESOURCES: Final = 64


def problems_of(obj: Any) -> Iterator[FieldProblem]:
    """Every problem of a decoded object, in the order of its fields."""
    yield from _metadata(obj.metadata)
    check = _CHECKS.get(type(obj))
    if check is not None:
        yield from check(obj)


def _metadata(meta: Any) -> Iterator[FieldProblem]:
    yield from OBJECT_NAME.problems("metadata.name", meta.name)
    if isinstance(meta, ObjectMeta):
        for field, text in (
            ("creationTimestamp", meta.creation_timestamp),
            ("deletionTimestamp", meta.deletion_timestamp),
        ):
            if text is None:
                continue
            try:
                parse_time(text)
            except ValueError:
                yield FieldProblem(f"metadata.{field}", f"{text!r} is no time: write it as 2026-01-31T12:00:00Z")


def _capacity_provider(provider: dqo.CapacityProvider) -> Iterator[FieldProblem]:
    spec, status = provider.spec, provider.status
    if not 1 <= len(spec.controller_name) <= _LONGEST_SUBDOMAIN:
        yield FieldProblem(
            "spec.controllerName",
            f"{spec.controller_name[:80]!r} has {len(spec.controller_name)} characters; 1 to {_LONGEST_SUBDOMAIN} are "
            "allowed",
        )
    yield from list_map("spec.orchestratedFlavors", provider.flavor_names, 1, dqo.MAX_PROVIDER_FLAVORS)
    if spec.parameters is not None:
        yield from _parameters("spec.parameters", spec.parameters)
    if status.capacity is not None:
        field = "status.capacity.flavors"
        yield from _capacity(field, status.capacity, dqo.MAX_PROVIDER_FLAVORS, fewest_resources=1)
    yield from _conditions(status.conditions)


def _orchestrator(orchestrator: dqo.DynamicQuotaOrchestrator) -> Iterator[FieldProblem]:
    providers = orchestrator.spec.capacity_discovery.providers
    field = "spec.capacityDiscovery.providers"
    yield from list_map(field, [provider.name for provider in providers], 1, dqo.MAX_PROVIDERS)
    for index, provider in enumerate(providers):
        yield from not_negative(f"{field}[{index}].effectiveCapacityMultiplier", provider.effective_capacity_multiplier)
    if orchestrator.root is not None:
        field = "spec.capacityDistribution.subtreeRootQuotaRef"
        if orchestrator.root.kind not in dqo.ROOT_KINDS:
            yield FieldProblem(f"{field}.kind", f"{orchestrator.root.kind!r} is neither ClusterQueue nor Cohort")
        if not orchestrator.root.name:
            yield FieldProblem(f"{field}.name", "is empty: name the ClusterQueue or Cohort at the root of the subtree")
    if orchestrator.status.effective_capacity is not None:
        field = "status.effectiveCapacity.flavors"
        yield from _capacity(
            field, orchestrator.status.effective_capacity, dqo.MAX_EFFECTIVE_FLAVORS, fewest_resources=0
        )
    yield from _conditions(orchestrator.status.conditions)


def _quota_node(node: QuotaNode) -> Iterator[FieldProblem]:
    yield from problems_of_groups("spec.resourceGroups", node.quotas)
    if node.status.effective_quotas is not None:
        groups = node.status.effective_quotas.resource_groups
        yield from problems_of_groups("status.effectiveQuotas.resourceGroups", groups)


def _admitting_queue(queue: queueing.ClusterQueue) -> Iterator[FieldProblem]:
    yield from _quota_node(queue)
    yield from problems_of_queue(queue.spec)


def _weighted_cohort(cohort: queueing.Cohort) -> Iterator[FieldProblem]:
    yield from _quota_node(cohort)
    yield from problems_of_cohort(cohort)


def _parameters_object(parameters: ParametersObject[CommonParameters]) -> Iterator[FieldProblem]:
    name = parameters.metadata.name
    if OBJECT_NAME.fits(name) and not DNS_LABEL.fits(name):
        yield FieldProblem(
            "metadata.name",
            f"{name!r} cannot stand in spec.parameters.name of a CapacityProvider: choose one without '.', of at most "
            f"{DNS_LABEL.longest} characters",
        )
    yield from problems_of_parameters(parameters.spec)


_CHECKS: Final[dict[type, Callable[[Any], Iterator[FieldProblem]]]] = {
    dqo.CapacityProvider: _capacity_provider,
    dqo.DynamicQuotaOrchestrator: _orchestrator,
    ClusterQueue: _quota_node,
    Cohort: _quota_node,
    ParametersObject: _parameters_object,
    NodeGPUReport: problems_of_report,
    queueing.ClusterQueue: _admitting_queue,
    queueing.Cohort: _weighted_cohort,
    queueing.LocalQueue: problems_of_local_queue,
    queueing.Configuration: problems_of_configuration,
    Workload: problems_of_workload,
    Job: problems_of_job,
    LimitRange: problems_of_limit_range,
    RuntimeClass: problems_of_runtime_class,
}


def refusals_of(obj: Any) -> Iterator[FieldProblem]:
    """What the API server or Kueue's webhook would refuse, although quotas can be computed from it."""
    if not isinstance(obj, ClusterQueue | Cohort):
        return
    seen: set[str] = set()
    for g, group in enumerate(obj.quotas):
        field = f"spec.resourceGroups[{g}]"
        for name in [*group.covered_resources, *(f"flavor {flavor.name}" for flavor in group.flavors)]:
            if name in seen:
                yield FieldProblem(field, f"{name} is in an earlier group as well: the API server refuses that")
            seen.add(name)
        for f, flavor in enumerate(group.flavors):
            names = tuple(quota.name for quota in flavor.resources)
            if names != group.covered_resources:
                covered = ", ".join(group.covered_resources) or "nothing"
                yield FieldProblem(
                    f"{field}.flavors[{f}].resources",
                    f"{', '.join(names) or 'nothing'} is not what coveredResources says ({covered}), in that order: "
                    "the API server refuses that",
                )
    if isinstance(obj, ClusterQueue):
        yield from _refused_limits(obj)


def _refused_limits(queue: ClusterQueue) -> Iterator[FieldProblem]:
    for pair, quota in quotas_by_pair(queue.quotas):
        if not queue.parent and (quota.borrowing_limit is not None or quota.lending_limit is not None):
            yield FieldProblem(
                "spec.resourceGroups", f"{pair} has a limit, and the queue no cohort: Kueue refuses that"
            )
        if quota.lending_limit is not None and quota.lending_limit > quota.nominal_quota:
            yield FieldProblem(
                "spec.resourceGroups",
                f"{pair} has a lendingLimit of {quota.lending_limit}, above its nominalQuota of {quota.nominal_quota}: "
                "Kueue refuses that",
            )


def problems_of_groups(field: str, groups: tuple[ResourceGroup, ...]) -> Iterator[FieldProblem]:
    """Every problem of resource groups that stand in the given field."""
    if len(groups) > dqo.MAX_RESOURCE_GROUPS:
        yield FieldProblem(field, f"{len(groups)} groups; at most {dqo.MAX_RESOURCE_GROUPS} are allowed")
    for g, group in enumerate(groups):
        yield from unique(f"{field}[{g}].coveredResources", group.covered_resources, _MAX_GROUP_RESOURCES)
        yield from unique(f"{field}[{g}].flavors", [flavor.name for flavor in group.flavors], _MAX_GROUP_FLAVORS)
        for f, flavor in enumerate(group.flavors):
            for r, quota in enumerate(flavor.resources):
                place = f"{field}[{g}].flavors[{f}].resources[{r}]"
                yield from not_negative(f"{place}.nominalQuota", quota.nominal_quota)
                yield from not_negative(f"{place}.borrowingLimit", quota.borrowing_limit)
                yield from not_negative(f"{place}.lendingLimit", quota.lending_limit)
    for pair in repeated(str(pair) for pair, _ in quotas_by_pair(groups)):
        yield FieldProblem(field, f"{pair} has more than one quota: keep one of them")


def _capacity(field: str, capacity: dqo.Capacity, most: int, *, fewest_resources: int) -> Iterator[FieldProblem]:
    yield from list_map(field, [flavor.name for flavor in capacity.flavors], 0, most)
    for index, flavor in enumerate(capacity.flavors):
        count = len(flavor.resources)
        if not fewest_resources <= count <= dqo.MAX_FLAVOR_RESOURCES:
            yield FieldProblem(
                f"{field}[{index}].resources",
                f"flavor {flavor.name!r} has {count} resources; {fewest_resources} to {dqo.MAX_FLAVOR_RESOURCES} are "
                "allowed",
            )


def _conditions(conditions: tuple[Condition, ...]) -> Iterator[FieldProblem]:
    field = "status.conditions"
    yield from list_map(field, [condition.type for condition in conditions], 0, dqo.MAX_CONDITIONS, key="type")
    for index, condition in enumerate(conditions):
        if condition.status not in CONDITION_STATUSES:
            yield FieldProblem(
                f"{field}[{index}].status", f"{condition.status!r} is none of {', '.join(CONDITION_STATUSES)}"
            )


def _parameters(field: str, ref: dqo.ParametersRef) -> Iterator[FieldProblem]:
    yield from API_GROUP.problems(f"{field}.apiGroup", ref.api_group)
    if not 1 <= len(ref.kind) <= _LONGEST_LABEL:
        yield FieldProblem(
            f"{field}.kind", f"{ref.kind[:80]!r} has {len(ref.kind)} characters; 1 to {_LONGEST_LABEL} are allowed"
        )
    yield from DNS_LABEL.problems(f"{field}.name", ref.name)
