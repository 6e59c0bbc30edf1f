"""An endpoint in the place of AWS, and an environment in which the SDK finds nothing else."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.unit.providers.cloud_quota.aws.endpoint import Endpoint, in_place_of_aws


@pytest.fixture
def endpoint(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Endpoint]:
    with in_place_of_aws(monkeypatch, tmp_path) as found:
        yield found
