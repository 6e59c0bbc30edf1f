"""Notices rivals as changes come in, and tells people: Events, logs, metrics."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import structlog

from kueue_dqo.api.dqo import DYNAMIC_QUOTA_ORCHESTRATOR
from kueue_dqo.api.meta import KUEUE_GROUP, ObjectKey
from kueue_dqo.api.quotas import EffectiveQuotas
from kueue_dqo.runtime.clock import Clock
from kueue_dqo.runtime.events import EventRecorder
from orchestrator.cluster import Cluster, Observer
from orchestrator.enforcement.held import Held, View
from orchestrator.enforcement.objects import HeldOrchestrator
from orchestrator.enforcement.roads import Road
from orchestrator.enforcement.spec import FIELD_MANAGER
from orchestrator.metrics import OrchestratorMetrics
from orchestrator.rivals import (
    WINDOW,
    Reverts,
    StandDown,
    Stopped,
    writer_of_effective_quotas,
    writer_of_spec,
    writer_of_status,
)
from orchestrator.subjects import orchestrator_subject, quotas_subject

_LIMITS: Final = {Road.SPEC: 3, Road.STATUS: 2}
"""So many reverts of one object by one manager within ten minutes end our writes to it. On the status road the second
one is enough: an older Kueue drops the unknown field at each of its own updates, and will never stop."""
_WAYS_OUT: Final = {
    Road.SPEC: "make it ignore spec.resourceGroups, and keep the declaration in the annotation "
    "kueue-dqo.dev/declared-quotas",
    Road.STATUS: "make it leave status.effectiveQuotas alone; a Kueue that does not know the field drops it: then run "
    "kueue-dqo with --enforcement=spec",
}

_log = structlog.get_logger(__name__)


class RivalWatch(Observer):
    """What is known of rivals. Only a leader, who writes, counts reverts."""

    def __init__(
        self,
        cluster: Cluster,
        *,
        may_write: Callable[[], bool],
        events: EventRecorder,
        clock: Clock,
        metrics: OrchestratorMetrics,
    ) -> None:
        self._cluster = cluster
        self._may_write = may_write
        self._events = events
        self._clock = clock
        self._metrics = metrics
        self._stand_down = StandDown()
        self._reverts = {road: Reverts(limit=limit, way_out=_WAYS_OUT[road]) for road, limit in _LIMITS.items()}
        self._counted: dict[ObjectKey, set[str]] = {}
        """The managers that have a series in the metric, by object."""
        self._replaced: dict[ObjectKey, EffectiveQuotas] = {}
        """Quotas in our name that others have put there, on the status road: who changes them again undoes nothing."""
        metrics.standing_down.set_function(lambda: float(self.is_down()))
        # What a former leader left alone, the next one may write.
        metrics.stopped.set_function(lambda: float(len(self.stopped()) if may_write() else 0))

    def start(self) -> None:
        """What stands in the cluster by now is history."""
        for name, held in self._cluster.orchestrators.items():
            self._stand_down.observe(name, held.managed_fields, self._clock.monotonic())
        self._stand_down.start()

    def is_down(self) -> bool:
        """Whether Kueue's own orchestrator is at work, and nothing is to be written that would be."""
        mode = self._cluster.mode
        return mode is not None and mode.writes and self._stand_down.is_down(self._clock.monotonic())

    def stopped(self) -> dict[ObjectKey, Stopped]:
        """The objects to be left alone."""
        now = self._clock.monotonic()
        return {key: each for reverts in self._reverts.values() for key, each in reverts.stopped(now).items()}

    def until(self) -> float | None:
        """When something that is left alone may be tried again, in monotonic seconds; None for nothing."""
        now = self._clock.monotonic()
        ends = [end for reverts in self._reverts.values() if (end := reverts.until(now)) is not None]
        if self._stand_down.is_down(now) and self._stand_down.since is not None:
            ends.append(self._stand_down.since + WINDOW)
        return min(ends, default=None)

    def quotas_changed(self, held: Held | None, old: View | None, new: View | None) -> None:
        """Counts it where it undoes what we have written."""
        if held is None:
            return
        if old is None or new is None or old.member.uid != new.member.uid:
            self._forget(held.key)
            return
        mode = self._cluster.mode
        if mode is None:
            return
        manager = self._who_undid(held, old, new, mode.road)
        if manager is not None and mode.writes and self._may_write() and not self.is_down() and self._is_kept_up(old):
            self._note(held, mode.road, manager)

    def _who_undid(self, held: Held, old: View, new: View, road: Road) -> str | None:
        """The manager that has undone what we wrote; None where nobody has."""
        managed_fields = held.node.metadata.managed_fields
        if road is Road.SPEC:
            return writer_of_spec(managed_fields, FIELD_MANAGER) if _is_undone(old, new) else None
        was_ours = old.applied is not None and self._replaced.pop(held.key, None) != old.applied
        if new.applied is None:
            return writer_of_status(managed_fields, FIELD_MANAGER) if was_ours else None
        manager = writer_of_effective_quotas(managed_fields, FIELD_MANAGER)
        if manager is None:
            return None  # a write of ours that was taken for lost
        self._replaced[held.key] = new.applied
        return manager if was_ours and _is_replaced(old, new) else None

    def orchestrator_changed(self, name: str, held: HeldOrchestrator | None) -> None:
        """Looks for the traces of Kueue's manager."""
        if held is None:
            self._stand_down.forget(name)
            return
        was_down = self.is_down()
        is_new = self._stand_down.observe(name, held.managed_fields, self._clock.monotonic())
        if was_down or not is_new or not self.is_down() or not self._may_write():
            return
        _log.warning("Kueue's own orchestrator is at work, standing down", orchestrator=name, seconds=WINDOW)
        self._events.warning(
            orchestrator_subject(held),
            "StandingDown",
            "Kueue's manager has written this object's status: its own orchestrator is at work, so this one writes "
            "nothing and looks again in ten minutes. Switch off Kueue's feature gate DynamicQuotaOrchestration, or "
            "run kueue-dqo with --enforcement=observe",
        )

    def _is_kept_up(self, view: View) -> bool:
        """Whether the orchestrator that wrote the quotas is still there; what it has left, anybody may undo."""
        if view.applied is None:
            return False
        owner = view.applied.orchestrator_ref
        is_of_our_kind = (owner.api_group, owner.kind) == (KUEUE_GROUP, DYNAMIC_QUOTA_ORCHESTRATOR)
        return is_of_our_kind and owner.name in self._cluster.orchestrators

    def _forget(self, key: ObjectKey) -> None:
        """The object is gone, or another one has its name."""
        for reverts in self._reverts.values():
            reverts.forget(key)
        for manager in self._counted.pop(key, ()):
            self._metrics.reverts.remove(key.kind, key.name, manager)
        self._replaced.pop(key, None)

    def _note(self, held: Held, road: Road, manager: str) -> None:
        key = held.key
        stopped = self._reverts[road].note(key, manager, self._clock.monotonic())
        self._metrics.reverts.labels(key.kind, key.name, manager).inc()
        self._counted.setdefault(key, set()).add(manager)
        _log.warning("quotas were undone", kind=key.kind, name=key.name, manager=manager)
        self._events.warning(
            quotas_subject(held), "QuotasReverted", f"{manager} has undone the quotas that {FIELD_MANAGER} wrote"
        )
        if stopped is not None:
            _log.error("left alone, its quotas are undone again and again", kind=key.kind, name=key.name)
            self._events.warning(
                quotas_subject(held),
                "QuotasLeftAlone",
                f"{manager} has undone our quotas {stopped.times} times in ten minutes, so it is left alone for "
                f"ten minutes: {stopped.way_out}",
            )


def _is_undone(old: View, new: View) -> bool:
    """Whether the spec went back to what was declared; with both annotations, or without where all was replaced."""
    if old.member.in_force == new.member.in_force:
        return False
    is_replaced = new.applied is None and new.member.in_force == old.member.declared
    return new.is_reverted or is_replaced


def _is_replaced(old: View, new: View) -> bool:
    """Whether other numbers stand in the status under the same name; under another name it is a matter of ownership."""
    if old.applied is None or new.applied is None or old.applied.orchestrator_ref != new.applied.orchestrator_ref:
        return False
    return old.applied.resource_groups != new.applied.resource_groups
