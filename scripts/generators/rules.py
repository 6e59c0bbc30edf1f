"""`manifests/prometheus/rules.yaml`: the alert rules for a Prometheus without its operator."""

from __future__ import annotations

from typing import Final

import yaml

from scripts.generators.tree import GenerateError, present

SOURCE: Final = "manifests/components/prometheus-rules/rules.yaml"
TARGET: Final = "manifests/prometheus/rules.yaml"
_HEAD: Final = f"# Written by scripts/generate.py from {SOURCE}: change that, not this file.\n"


def files() -> dict[str, str]:
    """What stands below `spec` of the PrometheusRule. Raises GenerateError."""
    text = present(SOURCE)
    if text is None:
        raise GenerateError(f"{SOURCE} is missing")
    return {TARGET: _HEAD + yaml.safe_dump(yaml.safe_load(text)["spec"], sort_keys=False, width=120)}
