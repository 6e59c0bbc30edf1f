"""Writes the statuses of DynamicQuotaOrchestrators, and an Event for each change of a condition."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

import msgspec
import structlog

from kueue_dqo.api import dqo
from kueue_dqo.api.meta import Condition, time_text
from kueue_dqo.runtime.client import Client
from kueue_dqo.runtime.clock import Clock
from kueue_dqo.runtime.errors import ApiError, Conflict, Invalid, NotFound, is_transient
from kueue_dqo.runtime.events import EventRecorder
from kueue_dqo.runtime.resources import DYNAMIC_QUOTA_ORCHESTRATORS
from orchestrator.cluster import Cluster
from orchestrator.compute import Outcome
from orchestrator.enforcement.objects import HeldOrchestrator
from orchestrator.enforcement.spec import FIELD_MANAGER
from orchestrator.metrics import OrchestratorMetrics
from orchestrator.statuses import Progress, is_same, patch_of, status_of, transitions, unreadable_status
from orchestrator.subjects import orchestrator_subject

_ATTEMPTS: Final = 3
"""How often a status is read anew and written again, because somebody has changed it meanwhile."""

_log = structlog.get_logger(__name__)


class StatusWriter:
    """Writes only what differs."""

    def __init__(  # noqa: PLR0913 - the parts of a daemon, by keyword
        self,
        client: Client,
        cluster: Cluster,
        *,
        may_write: Callable[[], bool],
        timeout: float,
        events: EventRecorder,
        clock: Clock,
        metrics: OrchestratorMetrics,
    ) -> None:
        """`timeout` of a write is in seconds, as that of a write of quotas."""
        self._may_write = may_write
        self._timeout = timeout
        self._client = client
        self._cluster = cluster
        self._events = events
        self._clock = clock
        self._metrics = metrics

    async def write(self, outcomes: Mapping[str, Outcome], progress: Mapping[str, Progress]) -> dict[str, ApiError]:
        """Every orchestrator's status, those first that distribute nothing: others may take over from them.

        Returns the refusals by name; they do not hold the others up. Raises an ApiError that passes by itself, after
        all were tried.
        """
        refusals: dict[str, ApiError] = {}
        failure: ApiError | None = None
        for name in sorted(self._cluster.orchestrators, key=lambda name: (_distributes(outcomes.get(name)), name)):
            try:
                await self._write(name, outcomes.get(name), progress.get(name, Progress(is_settled=True)))
            except ApiError as error:
                if is_transient(error):
                    failure = error
                else:
                    refusals[name] = error
                    _log.error("status refused", orchestrator=name, error=str(error))
        if failure is not None:
            raise failure
        return refusals

    async def _write(self, name: str, outcome: Outcome | None, progress: Progress) -> None:
        for attempt in range(1, _ATTEMPTS + 1):
            held = self._cluster.orchestrators.get(name)
            if held is None or held.metadata.deletion_timestamp is not None:
                return
            present = _present(held)
            wanted = self._wanted(held, outcome, progress)
            if wanted is None or is_same(present, wanted) or not self._may_write():
                return
            try:
                await self._send(held, present, wanted)
            except NotFound:
                return  # the cache hears of it
            except (Conflict, Invalid) as error:
                if attempt == _ATTEMPTS or (isinstance(error, Invalid) and not error.is_failed_test):
                    raise
                await self._cluster.reread_orchestrator(name)
            else:
                return

    def _wanted(
        self, held: HeldOrchestrator, outcome: Outcome | None, progress: Progress
    ) -> dqo.DynamicQuotaOrchestratorStatus | None:
        now = time_text(self._clock.now())
        if held.orchestrator is None:
            return unreadable_status(held, now)
        if outcome is None:
            return None  # it came after the snapshot
        return status_of(outcome, held.orchestrator, progress, now)

    async def _send(
        self,
        held: HeldOrchestrator,
        present: dqo.DynamicQuotaOrchestratorStatus,
        wanted: dqo.DynamicQuotaOrchestratorStatus,
    ) -> None:
        path = DYNAMIC_QUOTA_ORCHESTRATORS.path(held.name, subresource="status")
        with self._cluster.expecting_status(held.name, wanted):
            raw = await self._client.json_patch(
                path, patch_of(held, wanted), field_manager=FIELD_MANAGER, timeout=self._timeout
            )
            self._cluster.put_orchestrator(raw)
        self._metrics.status_writes.inc()
        for condition in transitions(present.conditions, wanted.conditions):
            self._tell(held, condition)

    def _tell(self, held: HeldOrchestrator, condition: Condition) -> None:
        _log.info(
            "condition changed",
            orchestrator=held.name,
            condition=condition.type,
            status=condition.status,
            reason=condition.reason,
            message=condition.message,
        )
        record = self._events.normal if condition.status == "True" else self._events.warning
        record(
            orchestrator_subject(held), condition.reason, f"{condition.type}={condition.status}: {condition.message}"
        )


def _distributes(outcome: Outcome | None) -> bool:
    return outcome is not None and bool(outcome.quotas)


def _present(held: HeldOrchestrator) -> dqo.DynamicQuotaOrchestratorStatus:
    if held.orchestrator is not None:
        return held.orchestrator.status
    try:
        conditions = msgspec.json.decode(held.conditions or b"[]", type=tuple[Condition, ...])
    except msgspec.DecodeError:
        conditions = ()
    return dqo.DynamicQuotaOrchestratorStatus(None, conditions)
