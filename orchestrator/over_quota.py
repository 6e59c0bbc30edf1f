"""Tells of queues whose Workloads hold more than the quota that was just written."""

from __future__ import annotations

from kueue_dqo.api.kueue import ClusterQueue
from kueue_dqo.runtime.events import EventRecorder
from orchestrator.enforcement.held import Held, View
from orchestrator.subjects import quotas_subject
from orchestrator.usage import excess_text, excesses


class OverQuota:
    """An Event on each such queue."""

    def __init__(self, events: EventRecorder) -> None:
        self._events = events

    def landed(self, before: View, held: Held, view: View) -> None:
        """A write of ours has landed on the object."""
        if not isinstance(held.node, ClusterQueue):
            return
        for excess in excesses(held.node, view.member.in_force, before.member.in_force):
            text = excess_text(excess, has_siblings=bool(held.node.parent))
            self._events.warning(quotas_subject(held), "UsageAboveQuota", f"The queue {text}")
