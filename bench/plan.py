"""How long `dqo plan` takes with the dump of a big cluster, against reading and decoding the same file alone."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from typing import Final

from bench.measure import (
    MEGABYTE,
    PROCESSES,
    Run,
    Side,
    ask,
    dqo,
    in_turn,
    own_peak_bytes,
    print_peaks,
    print_times,
    print_title,
    run_process,
)

_AIM: Final = 1.5
_NODES: Final = 5_000
_QUEUES: Final = 1_000
_QUICK: Final = 5
"""Divides both sizes."""

_FLOORS: Final = (
    ("typed", "one partial msgspec decode of what a plan needs", _AIM),
    ("plain", "json.load of the standard library", _AIM),
    ("untyped", "msgspec decode of everything", None),
)


def measure(*, quick: bool) -> None:
    parts = _QUICK if quick else 1
    nodes, queues = _NODES // parts, _QUEUES // parts
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        size = ask("write_dump", folder, str(nodes), str(queues))
        print_title(
            f"plan: {nodes:,} nodes of {size['node_bytes'] / 1000:.1f} kB, {queues:,} queues x 12 pairs, "
            f"a file of {size['bytes'] / MEGABYTE:.0f} MB"
        )
        _measure(folder, nodes)


def _measure(folder: Path, nodes: int) -> None:
    dump, printed, right = folder / "dump.json", folder / "printed.json", folder / "plan.json"
    plan = _process([dqo(), "plan", "-f", dump, "-o", "json"], printed)
    table = _process([dqo(), "plan", "-f", dump, "-o", "table"], folder / "printed.txt")
    plan()
    table()  # now every process finds the dump in the page cache and its bytecode compiled
    for floor, what, aim in _FLOORS:
        output = folder / "counted.txt"
        decode = _process([sys.executable, PROCESSES / f"decode_{floor}.py", dump], output)
        decode()
        names = (f"decode {floor}", "dqo plan -o json")
        series = in_turn(decode, plan)
        assert output.read_text().split()[1] == str(nodes), "the floor has not read every node"
        print_times(f"against the {floor} floor: {what}", series, aim, names)
        print_peaks(series, names)
        # A process starts with its parent's peak as its own.
        assert min(run.peak_bytes for side in series for run in side) > own_peak_bytes()
    checked = ask("check_plan", printed, right)
    print(f"\n  checked: {checked['quotas']:,} quotas of {checked['objects']:,} objects are what the plain loop gives")
    names = ("dqo plan -o json", "dqo plan -o table")
    series = in_turn(plan, table)
    print_times("the table against the JSON", series, names=names)
    print_peaks(series, names)


def _process(command: list[str | Path], output: Path) -> Side:
    def run() -> Run:
        return run_process(command, output)

    return run
