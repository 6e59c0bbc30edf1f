"""The reference of metrics has exactly what daemons serve."""

from __future__ import annotations

import subprocess

import pytest
from prometheus_client import CollectorRegistry, Counter, Gauge, generate_latest

from scripts.generators import metrics
from scripts.generators.tree import GenerateError
from tests.controlplane import binaries


def test_names_and_types_are_as_prometheus_wants_them() -> None:
    """By its own linter, over the text that a daemon would serve; the names of controller-runtime are not ours."""
    registry = CollectorRegistry()
    for section in metrics.sections():
        for family in section.families:
            if family.name.startswith("kueue_dqo_") and family.type != "histogram":
                kind = Counter if family.type == "counter" else Gauge
                made = kind(family.name, family.help, family.labels, registry=registry)
                made.labels(*("x" for _ in family.labels)) if family.labels else made
    command = [str(binaries.find(binaries.PROMTOOL)), "check", "metrics"]
    done = subprocess.run(command, input=generate_latest(registry), capture_output=True, check=False)
    assert (done.stdout, done.stderr, done.returncode) == (b"", b"", 0)


@pytest.mark.parametrize(
    ("name", "labels", "told"), [("kueue_dqo_x", ("colour",), "colour"), ("kueue_dqo_x", ("result",), "results")]
)
def test_a_label_that_nobody_explains_is_refused(name: str, labels: tuple[str, ...], told: str) -> None:
    """So that the page cannot lack it."""
    with pytest.raises(GenerateError, match=told):
        metrics._row(metrics.Family(name, "gauge", labels, "A number"))  # noqa: SLF001 - one row of the page


def test_no_metric_is_told_twice() -> None:
    """Each has one place."""
    names = [family.name for section in metrics.sections() for family in section.families]
    assert len(names) == len(set(names))
    assert len(names) > 60
