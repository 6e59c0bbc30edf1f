"""What a person is told of nodes, whatever is counted on them. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final, TypeVar

from kueue_dqo.api.parameters import Cordoned
from kueue_dqo.api.quantity import Quantity
from kueue_dqo.api.wording import counted, some
from kueue_dqo.provider import Notice
from providers.amounts import brief
from providers.nodes.usable import Unusable

R = TypeVar("R", bound=str)

NODES_EXCLUDED: Final = "NodesExcluded"


def by_reason(excluded: Iterable[Mapping[R, list[str]]], order: Iterable[R]) -> dict[R, list[str]]:
    """The names of nodes by the reason why they do not count: of all flavors, reasons in that order, names sorted.

    Reasons that the order does not know come last, by their names.
    """
    found: dict[R, list[str]] = {}
    for names_by_reason in excluded:
        for reason, names in names_by_reason.items():
            found.setdefault(reason, []).extend(names)
    known = [reason for reason in order if reason in found]
    return {reason: sorted(found[reason]) for reason in (*known, *sorted(found.keys() - set(known)))}


def of_excluded(reason: str, names: list[str], way_out: str, *, is_warning: bool) -> Notice:
    """Nodes that do not count for a reason; there is at least one."""
    verb = "does" if len(names) == 1 else "do"
    message = f"{counted(len(names), 'node')} {verb} not count, {reason}: {some(names)}; {way_out}"
    return Notice(NODES_EXCLUDED, message, is_warning)


def is_expected(reason: Unusable) -> bool:
    """Whether somebody wants it, so that nobody needs to be warned."""
    return reason in {Unusable.DELETING, Unusable.CORDONED}


def way_out_of(reason: Unusable, node: str, cordoned: Cordoned) -> str:
    """What to do about a node that cannot be used."""
    match reason:
        case Unusable.DELETING:
            return "a node that is being deleted does not come back; a new one counts"
        case Unusable.NOT_READY:
            return f"kubectl describe node {node} shows what its kubelet last said"
        case Unusable.CORDONED if cordoned is Cordoned.COUNT_ALLOCATED:
            return f"what pods of Kueue hold there counts until they end; kubectl uncordon {node} makes it count again"
        case Unusable.CORDONED:
            return f"kubectl uncordon {node} makes it count again"
        case Unusable.UNTOLERATED_TAINT:
            return (
                f"kubectl describe node {node} shows its taints: remove them, or add them to the ResourceFlavor as "
                "tolerations or nodeTaints"
            )


def negative_allocatable(node: str, quantity: Quantity, resource: str) -> str:
    """Of a node that counts: such an amount makes every sum wrong."""
    return (
        f"Node {node} has a negative allocatable of {brief(quantity)} {resource}: its kubelet or device plugin reports "
        "nonsense; repair it, or leave the resource out by spec.resources.exclude of the parameters"
    )
