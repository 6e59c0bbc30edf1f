"""Leaders that are killed, sent away or robbed in the middle of a transition; a second replica goes on."""

from __future__ import annotations

from typing import Final

import pytest

from tests.controlplane.faults import Delay
from tests.controlplane.processes import eventually
from tests.integration.daemons import QUICK_ELECTION, Daemon, start_orchestrator
from tests.integration.orchestrator.faults.teams import LEASE, SHARES, Teams, holder, wait_for_holder
from tests.integration.proxies import Proxy

_PATCH: Final = frozenset({"patch"})
_SLOWLY: Final = {**QUICK_ELECTION, "DQO_CONCURRENCY": "2"}
_IS_LEADER: Final = "leader_election_master_status"
_IS_WORKING: Final = "controller_runtime_active_workers"

_OF_THE_LEADER: Final = ("kueue_dqo_quota_differences",)


@pytest.fixture
def replicas(teams: Teams, proxy: Proxy) -> dict[str, Daemon]:
    """Two, one of which leads. Both write two objects at a time, and each write takes a while."""
    found = {
        name: start_orchestrator(teams.plane, name=name, server=proxy.url, environment=_SLOWLY)
        for name in ("first", "second")
    }
    wait_for_holder(teams.plane, *found)
    teams.follow(2, 2)
    proxy.add(Delay(0.3, verbs=_PATCH, path="/clusterqueues/"))
    return found


def _other(name: str) -> str:
    return {"first": "second", "second": "first"}[name]


def test_a_leader_is_killed(teams: Teams, replicas: dict[str, Daemon]) -> None:
    """The second takes over from whatever is there, when the term is over."""
    leader = holder(teams.plane)
    teams.begin_to_follow(5, 1)
    replicas[leader].server.kill()
    assert 0 < teams.moved() < len(SHARES)
    assert teams.says("True", "QuotasDistributed")  # as it was; nobody has said anything new
    teams.settle()
    assert holder(teams.plane) == _other(leader)
    teams.check()


def test_a_leader_is_told_to_go(teams: Teams, replicas: dict[str, Daemon]) -> None:
    """It waits for its writes under way, hands the Lease over, and ends well; the second goes on at once."""
    leader = holder(teams.plane)
    teams.begin_to_follow(5, 1)
    replicas[leader].server.stop()
    assert [record["event"] for record in replicas[leader].logs()][-2:] == ["lease released", "drained"]
    assert holder(teams.plane) != leader
    teams.settle()
    assert holder(teams.plane) == _other(leader)
    teams.check()


def test_the_lease_is_stolen(teams: Teams, replicas: dict[str, Daemon]) -> None:
    """Who has lost it writes nothing, and tells no more what a leader knows; one goes on when the thief is silent."""
    leader = holder(teams.plane)
    assert all(f"\n{gauge}{{" in replicas[leader].get("/metrics")[1] for gauge in _OF_THE_LEADER)
    teams.begin_to_follow(5, 1)
    _hold(teams, "thief")
    eventually(lambda: not any(each.metric(_IS_LEADER) for each in replicas.values()), "nobody leads")
    eventually(lambda: not replicas[leader].metric(_IS_WORKING), "what was under way has ended")
    assert replicas[leader].logs("leader election lost")
    assert [gauge for gauge in _OF_THE_LEADER if f"\n{gauge}{{" in replicas[leader].get("/metrics")[1]] == []
    written = teams.check().quota_writes
    for turn in range(30):
        _hold(teams, f"thief-{turn}")
    assert teams.check().quota_writes == written
    assert 0 < teams.moved() < len(SHARES)
    teams.settle()
    assert wait_for_holder(teams.plane, *replicas)
    teams.check()


def _hold(teams: Teams, name: str) -> None:
    """Takes the Lease by force, and renews it."""
    teams.plane.admin.patch(LEASE, {"spec": {"holderIdentity": f"{name}_x", "leaseDurationSeconds": 2}})


def test_the_lease_is_deleted(teams: Teams, replicas: dict[str, Daemon]) -> None:
    """Its holder makes it anew, or stops; never do two lead."""
    teams.begin_to_follow(5, 1)
    teams.plane.admin.delete(LEASE)
    teams.settle()
    wait_for_holder(teams.plane, *replicas)
    eventually(lambda: sum(each.metric(_IS_LEADER) for each in replicas.values()) == 1, "one leads")
    teams.check()
