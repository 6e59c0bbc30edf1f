"""Rivals as they are noticed: what counts as one, what is told, and when all goes on."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest
from prometheus_client import CollectorRegistry
from structlog.testing import capture_logs

from orchestrator.cluster import Mode
from orchestrator.enforcement.roads import Road
from orchestrator.enforcement.spec import FIELD_MANAGER
from orchestrator.metrics import OrchestratorMetrics
from orchestrator.rival_watch import RivalWatch
from orchestrator.rivals import WINDOW
from tests.unit.kueue_dqo.runtime.virtual_time import VirtualClock
from tests.unit.orchestrator.builders import queue_key
from tests.unit.orchestrator.watched import OBSERVES, REFERENCE, Known, Told, orchestrator, queue, wrote, wrote_quotas

pytestmark = pytest.mark.looptime

STATUS = Mode(Road.STATUS, writes=True)
KUEUE = (wrote("kueue", "12:00:05"),)
LOG = "Kueue's own orchestrator is at work, standing down"


class Watching:
    """A leader's watch, that has begun with one orchestrator."""

    def __init__(self, mode: Mode = STATUS) -> None:
        self.known = Known(mode)
        self.known.orchestrators["dqo"] = orchestrator(managed=(wrote("kueue", "12:00:00"),))
        self.told = Told()
        self.registry = CollectorRegistry()
        self.leads = True
        self.watch = RivalWatch(
            self.known.cluster,
            may_write=lambda: self.leads,
            events=self.told.recorder,
            clock=VirtualClock(),
            metrics=OrchestratorMetrics(self.registry),
        )
        self.watch.start()

    def kueue_writes(self, time: str = "12:00:05", name: str = "dqo") -> None:
        self.known.orchestrators[name] = orchestrator(name, managed=(wrote("kueue", time),))
        self.watch.orchestrator_changed(name, self.known.orchestrators[name])

    def field_vanishes(self, name: str = "team-a", owner: str = "dqo") -> None:
        _, before = queue(name, effective="6", owner=REFERENCE | {"name": owner})
        held, after = queue(name, managed=KUEUE)
        self.watch.quotas_changed(held, before, after)

    def numbers_change(self, before: str, after: str, manager: str = "robot", owner: str = "dqo") -> None:
        """Effective quotas of cpu, under the same name."""
        reference = REFERENCE | {"name": owner}
        _, old = queue(effective=before, owner=reference)
        managed = (wrote("kueue", "12:00:09"), wrote_quotas(manager, "12:00:05"))
        held, new = queue(effective=after, owner=reference, managed=managed)
        self.watch.quotas_changed(held, old, new)

    def metric(self, name: str, /, **labels: str) -> float | None:
        return self.registry.get_sample_value(name, labels)


async def test_kueue_at_work_is_told_once_and_ends_ten_minutes_after_its_last_write() -> None:
    watching = Watching()
    assert not watching.watch.is_down()
    with capture_logs() as logs:
        watching.kueue_writes()
        await asyncio.sleep(100)
        watching.kueue_writes("12:01:45")
    assert [line["event"] for line in logs] == [LOG]
    (event,) = watching.told.events
    assert (event.name, event.reason) == ("dqo", "StandingDown")
    assert watching.metric("kueue_dqo_standing_down") == 1
    assert watching.watch.until() == 100 + WINDOW
    await asyncio.sleep(WINDOW - 1)
    assert watching.watch.is_down()
    await asyncio.sleep(1)
    assert not watching.watch.is_down()
    assert watching.metric("kueue_dqo_standing_down") == 0
    assert watching.watch.until() is None
    watching.kueue_writes("12:11:46")
    assert watching.watch.is_down()
    assert watching.told.reasons == ["StandingDown"] * 2


async def test_where_nothing_is_written_kueue_is_welcome() -> None:
    """But where writing begins within ten minutes of it, that waits."""
    watching = Watching(OBSERVES)
    watching.kueue_writes()
    assert watching.told.events == []
    assert not watching.watch.is_down()
    assert watching.metric("kueue_dqo_standing_down") == 0
    watching.known.mode = STATUS
    assert watching.watch.is_down()
    await asyncio.sleep(WINDOW)
    assert not watching.watch.is_down()


async def test_a_field_that_vanishes_twice_is_told_and_left_for_ten_minutes() -> None:
    watching = Watching()
    watching.field_vanishes()
    assert watching.watch.stopped() == {}
    assert watching.told.reasons == ["QuotasReverted"]
    await asyncio.sleep(60)
    watching.field_vanishes()
    stopped = watching.watch.stopped()[queue_key("team-a")]
    assert (stopped.manager, stopped.times) == ("kueue", 2)
    assert "--enforcement=spec" in stopped.way_out
    assert watching.told.reasons == ["QuotasReverted", "QuotasReverted", "QuotasLeftAlone"]
    reverts = {"kind": "ClusterQueue", "name": "team-a", "manager": "kueue"}
    assert watching.metric("kueue_dqo_quota_reverts_total", **reverts) == 2
    assert watching.metric("kueue_dqo_quota_objects_stopped") == 1
    assert watching.watch.until() == 60 + WINDOW
    watching.leads = False
    assert watching.metric("kueue_dqo_quota_objects_stopped") == 0  # the next leader leaves nothing alone
    watching.leads = True
    await asyncio.sleep(WINDOW - 1)
    assert watching.metric("kueue_dqo_quota_objects_stopped") == 1
    await asyncio.sleep(1)
    assert watching.watch.stopped() == {}
    assert watching.metric("kueue_dqo_quota_objects_stopped") == 0


def _does_not_lead(watching: Watching) -> None:
    watching.leads = False


def _only_observes(watching: Watching) -> None:
    watching.known.mode = OBSERVES


def _has_lost_the_orchestrator(watching: Watching) -> None:
    watching.known.orchestrators.clear()


def _stands_down(watching: Watching) -> None:
    watching.kueue_writes()


@pytest.mark.parametrize("case", [_does_not_lead, _only_observes, _has_lost_the_orchestrator, _stands_down])
async def test_what_vanishes_is_nobodys_fault_where_we_do_not_keep_it_up(case: Callable[[Watching], None]) -> None:
    watching = Watching()
    case(watching)
    for _ in range(3):
        watching.field_vanishes()
        watching.numbers_change("6", "7")
    assert watching.watch.stopped() == {}
    assert "QuotasReverted" not in watching.told.reasons


async def test_whoever_puts_other_numbers_in_our_name_undoes_ours() -> None:
    """On the status road. It is named by the field, although Kueue has written the status since."""
    watching = Watching()
    watching.numbers_change("6", "7")
    watching.numbers_change("6", "7")
    stopped = watching.watch.stopped()[queue_key("team-a")]
    assert (stopped.manager, stopped.times) == ("robot", 2)
    assert "make it leave status.effectiveQuotas alone" in stopped.way_out
    assert watching.told.reasons == ["QuotasReverted", "QuotasReverted", "QuotasLeftAlone"]


async def test_whoever_changes_numbers_of_its_own_undoes_nothing() -> None:
    """Or takes them away, before we have come to write ours again."""
    watching = Watching()
    watching.numbers_change("6", "7")
    watching.numbers_change("7", "8")
    watching.watch.quotas_changed(queue()[0], queue(effective="8")[1], queue()[1])
    assert watching.told.reasons == ["QuotasReverted"]
    watching.numbers_change("6", "8")
    assert watching.told.reasons == ["QuotasReverted", "QuotasReverted", "QuotasLeftAlone"]


async def test_numbers_of_an_object_that_is_gone_are_forgotten() -> None:
    """In one that is made anew, the same numbers are ours."""
    watching = Watching()
    watching.numbers_change("6", "7")
    watching.watch.quotas_changed(*queue(effective="7"), None)
    watching.numbers_change("7", "8")
    assert watching.told.reasons == ["QuotasReverted"] * 2


async def test_a_late_write_of_ours_is_no_revert() -> None:
    """One that was taken for lost, so that its numbers come as news."""
    watching = Watching()
    watching.numbers_change("6", "7", manager=FIELD_MANAGER)
    watching.numbers_change("7", "8", manager=FIELD_MANAGER)
    assert watching.told.events == []


async def test_a_new_declaration_is_no_revert() -> None:
    """The effective quotas are what they were, whoever has written them."""
    watching = Watching()
    held, before = queue(effective="6", managed=(wrote_quotas("robot", "12:00:05"),))
    watching.watch.quotas_changed(held, before, before._replace(member=before.member._replace(declared=())))
    assert watching.told.events == []


async def test_a_replica_that_does_not_lead_tells_nothing_of_kueue() -> None:
    watching = Watching()
    watching.leads = False
    watching.kueue_writes()
    assert watching.told.events == []


async def test_an_object_that_comes_or_goes_is_not_undone() -> None:
    """And its past goes with it."""
    watching = Watching()
    held, view = queue(effective="6")
    watching.field_vanishes()
    watching.watch.quotas_changed(held, view, None)
    watching.watch.quotas_changed(held, None, queue()[1])
    watching.field_vanishes()
    assert watching.watch.stopped() == {}


async def test_an_object_that_has_the_name_of_another_is_not_undone() -> None:
    """Its predecessor was deleted while the watch was interrupted."""
    watching = Watching()
    for _ in range(3):
        watching.watch.quotas_changed(queue(uid="new")[0], queue(effective="6", uid="old")[1], queue(uid="new")[1])
    assert watching.told.events == []


async def test_the_series_of_an_object_that_is_gone_goes_with_it() -> None:
    """Every manager's, and no other object's."""
    watching = Watching()
    reverts = "kueue_dqo_quota_reverts_total"
    watching.field_vanishes()
    watching.numbers_change("6", "7")
    watching.field_vanishes("team-b")
    labels = [
        {"kind": "ClusterQueue", "name": name, "manager": manager}
        for name, manager in (("team-a", "kueue"), ("team-a", "robot"), ("team-b", "kueue"))
    ]
    assert [watching.metric(reverts, **each) for each in labels] == [1, 1, 1]
    held, view = queue(effective="6")
    watching.watch.quotas_changed(held, view, None)
    assert [watching.metric(reverts, **each) for each in labels] == [None, None, 1]
    watching.field_vanishes()
    assert watching.metric(reverts, **labels[0]) == 1


async def test_other_numbers_of_another_writer_are_no_revert_on_the_status_road() -> None:
    """Whose they are is a matter of ownership."""
    watching = Watching()
    robot = {"apiGroup": "example.com", "kind": "Robot", "name": "r"}
    held, after = queue(effective="7", owner=robot, managed=(wrote_quotas("robot", "12:00:05"),))
    for _ in range(3):
        watching.watch.quotas_changed(held, queue(effective="6")[1], after)
    assert watching.told.events == []


@pytest.mark.parametrize("part", [{"kind": "Robot"}, {"apiGroup": "example.com"}], ids=["kind", "group"])
async def test_foreign_quotas_that_go_are_no_revert(part: dict[str, str]) -> None:
    """Their writer lets go of them, as it is asked to; it may have the name of an orchestrator of ours."""
    watching = Watching()
    watching.watch.quotas_changed(queue()[0], queue(effective="7", owner=REFERENCE | part)[1], queue()[1])
    assert watching.told.events == []


async def test_an_orchestrator_that_goes_is_forgotten() -> None:
    watching = Watching()
    watching.watch.orchestrator_changed("dqo", None)
    watching.kueue_writes("12:00:00")  # another one of that name, within the same second
    assert watching.watch.is_down()
