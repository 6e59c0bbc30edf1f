"""The wheel and the source distribution: what is in them, and that whoever builds them gets the same bytes."""

from __future__ import annotations

import os
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

from kueue_dqo import __version__
from scripts.release import dist
from tests.e2e.process import environment
from tests.release import checkouts

PACKAGES = ("admission", "kueue_dqo", "orchestrator", "providers")
LEFT_OUT = {".ci/run"}
"""What git tracks, and nobody needs who has no repository."""


def _bytes(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def _build(checkout: Path, folder: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    """As `make dist` does it, with the checkout's own script."""
    command = [sys.executable, "-m", "scripts.release.dist", "--directory", str(folder)]
    return subprocess.run(
        command, cwd=checkout, env=environment(**variables), capture_output=True, text=True, check=False
    )


def _unpacked(sdist: Path, folder: Path) -> Path:
    subprocess.run(["tar", "-xzf", sdist, "-C", folder], check=True)
    return folder / f"kueue_dqo-{__version__}"


def test_every_checkout_of_a_commit_builds_the_same_bytes(repository: Path, built: Path, tmp_path: Path) -> None:
    """In another folder, later, with other modes, locale, time zone and variables, and with files lying about."""
    checkout = checkouts.checkout(repository, tmp_path / "elsewhere/a b", umask=0o077)
    for stray in (
        "kubeconfig",
        "kueue_dqo/secret.yaml",
        "kueue_dqo/__pycache__/x.pyc",
        "my-cluster/kustomization.yaml",
    ):
        path = checkout / stray
        path.parent.mkdir(exist_ok=True)
        path.write_text("stray")
    for path in (checkout / "kueue_dqo").rglob("*.py"):
        os.utime(path, (1, 1))
    odd = {"LC_ALL": "C", "TZ": "Pacific/Kiritimati", "SOURCE_DATE_EPOCH": "42", "HATCH_BUILD_CLEAN": "true"}
    finished = _build(checkout, tmp_path / "dist", **odd)
    assert (finished.returncode, finished.stderr) == (0, "")
    assert _bytes(tmp_path / "dist") == _bytes(built)
    assert [line.split()[1] for line in finished.stdout.splitlines()] == sorted(path.name for path in built.iterdir())


def test_the_source_distribution_builds_the_wheel(wheel: Path, sdist: Path, tmp_path: Path) -> None:
    """The same as the checkout does, for those who start from it."""
    dist.run_backend(_unpacked(sdist, tmp_path), tmp_path / "out", "wheel", time=checkouts.TIME)
    assert _bytes(tmp_path / "out") == {wheel.name: wheel.read_bytes()}


def test_the_source_distribution_holds_what_git_tracks(repository: Path, sdist: Path, tmp_path: Path) -> None:
    """Tests, documentation, examples and manifests too; nobody's name, and one time."""
    tracked = checkouts.tracked(checkouts.checkout(repository, tmp_path / "checkout"))
    with tarfile.open(sdist) as archive:
        members = archive.getmembers()
    root = f"kueue_dqo-{__version__}/"
    assert {member.name.removeprefix(root) for member in members} == tracked - LEFT_OUT | {"PKG-INFO"}
    assert {(member.uid, member.gid, member.uname, member.gname) for member in members} == {(0, 0, "", "")}
    assert {member.mtime for member in members} == {checkouts.TIME}
    assert {member.mode for member in members} <= {0o644, 0o755}


def test_any_builder_leaves_a_stray_folder_out(repository: Path, tmp_path: Path) -> None:
    """Without our script too, such as a frontend that is run in a folder where somebody works."""
    checkout = checkouts.checkout(repository, tmp_path / "checkout")
    (checkout / "my-cluster").mkdir()
    for stray in ("my-cluster/kustomization.yaml", "kubeconfig", ".env"):
        (checkout / stray).write_text("stray")
    dist.run_backend(checkout, tmp_path / "out", "sdist", time=checkouts.TIME)
    [path] = (tmp_path / "out").iterdir()
    with tarfile.open(path) as archive:
        names = archive.getnames()
    assert [name for name in names if "my-cluster" in name or name.endswith(("/kubeconfig", "/.env"))] == []


def test_the_wheel_holds_the_packages_and_nothing_of_the_tree_around_them(wheel: Path, sdist: Path) -> None:
    """With the licence and the markers for type checkers; whatever is no source is named here."""
    with tarfile.open(sdist) as archive:
        root = f"kueue_dqo-{__version__}/"
        files = [each.name.removeprefix(root) for each in archive.getmembers()]
    own = {name for name in files if name.startswith(tuple(f"{package}/" for package in PACKAGES))}
    names = zipfile.ZipFile(wheel).namelist()
    info = f"kueue_dqo-{__version__}.dist-info"
    assert set(names) == own | {
        f"{info}/{name}" for name in ("METADATA", "WHEEL", "RECORD", "entry_points.txt", "licenses/LICENSE")
    }
    assert len(names) == len(set(names))
    assert {name for name in own if not name.endswith(".py")} == {f"{package}/py.typed" for package in PACKAGES}


def test_changes_that_are_not_committed_are_never_built(repository: Path, tmp_path: Path) -> None:
    """Nobody could say later what the distributions were made of."""
    checkout = checkouts.checkout(repository, tmp_path / "checkout")
    with (checkout / "README.md").open("a") as page:
        page.write("\nmore\n")
    finished = _build(checkout, tmp_path / "dist")
    assert (finished.returncode, finished.stdout) == (1, "")
    assert finished.stderr.startswith(
        "dist: what is built is the last commit, and 1 files differ from it, such as README.md"
    )
    assert not (tmp_path / "dist").exists()
    checkouts.commit(checkout)
    assert _build(checkout, tmp_path / "dist").returncode == 0


def test_without_a_repository_the_way_out_is_named(sdist: Path, tmp_path: Path) -> None:
    """As in an unpacked source distribution."""
    finished = _build(_unpacked(sdist, tmp_path), tmp_path / "dist")
    assert finished.returncode == 1
    assert "a release is made from a checkout" in finished.stderr
