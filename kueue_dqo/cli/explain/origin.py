"""Where a quota is from: the queue's share, the orchestrator, the providers, what these were computed from. Pure."""

from __future__ import annotations

import datetime
from collections.abc import Iterator

from admission.world import World
from kueue_dqo.api import dqo
from kueue_dqo.api.kueue import CLUSTER_QUEUE, QuotaNode
from kueue_dqo.api.meta import ObjectKey, find_condition
from kueue_dqo.api.quantity import Quantity
from kueue_dqo.api.quotas import quotas_by_pair
from kueue_dqo.api.resources import FlavorResource
from kueue_dqo.cli.plan.computation import Plan, make_plan
from kueue_dqo.cli.simulate.what_if import groups_in_force, manifests_of
from orchestrator.compute import Outcome
from orchestrator.enforcement.roads import Road


def pairs_of(world: World, queue: str) -> list[FlavorResource]:
    """What a ClusterQueue has quotas of, in the order in which it names them."""
    node: QuotaNode = world.of_kind(CLUSTER_QUEUE)[queue]
    return [pair for pair, _ in quotas_by_pair(groups_in_force(node))]


def origins(world: World, queue: str, pairs: list[FlavorResource], at: datetime.datetime) -> Iterator[str]:
    """A line for each step on the way from the queue's quota to what is there; indented below its pair."""
    node: QuotaNode = world.of_kind(CLUSTER_QUEUE)[queue]
    plan = make_plan(manifests_of(world), Road.STATUS, at)
    declared, in_force = dict(quotas_by_pair(node.quotas)), dict(quotas_by_pair(groups_in_force(node)))
    for pair in pairs:
        quota = in_force.get(pair)
        if quota is None:
            yield f"{pair}: ClusterQueue/{queue} has no quota of it"
            continue
        yield f"{pair}: ClusterQueue/{queue} has {quota.nominal_quota} in force"
        effective = node.status.effective_quotas
        if effective is not None:
            said = declared[pair].nominal_quota if pair in declared else "nothing"
            yield f"  declared in spec.resourceGroups: {said}; status.effectiveQuotas: {effective.orchestrator_ref}"
        else:
            yield "  as declared in spec.resourceGroups: no effective quotas are set"
        yield from (f"  {line}" for line in _orchestrated(plan, node.key, pair, quota.nominal_quota))


def _orchestrated(plan: Plan, key: ObjectKey, pair: FlavorResource, in_force: Quantity) -> Iterator[str]:
    found = False
    for name, outcome in sorted(plan.outcomes.items()):
        if key not in outcome.quotas:
            continue
        found = True
        yield from _share(plan, name, outcome, key, pair, in_force)
    if not found:
        yield from _not_orchestrated(plan, key)


def _not_orchestrated(plan: Plan, key: ObjectKey) -> Iterator[str]:
    if not plan.orchestrators:
        yield "no DynamicQuotaOrchestrator is among the objects: somebody has written the quota"
        return
    yield f"no DynamicQuotaOrchestrator distributes to {key}:"
    for name, outcome in sorted(plan.outcomes.items()):
        for condition in outcome.status.conditions:
            if condition.status != "True":
                yield f"  {name}: {condition.type} {condition.status} {condition.reason}: {condition.message}"


def _share(
    plan: Plan, name: str, outcome: Outcome, key: ObjectKey, pair: FlavorResource, in_force: Quantity
) -> Iterator[str]:
    orchestrator = plan.orchestrators[name]
    computed = dict(quotas_by_pair(outcome.quotas[key].resource_groups)).get(pair)
    told = computed.nominal_quota if computed is not None else Quantity(0)
    change = "" if told == in_force else f", where {in_force} is in force now"
    yield f"DynamicQuotaOrchestrator/{name} gives it {told}{change}"
    capacity = outcome.status.effective_capacity
    flavors = {flavor.name: flavor.resources for flavor in capacity.flavors} if capacity is not None else {}
    whole = flavors.get(pair.flavor, {}).get(pair.resource)
    yield f"  of an effective capacity of {whole if whole is not None else 0} below {orchestrator.root}"
    weights = {
        member.key: dict(quotas_by_pair(member.declared))[pair].nominal_quota
        for member in plan.hierarchy.members.values()
        if member.key in outcome.quotas and pair in dict(quotas_by_pair(member.declared))
    }
    yield f"  by declared quotas: {', '.join(f'{other} {amount}' for other, amount in sorted(weights.items()))}"
    for reference in orchestrator.spec.capacity_discovery.providers:
        yield from (f"  {line}" for line in _provider(plan, reference, pair))


def _provider(plan: Plan, reference: dqo.DiscoveredProvider, pair: FlavorResource) -> Iterator[str]:
    provider = plan.providers.get(reference.name)
    if provider is None:
        yield f"CapacityProvider/{reference.name} is not among the objects"
        return
    capacity = provider.status.capacity
    amounts = {flavor.name: flavor.resources for flavor in capacity.flavors} if capacity is not None else {}
    if pair.flavor not in amounts:
        return
    amount = amounts[pair.flavor].get(pair.resource)
    multiplier = reference.effective_capacity_multiplier
    times = f", multiplied by {multiplier}" if multiplier != Quantity.of(1) else ""
    origin = " (computed here)" if reference.name in plan.computed_providers else ""
    yield f"CapacityProvider/{reference.name}{origin} reports {amount if amount is not None else 0}{times}"
    condition = find_condition(provider.status.conditions, dqo.CAPACITY_SYNCHRONIZED)
    yield f"  asked by {provider.spec.controller_name}" + (
        f": {condition.status} {condition.reason}: {condition.message}" if condition is not None else ""
    )
