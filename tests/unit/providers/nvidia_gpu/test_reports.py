"""What is known of reports, by the order in which things are seen."""

from __future__ import annotations

import datetime
from typing import Any

import pytest

from providers.nvidia_gpu.decoding import Report
from providers.nvidia_gpu.reports import Reports
from providers.nvidia_gpu.silence import Seen
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
    watching.reports.lose("n1", NOW, is_node_there=True)
    assert watching.seen.gone_since == NOW
    assert watching.seen.report.spec.inventory is not None
    watching.reports.lose_node("n1")
    assert "n1" not in watching.reports.seen


def test_a_report_that_is_deleted_with_its_node_is_forgotten() -> None:
    watching = Watching()
    watching.take(manifest())
    watching.reports.lose_node("n1")
    assert "n1" in watching.reports.seen
    watching.reports.lose("n1", NOW, is_node_there=False)
    assert not watching.reports.seen


def test_a_report_that_comes_back_is_news_even_if_it_says_the_same() -> None:
    watching = Watching()
    watching.take(manifest(renewed=ago(100)))
    watching.reports.lose("n1", ago(50), is_node_there=True)
    assert watching.take(manifest(renewed=NOW))
    assert watching.seen.gone_since is None


def test_what_was_never_known_can_be_lost() -> None:
    """It could not be decoded, so that nobody heard of it."""
    reports = Reports()
    reports.lose("n1", NOW, is_node_there=True)
    reports.lose_node("n1")
    assert not reports.seen
