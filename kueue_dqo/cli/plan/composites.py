"""What counts more than once, and what follows from composites for the providers that they are made of. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from kueue_dqo.api import dqo
from kueue_dqo.api.parameters import (
    COMPOSITE_CONTROLLER,
    COMPOSITE_PARAMETERS,
    NODE_CONTROLLERS,
    NODE_INVENTORY_CONTROLLER,
    NVIDIA_GPU_CONTROLLER,
    Combine,
    CompositeParameters,
    CompositeParametersSpec,
)
from kueue_dqo.api.resources import FlavorResource
from kueue_dqo.api.wording import some
from kueue_dqo.cli.plan.computation import Plan
from kueue_dqo.cli.plan.nodes import selector_of


def counted_twice(plan: Plan) -> Iterator[str]:
    """Warnings: a composite already holds its members' capacity, so listing both counts it twice."""
    composites = _composites(plan)
    for name, orchestrator in sorted(plan.orchestrators.items()):
        listed = {entry.name for entry in orchestrator.spec.capacity_discovery.providers}
        for provider in sorted(listed & composites.keys()):
            for member in sorted(_all_members(provider, composites) & listed - {provider}):
                yield (
                    f"orchestrator {name} lists the composite {provider} and its member {member}: "
                    f"the capacity of {member} counts twice; list only one of them"
                )


def gpus_counted_twice(plan: Plan) -> Iterator[str]:
    """Warnings: the node inventory reports GPUs as well, unless it is told to leave them to who asks NVML."""
    composites = _composites(plan)
    for name, orchestrator in sorted(plan.orchestrators.items()):
        added = _added_up([entry.name for entry in orchestrator.spec.capacity_discovery.providers], composites)
        of_controller = {
            controller: [
                each
                for each in added
                if each in plan.providers and plan.providers[each].spec.controller_name == controller
            ]
            for controller in NODE_CONTROLLERS
        }
        for gpus in of_controller[NVIDIA_GPU_CONTROLLER]:
            for inventory in of_controller[NODE_INVENTORY_CONTROLLER]:
                if selector_of(plan.providers[gpus], plan).is_disjoint(selector_of(plan.providers[inventory], plan)):
                    continue
                pairs = sorted(_reported(plan.providers[gpus]) & _reported(plan.providers[inventory]))
                if pairs:
                    yield (
                        f"orchestrator {name} adds up {some(pairs)} of {inventory} and of {gpus}: the same GPUs count "
                        f"twice; have {inventory} leave them out (resources.exclude of its parameters), or list a "
                        "composite of both with `combine: Min` in their place"
                    )


def flavors_bounded_by_nodes(plan: Plan) -> set[str]:
    """The flavors of which some orchestrator is told no more than the nodes have.

    The node inventory and the provider of GPUs tell that; a composite as well, where the nodes bound one member of a
    minimum, or every member of a sum or a maximum that reports the flavor.
    """
    composites = _composites(plan)
    bounded = {
        (name, flavor)
        for name, provider in plan.providers.items()
        if provider.spec.controller_name in NODE_CONTROLLERS
        for flavor in provider.flavor_names
    }
    # Composites of composites follow round by round; what stands in a ring never does.
    while True:
        more = {
            (name, flavor)
            for name, spec in composites.items()
            for flavor in plan.providers[name].flavor_names
            if (name, flavor) not in bounded and _is_bounded(spec, flavor, bounded, plan)
        }
        if not more:
            break
        bounded |= more
    listed = {entry.name for each in plan.orchestrators.values() for entry in each.spec.capacity_discovery.providers}
    return {flavor for name, flavor in bounded if name in listed}


def _is_bounded(spec: CompositeParametersSpec, flavor: str, bounded: set[tuple[str, str]], plan: Plan) -> bool:
    members = [
        (member.name, flavor) in bounded
        for member in spec.members
        if member.name in plan.providers and flavor in plan.providers[member.name].flavor_names
    ]
    return any(members) if spec.combine is Combine.MIN else bool(members) and all(members)


def _added_up(listed: Iterable[str], composites: Mapping[str, CompositeParametersSpec]) -> list[str]:
    """The providers whose capacities are added: those listed, and in place of a sum what it is made of."""
    found: dict[str, None] = {}
    waiting = sorted(listed, reverse=True)
    seen: set[str] = set()
    while waiting:
        name = waiting.pop()
        spec = composites.get(name)
        if name in seen:
            continue
        seen.add(name)
        if spec is not None and spec.combine is Combine.SUM:
            waiting += sorted((member.name for member in spec.members), reverse=True)
        else:
            found[name] = None
    return list(found)


def _reported(provider: dqo.CapacityProvider) -> set[FlavorResource]:
    """The pairs of the published capacity that are counted."""
    capacity = provider.status.capacity
    return {
        FlavorResource(flavor.name, resource)
        for flavor in (capacity.flavors if capacity is not None else ())
        if flavor.name in provider.flavor_names
        for resource in flavor.resources
    }


def _composites(plan: Plan) -> dict[str, CompositeParametersSpec]:
    """What each composite is made of, as far as that is known."""
    known: Mapping[str, CompositeParameters] = plan.manifests.of_kind(COMPOSITE_PARAMETERS)
    return {
        name: known[ref.name].spec
        for name, provider in plan.providers.items()
        if provider.spec.controller_name == COMPOSITE_CONTROLLER
        if (ref := provider.spec.parameters) is not None and ref.name in known
    }


def _all_members(provider: str, composites: Mapping[str, CompositeParametersSpec]) -> set[str]:
    """The members of a composite, and of composites among these."""
    found: set[str] = set()
    waiting = [provider]
    while waiting:
        spec = composites.get(waiting.pop())
        new = {member.name for member in spec.members} - found if spec is not None else set()
        found |= new
        waiting += sorted(new)
    return found
