"""What is known of reports, by the order in which things are seen."""

from __future__ import annotations

import datetime
from typing import Any

import pytest

from providers.nvidia_gpu.decoding import Report
from providers.nvidia_gpu.hearing import Seen
from providers.nvidia_gpu.reports import Reports
from tests.unit.providers.nvidia_gpu.gpus import GPU, NOW, ago, decoded, manifest


class Watching:
    """Reports of n1 as a process gets to know them."""

    def __init__(self) -> None:
        self.reports = Reports()
        self._held: Report | None = None

    @property
    def seen(self) -> Seen:
        return self.reports.seen["n1"]

    def take(self, content: dict[str, Any], now: datetime.datetime = NOW, *, is_live: bool = True) -> bool:
        self._held = decoded(content, self._held)
        return self.reports.take(self._held, now, is_live=is_live)

    def problem(self) -> str | None:
        problem = self.seen.report.spec.problem
        return problem.reason if problem is not None else None


def test_what_a_list_brings_was_written_when_the_api_server_says_so_and_never_in_the_future() -> None:
    watching = Watching()
    assert watching.take(manifest(renewed=ago(100)), is_live=False)
    assert watching.seen.written == ago(100)
    watching = Watching()
    watching.take(manifest(renewed=ago(-100)), is_live=False)
    assert watching.seen.written == NOW


def test_what_the_watch_brings_was_written_now_by_our_clock() -> None:
    """That of the API server may go an hour behind, and its agents would all be silent."""
    watching = Watching()
    watching.take(manifest(renewed=ago(3900)), ago(300), is_live=False)
    assert not watching.take(manifest(renewed=ago(3600)))
    assert watching.seen.written == NOW


def test_only_another_renew_time_is_a_word_of_the_agent() -> None:
    """Somebody may add a label, or the problem may come and go by itself."""
    watching = Watching()
    watching.take(manifest(renewed=ago(100)), is_live=False)
    watching.take(manifest(renewed=ago(100), problem="NVMLError"))
    assert watching.seen.written == ago(100)


def test_a_word_that_was_heard_stays_heard_whatever_the_clock_of_the_api_server_says() -> None:
    """It goes an hour behind here, and what comes next is no word of the agent."""
    watching = Watching()
    watching.take(manifest(renewed=ago(4000)), ago(400), is_live=False)
    watching.take(manifest(renewed=ago(3900)), ago(300))
    watching.take(manifest(renewed=ago(3900), problem="NVMLError"))
    assert watching.seen.written == ago(300)


def test_news_is_what_says_something_else() -> None:
    watching = Watching()
    assert watching.take(manifest(renewed=ago(300)))
    assert not watching.take(manifest(renewed=ago(200)))
    assert watching.take(manifest(healthy={GPU: 7}, broken={"GPU-5a": "Lost"}, renewed=ago(100)))
    assert watching.take(manifest(renewed=NOW))


# --- problems ------------------------------------------------------------------------------------------------------


def test_a_problem_goes_on_since_it_was_seen_first_whatever_it_becomes() -> None:
    watching = Watching()
    watching.take(manifest(renewed=ago(400)), is_live=False)
    assert watching.take(manifest(renewed=ago(400), problem="NVMLError"), ago(300))
    assert watching.take(manifest(renewed=ago(400), problem="LibraryNotFound"), ago(100))
    assert watching.seen.problem_since == ago(300)


def test_a_problem_that_a_list_brings_began_when_the_api_server_took_it() -> None:
    watching = Watching()
    watching.take(manifest(renewed=ago(400), problem="NVMLError"), is_live=False)
    assert watching.seen.problem_since == ago(400)


def test_an_agent_that_starts_anew_again_and_again_does_not_begin_its_problem_anew() -> None:
    """It takes the problem away before it reads anything; a grace time would never end, and the capacity flap."""
    watching = Watching()
    watching.take(manifest(renewed=ago(400)), is_live=False)
    watching.take(manifest(renewed=ago(400), problem="LibraryNotFound"), ago(300))
    assert not watching.take(manifest(renewed=ago(400)), ago(200))
    assert watching.problem() == "LibraryNotFound"
    assert not watching.take(manifest(renewed=ago(400), problem="LibraryNotFound"), ago(199))
    assert watching.seen.problem_since == ago(300)


@pytest.mark.parametrize("order", ["inventory first", "problem first", "at once"])
def test_a_problem_is_over_once_the_inventory_was_renewed_without_it(order: str) -> None:
    watching = Watching()
    watching.take(manifest(renewed=ago(400)), is_live=False)
    watching.take(manifest(renewed=ago(400), problem="LibraryNotFound"), ago(300))
    if order == "inventory first":
        watching.take(manifest(renewed=ago(10), problem="LibraryNotFound"), ago(10))
        assert watching.problem() == "LibraryNotFound"
    if order == "problem first":
        watching.take(manifest(renewed=ago(400)), ago(10))
    assert watching.take(manifest(renewed=ago(10)), ago(9))
    assert watching.problem() is None
    assert watching.seen.problem_since is None


def test_nonsense_is_over_as_soon_as_it_is_none() -> None:
    watching = Watching()
    watching.take(manifest(gpus=-1))
    assert watching.problem() == "InvalidReport"
    assert watching.take(manifest())
    assert watching.problem() is None


# --- what is gone --------------------------------------------------------------------------------------------------


def test_a_report_that_is_deleted_is_remembered_while_its_node_is_there() -> None:
    watching = Watching()
    watching.take(manifest(renewed=ago(100)))
    watching.reports.lose("n1", NOW, node="uid")
    assert watching.seen.gone_since == NOW
    assert watching.seen.report.spec.inventory is not None
    watching.reports.see_node("n1", None)
    assert "n1" not in watching.reports.seen


def test_a_report_that_is_deleted_with_its_node_is_forgotten() -> None:
    watching = Watching()
    watching.take(manifest())
    watching.reports.see_node("n1", None)
    assert "n1" in watching.reports.seen
    watching.reports.lose("n1", NOW, node=None)
    assert not watching.reports.seen


def test_a_report_that_comes_back_is_news_even_if_it_says_the_same() -> None:
    watching = Watching()
    watching.take(manifest(renewed=ago(100)))
    watching.reports.lose("n1", ago(50), node="uid")
    assert watching.take(manifest(renewed=NOW))
    assert watching.seen.gone_since is None


def test_what_was_never_known_can_be_lost() -> None:
    """It could not be decoded, so that nobody heard of it."""
    reports = Reports()
    reports.lose("n1", NOW, node="uid")
    reports.see_node("n1", None)
    assert not reports.seen


@pytest.mark.parametrize(("is_live", "since"), [(True, 50), (False, 60)], ids=["by the watch", "by a list"])
def test_a_report_that_a_finalizer_keeps_is_deleted_from_that_moment_on(is_live: bool, since: float) -> None:
    """Whatever its agent goes on to write there."""
    watching = Watching()
    watching.take(manifest(renewed=ago(100)), ago(100))
    assert watching.take(manifest(renewed=ago(55), deleted=ago(60)), ago(50), is_live=is_live)
    assert (watching.seen.gone_since, watching.seen.written) == (ago(since), ago(100))
    assert not watching.take(manifest(healthy={GPU: 7}, renewed=ago(10), deleted=ago(60)), ago(10))
    assert (watching.seen.gone_since, watching.seen.written) == (ago(since), ago(100))
    watching.reports.lose("n1", ago(5), node="uid")
    assert watching.seen.gone_since == ago(since)
    assert watching.take(manifest(renewed=NOW))
    again = watching.seen
    assert (again.gone_since, again.written) == (None, NOW)


def test_a_report_that_was_being_deleted_before_anybody_watched_is_known_as_one_that_is_gone() -> None:
    watching = Watching()
    assert watching.take(manifest(renewed=ago(10), deleted=ago(300)), is_live=False)
    assert (watching.seen.gone_since, watching.seen.written) == (ago(300), ago(10))
    assert has_inventory(watching)
    watching = Watching()
    watching.take(manifest(renewed=ago(10), deleted=ago(-300)), is_live=False)
    assert watching.seen.gone_since == NOW


def test_what_a_machine_of_the_same_name_left_behind_is_not_what_is_deleted() -> None:
    watching = Watching()
    watching.take(manifest(renewed=ago(100), owner="old"))
    watching.take(manifest(renewed=ago(10), owner="new", deleted=ago(5)), ago(5))
    assert (watching.seen.owner, watching.seen.gone_since) == ("new", ago(5))


# --- what stands while nothing can be told -------------------------------------------------------------------------


def has_inventory(watching: Watching) -> bool:
    return watching.seen.report.spec.inventory is not None


def only_problem(reason: str = "LibraryNotFound", **more: Any) -> dict[str, Any]:
    content = manifest(problem=reason, **more)
    del content["spec"]["inventory"]
    return content


NONSENSE = manifest(gpus=-1, renewed=ago(5))


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        pytest.param(NONSENSE, "InvalidReport", id="nonsense"),
        pytest.param(manifest(healthy={}, renewed=ago(5)), "NoDevices", id="no devices"),
        pytest.param(manifest(healthy={GPU: 0}, renewed=ago(5)), "NoDevices", id="no devices, in so many words"),
        pytest.param(
            manifest(healthy={}, problem="LibraryNotFound", renewed=ago(5)), "LibraryNotFound", id="a problem beside it"
        ),
        pytest.param(only_problem(), "LibraryNotFound", id="nothing but a problem"),
    ],
)
def test_what_was_known_stands_beside_a_report_that_tells_nothing(content: dict[str, Any], reason: str) -> None:
    watching = Watching()
    watching.take(manifest(renewed=ago(100)), is_live=False)
    known = watching.seen.report.spec.inventory
    assert watching.take(content, ago(10))
    assert watching.seen.report.spec.inventory is known
    assert watching.problem() == reason
    assert watching.seen.problem_since == ago(10)
    assert not watching.take(content, NOW)
    assert watching.seen.problem_since == ago(10)
    assert watching.take(manifest(renewed=NOW))
    assert watching.problem() is None


@pytest.mark.parametrize(
    "content", [NONSENSE, manifest(healthy={}), only_problem()], ids=["invalid", "none", "problem"]
)
def test_a_report_that_never_told_anything_has_nothing_that_stands(content: dict[str, Any]) -> None:
    watching = Watching()
    watching.take(content)
    watching.take(content)
    assert not has_inventory(watching)


@pytest.mark.parametrize(
    "some",
    [
        {"healthy": {}, "gpus": 1},
        {"healthy": {}, "broken": {"GPU-5a": "Lost"}},
        {"healthy": {}, "unhealthyNotListed": 1},
    ],
    ids=["a GPU without MIG devices", "a lost GPU", "one that is not listed"],
)
def test_a_node_that_has_any_device_tells_of_it(some: dict[str, Any]) -> None:
    watching = Watching()
    watching.take(manifest(**some))
    assert watching.problem() is None
    assert has_inventory(watching)


@pytest.mark.parametrize("content", [NONSENSE, only_problem()], ids=["invalid", "problem"])
def test_after_a_deletion_it_stands_as_long_as_an_agent_needs_to_write_anew(content: dict[str, Any]) -> None:
    """And since the deletion: no grace begins anew."""
    for waited, stands in ((899, True), (900, False)):
        watching = Watching()
        watching.take(manifest(renewed=ago(1000)), is_live=False)
        watching.reports.lose("n1", ago(950), node="")
        watching.take(content, ago(950 - waited))
        assert has_inventory(watching) is stands
        assert watching.seen.problem_since == ago(950)


def test_an_agent_that_begins_anew_with_an_empty_report_has_not_spoken_yet() -> None:
    empty = manifest()
    empty["spec"] = {}
    watching = Watching()
    watching.take(manifest(renewed=ago(100)), is_live=False)
    watching.reports.lose("n1", ago(50), node="")
    assert not watching.take(empty, ago(40))
    assert has_inventory(watching)
    assert watching.seen.gone_since == ago(50)
    watching.reports.lose("n1", ago(30), node="")
    assert watching.seen.gone_since == ago(50)
    assert watching.take(manifest(renewed=ago(20)), ago(20))
    assert watching.seen.gone_since is None


def test_an_inventory_that_somebody_takes_away_is_as_a_report_that_is_deleted() -> None:
    empty = manifest()
    empty["spec"] = {}
    watching = Watching()
    watching.take(manifest(renewed=ago(100)), is_live=False)
    assert watching.take(empty, ago(40))
    assert (has_inventory(watching), watching.seen.gone_since) == (True, ago(40))


# --- nodes of the same name ----------------------------------------------------------------------------------------


def test_nothing_of_another_machine_stands_under_its_name() -> None:
    watching = Watching()
    watching.take(manifest(renewed=ago(100), owner="old"), is_live=False)
    watching.take(manifest(renewed=ago(100), problem="NVMLError", owner="old"), ago(90))
    assert watching.take(only_problem(owner="new"), ago(10))
    assert not has_inventory(watching)
    assert watching.seen.problem_since == ago(10)
    assert watching.seen.owner == "new"


def test_a_report_that_began_with_a_problem_gets_its_owner_with_its_first_inventory() -> None:
    """That is no other machine, and the problem is over as any other is."""
    watching = Watching()
    watching.take(only_problem("NoDevices"), ago(20))
    watching.take(manifest(renewed=ago(10), problem="NoDevices", owner="mine"), ago(10))
    assert watching.seen.problem_since == ago(20)
    assert watching.take(manifest(renewed=ago(10), owner="mine"), ago(9))
    assert watching.problem() is None
    assert watching.seen.owner == "mine"


def test_a_report_that_is_deleted_with_another_machine_is_forgotten() -> None:
    watching = Watching()
    watching.take(manifest(owner="old"))
    watching.reports.lose("n1", NOW, node="new")
    assert not watching.reports.seen


@pytest.mark.parametrize(("uid", "is_kept"), [("old", True), ("new", False), (None, False)])
def test_what_is_gone_is_remembered_as_long_as_its_machine_is_there(uid: str | None, *, is_kept: bool) -> None:
    watching = Watching()
    watching.take(manifest(owner="old"))
    watching.reports.lose("n1", NOW, node="old")
    watching.reports.see_node("n1", uid)
    assert ("n1" in watching.reports.seen) is is_kept


def test_a_process_that_begins_anew_knows_nothing() -> None:
    watching = Watching()
    watching.take(manifest())
    watching.take(manifest(problem="NVMLError"))
    watching.reports.clear()
    assert not watching.reports.seen
    watching.take(only_problem())
    assert not has_inventory(watching)
