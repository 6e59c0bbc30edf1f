"""The help texts of the command in `docs/reference/cli.md`, and the plan of the first example in `README.md`."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from typing import Final

import click

from kueue_dqo.cli.main import dqo
from kueue_dqo.cli.variants import Variants
from scripts.generators.tree import ROOT, GenerateError, present

README: Final = "README.md"
REFERENCE: Final = "docs/reference/cli.md"

EXAMPLE: Final = "examples/01-two-teams-one-pool"
BEGIN: Final = "<!-- begin: plan of the first example, written by scripts/generate.py -->"
END: Final = "<!-- end: plan of the first example -->"

# Wide enough for the table, narrow enough for a page; 80 is what the help texts are made for.
_PLAN_COLUMNS: Final = 100
_HELP_COLUMNS: Final = 80

EXAMPLE_OF: Final[dict[tuple[str, ...], str]] = {("provider",): "node-inventory"}
"""Groups whose commands mostly have the same options: the one that stands for the others. Commands with options of
their own stand beside it, and so do names with several commands behind them."""

_REFERENCE_HEAD: Final = """\
# The command

<!-- Written by scripts/generate.py from the command's own help texts: change those, not this file. -->

`dqo` is installed as `kubectl-dqo` too, so that kubectl finds it: `kubectl dqo plan …` is `dqo plan …`. What goes in,
what comes out and what every message means is told in [plan](../plan.md).
"""


def files() -> dict[str, str]:
    """The whole text of each file, by its path below the root. Raises GenerateError."""
    return {README: _readme(), REFERENCE: _reference()}


def _readme() -> str:
    """The README with what stands between the markers replaced."""
    text = present(README)
    if text is None or text.count(BEGIN) != 1 or text.count(END) != 1 or text.index(BEGIN) > text.index(END):
        msg = f"{README} must hold these two lines once, in this order:\n  {BEGIN}\n  {END}"
        raise GenerateError(msg)
    before, _, rest = text.partition(BEGIN)
    after = rest.partition(END)[2]
    command = ["plan", "-f", EXAMPLE]
    block = _fenced("console", f"$ dqo {' '.join(command)}\n{_output(command, _PLAN_COLUMNS)}")
    return f"{before}{BEGIN}\n\n{block}\n{END}{after}"


def _reference() -> str:
    """The help texts of the command and of everything below it."""
    parts = [_REFERENCE_HEAD]
    for path in _commands(dqo, ()):
        title = " ".join(["dqo", *path])
        if path[-1:] and EXAMPLE_OF.get(path[:-1]) == path[-1]:
            title += ", as an example of them all"
        parts.append(f"## {title}\n\n{_fenced('text', _output([*path, '--help'], _HELP_COLUMNS))}")
    return "\n".join(parts)


def _commands(command: click.Command, path: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    """The command and all below it, in the order in which the help lists them."""
    yield path
    if isinstance(command, click.Group):
        context = click.Context(command)
        example = command.get_command(context, EXAMPLE_OF[path]) if path in EXAMPLE_OF else None
        for name in command.list_commands(context):
            child = command.get_command(context, name)
            if child is None or child.hidden:
                continue
            if isinstance(child, Variants):
                yield from ((*path, name, *call) for call in child.calls)
            elif example is None or EXAMPLE_OF[path] == name or _options(child) != _options(example):
                yield from _commands(child, (*path, name))


def _options(command: click.Command) -> set[str | None]:
    return {each.name for each in command.params}


def _output(arguments: list[str], columns: int) -> str:
    """What `dqo` prints at a fixed width, without colour, whatever the terminal and the language of the caller."""
    environment = {
        "PATH": os.environ.get("PATH", os.defpath),
        "COLUMNS": str(columns),
        "LC_ALL": "C.UTF-8",
        "PYTHONUTF8": "1",
    }
    command = [sys.executable, "-m", "kueue_dqo.cli", *arguments]
    done = subprocess.run(  # noqa: S603  # the arguments are constants and the names of our own commands
        command, cwd=ROOT, env=environment, stdin=subprocess.DEVNULL, capture_output=True, encoding="utf-8", check=False
    )
    if done.returncode != 0 or done.stderr:
        msg = f"dqo {' '.join(arguments)} ended with {done.returncode}: {done.stderr.strip()}"
        raise GenerateError(msg)
    return done.stdout


def _fenced(language: str, text: str) -> str:
    lines = [line.rstrip() for line in text.strip("\n").split("\n")]
    return "\n".join([f"```{language}", *lines, "```", ""])
