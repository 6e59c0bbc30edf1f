"""The page about releases: its commands make a release, as far as they run without a network and a container engine."""

from __future__ import annotations

import re
import shutil
import subprocess
import tarfile
from pathlib import Path
from typing import Final

import pytest

from scripts.release import audit, licence_terms
from tests.controlplane import binaries
from tests.docs.pages import blocks_of, section_of
from tests.e2e.process import BIN, ROOT, environment
from tests.release import checkouts

PAGE: Final = (ROOT / "docs/release.md").read_text()
NEW: Final = "0.2.0"
NOT_RUN: Final = {
    "make verify": "these tests are part of it",
    "make generate": "it writes where the project is installed from; make generated judges what it writes",
    "make audit": "no database can be counted on; test_audit.py asks one of its own",
    "docker buildx build": "no container engine can be counted on; tests/manifests/test_image.py judges its file",
}
FILES: Final = {
    f"kueue-dqo-{NEW}.tgz",
    f"kueue-dqo-kueue-crds-{NEW}.tgz",
    f"kueue_dqo-{NEW}-image.cdx.json",
    f"kueue_dqo-{NEW}-py3-none-any.whl",
    f"kueue_dqo-{NEW}-wheel.cdx.json",
    f"kueue_dqo-{NEW}.tar.gz",
}


def _commands(section: str) -> list[str]:
    """Those of a section, each on one line."""
    blocks = blocks_of("sh", section_of(ROOT / "docs/release.md", section))
    return [line for block in blocks for line in block.replace("\\\n", " ").splitlines()]


def _run(commands: list[str], cwd: Path, programs: Path) -> str:
    """In one shell. `make` takes the environment of these tests for the one of that checkout."""
    kept = [line for line in commands if not line.startswith(tuple(NOT_RUN))]
    variables = environment(**checkouts.VARIABLES)
    variables["PATH"] = f"{programs}:{variables['PATH']}"
    done = subprocess.run(
        ["sh", "-euc", "\n".join(kept)], cwd=cwd, env=variables, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture
def programs(tmp_path: Path) -> Path:
    """helm, and make without the step that makes an environment."""
    folder = tmp_path / "programs"
    folder.mkdir()
    (folder / "helm").symlink_to(binaries.find(binaries.HELM))
    make = folder / "make"
    make.write_text(f'#!/bin/sh\nexec {shutil.which("make")} --old-file .venv/.stamp "$@"\n')
    make.chmod(0o755)
    return folder


def test_its_commands_make_a_release_that_can_be_checked(repository: Path, programs: Path, tmp_path: Path) -> None:
    """From the version on to the sums; what is rebuilt from the tag has the same ones."""
    checkout = checkouts.checkout(repository, tmp_path / "checkout")
    (checkout / ".venv").symlink_to(BIN.parent)
    _run(_commands("Make one"), checkout, programs)

    assert {path.name for path in (checkout / "dist").iterdir()} == FILES | {"SHA256SUMS"}
    told = _run(_commands("Check one")[:1], checkout / "dist", programs)
    assert set(told.splitlines()) == {f"{name}: OK" for name in FILES}
    with tarfile.open(checkout / f"dist/kueue_dqo-{NEW}.tar.gz") as archive:
        page = archive.extractfile(f"kueue_dqo-{NEW}/CHANGELOG.md")
        assert page is not None
        assert f"\n## [{NEW}] - 20" in page.read().decode()

    again = checkouts.checkout(checkout, tmp_path / "again")
    _run([f"git checkout --quiet v{NEW}"], again, programs)
    (again / ".venv").symlink_to(BIN.parent)
    sums = (checkout / "dist/SHA256SUMS").read_text()
    rebuilt = _run(_commands("Check one")[1:], again, programs).splitlines()
    assert len(rebuilt) == 2
    assert [line for line in rebuilt if line not in sums.splitlines()] == []
    charts = [line for line in _commands("Make one") if line.startswith(("export", "helm"))]
    _run(charts, again, programs)
    for name in (name for name in FILES if name.endswith(".tgz")):
        assert (again / "dist" / name).read_bytes() == (checkout / "dist" / name).read_bytes(), name


def test_what_is_not_run_stands_there() -> None:
    """Each exception is of use, and has its reason."""
    commands = [line for section in ("Make one", "Check one", "Known vulnerabilities") for line in _commands(section)]
    for start, reason in NOT_RUN.items():
        assert any(line.startswith(start) for line in commands), start
        assert reason


def test_the_policy_of_licences_is_that_of_the_check() -> None:
    """Name by name."""
    section = PAGE.partition("\n## Licences\n")[2].partition("\n## ")[0]
    sentence = " ".join(section.partition("Allowed are ")[2].partition(":")[0].split())
    assert set(re.split(r", | and ", sentence)) == licence_terms.ALLOWED
    rows = dict(re.findall(r"^\| (\S+) \| (\S+) \| (?:an exception|its metadata)", section, re.MULTILINE))
    expected = {name: each.licence for name, each in licence_terms.EXCEPTIONS.items()}
    assert rows == expected | {name: each.licence for name, each in licence_terms.JUDGED.items()}


def test_the_exit_codes_are_those_of_the_audit() -> None:
    """One row each."""
    section = PAGE.partition("\n## Known vulnerabilities\n")[2]
    rows = dict(re.findall(r"^\| (\d) \| (.*) \|$", section, re.MULTILINE))
    assert rows.keys() == {str(code) for code in (audit.NOTHING_KNOWN, audit.VULNERABLE, audit.NOT_ASKED)}
    assert rows[str(audit.NOT_ASKED)].endswith("nothing is known either way")
