"""What an admin should know before a plan is let happen. Pure."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import Final, NamedTuple

from kueue_dqo.api.core import NODE
from kueue_dqo.api.kueue import (
    ADMISSION_CHECK,
    RESOURCE_FLAVOR,
    AdmissionCheck,
    ClusterQueue,
    ResourceFlavor,
)
from kueue_dqo.api.meta import ObjectKey
from kueue_dqo.api.quantity import LARGEST_UNITS, NANOS
from kueue_dqo.api.quotas import quotas_by_pair
from kueue_dqo.api.resources import FlavorResource
from kueue_dqo.api.wording import some
from kueue_dqo.cli.objects import skipped_text
from kueue_dqo.cli.plan.composites import counted_twice, flavors_bounded_by_nodes, gpus_counted_twice
from kueue_dqo.cli.plan.computation import Plan
from kueue_dqo.cli.plan.nodes import agents_with_problems, matches, without_nodes, without_reports
from kueue_dqo.cli.plan.unasked import without_answers
from orchestrator.autoscaling import provisioned_flavors, scale_up_text
from orchestrator.compute import Outcome
from orchestrator.enforcement.roads import Road
from orchestrator.enforcement.spec import APPLIED_QUOTAS
from orchestrator.usage import excess_text, excesses

KARPENTER_POOL: Final = "karpenter.sh/nodepool"
"""The label that Karpenter puts on the nodes that it adds on demand."""
LEASE: Final = "Lease"
_CLOCKS_DIFFER: Final = 60
"""Seconds by which two clocks may be apart before anything is made of it."""


class Sign(NamedTuple):
    """A provider's sign of life: the place of its Lease, `namespace/name`, and for how many seconds it has run out.

    That is by the clock of this machine, and negative while the Lease has not run out. Among the manifests it is of
    the kind `Lease`, under the name of the provider.
    """

    lease: str
    overdue: float


def warnings(plan: Plan) -> list[str]:
    """Every warning, the ones about losing quota first."""
    found: list[str] = []
    for name, outcome in sorted(plan.outcomes.items()):
        found += _unreported(name, outcome, plan)
    found += _over_quota(plan)
    found += without_nodes(plan)
    found += without_reports(plan)
    found += agents_with_problems(plan)
    found += without_answers(plan)
    found += _silent_providers(plan)
    found += _ignored_capacity(plan)
    found += counted_twice(plan)
    found += gpus_counted_twice(plan)
    found += _autoscaled(plan)
    found += _other_road(plan)
    found += _too_large(plan)
    return found


def notes(planned: Plan) -> list[str]:
    """What was passed over, taken for granted, or written in a way that an API server would not take."""
    manifests = planned.manifests
    found = list(planned.notes)
    if manifests.skipped:
        found.append(f"skipped {skipped_text(manifests.skipped)}")
    return found + manifests.notices


def _unreported(name: str, outcome: Outcome, plan: Plan) -> Iterator[str]:
    """A resource that no provider reports, on an orchestrated flavor, is quota 0 for everybody who declares it."""
    flavors = outcome.discovery.flavors or {}
    losers: defaultdict[FlavorResource, list[ObjectKey]] = defaultdict(list)
    for key in outcome.quotas:
        for pair, quota in quotas_by_pair(plan.hierarchy.members[key].declared):
            if pair.flavor in flavors and pair.resource not in flavors[pair.flavor] and quota.nominal_quota.nanos:
                losers[pair].append(key)
    for pair, keys in sorted(losers.items()):
        yield (
            f"{pair} becomes 0 for {some(keys)}: no provider of orchestrator {name} reports {pair.resource}, and "
            f"it orchestrates flavor {pair.flavor}; have it reported, or give {pair.resource} a flavor of its own"
        )


def _over_quota(plan: Plan) -> Iterator[str]:
    """Kueue evicts nobody because a quota fell, but what is above nominal counts as borrowed.

    A queue that borrows while its quota stays what it is, is nothing to warn of.
    """
    for outcome in plan.outcomes.values():
        for key, quotas in sorted(outcome.quotas.items()):
            node = plan.nodes[key]
            if not isinstance(node, ClusterQueue):
                continue
            in_force = plan.hierarchy.members[key].in_force
            for excess in excesses(node, quotas.resource_groups, in_force):
                yield f"{key} {excess_text(excess, has_siblings=bool(node.parent))}"


def _silent_providers(plan: Plan) -> Iterator[str]:
    """A dead provider leaves its condition True. One look cannot tell it from clocks that differ, so it only seems."""
    signs: Mapping[str, Sign] = plan.manifests.of_kind(LEASE)
    for name in sorted(plan.providers.keys() & signs.keys()):
        sign = signs[name]
        if sign.overdue > _CLOCKS_DIFFER:
            yield (
                f"{plan.providers[name].spec.controller_name} seems to be dead, so that the capacity of "
                f"CapacityProvider {name} may be old: its Lease {sign.lease} ran out {int(sign.overdue)} s ago by the "
                "clock of this machine; look at the provider's pod"
            )


def _ignored_capacity(plan: Plan) -> Iterator[str]:
    """A flavor in the status that the provider does not orchestrate is passed over."""
    for name, provider in sorted(plan.providers.items()):
        capacity = provider.status.capacity
        for flavor in capacity.flavors if capacity is not None else ():
            if flavor.name not in provider.flavor_names:
                yield (
                    f"CapacityProvider {name} reports flavor {flavor.name}, which it does not orchestrate: "
                    "that capacity is ignored; add the flavor to spec.orchestratedFlavors"
                )


def _autoscaled(plan: Plan) -> Iterator[str]:
    """A quota made of the nodes that are there now blocks the scale-up that would bring more."""
    from_nodes = flavors_bounded_by_nodes(plan)
    checks: Mapping[str, AdmissionCheck] = plan.manifests.of_kind(ADMISSION_CHECK)
    quotas = {key: each for outcome in plan.outcomes.values() for key, each in outcome.quotas.items()}
    reasons = provisioned_flavors(quotas, plan.nodes, checks)
    flavors: Mapping[str, ResourceFlavor] = plan.manifests.of_kind(RESOURCE_FLAVOR)
    for name in from_nodes & flavors.keys():
        if KARPENTER_POOL in flavors[name].spec.node_labels or any(
            KARPENTER_POOL in node.metadata.labels and matches(flavors[name], node)
            for node in plan.manifests.of_kind(NODE).values()
        ):
            reasons.setdefault(name, f"its nodes carry {KARPENTER_POOL}")
    for flavor in sorted(from_nodes & reasons.keys()):
        yield scale_up_text(flavor, reasons[flavor])


def _other_road(plan: Plan) -> Iterator[str]:
    if plan.road is not Road.STATUS:
        return
    marked = sorted(key for key, node in plan.nodes.items() if APPLIED_QUOTAS in node.metadata.annotations)
    if marked:
        yield (
            f"{some(marked)}: the spec holds applied quotas, not declared ones (annotation {APPLIED_QUOTAS}), so these "
            "shares are of the wrong numbers: plan with --road spec"
        )


def _too_large(plan: Plan) -> Iterator[str]:
    for key, member in sorted(plan.hierarchy.members.items()):
        for pair, quota in quotas_by_pair(member.declared):
            if quota.nominal_quota.nanos > LARGEST_UNITS * NANOS:
                yield (
                    f"{key} declares {quota.nominal_quota} {pair}: Kueue reads any quantity above {LARGEST_UNITS} as "
                    "that; "
                    "its share here is of the number as written"
                )
