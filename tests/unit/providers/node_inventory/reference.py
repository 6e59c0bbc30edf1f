"""The node inventory once more: slow, plain, and sharing no code with what it checks."""

from __future__ import annotations

import datetime
from collections import Counter
from typing import NamedTuple

from kueue_dqo.api.core import Node, Taint, Toleration
from kueue_dqo.api.kueue import ResourceFlavor
from kueue_dqo.api.parameters import Cordoned, LabelSelector, Reserve, ResourceSelection
from kueue_dqo.api.quantity import LARGEST_UNITS
from kueue_dqo.provider import CapacityError, InvalidCapacity, Misconfigured
from providers.nodes.claims import Claim
from tests.unit.providers.node_inventory.clusters import RESOURCES, Cluster
from tests.unit.providers.node_inventory.inventory import NOW


class Expected(NamedTuple):
    """What should come out: the error, or amounts in nanos, how many nodes counted, and why others did not."""

    error: type[CapacityError] | None
    nanos: dict[str, dict[str, int]]
    counted: dict[str, int]
    excluded: Counter[str]


def expected_of(cluster: Cluster) -> Expected:
    """The rules of the node inventory, one after the other, over everything there is."""
    expected = Expected(None, {}, {}, Counter())
    chosen = _selected(cluster.claim.selection)
    is_negative = is_too_large = False
    for name in cluster.claim.flavors:
        sums: dict[str, int] = {}
        counted = 0
        for node in cluster.nodes:
            if not _belongs(cluster.claim, cluster.flavors[name], node):
                continue
            why = _exclusion(cluster, name, node)
            counted += why is None
            expected.excluded.update([why] if why else [])
            for resource, nanos in _adds(cluster, node, why).items():
                if resource in chosen:
                    sums[resource] = sums.get(resource, 0) + nanos
            if why is None:
                has = node.status.allocatable
                is_negative |= any(each is not None and each.nanos < 0 for key, each in has.items() if key in chosen)
        expected.counted[name] = counted
        is_too_large |= any(nanos > LARGEST_UNITS * 10**9 for nanos in sums.values())
        for resource in _zeros(cluster, name, counted) & chosen:
            sums.setdefault(resource, 0)
        if sums:
            expected.nanos[name] = sums
    if is_negative or is_too_large:
        return expected._replace(error=InvalidCapacity)
    return expected._replace(error=Misconfigured) if _is_misconfigured(cluster) else expected


def _selected(selection: ResourceSelection) -> set[str]:
    """Of all the resources there could be: those of this test, and one that stands for all others."""
    universe = {*RESOURCES, "any other"}
    return (set(selection.include) or universe) - set(selection.exclude)


def _selects(selector: LabelSelector, node: Node) -> bool:
    labels = node.metadata.labels
    for key, value in selector.match_labels.items():
        if labels.get(key) != value:
            return False
    for each in selector.match_expressions:
        holds = {
            "In": labels.get(each.key) in each.values,
            "NotIn": labels.get(each.key) not in each.values,
            "Exists": each.key in labels,
            "DoesNotExist": each.key not in labels,
        }
        if not holds[each.operator]:
            return False
    return True


def _belongs(claim: Claim, flavor: ResourceFlavor, node: Node) -> bool:
    wanted = flavor.spec.node_labels
    carries = all(node.metadata.labels.get(key) == value for key, value in wanted.items())
    return carries and _selects(claim.node_selector, node)


def _tolerated(toleration: Toleration, taint: Taint) -> bool:
    if toleration.effect and toleration.effect != taint.effect:
        return False
    if toleration.key and toleration.key != taint.key:
        return False
    if toleration.operator == "Exists":
        return True
    return toleration.value == taint.value


def _exclusion(cluster: Cluster, name: str, node: Node) -> str | None:
    flavor, parameters = cluster.flavors[name], cluster.parameters
    statuses = {condition.type: condition.status for condition in node.status.conditions}
    times = {condition.type: condition.last_transition_time for condition in node.status.conditions}
    untolerated = [
        taint
        for taint in node.spec.taints
        if taint.effect != "PreferNoSchedule"
        and not any(each.key == taint.key and each.effect == taint.effect for each in flavor.spec.node_taints)
        and not any(_tolerated(each, taint) for each in flavor.spec.tolerations)
    ]
    missing = [
        each
        for each in parameters.required_resources
        if each.flavor == name and ((has := node.status.allocatable.get(each.resource)) is None or has.nanos <= 0)
    ]
    delay = datetime.timedelta(seconds=parameters.ready_delay.seconds)
    reasons = {
        "Deleting": node.metadata.deletion_timestamp is not None,
        "NotReady": statuses.get("Ready") != "True",
        "Cordoned": node.spec.unschedulable,
        "UntoleratedTaint": bool(untolerated),
        "MissingRequiredResource": bool(missing),
        "ExcludedCondition": any(statuses.get(each.type) == each.status for each in parameters.excluded_conditions),
        "ReadyDelay": bool(delay) and (times.get("Ready") or NOW - delay) > NOW - delay,
    }
    return next((reason for reason, holds in reasons.items() if holds), None)


def _adds(cluster: Cluster, node: Node, why: str | None) -> dict[str, int]:
    has = {resource: each.nanos for resource, each in node.status.allocatable.items() if each is not None}
    pods = cluster.pods.get(node.metadata.name)
    if why == "Cordoned" and pods is not None and cluster.parameters.cordoned is Cordoned.COUNT_ALLOCATED:
        held = {resource: min(pods.allocated.get(resource, 0), most) for resource, most in has.items()}
        return {resource: nanos for resource, nanos in held.items() if nanos > 0}
    if why is not None:
        return {}
    if pods is not None and cluster.parameters.reserve is Reserve.UNMANAGED_PODS:
        return {resource: max(most - pods.unmanaged.get(resource, 0), min(most, 0)) for resource, most in has.items()}
    return has


def _zeros(cluster: Cluster, name: str, counted: int) -> set[str]:
    parameters = cluster.parameters
    zeros = {resource for each in parameters.explicit_zeros if each.flavor == name for resource in each.resources}
    if cluster.claim.selection.include:
        return zeros | set(cluster.claim.selection.include)
    return zeros if counted else zeros | cluster.declared.get(name, set())


def _rivals(cluster: Cluster) -> list[Claim]:
    """Of the others, those that may report some resource of a node which this provider reports too."""
    mine = cluster.claim
    return [
        other
        for other in cluster.others
        if _selected(mine.selection) & _selected(other.selection)
        and all(
            mine.node_selector.match_labels.get(key, value) == value
            for key, value in other.node_selector.match_labels.items()
        )
    ]


def _is_misconfigured(cluster: Cluster) -> bool:
    """A flavor is claimed twice, or a node belongs to two claimed flavors."""
    mine, rivals = cluster.claim, _rivals(cluster)
    if any(name in rival.flavors for rival in rivals for name in mine.flavors):
        return True
    for node in cluster.nodes:
        own = {name for name in mine.flavors if _belongs(mine, cluster.flavors[name], node)}
        others = {
            name
            for rival in rivals
            for name in rival.flavors
            if name in cluster.flavors and _belongs(rival, cluster.flavors[name], node)
        }
        if own and len(own | others) > 1:
            return True
    return False
