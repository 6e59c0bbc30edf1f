"""Precedence: which of several orchestrators may write to a subtree.

Source: Dynamic Quota Orchestration in the documentation of Kueue 0.20, section Distribution (the higher root wins; on
the same root the earlier creation, then the smaller UID).
"""

from __future__ import annotations

import datetime
from collections.abc import Iterable

from kueue_dqo.api.dqo import DynamicQuotaOrchestrator
from kueue_dqo.api.meta import parse_time
from orchestrator.hierarchy import Hierarchy

_NO_TIME = datetime.datetime.max.replace(tzinfo=datetime.UTC)


def outranks(one: DynamicQuotaOrchestrator, other: DynamicQuotaOrchestrator, hierarchy: Hierarchy) -> bool:
    """Whether `one` has precedence over `other`. Inside a cohort cycle each of two roots is above the other."""
    return bool(those_above(other, [one], hierarchy))


def those_above(
    orchestrator: DynamicQuotaOrchestrator, all_of_them: Iterable[DynamicQuotaOrchestrator], hierarchy: Hierarchy
) -> list[DynamicQuotaOrchestrator]:
    """Those with precedence over the orchestrator, whether or not they distribute anything, the oldest first."""
    root = orchestrator.root
    if root is None or not orchestrator.competes:
        return []
    higher_roots = hierarchy.ancestors(root) - {root}
    found = [
        other
        for other in all_of_them
        if other.competes and (other.root in higher_roots or (other.root == root and _age(other) < _age(orchestrator)))
    ]
    return sorted(found, key=_age)


def _age(orchestrator: DynamicQuotaOrchestrator) -> tuple[datetime.datetime, str, str]:
    """Sorts the earlier first; without a UID, the name decides.

    What has no creation time is not in the cluster yet, so it is younger than all that is, and as old as its like.
    """
    meta = orchestrator.metadata
    created = parse_time(meta.creation_timestamp) if meta.creation_timestamp else _NO_TIME
    return (created, meta.uid, meta.name)
