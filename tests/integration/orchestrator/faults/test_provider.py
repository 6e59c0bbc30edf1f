"""A provider that has more to say than anybody can follow."""

from __future__ import annotations

from tests.controlplane.faults import WRITES, Delay
from tests.integration.daemons import start_orchestrator
from tests.integration.objects import PROVIDERS
from tests.integration.orchestrator.faults.teams import OBJECTS, Memory, Teams, every
from tests.integration.proxies import Proxy


def test_edits_that_change_no_capacity_cost_nothing(teams: Teams) -> None:
    """Ten a second."""
    daemon = start_orchestrator(teams.plane)
    teams.follow(2, 2)
    before, passes = teams.check(), daemon.metric("kueue_dqo_passes_total")
    for turn in every(0.1, 50):
        teams.plane.admin.patch(f"{PROVIDERS}/pool", {"metadata": {"annotations": {"example.com/turn": str(turn)}}})
    teams.follow(3, 1)
    after = teams.check()
    assert after.quota_writes - before.quota_writes <= 2 * OBJECTS
    assert daemon.metric("kueue_dqo_passes_total") - passes <= 5


def test_a_capacity_that_changes_ten_times_a_second(teams: Teams) -> None:
    """For twenty seconds: quotas follow meanwhile, in no more writes than it changes, and in the end they are right."""
    daemon = start_orchestrator(teams.plane)
    teams.follow(2, 2)
    memory = Memory(daemon)
    seen = set()
    for turn in every(0.1, 200):
        teams.publish(1 + turn % 7, 1 + turn % 5)
        if turn % 10 == 9:
            seen.add(teams.present("team-a"))
    teams.settle()
    teams.check(per_change=1)
    assert len(seen) > 5
    assert memory.is_flat()


def test_quotas_follow_although_statuses_are_slow(teams: Teams, proxy: Proxy) -> None:
    """A status takes longer to write than the capacity takes to change: quotas are not put off for ever."""
    start_orchestrator(teams.plane, server=proxy.url)
    teams.follow(2, 2)
    proxy.add(Delay(0.4, verbs=WRITES, path="/dynamicquotaorchestrators/"))
    before = teams.check().quota_writes
    for turn in every(0.1, 50):
        teams.publish(1 + turn % 7, 1 + turn % 5)
    assert teams.check().quota_writes > before
    teams.settle()
    teams.check()
