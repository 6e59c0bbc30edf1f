"""Watches that break off and cannot be resumed."""

from __future__ import annotations

import pytest

from tests.controlplane.faults import CutWatch, ExpireWatch
from tests.controlplane.processes import eventually
from tests.integration.daemons import start_orchestrator
from tests.integration.orchestrator.faults.teams import Memory, Teams, every
from tests.integration.proxies import Proxy

_LISTS = frozenset({"list"})


def test_watches_that_are_cut_every_second_lose_nothing(teams: Teams, proxy: Proxy) -> None:
    """For half a minute, in which the capacity goes up and down: they are resumed, not listed anew."""
    cut = proxy.add(CutWatch(1))
    daemon = start_orchestrator(teams.plane, server=proxy.url)
    teams.follow(2, 2)
    memory, lists = Memory(daemon), proxy.count(verbs=_LISTS)
    for turn in every(5, 7):
        teams.publish(3 + turn % 2, 5 - turn % 2)
    assert cut.hits > 30
    teams.settle()
    proxy.clear()
    teams.follow(7, 1)
    teams.check()
    assert proxy.count(verbs=_LISTS) == lists
    assert memory.is_flat()


@pytest.mark.parametrize("as_event", [False, True])
def test_a_watch_that_is_too_late_to_be_resumed_begins_with_a_list(as_event: bool, teams: Teams, proxy: Proxy) -> None:
    """What changed in between is found by it."""
    proxy.add(CutWatch(1))
    start_orchestrator(teams.plane, server=proxy.url)
    teams.follow(2, 2)
    lists = proxy.count(verbs=_LISTS)
    expired = proxy.add(ExpireWatch(as_event=as_event, times=14))
    teams.publish(3, 1)
    eventually(lambda: expired.hits == 14, "watches were too late, again and again")
    teams.settle()
    teams.follow(1, 4)
    teams.check()
    assert lists < proxy.count(verbs=_LISTS) <= lists + 14
