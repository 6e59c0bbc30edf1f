"""The status road: quotas take effect through `status.effectiveQuotas`, and the spec is the admin's declaration."""

from __future__ import annotations

from typing import Any

from kueue_dqo.api.kueue import QuotaNode
from kueue_dqo.api.quotas import EffectiveQuotas
from kueue_dqo.api.scheme import to_manifest
from orchestrator.members import Member


def member_of(node: QuotaNode) -> Member:
    """The ClusterQueue or Cohort as the computation sees it on this road."""
    effective = node.status.effective_quotas
    return Member(
        key=node.key,
        uid=node.metadata.uid,
        parent=node.parent,
        declared=node.quotas,
        in_force=effective.resource_groups if effective is not None else node.quotas,
        owner=effective.orchestrator_ref if effective is not None else None,
    )


def is_written(node: QuotaNode, quotas: EffectiveQuotas) -> bool:
    """Whether the object holds just these quotas already, by value."""
    return node.status.effective_quotas == quotas


def written(node: QuotaNode, quotas: EffectiveQuotas) -> dict[str, Any]:
    """The fields of the object that carry the quotas on this road."""
    del node
    return {"status": {"effectiveQuotas": to_manifest(quotas)}}
