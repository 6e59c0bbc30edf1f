"""What is installed is pinned by version and by hash, the same everywhere."""

from __future__ import annotations

import re
from importlib.metadata import distributions
from pathlib import Path

import pytest
from packaging.markers import default_environment
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from scripts.release import shipped
from scripts.release.needs import graph
from scripts.release.pins import BUILD, DEVELOPMENT, IMAGE, Pin, pins
from scripts.release.tree import ReleaseError
from tests.e2e.process import ROOT

HASH = "0" * 64
SYSTEMS = {
    "linux": {"platform_system": "Linux", "platform_machine": "x86_64"},
    "darwin": {"platform_system": "Darwin", "platform_machine": "arm64"},
}


def _stated() -> dict[str, Requirement]:
    """The lines of requirements-dev.txt."""
    lines = (line.partition("#")[0].strip() for line in (ROOT / "requirements-dev.txt").read_text().splitlines())
    found = [Requirement(line) for line in lines if line]
    return {canonicalize_name(each.name): each for each in found}


def _is_for_windows_alone(pin: Pin) -> bool:
    return pin.marker is not None and not any(
        pin.marker.evaluate({"sys_platform": system, **more}) for system, more in SYSTEMS.items()
    )


def test_the_lock_has_what_the_list_of_the_development_environment_says() -> None:
    """And nothing else, on systems that the project runs on. To mend it: the command at the top of the lock."""
    stated = _stated()
    locked = {name: pin for name, pin in pins(DEVELOPMENT).items() if not _is_for_windows_alone(pin)}
    assert {name: (pin.version, str(pin.marker or "")) for name, pin in locked.items()} == {
        name: (str(each.specifier).removeprefix("=="), str(each.marker or "")) for name, each in stated.items()
    }


@pytest.mark.parametrize("python", ["3.11", "3.12", "3.13", "3.14"])
@pytest.mark.parametrize("system", SYSTEMS)
def test_the_lock_is_complete(python: str, system: str) -> None:
    """On every Python and system that it is for; with hashes, an installer refuses what is missing."""
    markers = {key: str(value) for key, value in default_environment().items()} | {
        "python_version": python,
        "python_full_version": f"{python}.5",
        "sys_platform": system,
        **SYSTEMS[system],
    }
    locked = pins(DEVELOPMENT)
    roots = [each for each in _stated().values() if each.marker is None or each.marker.evaluate(markers)]
    roots += shipped.base() + [each for extra in shipped.extras() for each in shipped.added_by(extra)]
    needed = graph(roots, markers)
    assert needed.keys() - locked.keys() == set()
    assert [
        name
        for name in needed
        if (marker := locked[name].marker) is not None and not marker.evaluate({**markers, "extra": ""})
    ] == []


def test_these_tests_run_in_what_is_locked() -> None:
    """Licences and the graph of needs are read from here, so the versions have to be the same."""
    installed: dict[str, str] = {canonicalize_name(each.metadata["Name"]): each.version for each in distributions()}
    locked = {name: pin.version for name, pin in pins(DEVELOPMENT).items()}
    there = locked.keys() & installed.keys()
    assert {name: installed[name] for name in there} == {name: locked[name] for name in there}
    assert len(there) > len(locked) - 5


@pytest.mark.parametrize("path", [IMAGE, BUILD], ids=lambda path: path.name)
def test_the_image_has_files_that_development_has_too(path: Path) -> None:
    """Hash by hash: nobody has tested other ones."""
    tested = pins(DEVELOPMENT)
    assert {name: pin.hashes for name, pin in pins(path).items()} == {name: tested[name].hashes for name in pins(path)}


def test_the_development_environment_is_made_from_the_lock_alone() -> None:
    """Its files by their hashes, and the project without anything that it would bring along."""
    text = (ROOT / "scripts/setup-venv.sh").read_text()
    commands = re.findall(r'^ *"\$@" (.*)$', text, re.MULTILINE)
    assert commands == ["--require-hashes -r requirements-dev.lock", "--no-deps --no-build-isolation -e ."]
    assert "\n$(STAMP): pyproject.toml requirements-dev.lock " in (ROOT / "Makefile").read_text()


def test_the_command_that_renews_the_lock_stands_at_its_top() -> None:
    """For the oldest Python, and for every system."""
    oldest = shipped.project()["requires-python"].removeprefix(">=")
    head = DEVELOPMENT.read_text().splitlines()[1]
    assert head == (
        "#    uv pip compile --no-annotate --generate-hashes --universal "
        f"--python-version {oldest} requirements-dev.txt -o requirements-dev.lock"
    )


@pytest.mark.parametrize(
    ("line", "what"),
    [
        ("click==8.5.1", "is not pinned to one version and its hashes"),
        (f"click>=8 --hash=sha256:{HASH}", "is not pinned to one version and its hashes"),
        (f"click @ file:///click.whl --hash=sha256:{HASH}", "is not pinned to one version and its hashes"),
        ("--index-url https://example.com", "is no requirement"),
        (f"click==1 --hash=sha256:{HASH}\nClick==2 --hash=sha256:{HASH}", "click stands there twice"),
    ],
)
def test_a_line_that_pins_nothing_is_refused(line: str, what: str, tmp_path: Path) -> None:
    """By its file and its text."""
    path = tmp_path / "requirements.txt"
    path.write_text(f"# a comment\n\n{line}\n")
    with pytest.raises(ReleaseError, match=what) as raised:
        pins(path)
    assert str(path) in str(raised.value)
