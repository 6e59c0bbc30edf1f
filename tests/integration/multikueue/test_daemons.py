"""A daemon that ends while a worker is down: the next one neither begins its grace anew, nor takes it for nothing."""

from __future__ import annotations

from typing import Final

import pytest

from tests.integration.daemons import QUICK_ELECTION
from tests.integration.multikueue.fleet import ALL, WITHOUT_2, Fleet
from tests.integration.providers.scenes import LEASES

DOWN: Final = "worker2, unavailable since "


def _since(said: str) -> str:
    """Since when the worker is unavailable."""
    before, found, after = said.partition(DOWN)
    assert found, before
    return after[: len("2026-12-01T03:15:00Z")]


@pytest.mark.usefixtures("without_daemon")
def test_a_leader_that_is_killed_leaves_the_grace_as_it_is(fleet: Fleet) -> None:
    """The other one has never read that worker: what was published stays until the grace is over."""
    daemons = {name: fleet.start(name, environment=QUICK_ELECTION) for name in ("first", "second")}
    fleet.begin()
    with fleet.no_dip(ALL):
        fleet.take("worker2")
        since = _since(fleet.wait(ALL, "held until "))
        holder = fleet.manager.admin.get(f"{LEASES}/kueue-dqo-multikueue")["spec"]["holderIdentity"]
        daemons[holder.rpartition("_")[0]].server.kill()
        assert _since(fleet.wait_failed("SourceUnavailable", "awaited until ")) == since
    fleet.configure(unavailableWorkers={"grace": "1s"})
    assert _since(fleet.wait(WITHOUT_2, "left out: ")) == since


def test_a_daemon_that_starts_anew_leaves_the_grace_as_it_is(fleet: Fleet) -> None:
    """And counts the worker again as soon as it can be read."""
    fleet.begin()
    with fleet.no_dip(ALL):
        fleet.take("worker2")
        since = _since(fleet.wait(ALL, "held until "))
        fleet.daemon.server.restart()
        assert _since(fleet.wait_failed("SourceUnavailable", "awaited until ")) == since
    fleet.configure(unavailableWorkers={"grace": "1s"})
    assert _since(fleet.wait(WITHOUT_2, "left out: ")) == since
    fleet.give(fleet.worker2)
    fleet.wait(ALL, "from 2 workers;")
