"""Ownership: whose effective quotas an orchestrator may overwrite.

The specification is silent; the rules are those of the API's reason EffectiveQuotasConflict, and docs/concepts.md
tells them.
"""

from __future__ import annotations

from collections.abc import Mapping

from kueue_dqo.api.dqo import DynamicQuotaOrchestrator
from kueue_dqo.api.quotas import OrchestratorRef
from orchestrator.hierarchy import Hierarchy
from orchestrator.precedence import outranks


def why_not_mine(
    owner: OrchestratorRef | None,
    orchestrator: DynamicQuotaOrchestrator,
    others: Mapping[str, DynamicQuotaOrchestrator],
    not_distributing: set[str],
    hierarchy: Hierarchy,
) -> str | None:
    """Why the orchestrator may not write where `owner` has written, None where it may.

    Args:
        owner: who wrote the quotas that are there, None for nobody.
        orchestrator: who wants to write.
        others: every orchestrator by name.
        not_distributing: names of those whose Distributed condition is False.
        hierarchy: the cohort tree.
    """
    if owner is None or owner == orchestrator.ref:
        return None
    if (owner.api_group, owner.kind) != (orchestrator.ref.api_group, orchestrator.ref.kind):
        return f"written by {owner}, which is no DynamicQuotaOrchestrator: it has to let go of them first"
    other = others.get(owner.name)
    if other is None or not other.competes or owner.name in not_distributing:
        return None
    if outranks(orchestrator, other, hierarchy) or outranks(other, orchestrator, hierarchy):
        return None  # the second is a matter of precedence, which stops the orchestrator by itself
    return (
        f"written by DynamicQuotaOrchestrator {owner.name}, which is active: keep the subtrees apart, "
        "or clear what it has left there (dqo cleanup)"
    )
