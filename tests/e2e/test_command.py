"""`dqo` and `kubectl-dqo` as a user starts them: exit codes, help, what they load, how they fit into a shell."""

from __future__ import annotations

import json
import os
import pty
import signal
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from tests.e2e.process import BIN, EXAMPLES, HANGS_AFTER, Finished, dqo, environment, execute
from tests.unit.kueue_dqo.cli.objects import as_json, cohort, listed, node, orchestrator, provider, queue

TWO_TEAMS = EXAMPLES / "01-two-teams-one-pool"
CONFLICT = EXAMPLES / "03-two-orchestrators-in-conflict"
DUMP = EXAMPLES / "04-cluster-dump"
GOOD = as_json(listed(orchestrator(), provider(), queue("a", 10)))


# --- exit codes ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["--version"], 0),
        (["--help"], 0),
        (["plan", "--help"], 0),
        (["plan", "-f", str(TWO_TEAMS)], 0),
        (["plan", "-f", str(CONFLICT)], 0),
        (["plan", "-f", str(TWO_TEAMS), "--detailed-exitcode"], 2),
        (["plan", "-f", str(DUMP), "--detailed-exitcode", "-o", "json"], 2),
        (["plan", "-f", str(CONFLICT), "--detailed-exitcode"], 3),
        (["plan", "-f", "/nowhere", "--detailed-exitcode"], 1),
        (["plan", "-f", "/nowhere"], 1),
        ([], 1),
        (["plans"], 1),
        (["plan"], 1),
        (["plan", str(TWO_TEAMS)], 0),
        (["plan", "-f"], 1),
        (["plan", "-f", str(TWO_TEAMS), "-o", "xml"], 1),
        (["plan", "-f", str(TWO_TEAMS), "--detailed-exit-code"], 1),
    ],
    ids=lambda value: " ".join(value).replace(str(EXAMPLES), "examples") if isinstance(value, list) else None,
)
def test_the_exit_code_says_how_it_went(arguments: list[str], code: int) -> None:
    """A script can rely on 2 and 3 only meaning what the help says."""
    finished = dqo(*arguments)
    assert finished.code == code, finished
    assert "Traceback" not in finished.err
    assert bool(finished.out) == (code != 1)


@pytest.mark.parametrize(
    "arguments",
    [
        ["--help"],
        ["plan"],
        ["plan", "--help"],
        ["plan", "-f", str(CONFLICT), "--detailed-exitcode"],
        ["plan", "-f", str(CONFLICT), "-o", "json"],
        ["plan", "-f", "/nowhere"],
    ],
    ids=lambda value: " ".join(value).replace(str(EXAMPLES), "examples"),
)
def test_kubectl_finds_the_same_command(arguments: list[str]) -> None:
    """`kubectl dqo plan` starts kubectl-dqo, which answers in every way as dqo does."""
    assert dqo(*arguments, program="kubectl-dqo") == dqo(*arguments, program="dqo")


def test_a_plan_that_was_carried_out_ends_with_0() -> None:
    """The dump, once what was planned stands in it."""
    dump = json.loads((DUMP / "cluster.json").read_text())
    planned = json.loads(dqo("plan", "-f", DUMP, "-o", "json").out)
    status = {(item["kind"], item["metadata"]["name"]): item["status"] for item in planned["items"]}
    for item in dump["items"]:
        item.setdefault("status", {}).update(status.get((item["kind"], item["metadata"]["name"]), {}))
    assert dqo("plan", "-f", "-", "--detailed-exitcode", stdin=json.dumps(dump).encode()).code == 0


@pytest.mark.parametrize("separate", [["-f"], ["-f", "-f", "-f", "-f"]], ids=["behind one -f", "each behind its own"])
def test_files_and_their_folder_give_the_same_plan(separate: list[str]) -> None:
    """What a shell makes of `-f *.yaml`."""
    files = sorted(TWO_TEAMS.glob("*.yaml"))
    assert len(files) == 4
    options = [*separate, *[""] * len(files)]
    arguments = [each for option, file in zip(options, files, strict=False) for each in (option, str(file)) if each]
    assert dqo("plan", *arguments, "-o", "json").out == dqo("plan", "-f", TWO_TEAMS, "-o", "json").out != ""


def test_standard_input_gives_the_same_plan_as_a_file() -> None:
    """Through a real pipe."""
    data = (DUMP / "cluster.json").read_bytes()
    assert dqo("plan", "-f", "-", "-o", "json", stdin=data).out == dqo("plan", "-f", DUMP, "-o", "json").out != ""


def test_a_substituted_process_can_be_read() -> None:
    """`-f <(…)` is a pipe under the name of a descriptor."""
    reader, writer = os.pipe()
    with os.fdopen(writer, "wb") as pipe:
        pipe.write(GOOD)
    try:
        done = subprocess.run(
            [BIN / "dqo", "plan", "-f", f"/dev/fd/{reader}", "-o", "json"],
            pass_fds=[reader],
            env=environment(),
            stdout=subprocess.PIPE,
            timeout=HANGS_AFTER,
            check=True,
        )
    finally:
        os.close(reader)
    assert len(json.loads(done.stdout)["items"]) == 2


def test_two_plans_of_the_same_files_are_equal_to_the_byte() -> None:
    """Whatever the order of Python's sets and dicts in that process."""
    for output in ("table", "json", "yaml"):
        first, second = (dqo("plan", "-f", CONFLICT, "-o", output, PYTHONHASHSEED=seed) for seed in ("1", "2"))
        assert first == second
        assert first.out


# --- help, and what is loaded --------------------------------------------------------------------------------------


@pytest.mark.parametrize("option", ["-h", "--help"])
def test_help_of_the_command_lists_every_command_and_option(option: str) -> None:
    """With what each is for."""
    finished = dqo(option)
    assert finished.err == ""
    for text in (
        "Usage: dqo [OPTIONS] COMMAND",
        "Dynamic Quota Orchestration",
        "--version",
        "-h, --help",
        " plan Show what ",
        " capacity Write the status ",
        " cleanup Put declared quotas ",
    ):
        assert text in " ".join(finished.out.split())


@pytest.mark.parametrize("option", ["-h", "--help"])
def test_help_of_plan_lists_every_option_value_and_exit_code(option: str) -> None:
    """And shows no sign that is meant for the formatter."""
    finished = dqo("plan", option)
    assert finished.err == ""
    text = " ".join(finished.out.split())
    for part in (
        *("Usage: dqo plan [OPTIONS] [PATH]...", "-f, --filename PATH", "- for standard input", "May be repeated"),
        *("-o, --output [table|json|yaml]", "[default: table]"),
        *("--road [status|spec]", "[default: (status; of a cluster, its own)]"),
        *(
            "--detailed-exitcode",
            "Exit with 2 when something would change, 3 when",
            "--max-file-size SIZE",
            "[default: 1Gi]",
        ),
        *("--kubeconfig PATH", "[env var: DQO_KUBECONFIG]", "--context NAME", "[env var: DQO_CONTEXT]"),
        *("-h, --help", "Exit codes: 0 done; 1 an error", "Nothing is written", "YAML or JSON"),
    ):
        assert part in text
    assert "\\b" not in finished.out
    assert "\b" not in finished.out


def _loaded(*arguments: str, stdin: bytes = b"") -> set[str]:
    """The top-level modules that a call of the command imports."""
    finished = execute(sys.executable, "-X", "importtime", "-m", "kueue_dqo.cli", *arguments, stdin=stdin)
    assert finished.code == 0, finished.err
    lines = [line.split("|") for line in finished.err.splitlines() if line.startswith("import time:")]
    return {columns[2].strip().partition(".")[0] for columns in lines if len(columns) == 3}


OURS = {"admission", "orchestrator", "providers"}


@pytest.mark.parametrize(
    ("arguments", "needs", "goes_without"),
    [
        pytest.param(["--help"], {"click"}, OURS | {"rich", "yaml", "msgspec"}, id="help"),
        pytest.param(["--version"], {"click"}, OURS | {"rich", "yaml", "msgspec"}, id="version"),
        pytest.param(["plan", "--help"], {"click", "msgspec"}, {"rich", "yaml"}, id="help of plan"),
        pytest.param(["plan", "-f", "-", "-o", "json"], {"msgspec"}, {"rich", "yaml"}, id="JSON from JSON"),
        pytest.param(["plan", "-f", "-", "-o", "yaml"], {"yaml"}, {"rich"}, id="YAML from JSON"),
        pytest.param(["plan", "-f", "-"], {"rich"}, {"yaml"}, id="a table from JSON"),
    ],
)
def test_only_what_a_call_needs_is_loaded(arguments: list[str], needs: set[str], goes_without: set[str]) -> None:
    """Help is instant, and a machine that speaks JSON needs no extra."""
    loaded = _loaded(*arguments, stdin=GOOD)
    assert needs <= loaded
    assert not goes_without & loaded


# --- output --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("output", ["json", "yaml"])
def test_warnings_are_on_standard_error_and_the_plan_stays_readable(output: str) -> None:
    """So that it can go through a pipe."""
    finished = dqo("plan", "-f", EXAMPLES / "02-gpu-pools", "-o", output)
    assert finished.code == 0
    lines = finished.err.splitlines()
    assert {line.partition(": ")[0] for line in lines} == {"Warning", "Note"}
    assert sum(line.startswith("Warning: ") for line in lines) == 2
    read = json.loads(finished.out) if output == "json" else yaml.safe_load(finished.out)
    assert read["kind"] == "List"
    assert dqo("plan", "-f", EXAMPLES / "02-gpu-pools").err == ""


def _on_a_terminal(*arguments: str | Path, **variables: str) -> str:
    """What the command shows where its output is a terminal."""
    master, slave = pty.openpty()
    with subprocess.Popen(
        [BIN / "dqo", *arguments], stdout=slave, env=environment(TERM="xterm-256color", **variables)
    ) as process:
        os.close(slave)
        shown = b""
        while part := _part(master):
            shown += part
        assert process.wait(timeout=HANGS_AFTER) == 0
    os.close(master)
    return shown.decode()


def _part(master: int) -> bytes:
    try:
        return os.read(master, 65536)
    except OSError:  # how Linux says that nobody has the terminal open any more
        return b""


def test_colour_is_for_terminals_and_for_those_who_want_it() -> None:
    """NO_COLOR turns it off, a pipe never has it."""
    escape = "\x1b["
    assert f"{escape}3" in _on_a_terminal("plan", "-f", CONFLICT)  # 31, 32, 33: the colours
    plain = _on_a_terminal("plan", "-f", CONFLICT, NO_COLOR="1")
    assert f"{escape}3" not in plain
    assert "ConflictingDynamicQuotaOrchestrator" in plain
    assert escape not in dqo("plan", "-f", CONFLICT, TERM="xterm-256color").out


NOT_ASCII = as_json(
    listed(
        orchestrator("Cohort/c"),
        provider(**{"example.com/gpü": "8"}),
        cohort("c"),
        queue("a", resource="example.com/gpü", cohort="c"),
    )
)


def test_the_plain_locale_is_no_obstacle() -> None:
    """LANG=C, as in a container or in cron."""
    for output in ("table", "json", "yaml"):
        plain = dqo("plan", "-f", CONFLICT, "-o", output, LANG="C", LC_ALL="C")
        assert plain == dqo("plan", "-f", CONFLICT, "-o", output)
        assert plain.code == 0


@pytest.mark.parametrize("output", ["table", "json", "yaml"])
@pytest.mark.parametrize("data", [GOOD, NOT_ASCII], ids=["ASCII", "more than ASCII"])
@pytest.mark.parametrize("encoding", ["ascii", "cp1252"])
def test_an_output_that_lacks_characters_is_no_obstacle(encoding: str, data: bytes, output: str) -> None:
    """A table shows a question mark; JSON and YAML stay what they are for a reader."""
    wanted = dqo("plan", "-f", "-", "-o", output, stdin=data)
    done = subprocess.run(
        [BIN / "dqo", "plan", "-f", "-", "-o", output],
        input=data,
        capture_output=True,
        env=environment(PYTHONIOENCODING=encoding),
        timeout=HANGS_AFTER,
        check=False,
    )
    assert b"Traceback" not in done.stderr, done.stderr.decode("ascii", "replace")
    assert done.returncode == wanted.code == 0
    if output != "table":
        # Escapes, or UTF-8 whatever the setting says: both can be read.
        assert yaml.safe_load(done.stdout.decode()) == yaml.safe_load(wanted.out)
    else:
        assert done.stdout.decode(encoding).count("\n") == wanted.out.count("\n")


def test_control_characters_of_a_file_do_not_reach_the_terminal() -> None:
    """Neither in a table nor in a message: they could steer it."""
    evil = "\x1b]0;taken over\x07\x1b[2J"
    files = [
        as_json(
            listed(
                orchestrator(),
                provider(reason=f"Synchronized{evil}"),
                queue("a"),
                {"apiVersion": "v1", "kind": f"Pod{evil}"},
            )
        ),
        as_json(queue(f"a{evil}")),
        as_json(queue("a") | {"apiVersion": f"kueue.x-k8s.io/{evil}"}),
        as_json({"apiVersion": f"v1{evil}", "kind": "Node"}, node("n")),
        b'{"a": 1, "' + json.dumps(evil).encode().strip(b'"') + b'": 2, "a": 3}',
    ]
    for data, output in [(files[0], "table"), *((data, "json") for data in files)]:
        shown = _seen(data, output)
        assert b"\x1b" not in shown, shown
        assert b"\x07" not in shown, shown


def _seen(data: bytes, output: str) -> bytes:
    """The output, and what a terminal behind standard error gets."""
    master, slave = pty.openpty()
    done = subprocess.run(
        [BIN / "dqo", "plan", "-f", "-", "-o", output],
        input=data,
        stdout=subprocess.PIPE,
        stderr=slave,
        env=environment(),
        timeout=HANGS_AFTER,
        check=False,
    )
    os.close(slave)
    seen = done.stdout
    while part := _part(master):
        seen += part
    os.close(master)
    return seen


# --- signals -------------------------------------------------------------------------------------------------------


def test_an_interrupt_ends_it_with_a_word_and_1(tmp_path: Path) -> None:
    """While it waits for the rest of a pipe."""
    pipe = tmp_path / "slow.yaml"
    os.mkfifo(pipe)
    # Where the tests run in the background, SIGINT may be ignored, and a child would inherit that.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        process = subprocess.Popen(
            [BIN / "dqo", "plan", "-f", pipe],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=environment(),
        )
    finally:
        signal.signal(signal.SIGINT, before)
    with process, pipe.open("wb"):  # the second open returns when the command has the pipe open, too
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=HANGS_AFTER)
    assert Finished(process.returncode, out.decode(), err.decode().strip()) == Finished(1, "", "Interrupted")
