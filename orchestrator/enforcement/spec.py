"""The spec road: quotas take effect through `spec.resourceGroups`, for a Kueue that does not know effective quotas.

Two annotations keep the admin's declaration apart from our numbers: `declared-quotas` is what shares are computed from,
`applied-quotas` what was last written and for which orchestrator. Where the spec differs from what was applied, an
admin has edited it, and the differing fields, only these, become the declaration.
"""

from __future__ import annotations

from typing import Any, Final

import msgspec

from kueue_dqo.api.kueue import CLUSTER_QUEUE, QuotaNode
from kueue_dqo.api.meta import ObjectMeta
from kueue_dqo.api.quotas import EffectiveQuotas, ResourceGroup, ResourceQuota, map_quotas, quotas_by_pair
from kueue_dqo.api.resources import FlavorResource
from kueue_dqo.api.scheme import decode_groups, decode_quotas, quotas_json, to_manifest
from orchestrator.effective_quotas import with_lending_capped
from orchestrator.enforcement.held import Held, View
from orchestrator.enforcement.patches import Operation, add, pointer, remove, same_version, test
from orchestrator.members import Member

DECLARED_QUOTAS: Final = "kueue-dqo.dev/declared-quotas"
APPLIED_QUOTAS: Final = "kueue-dqo.dev/applied-quotas"
FIELD_MANAGER: Final = "kueue-dqo-orchestrator"
_SPEC: Final = "/spec/resourceGroups"
_UNREADABLE: Final = (
    "restore it, or write the declared quotas into the spec under another field manager and remove both annotations"
)


class DeclarationLost(ValueError):
    """What the admin declared cannot be told from what was applied; the message says why and what to do."""


def view_of(node: QuotaNode) -> View:
    """The ClusterQueue or Cohort as the computation sees it on this road.

    Where the declaration is lost, the member carries the problem and its spec, and nothing may be written to it.
    """
    uid, parent, in_force = node.metadata.uid, node.parent, node.quotas
    try:
        recorded, applied = _recorded(node)
        declared = recorded if applied is None else _with_edits(in_force, applied.resource_groups, recorded)
    except DeclarationLost as lost:
        return View(Member(node.key, uid, parent, in_force, in_force, problem=str(lost)))
    owner = applied.orchestrator_ref if applied is not None else None
    member = Member(node.key, uid, parent, declared, in_force, owner)
    return View(member, applied, is_settled=applied is not None and declared == recorded)


def holds(node: QuotaNode, view: View, quotas: EffectiveQuotas) -> bool:
    """Whether the object holds just these quotas, and both annotations that go with them, already, by value."""
    quotas = _acceptable(node, quotas)
    return view.is_settled and view.applied == quotas and node.quotas == quotas.resource_groups


def written(node: QuotaNode, view: View, quotas: EffectiveQuotas) -> dict[str, Any]:
    """The fields of the object that carry the quotas on this road: the spec and both annotations."""
    quotas = _acceptable(node, quotas)
    return {
        "metadata": {"annotations": _annotations(node, view, quotas)},
        "spec": {"resourceGroups": to_manifest(quotas.resource_groups)},
    }


def _annotations(node: QuotaNode, view: View, quotas: EffectiveQuotas) -> dict[str, str]:
    # What says the same stays as it stands, also at the adoption: git compares texts.
    present = node.metadata.annotations.get(DECLARED_QUOTAS)
    if present is None or not (view.is_settled or view.applied is None):
        present = quotas_json(view.member.declared, as_written=True).decode()
    return {DECLARED_QUOTAS: present, APPLIED_QUOTAS: quotas_json(quotas).decode()}


def patch(held: Held, view: View, quotas: EffectiveQuotas) -> list[Operation]:
    """The write as a compare-and-set: of all three fields where they are there, else of the whole object."""
    quotas = _acceptable(held.node, quotas)
    operations = _unchanged(held)
    if not held.has_annotations:
        operations.append(add("/metadata/annotations", {}))
    for name, text in _annotations(held.node, view, quotas).items():
        operations.append(add(pointer("metadata", "annotations", name), text))
    operations.append(add(_SPEC, msgspec.Raw(quotas_json(quotas.resource_groups))))
    return operations


def restoring(held: Held, view: View) -> list[Operation]:
    """Puts the declared quotas back into the spec, as their author wrote them, and takes both annotations away."""
    operations = _unchanged(held)
    for name in (DECLARED_QUOTAS, APPLIED_QUOTAS):
        if name in held.node.metadata.annotations:
            operations.append(remove(pointer("metadata", "annotations", name)))
    operations.append(add(_SPEC, msgspec.Raw(quotas_json(view.member.declared, as_written=True))))
    return operations


def _unchanged(held: Held) -> list[Operation]:
    annotations = held.node.metadata.annotations
    if held.groups is None or DECLARED_QUOTAS not in annotations or APPLIED_QUOTAS not in annotations:
        return [same_version(held)]
    both = (DECLARED_QUOTAS, APPLIED_QUOTAS)
    as_recorded = [test(pointer("metadata", "annotations", name), annotations[name]) for name in both]
    return [test(_SPEC, held.groups), *as_recorded]


def _recorded(node: QuotaNode) -> tuple[tuple[ResourceGroup, ...], EffectiveQuotas | None]:
    """What the annotations say: the declaration when it was last written down, and what was applied then."""
    annotations = node.metadata.annotations
    declared_text, applied_text = annotations.get(DECLARED_QUOTAS), annotations.get(APPLIED_QUOTAS)
    if applied_text is None and _owns_spec(node.metadata):
        msg = (
            f"the annotation {APPLIED_QUOTAS} is gone, while {FIELD_MANAGER} has written spec.resourceGroups: "
            f"restore both annotations, or write the declared quotas into the spec under another field manager"
        )
        raise DeclarationLost(msg)
    if applied_text is None:
        return (node.quotas if declared_text is None else _decoded_groups(declared_text)), None
    if declared_text is None:
        msg = (
            f"the annotation {DECLARED_QUOTAS} is gone, while {APPLIED_QUOTAS} is there: restore it, "
            "or write the declared quotas into the spec and remove the other one too"
        )
        raise DeclarationLost(msg)
    return _decoded_groups(declared_text), _decoded_quotas(applied_text)


def _owns_spec(meta: ObjectMeta) -> bool:
    return any(entry.manager == FIELD_MANAGER and entry.owns("spec", "resourceGroups") for entry in meta.managed_fields)


def _decoded_groups(text: str) -> tuple[ResourceGroup, ...]:
    try:
        return decode_groups(text)
    except ValueError as error:
        msg = f"the annotation {DECLARED_QUOTAS} cannot be read: {error}; {_UNREADABLE}"
        raise DeclarationLost(msg) from error


def _decoded_quotas(text: str) -> EffectiveQuotas:
    try:
        return decode_quotas(text)
    except ValueError as error:
        msg = f"the annotation {APPLIED_QUOTAS} cannot be read: {error}; {_UNREADABLE}"
        raise DeclarationLost(msg) from error


def _with_edits(
    spec: tuple[ResourceGroup, ...], applied: tuple[ResourceGroup, ...], declared: tuple[ResourceGroup, ...]
) -> tuple[ResourceGroup, ...]:
    """The declaration, with each field that somebody has changed in the spec since it was applied.

    An empty spec is one that is left out: git then holds the declaration in the annotation. Flavors and resources are
    those of the side that has changed them.
    """
    if not spec or spec == applied:
        return declared
    in_spec, was_applied, was_declared = (dict(quotas_by_pair(groups)) for groups in (spec, applied, declared))
    if was_declared.keys() == was_applied.keys():
        shape = spec
    elif in_spec.keys() == was_applied.keys():
        shape = declared
    else:
        msg = (
            f"flavors or resources were added or removed both in the annotation {DECLARED_QUOTAS} and in "
            "spec.resourceGroups: make the spec what it was, or the annotation, and change one of them only"
        )
        raise DeclarationLost(msg)

    def merged(pair: FlavorResource, quota: ResourceQuota) -> ResourceQuota:
        edit, was, meant = in_spec.get(pair), was_applied.get(pair), was_declared.get(pair)
        if edit is None or was is None or meant is None:
            return quota
        return ResourceQuota(
            name=quota.name,
            nominal_quota=(meant if edit.nominal_quota == was.nominal_quota else edit).nominal_quota,
            borrowing_limit=(meant if edit.borrowing_limit == was.borrowing_limit else edit).borrowing_limit,
            lending_limit=(meant if edit.lending_limit == was.lending_limit else edit).lending_limit,
        )

    return map_quotas(shape, merged)


def _acceptable(node: QuotaNode, quotas: EffectiveQuotas) -> EffectiveQuotas:
    """The webhook of Kueue 0.19 refuses a ClusterQueue that would lend more than it has, in whatever flavor."""
    if node.key.kind != CLUSTER_QUEUE:
        return quotas
    groups = map_quotas(quotas.resource_groups, lambda _, quota: with_lending_capped(quota))
    return msgspec.structs.replace(quotas, resource_groups=groups)
