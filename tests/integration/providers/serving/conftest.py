"""A provider's daemon that all tests of this folder share, one after the other, each with an empty cluster.

Tests that start daemons of a provider of their own are not in this folder: two of one controller would elect a leader.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import pytest

from tests.controlplane.cleanup import remove_objects
from tests.controlplane.plane import ControlPlane
from tests.integration.daemons import Daemon
from tests.integration.providers.adapter import Adapter, servers_ended
from tests.integration.providers.adapters import ADAPTERS


class Serving(NamedTuple):
    """A provider and its daemon."""

    adapter: Adapter
    daemon: Daemon


@pytest.fixture(scope="package", params=ADAPTERS, ids=lambda kind: kind.label())
def _shared(request: pytest.FixtureRequest, shared_plane: ControlPlane) -> Iterator[Serving]:
    """Everything is ended and removed afterwards, as after `plane`."""
    kind: type[Adapter] = request.param
    with kind.running(shared_plane) as adapter, servers_ended(shared_plane):
        yield Serving(adapter, adapter.start())
    remove_objects(shared_plane)


@pytest.fixture
def adapter(_shared: Serving) -> Iterator[Adapter]:
    """Each provider in turn; its daemon runs."""
    with servers_ended(_shared.adapter.plane):
        yield _shared.adapter
    _shared.adapter.clear()


@pytest.fixture
def daemon(_shared: Serving) -> Daemon:
    """The daemon of `adapter`."""
    return _shared.daemon
