"""The version of the project: where it stands, whether all places agree, and how it is raised.

    .venv/bin/python -m scripts.release.version            prints it; exits with 1 where places differ
    .venv/bin/python -m scripts.release.version 0.2.0      writes it everywhere, and dates the changelog

Each file that is generated from one of them has to be generated again then.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Callable, Iterator
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Final, NamedTuple

from packaging.version import Version

from scripts.release import changelog
from scripts.release.tree import ROOT, ReleaseError

_NUMBER: Final = r"([0-9]+\.[0-9]+\.[0-9]+)"
"""Three numbers, so that it is a version for Python, for Helm and for tags of images alike."""
_ARTIFACT: Final = rf"\bkueue[-_]dqo(?:-kueue-crds)?[:-]{_NUMBER}"
"""In the name of an image, a file or a folder."""
_IN_TEXT: Final = ("README.md", "docs/**/*.md", "docker/Dockerfile", "examples/**/*.md", "examples/**/Dockerfile")

_PLACES: Final = (
    ("pyproject.toml", rf'^version = "{_NUMBER}"$'),
    ("kueue_dqo/__init__.py", rf'^__version__ = "{_NUMBER}"$'),
    ("docker/Dockerfile", rf"^ARG VERSION={_NUMBER}$"),
    ("manifests/**/kustomization.yaml", rf"^- name: kueue-dqo\n(?:  newName: .*\n)?  newTag: \"?{_NUMBER}\"?$"),
    ("manifests/charts/*/Chart.yaml", rf'^(?:version|appVersion): "?{_NUMBER}"?$'),
    *((pattern, _ARTIFACT) for pattern in _IN_TEXT),
)
"""(files, the expression whose only group is the version)."""


class Place(NamedTuple):
    """One place that names the version."""

    path: Path
    line: int
    version: str

    def __str__(self) -> str:
        return f"{self.path.relative_to(ROOT)}:{self.line}: {self.version}"


def main() -> int:
    """Prints or writes, and returns the exit code."""
    parser = argparse.ArgumentParser(description="The version of the project, in every place.")
    parser.add_argument("version", nargs="?", help="the one to write; else they are compared")
    parser.add_argument("--date", type=date.fromisoformat, help="the day of the release [default: today, UTC]")
    given = parser.parse_args()
    try:
        if given.version is None:
            print(agreed())
        else:
            day = given.date or datetime.now(UTC).date()
            for path in write(given.version, day):
                print(f"version: {path.relative_to(ROOT)} written")
    except ReleaseError as error:
        print(f"version: {error}", file=sys.stderr)
        return 1
    return 0


def places() -> list[Place]:
    """All of them. The one that others are judged by comes first."""
    return [
        Place(path, text.count("\n", 0, match.start(1)) + 1, match[1])
        for path, expression in _files()
        for text in [path.read_text()]
        for match in re.finditer(expression, text, re.MULTILINE)
    ]


def _files() -> Iterator[tuple[Path, str]]:
    for pattern, expression in _PLACES:
        yield from ((path, expression) for path in sorted(ROOT.glob(pattern)))


def agreed() -> str:
    """The version. Raises ReleaseError where a place names another one."""
    first, *others = places()
    odd = [str(each) for each in others if each.version != first.version]
    if odd:
        raise ReleaseError(f"{first}, but {'; '.join(odd)}")
    return first.version


def write(wanted: str, day: date) -> list[Path]:
    """The files that were written. Raises ReleaseError where the version is not a new one, or nothing has changed."""
    if re.fullmatch(_NUMBER, wanted) is None:
        raise ReleaseError(f"{wanted!r} is no version: three numbers are wanted, such as 0.2.0")
    now = agreed()
    if Version(wanted) < Version(now):
        raise ReleaseError(f"{wanted} is older than {now}, which the project has already")
    page = ROOT / "CHANGELOG.md"
    texts = {page: changelog.released(page.read_text(), wanted, day)}
    for path, expression in _files():
        text = texts.get(path) or path.read_text()
        texts[path] = re.sub(expression, _with(wanted), text, flags=re.MULTILINE)
    changed = [path for path, text in texts.items() if text != path.read_text()]
    for path in changed:
        path.write_text(texts[path])
    return changed


def _with(wanted: str) -> Callable[[re.Match[str]], str]:
    return lambda match: match[0].replace(match[1], wanted)


if __name__ == "__main__":
    sys.exit(main())
