"""Control planes with Kueue's real scheduler, for tests of the spec road."""

from __future__ import annotations

import pytest

from tests.controlplane.kueue import start_minimal
from tests.controlplane.plane import ControlPlane
from tests.integration.orchestrator.spec_road.scenes import two_teams


@pytest.fixture
def kueue(plane: ControlPlane) -> ControlPlane:
    """A control plane on which Kueue 0.19 admits Workloads."""
    start_minimal(plane)
    return plane


@pytest.fixture
def teams(plane: ControlPlane) -> ControlPlane:
    """The two teams of `scenes.two_teams`, without a scheduler: for tests of what is written."""
    two_teams(plane)
    return plane
