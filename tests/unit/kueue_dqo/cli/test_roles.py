"""`dqo provider nvidia-gpu`: which of its two commands is meant, and what each takes."""

from __future__ import annotations

import subprocess
import sys

import pytest

from kueue_dqo.cli.main import run
from kueue_dqo.runtime.errors import ConfigurationError
from providers.nvidia_gpu.agent import library
from providers.nvidia_gpu.agent.checks import Checks
from providers.nvidia_gpu.agent.process import Options

NAME = ["provider", "nvidia-gpu"]


@pytest.fixture
def runs(monkeypatch: pytest.MonkeyPatch) -> list[Options]:
    """What would be run as an agent, instead of running it."""
    found: list[Options] = []

    async def note(options: Options) -> int:
        found.append(options)
        return 0

    monkeypatch.setattr("providers.nvidia_gpu.agent.process.run", note)
    return found


def output(capsys: pytest.CaptureFixture[str]) -> str:
    captured = capsys.readouterr()
    return " ".join((captured.out + captured.err).split())


@pytest.mark.parametrize(
    "arguments",
    [["--role", "agent", "--help"], ["--role=agent", "--help"], ["--heartbeat", "5m", "--help", "--role", "agent"]],
    ids=" ".join,
)
def test_the_agent_has_options_of_its_own(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    """And none of an election, whatever the order."""
    assert run([*NAME, *arguments]) == 0
    text = output(capsys)
    for name in ("--role", "--node-name", "--nvml-timeout", "--enable-health-checks", "--listen", "--grace"):
        assert f"{name} " in text
    for name in ("--lease-name", "--leader-elect", "--only", "--interval"):
        assert name not in text


@pytest.mark.parametrize("arguments", [[], ["--role", "aggregator"]], ids=["default", "named"])
def test_the_aggregator_is_a_provider_as_the_others(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    """With one option more."""
    assert run([*NAME, *arguments, "--help"]) == 0
    own = output(capsys)
    assert run(["provider", "manual", "--help"]) == 0
    others = output(capsys)
    assert "--role [aggregator|agent]" in own
    assert "--role" not in others
    for name in ("--only", "--interval", "--lease-name"):
        assert name in own
    assert "--node-name" not in own


def test_the_environment_may_say_the_role(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], runs: list[Options]
) -> None:
    """The command line has the last word."""
    monkeypatch.setenv("DQO_ROLE", "agent")
    monkeypatch.setenv("DQO_NODE_NAME", "gpu-1")
    assert run(NAME) == 0
    assert runs[0].node_name == "gpu-1"
    assert run([*NAME, "--role", "aggregator", "--help"]) == 0
    assert "--only" in output(capsys)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--role", "master"], "'master' is not one of 'aggregator', 'agent'"),
        (["--role"], "Option '--role' requires an argument"),
        (["--role", "agent", "--lease-name", "x"], "No such option '--lease-name'"),
        (["--poll", "5s"], "No such option '--poll'"),
        (["--role", "agent", "--poll", "0s"], "'0s' is too short"),
        (["--role", "agent", "--heartbeat", "25h"], "more than 24h"),
        (
            ["--role", "agent", "--poll", "11s", "--heartbeat", "10s"],
            "--poll 11s is longer than --heartbeat 10s: a heartbeat says when the GPUs were read last",
        ),
        (["--role", "agent", "--poll", "6m"], "poll more often, or give a longer --heartbeat"),
        (["--role", "agent", "--heartbeat", "9s"], "--poll 10s is longer than --heartbeat 9s"),
        (["--role", "agent", "--disable-health-checks", "ecc"], "--disable-health-checks has 'ecc'"),
        (["--role", "agent", "--node-name", "My_Node"], "'My_Node' is no object name"),
        (["--role", "agent", "extra"], "unexpected extra argument"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_what_makes_no_sense_is_refused(
    arguments: list[str], says: str, runs: list[Options], capsys: pytest.CaptureFixture[str]
) -> None:
    assert run([*NAME, *arguments]) == 1
    assert says in output(capsys)
    assert runs == []


def test_other_providers_have_no_role(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["provider", "manual", "--role", "agent"]) == 1
    assert "No such option '--role'" in output(capsys)


def test_options_reach_the_agent(runs: list[Options]) -> None:
    arguments = [
        *("--poll", "3s", "--role", "agent", "--heartbeat", "1m", "--nvml-timeout", "5s", "--unknown-grace", "2m"),
        *("--grace", "7"),
        *("--disable-health-checks", "94", "--enable-health-checks", "13", "--listen", "127.0.0.1:0"),
    ]
    assert run([*NAME, *arguments]) == 0
    assert run([*NAME, "--role", "agent"]) == 0
    told, default = runs
    assert (told.poll, told.heartbeat, told.nvml_timeout, told.unknown_grace) == (3.0, 60.0, 5.0, 120.0)
    assert (told.checks, told.host, told.port) == (Checks.of("94", "13"), "127.0.0.1", 0)
    assert told.grace == 7.0
    assert default == Options(checks=Checks())


def test_a_heartbeat_as_long_as_a_poll_is_one(runs: list[Options]) -> None:
    """Each has a reading of its own, or the one before it had."""
    assert run([*NAME, "--role", "agent", "--poll", "1s", "--heartbeat", "1s"]) == 0
    assert (runs[0].poll, runs[0].heartbeat) == (1.0, 1.0)


def test_a_process_that_has_to_be_started_anew_ends_with_1(monkeypatch: pytest.MonkeyPatch) -> None:
    async def restart(options: Options) -> int:
        del options
        return 1

    monkeypatch.setattr("providers.nvidia_gpu.agent.process.run", restart)
    assert run([*NAME, "--role", "agent"]) == 1


def test_without_pynvml_the_way_out_is_named(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "pynvml", None)
    with pytest.raises(ConfigurationError, match=r"kueue-dqo\[nvidia\]"):
        library.pynvml()
    assert run([*NAME, "--role", "agent"]) == 1
    assert "install kueue-dqo[nvidia]" in output(capsys)


def test_the_help_loads_neither_pynvml_nor_the_agent() -> None:
    program = (
        "import sys\nfrom kueue_dqo.cli.main import run\nrun(sys.argv[1:])\n"
        "loaded = {'pynvml', 'aiohttp', 'providers.nvidia_gpu.agent.process'} & sys.modules.keys()\n"
        "print(sorted(loaded), file=sys.stderr)"
    )
    command = [sys.executable, "-c", program, *NAME, "--role", "agent", "--help"]
    assert subprocess.run(command, check=True, capture_output=True, text=True).stderr == "[]\n"


def test_the_agent_has_no_need_of_the_libraries_of_others() -> None:
    """One runs on each node."""
    program = (
        "import sys, kueue_dqo.cli.main, kueue_dqo.cli.provider, kueue_dqo.cli.nvidia_gpu_agent\n"
        "import providers.nvidia_gpu.agent.process, pynvml\n"
        "others = {'kubernetes_asyncio', 'yaml', 'dateutil', 'boto3', 'google', 'orchestrator'}\n"
        "print(sorted(others & sys.modules.keys()))"
    )
    finished = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True)
    assert finished.stdout.strip() == "[]"
