"""Three control planes and a daemon, which all tests of this folder share, one after the other."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.controlplane.kueue import install_crds
from tests.controlplane.plane import ControlPlane
from tests.integration.multikueue.fleet import Fleet, running
from tests.integration.providers.adapter import servers_ended
from tests.integration.proxies import Proxy, running_proxy


@pytest.fixture(scope="package")
def _second_worker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    """It keeps a record of requests, and its servers may be ended."""
    with ControlPlane(tmp_path_factory.mktemp("controlplane"), audit=True) as plane:
        install_crds(plane)
        yield plane


@pytest.fixture(scope="package")
def _shared(
    shared_plane: ControlPlane,
    shared_status_plane: ControlPlane,
    _second_worker: ControlPlane,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Fleet]:
    """The queues of the first worker have `status.effectiveQuotas`."""
    with running(shared_plane, shared_status_plane, _second_worker, tmp_path_factory.mktemp("kubeconfigs")) as fleet:
        yield fleet


@pytest.fixture
def fleet(_shared: Fleet) -> Iterator[Fleet]:
    """The daemon runs, and has nothing to do. What the test starts on the manager ends with it."""
    with servers_ended(_shared.manager):
        yield _shared
    _shared.revive()
    _shared.clear()


@pytest.fixture
def without_daemon(fleet: Fleet) -> Iterator[None]:
    """The shared daemon pauses: those of the test are the only ones."""
    fleet.daemon.server.stop()
    yield
    fleet.daemon.server.start()


@pytest.fixture
def proxy(fleet: Fleet) -> Iterator[Proxy]:
    """In front of the API server of the second worker."""
    with running_proxy(fleet.worker2.plane) as running_:
        yield running_
