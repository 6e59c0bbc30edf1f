"""The checkout that is released, what git knows of it, and when its last commit was made."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[2]
DIST: Final = ROOT / "dist"
EPOCH: Final = "SOURCE_DATE_EPOCH"
"""The variable that tools take the time of a build from: https://reproducible-builds.org/specs/source-date-epoch/."""

_SETTINGS: Final = ("-c", "core.autocrlf=false", "-c", "core.eol=lf", "-c", "tar.umask=0022")
"""So that what a person has set for git changes no byte of what it hands out."""


class ReleaseError(Exception):
    """A step of a release cannot be done; the message says why, and what to do."""


def git(*arguments: str, root: Path = ROOT) -> bytes:
    """What git prints. Raises ReleaseError where there is no git, no checkout, or git fails."""
    try:
        done = subprocess.run(["git", *_SETTINGS, *arguments], cwd=root, capture_output=True, check=True)  # noqa: S603, S607
    except OSError as error:
        raise ReleaseError(f"git does not run ({error}): install it, a release is made from a checkout") from error
    except subprocess.CalledProcessError as error:
        said = error.stderr.decode(errors="replace").strip()
        raise ReleaseError(f"git {arguments[0]} fails in {root}: {said}; a release is made from a checkout") from error
    return done.stdout


def time_of_commit(root: Path = ROOT) -> int:
    """When the last commit was made, in seconds since 1970."""
    return int(git("log", "-1", "--format=%ct", root=root))


def time_of_release(root: Path = ROOT) -> int:
    """SOURCE_DATE_EPOCH where that is set, as in an unpacked source distribution, else the time of the last commit."""
    given = os.environ.get(EPOCH, "")
    if given and not (given.isascii() and given.isdigit()):
        raise ReleaseError(f"{EPOCH}={given!r} is no number of seconds since 1970: unset it, or give one")
    return int(given) if given else time_of_commit(root)
