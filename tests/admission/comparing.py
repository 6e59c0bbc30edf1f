"""The same clusters in the real Kueue and in the model, and what differs, with the folder that shows it again."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tests.admission.comparison import REASON_UNSTABLE, Settled, decisions, differences
from tests.admission.generator import CONFIGURATIONS, Cluster
from tests.admission.modelled import modelled, write_steps
from tests.admission.real import Seen, run
from tests.controlplane.plane import ControlPlane

COPIES: Final = 6
"""So often a cluster that differs is taken to the real Kueue again."""


@dataclass(frozen=True, slots=True)
class Compared:
    """A cluster in both."""

    seen: Seen
    folder: Path
    """Its steps, for `dqo simulate -f`."""
    lines: tuple[str, ...]
    """What the model decides otherwise, after the first step at which it does."""
    words: tuple[str, ...]
    """What it only says or counts otherwise."""

    @property
    def differs(self) -> bool:
        """Whether anybody is treated otherwise."""
        return bool(self.lines)


@dataclass(frozen=True, slots=True)
class Verdict:
    """What is to be thought of a cluster that differs."""

    first: Compared
    copies: tuple[Compared, ...]

    @property
    def is_chance(self) -> bool:
        """Whether the real Kueue does what the model does as well, at another time."""
        return any(not each.differs for each in self.copies)

    def __str__(self) -> str:
        """With the command that shows what the model does."""
        agreeing = sum(not each.differs for each in self.copies)
        title = f"{self.first.seen.cluster.name}: as the model in {agreeing} of {len(self.copies)} more runs"
        return "\n  ".join([f"{title}; .venv/bin/dqo simulate --trace -f {self.first.folder}", *self.first.lines])


def compare(
    plane: ControlPlane, clusters: Sequence[Cluster], folder: Path, say: Callable[[str], None] = lambda _: None
) -> list[Compared]:
    """Runs clusters in both (see `real.run`). Writes the steps of each into a folder of its name."""
    return [compared(each, folder) for each in run(plane, clusters, say)]


def verdicts(plane: ControlPlane, found: Iterable[Compared], folder: Path) -> list[Verdict]:
    """Takes those that differ to the real Kueue again, side by side, under other names."""
    differing = [each for each in found if each.differs]
    if not differing:
        return []
    originals = [each.seen.cluster for each in differing]
    copies = compare(plane, [each.again(number) for each in originals for number in range(1, COPIES + 1)], folder)
    return [Verdict(each, tuple(copies[index * COPIES : (index + 1) * COPIES])) for index, each in enumerate(differing)]


def compared(seen: Seen, folder: Path) -> Compared:
    """What the real Kueue did, beside what the model says.

    Where either goes on for ever, both must: what is seen of that is one moment, and is not compared.
    """
    cluster = seen.cluster
    steps = folder / cluster.name
    write_steps(steps, cluster.steps, CONFIGURATIONS[cluster.configuration])
    found = modelled(steps)
    words: list[str] = []
    for number, (real, model) in enumerate(zip(seen.after, found, strict=True), 1):
        if model.loops or number in seen.restless:
            both = model.loops and number in seen.restless
            line = f"step {number}: goes on for ever {'in the model' if model.loops else 'in the real Kueue'} only"
            return Compared(seen, steps, () if both else (line,), tuple(words))
        lines = differences(decisions(real), decisions(model.settled))
        if lines:
            return Compared(seen, steps, tuple(f"step {number}: {line}" for line in lines), tuple(words))
        words += [f"step {number}: {each}" for each in differences(real, model.settled, _unstable(real, model.settled))]
    return Compared(seen, steps, (), tuple(words))


def _unstable(real: Settled, model: Settled) -> Mapping[str, list[str]]:
    """Messages that a race or an eviction left behind are chance, and whether one was ever looked at."""
    return {
        f"Workload {name}": [REASON_UNSTABLE]
        for settled in (real, model)
        for name, workload in settled["workloads"].items()
        if _is_chance(workload["conditions"].get("QuotaReserved"))
    }


def _is_chance(condition: Mapping[str, str] | None) -> bool:
    if condition is None:
        return True
    starts = ("Workload no longer fits", "Preempted to accommodate", "Workload has overlapping preemption targets")
    return condition["status"] == "False" and condition["message"].startswith(starts)
