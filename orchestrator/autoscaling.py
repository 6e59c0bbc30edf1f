"""Quotas made of the nodes that are there, on flavors whose nodes an autoscaler adds on demand. Pure.

Such a quota blocks the very scale-up that would bring more: Kueue asks for nodes only once a Workload has quota.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from collections.abc import Set as AbstractSet

from kueue_dqo.api import dqo
from kueue_dqo.api.kueue import PROVISIONING_REQUEST_CONTROLLER, AdmissionCheck, ClusterQueue, QuotaNode
from kueue_dqo.api.meta import ObjectKey
from kueue_dqo.api.parameters import NODE_CONTROLLERS
from kueue_dqo.api.quotas import EffectiveQuotas, quotas_by_pair


def flavors_from_nodes(
    orchestrators: Iterable[dqo.DynamicQuotaOrchestrator], providers: Mapping[str, dqo.CapacityProvider]
) -> set[str]:
    """The flavors whose capacity the orchestrators take from nodes that are there."""
    discovered = {entry.name for each in orchestrators for entry in each.spec.capacity_discovery.providers}
    return {
        flavor
        for name, provider in providers.items()
        if name in discovered and provider.spec.controller_name in NODE_CONTROLLERS
        for flavor in provider.flavor_names
    }


def provisioned_flavors(
    quotas: Mapping[ObjectKey, EffectiveQuotas],
    nodes: Mapping[ObjectKey, QuotaNode],
    checks: Mapping[str, AdmissionCheck],
) -> dict[str, str]:
    """The flavors for which a ClusterQueue has nodes provisioned on request, each with who does so, in words."""
    reasons: dict[str, str] = {}
    for key, each in sorted(quotas.items()):
        node = nodes[key]
        if isinstance(node, ClusterQueue):
            declared = {pair.flavor for pair, _ in quotas_by_pair(each.resource_groups)}
            for flavor, check in _provisioning(node, declared, checks):
                reasons.setdefault(flavor, f"{key} uses AdmissionCheck {check} (a ProvisioningRequest)")
    return reasons


def scale_up_text(flavor: str, reason: str) -> str:
    """What it means, and the way out."""
    return (
        f"the quota of flavor {flavor} comes from nodes, and an autoscaler adds its nodes on demand ({reason}): "
        "such a quota blocks the scale-up; take the capacity from a ceiling (cloud quota, manual) instead"
    )


def _provisioning(
    queue: ClusterQueue, declared: AbstractSet[str], checks: Mapping[str, AdmissionCheck]
) -> Iterator[tuple[str, str]]:
    rules = [(rule.name, rule.on_flavors) for rule in queue.spec.admission_checks_strategy.admission_checks]
    rules += [(name, ()) for name in queue.spec.admission_checks]
    for name, on_flavors in rules:
        check = checks.get(name)
        if check is not None and check.spec.controller_name == PROVISIONING_REQUEST_CONTROLLER:
            for flavor in on_flavors or sorted(declared):
                yield flavor, name
