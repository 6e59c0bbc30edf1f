"""The endpoints of workers that are one control plane: a proxy, in a process of its own."""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from bench.measure import ROOT
from tests.controlplane.plane import ControlPlane


class Seen(NamedTuple):
    """What came in."""

    requests: Mapping[str, int]
    """By verb."""
    timeouts: list[int]
    """Seconds that each watch asked for is to last."""
    watches: int
    """Open now."""


class Endpoints:
    """The process of the proxy."""

    def __init__(self, process: subprocess.Popen[str], namespaces: Mapping[str, str]) -> None:
        self._process = process
        self.urls: Mapping[str, str] = self._ask(**namespaces)
        """By the name of the endpoint."""

    def seen(self) -> Seen:
        """Since this was last asked, at all endpoints."""
        return Seen(**self._ask(seen=True))

    @contextlib.contextmanager
    def hanging(self, name: str) -> Iterator[None]:
        """Meanwhile this one cuts what it has begun to answer, and answers nothing more."""
        self._ask(hang=name)
        try:
            yield
        finally:
            self._ask(answer=name)

    def _ask(self, **command: Any) -> Any:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(command) + "\n")
        self._process.stdin.flush()
        line = self._process.stdout.readline()
        assert line, "the proxy has ended"
        return json.loads(line)


@contextlib.contextmanager
def serving(plane: ControlPlane, namespaces: Mapping[str, str]) -> Iterator[Endpoints]:
    """Endpoints of that control plane, until the end: for each its name, and that of its namespace on the manager."""
    command = [sys.executable, "-m", "bench.processes.multikueue_proxy", plane.url, str(plane.ca), str(plane.key)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=ROOT) as process:
        try:
            yield Endpoints(process, namespaces)
        finally:
            process.terminate()
