"""The installed command, as a process of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Final, NamedTuple

ROOT: Final = Path(__file__).parents[2]
EXAMPLES: Final = ROOT / "examples"
BIN: Final = Path(sys.executable).parent
PROGRAMS: Final = ("dqo", "kubectl-dqo")
HANGS_AFTER: Final = 120
"""Seconds, so that a command that hangs fails its test instead of holding up all others."""


class Finished(NamedTuple):
    """How a process ended."""

    code: int
    out: str
    err: str


def environment(**variables: str) -> dict[str, str]:
    """The variables of a plain shell and those given; what the person who runs the tests has set has no part in it."""
    kept = {name: os.environ[name] for name in ("PATH", "HOME", "TMPDIR") if name in os.environ}
    return kept | {"LANG": "C.UTF-8", "KUBECONFIG": os.devnull} | variables


def dqo(
    *arguments: str | Path,
    stdin: bytes = b"",
    program: Path | str = "dqo",
    stdout: int = subprocess.PIPE,
    cwd: Path | None = None,
    **variables: str,
) -> Finished:
    """Runs it to its end."""
    return execute(BIN / program, *arguments, stdin=stdin, stdout=stdout, cwd=cwd, **variables)


def execute(
    *command: str | Path,
    stdin: bytes = b"",
    stdout: int = subprocess.PIPE,
    cwd: Path | None = None,
    **variables: str,
) -> Finished:
    """Runs any program to its end."""
    done = subprocess.run(
        command,
        input=stdin,
        stdout=stdout,
        stderr=subprocess.PIPE,
        env=environment(**variables),
        cwd=cwd,
        timeout=HANGS_AFTER,
        check=False,
    )
    return Finished(done.returncode, (done.stdout or b"").decode(), done.stderr.decode())


def assert_one_message(finished: Finished) -> None:
    """An error as a user should see it: exit code 1, and one line on standard error."""
    assert finished.code == 1, finished
    assert "Traceback" not in finished.err, finished.err
    assert finished.err.startswith("Error: "), finished.err
    assert len(finished.err.splitlines()) == 1, finished.err
