"""`dqo provider`: which commands there are, what they take, and what is said where a package does not fit."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import click
import pytest
from structlog.testing import capture_logs

from kueue_dqo.api.parameters import CommonParameters
from kueue_dqo.cli.main import run
from kueue_dqo.cli.orchestrator import orchestrator
from kueue_dqo.cli.provider import provider
from kueue_dqo.provider import CapacityController, Environment, Observation, Request, Source
from kueue_dqo.runtime.errors import ConfigurationError
from kueue_dqo.runtime.process import CannotListen
from providers.daemon import Options, opened, run_source

OURS = ["composite", "manual", "node-inventory", "nvidia-gpu"]

GOOD = """
from kueue_dqo.provider import CapacityController
CONTROLLER = CapacityController(name="example.com/test", open=lambda environment: None)
"""

WITH_SETTINGS = """
from kueue_dqo.provider import CapacityController, Setting
CONTROLLER = CapacityController(
    name="example.com/test",
    open=lambda environment: None,
    settings=(
        Setting("allow-plain", "Trust anybody.", False),
        Setting("server-folder", "Where servers are.", "/etc/servers", "PATH"),
    ),
)
"""


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder of installed packages that is on the path."""
    monkeypatch.syspath_prepend(tmp_path)
    before = set(sys.modules)
    yield tmp_path
    for name in set(sys.modules) - before:
        if name.startswith("third_party"):
            del sys.modules[name]


def install(site: Path, distribution: str, code: str, *, name: str = "licences") -> None:
    """A distribution whose entry point `name` leads to `CONTROLLER` in a module with that code."""
    module = f"third_party_{distribution.replace('-', '_')}"
    (site / f"{module}.py").write_text(code, encoding="utf-8")
    metadata = site / f"{distribution}-1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {distribution}\nVersion: 1.0\n", encoding="utf-8")
    entry = f"[kueue_dqo.providers]\n{name} = {module}:CONTROLLER\n"
    (metadata / "entry_points.txt").write_text(entry, encoding="utf-8")


@pytest.fixture
def runs(monkeypatch: pytest.MonkeyPatch) -> list[tuple[Options, CapacityController[Any]]]:
    """What would be run, instead of running it."""
    found: list[tuple[Options, CapacityController[Any]]] = []

    async def note(options: Options, controller: CapacityController[Any]) -> None:
        found.append((options, controller))

    monkeypatch.setattr("providers.daemon.run", note)
    return found


def output(capsys: pytest.CaptureFixture[str]) -> str:
    captured = capsys.readouterr()
    return " ".join((captured.out + captured.err).split())


def test_the_help_lists_what_is_installed_without_importing_it(site: Path, capsys: pytest.CaptureFixture[str]) -> None:
    install(site, "licence-watch", "raise SystemExit('imported')")
    assert run(["provider", "--help"]) == 0
    text = output(capsys)
    for name in OURS:
        assert f"{name} From the distribution kueue-dqo." in text
    assert "licences From the distribution licence-watch." in text


def test_settings_of_a_source_are_options_of_its_command(
    site: Path,
    runs: list[tuple[Options, CapacityController[Any]]],
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """By the command line or the environment, which the help shows; nobody else's command has them."""
    install(site, "licence-watch", WITH_SETTINGS)
    assert run(["provider", "licences", "--help"]) == 0
    text = output(capsys)
    assert "--only NAME" in text
    assert "--server-folder PATH Where servers are. [env var: DQO_SERVER_FOLDER; default: /etc/servers]" in text
    assert "--allow-plain Trust anybody. [env var: DQO_ALLOW_PLAIN]" in text
    assert run(["provider", "licences"]) == 0
    assert run(["provider", "licences", "--allow-plain", "--server-folder", "/here"]) == 0
    monkeypatch.setenv("DQO_ALLOW_PLAIN", "true")
    monkeypatch.setenv("DQO_SERVER_FOLDER", "/there")
    assert run(["provider", "licences"]) == 0
    assert [options.settings for options, _ in runs] == [
        {"allow-plain": False, "server-folder": "/etc/servers"},
        {"allow-plain": True, "server-folder": "/here"},
        {"allow-plain": True, "server-folder": "/there"},
    ]
    assert run(["provider", "manual", "--allow-plain"]) != 0


@pytest.mark.parametrize("name", ["interval", "namespace", "Allow", "allow_x", "-x", "", "help"])
def test_a_setting_that_no_option_can_be_is_refused(name: str, site: Path, capsys: pytest.CaptureFixture[str]) -> None:
    install(site, "licence-watch", WITH_SETTINGS.replace("allow-plain", name))
    assert run(["provider", "licences"]) == 1
    text = output(capsys)
    assert f"setting {name!r}" in text
    assert "the distribution licence-watch" in text


def test_a_third_partys_source_is_run_like_ours(
    site: Path, runs: list[tuple[Options, CapacityController[Any]]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Under the name of its entry point."""
    install(site, "licence-watch", GOOD)
    monkeypatch.setenv("DQO_NAMESPACE", "here")
    assert run(["provider", "licences"]) == 0
    ((options, controller),) = runs
    assert controller.name == "example.com/test"
    assert (options.name, options.lease_name) == ("licences", "kueue-dqo-licences")
    assert options.field_manager == "kueue-dqo-licences"
    assert options.namespace == "here"
    assert (options.only, options.interval, options.observe_timeout) == (frozenset(), 300.0, 60.0)


def test_options_reach_the_daemon(runs: list[tuple[Options, CapacityController[Any]]]) -> None:
    arguments = [
        *("--only", "a", "--only", "b", "--interval", "1m30s", "--observe-timeout", "5s", "--concurrency", "2"),
        *("--lease-name", "other", "--listen", "127.0.0.1:0", "--no-leader-elect", "--identity", "me"),
    ]
    assert run(["provider", "manual", *arguments]) == 0
    options = runs[0][0]
    assert (options.only, options.interval, options.observe_timeout) == (frozenset({"a", "b"}), 90.0, 5.0)
    assert (options.lease_name, options.host, options.port) == ("other", "127.0.0.1", 0)
    assert (options.leader_elect, options.concurrency) == (False, 2)
    assert options.identity.startswith("me_")


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--interval", "5"], "'5' is no duration"),
        (["--observe-timeout", "0s"], "'0s' is too short"),
        (["--concurrency", "0"], "not in the range"),
        (["--retry-period", "10"], "each longer than the one before"),
        (["--renew-deadline", "14.5"], "too close to --lease-duration"),
        (["--lease-name", "My_Lease"], "'My_Lease' is no object name"),
        (["--namespace", "kueue.system"], "'kueue.system' is no DNS label"),
    ],
    ids=str,
)
def test_options_that_make_no_sense_are_refused(
    arguments: list[str],
    says: str,
    runs: list[tuple[Options, CapacityController[Any]]],
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert run(["provider", "manual", *arguments]) == 1
    assert says in output(capsys)
    assert runs == []


@pytest.mark.parametrize(
    ("code", "says"),
    [
        ("import a_package_that_is_not_there", "ModuleNotFoundError: No module named 'a_package_that_is_not_there'"),
        ("1 / 0", "ZeroDivisionError: division by zero"),
        ("", "AttributeError"),
        ("raise SystemExit(0)", "SystemExit: 0"),
        ("CONTROLLER = 1", "is a int, not a kueue_dqo.provider.CapacityController"),
    ],
    ids=["missing import", "exception", "no such name", "end of the process", "another type"],
)
def test_a_source_that_cannot_be_loaded_is_named_with_its_distribution(
    site: Path, code: str, says: str, capsys: pytest.CaptureFixture[str]
) -> None:
    install(site, "licence-watch", code)
    assert run(["provider", "licences"]) == 1
    text = output(capsys)
    assert text.startswith("Error: provider 'licences' cannot be ")
    assert "third_party_licence_watch:CONTROLLER of the distribution licence-watch" in text
    assert says in text


def test_a_name_that_two_distributions_give_is_run_by_none(site: Path, capsys: pytest.CaptureFixture[str]) -> None:
    install(site, "licence-watch", GOOD)
    install(site, "other-watch", GOOD)
    assert run(["provider", "licences"]) == 1
    assert "by the distribution licence-watch and by the distribution other-watch" in output(capsys)
    assert run(["provider", "--help"]) == 0
    assert "licences From the distribution licence-watch and the distribution other-watch." in output(capsys)


def test_a_name_that_no_lease_can_have_is_refused(site: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Before anything of the package is imported."""
    install(site, "licence-watch", "raise SystemExit('imported')", name="Licence_Watch")
    assert run(["provider", "Licence_Watch"]) == 1
    text = output(capsys)
    assert "'Licence_Watch' of the distribution licence-watch cannot be run" in text
    assert "no DNS label" in text


class _Blind:
    """A source without `observe`."""

    async def run(self) -> None:
        return

    def forget(self, provider: str) -> None:
        del provider


def _unopened(environment: Environment) -> Source[Any]:
    raise KeyError("licence server", environment)


@pytest.mark.parametrize(
    ("open_", "says"),
    [
        (_unopened, "the source of licences cannot be opened: KeyError: ('licence server', None)"),
        (lambda _: None, "returned a NoneType, not a kueue_dqo.provider.Source: it has no observe, no run, no forget"),
        (lambda _: _Blind(), "returned a _Blind, not a kueue_dqo.provider.Source: it has no observe"),
    ],
    ids=["raises", "nothing", "no observe"],
)
def test_what_opens_no_source_is_named(open_: Any, says: str) -> None:
    controller: CapacityController[Any] = CapacityController(name="example.com/test", open=open_)
    with capture_logs() as logs, pytest.raises(ConfigurationError) as refused:
        opened("licences", controller, cast("Environment", None))
    assert says in str(refused.value)
    assert [(line["event"], line["source"]) for line in logs] == (
        [("source cannot be opened", "licences")] if open_ is _unopened else []
    )


async def test_a_source_that_fails_in_run_is_named_with_its_traceback() -> None:
    class Failing(Source[CommonParameters]):
        async def observe(self, request: Request[CommonParameters]) -> Observation:
            raise NotImplementedError

        async def run(self) -> None:
            raise OSError("the watch is broken")

    with capture_logs() as logs, pytest.raises(OSError, match="the watch is broken"):
        await run_source("licences", Failing())
    (line,) = logs
    assert (line["event"], line["exc_info"]) == ("the source of licences failed in run", True)


def test_an_unknown_name_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["provider", "nope"]) == 1
    assert "No such command 'nope'" in output(capsys)


def test_what_a_user_can_put_right_needs_no_traceback(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    async def taken(*_: object) -> None:
        raise CannotListen("0.0.0.0:8080 cannot be listened on: Address already in use")

    monkeypatch.setattr("providers.daemon.run", taken)
    assert run(["provider", "manual"]) == 1
    assert "Address already in use; choose another address with --listen" in output(capsys)
    assert run(["provider", "manual", "--kubeconfig", "/nonexistent"]) == 1


def test_a_source_that_fails_ends_the_process(monkeypatch: pytest.MonkeyPatch) -> None:
    async def fail(*_: object) -> None:
        raise ExceptionGroup("x", [ValueError("the watch is broken")])

    monkeypatch.setattr("providers.daemon.run", fail)
    assert run(["provider", "manual"]) == 1


def test_both_kinds_of_daemon_take_the_same_common_options() -> None:
    command = provider.get_command(click.Context(provider), "manual")
    assert command is not None
    own = {"enforcement", "concurrency", "write_qps", "write_burst", "quota_metrics"}
    assert {each.name for each in orchestrator.params} - own <= {each.name for each in command.params}


def test_the_daemon_has_no_need_of_the_libraries_of_others() -> None:
    """In a pod, every megabyte is one of many replicas'."""
    program = (
        "import sys, kueue_dqo.cli.main, kueue_dqo.cli.provider, providers.daemon, providers.node_inventory.source\n"
        "print(sorted({'kubernetes_asyncio', 'yaml', 'dateutil', 'boto3', 'google'} & sys.modules.keys()))"
    )
    finished = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True)
    assert finished.stdout.strip() == "[]"
