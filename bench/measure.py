"""Runs two sides in turn, takes medians, prints.

Nothing here imports what is measured: a child's peak memory is never below that of the process that started it, so this
process stays small.
"""

from __future__ import annotations

import datetime
import json
import os
import platform
import resource
import statistics
import subprocess
import sys
import sysconfig
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

ROOT: Final = Path(__file__).resolve().parent.parent
PROCESSES: Final = ROOT / "bench" / "processes"
PAIRS: Final = 5
MEGABYTE: Final = 10**6
_MAXRSS_UNIT: Final = 1 if sys.platform == "darwin" else 1024  # bytes there, KiB elsewhere


class Run(NamedTuple):
    """What one run took, what it held at its peak, and what tells whether it computed the right thing."""

    seconds: float
    cpu_seconds: float
    peak_bytes: int
    result: str = ""


Side = Callable[[], Run]


class Series(NamedTuple):
    """The runs of a floor and of ours, in pairs."""

    floor: list[Run]
    ours: list[Run]


# --- running -------------------------------------------------------------------------------------------------------


def in_turn(floor: Side, ours: Side, pairs: int = PAIRS) -> Series:
    """Runs floor, ours, floor, ours, …: whatever drifts on the machine meets both."""
    series = Series([], [])
    for _ in range(pairs):
        series.floor.append(floor())
        series.ours.append(ours())
    return series


def same_results(series: Series) -> None:
    """Both sides computed the same, each time."""
    results = {run.result for run in series.floor + series.ours}
    assert len(results) == 1, f"the two sides differ, or one differs from run to run: {results}"


def run_process(command: Sequence[str | Path], output: Path | None = None) -> Run:
    """Times a process from its start to its end and takes its peak memory; its output goes to a file, or nowhere."""
    with (output or Path(os.devnull)).open("wb") as stdout, Path(os.devnull).open("rb") as stdin:
        start = time.perf_counter()
        process = subprocess.Popen(command, stdin=stdin, stdout=stdout, stderr=subprocess.PIPE, env=_environment())
        assert process.stderr is not None
        errors = process.stderr.read()
        _, status, usage = os.wait4(process.pid, 0)
        seconds = time.perf_counter() - start
    process.returncode = os.waitstatus_to_exitcode(status)
    process.stderr.close()
    assert process.returncode == 0, f"{command}: exit {process.returncode}: {errors.decode(errors='replace')}"
    return Run(seconds, usage.ru_utime + usage.ru_stime, usage.ru_maxrss * _MAXRSS_UNIT)


def ask(module: str, *arguments: str | Path) -> dict[str, Any]:
    """Runs a module of this folder in a process of its own and returns the JSON object that it prints."""
    command = [sys.executable, "-m", f"bench.processes.{module}", *map(str, arguments)]
    done = subprocess.run(command, stdout=subprocess.PIPE, check=True, cwd=ROOT, env=_environment())
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer


def dqo() -> Path:
    """The command as it is installed beside this interpreter."""
    command = Path(sysconfig.get_path("scripts")) / "dqo"
    assert command.exists(), f"{command} is not there: install the project for {sys.executable}"
    return command


def own_peak_bytes() -> int:
    """The peak memory of this process, without what it had from its parent where the system can tell."""
    status = Path("/proc/self/status")
    if status.exists():
        for line in status.read_text().splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) * 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * _MAXRSS_UNIT


def _environment() -> dict[str, str]:
    """The same plain Python for every child."""
    return {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}


# --- printing ------------------------------------------------------------------------------------------------------


def print_machine() -> None:
    """What the figures were measured on."""
    print(f"date      {datetime.datetime.now(datetime.UTC):%Y-%m-%d %H:%M} UTC")
    print(f"cpu       {_cpu_model()}, {os.cpu_count()} cores")
    print(f"python    {platform.python_implementation()} {platform.python_version()}, {platform.platform()}")
    print_load()


def print_load() -> None:
    """How busy the machine is, other work included."""
    load = ", ".join(f"{each:.2f}" for each in os.getloadavg())
    print(f"load      {load} (1, 5, 15 minutes)")


def print_title(text: str) -> None:
    print(f"\n== {text}")


def print_times(
    what: str, series: Series, aim: float | None = None, names: tuple[str, str] = ("floor", "ours")
) -> None:
    """Both medians with their spread, and the median of the ratios of the pairs; without an aim, for the record."""
    print(f"\n{what}")
    for name, runs in zip(names, series, strict=True):
        print_each(name, [run.seconds for run in runs])
    print_ratio([run.seconds for run in series.floor], [run.seconds for run in series.ours], aim)
    ratio, spread = _ratio([run.cpu_seconds for run in series.floor], [run.cpu_seconds for run in series.ours])
    print(f"  ratio of CPU time      {ratio:10.2f} x   {spread}")


def print_each(name: str, seconds: Sequence[float]) -> None:
    """The median of one side, with its spread."""
    print(f"  {name:<22} {_milliseconds(seconds)}")


def print_ratio(floor: Sequence[float], ours: Sequence[float], aim: float | None = None) -> None:
    """The median of the ratios of the pairs."""
    ratio, spread = _ratio(floor, ours)
    print(f"  ratio                  {ratio:10.2f} x   {spread}{_verdict(ratio, aim)}")


def print_peaks(series: Series, names: tuple[str, str] = ("floor", "ours")) -> None:
    """Peak memory of both sides, and the ratio."""
    floor, ours = (statistics.median(run.peak_bytes for run in runs) / MEGABYTE for runs in series)
    ratio = f"   {ours / floor:.2f} x" if floor else ""
    print(f"  peak memory            {names[0]} {floor:.1f} MB, {names[1]} {ours:.1f} MB{ratio}")


def print_growth(series: Series, imports: int, aim: int | None, names: tuple[str, str]) -> None:
    """How far peak memory of both sides is above that of a process that has done nothing but the imports, in bytes."""
    floor, ours = (statistics.median(run.peak_bytes - imports for run in runs) / MEGABYTE for runs in series)
    verdict = (
        "" if aim is None else f"   aim <= {aim / MEGABYTE:g} MB: {'reached' if ours <= aim / MEGABYTE else 'MISSED'}"
    )
    others = f"({names[0]} {floor:.1f} MB, imports {imports / MEGABYTE:.1f} MB)"
    print(f"  peak above the imports {ours:10.1f} MB  {others}{verdict}")


def print_cpu_each(what: str, series: Series, count: int, aim: float, names: tuple[str, str]) -> None:
    """CPU time for each of so many, and the median of the ratios of the pairs."""
    print(f"\n{what}, CPU time of each")
    for name, runs in zip(names, series, strict=True):
        each = [1e6 * run.cpu_seconds / count for run in runs]
        print(f"  {name:<22} {statistics.median(each):10.1f} us  ({min(each):.1f} - {max(each):.1f})")
    ratio, spread = _ratio([run.cpu_seconds for run in series.floor], [run.cpu_seconds for run in series.ours])
    print(f"  ratio                  {ratio:10.2f} x   {spread}{_verdict(ratio, aim)}")


def print_difference(what: str, series: Series, aim_ms: float, names: tuple[str, str]) -> None:
    """Both medians with their spread, and the median of the differences of the pairs."""
    print(f"\n{what}")
    for name, runs in zip(names, series, strict=True):
        print(f"  {name:<22} {_milliseconds([run.seconds for run in runs])}")
    difference, spread = _difference([run.seconds for run in series.floor], [run.seconds for run in series.ours])
    verdict = f"aim <= {aim_ms:g} ms: {'reached' if difference <= aim_ms else 'MISSED'}"
    print(f"  difference             {difference:10.1f} ms  {spread}   {verdict}")
    floor, ours = ([run.cpu_seconds for run in runs] for runs in series)
    difference, spread = _difference(floor, ours)
    print(f"  difference of CPU time {difference:10.1f} ms  {spread}")


def _difference(floor: Sequence[float], ours: Sequence[float]) -> tuple[float, str]:
    """In milliseconds."""
    differences = [1000 * (one - other) for one, other in zip(ours, floor, strict=True)]
    return statistics.median(differences), f"({min(differences):.1f} - {max(differences):.1f})"


def _ratio(floor: Sequence[float], ours: Sequence[float]) -> tuple[float, str]:
    ratios = [one / other for one, other in zip(ours, floor, strict=True)]
    return statistics.median(ratios), f"({min(ratios):.2f} - {max(ratios):.2f})"


def _milliseconds(seconds: Sequence[float]) -> str:
    spread = f"({1000 * min(seconds):.1f} - {1000 * max(seconds):.1f})"
    return f"{1000 * statistics.median(seconds):10.1f} ms  {spread}"


def _verdict(ratio: float, aim: float | None) -> str:
    if aim is None:
        return "   for the record"
    return f"   aim <= {aim:g} x: {'reached' if ratio <= aim else 'MISSED'}"


def _cpu_model() -> str:
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        for line in cpuinfo.read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()
