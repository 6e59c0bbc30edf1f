"""The distribution as it is built and installed, away from this tree."""

from __future__ import annotations

import importlib.util
import shutil
import subprocess
import sys
import sysconfig
import venv
import zipfile
from pathlib import Path

import pytest

from kueue_dqo import __version__
from tests.e2e.process import EXAMPLES, PROGRAMS, ROOT, dqo, environment, execute


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Built from the tree with the backend that is installed, so nothing is downloaded."""
    folder = tmp_path_factory.mktemp("wheel")
    built = execute(sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", folder, cwd=ROOT)
    assert built.code == 0, built.err
    [path] = folder.glob("*.whl")
    return path


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The programs of a fresh environment that holds the wheel and nothing else."""
    folder = tmp_path_factory.mktemp("environment")
    venv.create(folder, with_pip=False)
    python = folder / "bin/python"
    if importlib.util.find_spec("pip"):
        command: list[str | Path] = [
            sys.executable,
            "-m",
            "pip",
            "--python",
            python,
            "install",
            "--no-deps",
            "--no-index",
            "--quiet",
        ]
    else:
        uv = shutil.which("uv")
        assert uv, "the environment was made by pip or by uv, and neither is there"
        command = [uv, "pip", "install", "--python", python, "--no-deps", "--offline", "--quiet"]
    subprocess.run([*command, wheel], env=environment(PIP_DISABLE_PIP_VERSION_CHECK="1"), check=True)
    return folder / "bin"


@pytest.fixture(scope="module")
def dependencies(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A PYTHONPATH with what the wheel says that it needs, from the environment of these tests."""
    folder = tmp_path_factory.mktemp("dependencies")
    for name in ("click", "dateutil", "six.py", "msgspec", "rich", "yaml", "_yaml", "markdown_it", "mdurl", "pygments"):
        (folder / name).symlink_to(Path(sysconfig.get_path("platlib")) / name)
    return str(folder)


def test_the_wheel_holds_the_packages_and_nothing_of_the_tree_around_them(wheel: Path) -> None:
    """With the licence and the markers for type checkers."""
    names = zipfile.ZipFile(wheel).namelist()
    assert {name.partition("/")[0] for name in names} == {
        "kueue_dqo",
        "orchestrator",
        "providers",
        f"kueue_dqo-{__version__}.dist-info",
    }
    for package in ("kueue_dqo", "orchestrator", "providers"):
        assert f"{package}/py.typed" in names
        sources = {path.relative_to(ROOT).as_posix() for path in (ROOT / package).rglob("*.py")}
        assert sources == {name for name in names if name.startswith(f"{package}/") and name.endswith(".py")}
    assert any(name.endswith(".dist-info/licenses/LICENSE") for name in names)


def test_the_wheel_says_what_it_needs(wheel: Path) -> None:
    """What every daemon stands on; the rest belongs to extras."""
    with zipfile.ZipFile(wheel) as archive:
        metadata = archive.read(f"kueue_dqo-{__version__}.dist-info/METADATA").decode()
    needs = [
        line.removeprefix("Requires-Dist: ") for line in metadata.splitlines() if line.startswith("Requires-Dist: ")
    ]
    assert {need.partition(">")[0] for need in needs if "extra ==" not in need} == {
        "pyyaml",
        "aiohttp",
        "click",
        "kubernetes-asyncio",
        "msgspec",
        "prometheus-client",
        "python-dateutil",
        "structlog",
        "tzdata",
    }
    assert {need.partition(">")[0].lower() for need in needs if "extra == 'cli'" in need} == {"pyyaml", "rich"}


@pytest.mark.parametrize("program", PROGRAMS)
def test_the_installed_programs_plan(program: str, installed: Path, dependencies: str, tmp_path: Path) -> None:
    """The same as those of the tree, and from their own files."""
    for output in ("table", "json", "yaml"):
        arguments = ("plan", "-f", EXAMPLES / "02-gpu-pools", "-o", output)
        finished = dqo(*arguments, program=installed / program, cwd=tmp_path, PYTHONPATH=dependencies)
        assert finished == dqo(*arguments)
        assert finished.code == 0


@pytest.mark.parametrize("package", ["kueue_dqo", "orchestrator", "providers"])
def test_the_installed_packages_are_those_of_the_wheel(package: str, installed: Path, tmp_path: Path) -> None:
    """Not those of the tree by another way."""
    finished = execute(installed / "python", "-c", f"import {package}; print({package}.__file__)", cwd=tmp_path)
    assert finished.out.startswith(f"{installed.parent}/"), finished


def test_the_installed_command_knows_its_version(installed: Path, dependencies: str, tmp_path: Path) -> None:
    """And runs as a module."""
    for command in ([installed / "dqo"], [installed / "python", "-m", "kueue_dqo.cli"]):
        finished = execute(*command, "--version", cwd=tmp_path, PYTHONPATH=dependencies)
        assert finished == (0, f"dqo, version {__version__}\n", "")
