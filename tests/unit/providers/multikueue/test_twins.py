"""One cluster under two names."""

from __future__ import annotations

import datetime

import pytest

from kueue_dqo.provider import Misconfigured
from providers.multikueue.objects import Problem, WorkerCount
from providers.multikueue.twins import refuse_twins

NOW = datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC)


def has(*uids: str) -> WorkerCount:
    return WorkerCount({}, tuple(f"queue-{uid}" for uid in uids), {}, frozenset(uids))


def test_clusters_that_differ_count() -> None:
    """Also one that tells no UIDs, which real API servers always do."""
    seen: dict[str, WorkerCount | Problem] = {"b": has("1", "2"), "a": has("3"), "c": has(), "d": Problem("away", NOW)}
    refuse_twins(seen, {"9"})
    refuse_twins({"a": has(), "b": has()}, ())


def test_two_names_of_one_cluster_are_a_mistake() -> None:
    """One queue in common is enough: they may be reached by different LocalQueues."""
    with pytest.raises(Misconfigured, match="MultiKueueCluster b leads to the same cluster as MultiKueueCluster a,"):
        refuse_twins({"b": has("1", "2"), "a": has("2", "3"), "c": has("4")}, ())


def test_the_manager_is_no_worker_of_its_own() -> None:
    """Its quotas would grow with what is published of them."""
    with pytest.raises(Misconfigured, match="MultiKueueCluster a leads to the same cluster as the manager itself,"):
        refuse_twins({"a": has("1")}, {"1"})
