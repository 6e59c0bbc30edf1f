"""When to give way to other writers: counted within ten minutes, by this process's own clock."""

from __future__ import annotations

from typing import Any

import pytest

from kueue_dqo.api.meta import ManagedFields
from orchestrator.rivals import (
    WINDOW,
    Reverts,
    StandDown,
    Stopped,
    writer_of_effective_quotas,
    writer_of_spec,
    writer_of_status,
)
from tests.unit.orchestrator.builders import queue_key

WAY_OUT = "switch it off"
A, B = queue_key("team-a"), queue_key("team-b")


def _status_of(manager: str, time: str | None, subresource: str = "status") -> ManagedFields:
    return ManagedFields(manager, "Update", subresource, time, {"f:status": {}})


def _quotas_of(manager: str, time: str) -> ManagedFields:
    fields: dict[str, Any] = {"f:status": {"f:effectiveQuotas": {"f:resourceGroups": {}}}}
    return ManagedFields(manager, "Update", "status", time, fields)


def _spec_of(manager: str, time: str | None) -> ManagedFields:
    return ManagedFields(manager, "Apply", "", time, {"f:spec": {"f:resourceGroups": {}}})


@pytest.mark.parametrize("limit", [2, 3])
def test_an_object_is_left_alone_at_the_limit_and_not_before(limit: int) -> None:
    """Its stop is reported once. Others are not touched."""
    reverts = Reverts(limit=limit, way_out=WAY_OUT)
    for time in range(limit - 1):
        assert reverts.note(A, "argocd", float(time)) is None
    assert reverts.stopped(limit) == {}
    assert reverts.note(A, "argocd", float(limit)) == Stopped(A, "argocd", limit, WAY_OUT)
    assert reverts.note(A, "argocd", float(limit + 1)) is None
    assert reverts.stopped(limit + 1) == {A: Stopped(A, "argocd", limit + 1, WAY_OUT)}
    assert reverts.note(B, "argocd", float(limit + 1)) is None


def test_each_manager_is_counted_by_itself() -> None:
    """Three people who have each changed one object once fight with nobody."""
    reverts = Reverts(limit=3, way_out=WAY_OUT)
    for time, manager in enumerate(("flux", "argocd", "kubectl-edit", "flux", "argocd")):
        assert reverts.note(A, manager, float(time)) is None
    assert reverts.stopped(5) == {}
    assert reverts.until(5) is None
    assert reverts.note(A, "argocd", 5.0) == Stopped(A, "argocd", 3, WAY_OUT)
    assert reverts.note(A, "kubectl-edit", 6.0) is None
    assert reverts.stopped(6) == {A: Stopped(A, "argocd", 3, WAY_OUT)}
    assert reverts.until(6) == 5 + WINDOW


def test_it_is_left_alone_for_ten_minutes_from_the_last_revert_on() -> None:
    """Then the count begins anew: a fight so costs at most as many writes as the limit in any ten minutes."""
    reverts = Reverts(limit=3, way_out=WAY_OUT)
    for time in (0.0, 100.0, 200.0):
        reverts.note(A, "flux", time)
    assert reverts.until(200) == 200 + WINDOW
    assert A in reverts.stopped(200 + WINDOW - 1)
    assert reverts.until(200 + WINDOW) is None
    assert reverts.stopped(200 + WINDOW) == {}
    for time in (0.0, 1.0):
        assert reverts.note(A, "flux", 200 + WINDOW + time) is None
    assert reverts.note(A, "flux", 200 + WINDOW + 2) == Stopped(A, "flux", 3, WAY_OUT)


def test_a_revert_while_it_is_left_alone_makes_it_last_longer() -> None:
    """Of a write that was under way when the stop began."""
    reverts = Reverts(limit=2, way_out=WAY_OUT)
    for time in (0.0, 10.0, 30.0):
        reverts.note(A, "flux", time)
    assert reverts.until(30) == 30 + WINDOW
    assert reverts.stopped(30 + WINDOW - 1) == {A: Stopped(A, "flux", 3, WAY_OUT)}
    assert reverts.stopped(30 + WINDOW) == {}


def test_a_stop_is_reported_again_where_it_has_ended_meanwhile() -> None:
    """Also where nobody has asked in between."""
    reverts = Reverts(limit=1, way_out=WAY_OUT)
    assert reverts.note(A, "flux", 0.0) is not None
    assert reverts.note(A, "flux", WINDOW - 1) is None
    assert reverts.note(A, "flux", 2 * WINDOW - 1) == Stopped(A, "flux", 1, WAY_OUT)


def test_reverts_that_have_grown_old_do_not_count() -> None:
    reverts = Reverts(limit=3, way_out=WAY_OUT)
    for time in (0.0, WINDOW - 1):
        reverts.note(A, "flux", time)
    assert reverts.note(A, "flux", WINDOW) is None
    assert reverts.note(A, "flux", WINDOW + 1) == Stopped(A, "flux", 3, WAY_OUT)


def test_reverts_that_are_far_apart_never_stop_anything() -> None:
    reverts = Reverts(limit=2, way_out=WAY_OUT)
    for turn in range(100):
        assert reverts.note(A, "kubectl", turn * WINDOW) is None
        assert reverts.stopped(turn * WINDOW) == {}


def test_an_object_that_is_gone_is_forgotten() -> None:
    reverts = Reverts(limit=2, way_out=WAY_OUT)
    reverts.note(A, "flux", 0.0)
    reverts.forget(A)
    reverts.forget(B)
    assert reverts.note(A, "flux", 1.0) is None
    assert reverts.note(A, "flux", 2.0) is not None
    reverts.forget(A)
    assert reverts.stopped(2.0) == {}
    assert reverts.until(2.0) is None


def test_the_next_object_to_be_tried_again_is_the_one_that_was_stopped_first() -> None:
    reverts = Reverts(limit=2, way_out=WAY_OUT)
    for time, key in ((0.0, B), (10.0, A), (20.0, A), (30.0, B)):
        reverts.note(key, "flux", time)
    assert reverts.until(40) == 20 + WINDOW
    assert reverts.until(20 + WINDOW) == 30 + WINDOW


def test_what_kueue_wrote_before_the_start_is_history() -> None:
    rivals = StandDown()
    assert not rivals.observe("dqo", [_status_of("kueue", "T1")], 0.0)
    rivals.start()
    assert not rivals.observe("dqo", [_status_of("kueue", "T1"), _status_of("ours", "T2")], 1.0)
    assert not rivals.is_down(1.0)


@pytest.mark.parametrize("before", [[], [_status_of("kueue", "T1")]], ids=["first time", "again"])
def test_what_kueue_writes_afterwards_is_not(before: list[ManagedFields]) -> None:
    rivals = StandDown()
    rivals.observe("dqo", before, 0.0)
    rivals.start()
    assert rivals.observe("dqo", [_status_of("kueue", "T2")], 5.0)
    assert rivals.is_down(5.0)
    assert rivals.seen_on == "dqo"


def test_an_orchestrator_that_kueue_answers_after_the_start_counts_although_it_is_new() -> None:
    rivals = StandDown()
    rivals.start()
    assert rivals.observe("new", [_status_of("kueue", "T1")], 0.0)


@pytest.mark.parametrize(
    "entry",
    [
        _status_of("kueue", "T2", subresource=""),
        _status_of("kueue-dqo-orchestrator", "T2"),
        _status_of("kueue-controller", "T2"),
    ],
    ids=["not the status", "ours", "another name"],
)
def test_nobody_else_makes_it_stand_down(entry: ManagedFields) -> None:
    rivals = StandDown()
    rivals.start()
    assert not rivals.observe("dqo", [entry], 0.0)
    assert not rivals.is_down(0.0)


def test_it_takes_over_again_ten_minutes_after_kueues_last_write() -> None:
    """The same trace seen once more is no new write."""
    rivals = StandDown()
    rivals.start()
    rivals.observe("dqo", [_status_of("kueue", "T1")], 0.0)
    rivals.observe("dqo", [_status_of("kueue", "T2")], 300.0)
    rivals.observe("dqo", [_status_of("kueue", "T2")], 500.0)
    assert rivals.is_down(300 + WINDOW - 1)
    assert not rivals.is_down(300 + WINDOW)
    assert not rivals.is_down(300 + WINDOW + 1)
    assert rivals.observe("dqo", [_status_of("kueue", "T3")], 300 + WINDOW + 2)
    assert rivals.is_down(300 + WINDOW + 2)


def test_an_orchestrator_that_is_gone_leaves_no_trace() -> None:
    """One of the same name that Kueue has written within the same second is seen again."""
    rivals = StandDown()
    rivals.observe("dqo", [_status_of("kueue", "T1")], 0.0)
    rivals.start()
    rivals.forget("dqo")
    assert rivals.observe("dqo", [_status_of("kueue", "T1")], 1.0)


def test_the_last_writer_but_us_is_named() -> None:
    ours = "kueue-dqo-orchestrator"
    spec = [_spec_of("git", "T1"), _spec_of("kubectl", "T2"), _spec_of(ours, "T3"), _status_of("kueue", "T4")]
    assert writer_of_spec(spec, ours) == "kubectl"
    status = [_status_of("kueue", "T2"), _status_of("robot", "T1"), _status_of(ours, "T3"), _spec_of("git", "T4")]
    assert writer_of_status(status, ours) == "kueue"
    assert writer_of_spec([_spec_of(ours, "T1")], ours) == "unknown"
    assert writer_of_status([_spec_of("git", None)], ours) == "unknown"


def test_effective_quotas_are_ours_where_nobody_else_owns_their_list() -> None:
    ours = "kueue-dqo-orchestrator"
    mine, usage = _quotas_of(ours, "T2"), _status_of("kueue", "T5")
    assert writer_of_effective_quotas([mine, usage], ours) is None
    assert writer_of_effective_quotas([mine, usage, _quotas_of("robot", "T1")], ours) == "robot"
    assert (
        writer_of_effective_quotas([usage, _quotas_of("robot", "T1"), _quotas_of("kubectl", "T3")], ours) == "kubectl"
    )
    assert writer_of_effective_quotas([usage], ours) == "unknown"
