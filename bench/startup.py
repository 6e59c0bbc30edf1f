"""How long it takes until the command answers at all, against an interpreter that does nothing."""

from __future__ import annotations

import sys
from typing import Final

from bench.measure import Run, Side, dqo, in_turn, print_difference, print_title, run_process

_AIM_MS: Final = 150
_RUNS: Final = 21
_QUICK: Final = 5


def measure(*, quick: bool) -> None:
    print_title("startup")
    nothing = _process([sys.executable, "-c", "pass"])
    for arguments in (["--help"], ["plan", "--help"]):
        ours = _process([str(dqo()), *arguments])
        nothing()
        ours()  # now the bytecode is compiled and everything in the page cache
        series = in_turn(nothing, ours, _QUICK if quick else _RUNS)
        command = " ".join(["dqo", *arguments])
        print_difference(f"{command} against python -c pass", series, _AIM_MS, ("python -c pass", command))


def _process(command: list[str]) -> Side:
    def run() -> Run:
        return run_process(command)

    return run
