"""One pass of the orchestrator: snapshot → compute → the writes that differ.

A pass looks at all orchestrators at once, because whose quotas are whose is settled among all of them. It is
level-triggered: whatever happened, the next pass starts from what is there.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from collections.abc import Set as AbstractSet
from typing import Final, NamedTuple

import structlog

from kueue_dqo.api.meta import ObjectKey
from kueue_dqo.api.quotas import EffectiveQuotas, ResourceGroup
from kueue_dqo.api.resources import FlavorResource, unit_nanos
from kueue_dqo.runtime.clock import Clock
from kueue_dqo.runtime.controller import Result
from kueue_dqo.runtime.errors import Answered, ApiError, NotFound
from orchestrator.cluster import Cluster, Mode
from orchestrator.compute import Outcome, compute
from orchestrator.discovery import discover
from orchestrator.metrics import OrchestratorMetrics
from orchestrator.rival_watch import RivalWatch
from orchestrator.status_writer import StatusWriter
from orchestrator.statuses import Progress
from orchestrator.transition import Transition
from orchestrator.writing import QuotaWriter, Report

EVERYTHING: Final = "everything"
"""The one key of the work queue."""
REFUSAL_KEPT: Final = 600.0
"""Seconds after which a refused write is tried again although neither the object nor its quotas have changed."""
MISSING_RIGHT_KEPT: Final = 30.0
"""As above, where it is the right to write that is missing: an API server that has just started knows no rights yet."""
_MODE_UNKNOWN: Final = 5.0
_GETS_ON: Final = 0.5
"""Seconds until the next pass where some writes landed and some failed."""

_log = structlog.get_logger(__name__)


class _Refusal(NamedTuple):
    why: str
    quotas: EffectiveQuotas
    generation: int | None
    until: float


class Reconciler:
    """Passes, and what has to be remembered between them."""

    def __init__(  # noqa: PLR0913 - the parts of a daemon, by keyword
        self,
        cluster: Cluster,
        *,
        writer: QuotaWriter,
        statuses: StatusWriter,
        rivals: RivalWatch,
        on_quotas: Callable[[Mapping[str, Outcome]], None],
        may_write: Callable[[], bool],
        clock: Clock,
        metrics: OrchestratorMetrics,
    ) -> None:
        self._cluster = cluster
        self._writer = writer
        self._statuses = statuses
        self._rivals = rivals
        self._on_quotas = on_quotas
        self._may_write = may_write
        self._clock = clock
        self._metrics = metrics
        self._is_outdated = False
        self._not_before = 0.0
        self._resume: dict[str, ObjectKey] = {}
        """After which object an interrupted pass goes on, by orchestrator: else the last in line would never be reached
        where capacities keep changing."""
        self._was_put_off = False
        """Whether the last pass was outdated before it could write any quota."""
        self._uncertain: dict[ObjectKey, float] = {}
        self._refusals: dict[ObjectKey, _Refusal] = {}

    def cluster_changed(self) -> None:
        """The snapshot of the pass under way is not what is there any more."""
        self._is_outdated = True

    async def reconcile(self, key: str) -> Result:
        """One pass. Raises ApiError where something has to be tried again that nobody will remind of."""
        del key
        mode = self._cluster.mode
        if mode is None or not self._cluster.is_synced:
            return Result(requeue_after=_MODE_UNKNOWN)
        wait = self._not_before - self._clock.monotonic()
        if wait > 0:
            return Result(requeue_after=wait)
        await self._resolve_uncertainty()
        self._is_outdated = False
        ground = self._ground()
        outcomes = compute(self._cluster.snapshot())
        self._metrics.passes.inc()
        if not mode.writes or self._rivals.is_down() or not self._may_write():
            self._note_differences(outcomes, mode)
            return self._result()
        return await self._enforce(outcomes, mode, ground)

    async def _enforce(self, outcomes: Mapping[str, Outcome], mode: Mode, ground: object) -> Result:
        """Statuses first: others go by who distributes, and nobody is promised more than the capacity that is told."""
        distributing = {name for name, outcome in outcomes.items() if outcome.quotas}
        progress = {name: Progress(is_settled=name not in distributing) for name in outcomes}
        refusals = await self._write_statuses(outcomes, progress)
        distributing -= refusals.keys()  # of capacity that nobody can be told, no quotas are made
        is_late = self._is_outdated
        if is_late and not self._goes_on(ground):
            return self._result()
        self._was_put_off = False
        stopped = self._rivals.stopped()
        transitions = {
            name: self._transition(name, outcomes[name], mode, stopped.keys()) for name in sorted(distributing)
        }
        report = Report()
        try:
            await self._writer.write(transitions, mode.road, lambda: self._is_outdated, report)
        finally:
            self._remember(report, outcomes)
        report.was_interrupted |= is_late  # the next pass has the last word
        for name, transition in transitions.items():
            progress[name] = self._progress(outcomes[name], transition, report, mode)
        self._note_differences(outcomes, mode)
        for key in report.outdated:
            await self._reread(key)
        if not report.was_interrupted:
            self._on_quotas(outcomes)
            refusals |= await self._write_statuses(outcomes, progress)
        return self._what_next(report, refusals)

    async def _write_statuses(
        self, outcomes: Mapping[str, Outcome], progress: Mapping[str, Progress]
    ) -> dict[str, ApiError]:
        try:
            return await self._statuses.write(outcomes, progress)
        except Answered as error:
            self._leave_alone(error.retry_after or 0.0)
            raise

    def _what_next(self, report: Report, refusals: Mapping[str, ApiError]) -> Result:
        if report.retry_after:
            self._leave_alone(report.retry_after)
            return Result(requeue_after=report.retry_after)
        for error in report.failures.values():
            if report.landed:
                return Result(requeue_after=_GETS_ON)
            raise error
        if report.outdated:
            return Result(requeue_after=0.0)
        for error in refusals.values():
            raise error  # tried again, with growing pauses
        return self._result()

    def _leave_alone(self, seconds: float) -> None:
        """The API server has asked for so much time; whatever happens meanwhile waits."""
        self._not_before = max(self._not_before, self._clock.monotonic() + seconds)

    def _goes_on(self, ground: object) -> bool:
        """Whether an outdated pass writes quotas all the same: the second in a row, where only capacities have changed.

        Capacities may change faster than a status can be written, and quotas must not be put off for ever. They follow
        the capacity that was just told, and the next pass goes on from there.
        """
        was_put_off, self._was_put_off = self._was_put_off, True
        if not was_put_off or self._rivals.is_down() or self._ground() != ground:
            return False
        self._is_outdated = False
        return True

    def _ground(self) -> object:
        """All that a pass goes by, but for capacities and what it writes into statuses itself."""
        orchestrators = {
            name: (held.metadata.uid, held.metadata.generation, held.metadata.deletion_timestamp)
            for name, held in self._cluster.orchestrators.items()
        }
        views = {key: view for key, (_, view) in self._cluster.views.items()}
        return self._cluster.mode, views, orchestrators

    def _transition(self, name: str, outcome: Outcome, mode: Mode, stopped: AbstractSet[ObjectKey]) -> Transition:
        views = self._cluster.views
        orchestrator = self._cluster.orchestrators[name].orchestrator
        newest = discover(orchestrator, self._cluster.providers) if orchestrator is not None else outcome.discovery

        def capacity(pair: FlavorResource) -> int | None:
            """What was told, and no more than there is by now."""
            if pair.flavor not in (outcome.discovery.flavors or {}):
                return None
            return min(outcome.discovery.units(pair), newest.units(pair)) * unit_nanos(pair.resource)

        left_alone: dict[ObjectKey, tuple[ResourceGroup, ...]] = {}
        for key, quotas in outcome.quotas.items():
            if key in stopped or self._refusal(key, quotas) is not None:
                left_alone[key] = ()
        order = list(outcome.quotas)
        if self._resume.get(name) in outcome.quotas:
            first = order.index(self._resume[name]) + 1
            order = order[first:] + order[:first]
        return Transition(
            {key: outcome.quotas[key] for key in order},
            {key: views[key][1].member.in_force for key in outcome.quotas},
            capacity,
            left_alone=left_alone,
            is_written=lambda key, quotas: self._holds(key, quotas, mode),
        )

    def _progress(self, outcome: Outcome, transition: Transition, report: Report, mode: Mode) -> Progress:
        keys = outcome.quotas.keys()
        retried = report.outdated | report.uncertain.keys() | report.failures.keys()
        refused = {
            key: refusal.why
            for key, quotas in outcome.quotas.items()
            if (refusal := self._refusal(key, quotas)) is not None
        }
        stopped = [
            each
            for key, each in sorted(self._rivals.stopped().items())
            if key in keys and not self._holds(key, outcome.quotas[key], mode)
        ]
        is_settled = not report.was_interrupted and not report.retry_after and not (retried & keys)
        waiting = [] if transition.is_complete else transition.waiting
        return Progress(is_settled, refused, stopped, waiting)

    # --- what is remembered -----------------------------------------------------------------------------------------

    def _remember(self, report: Report, outcomes: Mapping[str, Outcome]) -> None:
        self._uncertain |= report.uncertain
        self._resume = report.last if report.was_interrupted else {}
        wanted = {key: quotas for outcome in outcomes.values() for key, quotas in outcome.quotas.items()}
        for key in [key for key in self._refusals if key not in wanted]:
            del self._refusals[key]
        for key, why in report.refused.items():
            generation = self._cluster.views[key][0].node.metadata.generation if key in self._cluster.views else None
            kept = MISSING_RIGHT_KEPT if key in report.without_right else REFUSAL_KEPT
            self._refusals[key] = _Refusal(why, wanted[key], generation, self._clock.monotonic() + kept)

    def _refusal(self, key: ObjectKey, quotas: EffectiveQuotas) -> _Refusal | None:
        """The refusal that still stands: of these quotas, for the object as it is, and not too old."""
        refusal = self._refusals.get(key)
        if refusal is None or key not in self._cluster.views:
            return None
        generation = self._cluster.views[key][0].node.metadata.generation
        is_old = self._clock.monotonic() >= refusal.until
        if is_old or refusal.quotas != quotas or refusal.generation != generation:
            return None
        return refusal

    async def _resolve_uncertainty(self) -> None:
        """Reads what may or may not have been written, once the API server is surely through with it."""
        for key, settled_by in sorted(self._uncertain.items()):
            await asyncio.sleep(max(0.0, settled_by - self._clock.monotonic()))
            await self._reread(key)
            del self._uncertain[key]

    async def _reread(self, key: ObjectKey) -> None:
        try:
            await self._cluster.reread(key)
        except NotFound:
            return  # the cache hears of it

    def _holds(self, key: ObjectKey, quotas: EffectiveQuotas, mode: Mode) -> bool:
        held, view = self._cluster.views[key]
        return mode.road.holds(held.node, view, quotas)

    def _note_differences(self, outcomes: Mapping[str, Outcome], mode: Mode) -> None:
        self._metrics.differences.clear()
        for name, outcome in outcomes.items():
            count = sum(
                key not in self._cluster.views or not self._holds(key, quotas, mode)
                for key, quotas in outcome.quotas.items()
            )
            self._metrics.differences.labels(name).set(count)

    def _result(self) -> Result:
        """Come back when what is left alone may be tried again."""
        now = self._clock.monotonic()
        ends = [refusal.until for refusal in self._refusals.values()]
        again = self._rivals.until()
        if again is not None:
            ends.append(again)
        later = [end - now for end in ends if end > now]
        return Result(requeue_after=min(later)) if later else Result()
