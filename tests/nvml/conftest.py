"""Fixtures of the tests of NVML's test double."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.nvml.asking import Asker
from tests.nvml.state import NvmlState


@pytest.fixture
def nvml(tmp_path: Path) -> NvmlState:
    """A node without GPUs."""
    return NvmlState(tmp_path)


@pytest.fixture
def asker(nvml: NvmlState) -> Iterator[Asker]:
    """A process that has loaded and initialised its library."""
    with Asker(nvml.environment) as running:
        running.ask("nvmlInit")
        yield running
