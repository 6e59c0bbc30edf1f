"""What a daemon serves at /metrics beside what the reference of metrics says, read as Prometheus reads it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, NamedTuple

from prometheus_client.parser import text_string_to_metric_families

from scripts.generators import metrics
from tests.integration.daemons import Daemon

_OF_PYTHON: Final = ("python_", "process_")
_EVERY: Final = "Every daemon"
_WITH_A_BEGINNING: Final = ("counter", "histogram")


class Served(NamedTuple):
    """The families of a daemon by name, those of Python's client library left out."""

    types: dict[str, str]
    labels: dict[str, set[frozenset[str]]]
    """Of those that have series; what a scrape adds is not in, nor is `le` of buckets."""


def served(daemon: Daemon) -> Served:
    """What it serves at present."""
    types: dict[str, str] = {}
    labels: dict[str, set[frozenset[str]]] = {}
    for family in text_string_to_metric_families(daemon.get("/metrics")[1]):
        if family.name.startswith(_OF_PYTHON):
            continue
        name = f"{family.name}_total" if family.type == "counter" else family.name
        types[name] = family.type
        for sample in family.samples:
            labels.setdefault(name, set()).add(frozenset(sample.labels) - {"le"})
    return Served(types, labels)


def told(*parts: str, of_every: Callable[[str], bool]) -> dict[str, metrics.Family]:
    """The families of the sections whose first words name one of these commands, and those of every daemon it has."""
    commands = tuple(f"`{part}`" for part in parts)
    families: dict[str, metrics.Family] = {}
    for section in metrics.sections():
        if section.serves.startswith(commands):
            families |= {family.name: family for family in section.families}
        elif section.title == _EVERY:
            families |= {family.name: family for family in section.families if of_every(family.name)}
    for family in list(families.values()):
        if family.type in _WITH_A_BEGINNING:
            name = f"{family.name.removesuffix('_total')}_created"
            families[name] = family._replace(name=name, type="gauge")
    return families


def _is_beginning(name: str) -> bool:
    return name.endswith("_created")  # is there with a series, and not without


def differences(daemon: Daemon, *parts: str, of_every: Callable[[str], bool] = lambda _: True) -> list[str]:
    """What it serves otherwise than these sections tell: a family too many or too few, another type, other labels."""
    found, reference = served(daemon), told(*parts, of_every=of_every)
    types = {name: family.type for name, family in reference.items()}
    return [
        *(f"{name} is not told" for name in sorted(found.types.keys() - types.keys())),
        *(f"{name} is not served" for name in sorted(types.keys() - found.types.keys()) if not _is_beginning(name)),
        *(f"{name} is a {kind}" for name, kind in found.types.items() if types.get(name, kind) != kind),
        *(
            f"{name} has the labels {[sorted(each) for each in labels]}"
            for name, labels in found.labels.items()
            if name in reference and labels != {frozenset(reference[name].labels)}
        ),
    ]
