"""How soon a status that others have overwritten is written anew."""

from __future__ import annotations

from kueue_dqo.api.meta import ManagedFields, ObjectMeta
from providers.contests import Contest, rival_of


def test_an_edit_now_and_then_is_answered_at_once() -> None:
    contest = Contest()
    assert [contest.overwritten(at * 300.0) for at in range(50)] == [0.0] * 50


def test_the_fourth_within_ten_minutes_waits_and_each_after_it_longer() -> None:
    contest = Contest()
    assert [contest.overwritten(float(at)) for at in range(12)] == [0, 0, 0, 1, 2, 4, 8, 16, 32, 60, 60, 60]


def test_what_is_long_past_does_not_count() -> None:
    contest = Contest()
    for at in range(10):
        contest.overwritten(float(at))
    assert contest.overwritten(610.5) == 0.0
    assert contest.count == 1


def test_the_rival_is_who_wrote_the_status_last() -> None:
    """Not who wrote the spec, and not this daemon."""
    fields = (
        ManagedFields("older", "Update", "status", "2026-01-01T00:00:00Z"),
        ManagedFields("rival", "Update", "status", "2026-01-02T00:00:00Z"),
        ManagedFields("kubectl", "Update", "", "2026-01-04T00:00:00Z"),
        ManagedFields("kueue-dqo-manual", "Update", "status", "2026-01-03T00:00:00Z"),
    )
    assert rival_of(ObjectMeta("pool", managed_fields=fields), "kueue-dqo-manual") == "rival"
    assert rival_of(ObjectMeta("pool"), "kueue-dqo-manual") == ""
