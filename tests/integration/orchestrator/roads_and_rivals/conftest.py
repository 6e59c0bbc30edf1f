"""Control planes for the tests of roads and rivals."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from tests.controlplane.plane import ControlPlane
from tests.integration.orchestrator.roads_and_rivals.scenes import two_teams
from tests.integration.proxies import Proxy, running_proxy


@pytest.fixture
def status_teams(status_plane: ControlPlane) -> Iterator[ControlPlane]:
    """Two teams where quotas have a place in the status."""
    two_teams(status_plane)
    with _servers_ended(status_plane):
        yield status_plane


@pytest.fixture
def teams(plane: ControlPlane) -> ControlPlane:
    """Two teams with the definitions of Kueue 0.19."""
    two_teams(plane)
    return plane


@pytest.fixture
def proxy(plane: ControlPlane) -> Iterator[Proxy]:
    """In front of `plane`; it counts requests. Its clients end before it does."""
    with running_proxy(plane) as running, _servers_ended(plane):
        yield running


@contextmanager
def _servers_ended(plane: ControlPlane) -> Iterator[None]:
    """Ends the servers that a test has added."""
    before = list(plane.servers)
    yield
    for server in reversed(plane.servers[len(before) :]):
        server.stop()
        plane.servers.remove(server)
