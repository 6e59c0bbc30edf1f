"""A pass that is interrupted goes on where it was, so that the last in line has its turn too."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any, cast

import pytest
from prometheus_client import CollectorRegistry

from kueue_dqo.api.meta import ObjectKey
from kueue_dqo.runtime.errors import ApiError
from orchestrator.cluster import Mode
from orchestrator.compute import Outcome
from orchestrator.enforcement.held import held_of
from orchestrator.enforcement.objects import held_orchestrator
from orchestrator.enforcement.roads import Road
from orchestrator.metrics import OrchestratorMetrics
from orchestrator.reconciler import EVERYTHING, Reconciler
from orchestrator.rival_watch import RivalWatch
from orchestrator.status_writer import StatusWriter
from orchestrator.statuses import Progress
from orchestrator.transition import Transition
from orchestrator.writing import QuotaWriter, Report
from tests.integration import objects
from tests.unit.kueue_dqo.runtime.virtual_time import VirtualClock
from tests.unit.orchestrator.builders import provider
from tests.unit.orchestrator.watched import Known, Told

pytestmark = pytest.mark.looptime


class TwoAtATime:
    """A writer that is interrupted after two writes, each time. Statuses are taken as they come."""

    def __init__(self) -> None:
        self.written: list[ObjectKey] = []

    async def write(
        self, transitions: Mapping[str, Transition], road: Road, is_outdated: Callable[[], bool], report: Report
    ) -> None:
        del road, is_outdated
        for name, transition in transitions.items():
            for _ in range(2):
                write = transition.next_write()
                assert write is not None
                transition.landed(write.key)
                self.written.append(write.key)
                report.last[name] = write.key
        report.was_interrupted = True


class Statuses:
    """Takes every status."""

    async def write(self, outcomes: Mapping[str, Outcome], progress: Mapping[str, Progress]) -> dict[str, ApiError]:
        del outcomes, progress
        return {}


async def test_every_queue_has_its_turn_however_often_capacities_change() -> None:
    """Each pass computes anew and finds every queue to be written; two are, then the capacity changes again."""
    known, clock = Known(Mode(Road.STATUS, writes=True)), VirtualClock()
    metrics = OrchestratorMetrics(CollectorRegistry())
    names = [f"team-{number}" for number in range(6)]
    known.orchestrators["dqo"] = held_orchestrator(_raw(objects.orchestrator("dqo", "pool", root=("Cohort", "teams"))))
    known.providers["pool"] = provider("pool", {"default": {"cpu": 6}})
    members = [objects.cohort("teams", {"default": {"cpu": 1}})]
    members += [objects.queue(name, {"default": {"cpu": 1}}, cohort="teams") for name in names]
    for each in members:
        held = held_of(each["kind"], _raw(each))
        known.views[held.key] = (held, Road.STATUS.view(held))
    writer = TwoAtATime()
    reconciler = Reconciler(
        known.cluster,
        writer=cast("QuotaWriter", writer),
        statuses=cast("StatusWriter", Statuses()),
        rivals=RivalWatch(known.cluster, may_write=lambda: True, events=Told().recorder, clock=clock, metrics=metrics),
        on_quotas=lambda _: None,
        may_write=lambda: True,
        clock=clock,
        metrics=metrics,
    )
    for _ in range(4):
        await reconciler.reconcile(EVERYTHING)
    assert {key.name for key in writer.written} == {"teams", *names}


def _raw(obj: dict[str, Any]) -> bytes:
    obj["metadata"] |= {"uid": obj["metadata"]["name"], "resourceVersion": "1", "generation": 1}
    return json.dumps(obj).encode()
