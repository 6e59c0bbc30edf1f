"""One name, several commands. `test_roles.py` has the roles, this file the flag of `dqo provider cloud-quota`."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from typing import Any

import click
import pytest

from kueue_dqo.cli.main import run
from kueue_dqo.cli.variants import by_flag, by_role
from kueue_dqo.provider import CapacityController
from providers.daemon import Options

NAME = ["provider", "cloud-quota"]


@pytest.fixture
def runs(monkeypatch: pytest.MonkeyPatch) -> list[Options]:
    """The daemons that would be run, instead of running them."""
    found: list[Options] = []

    async def note(options: Options, controller: CapacityController[Any]) -> None:
        del controller
        found.append(options)

    monkeypatch.setattr("providers.daemon.run", note)
    return found


def output(capsys: pytest.CaptureFixture[str]) -> str:
    captured = capsys.readouterr()
    return " ".join((captured.out + captured.err).split())


def test_without_the_flag_it_is_the_daemon(runs: list[Options], capsys: pytest.CaptureFixture[str]) -> None:
    """As every other provider, with a word about the flag."""
    assert run([*NAME, "--only", "a"]) == 0
    assert runs[0].only == {"a"}
    assert run([*NAME, "--help"]) == 0
    text = output(capsys)
    for name in ("--once", "--only NAME", "--interval", "--lease-name"):
        assert name in text
    assert "--filename" not in text


@pytest.mark.parametrize("arguments", [["--once", "--help"], ["-f", "x.yaml", "--once", "--help"]], ids=" ".join)
def test_with_the_flag_it_has_options_of_its_own(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    """Wherever it stands."""
    assert run([*NAME, *arguments]) == 0
    text = output(capsys)
    for name in ("--once", "-f, --filename PATH", "-o, --output", "--max-file-size"):
        assert name in text
    for name in ("--lease-name", "--only", "--interval", "--kubeconfig"):
        assert name not in text


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--once", "--only", "a"], "No such option '--only'"),
        (["-o", "yaml"], "No such option '-o'"),
        (["--once", "-o", "xml"], "'xml' is not one of 'table', 'json', 'yaml'"),
        (["--once=yes"], "Option '--once' does not take a value"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_options_of_the_other_command_are_refused(
    arguments: list[str], says: str, runs: list[Options], capsys: pytest.CaptureFixture[str]
) -> None:
    assert run([*NAME, *arguments]) == 1
    assert says in output(capsys)
    assert runs == []


def test_the_environment_of_a_pod_makes_no_daemon_ask_once(
    runs: list[Options], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The flag is for a person at a command line."""
    monkeypatch.setenv("DQO_ONCE", "true")
    assert run(NAME) == 0
    assert len(runs) == 1


def test_other_providers_have_no_such_flag(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["provider", "manual", "--once"]) == 1
    assert "No such option '--once'" in output(capsys)


def test_only_the_command_that_is_meant_is_loaded() -> None:
    """A help loads no SDK, and none of the code that asks."""
    program = (
        "import sys\nfrom kueue_dqo.cli.main import run\nrun(sys.argv[1:])\n"
        "loaded = {'boto3', 'google.cloud', 'kueue_dqo.cli.cloud_quota.command'} & sys.modules.keys()\n"
        "print(sorted(loaded), file=sys.stderr)"
    )
    command = [sys.executable, "-c", program, *NAME, "--help"]
    assert subprocess.run(command, check=True, capture_output=True, text=True).stderr == "[]\n"


def _factory(name: str, made: list[str]) -> Callable[[], click.Command]:
    def make() -> click.Command:
        made.append(name)
        return click.Command(name, params=[click.Option([f"--{name}"])])

    return make


def test_only_the_factory_of_that_command_is_called() -> None:
    made: list[str] = []
    flag = by_flag("x", "--once", without=_factory("a", made), given=_factory("b", made), text="Once.")
    assert flag.make_context("x", ["--b", "1", "--once"]).params == {"b": "1"}
    assert made == ["b"]
    assert flag.make_context("x", []).params == {"a": None}
    assert made == ["b", "a"]


def test_the_documentation_learns_how_each_command_is_called() -> None:
    made: list[str] = []
    names = {"b": _factory("b", made), "a": _factory("a", made)}
    assert by_role("x", names).calls == (("--role", "b"), ("--role", "a"))
    assert by_flag("x", "--once", without=names["a"], given=names["b"], text="").calls == ((), ("--once",))
    assert made == []
