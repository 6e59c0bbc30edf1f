"""One cluster under two names."""

from __future__ import annotations

import datetime

import pytest

from providers.multikueue.objects import Problem, WorkerCount
from providers.multikueue.twins import without_twins

NOW = datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC)


def has(*uids: str) -> WorkerCount:
    return WorkerCount({}, tuple(f"queue-{uid}" for uid in uids), {}, frozenset(uids))


def test_clusters_that_differ_all_count() -> None:
    seen = {"b": has("1", "2"), "a": has("3"), "c": has(), "d": Problem("away", NOW)}
    assert without_twins(seen, {"9"}, NOW) == seen


def test_of_two_names_of_one_cluster_the_first_counts() -> None:
    """One queue in common is enough: they may be reached by different LocalQueues."""
    found = without_twins({"b": has("1", "2"), "a": has("2", "3"), "c": has("4")}, set(), NOW)
    assert found["a"] == has("2", "3")
    assert found["c"] == has("4")
    problem = found["b"]
    assert isinstance(problem, Problem)
    assert problem.text.startswith("it is the same cluster as worker a, ")


def test_the_manager_is_no_worker_of_its_own() -> None:
    """Its quotas would grow with what is published of them."""
    problem = without_twins({"a": has("1")}, {"1"}, NOW)["a"]
    assert isinstance(problem, Problem)
    assert "the manager itself" in problem.text


@pytest.mark.parametrize("uid", ["", "1"])
def test_a_worker_that_tells_no_uids_counts(uid: str) -> None:
    """Nobody can tell then; real API servers always do."""
    assert without_twins({"a": WorkerCount({}, ("q",), {}), "b": has("2")}, {uid} - {""}, NOW)["a"] == WorkerCount(
        {}, ("q",), {}
    )
