"""Discovery: from the capacities that providers report to the effective capacity of an orchestrator.

Source of every rule: Dynamic Quota Orchestration in the documentation of Kueue 0.20,
section Discovery. Amounts are exact: a capacity in nanos times a multiplier in
nanos is a whole number of attos (10^-18), and sums of attos are whole numbers again.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from kueue_dqo.api import dqo
from kueue_dqo.api.meta import Condition
from kueue_dqo.api.quantity import LARGEST_UNITS, NANOS, Format, Quantity, away_from_zero, common_format
from kueue_dqo.api.readiness import why_not_ready
from kueue_dqo.api.resources import FlavorResource, unit_nanos
from kueue_dqo.api.wording import counted, message_of

ATTOS: Final = NANOS * NANOS
"""Attos in one unit."""


@dataclass(slots=True)
class Amount:
    """An exact sum, in attos, and the formats of what was added."""

    attos: int = 0
    formats: set[Format] = field(default_factory=set)

    def whole(self, resource: str) -> int:
        """How many units of the resource there are to split (1m for cpu, 1 otherwise), rounded down."""
        return self.attos // (unit_nanos(resource) * NANOS)

    def quantity(self) -> Quantity:
        """For reading: exact to a nano; what is finer is rounded up, as Kubernetes does."""
        return Quantity(away_from_zero(self.attos, NANOS), common_format(self.formats))


@dataclass(frozen=True, slots=True)
class Discovery:
    """What discovery found: a condition, and, where that is True, amounts by flavor and resource.

    Every flavor that a provider orchestrates is a key, with no amounts where none were reported.
    """

    condition: Condition
    flavors: Mapping[str, Mapping[str, Amount]] | None = None

    @property
    def capacity(self) -> dqo.Capacity | None:
        """`status.effectiveCapacity`, sorted by name; None (cleared) where it could not be computed."""
        if self.flavors is None:
            return None
        return dqo.Capacity(
            tuple(
                dqo.FlavorCapacity(
                    flavor, {name: amount.quantity() for name, amount in sorted(self.flavors[flavor].items())}
                )
                for flavor in sorted(self.flavors)
            )
        )

    def units(self, pair: FlavorResource) -> int:
        """Units of the pair to split; an orchestrated flavor's unreported resource is zero."""
        amount = (self.flavors or {}).get(pair.flavor, {}).get(pair.resource)
        return amount.whole(pair.resource) if amount is not None else 0


def discover(orchestrator: dqo.DynamicQuotaOrchestrator, providers: Mapping[str, dqo.CapacityProvider]) -> Discovery:
    """Adds up what the orchestrator's providers report, each times its multiplier.

    Of several causes for failure the first in the order of the API is the reason: a missing provider object, one that
    is not ready, an impossible sum. The message lists all.
    """
    generation = orchestrator.metadata.generation
    missing: list[str] = []
    unready: list[str] = []
    impossible: list[str] = []
    flavors: dict[str, dict[str, Amount]] = {}
    for entry in orchestrator.spec.capacity_discovery.providers:
        provider = providers.get(entry.name)
        if provider is None:
            missing.append(
                f"CapacityProvider {entry.name} does not exist: create it, or take it out of "
                "spec.capacityDiscovery.providers"
            )
            continue
        problem = why_not_ready(provider)
        if problem is not None:
            unready.append(problem)
            continue
        impossible += _add(flavors, provider, entry.effective_capacity_multiplier)
    impossible += _beyond_limits(flavors)
    causes = missing + unready + impossible
    if not causes:
        listed = ", ".join(entry.name for entry in orchestrator.spec.capacity_discovery.providers)
        message = f"Capacity of {counted(len(flavors), 'flavor')} from {listed}"
        return Discovery(_condition("True", dqo.COMPUTED, message, generation), flavors)
    reason = dqo.MISCONFIGURED if missing else dqo.PROVIDER_NOT_READY if unready else dqo.AGGREGATION_FAILED
    return Discovery(_condition("False", reason, "; ".join(causes), generation))


def _add(flavors: dict[str, dict[str, Amount]], provider: dqo.CapacityProvider, multiplier: Quantity) -> list[str]:
    """Adds one provider's capacity, but for flavors that it does not orchestrate. Returns what is impossible."""
    problems: list[str] = []
    name = provider.metadata.name
    if multiplier.nanos < 0:
        problems.append(f"the multiplier {multiplier} of CapacityProvider {name} is negative: write 0 or more")
    for flavor in provider.flavor_names:
        flavors.setdefault(flavor, {})
    orchestrated = set(provider.flavor_names)
    for reported in provider.status.capacity.flavors if provider.status.capacity is not None else ():
        if reported.name not in orchestrated:
            continue
        for resource, quantity in reported.resources.items():
            if quantity.nanos < 0:
                problems.append(
                    f"CapacityProvider {name} reports a negative capacity of {quantity} for "
                    f"{FlavorResource(reported.name, resource)}: its controller has to report 0 or more"
                )
            amount = flavors[reported.name].setdefault(resource, Amount())
            amount.attos += quantity.nanos * multiplier.nanos
            amount.formats.add(quantity.format)
    return problems


def _beyond_limits(flavors: Mapping[str, Mapping[str, Amount]]) -> list[str]:
    problems: list[str] = []
    if len(flavors) > dqo.MAX_EFFECTIVE_FLAVORS:
        problems.append(
            f"the providers orchestrate {len(flavors)} flavors together; an orchestrator holds at most "
            f"{dqo.MAX_EFFECTIVE_FLAVORS}: spread the providers over several orchestrators"
        )
    for flavor, resources in sorted(flavors.items()):
        if len(resources) > dqo.MAX_FLAVOR_RESOURCES:
            problems.append(
                f"flavor {flavor} has {len(resources)} resources from all providers together; at most "
                f"{dqo.MAX_FLAVOR_RESOURCES} are allowed"
            )
        for resource, amount in sorted(resources.items()):
            if amount.attos > LARGEST_UNITS * ATTOS:
                problems.append(
                    f"{FlavorResource(flavor, resource)} adds up to {amount.quantity()}, more than the largest "
                    f"quantity that Kueue holds ({LARGEST_UNITS}): lower the capacity or the multiplier"
                )
    return problems


def _condition(status: str, reason: str, message: str, generation: int | None) -> Condition:
    return Condition(
        dqo.EFFECTIVE_CAPACITY_COMPUTED,
        status,
        reason=reason,
        message=message_of(message),
        observed_generation=generation,
    )
