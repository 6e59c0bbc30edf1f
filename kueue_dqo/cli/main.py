"""The entry point of `dqo` and `kubectl-dqo`."""

from __future__ import annotations

import importlib
import io
import os
import sys
from typing import Final

import click

from kueue_dqo import __version__
from kueue_dqo.cli.errors import EXIT_ERROR, CommandError
from kueue_dqo.cli.terminal import printable

_COMMANDS: Final = {
    "plan": ("kueue_dqo.cli.plan.command:plan", "Show what Dynamic Quota Orchestration would do, before it does it."),
    "simulate": ("kueue_dqo.cli.simulate.command:simulate", "Show what Kueue would do with Workloads."),
    "explain": ("kueue_dqo.cli.explain.command:explain", "Say why a Workload waits, and where a quota is from."),
    "capacity": ("kueue_dqo.cli.capacity.command:capacity", "Write the status of a CapacityProvider by hand."),
    "cleanup": ("kueue_dqo.cli.cleanup.command:cleanup", "Put declared quotas in force where others are left behind."),
    "orchestrator": (
        "kueue_dqo.cli.orchestrator:orchestrator",
        "Run the daemon that keeps quotas at the capacity that is there.",
    ),
    "provider": ("kueue_dqo.cli.provider:provider", "Run a daemon that publishes the capacity of one kind of source."),
}
"""Name → (where the command is, what it is for). The code of a command is imported when it is called."""


class _LazyGroup(click.Group):
    """A group that knows the names of its commands and imports one only when it is called."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        del ctx
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        del ctx
        if cmd_name not in _COMMANDS:
            return None
        module, _, attribute = _COMMANDS[cmd_name][0].partition(":")
        command: click.Command = getattr(importlib.import_module(module), attribute)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Lists the commands without importing them."""
        del ctx
        with formatter.section("Commands"):
            formatter.write_dl([(name, summary) for name, (_, summary) in _COMMANDS.items()])


@click.group(cls=_LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="dqo")
def dqo() -> None:
    """Quotas that follow capacity, for Kueue's Dynamic Quota Orchestration."""


def main(arguments: list[str] | None = None) -> None:
    """Runs the command and exits: 0, 1 for any error, and what `dqo plan --help` says of its own codes."""
    _buffer_standard_output()
    sys.exit(run(arguments))


def run(arguments: list[str] | None = None) -> int:  # noqa: PLR0911 - one for each way to end
    """Runs the command and returns its exit code. No traceback reaches a user for what a user can bring about."""
    if sys.stdout is None:  # closed before the start
        click.echo("Error: standard output is closed", err=True)
        return EXIT_ERROR
    for stream, errors in ((sys.stdout, "replace"), (sys.stderr, "backslashreplace")):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors=errors)  # a character that the locale lacks is no reason to fail
    try:
        code = _invoke(sys.argv[1:] if arguments is None else arguments)
        sys.stdout.flush()
    except click.ClickException as error:
        error.show()
        return EXIT_ERROR
    except CommandError as error:
        click.echo(f"Error: {printable(str(error))}", err=True)
        return EXIT_ERROR
    except BrokenPipeError:
        _close_standard_output()
        click.echo("Error: standard output was closed before all was written", err=True)
        return EXIT_ERROR
    except OSError as error:
        # What is left of the operating system's refusals, such as a full disk behind standard output.
        _close_standard_output()
        click.echo(f"Error: standard output: {printable(error.strerror or str(error))}", err=True)
        return EXIT_ERROR
    except (KeyboardInterrupt, click.Abort):
        click.echo("Interrupted", err=True)
        return EXIT_ERROR
    return code


def _invoke(arguments: list[str]) -> int:
    """Not `dqo.main`: that ends the process without a word when the reader of standard output goes away."""
    try:
        with dqo.make_context("dqo", arguments) as context:
            result = dqo.invoke(context)
    except click.exceptions.Exit as end:
        return end.exit_code
    return result if isinstance(result, int) else 0


def _buffer_standard_output() -> None:
    """With PYTHONUNBUFFERED, as in many containers, Python loses what a pipe does not take at once without a word."""
    raw = getattr(sys.stdout, "buffer", None)
    if isinstance(raw, io.RawIOBase):
        sys.stdout = io.TextIOWrapper(io.BufferedWriter(raw), encoding=sys.stdout.encoding)


def _close_standard_output() -> None:
    """Keeps the interpreter from flushing into a closed pipe at its exit, which would print a second error."""
    devnull = os.open(os.devnull, os.O_WRONLY)
    os.dup2(devnull, sys.stdout.fileno())
    os.close(devnull)
