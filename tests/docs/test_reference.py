"""The reference of metrics has exactly what daemons serve."""

from __future__ import annotations

import ast
import re
import subprocess

import pytest
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

from scripts.generators import metrics
from scripts.generators.tree import ROOT, GenerateError
from tests.controlplane import binaries

PACKAGES = ("kueue_dqo", "orchestrator", "providers")


def test_names_and_types_are_as_prometheus_wants_them() -> None:
    """By its own linter, over the text that a daemon would serve."""
    registry = CollectorRegistry()
    kinds = {"counter": Counter, "gauge": Gauge, "histogram": Histogram}
    for section in metrics.sections():
        for family in section.families:
            made = kinds[family.type](family.name, family.help, family.labels, registry=registry)
            if family.labels:
                made.labels(*("x" for _ in family.labels))
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


def test_every_module_that_makes_metrics_is_asked() -> None:
    """A daemon serves no metric of a module, or of a class in it, that the page does not know."""
    asked = {
        base
        for made in vars(metrics).values()
        if isinstance(made, type)
        for base in made.__mro__
        if base.__module__.partition(".")[0] in PACKAGES
    }
    makes = re.compile(
        r"^from prometheus_client\S* import .*\b(?:Counter|Gauge|Histogram|Summary|Info|\w+Family)\b", re.MULTILINE
    )
    for package in PACKAGES:
        for file in sorted((ROOT / package).rglob("*.py")):
            text = file.read_text()
            module = ".".join(file.relative_to(ROOT).with_suffix("").parts)
            if makes.search(text):
                classes = {each for each in asked if each.__module__ == module}
                assert classes, f"{module} makes metrics, and scripts/generators/metrics.py does not ask it"
                for node in ast.parse(text).body:
                    if isinstance(node, ast.ClassDef) and "registry: CollectorRegistry" in ast.unparse(node):
                        assert node.name in {each.__name__ for each in classes}, f"{module}.{node.name}"
