"""Asks an NVML library by `pynvml` in a process of its own: `pynvml` keeps the first library that it has loaded."""

from __future__ import annotations

import json
import os
import select
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self

_ANSWERS_WITHIN: Final = 60.0
_PROGRAM: Final = Path(__file__).with_name("answering.py")


class NvmlFailed(Exception):
    """A function answered with an error: an nvmlReturn_t."""

    def __init__(self, function: str, code: int) -> None:
        self.code = code
        super().__init__(f"{function}: {code}")


class Asker:
    """A process that uses a library. Answers are plain values; pointers come as something to be given back.

    A context manager; it kills the process at the end, which may hang on purpose.
    """

    def __init__(self, environment: Mapping[str, str]) -> None:
        self._process = subprocess.Popen(
            [sys.executable, _PROGRAM],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, **environment},
        )
        self._function = ""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._process.kill()
        self._process.communicate()

    @property
    def pid(self) -> int:
        """Its process id."""
        return self._process.pid

    def ask(self, function: str, *arguments: Any) -> Any:
        """What a function of `pynvml` returns. Raises NvmlFailed."""
        self.begin(function, *arguments)
        return self.answer()

    def begin(self, function: str, *arguments: Any) -> None:
        """Calls a function, and does not wait for it."""
        self._function = function
        assert self._process.stdin is not None
        self._process.stdin.write(f"{json.dumps({'function': function, 'arguments': arguments})}\n")
        self._process.stdin.flush()

    def has_answer(self) -> bool:
        """Whether what `begin` began has come back."""
        return self._has_answer(within=0)

    def answer(self) -> Any:
        """What comes of what `begin` began. Raises NvmlFailed, and TimeoutError where it does not come back."""
        assert self._process.stdout is not None
        if not self._has_answer(within=_ANSWERS_WITHIN):
            raise TimeoutError(f"{self._function}: no answer within {_ANSWERS_WITHIN:g} s")
        line = self._process.stdout.readline()
        if not line:
            raise RuntimeError(f"{self._function}: the process ended with {self._process.wait()}")
        answer = json.loads(line)
        if "code" in answer:
            raise NvmlFailed(self._function, answer["code"])
        return answer["value"]

    def gpu(self, index: int) -> Any:
        """A GPU's handle."""
        return self.ask("nvmlDeviceGetHandleByIndex", index)

    def _has_answer(self, *, within: float) -> bool:
        assert self._process.stdout is not None
        return bool(select.select([self._process.stdout], [], [], within)[0])
