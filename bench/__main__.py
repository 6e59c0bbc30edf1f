"""`python -m bench`: see README.md."""

from __future__ import annotations

import argparse
import io
import signal
import sys
from types import FrameType

from bench import (
    admission,
    cloud_quota,
    convergence,
    failover,
    gpu_agent,
    gpu_aggregator,
    memory,
    multikueue,
    node_inventory,
    plan,
    preemption,
    split,
    startup,
)
from bench.measure import print_load, print_machine

FIGURES = {
    "split": split.measure,
    "plan": plan.measure,
    "startup": startup.measure,
    "convergence": convergence.measure,
    "memory": memory.measure,
    "failover": failover.measure,
    "preemption": preemption.measure,
    "node-inventory": node_inventory.measure,
    "gpu-agent": gpu_agent.measure,
    "gpu-aggregator": gpu_aggregator.measure,
    "cloud-quota": cloud_quota.measure,
    "multikueue": multikueue.measure,
    "admission": admission.measure,
}


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench", description="Measures ratios; see bench/README.md.")
    parser.add_argument("figure", nargs="?", choices=FIGURES, help="measure this one (default: all)")
    parser.add_argument("--quick", action="store_true", help="smaller sizes: to see whether it works, not for figures")
    arguments = parser.parse_args()
    signal.signal(signal.SIGTERM, _end)
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(line_buffering=True)  # a log shows how far it is
    print_machine()
    if arguments.quick:
        print("--quick: sizes are too small for the aims to mean anything")
    for name, measure in FIGURES.items():
        if arguments.figure in {None, name}:
            measure(quick=arguments.quick)
    print()
    print_load()


def _end(number: int, frame: FrameType | None) -> None:
    """As Ctrl-C does: what was started is ended."""
    del frame
    sys.exit(128 + number)


if __name__ == "__main__":
    main()
