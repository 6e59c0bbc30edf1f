"""What the tests of a release share: a repository, and the distributions that are built from it."""

from __future__ import annotations

from pathlib import Path

import pytest

from scripts.release import dist
from tests.release import checkouts
from tests.release.once import once


@pytest.fixture(scope="session")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Of this tree as it stands."""
    return once(tmp_path_factory, "release-repository", checkouts.repository)


@pytest.fixture(scope="session")
def built(repository: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder with the wheel and the source distribution."""

    def build(folder: Path) -> None:
        dist.build(checkouts.checkout(repository, folder / "checkout"), folder / "dist")

    return once(tmp_path_factory, "release-distributions", build) / "dist"


@pytest.fixture(scope="session")
def wheel(built: Path) -> Path:
    """The one."""
    [path] = built.glob("*.whl")
    return path


@pytest.fixture(scope="session")
def sdist(built: Path) -> Path:
    """The one."""
    [path] = built.glob("*.tar.gz")
    return path
