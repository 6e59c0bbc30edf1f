"""What the project needs where it is installed, by its pyproject.toml and the versions that are tested."""

from __future__ import annotations

import tomllib
from typing import Any, Final

from packaging.requirements import Requirement

from scripts.release.needs import graph, markers_of_the_image
from scripts.release.tree import ROOT

NAME: Final = "kueue-dqo"
IMAGE_EXTRAS: Final = ("aws", "gcp", "nvidia")
"""What the image has beside the base: a daemon in a pod needs each of them."""


def project() -> dict[str, Any]:
    """The table `project` of pyproject.toml."""
    table: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    return table


def base() -> list[Requirement]:
    """What every installation has."""
    return [Requirement(each) for each in project()["dependencies"]]


def added_by(name: str) -> list[Requirement]:
    """What one extra adds."""
    return [Requirement(each) for each in project()["optional-dependencies"][name]]


def extras() -> list[str]:
    """Their names."""
    return sorted(project()["optional-dependencies"])


def with_extras() -> frozenset[str]:
    """Every distribution that the project with all its extras brings."""
    roots = base() + [each for name in extras() for each in added_by(name)]
    return frozenset(graph(roots, markers_of_the_image()))
