"""The same clusters in the real Kueue and in the model, and what differs, with the folder that shows it again."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.admission.comparison import REASON_UNSTABLE, Settled, decisions, differences
from tests.admission.generator import CONFIGURATIONS, Cluster
from tests.admission.modelled import modelled, write_steps
from tests.admission.real import Seen, run
from tests.controlplane.plane import ControlPlane


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


def compare(
    plane: ControlPlane, clusters: Sequence[Cluster], folder: Path, say: Callable[[str], None] = lambda _: None
) -> list[Compared]:
    """Runs clusters of one configuration in both. Writes the steps of each into a folder of its name."""
    return [compared(each, folder) for each in run(plane, clusters, say)]


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


def report(found: Iterable[Compared]) -> str:
    """Each cluster that differs, with the command that shows what the model does."""
    return "\n\n".join(
        "\n  ".join([f"{each.seen.cluster.name}: .venv/bin/dqo simulate --trace -f {each.folder}", *each.lines])
        for each in found
        if each.differs
    )


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
