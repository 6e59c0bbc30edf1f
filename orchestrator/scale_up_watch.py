"""Tells of quotas that block a scale-up, once for each orchestrator and flavor."""

from __future__ import annotations

from collections.abc import Mapping

from kueue_dqo.runtime.events import EventRecorder
from orchestrator.autoscaling import flavors_from_nodes, provisioned_flavors, scale_up_text
from orchestrator.cluster import Cluster
from orchestrator.compute import Outcome
from orchestrator.subjects import orchestrator_subject


class ScaleUpWatch:
    """Looks at what a pass has computed."""

    def __init__(self, cluster: Cluster, *, events: EventRecorder) -> None:
        self._cluster = cluster
        self._events = events
        self._told: set[tuple[str, str, str]] = set()

    def look(self, outcomes: Mapping[str, Outcome]) -> None:
        """An Event on each orchestrator for which this is new."""
        nodes = {key: held.node for key, (held, _) in self._cluster.views.items()}
        present = set()
        for name, outcome in outcomes.items():
            held = self._cluster.orchestrators.get(name)
            if held is None or held.orchestrator is None or not outcome.quotas:
                continue
            from_nodes = flavors_from_nodes([held.orchestrator], self._cluster.providers)
            reasons = provisioned_flavors(outcome.quotas, nodes, self._cluster.checks) if from_nodes else {}
            for flavor in sorted(from_nodes & reasons.keys()):
                present.add((name, flavor, reasons[flavor]))
                if (name, flavor, reasons[flavor]) not in self._told:
                    text = scale_up_text(flavor, reasons[flavor])
                    self._events.warning(orchestrator_subject(held), "QuotaBlocksScaleUp", text[0].upper() + text[1:])
        self._told = present
