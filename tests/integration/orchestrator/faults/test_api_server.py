"""The API server and etcd go away and come back."""

from __future__ import annotations

import http.client
from collections.abc import Iterator
from typing import Final

import pytest

from tests.controlplane.admin import Refused
from tests.controlplane.cleanup import remove_objects
from tests.controlplane.kueue import install_crds
from tests.controlplane.plane import ControlPlane
from tests.controlplane.processes import eventually
from tests.integration.daemons import QUICK_ELECTION, start_orchestrator
from tests.integration.orchestrator.faults.teams import Memory, Teams, every, wait_until_served

_SLOWLY: Final = {"DQO_CONCURRENCY": "2", "DQO_WRITE_QPS": "4", "DQO_WRITE_BURST": "1"}
_WRITES: Final = "kueue_dqo_quota_writes_total"


@pytest.fixture(scope="module")
def hurt_plane(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    """A control plane that may be hurt; each test leaves its servers running."""
    with ControlPlane(tmp_path_factory.mktemp("controlplane")) as plane:
        install_crds(plane)
        yield plane


@pytest.fixture
def plane(hurt_plane: ControlPlane) -> Iterator[ControlPlane]:
    """Without objects, apart from what this test makes; its daemon ends with it."""
    others = len(hurt_plane.servers)
    yield hurt_plane
    for server in reversed(hurt_plane.servers[others:]):
        server.kill()
        hurt_plane.servers.remove(server)
    eventually(lambda: _is_emptied(hurt_plane), "nothing is left")


def _is_emptied(plane: ControlPlane) -> bool:
    """Removes everything. After a start of the API server, a kind is served some time after it was first asked for."""
    try:
        remove_objects(plane)
    except Refused as error:
        if error.code != http.client.TOO_MANY_REQUESTS:
            raise
        return False
    return True


def test_the_api_server_is_away_for_a_minute(teams: Teams) -> None:
    """The daemon lives on, loses its term, and needs no restart: the first change afterwards is followed."""
    daemon = start_orchestrator(teams.plane)
    teams.follow(2, 2)
    memory = Memory(daemon)
    teams.plane.api_server.kill()
    for _ in every(5, 13):
        assert daemon.get("/healthz")[0] == 200
        assert daemon.get("/readyz")[0] == 200  # it knows all that it needs, if no news
    assert daemon.logs("leader election lost")
    assert daemon.metric("leader_election_master_status") == 0
    teams.plane.api_server.start()
    wait_until_served(teams.plane)
    teams.follow(5, 1)
    teams.check()
    assert memory.is_flat()
    assert len(daemon.logs()) < 1000


def test_the_api_server_is_killed_in_the_middle_of_a_transition(teams: Teams) -> None:
    """Writes under way may have landed or not."""
    start_orchestrator(teams.plane, environment={**QUICK_ELECTION, **_SLOWLY})
    teams.follow(2, 2)
    for cpu, memory in ((5, 1), (1, 5)):
        teams.begin_to_follow(cpu, memory)
        teams.plane.api_server.kill()
        teams.plane.api_server.start()
        wait_until_served(teams.plane)
        teams.settle()
    teams.check()


def test_the_api_server_is_frozen_in_the_middle_of_a_transition(teams: Teams) -> None:
    """Until writes have timed out and the term is over. What it carries out when it goes on breaks no promise."""
    daemon = start_orchestrator(teams.plane, environment={**QUICK_ELECTION, **_SLOWLY})
    teams.follow(2, 2)
    teams.begin_to_follow(5, 1)
    teams.plane.api_server.pause()
    eventually(lambda: bool(daemon.logs("leader election lost")), "its term is over")
    eventually(lambda: not daemon.metric("controller_runtime_active_workers"), "writes have timed out")
    teams.plane.api_server.resume()
    teams.settle()
    teams.check()


def test_etcd_is_restarted(teams: Teams) -> None:
    """In order and by force, in the middle of transitions; and it is frozen until writes have timed out."""
    daemon = start_orchestrator(teams.plane, environment=_SLOWLY)
    teams.follow(2, 2)
    etcd = teams.plane.etcd
    teams.begin_to_follow(5, 1)
    etcd.restart()
    teams.settle()
    teams.begin_to_follow(1, 5)
    etcd.kill()
    etcd.start()
    teams.settle()
    failed = daemon.metric(_WRITES, result="failed")
    teams.begin_to_follow(4, 4)
    etcd.pause()
    eventually(lambda: daemon.metric(_WRITES, result="failed") > failed, "a write has failed")
    etcd.resume()
    teams.settle()
    teams.check()
