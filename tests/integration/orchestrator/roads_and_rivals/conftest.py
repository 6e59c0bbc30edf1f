"""Control planes for the tests of roads and rivals."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.controlplane.plane import ControlPlane
from tests.integration.orchestrator.roads_and_rivals.scenes import two_teams
from tests.integration.proxies import Proxy, running_proxy


@pytest.fixture
def status_teams(status_plane: ControlPlane) -> Iterator[ControlPlane]:
    """Two teams where quotas have a place in the status. Daemons that the test starts end with it."""
    before = list(status_plane.servers)
    two_teams(status_plane)
    yield status_plane
    for server in reversed(status_plane.servers[len(before) :]):
        server.stop()
        status_plane.servers.remove(server)


@pytest.fixture
def teams(plane: ControlPlane) -> ControlPlane:
    """Two teams with the definitions of Kueue 0.19."""
    two_teams(plane)
    return plane


@pytest.fixture
def proxy(plane: ControlPlane) -> Iterator[Proxy]:
    """In front of `plane`; it counts requests."""
    with running_proxy(plane) as running:
        yield running
