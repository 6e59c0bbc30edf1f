"""Runs `using_nvml.py` on a test double of NVML: `pynvml` loads a library once in its life."""

from __future__ import annotations

import json
import os
import queue
import subprocess
import sys
import threading
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self

_PROGRAM: Final = Path(__file__).with_name("using_nvml.py")
_WITHIN: Final = 60.0


class NvmlProcess:
    """A context manager; it kills the process at the end."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        self._process = subprocess.Popen(
            [sys.executable, _PROGRAM],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, **environment, "PYTHONPATH": str(Path(__file__).parents[5])},
        )
        self._answers: dict[str, queue.SimpleQueue[Any]] = {
            kind: queue.SimpleQueue() for kind in ("reading", "unreadable", "xid", "failed", "log")
        }
        self._thread = threading.Thread(target=self._listen)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._process.kill()
        self._process.wait()
        self._thread.join()
        for stream in (self._process.stdin, self._process.stdout):
            assert stream is not None
            stream.close()

    def ask(self, request: str) -> None:
        """Sends a request."""
        assert self._process.stdin is not None
        self._process.stdin.write(f"{request}\n")
        self._process.stdin.flush()

    def next(self, kind: str) -> Any:
        """The next answer of a kind; `log` is the event of a log line. Raises queue.Empty where none comes."""
        return self._answers[kind].get(timeout=_WITHIN)

    def read(self) -> dict[str, Any]:
        """A reading."""
        self.ask("read")
        found: dict[str, Any] = self.next("reading")
        return found

    def device(self, index: int = 0) -> dict[str, Any]:
        """One GPU of a new reading."""
        found: dict[str, Any] = self.read()["devices"][index]
        return found

    def _listen(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            ((kind, value),) = json.loads(line).items()
            self._answers[kind].put(value)
