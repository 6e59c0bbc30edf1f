"""Looks for known vulnerabilities in what is pinned, in a database that is asked over the network.

    .venv/bin/python -m scripts.release.audit [options of pip-audit]

    0  the database was asked about every pin, and knows nothing of any
    1  it knows something: each is named, with the versions that are without it
    2  it could not be asked, or not about everything; nothing is said about what is pinned

The tool's own exit code is 0 where an index does not know a package, and 1 where no database is reached, so it is the
report that is judged.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

from scripts.release.pins import BUILD, DEVELOPMENT, IMAGE, Pin, pins
from scripts.release.tree import ROOT, ReleaseError

NOTHING_KNOWN: Final = 0
VULNERABLE: Final = 1
NOT_ASKED: Final = 2

FILES: Final = {
    IMAGE: "what the image installs",
    BUILD: "what builds the wheel",
    DEVELOPMENT: "what develops and tests it",
}
_REMEDY: Final = (
    "nothing is known either way: run it where the database can be reached, or name another one that speaks the API of "
    "OSV, make audit ARGS='--osv-url URL'"
)


class Vulnerability(NamedTuple):
    """One that the database knows of one pin."""

    name: str
    version: str
    ids: tuple[str, ...]
    fixed_in: tuple[str, ...]

    def __str__(self) -> str:
        fixed = f"fixed in {', '.join(self.fixed_in)}" if self.fixed_in else "no version is known to be without it"
        return f"{self.name} {self.version}: {' = '.join(self.ids)}; {fixed}"


def main() -> int:
    """Audits every file of pins, and returns the exit code. What is vulnerable counts more than what is unknown."""
    codes = {audit(path, what, sys.argv[1:]) for path, what in FILES.items()}
    return VULNERABLE if VULNERABLE in codes else max(codes)


def audit(path: Path, what: str, options: Sequence[str]) -> int:
    """One file. Prints what is known, and returns the exit code for it."""
    name = path.relative_to(ROOT) if path.is_relative_to(ROOT) else path
    try:
        wanted = [pin for pin in pins(path).values() if pin.marker is None or pin.marker.evaluate()]
        found = judged(report(path, options), wanted)
    except ReleaseError as error:
        print(f"audit: {name} ({what}): {error}", file=sys.stderr)
        return NOT_ASKED
    for each in found:
        print(f"audit: {name} ({what}): {each}", file=sys.stderr)
    if found:
        return VULNERABLE
    print(f"audit: {name} ({what}): nothing is known of {len(wanted)} distributions")
    return NOTHING_KNOWN


def report(path: Path, options: Sequence[str]) -> dict[str, Any]:
    """What pip-audit answers. Later options win. Raises ReleaseError where it made no report."""
    command: list[str | Path] = [
        sys.executable,
        "-m",
        "pip_audit",
        "--requirement",
        path,
        "--require-hashes",
        "--disable-pip",
    ]
    command += ["--progress-spinner", "off", "--vulnerability-service", "osv", "--format", "json", *options]
    done = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603
    try:
        answer: dict[str, Any] = json.loads(done.stdout)
    except ValueError as error:
        said = done.stderr.strip().splitlines() or [f"pip-audit ends with {done.returncode} and says nothing"]
        raise ReleaseError(f"no database of vulnerabilities was asked: {said[-1]}; {_REMEDY}") from error
    return answer


def judged(answer: dict[str, Any], wanted: Sequence[Pin]) -> list[Vulnerability]:
    """What is known. Raises ReleaseError where any pin was left out of the report."""
    entries = {each["name"]: each for each in answer["dependencies"]}
    left_out = [pin.name for pin in wanted if "vulns" not in entries.get(pin.name, {})]
    if left_out:
        why = entries.get(left_out[0], {}).get("skip_reason", "it is not in the report")
        raise ReleaseError(
            f"{len(left_out)} of {len(wanted)} distributions were not looked up, such as {left_out[0]}: {why}; "
            f"{_REMEDY}"
        )
    return [
        Vulnerability(pin.name, pin.version, (known["id"], *known["aliases"]), tuple(known["fix_versions"]))
        for pin in wanted
        for known in entries[pin.name]["vulns"]
    ]


if __name__ == "__main__":
    sys.exit(main())
