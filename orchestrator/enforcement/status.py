"""The status road: quotas take effect through `status.effectiveQuotas`, and the spec is the admin's declaration."""

from __future__ import annotations

from typing import Any, Final

import msgspec

from kueue_dqo.api.kueue import QuotaNode
from kueue_dqo.api.quotas import EffectiveQuotas
from kueue_dqo.api.scheme import quotas_json, to_manifest
from orchestrator.enforcement.held import Held, View
from orchestrator.enforcement.patches import Operation, add, remove, same_version, test
from orchestrator.members import Member

_EFFECTIVE_QUOTAS: Final = "/status/effectiveQuotas"


def view_of(node: QuotaNode) -> View:
    """The ClusterQueue or Cohort as the computation sees it on this road."""
    effective = node.status.effective_quotas
    in_force = effective.resource_groups if effective is not None else node.quotas
    owner = effective.orchestrator_ref if effective is not None else None
    member = Member(node.key, node.metadata.uid, node.parent, node.quotas, in_force, owner)
    return View(member, effective, is_settled=effective is not None)


def holds(node: QuotaNode, view: View, quotas: EffectiveQuotas) -> bool:
    """Whether the object holds just these quotas already, by value."""
    del node
    return view.applied == quotas


def written(node: QuotaNode, view: View, quotas: EffectiveQuotas) -> dict[str, Any]:
    """The fields of the object that carry the quotas on this road."""
    del node, view
    return {"status": {"effectiveQuotas": to_manifest(quotas)}}


def patch(held: Held, view: View, quotas: EffectiveQuotas) -> list[Operation]:
    """The write as a compare-and-set: of the field where it is there, else of the whole object."""
    del view
    operations = _unchanged(held)
    if not held.has_status:
        operations.append(add("/status", {}))
    operations.append(add(_EFFECTIVE_QUOTAS, msgspec.Raw(quotas_json(quotas))))
    return operations


def restoring(held: Held, view: View) -> list[Operation]:
    """Clears the effective quotas, so that the spec is in force again."""
    del view
    return [*_unchanged(held), remove(_EFFECTIVE_QUOTAS)]


def _unchanged(held: Held) -> list[Operation]:
    return [test(_EFFECTIVE_QUOTAS, held.effective) if held.effective is not None else same_version(held)]
