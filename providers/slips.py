"""How messages name the parameters of a CapacityProvider, and slips of the pen in them. Pure."""

from __future__ import annotations

from kueue_dqo.api import dqo
from kueue_dqo.api.wording import some


def parameters_name(provider: dqo.CapacityProvider) -> str:
    """`ManualCapacity contract`; `the parameters` of a provider that names none."""
    ref = provider.spec.parameters
    return f"{ref.kind} {ref.name}" if ref is not None else "the parameters"


def not_orchestrated(field: str, flavor: str, provider: dqo.CapacityProvider) -> str:
    """A field of the parameters names a flavor that the provider does not have: one of the two is wrong."""
    return (
        f"{field} names {flavor!r}, which is not in spec.orchestratedFlavors of CapacityProvider "
        f"{provider.metadata.name} ({some(provider.flavor_names)}): add it there, or take it out here"
    )
