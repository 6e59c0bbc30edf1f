"""The version is the same wherever it stands, and is raised everywhere at once."""

from __future__ import annotations

import tomllib
from datetime import date
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from kueue_dqo import __version__
from scripts.release import version
from scripts.release.tree import ReleaseError
from tests.e2e.process import ROOT
from tests.release import checkouts

DAY = date(2026, 12, 1)


@pytest.fixture
def elsewhere(repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A checkout to write in."""
    checkout = checkouts.checkout(repository, tmp_path / "checkout")
    monkeypatch.setattr(version, "ROOT", checkout)
    return checkout


def test_every_place_names_the_same_version() -> None:
    """The metadata, the code, the image, the tags in manifests, the charts, the pages."""
    assert version.agreed() == __version__
    files = {str(place.path.relative_to(ROOT)) for place in version.places()}
    assert files >= {
        *("pyproject.toml", "kueue_dqo/__init__.py", "docker/Dockerfile", "docs/install.md"),
        *("manifests/base/orchestrator/kustomization.yaml", "manifests/common/provider/kustomization.yaml"),
        *("manifests/base/nvidia-gpu-agent/kustomization.yaml", "manifests/charts/kueue-dqo/Chart.yaml"),
        *("manifests/charts/kueue-dqo-kueue-crds/Chart.yaml", "examples/writing-a-provider/Dockerfile"),
    }


def test_every_tag_in_the_manifests_is_one_of_the_places() -> None:
    """Otherwise a release would leave it behind."""
    tagged = {path for path in (ROOT / "manifests").rglob("kustomization.yaml") if "newTag:" in path.read_text()}
    assert tagged == {place.path for place in version.places() if place.path.name == "kustomization.yaml"}
    for path in (ROOT / "manifests/charts").glob("*/Chart.yaml"):
        assert len([place for place in version.places() if place.path == path]) == 2, path


def test_the_example_of_a_third_party_fits_this_version() -> None:
    """It names a range."""
    table = tomllib.loads((ROOT / "examples/writing-a-provider/pyproject.toml").read_text())["project"]
    [needed] = (each for each in map(Requirement, table["dependencies"]) if each.name == "kueue-dqo")
    assert __version__ in needed.specifier


def test_raising_it_writes_every_place_and_dates_the_changelog(elsewhere: Path) -> None:
    """And nothing else of those files."""
    before = {path: path.read_text() for path in {place.path for place in version.places()}}
    written = version.write("9.8.7", DAY)
    assert set(written) == {*before, elsewhere / "CHANGELOG.md"}
    assert version.agreed() == "9.8.7"
    assert {path: path.read_text().replace("9.8.7", __version__) for path in before} == before
    assert "## [Unreleased]\n\n## [9.8.7] - 2026-12-01\n\n###" in (elsewhere / "CHANGELOG.md").read_text()


def test_the_first_release_is_of_the_version_that_stands_there(elsewhere: Path) -> None:
    """Only the changelog is written; a second time is refused."""
    assert version.write(__version__, DAY) == [elsewhere / "CHANGELOG.md"]
    with pytest.raises(ReleaseError, match=r"CHANGELOG\.md has"):
        version.write(__version__, DAY)


def test_a_place_that_was_forgotten_is_named(elsewhere: Path) -> None:
    """With its line, beside the one that it is judged by."""
    chart = elsewhere / "manifests/charts/kueue-dqo/Chart.yaml"
    chart.write_text(chart.read_text().replace(f"appVersion: {__version__}", "appVersion: 0.0.9"))
    with pytest.raises(
        ReleaseError, match=r"^pyproject\.toml:\d+: .*, but manifests/charts/kueue-dqo/Chart\.yaml:\d+: 0\.0\.9$"
    ):
        version.agreed()


@pytest.mark.parametrize(
    ("wanted", "what"),
    [("0.0.1", "is older than"), ("1.0", "is no version: three numbers"), ("v1.0.0", "is no version: three numbers")],
)
def test_what_is_no_new_version_is_refused(wanted: str, what: str, elsewhere: Path) -> None:
    """Before anything is written."""
    del elsewhere
    with pytest.raises(ReleaseError, match=what):
        version.write(wanted, DAY)
