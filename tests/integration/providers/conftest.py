"""Providers whose daemons the test starts itself. Those in `serving/` share daemons."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.controlplane.plane import ControlPlane
from tests.integration.providers.adapter import Adapter, servers_ended
from tests.integration.providers.adapters import ADAPTERS
from tests.integration.proxies import Proxy, running_proxy


@pytest.fixture(params=ADAPTERS, ids=lambda kind: kind.label())
def alone(request: pytest.FixtureRequest, plane: ControlPlane) -> Iterator[Adapter]:
    """Each provider in turn, without a daemon; those that the test starts are its own."""
    kind: type[Adapter] = request.param
    with kind.running(plane) as adapter:
        yield adapter
        adapter.clear()


@pytest.fixture
def proxy(plane: ControlPlane) -> Iterator[Proxy]:
    """In front of the API server; it counts requests. Its clients end before it does."""
    with running_proxy(plane) as running, servers_ended(plane):
        yield running
