"""`dqo plan` as it is called: options, exit codes, what goes to which stream."""

from __future__ import annotations

import datetime
import io
import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import yaml

from kueue_dqo.cli.main import run
from tests.unit.kueue_dqo.cli.plan.builders import (
    MANUAL,
    Plain,
    condition,
    effective,
    flavor,
    manual_capacity,
    obj,
    orchestrator,
    override,
    provider,
    queue,
    reporting,
    usage,
)

SETTLED = {
    "effectiveCapacity": {"flavors": [{"name": "batch", "resources": {"cpu": "48"}}]},
    "conditions": [
        condition("EffectiveCapacityComputed", reason="Computed"),
        condition("Distributed", reason="QuotasDistributed"),
    ],
}
FAILED = {
    "conditions": [
        condition("EffectiveCapacityComputed", "False", "Misconfigured"),
        condition("Distributed", "False", "EffectiveCapacityNotComputed"),
    ]
}
NOTHING_TO_DO = [reporting(), orchestrator(status=SETTLED), queue(status=effective({"batch": {"cpu": 48}}))]
CHANGES = [reporting(), orchestrator(), queue()]
CANNOT = [orchestrator(), queue()]
CANNOT_STILL = [orchestrator(status=FAILED), queue()]


class Printed(NamedTuple):
    """How a call ended."""

    code: int
    out: str
    err: str


Call = Callable[..., Printed]


@pytest.fixture
def plan(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Call:
    """Calls `dqo plan -f FILE` with a file of the given objects."""

    def call(objects: list[Plain], *options: str) -> Printed:
        path = tmp_path / "objects.json"
        path.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": objects}), encoding="utf-8")
        code = run(["plan", "-f", str(path), *options])
        return Printed(code, *capsys.readouterr())

    return call


# --- what to plan from ----------------------------------------------------------------------------------------------


def test_without_a_path_and_without_a_cluster_the_command_says_what_it_wants(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Where it looked for a cluster, and the other way."""
    for name in ("DQO_KUBECONFIG", "KUBERNETES_SERVICE_HOST"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("KUBECONFIG", str(tmp_path / "nowhere"))
    assert run(["plan"]) == 1
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.startswith("Error: no cluster is configured: ")
    assert f"no kubeconfig at {tmp_path / 'nowhere'}" in printed.err
    assert "or plan from files: -f PATH (a file, a folder, or - for standard input)" in printed.err


@pytest.mark.parametrize("option", ["--kubeconfig", "--context"])
def test_files_and_a_cluster_are_not_planned_together(option: str, plan: Call) -> None:
    """Which of the two was meant, nobody can tell."""
    printed = plan(CHANGES, option, "x")
    assert (printed.code, printed.out) == (1, "")
    assert f"{option} is for a plan of a cluster: leave it out, or leave -f out" in printed.err


def test_the_cluster_of_the_environment_does_not_disturb_a_plan_from_files(
    plan: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is set for other calls."""
    monkeypatch.setenv("DQO_KUBECONFIG", "/nowhere")
    monkeypatch.setenv("DQO_CONTEXT", "other")
    assert plan(CHANGES).code == 0


def test_paths_that_the_shell_expands_are_read_too(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """`-f *.json` gives the option one path and leaves the others bare."""
    for number, each in enumerate(CHANGES):
        (tmp_path / f"{number}.json").write_text(json.dumps(each), encoding="utf-8")
    paths = [str(path) for path in sorted(tmp_path.iterdir())]
    assert run(["plan", "-f", *paths, "-o", "json"]) == 0
    assert [item["kind"] for item in json.loads(capsys.readouterr().out)["items"]] == [
        "DynamicQuotaOrchestrator",
        "ClusterQueue",
    ]


def test_the_option_has_a_long_name(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """As kubectl's has."""
    (tmp_path / "queue.json").write_text(json.dumps(queue()), encoding="utf-8")
    assert run(["plan", "--filename", str(tmp_path)]) == 0
    assert "no quota would change" in capsys.readouterr().out


def test_standard_input_is_read_where_a_dash_stands(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """Beside files."""
    (tmp_path / "queue.json").write_text(json.dumps(queue()), encoding="utf-8")
    text = yaml.safe_dump_all([reporting(), orchestrator()])
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text.encode())))
    assert run(["plan", "-f", "-", "-f", str(tmp_path)]) == 0
    assert "10 → 48" in capsys.readouterr().out


# --- options --------------------------------------------------------------------------------------------------------


def test_the_table_is_what_a_person_gets(plan: Call) -> None:
    """Unless another output is asked for."""
    assert plan(CHANGES) == plan(CHANGES, "-o", "table")
    assert plan(CHANGES).out.startswith("Capacity by provider\n")
    assert plan(CHANGES).err == ""


def test_json_and_yaml_are_the_same_list(plan: Call) -> None:
    """On standard output, and nothing else there."""
    assert yaml.safe_load(plan(CHANGES, "-o", "yaml").out) == json.loads(plan(CHANGES, "-o", "json").out)
    assert plan(CHANGES, "-o", "yaml").out.startswith("apiVersion: v1\nkind: List\n")


def test_quotas_take_the_road_that_is_asked_for(plan: Call) -> None:
    """The status road unless said otherwise."""

    def fields(*options: str) -> set[str]:
        (found,) = (
            item
            for item in json.loads(plan(CHANGES, "-o", "json", *options).out)["items"]
            if item["kind"] == "ClusterQueue"
        )
        return set(found) - {"apiVersion", "kind", "metadata"}

    assert fields() == fields("--road", "status") == {"status"}
    assert fields("--road", "spec") == {"spec"}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        pytest.param(["-o", "xml"], "'xml' is not one of 'table', 'json', 'yaml'", id="an unknown output"),
        pytest.param(["--road", "sky"], "'sky' is not one of 'status', 'spec'", id="an unknown road"),
        pytest.param(["--max-file-size", "big"], "'big' is no quantity", id="a size that is no quantity"),
        pytest.param(["--max-file-size", "0"], "'0' is no size: write at least 1 byte, such as 2Gi", id="no byte"),
        pytest.param(["--max-file-size", "500m"], "'500m' is no size", id="half a byte"),
        pytest.param(["--max-file-size", "-1Gi"], "'-1Gi' is no size", id="a negative size"),
        pytest.param(["--at", "2026-12-24"], "'2026-12-24' is no time: write it as 2026-12-24T00:00:00Z", id="a day"),
        pytest.param(["--at", "2026-12-24T00:00:00"], "'2026-12-24T00:00:00' is no time", id="a time of any zone"),
        pytest.param(["--at", "2026-02-30T00:00:00Z"], "'2026-02-30T00:00:00Z' is no time", id="a day that is none"),
        pytest.param(["--at", "0001-01-01T00:00:00+01:00"], "is no time", id="a time before all years"),
        pytest.param(["--nonsense"], "No such option", id="an unknown option"),
    ],
)
def test_a_wrong_option_is_an_error_and_nothing_is_planned(plan: Call, options: list[str], message: str) -> None:
    """Exit code 1, which is never taken for a plan."""
    printed = plan(CHANGES, *options)
    assert printed.code == 1
    assert message in printed.err
    assert printed.out == ""


def test_a_file_above_the_limit_is_refused(plan: Call, tmp_path: Path) -> None:
    """The size of the file is allowed, one byte less is not."""
    plan(CHANGES)
    size = (tmp_path / "objects.json").stat().st_size
    assert plan(CHANGES, "--max-file-size", str(size)).code == 0
    printed = plan(CHANGES, "--max-file-size", str(size - 1))
    assert (printed.code, printed.out) == (1, "")
    assert f"has {size} bytes, more than the limit" in printed.err
    assert f"has {size} bytes, more than the limit of 1:" in plan(CHANGES, "--max-file-size", "1").err


# --- the time -------------------------------------------------------------------------------------------------------

CHRISTMAS = override("christmas", {"batch": {"cpu": 5}}, "2026-12-24T00:00:00+01:00", "2027-01-02T00:00:00+01:00")
SEASONAL = [
    flavor(),
    provider(controller=MANUAL, parameters="season"),
    manual_capacity("season", {"batch": {"cpu": 50}}, overrides=[CHRISTMAS]),
    orchestrator(),
    queue(),
]


@pytest.mark.parametrize(
    ("at", "planned", "said"),
    [
        pytest.param("2026-12-23T22:59:59Z", "10 → 50", "2026-12-23T22:59:59Z", id="before"),
        pytest.param("2026-12-23T23:00:00Z", "10 → 5 ", "2026-12-23T23:00:00Z", id="from its beginning"),
        pytest.param("2026-12-24T00:00:00+01:00", "10 → 5 ", "2026-12-23T23:00:00Z", id="with an offset"),
        pytest.param("2026-12-24T00:00:00.75+01:00", "10 → 5 ", "2026-12-23T23:00:00Z", id="within a second"),
    ],
)
def test_a_plan_is_for_the_time_that_is_asked_for(plan: Call, at: str, planned: str, said: str) -> None:
    """A note says in UTC which one that is."""
    printed = plan(SEASONAL, "--at", at)
    assert printed.code == 0, printed.err
    assert planned in printed.out
    assert f"planned for {said}, which matters to CapacityProvider/nodes; --at plans" in unwrapped(printed.out)


def test_without_a_time_the_plan_is_for_now(plan: Call) -> None:
    """Which a note says as well."""
    before = datetime.datetime.now(datetime.UTC).replace(microsecond=0)
    err = plan(SEASONAL, "-o", "json").err
    found = re.search(r"Note: planned for (\S+Z), which matters", err)
    assert found is not None, err
    assert before <= datetime.datetime.fromisoformat(found[1]) <= datetime.datetime.now(datetime.UTC)


def test_a_time_that_makes_no_difference_is_said_to_make_none(plan: Call) -> None:
    """Such as where every provider has a status. Nothing is said where no time was asked for."""
    note = "--at makes no difference: no capacity that is computed here depends on the time"
    assert note in unwrapped(plan(CHANGES, "--at", "2026-12-24T00:00:00Z").out)
    assert "--at" not in plan(CHANGES).out
    assert note not in unwrapped(plan(SEASONAL, "--at", "2026-12-24T00:00:00Z").out)


def unwrapped(text: str) -> str:
    """However wide the terminal is."""
    return " ".join(text.split())


# --- exit codes -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("output", ["table", "json", "yaml"])
@pytest.mark.parametrize(
    ("objects", "code"),
    [
        pytest.param(NOTHING_TO_DO, 0, id="nothing to do"),
        pytest.param(CHANGES, 2, id="changes"),
        pytest.param(CANNOT, 3, id="changes, and one cannot compute"),
        pytest.param(CANNOT_STILL, 3, id="no changes, and one cannot compute"),
        pytest.param([*CHANGES, orchestrator("lost", root="Cohort/gone")], 3, id="one of two cannot distribute"),
        pytest.param([queue()], 0, id="no orchestrator"),
    ],
)
def test_the_exit_code_tells_what_the_plan_comes_to_where_that_is_asked_for(
    plan: Call, objects: list[Plain], code: int, output: str
) -> None:
    """Else every plan that was made is a success."""
    assert plan(objects, "-o", output, "--detailed-exitcode").code == code
    assert plan(objects, "-o", output).code == 0


def test_an_error_is_1_whatever_is_asked_for(plan: Call) -> None:
    """So that no script takes it for changes."""
    broken = queue("q", {"batch": {"cpu": -1}})
    printed = plan([broken], "--detailed-exitcode", "-o", "json")
    assert (printed.code, printed.out) == (1, "")
    assert "-1 is negative" in printed.err


# --- streams --------------------------------------------------------------------------------------------------------

SERVICE = obj("v1", "Service", "p")
OLD = queue("old", spec={"cohort": "teams"})
TALKATIVE = [reporting(), orchestrator(generation=None), queue(status=usage({"batch": {"cpu": 50}})), SERVICE, OLD]


def test_warnings_and_notes_are_in_the_table(plan: Call) -> None:
    """One after the other, the plan's own notes before those about the files."""
    printed = plan(TALKATIVE)
    assert printed.err == ""
    after = printed.out.partition("\nWarnings\n")[2]
    found = [
        after.find(text) for text in ("uses 50 batch/cpu", "Notes", "metadata.generation", "skipped", "is ignored")
    ]
    assert found == sorted(found)
    assert min(found) > 0


@pytest.mark.parametrize("output", ["json", "yaml"])
def test_warnings_and_notes_go_to_standard_error_beside_a_list(plan: Call, output: str) -> None:
    """Each on a line of its own that says which it is; the list stays fit for a pipe."""
    printed = plan(TALKATIVE, "-o", output)
    lines = printed.err.splitlines()
    assert [line.partition(":")[0] for line in lines] == ["Warning", "Note", "Note", "Note"]
    assert lines[0].startswith("Warning: ClusterQueue/q uses 50 batch/cpu")
    assert lines[1].startswith("Note: no metadata.generation on DynamicQuotaOrchestrator/dqo")
    assert lines[2] == "Note: skipped 1 object of kinds that dqo does not read: 1 Service (v1)"
    assert "ClusterQueue/old: spec.cohort: 'teams' is ignored" in lines[3]
    assert yaml.safe_load(printed.out)["kind"] == "List"


HOSTILE = "\x1b[31mred\x1b]0;title\x07"


def test_warnings_on_standard_error_do_not_steer_the_terminal(plan: Call) -> None:
    """A resource may be named by anybody."""
    printed = plan([reporting(), orchestrator(), queue("q", {"batch": {HOSTILE: 1}})], "-o", "json")
    assert "[31mred" in printed.err
    assert "\x1b" not in printed.err
    assert "\x07" not in printed.err


# --- encodings ------------------------------------------------------------------------------------------------------


def unavailable(message: str) -> list[Plain]:
    failed = condition("CapacitySynchronized", "False", "SourceUnavailable", message)
    return [provider(status={"conditions": [failed]}), orchestrator(root=None)]


@pytest.mark.parametrize("output", ["table", "json", "yaml"])
@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "utf-8"])
def test_text_in_any_script_is_printed_whatever_the_locale(tmp_path: Path, output: str, encoding: str) -> None:
    """A list reads back as what it was: JSON and YAML are the same everywhere."""
    objects = unavailable("größer, 更大")
    path = tmp_path / "objects.json"
    path.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": objects}), encoding="utf-8")
    process = subprocess.run(
        [sys.executable, "-m", "kueue_dqo.cli", "plan", "-f", str(path), "-o", output],
        env=os.environ | {"PYTHONUTF8": "0", "PYTHONIOENCODING": encoding},
        capture_output=True,
        check=False,
    )
    assert (process.returncode, process.stderr) == (0, b"")
    if output != "table":
        listed: dict[str, Any] = yaml.safe_load(process.stdout)
        assert "größer, 更大" in listed["items"][0]["status"]["conditions"][0]["message"]


@pytest.mark.parametrize("output", ["table", "json", "yaml"])
def test_half_a_character_in_json_is_no_crash(plan: Call, output: str) -> None:
    """JSON can escape what no encoding can write; a message or a substitute will do, a traceback will not."""
    printed = plan(unavailable("half of \ud83d"), "-o", output)
    assert (printed.code == 0) is bool(printed.out)
