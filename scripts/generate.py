"""Writes the files that are made from others: from what the command prints, from what the code declares.

    .venv/bin/python scripts/generate.py            writes them
    .venv/bin/python scripts/generate.py --check    exits with 1 and names the files that are not up to date

Each module in `scripts/generators/` that makes files has a function `files`, which gives their whole texts by path.
"""

from __future__ import annotations

import argparse
import sys
from typing import Final

from scripts.generators import charts, command, metrics, rules
from scripts.generators.tree import ROOT, GenerateError, present

REMEDY: Final = ".venv/bin/python scripts/generate.py"
GENERATORS: Final = (charts.files, command.files, metrics.files, rules.files)


def main() -> int:
    """Writes or checks, and returns the exit code."""
    parser = argparse.ArgumentParser(description="Writes the files that are made from others.")
    parser.add_argument(
        "--check", action="store_true", help="write nothing; exit with 1 where a file is not up to date"
    )
    check = bool(parser.parse_args().check)
    try:
        wanted = {path: text for files in GENERATORS for path, text in files().items()}
    except GenerateError as error:
        print(f"generate: {error}", file=sys.stderr)
        return 1
    stale = [path for path, text in wanted.items() if present(path) != text]
    if check:
        for path in stale:
            print(f"generate: {path} is not up to date: run {REMEDY}", file=sys.stderr)
        return 1 if stale else 0
    for path in stale:
        (ROOT / path).parent.mkdir(parents=True, exist_ok=True)
        (ROOT / path).write_bytes(wanted[path].encode())
        print(f"generate: {path} written")
    return 0


if __name__ == "__main__":
    sys.exit(main())
