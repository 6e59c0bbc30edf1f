"""The wheel in environments that hold it and what it says that it needs: nothing more, and nothing of this tree."""

from __future__ import annotations

import json
import subprocess
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from kueue_dqo import __version__
from scripts.release import dist
from tests.e2e import process
from tests.e2e.process import EXAMPLES, PROGRAMS, ROOT, Finished, dqo, execute
from tests.release import checkouts, environments
from tests.release.environments import Environment
from tests.release.once import once

EXTRAS = ("", "aws", "cli", "gcp", "nvidia")
"""None, and each of them alone."""
CLOUDS = ("aws", "gcp")
KUBECONFIG = """\
apiVersion: v1
kind: Config
current-context: nowhere
contexts: [{name: nowhere, context: {cluster: nowhere, user: nobody}}]
clusters: [{name: nowhere, cluster: {server: "http://127.0.0.1:1"}}]
users: [{name: nobody, user: {}}]
"""
WALK = """
import contextlib, io, json, os, sys
import click
from kueue_dqo.cli.main import dqo, run

def walk(command, path):
    yield path
    if isinstance(command, click.Group):
        context = click.Context(command)
        for name in command.list_commands(context):
            yield from walk(command.get_command(context, name), [*path, name])

def ended(arguments):
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = run(arguments)
    return code, out.getvalue(), err.getvalue()

helps, daemons = {}, {}
for path in walk(dqo, []):
    helps[" ".join(path)] = ended([*path, "--help"])
    if path[:1] == ["orchestrator"] or len(path) == 2 and path[0] == "provider":
        daemons[" ".join(path)] = ended(path)
files = [getattr(module, "__file__", None) for module in list(sys.modules.values())]
json.dump({"helps": helps, "daemons": daemons, "files": [file for file in files if file],
           "standard": os.path.dirname(os.__file__)}, sys.stdout)
"""
"""Asks every command for its help, starts every daemon where no cluster is, and tells which files all came from."""

AGENT = ("provider", "nvidia-gpu", "--role", "agent", "--node-name", "node-1", "--listen", "127.0.0.1:0")

Make = Callable[[str], Environment]


@pytest.fixture(scope="session")
def environment(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Make:
    """Gives the environment with one extra, or with none."""

    def make(extra: str) -> Environment:
        names = environments.needed_by(wheel, [extra])
        folder = once(
            tmp_path_factory,
            f"release-environment-{extra or 'plain'}",
            lambda folder: environments.make(folder, [wheel], names),
        )
        return Environment(folder, names)

    return make


@pytest.fixture
def nowhere(tmp_path: Path) -> str:
    """A kubeconfig of a cluster that is not there."""
    path = tmp_path / "kubeconfig"
    path.write_text(KUBECONFIG)
    return str(path)


def _once(environment: Environment, cloud: str) -> Finished:
    parameters = EXAMPLES / f"parameters/cloud-quota-{cloud}.yaml"
    return dqo(
        *("provider", "cloud-quota", "--once", "-f", parameters),
        program=environment.bin / "dqo",
        cwd=environment.folder,
        HOME=str(environment.folder),
        AWS_EC2_METADATA_DISABLED="true",
        NO_GCE_CHECK="true",
    )


@pytest.mark.parametrize("extra", EXTRAS)
def test_an_installation_is_whole(extra: str, environment: Make) -> None:
    """By the judgement of the installer; and the command knows its version, from either program and as a module."""
    ready = environment(extra)
    judged = environments.pip(ready.bin / "python", "check")
    assert judged.returncode == 0, judged.stdout
    commands = ([ready.bin / PROGRAMS[0]], [ready.bin / PROGRAMS[1]], [ready.bin / "python", "-m", "kueue_dqo.cli"])
    for command in commands if extra == "" else commands[:1]:
        finished = execute(*command, "--version", cwd=ready.folder)
        assert finished == (0, f"dqo, version {__version__}\n", "")


def test_without_extras_every_command_helps_and_every_daemon_starts(environment: Make) -> None:
    """From files of the environment and of Python alone. A daemon gets as far as looking for a cluster."""
    ready = environment("")
    finished = execute(ready.bin / "python", "-I", "-c", WALK, cwd=ready.folder)
    assert finished.code == 0, finished.err
    told = json.loads(finished.out)
    assert {"", "plan", "capacity set", "cleanup", "orchestrator", "provider multikueue"} <= told["helps"].keys()
    for path, (code, out, err) in told["helps"].items():
        assert (code, err) == (0, ""), path
        assert out.startswith("Usage: "), path
    assert len(told["daemons"]) > len(list((ROOT / "providers").glob("*/source.py")))
    for path, (code, out, err) in told["daemons"].items():
        assert (code, out) == (1, ""), path
        assert err.startswith("Error: no cluster is configured: "), path
    assert len(told["files"]) > 500
    own = (f"{ready.folder}/", f"{told['standard']}/")
    assert [file for file in told["files"] if not file.startswith(own)] == []


def test_without_extras_json_and_yaml_are_planned_and_what_is_missing_is_named(environment: Make) -> None:
    """The table needs rich."""
    ready = environment("")
    arguments = ("plan", "-f", EXAMPLES / "02-gpu-pools")
    for output in ("json", "yaml"):
        finished = dqo(*arguments, "-o", output, program=ready.bin / "dqo", cwd=ready.folder)
        assert finished == dqo(*arguments, "-o", output)
        assert finished.code == 0
    finished = dqo(*arguments, program=ready.bin / "dqo", cwd=ready.folder)
    assert (finished.code, finished.out) == (1, "")
    assert finished.err == "Error: the table needs rich: install kueue-dqo[cli], or use -o json\n"


def test_with_cli_the_table_is_there(environment: Make) -> None:
    """From both programs the same as from those of the tree."""
    ready = environment("cli")
    arguments = ("plan", "-f", EXAMPLES / "02-gpu-pools")
    expected = dqo(*arguments)
    assert expected.code == 0
    for program in PROGRAMS:
        assert dqo(*arguments, program=ready.bin / program, cwd=ready.folder) == expected


@pytest.mark.parametrize("extra", EXTRAS)
def test_a_cloud_is_asked_where_its_extra_is_and_named_where_it_is_not(extra: str, environment: Make) -> None:
    """Where its SDK is, it is found that nobody has given it credentials."""
    for cloud in CLOUDS:
        finished = _once(environment(extra), cloud)
        assert finished.code == 1
        assert ("no credentials" in finished.out) == (extra == cloud), finished
        assert (f"install kueue-dqo[{cloud}]" in finished.out) == (extra != cloud), finished


def test_the_agent_names_the_extra_that_it_reads_gpus_with(environment: Make, nowhere: str) -> None:
    """Before it looks for anything else."""
    ready = environment("")
    finished = dqo(*AGENT, "--kubeconfig", nowhere, program=ready.bin / "dqo", cwd=ready.folder)
    assert finished.code == 1
    assert "install kueue-dqo[nvidia]" in finished.err


def test_with_nvidia_the_agent_starts(environment: Make, nowhere: str) -> None:
    """Whatever it finds on the node, or does not, comes after that."""
    ready = environment("nvidia")
    command: list[str | Path] = [ready.bin / "dqo", *AGENT, "--kubeconfig", nowhere]
    with subprocess.Popen(
        command, env=process.environment(), cwd=ready.folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as agent:
        hangs = threading.Timer(process.HANGS_AFTER, agent.kill)
        hangs.start()
        assert agent.stdout is not None
        first = agent.stdout.readline()
        agent.kill()
        hangs.cancel()
    assert json.loads(first)["event"] == "serving health and metrics"


def test_a_provider_of_a_third_party_is_found_beside_it(environment: Make, wheel: Path, tmp_path: Path) -> None:
    """Built and installed from its own folder; it fits this version."""
    example = EXAMPLES / "writing-a-provider"
    dist.run_backend(example, tmp_path / "out", "wheel", time=checkouts.TIME)
    [other] = (tmp_path / "out").iterdir()
    names = environment("").names
    environments.make(tmp_path / "environment", [wheel, other], names)
    ready = Environment(tmp_path / "environment", names)
    assert environments.pip(ready.bin / "python", "check").returncode == 0
    finished = dqo("provider", "--help", program=ready.bin / "dqo", cwd=tmp_path)
    assert "rack-power      From the distribution rack-power." in finished.out
    assert dqo("provider", "rack-power", "--help", program=ready.bin / "dqo", cwd=tmp_path).code == 0
