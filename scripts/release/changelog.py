"""The form of CHANGELOG.md, which is that of Keep a Changelog, and the step that a release takes in it."""

from __future__ import annotations

import re
from datetime import date
from typing import Final

from packaging.version import InvalidVersion, Version

from scripts.release.tree import ReleaseError

UNRELEASED: Final = "## [Unreleased]"
KINDS: Final = ("Added", "Changed", "Deprecated", "Removed", "Fixed", "Security")
"""Of changes, in the order in which they stand."""
_RELEASE: Final = re.compile(r"## \[([^\]]+)\] - (.*)")


def released(text: str, version: str, day: date) -> str:
    """The text with what was unreleased under the heading of a version.

    Raises ReleaseError where there is nothing unreleased, or where that version or a later one is released already.
    """
    for line in text.splitlines():
        if line.startswith("## ") and line != UNRELEASED and _release(line)[0] >= Version(version):
            raise ReleaseError(f"CHANGELOG.md has {line!r} already: {version} is no new version")
    before, heading, after = text.partition(f"{UNRELEASED}\n")
    if not heading or not re.match(r"\s*### ", after):
        raise ReleaseError(f"CHANGELOG.md has nothing under {UNRELEASED}: a release says what has changed")
    return f"{before}{heading}\n## [{version}] - {day.isoformat()}\n{after}"


def problems(text: str) -> list[str]:
    """What is not as it should be, each with its line."""
    lines = text.splitlines()
    wrong = [] if lines[:1] == ["# Changelog"] else ["line 1: the title is '# Changelog'"]
    headings = [(number, line) for number, line in enumerate(lines, 1) if line.startswith("## ")]
    if not headings or headings[0][1] != UNRELEASED:
        wrong.append(f"the first heading is {UNRELEASED!r}")
    else:
        del headings[0]
    wrong += _problems_of_releases(headings)
    return wrong + _problems_of_sections(lines)


def _problems_of_releases(headings: list[tuple[int, str]]) -> list[str]:
    """Of what stands below what is unreleased: the newest comes first, by its version and by its day."""
    wrong: list[str] = []
    newer: tuple[Version, date] | None = None
    for number, line in headings:
        try:
            release = _release(line)
        except (InvalidVersion, ValueError) as error:
            wrong.append(f"line {number}: {line!r} is not '## [VERSION] - YYYY-MM-DD': {error}")
            continue
        if newer is not None and (release[0] >= newer[0] or release[1] > newer[1]):
            wrong.append(f"line {number}: {line!r} stands below an older release")
        newer = release
    return wrong


def _release(line: str) -> tuple[Version, date]:
    found = _RELEASE.fullmatch(line)
    if found is None or not re.fullmatch(r"\d{4}-\d\d-\d\d", found[2]):
        raise ValueError("a version in brackets and a day are wanted")
    return Version(found[1]), date.fromisoformat(found[2])


def _problems_of_sections(lines: list[str]) -> list[str]:
    """Below each release the known kinds, in their order, once each, and each with entries."""
    wrong: list[str] = []
    seen: list[str] = []
    for number, line in enumerate(lines, 1):
        if line.startswith("## "):
            seen = []
        elif line.startswith("### "):
            kind = line.removeprefix("### ")
            if kind not in KINDS:
                wrong.append(f"line {number}: {kind!r} is none of {', '.join(KINDS)}")
            elif seen and KINDS.index(kind) <= max(map(KINDS.index, seen)):
                wrong.append(f"line {number}: {kind!r} stands below {seen[-1]!r}; the order is {', '.join(KINDS)}")
            else:
                seen.append(kind)
            following = next((each for each in lines[number:] if each.strip()), "")
            if not following.startswith("- "):
                wrong.append(f"line {number}: {kind!r} has no entries")
    return wrong
