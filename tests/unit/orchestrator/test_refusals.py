"""What the API server has refused is not asked again, until the object or its quotas change, or ten minutes later."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import cast

import pytest
from prometheus_client import CollectorRegistry

from kueue_dqo.runtime.controller import Result
from kueue_dqo.runtime.errors import ApiError
from orchestrator.cluster import Mode
from orchestrator.compute import Outcome
from orchestrator.enforcement.roads import Road
from orchestrator.metrics import OrchestratorMetrics
from orchestrator.reconciler import EVERYTHING, REFUSAL_KEPT, Reconciler
from orchestrator.rival_watch import RivalWatch
from orchestrator.status_writer import StatusWriter
from orchestrator.statuses import Progress
from orchestrator.transition import Transition, Write
from orchestrator.writing import QuotaWriter, Report
from tests.unit.kueue_dqo.runtime.virtual_time import VirtualClock
from tests.unit.orchestrator.builders import provider, queue_key
from tests.unit.orchestrator.watched import Known, Told, orchestrator, queue

pytestmark = pytest.mark.looptime

A = queue_key("team-a")


class Refusing:
    """A writer to an API server that refuses all."""

    def __init__(self, refused: list[Write]) -> None:
        self._refused = refused

    async def write(
        self, transitions: Mapping[str, Transition], road: Road, is_outdated: Callable[[], bool], report: Report
    ) -> None:
        del road, is_outdated

        for transition in transitions.values():
            while (write := transition.next_write()) is not None:
                self._refused.append(write)
                transition.failed(write.key, may_have_landed=False)
                report.refused[write.key] = "403 Forbidden: a webhook says no"


class Passes:
    """A reconciler over one queue, whose every write is refused. Statuses are kept here."""

    def __init__(self) -> None:
        self.known = Known(Mode(Road.STATUS, writes=True))
        self.known.orchestrators["dqo"] = orchestrator(root="team-a")
        self.known.views[A] = queue()
        self.capacity(6)
        self.refused: list[Write] = []
        self.progress = Progress()
        clock, metrics = VirtualClock(), OrchestratorMetrics(CollectorRegistry())
        rivals = RivalWatch(
            self.known.cluster, may_write=lambda: True, events=Told().recorder, clock=clock, metrics=metrics
        )
        self.reconciler = Reconciler(
            self.known.cluster,
            writer=cast("QuotaWriter", Refusing(self.refused)),
            statuses=cast("StatusWriter", self),
            rivals=rivals,
            on_quotas=lambda _: None,
            may_write=lambda: True,
            clock=clock,
            metrics=metrics,
        )

    def capacity(self, cpu: int) -> None:
        self.known.providers["pool"] = provider("pool", {"default": {"cpu": cpu}})

    async def write(self, outcomes: Mapping[str, Outcome], progress: Mapping[str, Progress]) -> dict[str, ApiError]:
        assert outcomes.keys() == {"dqo"}
        self.progress = progress["dqo"]
        return {}

    async def one(self) -> Result:
        return await self.reconciler.reconcile(EVERYTHING)


async def test_a_refused_write_is_not_repeated_and_stays_in_the_condition() -> None:
    passes = Passes()
    for _ in range(5):
        await passes.one()
        await asyncio.sleep(10)
    assert [write.key for write in passes.refused] == [A]
    assert passes.progress.is_settled
    assert passes.progress.refused == {A: "403 Forbidden: a webhook says no"}


async def test_it_is_tried_again_ten_minutes_later_without_a_reason() -> None:
    """The pass says when it wants to be called."""
    passes = Passes()
    result = await passes.one()
    assert result.requeue_after == REFUSAL_KEPT
    await asyncio.sleep(REFUSAL_KEPT - 1)
    assert (await passes.one()).requeue_after == pytest.approx(1)
    assert len(passes.refused) == 1
    await asyncio.sleep(1)
    assert (await passes.one()).requeue_after == REFUSAL_KEPT
    assert len(passes.refused) == 2


async def test_other_quotas_are_tried_at_once() -> None:
    passes = Passes()
    await passes.one()
    passes.capacity(7)
    await passes.one()
    await passes.one()
    assert len(passes.refused) == 2


async def test_a_changed_object_is_tried_at_once() -> None:
    """Whoever changed it may have mended it. A change of its status alone is none."""
    passes = Passes()
    await passes.one()
    passes.known.views[A] = queue(generation=1)
    await passes.one()
    assert len(passes.refused) == 1
    passes.known.views[A] = queue(generation=2)
    await passes.one()
    assert len(passes.refused) == 2


async def test_a_refusal_is_forgotten_with_its_object() -> None:
    passes = Passes()
    await passes.one()
    view = passes.known.views.pop(A)
    result = await passes.one()
    assert result.requeue_after is None or result.requeue_after > 0
    passes.known.views[A] = view
    await passes.one()
    assert len(passes.refused) == 2
