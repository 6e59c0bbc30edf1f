"""The fake AWS, as its own tests have it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.clouds.aws.account import Aws
from tests.clouds.aws.server import Server, running


@pytest.fixture(scope="module")
def _server() -> Iterator[Server]:
    with running() as server:
        yield server


@pytest.fixture
def server(_server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    """The SDK is led to it, with the key of a user."""
    for name, value in _server.environment(tmp_path, _server.aws.credentials.user()).items():
        monkeypatch.setenv(name, value)
    monkeypatch.delenv("AWS_SESSION_TOKEN", raising=False)
    yield _server
    _server.aws.clear()


@pytest.fixture
def aws(server: Server) -> Aws:
    """What it answers."""
    return server.aws
