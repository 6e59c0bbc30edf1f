"""From manifests to a plan. Pure.

Fills in what git leaves out, computes the providers that have no status, then the orchestrators.
"""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from typing import Any

import msgspec

from kueue_dqo.api import dqo
from kueue_dqo.api.core import NODE, POD
from kueue_dqo.api.gpu import NODE_GPU_REPORT
from kueue_dqo.api.kueue import (
    ADMISSION_CHECK,
    CLUSTER_QUEUE,
    COHORT,
    MULTI_KUEUE_CONFIG,
    RESOURCE_FLAVOR,
    QuotaNode,
)
from kueue_dqo.api.meta import Condition, ObjectKey, find_condition
from kueue_dqo.api.quotas import quotas_by_pair
from kueue_dqo.cli.objects import Manifests
from kueue_dqo.cli.plan.assumptions import computed_from, filled_in
from orchestrator.compute import Outcome, Snapshot, compute
from orchestrator.enforcement.roads import Road
from orchestrator.hierarchy import Hierarchy
from orchestrator.members import Member
from orchestrator.multikueue import automated_checks, why_automated
from providers.offline import PARAMETERS_KINDS, Objects, depending_on_time, first_statuses


@dataclass(slots=True)
class Plan:
    """What would happen, and what it was computed from."""

    road: Road
    manifests: Manifests
    providers: dict[str, dqo.CapacityProvider]
    orchestrators: dict[str, dqo.DynamicQuotaOrchestrator]
    nodes: dict[ObjectKey, QuotaNode]
    """Every ClusterQueue and Cohort."""
    hierarchy: Hierarchy
    outcomes: dict[str, Outcome]
    computed_providers: set[str]
    depending_on_time: list[str]
    """Those of the computed providers whose capacity may be another one at another time."""
    notes: list[str] = field(default_factory=list)

    def changed_quotas(self) -> set[ObjectKey]:
        """The ClusterQueues and Cohorts whose quotas in force, or their owner, would become others."""
        return {
            key
            for outcome in self.outcomes.values()
            for key, quotas in outcome.quotas.items()
            if not self.road.is_written(self.nodes[key], quotas)
        }

    def changed_orchestrators(self) -> set[str]:
        """The orchestrators whose capacity or conditions (wording aside) would become others."""
        return {
            name
            for name, outcome in self.outcomes.items()
            if _essence(outcome.status) != _essence(self.orchestrators[name].status)
        }

    @property
    def has_changes(self) -> bool:
        """Whether anything would be written, wording aside."""
        return bool(self.computed_providers or self.changed_orchestrators() or self.changed_quotas())

    @property
    def all_work(self) -> bool:
        """Whether every orchestrator computes and, where it should, distributes."""
        return all(
            condition.status == "True"
            for outcome in self.outcomes.values()
            for condition in outcome.status.conditions
            if condition.type in (dqo.EFFECTIVE_CAPACITY_COMPUTED, dqo.DISTRIBUTED)
        )


def make_plan(manifests: Manifests, road: Road, at: datetime.datetime) -> Plan:
    """Computes the plan of everything in the manifests. Capacity that depends on the time is that of `at` (UTC)."""
    orchestrators = {
        name: _with_generation(each, each.status.conditions, dqo.EFFECTIVE_CAPACITY_COMPUTED)
        for name, each in manifests.of_kind(dqo.DYNAMIC_QUOTA_ORCHESTRATOR).items()
    }
    providers = {
        name: _with_generation(each, each.status.conditions, dqo.CAPACITY_SYNCHRONIZED)
        for name, each in manifests.of_kind(dqo.CAPACITY_PROVIDER).items()
    }
    nodes: dict[ObjectKey, QuotaNode] = {
        node.key: node for kind in (CLUSTER_QUEUE, COHORT) for node in manifests.of_kind(kind).values()
    }
    automated = automated_checks(manifests.of_kind(ADMISSION_CHECK).values(), manifests.of_kind(MULTI_KUEUE_CONFIG))
    hierarchy = Hierarchy(_member_of(node, road, automated) for node in nodes.values())
    objects = objects_of(manifests, providers, _declared_resources(hierarchy.members))
    computed = first_statuses(objects, at)
    providers = providers | computed
    outcomes = compute(Snapshot(orchestrators, providers, hierarchy))
    notes = [
        *computed_from(objects, manifests, at),
        *filled_in(manifests, orchestrators, hierarchy, nodes, outcomes),
    ]
    return Plan(
        road,
        manifests,
        providers,
        orchestrators,
        nodes,
        hierarchy,
        outcomes,
        set(computed),
        depending_on_time(objects),
        notes,
    )


def objects_of(
    manifests: Manifests,
    providers: Mapping[str, dqo.CapacityProvider],
    declared: Mapping[str, AbstractSet[str]],
) -> Objects:
    """What capacity is computed from."""
    return Objects(
        providers=providers,
        parameters={kind: manifests.of_kind(kind) for kind in PARAMETERS_KINDS},
        unusable=manifests.unusable,
        flavors=manifests.of_kind(RESOURCE_FLAVOR),
        nodes=manifests.of_kind(NODE).values(),
        pods=manifests.of_kind(POD).values(),
        reports=manifests.of_kind(NODE_GPU_REPORT),
        declared=declared,
    )


def _member_of(node: QuotaNode, road: Road, automated: Mapping[str, str]) -> Member:
    """The member of the tree; one whose quotas MultiKueue sets is refused, as the daemon does."""
    member = road.member_of(node)
    why = why_automated(node, automated)
    return member if why is None or member.problem is not None else member._replace(problem=why)


def _with_generation(obj: Any, conditions: tuple[Condition, ...], kind: str) -> Any:
    """No generation: the one that the condition has observed, else 1."""
    if obj.metadata.generation is not None:
        return obj
    condition = find_condition(conditions, kind)
    generation = (condition.observed_generation if condition is not None else None) or 1
    return msgspec.structs.replace(obj, metadata=msgspec.structs.replace(obj.metadata, generation=generation))


def _declared_resources(members: Mapping[ObjectKey, Member]) -> Mapping[str, AbstractSet[str]]:
    declared: dict[str, set[str]] = {}
    for member in members.values():
        for pair, _ in quotas_by_pair(member.declared):
            declared.setdefault(pair.flavor, set()).add(pair.resource)
    return declared


def _essence(state: dqo.DynamicQuotaOrchestratorStatus) -> tuple[object, ...]:
    """What a change of a status is about: not the words of its messages, nor the time."""
    conditions = {(each.type, each.status, each.reason, each.observed_generation) for each in state.conditions}
    capacity = state.effective_capacity
    return (conditions, {flavor.name: flavor.resources for flavor in capacity.flavors} if capacity else None)
