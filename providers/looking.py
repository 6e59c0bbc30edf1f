"""One look at a CapacityProvider: the question, the answer, and what is to be published of it."""

from __future__ import annotations

from typing import NamedTuple

import structlog

from kueue_dqo.api import dqo
from kueue_dqo.provider import CapacityError, Notice, SourceUnavailable
from kueue_dqo.runtime.clock import Clock
from providers.asking import Asker, Outdated
from providers.directory import Directory
from providers.guards import Hold
from providers.metrics import SUCCESS, ProviderMetrics
from providers.pipeline import message_of_status, settle
from providers.record import Record
from providers.status import Held, Verdict

_log = structlog.get_logger(__name__)


class Look(NamedTuple):
    """What a look leads to."""

    verdict: Verdict
    again: float | None
    """Seconds until it leads to something else by itself; None: nobody knows."""
    holds: tuple[Hold, ...]
    acknowledged: tuple[Hold, ...] = ()
    notices: tuple[Notice, ...] = ()


class Looker:
    """Asks, and judges the answer. What it learns goes into the provider's record."""

    def __init__(self, directory: Directory, asker: Asker, *, clock: Clock, metrics: ProviderMetrics) -> None:
        self._directory = directory
        self._asker = asker
        self._clock = clock
        self._metrics = metrics

    async def look(self, held: Held, record: Record) -> Look:
        """Raises Outdated; whatever else is wrong, is what is to be said."""
        results = self._metrics.observations
        name = held.provider.metadata.name
        try:
            look = await self._observe(held, record)
        except Outdated:
            raise
        except CapacityError as error:
            return self._failed(name, record, error)
        except Exception as error:  # noqa: BLE001 - whatever a source has made us do, it must not go unsaid
            _log.exception("answer of the source cannot be judged", provider=name)
            return self._failed(
                name,
                record,
                SourceUnavailable(
                    f"the answer of the source cannot be judged: {type(error).__name__}: {error}; the log of the "
                    "daemon has the traceback"
                ),
            )
        results.labels(name, SUCCESS).inc()
        return look

    def _failed(self, name: str, record: Record, error: CapacityError) -> Look:
        self._metrics.observations.labels(name, error.reason).inc()
        # What is held goes on being told, so that a restart meanwhile does not prolong it; until it ends.
        now = self._clock.now()
        holds = tuple(hold for hold in record.holds if hold.until > now)
        again = [(hold.until - now).total_seconds() for hold in holds]
        if isinstance(error.look_again, int | float):  # a third party's may be anything
            again.append(error.look_again)
        verdict = Verdict(error.reason, message_of_status(holds, str(error), ()))
        return Look(verdict, min(again, default=None), holds, notices=record.notices)

    def forget(self, name: str) -> None:
        """The provider is served no more."""
        self._asker.forget(name)
        self._metrics.forget(name)

    async def _observe(self, held: Held, record: Record) -> Look:
        """Raises CapacityError and Outdated."""
        request = self._directory.request_for(held)
        provider = request.provider
        with self._metrics.seconds.time():
            observation = await self._asker.ask(request, record.outdated)
        record.observed, record.observed_time = observation.capacity, self._clock.now().timestamp()
        settled = settle(provider, request.parameters, observation.capacity)
        record.held_back = settled.held_back
        decision = record.memory.decide(
            request.parameters.guards,
            provider=provider,
            published=record.published,
            observed=settled.capacity,
            now=self._clock.now(),
            monotonic=self._clock.monotonic(),
        )
        message = message_of_status(decision.holds, observation.summary, settled.notes)
        again = [each for each in (observation.look_again, decision.look_again) if each is not None]
        return Look(
            Verdict(dqo.SYNCHRONIZED, message, decision.capacity),
            min(again, default=None),
            decision.holds,
            decision.acknowledged,
            observation.notices,
        )
