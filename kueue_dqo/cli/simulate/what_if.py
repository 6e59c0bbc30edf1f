"""What-ifs: more or less capacity, a node that is lost, another weight, as one more step. Pure.

Where orchestrators are among the objects, capacity is what their providers report, and quotas follow it as a plan
computes them. Where there is none, the quotas in force are changed: of the queue or Cohort that is named, else of all
that have the pair, in proportion to what they have.
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Iterable, Iterator
from typing import Any, Final, NamedTuple

import msgspec

from admission.world import Item, World
from kueue_dqo.api import dqo
from kueue_dqo.api.core import NODE, POD, Node
from kueue_dqo.api.kueue import CLUSTER_QUEUE, COHORT, RESOURCE_FLAVOR, QuotaNode
from kueue_dqo.api.meta import ObjectKey
from kueue_dqo.api.parameters import NODE_INVENTORY_CONTROLLER
from kueue_dqo.api.quantity import Quantity, QuantityError
from kueue_dqo.api.queueing import LOCAL_QUEUE, FairSharing
from kueue_dqo.api.quotas import ResourceGroup, ResourceQuota, map_quotas, quotas_by_pair
from kueue_dqo.api.resources import FlavorResource, unit_nanos
from kueue_dqo.cli.errors import CommandError
from kueue_dqo.cli.objects import Manifests, Place
from kueue_dqo.cli.plan.computation import Plan, make_plan
from orchestrator.enforcement.roads import Road

_CAPACITY: Final = re.compile(
    r"(?:(?P<node>[^:/=]+):)?(?P<flavor>[^:/=]+)/(?P<resource>[^=]+)=(?P<sign>[+-])(?P<amount>.+)"
)
_WEIGHT: Final = re.compile(r"(?P<queue>[^=]+)=(?P<weight>.+)")


class CapacityChange(NamedTuple):
    """`[QUEUE:]FLAVOR/RESOURCE=±N`."""

    node: str
    """The ClusterQueue or Cohort whose quota it is; empty for the capacity of the flavor."""
    pair: FlavorResource
    nanos: int


class WeightChange(NamedTuple):
    """`QUEUE=W`: of a ClusterQueue, a Cohort, or a LocalQueue as `NAMESPACE/NAME`."""

    queue: str
    weight: Quantity


class WhatIf(NamedTuple):
    """What is asked."""

    capacity: tuple[CapacityChange, ...] = ()
    lost_nodes: tuple[str, ...] = ()
    weights: tuple[WeightChange, ...] = ()

    @property
    def changes_capacity(self) -> bool:
        """Whether quotas change."""
        return bool(self.capacity or self.lost_nodes)


def capacity_change(text: str) -> CapacityChange:
    """From `FLAVOR/RESOURCE=+8`. Raises ValueError."""
    found = _CAPACITY.fullmatch(text)
    if found is None:
        raise ValueError(f"{text!r} is no change of capacity: write FLAVOR/RESOURCE=+8 or QUEUE:FLAVOR/RESOURCE=-2")
    nanos = _amount(found["amount"]).nanos
    pair = FlavorResource(found["flavor"], found["resource"])
    return CapacityChange(found["node"] or "", pair, -nanos if found["sign"] == "-" else nanos)


def weight_change(text: str) -> WeightChange:
    """From `QUEUE=2`. Raises ValueError."""
    found = _WEIGHT.fullmatch(text)
    if found is None:
        raise ValueError(f"{text!r} is no weight: write QUEUE=2")
    return WeightChange(found["queue"], _amount(found["weight"]))


def orchestrated(world: World, at: datetime.datetime) -> list[Item]:
    """The quotas that orchestrators among the objects would put in force; nothing without any."""
    if not world.of_kind(dqo.DYNAMIC_QUOTA_ORCHESTRATOR):
        return []
    return list(_in_force(make_plan(manifests_of(world), Road.STATUS, at)))


def items_of(what_if: WhatIf, world: World, at: datetime.datetime) -> list[Item]:
    """The objects as they would be. Raises CommandError for what is not there."""
    for name in what_if.lost_nodes:
        if name not in world.of_kind(NODE):
            raise CommandError(f"--lose-node {name}: there is no Node of this name among the objects")
    changed = _Changed(world)
    wide = [each for each in what_if.capacity if not each.node]
    if world.of_kind(dqo.DYNAMIC_QUOTA_ORCHESTRATOR) and (wide or what_if.lost_nodes):
        _replan(changed, wide, what_if.lost_nodes, at)
    else:
        for change in [*wide, *_of_nodes(world, what_if.lost_nodes)]:
            changed.spread(change)
    for change in what_if.capacity:
        if change.node:
            changed.one(change)
    for weight in what_if.weights:
        changed.weigh(weight)
    return changed.items()


class _Changed:
    """The objects that change, as they become."""

    def __init__(self, world: World) -> None:
        self.world = world
        self._found: dict[tuple[str, str], Any] = {}

    def items(self) -> list[Item]:
        return [Item(kind, obj) for (kind, _), obj in sorted(self._found.items())]

    def get(self, kind: str, key: str) -> Any:
        return self._found.get((kind, key)) or self.world.of_kind(kind).get(key)

    def put(self, kind: str, key: str, obj: Any) -> None:
        self._found[kind, key] = obj

    def nodes(self) -> Iterator[QuotaNode]:
        for kind in (CLUSTER_QUEUE, COHORT):
            for name in sorted(self.world.of_kind(kind)):
                yield self.get(kind, name)

    def one(self, change: CapacityChange) -> None:
        """The quota of one node."""
        for node in self.nodes():
            if node.key.name == change.node and change.pair in dict(quotas_by_pair(groups_in_force(node))):
                self._add(node, change.pair, change.nanos)
                return
        raise CommandError(f"--capacity: {change.node} is no ClusterQueue or Cohort with a quota of {change.pair}")

    def spread(self, change: CapacityChange) -> None:
        """Over all that have the pair, in proportion to what they have; whole units, the largest remainders first."""
        held = {node.key: quota.nominal_quota.nanos for node in self.nodes()
                for pair, quota in quotas_by_pair(groups_in_force(node)) if pair == change.pair}  # fmt: skip
        if not held:
            raise CommandError(f"no ClusterQueue or Cohort has a quota of {change.pair}: see the names of flavors")
        unit = unit_nanos(change.pair.resource)
        weights = held if any(held.values()) else dict.fromkeys(held, 1)
        total, units = sum(weights.values()), abs(change.nanos) // unit
        parts = {key: divmod(units * weight, total) for key, weight in weights.items()}
        left = units - sum(whole for whole, _ in parts.values())
        by_remainder = sorted(parts, key=lambda key: (-parts[key][1], key))
        for key in held:
            share = parts[key][0] + (key in by_remainder[:left])
            self._add(self.get(*key), change.pair, share * unit * (1 if change.nanos > 0 else -1))

    def weigh(self, change: WeightChange) -> None:
        for kind in (CLUSTER_QUEUE, COHORT, LOCAL_QUEUE):
            obj = self.get(kind, change.queue)
            if obj is not None and obj.spec is not None:
                spec = msgspec.structs.replace(obj.spec, fair_sharing=FairSharing(change.weight))
                self.put(kind, change.queue, msgspec.structs.replace(obj, spec=spec))
                return
        raise CommandError(f"--weight: no ClusterQueue, Cohort or LocalQueue (NAMESPACE/NAME) is {change.queue!r}")

    def _add(self, node: QuotaNode, wanted: FlavorResource, nanos: int) -> None:
        def change(pair: FlavorResource, quota: ResourceQuota) -> ResourceQuota:
            if pair != wanted:
                return quota
            nominal = quota.nominal_quota
            return msgspec.structs.replace(quota, nominal_quota=Quantity(max(0, nominal.nanos + nanos), nominal.format))

        self.put(node.key.kind, node.key.name, _with_groups(node, map_quotas(groups_in_force(node), change)))


def groups_in_force(node: QuotaNode) -> tuple[ResourceGroup, ...]:
    """Effective quotas where they are set, the declared ones where not."""
    effective = node.status.effective_quotas
    return node.quotas if effective is None else effective.resource_groups


def _with_groups(node: Any, groups: tuple[ResourceGroup, ...]) -> Any:
    replace, effective = msgspec.structs.replace, node.status.effective_quotas
    if effective is None:
        return replace(node, spec=replace(node.spec, resource_groups=groups))
    return replace(node, status=replace(node.status, effective_quotas=replace(effective, resource_groups=groups)))


# --- nodes and orchestrators ---------------------------------------------------------------------------------------


def _of_nodes(world: World, names: Iterable[str]) -> Iterator[CapacityChange]:
    """What flavors lose with the nodes: what a ready node that takes pods can allocate, as far as there is a quota."""
    pairs = {
        pair
        for kind in (CLUSTER_QUEUE, COHORT)
        for node in world.of_kind(kind).values()
        for pair, _ in quotas_by_pair(groups_in_force(node))
    }
    for name in names:
        node: Node = world.of_kind(NODE)[name]
        if not node.is_ready or node.spec.unschedulable:
            continue
        for flavor_name, flavor in sorted(world.of_kind(RESOURCE_FLAVOR).items()):
            if not flavor.spec.node_labels.items() <= node.metadata.labels.items():
                continue
            for resource, amount in sorted(node.status.allocatable.items()):
                pair = FlavorResource(flavor_name, resource)
                if pair in pairs and amount is not None:
                    yield CapacityChange("", pair, -amount.nanos)


def _replan(changed: _Changed, wide: list[CapacityChange], lost: tuple[str, ...], at: datetime.datetime) -> None:
    """Capacity as providers would report it, quotas as their orchestrators would set them."""
    world = changed.world
    before = make_plan(manifests_of(world), Road.STATUS, at)
    manifests = manifests_of(world, without_nodes=lost)
    of_nodes = list(_of_nodes(world, lost))
    for name, provider in sorted(before.providers.items()):
        is_fixed = name not in before.computed_providers
        if is_fixed and provider.spec.controller_name == NODE_INVENTORY_CONTROLLER:
            provider = _reporting(provider, of_nodes)[0]  # noqa: PLW2901 - the provider as it becomes
            manifests.objects[dqo.CAPACITY_PROVIDER][name] = provider
    plan = make_plan(manifests, Road.STATUS, at)
    rest, providers = wide, dict(plan.providers)
    for name, provider in sorted(providers.items()):
        providers[name], rest = _reporting(provider, rest)
    if rest:
        raise CommandError(
            f"--capacity: no CapacityProvider reports {rest[0].pair}: name the queue, QUEUE:{rest[0].pair}"
        )
    manifests.objects[dqo.CAPACITY_PROVIDER] = providers
    for item in _in_force(make_plan(manifests, Road.STATUS, at)):
        changed.put(item.kind, item.object.metadata.name, item.object)


def _reporting(
    provider: dqo.CapacityProvider, changes: Iterable[CapacityChange]
) -> tuple[dqo.CapacityProvider, list[CapacityChange]]:
    """The provider with the changes of what it reports; the changes that are not its own."""
    capacity, rest = provider.status.capacity, []
    if capacity is None:
        return provider, list(changes)
    flavors = {flavor.name: dict(flavor.resources) for flavor in capacity.flavors}
    for change in changes:
        flavor, resource = change.pair
        if flavor not in flavors or resource not in flavors[flavor]:
            rest.append(change)
            continue
        amount = flavors[flavor][resource]
        flavors[flavor][resource] = Quantity(max(0, amount.nanos + change.nanos), amount.format)
    replace = msgspec.structs.replace
    reported = tuple(replace(flavor, resources=flavors[flavor.name]) for flavor in capacity.flavors)
    return replace(provider, status=replace(provider.status, capacity=replace(capacity, flavors=reported))), rest


def _in_force(plan: Plan) -> Iterator[Item]:
    for outcome in plan.outcomes.values():
        for key, quotas in sorted(outcome.quotas.items()):
            node: Any = plan.nodes[key]
            status = msgspec.structs.replace(node.status, effective_quotas=quotas)
            yield Item(key.kind, msgspec.structs.replace(node, status=status))


def manifests_of(world: World, *, without_nodes: Iterable[str] = ()) -> Manifests:
    """The objects as a plan takes them. Pods are read with less for a simulation, and are left out."""
    manifests = Manifests()
    for kind, objects in world.objects.items():
        if kind == POD:
            continue
        kept = {key: obj for key, obj in objects.items() if kind != NODE or key not in without_nodes}
        manifests.objects[kind] = kept
        for key in kept:
            manifests.places[ObjectKey(kind, key)] = Place("the objects", 1)
    return manifests


def _amount(text: str) -> Quantity:
    try:
        amount = Quantity.of(text)
    except QuantityError as error:
        raise ValueError(str(error)) from error
    if amount.nanos < 0:
        raise ValueError(f"{text!r} is negative")
    return amount
