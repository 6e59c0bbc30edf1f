"""The daemon that all tests of this folder share, one after the other, each with an empty cluster and an empty AWS."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.controlplane.plane import ControlPlane
from tests.integration.cloud.aws.scenes import Scene, started


@pytest.fixture(scope="package")
def _shared(shared_plane: ControlPlane, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Scene]:
    """It looks every second."""
    with started(shared_plane, tmp_path_factory.mktemp("aws"), DQO_INTERVAL="1s") as scene:
        yield scene


@pytest.fixture
def scene(_shared: Scene) -> Iterator[Scene]:
    """The daemon runs, and has nothing to do."""
    yield _shared
    _shared.clear()
