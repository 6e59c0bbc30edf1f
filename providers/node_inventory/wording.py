"""What a person is told of the nodes: one line of the status, and Events. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from kueue_dqo.api.parameters import NodeInventoryParametersSpec
from kueue_dqo.api.wording import counted, some
from kueue_dqo.provider import Notice
from providers.amounts import shown
from providers.node_inventory.counting import FlavorCount
from providers.node_inventory.exclusion import Exclusion
from providers.nodes.usable import Unusable
from providers.nodes.wording import by_reason, is_expected, of_excluded, way_out_of

_UNUSABLE: Final = {Exclusion(reason.value): reason for reason in Unusable}
"""The reasons that do not depend on what is counted."""


def summary_of(counts: Mapping[str, FlavorCount]) -> str:
    """One line, such as `h100: 10 nodes, 80 nvidia.com/gpu; excluded: NotReady=1, Cordoned=2`."""
    parts = [f"{name}: {_told_of(count)}" for name, count in counts.items()]
    excluded = _excluded(counts)
    if excluded:
        parts.append("excluded: " + ", ".join(f"{reason}={len(names)}" for reason, names in excluded.items()))
    return "; ".join(parts)


def _told_of(count: FlavorCount) -> str:
    """`3 nodes, 28 nvidia.com/gpu (including 4 nvidia.com/gpu still allocated on cordoned nodes)`."""
    amounts = count.total.quantities()
    nothing = ["nothing that is reported"] if count.nodes and not amounts else []
    told = ", ".join([counted(count.nodes, "node"), *shown(amounts), *nothing])
    made_of = []
    on_cordoned = shown(count.on_cordoned.quantities())
    if on_cordoned:
        made_of.append(f"including {', '.join(on_cordoned)} still allocated on cordoned nodes")
    reserve = shown(count.reserve.quantities(), everything=True)
    if reserve:
        made_of.append(f"without {', '.join(reserve)} reserved for pods that Kueue does not manage")
    return f"{told} ({'; '.join(made_of)})" if made_of else told


def notices_of(counts: Mapping[str, FlavorCount], parameters: NodeInventoryParametersSpec) -> Iterator[Notice]:
    """One for each reason why nodes do not count."""
    for reason, names in _excluded(counts).items():
        passes = reason is Exclusion.READY_DELAY or (reason in _UNUSABLE and is_expected(_UNUSABLE[reason]))
        yield of_excluded(reason, names, _way_out(reason, names[0], parameters), is_warning=not passes)


def _way_out(reason: Exclusion, node: str, parameters: NodeInventoryParametersSpec) -> str:
    match reason:
        case Exclusion.MISSING_REQUIRED_RESOURCE:
            required = some(dict.fromkeys(each.resource for each in parameters.required_resources))
            return f"status.allocatable lacks what requiredResources demands ({required}): look at the device plugin"
        case Exclusion.EXCLUDED_CONDITION:
            excluded = some(f"{each.type}={each.status}" for each in parameters.excluded_conditions)
            return f"it has a condition of excludedConditions ({excluded}): kubectl describe node {node} says why"
        case Exclusion.READY_DELAY:
            return f"it counts once it has been Ready for {parameters.ready_delay}"
        case _:
            return way_out_of(_UNUSABLE[reason], node, parameters.cordoned)


def _excluded(counts: Mapping[str, FlavorCount]) -> dict[Exclusion, list[str]]:
    """The names of the nodes by reason, both in their order."""
    return by_reason((count.excluded for count in counts.values()), Exclusion)
