"""Steps of objects → what the model of admission settles at after each."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

from admission.settling import Simulation
from kueue_dqo.api.quantity import Quantity
from kueue_dqo.cli.simulate.command import manifests
from kueue_dqo.cli.simulate.steps import read_steps
from tests.admission.comparison import Settled, settled_of

Manifest = Mapping[str, Any]
_CONFIGURATION: Final = {"apiVersion": "config.kueue.x-k8s.io/v1beta2", "kind": "Configuration"}
_MOST_BYTES: Final = Quantity.of("64Mi")


class Modelled(NamedTuple):
    """What the model says after one step."""

    settled: Settled
    findings: tuple[str, ...]
    """What it has to say about the step, loops included."""

    @property
    def loops(self) -> bool:
        """Whether Workloads preempt one another for ever."""
        return any("again and again" in each for each in self.findings)


def write_steps(folder: Path, steps: Sequence[Sequence[Manifest]], configuration: Manifest | None) -> None:
    """The folders 01, 02, … of `dqo simulate -f`, each with one file; the Configuration is in the first."""
    for number, objects in enumerate(steps, 1):
        step = folder / f"{number:02}"
        step.mkdir(parents=True)
        first = [{**_CONFIGURATION, **configuration}] if configuration and number == 1 else []
        items = {"apiVersion": "v1", "kind": "List", "items": [*first, *objects]}
        (step / "objects.json").write_text(json.dumps(items, indent=1))


def modelled(folder: Path) -> list[Modelled]:
    """Takes all steps in a folder that `write_steps` wrote."""
    simulation = Simulation()
    found = []
    for step in read_steps((str(folder),), _MOST_BYTES):
        settled = simulation.apply(step.items)
        found.append(Modelled(settled_of(manifests(simulation)), tuple(map(str, settled.findings))))
    return found
