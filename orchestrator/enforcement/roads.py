"""The roads on which quotas take effect, side by side."""

from __future__ import annotations

import enum
from collections.abc import Iterable
from typing import Any

from kueue_dqo.api.kueue import QuotaNode
from kueue_dqo.api.quotas import EffectiveQuotas
from orchestrator.enforcement import spec, status
from orchestrator.enforcement.held import Held, View
from orchestrator.enforcement.patches import Operation
from orchestrator.members import Member


class Road(enum.StrEnum):
    """Where effective quotas take effect."""

    STATUS = "status"
    SPEC = "spec"

    @property
    def subresource(self) -> str:
        """The subresource that is written."""
        return "status" if self is Road.STATUS else ""

    def view_of(self, node: QuotaNode) -> View:
        """The object as this road sees it."""
        return status.view_of(node) if self is Road.STATUS else spec.view_of(node)

    def view(self, held: Held) -> View:
        """As `view_of`, for an object of the cluster; one that cannot be read has a problem."""
        seen = self.view_of(held.node)
        if held.problem is None:
            return seen
        return View(seen.member._replace(problem=held.problem))

    def member_of(self, node: QuotaNode) -> Member:
        """The object as the computation takes it."""
        return self.view_of(node).member

    def holds(self, node: QuotaNode, view: View, quotas: EffectiveQuotas) -> bool:
        """Whether the object holds these quotas already."""
        return status.holds(node, view, quotas) if self is Road.STATUS else spec.holds(node, view, quotas)

    def is_written(self, node: QuotaNode, quotas: EffectiveQuotas) -> bool:
        """As `holds`, for an object that has not been viewed yet."""
        return self.holds(node, self.view_of(node), quotas)

    def written(self, node: QuotaNode, quotas: EffectiveQuotas) -> dict[str, Any]:
        """The fields that this road writes."""
        view = self.view_of(node)
        return status.written(node, view, quotas) if self is Road.STATUS else spec.written(node, view, quotas)

    def patch(self, held: Held, view: View, quotas: EffectiveQuotas) -> list[Operation]:
        """The write, as a compare-and-set."""
        return status.patch(held, view, quotas) if self is Road.STATUS else spec.patch(held, view, quotas)

    def restoring(self, held: Held, view: View) -> list[Operation]:
        """The write that puts the declared quotas in force again, as a compare-and-set."""
        return status.restoring(held, view) if self is Road.STATUS else spec.restoring(held, view)


def road_in_force(nodes: Iterable[QuotaNode]) -> tuple[Road, str] | None:
    """The road on which quotas of an orchestrator are in force, and the object that shows it.

    None where no object shows any, or some show the one and some the other.
    """
    found: dict[Road, str] = {}
    for node in nodes:
        if spec.APPLIED_QUOTAS in node.metadata.annotations:
            found.setdefault(Road.SPEC, f"{node.key} has the annotation {spec.APPLIED_QUOTAS}")
        effective = node.status.effective_quotas
        if effective is not None:
            found.setdefault(Road.STATUS, f"{node.key} has effective quotas of {effective.orchestrator_ref}")
    return next(iter(found.items())) if len(found) == 1 else None
