"""The entry point: what it lists, what it loads, and how errors end."""

from __future__ import annotations

import importlib.metadata
import sys
import types

import click
import pytest

from kueue_dqo import __version__
from kueue_dqo.cli import main as module
from kueue_dqo.cli.errors import CommandError
from kueue_dqo.cli.main import main, run


def _command(monkeypatch: pytest.MonkeyPatch, *, returns: object = None, raises: BaseException | None = None) -> None:
    """`dqo other`, which returns or raises."""

    @click.command()
    def other() -> object:
        if raises is not None:
            raise raises
        return returns

    loaded = types.ModuleType("an_other_command")
    loaded.other = other  # type: ignore[attr-defined]  # it is made here
    monkeypatch.setitem(sys.modules, "an_other_command", loaded)
    monkeypatch.setitem(module._COMMANDS, "other", ("an_other_command:other", "Do something else."))  # noqa: SLF001  # there is no other way to a command of one's own


@pytest.mark.parametrize("option", ["-h", "--help"])
def test_help_lists_every_command_without_loading_it(
    option: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """One that cannot be loaded does not keep the others from being listed, nor from running."""
    monkeypatch.setitem(module._COMMANDS, "broken", ("no.such.module:broken", "Be broken."))  # noqa: SLF001  # as above
    assert run([option]) == 0
    printed = capsys.readouterr().out
    for name, (_, summary) in module._COMMANDS.items():  # noqa: SLF001  # as above
        assert f"  {name} " in printed
        assert summary in " ".join(printed.split())  # a long one is folded
    assert "--version" in printed
    assert run(["plan", option]) == 0


def test_the_version_is_that_of_the_distribution(capsys: pytest.CaptureFixture[str]) -> None:
    """Said by the command, the package and its metadata alike."""
    assert run(["--version"]) == 0
    assert capsys.readouterr().out == f"dqo, version {__version__}\n"
    assert __version__ == importlib.metadata.version("kueue-dqo")


def test_without_arguments_the_help_is_an_error(capsys: pytest.CaptureFixture[str]) -> None:
    """A script that lost its arguments must notice; nothing is on standard output for it to use."""
    assert run([]) == 1
    printed = capsys.readouterr()
    assert printed.out == ""
    assert "Usage: dqo [OPTIONS] COMMAND" in printed.err
    assert "plan" in printed.err


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        pytest.param(["plans"], "No such command 'plans'", id="an unknown command"),
        pytest.param(["--verbose"], "No such option", id="an unknown option"),
        pytest.param(["plan", "--verbose"], "No such option", id="an unknown option of a command"),
        pytest.param(["plan", "-f"], "requires an argument", id="-f without a path"),
        pytest.param(
            ["plan", "-f", "a", "-o", "xml"], "'xml' is not one of 'table', 'json', 'yaml'", id="an unknown output"
        ),
        pytest.param(
            ["plan", "-f", "a", "--road", "rail"], "'rail' is not one of 'status', 'spec'", id="an unknown road"
        ),
    ],
)
def test_usage_errors_end_with_1_and_a_hint(
    arguments: list[str], says: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Not with click's own 2, which means that something would change."""
    assert run(arguments) == 1
    printed = capsys.readouterr()
    assert printed.out == ""
    assert says in printed.err
    assert "--help" in printed.err or arguments == ["plan", "-f"]


@pytest.mark.parametrize(
    ("error", "says"),
    [
        pytest.param(
            CommandError("the file is away: bring it back"),
            "Error: the file is away: bring it back\n",
            id="of a command",
        ),
        pytest.param(click.ClickException("no way"), "Error: no way\n", id="of click"),
        pytest.param(KeyboardInterrupt(), "Interrupted\n", id="an interrupt"),
        pytest.param(click.Abort(), "Interrupted\n", id="an answer that was refused"),
    ],
)
def test_errors_end_with_1_and_their_message(
    error: BaseException, says: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """On standard error, and without a traceback."""
    _command(monkeypatch, raises=error)
    assert run(["other"]) == 1
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.lstrip("\n") == says


def test_a_mistake_in_the_program_is_not_hidden(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its traceback is what a report needs."""
    _command(monkeypatch, raises=ZeroDivisionError())
    with pytest.raises(ZeroDivisionError):
        run(["other"])


@pytest.mark.parametrize(("returned", "code"), [(None, 0), (0, 0), (2, 2), (3, 3), ("done", 0)])
def test_the_exit_code_is_what_the_command_returns(
    returned: object, code: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Nothing is success."""
    _command(monkeypatch, returns=returned)
    assert run(["other"]) == code
    with pytest.raises(SystemExit) as caught:
        main(["other"])
    assert caught.value.code == code
    assert capsys.readouterr() == ("", "")


def test_arguments_come_from_the_command_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Under whatever name it is called, the command calls itself dqo."""
    monkeypatch.setattr(sys, "argv", ["/somewhere/kubectl-dqo", "plan", "--help"])
    with pytest.raises(SystemExit) as caught:
        main()
    assert caught.value.code == 0
    assert capsys.readouterr().out.startswith("Usage: dqo plan ")
