"""Settled steps as tables for a person. Colour only where the output is a terminal."""

from __future__ import annotations

import os
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Final

from kueue_dqo.cli.errors import CommandError
from kueue_dqo.cli.simulate.difference import Change
from kueue_dqo.cli.simulate.settled import Row
from kueue_dqo.cli.terminal import one_line

try:
    from rich.console import Console
    from rich.text import Text

    from kueue_dqo.cli.plan.columns import Columns
except ImportError as error:
    _MSG = "the table needs rich: install kueue-dqo[cli], or use -o json"
    raise CommandError(_MSG) from error

_STYLES: Final = {"Admitted": "green", "Finished": "dim", "Reserved": "yellow"}
_PIPED_WIDTH: Final = 120


def show(
    title: str, trace: Iterable[str], rows: Iterable[Row], queues: Iterable[tuple[str, ...]], notes: Iterable[str]
) -> None:
    """Prints a step: how it settled, its Workloads, its queues, what there is to say of it."""
    console = _console()
    for part in _parts(title, trace, list(rows), list(queues), list(notes)):
        console.print(part, soft_wrap=True)


def show_difference(
    title: str, changes: Iterable[Change], queues: Iterable[tuple[str, ...]], notes: Iterable[str]
) -> None:
    """Prints what a what-if changes."""
    console = _console()
    for part in _difference(title, list(changes), list(queues), list(notes)):
        console.print(part, soft_wrap=True)


def _difference(title: str, changes: list[Change], queues: list[tuple[str, ...]], notes: list[str]) -> Iterator[Text]:
    yield Text(one_line(title), "bold underline")
    if changes:
        table = Columns("WORKLOAD", "WHAT", "BEFORE", "AFTER", "WHY")
        for each in changes:
            table.add(*(one_line(text) for text in (each.name, each.what, each.before, each.after, each.why)))
        yield table.text()
    if queues:
        yield Text()
        listed = Columns("CLUSTERQUEUE", "FLAVOR/RESOURCE", "QUOTA", "HELD", "BORROWED", "FROM")
        for cells in queues:
            listed.add(*(one_line(cell) for cell in cells))
        yield listed.text()
    for note in notes:
        yield Text(f"  • {one_line(note)}", "yellow")
    counts = Counter(each.what for each in changes)
    yield Text(", ".join(f"{count} {what}" for what, count in sorted(counts.items())) or "no Workload changes", "bold")


def _console() -> Console:
    console = Console(file=sys.stdout, highlight=False, markup=False, emoji=False, soft_wrap=True)
    if not sys.stdout.isatty():
        columns = os.environ.get("COLUMNS", "")
        console.width = int(columns) if columns.isdecimal() else _PIPED_WIDTH
    return console


def _parts(
    title: str, trace: Iterable[str], rows: list[Row], queues: list[tuple[str, ...]], notes: list[str]
) -> Iterator[Text]:
    yield Text(one_line(title), "bold underline")
    for line in trace:
        yield Text(f"  {one_line(line)}", "dim")
    table = Columns("WORKLOAD", "QUEUE", "PRIORITY", "STATE", "FLAVORS", "WHY", right=("PRIORITY",))
    for row in rows:
        state = one_line(row.state)
        cells = [one_line(text) for text in (row.name, row.queue, row.priority, row.flavors, row.why)]
        table.add(*cells[:3], (state, _STYLES.get(state, "red")), *cells[3:])
    if rows:
        yield table.text()
    if queues:
        yield Text()
        listed = Columns(
            "CLUSTERQUEUE", "ACTIVE", "WAIT", "RESERVED", "ADMITTED", "FLAVOR/RESOURCE", "HELD", "BORROWED",
            right=("WAIT", "RESERVED", "ADMITTED", "HELD", "BORROWED"),
        )  # fmt: skip
        for cells_ in queues:
            listed.add(*(one_line(cell) for cell in cells_))
        yield listed.text()
    for note in notes:
        yield Text(f"  • {one_line(note)}", "yellow")
    counts = Counter(row.state.partition(" ")[0].lower() for row in rows)
    yield Text(", ".join(f"{count} {state}" for state, count in sorted(counts.items())) or "no Workloads", "bold")
    yield Text()
