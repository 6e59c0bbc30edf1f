"""The files that say what is installed, by exact version and by hash."""

from __future__ import annotations

from pathlib import Path
from typing import Final, NamedTuple

from packaging.markers import Marker
from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name

from scripts.release.tree import ROOT, ReleaseError

IMAGE: Final = ROOT / "docker/requirements.txt"
BUILD: Final = ROOT / "docker/requirements-build.txt"
DEVELOPMENT: Final = ROOT / "requirements-dev.lock"
_SHA256: Final = "--hash=sha256:"


class Pin(NamedTuple):
    """One distribution in one version."""

    name: str
    """In its normal form: lower case, with hyphens."""
    version: str
    marker: Marker | None
    """Where it is installed at all; None: everywhere."""
    hashes: tuple[str, ...]
    """SHA-256, in hexadecimal digits, of every file of that version that is accepted."""


def pins(path: Path) -> dict[str, Pin]:
    """By name. Raises ReleaseError where a line is anything but a version with its hashes."""
    found: dict[str, Pin] = {}
    for line in path.read_text().replace("\\\n", " ").splitlines():
        if not line.strip() or line.startswith("#"):
            continue
        pin = _pin(line, path)
        if pin.name in found:
            raise ReleaseError(f"{path}: {pin.name} stands there twice")
        found[pin.name] = pin
    return found


def _pin(line: str, path: Path) -> Pin:
    stated, *hashes = line.split(_SHA256)
    try:
        requirement = Requirement(stated.strip())
    except InvalidRequirement as error:
        raise ReleaseError(f"{path}: {stated.strip()!r} is no requirement: {error}") from error
    versions = list(requirement.specifier)
    if len(versions) != 1 or versions[0].operator != "==" or requirement.url or not hashes:
        raise ReleaseError(f"{path}: {stated.strip()!r} is not pinned to one version and its hashes")
    return Pin(
        name=canonicalize_name(requirement.name),
        version=versions[0].version,
        marker=requirement.marker,
        hashes=tuple(sorted(each.strip() for each in hashes)),
    )
