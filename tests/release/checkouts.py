"""Checkouts of this tree as it stands, with one commit, apart from the repository that it may be in."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import Final

from tests.e2e.process import ROOT, environment

TIME: Final = 1_700_000_001
"""Of the commit, in seconds since 1970; odd, since the times in a wheel have no odd seconds."""
_IDENTITY: Final = {
    f"GIT_{who}_{what}": value
    for who in ("AUTHOR", "COMMITTER")
    for what, value in (("NAME", "A"), ("EMAIL", "a@example.com"), ("DATE", f"{TIME} +0000"))
}
VARIABLES: Final = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1", **_IDENTITY}
"""What git runs with, whoever runs the tests."""


def repository(folder: Path) -> None:
    """Makes a bare repository there. What .gitignore names is not in it, all else of the tree is."""
    _git("init", "--quiet", "--bare", str(folder))
    here = ("--git-dir", str(folder), "--work-tree", str(ROOT), "-c", "core.bare=false")
    _git(*here, "add", "--all")
    _git(*here, "commit", "--quiet", "--message", "All of it")


def checkout(repository: Path, folder: Path, *, umask: int = 0o022) -> Path:
    """A clone of it, in files of such modes."""
    _git("clone", "--quiet", str(repository), str(folder), umask=umask)
    return folder


def tracked(checkout: Path) -> set[str]:
    """The files that git knows there."""
    return set(_git("-C", str(checkout), "ls-files", "-z").rstrip("\0").split("\0"))


def commit(checkout: Path) -> None:
    """Records what has changed there."""
    _git("-C", str(checkout), "commit", "--quiet", "--all", "--message", "A change")


def _git(*arguments: str, umask: int = -1) -> str:
    done = subprocess.run(
        ["git", *arguments], env=environment(**VARIABLES), check=True, capture_output=True, text=True, umask=umask
    )
    return done.stdout
