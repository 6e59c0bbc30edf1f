"""What the API server or Kueue would refuse of queues and of the manager's configuration, beyond their quotas."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from kueue_dqo.api.parameters import LabelSelector, SelectorOperator
from kueue_dqo.api.problems import LABEL_KEY, LABEL_VALUE, OBJECT_NAME, FieldProblem, not_negative, unique
from kueue_dqo.api.queueing import (
    AdmissionFairSharingConfiguration,
    BorrowPolicy,
    ClusterQueueSpec,
    Cohort,
    Configuration,
    FairSharing,
    FairSharingConfiguration,
    FlavorFungibility,
    FungibilityPolicy,
    LocalQueue,
    PreemptionStrategy,
    QuotaCheckStrategy,
    ReclaimWithinCohort,
    ResourcesConfiguration,
)

_STRATEGIES: Final = (
    (PreemptionStrategy.LESS_THAN_OR_EQUAL_TO_FINAL_SHARE,),
    (PreemptionStrategy.LESS_THAN_INITIAL_SHARE,),
    (PreemptionStrategy.LESS_THAN_OR_EQUAL_TO_FINAL_SHARE, PreemptionStrategy.LESS_THAN_INITIAL_SHARE),
)
_MOST_CHECKS: Final = 64


def problems_of_queue(spec: ClusterQueueSpec) -> Iterator[FieldProblem]:
    """Of a ClusterQueue's spec without its resource groups."""
    if spec.namespace_selector is not None:
        yield from problems_of_selector("spec.namespaceSelector", spec.namespace_selector)
    yield from _fungibility("spec.flavorFungibility", spec.flavor_fungibility)
    preemption = spec.preemption
    if (
        preemption.reclaim_within_cohort is ReclaimWithinCohort.NEVER
        and preemption.borrow_within_cohort.policy is not BorrowPolicy.NEVER
    ):
        yield FieldProblem(
            "spec.preemption.borrowWithinCohort.policy",
            f"{preemption.borrow_within_cohort.policy.value} needs a reclaimWithinCohort other than Never",
        )
    yield from _weight("spec.fairSharing.weight", spec.fair_sharing)
    field = "spec.admissionChecksStrategy.admissionChecks"
    rules = spec.admission_checks_strategy.admission_checks
    yield from unique(field, [rule.name for rule in rules], _MOST_CHECKS)
    flavors = {flavor.name for group in spec.resource_groups for flavor in group.flavors}
    for index, rule in enumerate(rules):
        yield from OBJECT_NAME.problems(f"{field}[{index}].name", rule.name)
        for name in sorted(set(rule.on_flavors) - flavors):
            yield FieldProblem(
                f"{field}[{index}].onFlavors",
                f"{name!r} is no flavor of this queue; {', '.join(sorted(flavors)) or 'it has none'}",
            )


def problems_of_cohort(cohort: Cohort) -> Iterator[FieldProblem]:
    """Of a Cohort without its resource groups."""
    yield from _weight("spec.fairSharing.weight", cohort.spec.fair_sharing)


def problems_of_local_queue(queue: LocalQueue) -> Iterator[FieldProblem]:
    """Of a LocalQueue."""
    if queue.spec is not None:
        yield from _weight("spec.fairSharing.weight", queue.spec.fair_sharing)
        if queue.spec.cluster_queue:
            yield from OBJECT_NAME.problems("spec.clusterQueue", queue.spec.cluster_queue)
    sharing = queue.status.fair_sharing
    if sharing is not None and sharing.admission_fair_sharing_status is not None:
        field = "status.fairSharing.admissionFairSharingStatus.consumedResources"
        for name, amount in sharing.admission_fair_sharing_status.consumed_resources.items():
            yield from not_negative(f"{field}[{name}]", amount)


def problems_of_configuration(configuration: Configuration) -> Iterator[FieldProblem]:
    """Of the manager's configuration: where Kueue would not start with it."""
    if configuration.managed_jobs_namespace_selector is not None:
        yield from problems_of_selector("managedJobsNamespaceSelector", configuration.managed_jobs_namespace_selector)
    if configuration.fair_sharing is not None:
        yield from _fair_sharing(configuration.fair_sharing)
    if configuration.admission_fair_sharing is not None:
        yield from _admission_fair_sharing(configuration.admission_fair_sharing)
    yield from _resources(configuration.resources)


def problems_of_selector(field: str, selector: LabelSelector) -> Iterator[FieldProblem]:
    """Of a label selector."""
    for key, value in selector.match_labels.items():
        yield from LABEL_KEY.problems(f"{field}.matchLabels", key)
        yield from LABEL_VALUE.problems(f"{field}.matchLabels[{key}]", value)
    for index, expression in enumerate(selector.match_expressions):
        place = f"{field}.matchExpressions[{index}]"
        yield from LABEL_KEY.problems(f"{place}.key", expression.key)
        if expression.operator in (SelectorOperator.IN, SelectorOperator.NOT_IN):
            if not expression.values:
                yield FieldProblem(f"{place}.values", f"is empty; {expression.operator.value} needs at least one")
        elif expression.values:
            yield FieldProblem(f"{place}.values", f"{expression.operator.value} takes none")


def _fungibility(field: str, fungibility: FlavorFungibility) -> Iterator[FieldProblem]:
    # v1beta1's words have become MayStopSearch before this is asked.
    for name, policy in (
        ("whenCanBorrow", fungibility.when_can_borrow),
        ("whenCanPreempt", fungibility.when_can_preempt),
    ):
        if policy in (FungibilityPolicy.BORROW, FungibilityPolicy.PREEMPT):
            yield FieldProblem(f"{field}.{name}", f"{policy.value!r} is none of MayStopSearch, TryNextFlavor")
    both = (fungibility.when_can_borrow, fungibility.when_can_preempt)
    if fungibility.preference is not None and any(each is not FungibilityPolicy.TRY_NEXT_FLAVOR for each in both):
        yield FieldProblem(
            f"{field}.preference",
            f"{fungibility.preference.value} needs whenCanBorrow and whenCanPreempt to be TryNextFlavor",
        )


def _weight(field: str, sharing: FairSharing | None) -> Iterator[FieldProblem]:
    if sharing is None:
        return
    yield from not_negative(field, sharing.weight)
    if sharing.weight.nanos == 1:
        yield FieldProblem(field, f"{sharing.weight} is too small; 0, or more than 1n is allowed")


def _fair_sharing(sharing: FairSharingConfiguration) -> Iterator[FieldProblem]:
    strategies = sharing.preemption_strategies
    if sharing.enable is None and not strategies:
        yield FieldProblem("fairSharing.preemptionStrategies", "is required and missing")
    if strategies and strategies not in _STRATEGIES:
        allowed = "; ".join(", ".join(each) for each in _STRATEGIES)
        yield FieldProblem(
            "fairSharing.preemptionStrategies",
            f"{', '.join(strategies)} is none of Kueue's lists: {allowed}",
        )


def _admission_fair_sharing(sharing: AdmissionFairSharingConfiguration) -> Iterator[FieldProblem]:
    if not sharing.usage_sampling_interval:
        yield FieldProblem("admissionFairSharing.usageSamplingInterval", "is 0s; it has to be longer")
    for name, weight in sharing.resource_weights.items():
        if not 0 <= weight < float("inf"):
            yield FieldProblem(
                f"admissionFairSharing.resourceWeights[{name}]", f"{weight} is no weight; 0 or more is allowed"
            )


def _resources(resources: ResourcesConfiguration) -> Iterator[FieldProblem]:
    if resources.exclude_resource_prefixes and resources.quota_check_strategy is QuotaCheckStrategy.IGNORE_UNDECLARED:
        yield FieldProblem(
            "resources.quotaCheckStrategy", "IgnoreUndeclared does not go together with excludeResourcePrefixes"
        )
    inputs = [each.input for each in resources.transformations]
    yield from unique("resources.transformations", inputs, len(inputs))
    for index, transformation in enumerate(resources.transformations):
        for name, factor in transformation.outputs.items():
            yield from not_negative(f"resources.transformations[{index}].outputs[{name}]", factor)
