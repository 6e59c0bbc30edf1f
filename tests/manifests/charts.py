"""The Helm chart as the real Helm renders it. Needs no cluster."""

from __future__ import annotations

import subprocess
from functools import cache
from pathlib import Path
from typing import Any, Final

import yaml

from tests.controlplane import binaries
from tests.manifests.rendered import MANIFESTS

CHART: Final = MANIFESTS / "charts" / "kueue-dqo"
KUEUE_CHART: Final = MANIFESTS / "charts" / "kueue-dqo-kueue-crds"
VARIANTS: Final = tuple(sorted(file.name.removesuffix("-values.yaml") for file in (CHART / "ci").glob("*-values.yaml")))
"""The names of the values in `ci/`, where tools for charts look for them."""
NAMESPACE: Final = "kueue-dqo-system"
RELEASE: Final = "kueue-dqo"


def helm(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    """Runs it."""
    command = [binaries.find(binaries.HELM), *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def values_of(variant: str) -> Path:
    """The file with the values of a variant."""
    return CHART / "ci" / f"{variant}-values.yaml"


@cache
def template(variant: str, *, namespace: str = NAMESPACE, chart: Path = CHART) -> tuple[dict[str, Any], ...]:
    """The objects of the chart; for no variant, an empty text, with its defaults. To be read only."""
    values: list[str | Path] = ["--values", values_of(variant)] if variant else []
    done = helm("template", RELEASE, chart, "--namespace", namespace, "--kube-version", "1.37.0", *values)
    assert done.returncode == 0, done.stderr
    return tuple(each for each in yaml.safe_load_all(done.stdout) if each)
