"""Whether Kubernetes lets pods of a flavor run on a node at all. Pure."""

from __future__ import annotations

import enum
from collections.abc import Iterator

from kueue_dqo.api.core import BLOCKING_EFFECTS, EQUAL, EXISTS, Node, Taint
from kueue_dqo.api.kueue import ResourceFlavor


class Unusable(enum.StrEnum):
    """Why none of the flavor's pods can run on a node of it; the first that holds is the reason."""

    DELETING = "Deleting"
    NOT_READY = "NotReady"
    CORDONED = "Cordoned"
    UNTOLERATED_TAINT = "UntoleratedTaint"


def why_unusable(node: Node, flavor: ResourceFlavor) -> Unusable | None:
    """The first reason that holds, None for a node that pods of the flavor can run on."""
    if node.metadata.deletion_timestamp is not None:
        return Unusable.DELETING
    if not node.is_ready:
        return Unusable.NOT_READY
    if node.spec.unschedulable:
        return Unusable.CORDONED
    if node.spec.taints and not all(
        _admits(flavor, taint) for taint in node.spec.taints if taint.effect in BLOCKING_EFFECTS
    ):
        return Unusable.UNTOLERATED_TAINT
    return None


def unknown_operators(flavor: ResourceFlavor) -> Iterator[str]:
    """A message for each toleration of which nobody knows what it tolerates."""
    for toleration in flavor.spec.tolerations:
        if toleration.operator not in ("", EXISTS, EQUAL):
            yield (
                f"ResourceFlavor {flavor.metadata.name} has a toleration with the operator {toleration.operator!r}: "
                f"only {EXISTS} and {EQUAL} are understood"
            )


def _admits(flavor: ResourceFlavor, taint: Taint) -> bool:
    return any(toleration.tolerates(taint) for toleration in flavor.spec.tolerations) or any(
        (declared.key, declared.effect) == (taint.key, taint.effect) for declared in flavor.spec.node_taints
    )
