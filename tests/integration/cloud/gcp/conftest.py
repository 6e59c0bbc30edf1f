"""The daemon of the overlay for Google Cloud, which all tests of this folder share, each with a project of its own."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import pytest

from tests.clouds.gcp.server import Services, gcp_services
from tests.controlplane.cleanup import remove_objects
from tests.controlplane.plane import ControlPlane
from tests.integration.cloud.gcp.scenes import PARAMETERS, Scene
from tests.integration.daemons import QUICK_ELECTION, Daemon, install, start_daemon
from tests.integration.providers.adapter import servers_ended
from tests.integration.providers.scenes import clear


class _Running(NamedTuple):
    plane: ControlPlane
    daemon: Daemon
    services: Services


@pytest.fixture(scope="package")
def _running(shared_plane: ControlPlane) -> Iterator[_Running]:
    with gcp_services() as services, servers_ended(shared_plane):
        installed = install(shared_plane, "overlays/gcp")
        environment = {**services.environment(), **QUICK_ELECTION, "DQO_INTERVAL": "1s"}
        daemon = start_daemon(shared_plane, installed, name="cloud-quota-gcp", environment=environment)
        yield _Running(shared_plane, daemon, services)
    remove_objects(shared_plane)


@pytest.fixture
def scene(_running: _Running) -> Iterator[Scene]:
    """A project and nothing in the cluster; nothing secret may be seen at the end."""
    _running.services.gcp.reset()
    found = Scene(*_running)
    yield found
    found.assert_nothing_secret_is_shown()
    clear(_running.plane, PARAMETERS)
