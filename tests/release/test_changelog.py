"""The changelog has the form of Keep a Changelog, and a release dates what was unreleased."""

from __future__ import annotations

from datetime import date

import pytest

from scripts.release import changelog
from scripts.release.tree import ReleaseError
from tests.e2e.process import ROOT

HEAD = "# Changelog\n\nAll.\n\n## [Unreleased]\n\n"
GOOD = f"{HEAD}### Added\n\n- This.\n\n## [0.2.0] - 2026-11-02\n\n### Changed\n\n- That.\n\n### Fixed\n\n- It.\n"


def test_the_changelog_of_the_project_has_the_form() -> None:
    """Every line of it."""
    assert changelog.problems((ROOT / "CHANGELOG.md").read_text()) == []


@pytest.mark.parametrize(
    ("replaced", "by", "what"),
    [
        ("# Changelog", "# Changes", "line 1: the title is '# Changelog'"),
        ("## [Unreleased]", "", "the first heading is '## [Unreleased]'"),
        ("2026-11-02", "2. 11. 2026", "is not '## [VERSION] - YYYY-MM-DD'"),
        ("2026-11-02", "2026-13-02", "is not '## [VERSION] - YYYY-MM-DD'"),
        ("0.2.0", "soon", "line 11: '## [soon] - 2026-11-02' is not"),
        ("### Changed", "### Improved", "line 13: 'Improved' is none of Added, Changed"),
        ("### Fixed", "### Added", "line 17: 'Added' stands below 'Changed'"),
        ("### Fixed", "### Changed", "line 17: 'Changed' stands below 'Changed'"),
        ("- It.", "", "line 17: 'Fixed' has no entries"),
        ("- It.", "- It.\n\n## [Unreleased]", "line 21: '## [Unreleased]' is not"),
        ("- It.", "- It.\n\n## [0.3.0] - 2026-10-01", "stands below an older release"),
        ("- It.", "- It.\n\n## [0.1.0] - 2026-12-01", "stands below an older release"),
        ("- It.", "- It.\n\n## [0.2.0] - 2026-11-02", "stands below an older release"),
    ],
)
def test_what_is_out_of_form_is_told(replaced: str, by: str, what: str) -> None:
    """One thing each, with its line."""
    assert changelog.problems(GOOD) == []
    [problem] = changelog.problems(GOOD.replace(replaced, by))
    assert what in problem


def test_a_release_dates_what_was_unreleased() -> None:
    """And leaves an empty heading for what comes next."""
    text = changelog.released(GOOD, "0.3.0", date(2026, 12, 1))
    assert text.startswith(f"{HEAD}## [0.3.0] - 2026-12-01\n\n### Added\n\n- This.\n\n## [0.2.0]")
    assert changelog.problems(text) == []


@pytest.mark.parametrize(
    ("text", "version", "what"),
    [
        (GOOD.replace("### Added\n\n- This.\n\n", ""), "0.3.0", "has nothing under ## \\[Unreleased\\]"),
        (GOOD, "0.2.0", "has '## \\[0.2.0\\] - 2026-11-02' already"),
        (GOOD, "0.1.9", "0.1.9 is no new version"),
    ],
)
def test_a_release_of_nothing_or_a_second_time_is_refused(text: str, version: str, what: str) -> None:
    """Nothing is written then."""
    with pytest.raises(ReleaseError, match=what):
        changelog.released(text, version, date(2026, 12, 1))
