"""A replica whose clock is ten minutes off does what the others do: no time of day decides anything."""

from __future__ import annotations

import datetime
import shutil
import subprocess
from pathlib import Path
from typing import Final

import pytest

from tests.controlplane.processes import eventually
from tests.integration.daemons import QUICK_ELECTION, Daemon, start_orchestrator
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


def test_a_clock_that_is_ten_minutes_off_changes_nothing(teams: Teams, shim: Path) -> None:
    """Nobody takes the Lease from another while it is held; each takes it over in its turn, and distributes as ever."""
    plane = teams.plane
    shifts = {"right": 0, "ahead": _OFF, "behind": -_OFF}
    replicas: dict[str, Daemon] = {}
    leader = ""
    for turn, (name, shift) in enumerate(shifts.items(), 1):
        environment = {**QUICK_ELECTION, "LD_PRELOAD": str(shim), "SHIFTED_CLOCK_SECONDS": str(shift)}
        replicas[name] = start_orchestrator(plane, name=name, environment=environment)
        if leader:
            _watch_renewals(teams, leader)
            replicas[leader].server.kill()
        teams.follow(turn, 4 - turn)
        leader = wait_for_holder(plane, name)
        assert abs(_seconds_ahead(plane.admin.get(LEASE)["spec"]["renewTime"]) - shift) < _OFF / 2  # the clock is off
    _watch_renewals(teams, leader)
    teams.check()
