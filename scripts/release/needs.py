"""Which distribution needs which, as the metadata of those that are installed here say it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from importlib.metadata import requires
from typing import Final

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from scripts.release.tree import ROOT, ReleaseError


def _python_of_the_image() -> str:
    """From the Dockerfile, such as 3.13.13."""
    found = re.search(r"^ARG PYTHON_IMAGE=python:([0-9.]+)-", (ROOT / "docker/Dockerfile").read_text(), re.MULTILINE)
    if found is None:
        raise ReleaseError("docker/Dockerfile has no line ARG PYTHON_IMAGE=python:VERSION-VARIANT")
    return found[1]


def markers_of_the_image(machine: str = "x86_64") -> dict[str, str]:
    """What environment markers are judged by in the image, on such a machine."""
    version = _python_of_the_image()
    return _SYSTEM | {
        "implementation_version": version,
        "platform_machine": machine,
        "python_full_version": version,
        "python_version": version.rpartition(".")[0],
    }


def direct(requirements: Iterable[str], markers: Mapping[str, str], extras: Iterable[str] = ()) -> list[Requirement]:
    """Those that are in force there, for these extras of whoever states them."""
    chosen = [dict(markers) | {"extra": extra} for extra in extras or ("",)]
    stated = map(Requirement, requirements)
    return [each for each in stated if each.marker is None or any(each.marker.evaluate(values) for values in chosen)]


def graph(roots: Iterable[Requirement], markers: Mapping[str, str]) -> dict[str, set[str]]:
    """Each distribution that is installed for the roots, themselves included, with those that it needs directly."""
    found: dict[str, set[str]] = {}
    seen: set[tuple[str, str]] = set()
    waiting = list(roots)
    while waiting:
        each = waiting.pop()
        name = canonicalize_name(each.name)
        for extra in ("", *sorted(each.extras)):
            if (name, extra) in seen:
                continue
            seen.add((name, extra))
            needed = direct(requires(name) or [], markers, [extra])
            found.setdefault(name, set()).update(canonicalize_name(other.name) for other in needed)
            waiting += needed
    return found


_SYSTEM: Final = {
    "implementation_name": "cpython",
    "os_name": "posix",
    "platform_python_implementation": "CPython",
    "platform_release": "",
    "platform_system": "Linux",
    "platform_version": "",
    "sys_platform": "linux",
}
