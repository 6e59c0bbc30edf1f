"""Fixtures of the tests of agents as processes."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.controlplane.cleanup import remove_objects
from tests.controlplane.plane import ControlPlane
from tests.integration.daemons import install
from tests.integration.gpu.agents import Fleet, Manifest
from tests.integration.providers.adapter import servers_ended
from tests.integration.proxies import Proxy, running_proxy


@pytest.fixture(scope="module")
def _installed(shared_plane: ControlPlane) -> Iterator[list[Manifest]]:
    """What the DaemonSet needs; removed with everything else after the last test of a file."""
    yield install(shared_plane, "base/namespace", "base/nvidia-gpu-agent")
    remove_objects(shared_plane)


@pytest.fixture
def fleet(
    shared_plane: ControlPlane, _installed: list[Manifest], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Fleet]:
    """On the shared control plane, with everything that an agent has in a cluster. Its agents end with the test."""
    with servers_ended(shared_plane):
        yield Fleet(shared_plane, _installed, tmp_path_factory.mktemp("nvml"))


@pytest.fixture
def proxy(shared_plane: ControlPlane) -> Iterator[Proxy]:
    """In front of the API server; for nodes of `fleet` whose test asks for it. Its clients end before it does."""
    with running_proxy(shared_plane) as running, servers_ended(shared_plane):
        yield running
