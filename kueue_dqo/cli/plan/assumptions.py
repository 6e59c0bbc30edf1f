"""What a plan takes for granted, as notes say it. Pure."""

from __future__ import annotations

import datetime
from collections import Counter
from collections.abc import Mapping

from kueue_dqo.api import dqo
from kueue_dqo.api.kueue import QuotaNode
from kueue_dqo.api.meta import ObjectKey, time_text
from kueue_dqo.api.quotas import quotas_by_pair
from kueue_dqo.api.resources import FlavorResource
from kueue_dqo.api.wording import some
from kueue_dqo.cli.objects import Manifests
from orchestrator.compute import Outcome
from orchestrator.hierarchy import Hierarchy
from providers.offline import Objects, depending_on_pods, depending_on_time


def computed_from(objects: Objects, manifests: Manifests, at: datetime.datetime) -> list[str]:
    """What the computed capacities rest on, where that does not go without saying."""
    notes: list[str] = []
    by_time = [str(objects.providers[name].key) for name in depending_on_time(objects)]
    if by_time:
        notes.append(f"planned for {time_text(at)}, which matters to {some(by_time)}; --at plans for another time")
    by_pods = [str(objects.providers[name].key) for name in depending_on_pods(objects)]
    if by_pods and not objects.pods and not manifests.is_live:
        notes.append(
            f"there is no Pod in {manifests.origin}: computed as if none ran, although the parameters of "
            f"{some(by_pods)} have them counted (cordoned, reserve); add `kubectl get pods -A -o json`"
        )
    return notes


def filled_in(
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
