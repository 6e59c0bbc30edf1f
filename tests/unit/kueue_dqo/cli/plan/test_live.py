"""What a Lease says of the provider that holds it."""

from __future__ import annotations

import datetime

import pytest

from kueue_dqo.cli.plan.live import overdue_by
from kueue_dqo.runtime.lease import LeaseRecord

RENEWED = "2026-03-01T12:00:00.500000Z"
NOW = datetime.datetime(2026, 3, 1, 12, 1, 0, 500000, tzinfo=datetime.UTC)


@pytest.mark.parametrize(
    ("record", "seconds"),
    [
        pytest.param(LeaseRecord("p-0", 45, renew_time=RENEWED), 15, id="run out"),
        pytest.param(LeaseRecord("p-0", 90, renew_time=RENEWED), -30, id="in force"),
        pytest.param(LeaseRecord("", 1, renew_time=RENEWED), 45, id="given back: another replica has 15 s"),
        pytest.param(LeaseRecord("", 20, renew_time=RENEWED), 40, id="given back: or longer"),
        pytest.param(LeaseRecord(None, 45, renew_time=RENEWED), None, id="nobody's"),
        pytest.param(LeaseRecord("p-0", None, renew_time=RENEWED), None, id="for no time"),
        pytest.param(LeaseRecord("p-0", 45), None, id="never renewed"),
    ],
)
def test_a_lease_runs_out_its_duration_after_it_was_renewed(record: LeaseRecord, seconds: float | None) -> None:
    """The orchestrator judges in the same way, but by when it has seen it change."""
    assert overdue_by(record, NOW) == seconds
