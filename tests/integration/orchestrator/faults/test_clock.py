"""A replica whose clock is ten minutes off does what the others do: no time of day decides anything."""

from __future__ import annotations

import datetime
import shutil
import subprocess
from pathlib import Path
from typing import Final

import pytest

from tests.controlplane.processes import eventually
from tests.integration.daemons import QUICK_ELECTION, start_orchestrator
from tests.integration.objects import condition
from tests.integration.orchestrator.faults.teams import LEASE, Teams, holder, wait_for_holder

_SOURCE: Final = Path(__file__).with_name("shifted_clock.c")
_OFF: Final = 600
_RENEWALS: Final = 9
"""So many take longer than a term."""


@pytest.fixture(scope="module")
def shim(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A library that shifts the clock of the process that it is loaded into."""
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.fail("no C compiler: install one as `cc`, it builds the library that shifts a clock")
    library = tmp_path_factory.mktemp("clock") / "shifted_clock.so"
    subprocess.run([compiler, "-shared", "-fPIC", "-O1", "-o", library, _SOURCE], check=True)
    return library


def _seconds_ahead(time: str) -> float:
    """By how much a timestamp lies in the future."""
    return (datetime.datetime.fromisoformat(time) - datetime.datetime.now(datetime.UTC)).total_seconds()


def _watch_renewals(teams: Teams, leader: str) -> None:
    """The leader renews its Lease many times, and nobody takes it."""
    lease = teams.plane.admin.get(LEASE)["spec"]
    seen = {lease["renewTime"]}

    def is_renewed() -> bool:
        seen.add(teams.plane.admin.get(LEASE)["spec"]["renewTime"])
        return len(seen) > _RENEWALS

    eventually(is_renewed, "the Lease is renewed again and again")
    assert holder(teams.plane) == leader
    assert teams.plane.admin.get(LEASE)["spec"]["leaseTransitions"] == lease["leaseTransitions"]


@pytest.mark.parametrize("shift", [_OFF, -_OFF], ids=["ahead", "behind"])
def test_a_clock_that_is_ten_minutes_off_changes_nothing(shift: int, teams: Teams, shim: Path) -> None:
    """Neither takes the Lease from the other while it is held, and each takes it over and distributes as ever."""
    plane = teams.plane
    off = {**QUICK_ELECTION, "LD_PRELOAD": str(shim), "SHIFTED_CLOCK_SECONDS": str(shift)}
    right = start_orchestrator(plane, name="right", environment=QUICK_ELECTION)
    wait_for_holder(plane, "right")
    wrong = start_orchestrator(plane, name="wrong", environment=off)
    teams.follow(2, 2)
    _watch_renewals(teams, "right")
    right.server.kill()
    teams.publish(5, 1)
    teams.settle()
    wait_for_holder(plane, "wrong")
    assert abs(_seconds_ahead(plane.admin.get(LEASE)["spec"]["renewTime"]) - shift) < _OFF / 2  # the clock is off
    start_orchestrator(plane, name="third", environment=QUICK_ELECTION)
    _watch_renewals(teams, "wrong")
    wrong.server.kill()
    teams.follow(1, 5)
    wait_for_holder(plane, "third")
    teams.check()
    assert condition(plane)["status"] == "True"
