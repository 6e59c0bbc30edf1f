"""From manifests to a plan. Pure.

Fills in what git leaves out, computes the providers that have no status, then the orchestrators.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from typing import Any

import msgspec

from kueue_dqo.api import dqo, parameters
from kueue_dqo.api.core import NODE, Node
from kueue_dqo.api.kueue import (
    ADMISSION_CHECK,
    CLUSTER_QUEUE,
    COHORT,
    MULTI_KUEUE_CONFIG,
    RESOURCE_FLAVOR,
    QuotaNode,
    ResourceFlavor,
)
from kueue_dqo.api.meta import OUR_GROUP, Condition, ObjectKey, find_condition
from kueue_dqo.api.quotas import quotas_by_pair
from kueue_dqo.api.resources import FlavorResource
from kueue_dqo.api.wording import message_of, some
from kueue_dqo.cli.objects import Manifests
from kueue_dqo.provider import CapacityError, Misconfigured
from orchestrator.compute import Outcome, Snapshot, compute
from orchestrator.enforcement.roads import Road
from orchestrator.hierarchy import Hierarchy
from orchestrator.members import Member
from orchestrator.multikueue import automated_checks, why_automated
from providers.node_inventory.compute import Claim, observe


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


def make_plan(manifests: Manifests, road: Road) -> Plan:
    """Computes the plan of everything in the manifests."""
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
    computed = _computed_providers(providers, manifests, _declared_resources(hierarchy.members))
    providers |= computed
    outcomes = compute(Snapshot(orchestrators, providers, hierarchy))
    notes = _filled_in(manifests, orchestrators, hierarchy, nodes, outcomes)
    return Plan(road, manifests, providers, orchestrators, nodes, hierarchy, outcomes, set(computed), notes)


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


def _filled_in(
    manifests: Manifests,
    orchestrators: Mapping[str, dqo.DynamicQuotaOrchestrator],
    hierarchy: Hierarchy,
    nodes: Mapping[ObjectKey, QuotaNode],
    outcomes: Mapping[str, Outcome],
) -> list[str]:
    """What was taken for metadata that the files leave out."""
    notes: list[str] = []
    without_generation = [
        f"{kind}/{name}"
        for kind in (dqo.CAPACITY_PROVIDER, dqo.DYNAMIC_QUOTA_ORCHESTRATOR)
        for name, obj in sorted(manifests.of_kind(kind).items())
        if obj.metadata.generation is None
    ]
    if without_generation:
        notes.append(
            f"no metadata.generation on {some(without_generation, at_most=3)}: taken as the one that its condition "
            "observed, "
            "else 1"
        )
    without_uid = sorted(str(key) for key in _sharing(outcomes, hierarchy) if not nodes[key].metadata.uid)
    if without_uid:
        notes.append(
            f"no metadata.uid on {some(without_uid, at_most=3)}: ties were settled by name here and may fall on other "
            "queues in the cluster"
        )
    rivals = _rivals(orchestrators)
    ageless = [each.metadata.name for each in rivals if each.metadata.creation_timestamp is None]
    if ageless:
        notes.append(f"no metadata.creationTimestamp on {some(ageless)}: taken as the youngest, and as equally old")
    nameless = [each.metadata.name for each in rivals if not each.metadata.uid]
    if nameless:
        notes.append(f"no metadata.uid on {some(nameless)}: of equal age, the name decides here which has precedence")
    return notes


def _sharing(outcomes: Mapping[str, Outcome], hierarchy: Hierarchy) -> set[ObjectKey]:
    """The targets that share some orchestrated pair with another: only between these can there be a tie."""
    sharing: set[ObjectKey] = set()
    for outcome in outcomes.values():
        holders: dict[FlavorResource, list[ObjectKey]] = {}
        for key in outcome.quotas:
            for pair, _ in quotas_by_pair(hierarchy.members[key].declared):
                if pair.flavor in (outcome.discovery.flavors or {}):
                    holders.setdefault(pair, []).append(key)
        sharing |= {key for keys in holders.values() if len(keys) > 1 for key in keys}
    return sharing


def _rivals(orchestrators: Mapping[str, dqo.DynamicQuotaOrchestrator]) -> list[dqo.DynamicQuotaOrchestrator]:
    """By name, those that compete with another for one root, so that age and UID decide."""
    roots = Counter(each.root for each in orchestrators.values() if each.competes)
    return [each for _, each in sorted(orchestrators.items()) if each.competes and roots[each.root] > 1]


def _declared_resources(members: Mapping[ObjectKey, Member]) -> Mapping[str, AbstractSet[str]]:
    declared: dict[str, set[str]] = {}
    for member in members.values():
        for pair, _ in quotas_by_pair(member.declared):
            declared.setdefault(pair.flavor, set()).add(pair.resource)
    return declared


# --- node inventory ------------------------------------------------------------------------------------------------


def _computed_providers(
    providers: Mapping[str, dqo.CapacityProvider], manifests: Manifests, declared: Mapping[str, AbstractSet[str]]
) -> dict[str, dqo.CapacityProvider]:
    """The providers of the node inventory that have no status yet, with the one that their nodes give them."""
    inventory = {
        name: provider
        for name, provider in providers.items()
        if provider.spec.controller_name == parameters.NODE_INVENTORY_CONTROLLER
    }
    all_parameters = manifests.of_kind(parameters.NODE_INVENTORY_PARAMETERS)
    claims: dict[str, Claim] = {}
    broken: dict[str, Misconfigured] = {}
    for name, provider in sorted(inventory.items()):
        selection = parameters.ResourceSelection()
        try:
            selection = _parameters_of(provider, all_parameters).resources
        except Misconfigured as error:
            broken[name] = error
        claims[name] = Claim(name, provider.flavor_names, selection)
    flavors: Mapping[str, ResourceFlavor] = manifests.of_kind(RESOURCE_FLAVOR)
    nodes: list[Node] = list(manifests.of_kind(NODE).values())
    computed: dict[str, dqo.CapacityProvider] = {}
    for name, provider in inventory.items():
        if provider.has_status or provider.metadata.deletion_timestamp is not None:
            continue
        others = [claim for other, claim in claims.items() if other != name]
        capacity: dqo.Capacity | None = None
        try:
            if name in broken:
                raise broken[name]
            capacity, summary = observe(claims[name], others, flavors, nodes, declared)
            condition = ("True", dqo.SYNCHRONIZED, summary)
        except CapacityError as error:
            condition = ("False", error.reason, str(error))
        computed[name] = _with_status(provider, capacity, *condition)
    return computed


def _parameters_of(
    provider: dqo.CapacityProvider, all_parameters: Mapping[str, parameters.NodeInventoryParameters]
) -> parameters.NodeInventoryParametersSpec:
    ref = provider.spec.parameters
    if ref is None:
        return parameters.NodeInventoryParametersSpec()
    if (ref.api_group, ref.kind) != (OUR_GROUP, parameters.NODE_INVENTORY_PARAMETERS):
        msg = (
            f"spec.parameters names a {ref.kind} of {ref.api_group}; "
            f"{parameters.NODE_INVENTORY_CONTROLLER} takes a {parameters.NODE_INVENTORY_PARAMETERS} of {OUR_GROUP}"
        )
        raise Misconfigured(msg)
    found = all_parameters.get(ref.name)
    if found is None:
        msg = f"{ref.kind} {ref.name} does not exist: create it, or correct spec.parameters"
        raise Misconfigured(msg)
    return found.spec


def _with_status(
    provider: dqo.CapacityProvider, capacity: dqo.Capacity | None, state: str, reason: str, message: str
) -> dqo.CapacityProvider:
    condition = Condition(
        dqo.CAPACITY_SYNCHRONIZED,
        state,
        reason=reason,
        message=message_of(message),
        observed_generation=provider.metadata.generation,
    )
    return msgspec.structs.replace(provider, status=dqo.CapacityProviderStatus(capacity, (condition,)))


def _essence(state: dqo.DynamicQuotaOrchestratorStatus) -> tuple[object, ...]:
    """What a change of a status is about: not the words of its messages, nor the time."""
    conditions = {(each.type, each.status, each.reason, each.observed_generation) for each in state.conditions}
    capacity = state.effective_capacity
    return (conditions, {flavor.name: flavor.resources for flavor in capacity.flavors} if capacity else None)
