"""How long it takes to split capacity over many queues."""

from __future__ import annotations

import statistics
from typing import Final

from bench.measure import Run, Side, ask, in_turn, print_peaks, print_times, print_title, same_results

_AIM: Final = 1.1
_QUEUES: Final = {1_000: 20, 10_000: 5, 100_000: 1}
"""Queues → passes in each process; the time of a process is their median."""
_QUICK: Final = {1_000: 3, 5_000: 1}


def measure(*, quick: bool) -> None:
    for queues, passes in (_QUICK if quick else _QUEUES).items():
        for name in ("varied", "realistic"):
            _measure(name, queues, passes)


def _measure(name: str, queues: int, passes: int) -> None:
    print_title(f"split: {queues:,} queues x 16 pairs, {name} quotas")
    names = ("plain loop", "split")
    series = in_turn(_side("plain", name, queues, passes), _side("split", name, queues, passes))
    same_results(series)
    print_times("split against the plain loop", series, _AIM, names)
    print_peaks(series, names)

    names = ("split", "compute")
    series = in_turn(_side("split", name, queues, passes), _side("compute", name, queues, passes))
    same_results(series)
    print_times("compute(), from decoded objects to quotas, against split alone", series, names=names)
    print_peaks(series, names)
    for side, runs in zip(names, series, strict=True):
        seconds = statistics.median(run.seconds for run in runs) / queues
        peak = statistics.median(run.peak_bytes for run in runs) / queues
        print(f"  {side + ', each queue':<22} {1e6 * seconds:10.2f} us, {peak / 1000:.2f} kB")

    names = ("plain, in UID order", "split")
    series = in_turn(_side("plain-in-order", name, queues, passes), _side("split", name, queues, passes))
    same_results(series)
    print_times("split against the loop with a stable sort, given queues in UID order", series, names=names)
    print_peaks(series, names)


def _side(side: str, name: str, queues: int, passes: int) -> Side:
    """Each run is a process of its own: no side finds caches or memory that the other has left."""

    def run() -> Run:
        answer = ask("split_pass", side, name, str(queues), str(passes))
        return Run(answer["seconds"], answer["cpu_seconds"], answer["peak_bytes"], answer["digest"])

    return run
