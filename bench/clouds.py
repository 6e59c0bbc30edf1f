"""The fakes of both clouds, in a process of their own."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any
from unittest import mock

from bench.measure import ROOT


class Clouds:
    """The process of the fakes."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process
        self.environments: Mapping[str, dict[str, str]] = self._read()
        """What leads an SDK to them, by cloud."""

    def requests(self, cloud: str) -> dict[str, int]:
        """How many requests for data came in since the last question about that cloud, by the name of the call."""
        counts: dict[str, int] = self._ask(count=cloud)
        return counts

    def set_latency(self, seconds: float) -> None:
        """Each answer takes so much longer from now on."""
        self._ask(latency=seconds)

    @contextlib.contextmanager
    def as_environment(self, cloud: str) -> Iterator[None]:
        """Processes that are started meanwhile find that fake."""
        with mock.patch.dict(os.environ, self.environments[cloud]):
            yield

    def _ask(self, **command: Any) -> Any:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(command) + "\n")
        self._process.stdin.flush()
        return self._read()

    def _read(self) -> Any:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        assert line, "the fakes have ended"
        return json.loads(line)


@contextlib.contextmanager
def fakes(folder: Path) -> Iterator[Clouds]:
    """Both clouds, until the end. The folder holds nothing of an SDK's."""
    command = [sys.executable, "-m", "bench.processes.clouds", str(folder)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=ROOT) as process:
        try:
            yield Clouds(process)
        finally:
            process.terminate()
