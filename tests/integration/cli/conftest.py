"""The command against a real API server."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

from kueue_dqo.cli.main import run


class Printed(NamedTuple):
    """How a call ended."""

    code: int
    out: str
    err: str


Dqo = Callable[..., Printed]


@pytest.fixture
def dqo(capsys: pytest.CaptureFixture[str]) -> Dqo:
    """Calls `dqo` with a kubeconfig and arguments."""

    def call(kubeconfig: Path, *arguments: str) -> Printed:
        code = run([*arguments, "--kubeconfig", str(kubeconfig)])
        return Printed(code, *capsys.readouterr())

    return call
