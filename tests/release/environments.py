"""Fresh environments with the wheel and what it says that it needs, in the versions that are pinned."""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
import venv
from collections.abc import Iterable
from email.parser import HeaderParser
from importlib.metadata import distribution
from pathlib import Path
from typing import NamedTuple
from zipfile import ZipFile

from packaging.markers import default_environment
from packaging.requirements import Requirement

from scripts.release.needs import direct, graph
from tests.e2e.process import environment


class Environment(NamedTuple):
    """One that is ready."""

    folder: Path
    names: frozenset[str]
    """The distributions in it, beside the project's own."""

    @property
    def bin(self) -> Path:
        """Its programs."""
        return self.folder / "bin"


def needed_by(wheel: Path, extras: Iterable[str]) -> frozenset[str]:
    """What the wheel with these extras needs, and what that needs, by the wheel's own metadata."""
    with ZipFile(wheel) as archive:
        [name] = (each for each in archive.namelist() if each.endswith(".dist-info/METADATA"))
        stated = HeaderParser().parsestr(archive.read(name).decode()).get_all("Requires-Dist") or []
    markers = {key: str(value) for key, value in default_environment().items()}
    roots: list[Requirement] = direct(stated, markers, ["", *extras])
    return frozenset(graph(roots, markers))


def make(folder: Path, wheels: Iterable[Path], names: Iterable[str]) -> None:
    """Distributions are put there file by file from where these tests run; then the wheels are installed."""
    venv.create(folder, with_pip=False)
    python = folder / "bin/python"
    asked: list[str | Path] = [python, "-I", "-c", "import sysconfig; print(sysconfig.get_path('platlib'))"]
    site = Path(subprocess.run(asked, check=True, capture_output=True, text=True).stdout.strip())
    for name in names:
        found = distribution(name)
        for file in found.files or []:
            if ".." not in file.parts:  # programs, outside of site-packages
                _put(Path(str(found.locate_file(file))), site / file)
    pip(python, "install", "--no-deps", *wheels)


def pip(python: Path, command: str, *arguments: str | Path) -> subprocess.CompletedProcess[str]:
    """By pip or by uv, whichever made the environment of these tests, and without a network."""
    if importlib.util.find_spec("pip"):
        words: list[str | Path] = [sys.executable, "-m", "pip", "--python", python, command]
        words += ["--no-index", "--quiet"] if command == "install" else []
    else:
        uv = shutil.which("uv")
        assert uv, "the environment was made by pip or by uv, and neither is there"
        words = [uv, "pip", command, "--python", python, "--offline", "--quiet"]
    return subprocess.run(
        [*words, *arguments],
        env=environment(PIP_DISABLE_PIP_VERSION_CHECK="1"),
        check=command == "install",
        capture_output=True,
        text=True,
    )


def _put(source: Path, target: Path) -> None:
    if not source.exists():  # bytecode that nobody has needed yet
        return
    target.parent.mkdir(parents=True, exist_ok=True)
    try:
        os.link(source, target)
    except OSError:  # another file system
        shutil.copy2(source, target)
