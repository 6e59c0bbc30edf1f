"""Whether pods may have a flavor: its taints, and the keys of its labels among what the pods select.

The rules are those of Kueue 0.19's flavor assigner. Of a node selector or an affinity only the keys that the flavor
itself has are looked at: what else the pods select is the scheduler's business, once they are there.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

from kueue_dqo.api.core import BLOCKING_EFFECTS, Taint, Toleration
from kueue_dqo.api.kueue import ResourceFlavor
from kueue_dqo.api.podtemplates import NodeSelectorRequirement, TemplatePodSpec

_DECIMAL: Final = re.compile(r"0|-?[1-9][0-9]{0,18}", re.ASCII)


def mismatch(name: str, flavor: ResourceFlavor | None, spec: TemplatePodSpec) -> str:
    """Why pods of this spec cannot have the flavor, in Kueue's words; empty where they can."""
    if flavor is None:
        return f"flavor {name} not found"
    taint = untolerated_taint(flavor.spec.node_taints, (*spec.tolerations, *flavor.spec.tolerations))
    if taint is not None:
        # As Go prints the struct, the time at which the taint was added included.
        return f"untolerated taint {{{taint.key} {taint.value} {taint.effect} <nil>}} in flavor {name}"
    if not selects(spec, flavor.spec.node_labels):
        return f"flavor {name} doesn't match node affinity"
    return ""


def untolerated_taint(taints: Iterable[Taint], tolerations: Iterable[Toleration]) -> Taint | None:
    """The first taint that keeps the pods off and is not tolerated, None for none."""
    tolerations = tuple(tolerations)
    for taint in taints:
        if taint.effect in BLOCKING_EFFECTS and not any(_tolerates(each, taint) for each in tolerations):
            return taint
    return None


def selects(spec: TemplatePodSpec, labels: dict[str, str]) -> bool:
    """Whether the node selector and the required affinity hold for the labels, as far as these have the keys."""
    if any(key in labels and labels[key] != value for key, value in spec.node_selector.items()):
        return False
    affinity = spec.affinity.node_affinity if spec.affinity is not None else None
    required = affinity.required_during_scheduling_ignored_during_execution if affinity is not None else None
    if required is None:
        return True
    terms = [[each for each in term.match_expressions if each.key in labels] for term in required.node_selector_terms]
    # One of the terms has to hold, and one that says nothing of these labels holds.
    return not terms or any(all(_holds(each, labels) for each in term) for term in terms)


def _tolerates(toleration: Toleration, taint: Taint) -> bool:
    if toleration.operator not in ("Lt", "Gt"):
        return toleration.tolerates(taint)
    if toleration.effect not in ("", taint.effect) or toleration.key not in ("", taint.key):
        return False
    return _compares(taint.value, toleration.operator, toleration.value)


def _holds(requirement: NodeSelectorRequirement, labels: dict[str, str]) -> bool:
    """Of a key that the labels have."""
    value = labels[requirement.key]
    match requirement.operator:
        case "In":
            return value in requirement.values
        case "NotIn":
            return value not in requirement.values
        case "Exists":
            return True
        case "Gt" | "Lt":
            return len(requirement.values) == 1 and _compares(value, requirement.operator, requirement.values[0])
        case _:
            return False  # DoesNotExist; what no API server takes


def _compares(value: str, operator: str, bound: str) -> bool:
    if not (_DECIMAL.fullmatch(value) and _DECIMAL.fullmatch(bound)):
        return False
    return int(value) > int(bound) if operator == "Gt" else int(value) < int(bound)
