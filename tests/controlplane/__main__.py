"""`python -m tests.controlplane build` makes the programs, `… cluster` a control plane to try."""

from __future__ import annotations

import sys

from tests.controlplane import binaries, golang


def main() -> int:
    """Runs what the first argument names; the exit code."""
    match sys.argv[1:]:
        case ["build"]:
            try:
                binaries.find_all()
            except (golang.BuildFailed, binaries.MissingProgram) as error:
                binaries.say_on_stderr(str(error))
                return 1
            binaries.say_on_stderr(f"ready in {binaries.cache()}")
            return 0
        case _:
            binaries.say_on_stderr("usage: python -m tests.controlplane build")
            return 2


if __name__ == "__main__":
    sys.exit(main())
