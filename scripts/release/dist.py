"""Builds the source distribution and the wheel, bit for bit the same from every checkout of a commit.

    .venv/bin/python -m scripts.release.dist [--directory dist]

What is built is what git has of the last commit, unpacked into a folder of its own: files beside it, modes, times and
variables of whoever builds have no part in it. Every time in the archives is that of the commit.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Final

from scripts.release.tree import DIST, EPOCH, ROOT, ReleaseError, git, time_of_commit

_KEPT: Final = ("PATH", "HOME", "TMPDIR")
"""Variables that the build backend gets; others could change what it does."""


def main() -> int:
    """Builds, prints the checksums, and returns the exit code."""
    parser = argparse.ArgumentParser(description="Builds the source distribution and the wheel of the last commit.")
    parser.add_argument("--directory", type=Path, default=DIST, help="where they are put")
    directory = parser.parse_args().directory.resolve()
    try:
        made = build(ROOT, directory)
    except ReleaseError as error:
        print(f"dist: {error}", file=sys.stderr)
        return 1
    for path in made:
        print(f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.name}")
    return 0


def build(root: Path, directory: Path) -> list[Path]:
    """The two files that were put there. Raises ReleaseError where tracked files differ from the last commit."""
    changed = git("status", "--porcelain", "--untracked-files=no", root=root).decode().splitlines()
    if changed:
        raise ReleaseError(
            f"what is built is the last commit, and {len(changed)} files differ from it, such as "
            f"{changed[0][3:]}: commit the changes, or put them away with git stash"
        )
    with tempfile.TemporaryDirectory() as folder:
        source, out = Path(folder, "source"), Path(folder, "out")
        source.mkdir()
        subprocess.run(  # noqa: S603
            ["tar", "-x", "-C", source],  # noqa: S607
            input=git("archive", "--format=tar", "HEAD", root=root),
            check=True,
        )
        run_backend(source, out, time=time_of_commit(root))
        directory.mkdir(parents=True, exist_ok=True)
        return [Path(shutil.copyfile(path, directory / path.name)) for path in sorted(out.iterdir())]


def run_backend(source: Path, out: Path, *targets: str, time: int) -> None:
    """Runs the build backend as it is installed, so that nothing is downloaded. Raises ReleaseError where it fails.

    Without targets it makes both, the wheel straight from the folder.
    """
    chosen = [word for target in targets for word in ("--target", target)]
    variables = {name: os.environ[name] for name in _KEPT if name in os.environ}
    done = subprocess.run(  # noqa: S603
        [sys.executable, "-m", "hatchling", "build", "--directory", out, *chosen],
        cwd=source,
        env={**variables, "LC_ALL": "C.UTF-8", EPOCH: str(time)},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise ReleaseError(f"the build backend fails: {done.stderr.strip() or done.stdout.strip()}")


if __name__ == "__main__":
    sys.exit(main())
