"""Where Kueue's own orchestrator is expected to answer, silence is told after a minute, once."""

from __future__ import annotations

import asyncio
import contextlib

import pytest

from orchestrator.cluster import Mode
from orchestrator.enforcement.roads import Road
from orchestrator.gate_watch import PATIENCE, GateWatch
from tests.unit.kueue_dqo.runtime.virtual_time import VirtualClock
from tests.unit.orchestrator.watched import OBSERVES, Known, Told, orchestrator

pytestmark = pytest.mark.looptime


class Watching:
    """A watch that looks by itself, and what it has told."""

    def __init__(self, mode: Mode | None = OBSERVES) -> None:
        self.known = Known(mode)
        self.told = Told()
        self.watch = GateWatch(self.known.cluster, events=self.told.recorder, clock=VirtualClock())

    async def goes_on(self, seconds: float) -> None:
        running = asyncio.create_task(self.watch.run())
        await asyncio.sleep(seconds)
        running.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await running

    async def looks_after(self, seconds: float) -> None:
        await asyncio.sleep(seconds)
        self.watch.look()


async def test_silence_is_told_after_a_minute_and_names_both_ways_out() -> None:
    watching = Watching()
    watching.known.orchestrators["dqo"] = orchestrator()
    watching.watch.look()
    await watching.looks_after(PATIENCE - 1)
    assert watching.told.events == []
    await watching.looks_after(1)
    (event,) = watching.told.events
    assert (event.name, event.reason) == ("dqo", "NobodyOrchestrates")
    assert "within 60 s" in event.message
    assert "Kueue's feature gate DynamicQuotaOrchestration seems off. Switch it on" in event.message
    assert "--enforcement=spec" in event.message


async def test_it_is_told_once_for_an_hour_of_silence() -> None:
    watching = Watching()
    watching.known.orchestrators |= {name: orchestrator(name) for name in ("one", "two")}
    await watching.goes_on(3600)
    assert sorted(event.name for event in watching.told.events) == ["one", "two"]


@pytest.mark.parametrize("answered", [None, 1])
async def test_a_changed_orchestrator_has_a_minute_from_the_change_on(answered: int | None) -> None:
    """An answer to what it was before is none."""
    watching = Watching()
    watching.known.orchestrators["dqo"] = orchestrator(answered=answered)
    watching.watch.look()
    await asyncio.sleep(PATIENCE - 10)
    watching.known.orchestrators["dqo"] = orchestrator(generation=2, answered=answered)
    watching.watch.look()
    await watching.looks_after(PATIENCE - 1)
    assert watching.told.events == []
    await watching.looks_after(1)
    assert watching.told.reasons == ["NobodyOrchestrates"]


async def test_an_answer_in_time_is_enough() -> None:
    watching = Watching()
    watching.known.orchestrators["dqo"] = orchestrator()
    await watching.goes_on(PATIENCE - 5)
    watching.known.orchestrators["dqo"] = orchestrator(answered=1)
    await watching.goes_on(3600)
    assert watching.told.events == []


async def test_an_orchestrator_that_is_made_anew_is_another_one() -> None:
    """Of the same name and generation; it has a minute of its own, and its silence is told again."""
    watching = Watching()
    watching.known.orchestrators["dqo"] = orchestrator(uid="first")
    await watching.goes_on(PATIENCE + 10)
    assert len(watching.told.events) == 1
    watching.known.orchestrators["dqo"] = orchestrator(uid="second")
    await watching.goes_on(PATIENCE - 10)
    assert len(watching.told.events) == 1
    await watching.goes_on(30)
    assert len(watching.told.events) == 2


async def test_what_goes_away_is_forgotten() -> None:
    """One that comes back has its minute again."""
    watching = Watching()
    watching.known.orchestrators["dqo"] = orchestrator()
    await watching.goes_on(PATIENCE - 10)
    gone = watching.known.orchestrators.pop("dqo")
    watching.watch.look()
    watching.known.orchestrators["dqo"] = gone
    await watching.goes_on(PATIENCE - 10)
    assert watching.told.events == []


@pytest.mark.parametrize(
    "mode",
    [None, Mode(Road.SPEC, writes=True), Mode(Road.STATUS, writes=True), Mode(Road.SPEC, writes=False)],
    ids=["not known yet", "spec", "status", "observe with our definitions"],
)
async def test_nobody_else_is_expected_to_answer(mode: Mode | None) -> None:
    """Where this process writes itself, and where Kueue does not know the kind."""
    watching = Watching(mode)
    watching.known.orchestrators["dqo"] = orchestrator()
    await watching.goes_on(3600)
    assert watching.told.events == []


async def test_the_minute_begins_when_the_definition_becomes_kueues() -> None:
    watching = Watching(Mode(Road.SPEC, writes=True))
    watching.known.orchestrators["dqo"] = orchestrator()
    await watching.goes_on(3600)
    watching.known.mode = OBSERVES
    watching.watch.look()
    await watching.looks_after(PATIENCE - 1)
    assert watching.told.events == []
    await watching.looks_after(1)
    assert watching.told.reasons == ["NobodyOrchestrates"]
