"""How long the model of admission takes to settle a big cluster, and how that and its memory grow."""

from __future__ import annotations

from typing import Any, Final

from bench.measure import MEGABYTE, ask, print_title

_QUEUES: Final = 1_000
_WORKLOADS: Final = 50_000
_PART: Final = 10
"""The smaller size, and what `--quick` divides both by."""


def measure(*, quick: bool) -> None:
    parts = _PART if quick else 1
    queues, workloads = _QUEUES // parts, _WORKLOADS // parts
    print_title(f"admission: {queues:,} queues in {queues // 10} cohorts, {workloads:,} Workloads, and a tenth of both")
    small = _settled(queues // _PART, workloads // _PART)
    large = _settled(queues, workloads)
    for name in ("seconds", "bytes", "cycles", "preemptions"):
        print(f"  {name:<12} {large[name] / max(small[name], 1e-9):6.1f} x for ten times as much")


def _settled(queues: int, workloads: int) -> dict[str, Any]:
    found = ask("settle", str(queues), str(workloads))
    print(
        f"  {queues:>5,} queues {workloads:>7,} Workloads: {found['seconds']:.1f} s, {found['cycles']:,} cycles "
        f"({found['cycles'] / found['seconds']:,.0f} a second), {found['admitted']:,} admitted "
        f"({found['admitted'] / found['seconds']:,.0f} a second), {found['preemptions']:,} preemptions, "
        f"{found['bytes'] / MEGABYTE:.0f} MB ({found['bytes_before'] / MEGABYTE:.0f} MB with the objects alone)"
    )
    return found
