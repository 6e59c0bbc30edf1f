"""When the capacity that a provider reports may be used: one rule for orchestrators and for providers of providers."""

from __future__ import annotations

from kueue_dqo.api import dqo
from kueue_dqo.api.meta import find_condition


def why_not_ready(provider: dqo.CapacityProvider) -> str | None:
    """Why the provider's capacity may not be used, naming reason and time; None where it may.

    It may when CapacitySynchronized is True for the present generation.
    """
    name = f"CapacityProvider {provider.metadata.name}"
    condition = find_condition(provider.status.conditions, dqo.CAPACITY_SYNCHRONIZED)
    if condition is None:
        return (
            f"{name} has no {dqo.CAPACITY_SYNCHRONIZED} condition: "
            f"no controller {provider.spec.controller_name} has reported yet"
        )
    if condition.status != "True":
        since = f" since {condition.last_transition_time}" if condition.last_transition_time else ""
        why = f": {condition.message}" if condition.message else ""
        return f"{name} is not ready: {condition.type}={condition.status}, {condition.reason}{since}{why}"
    if condition.observed_generation != provider.metadata.generation:
        return (
            f"{name} is stale: its status is for generation {condition.observed_generation or 0}, its spec is at "
            f"generation {provider.metadata.generation or 0}; {provider.spec.controller_name} has to report again"
        )
    return None
