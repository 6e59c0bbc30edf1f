"""Fixtures of the tests of faults."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.controlplane.plane import ControlPlane
from tests.integration.orchestrator.faults.teams import Teams
from tests.integration.proxies import Proxy, running_proxy


@pytest.fixture
def teams(plane: ControlPlane) -> Teams:
    """On the shared control plane."""
    return Teams(plane)


@pytest.fixture
def proxy(plane: ControlPlane) -> Iterator[Proxy]:
    """In front of the shared control plane."""
    others = len(plane.servers)
    with running_proxy(plane) as running:
        yield running
        for server in reversed(plane.servers[others:]):
            server.stop()  # while there still is somebody to give its Lease back to
