"""Tells when Kueue's own orchestrator is expected to do the work and nobody does."""

from __future__ import annotations

import asyncio
from typing import Final, NamedTuple

import structlog

from kueue_dqo.api import dqo
from kueue_dqo.api.meta import find_condition
from kueue_dqo.runtime.clock import Clock
from kueue_dqo.runtime.events import EventRecorder
from orchestrator.cluster import Cluster
from orchestrator.enforcement.objects import HeldOrchestrator
from orchestrator.enforcement.roads import Road
from orchestrator.subjects import orchestrator_subject

PATIENCE: Final = 60.0
"""Seconds that Kueue has to answer a new or changed DynamicQuotaOrchestrator."""
_INTERVAL: Final = 10.0

_log = structlog.get_logger(__name__)


class _Edition(NamedTuple):
    """An object as its author wrote it last; one of the same name that was made anew is another."""

    uid: str
    generation: int | None


class GateWatch:
    """Looks from time to time, where the two kinds are Kueue's own and this process only looks on."""

    def __init__(self, cluster: Cluster, *, events: EventRecorder, clock: Clock) -> None:
        self._cluster = cluster
        self._events = events
        self._clock = clock
        self._unanswered: dict[str, tuple[_Edition, float]] = {}
        """Which edition has had no current condition, and since when."""
        self._told: dict[str, _Edition] = {}

    async def run(self) -> None:
        """Until it is cancelled."""
        while True:
            self._look_on()
            await asyncio.sleep(_INTERVAL)

    def _look_on(self) -> None:
        """Who only tells people things must not end a leader."""
        try:
            self.look()
        except Exception:  # noqa: BLE001 - whatever it is, quotas matter more
            _log.exception("look failed")

    def look(self) -> None:
        """One look."""
        mode = self._cluster.mode
        if mode is None or mode.writes or mode.road is Road.SPEC:  # no other controller is expected to answer
            self._unanswered.clear()
            return
        now = self._clock.monotonic()
        present = self._cluster.orchestrators
        self._unanswered = {name: since for name, since in self._unanswered.items() if name in present}
        self._told = {name: edition for name, edition in self._told.items() if name in present}
        for name, held in present.items():
            edition = _Edition(held.metadata.uid, held.metadata.generation)
            if _is_answered(held):
                self._unanswered.pop(name, None)
                continue
            known, since = self._unanswered.get(name, (None, now))
            if known != edition:
                self._unanswered[name] = (edition, now)
            elif now - since >= PATIENCE and self._told.get(name) != edition:
                self._told[name] = edition
                _log.warning("nobody answers the orchestrator", orchestrator=name, seconds=PATIENCE)
                self._events.warning(
                    orchestrator_subject(held),
                    "NobodyOrchestrates",
                    f"No controller has reported on this object within {PATIENCE:g} s: Kueue's feature gate "
                    "DynamicQuotaOrchestration seems off. Switch it on, or run kueue-dqo with --enforcement=spec",
                )


def _is_answered(held: HeldOrchestrator) -> bool:
    if held.orchestrator is None:
        return False
    condition = find_condition(held.orchestrator.status.conditions, dqo.EFFECTIVE_CAPACITY_COMPUTED)
    return condition is not None and condition.observed_generation == held.metadata.generation
