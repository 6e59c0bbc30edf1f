"""`dqo plan` as a function of its arguments: what goes where, and with which exit code."""

from __future__ import annotations

import copy
import gc
import io
import json
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from kueue_dqo.cli.documents import documents
from kueue_dqo.cli.main import run
from tests.unit.kueue_dqo.cli.objects import Plain, as_json, cohort, listed, node, orchestrator, provider, queue

GOOD = [orchestrator(), provider(cpu="4"), queue("a", 10)]


def _plan(objects: list[Plain], *arguments: str, monkeypatch: pytest.MonkeyPatch) -> int:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(as_json(listed(*objects)))))
    return run(["plan", "-f", "-", *arguments])


def _applied(objects: list[Plain], planned: Plain) -> list[Plain]:
    """The objects after the plan was carried out: each field that it names is written."""
    written = {(item["kind"], item["metadata"]["name"]): item for item in planned["items"]}
    result = copy.deepcopy(objects)
    for each in result:
        item = written.get((each["kind"], each["metadata"]["name"]), {})
        each["metadata"] |= item.get("metadata", {})
        for part in ("spec", "status"):
            if part in item:
                each[part] = each.get(part, {}) | item[part]
    return result


# --- exit codes ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("road", ["status", "spec"])
def test_a_plan_that_was_carried_out_changes_nothing(
    road: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Exit code 2 before, 0 after."""
    arguments = ["-o", "json", "--road", road, "--detailed-exitcode"]
    assert _plan(GOOD, *arguments, monkeypatch=monkeypatch) == 2
    applied = _applied(GOOD, json.loads(capsys.readouterr().out))
    assert applied != GOOD
    assert _plan(applied, *arguments, monkeypatch=monkeypatch) == 0


WAITS = [orchestrator(), provider(status="False", reason="SourceUnavailable"), queue("a", 10)]
ONE_OF_TWO_WAITS = [
    *GOOD,
    orchestrator("ClusterQueue/b", "q") | {"metadata": {"name": "waits"}},
    provider("q", status="False", reason="SourceUnavailable"),
    queue("b"),
]
HOMELESS = [orchestrator("Cohort/nowhere"), provider(), queue("a")]
COUNTED: Plain = {
    "apiVersion": "kueue.x-k8s.io/v1alpha1",
    "kind": "CapacityProvider",
    "metadata": {"name": "n"},
    "spec": {"controllerName": "kueue-dqo.dev/node-inventory", "orchestratedFlavors": [{"name": "f"}]},
}


@pytest.mark.parametrize(
    ("objects", "code"),
    [
        pytest.param(GOOD, 2, id="something would change"),
        pytest.param([COUNTED, queue("a")], 2, id="a provider gets its first status"),
        pytest.param(WAITS, 3, id="an orchestrator cannot compute"),
        pytest.param(HOMELESS, 3, id="an orchestrator cannot distribute"),
        pytest.param(ONE_OF_TWO_WAITS, 3, id="one cannot, another would change something"),
        pytest.param([queue("a"), provider()], 0, id="no orchestrator"),
    ],
)
@pytest.mark.parametrize("output", ["table", "json", "yaml"])
def test_the_exit_code_tells_what_a_script_wants_to_know(
    objects: list[Plain], code: int, output: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Only where it is asked for, and whatever is printed."""
    assert _plan(objects, "-o", output, monkeypatch=monkeypatch) == 0
    assert _plan(objects, "-o", output, "--detailed-exitcode", monkeypatch=monkeypatch) == code


def test_an_error_is_1_however_the_exit_code_is_wanted(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """And nothing is printed that could be taken for a plan."""
    for arguments in ((), ("--detailed-exitcode",), ("-o", "json", "--detailed-exitcode")):
        assert _plan([*GOOD, queue("a")], *arguments, monkeypatch=monkeypatch) == 1
        printed = capsys.readouterr()
        assert printed.out == ""
        assert printed.err.startswith("Error: standard input, document 1, item 4: ClusterQueue/a stands twice")


# --- paths ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "arguments",
    [
        ["-f", "1.json", "2.json", "3.json"],
        ["-f", "1.json", "-f", "2.json", "-f", "3.json"],
        ["1.json", "2.json", "-f", "3.json"],
        ["--filename", "1.json", "--filename=2.json", "3.json"],
        ["1.json", "2.json", "3.json"],
        ["."],
        ["-f1.json", "2.json", "--road", "status", "3.json"],
        ["-f", "."],
        ["-f", "1.json", "."],
    ],
)
def test_paths_follow_each_option_or_one_or_none(
    arguments: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A shell turns `-f *.json` into several arguments behind one option."""
    monkeypatch.chdir(tmp_path)
    for number, each in enumerate(GOOD, start=1):
        Path(f"{number}.json").write_bytes(as_json(each))
    assert run(["plan", *arguments, "-o", "json"]) == 0
    assert [item["kind"] for item in json.loads(capsys.readouterr().out)["items"]] == [
        "DynamicQuotaOrchestrator",
        "ClusterQueue",
    ]


# --- sizes ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("size", ["0", "-1", "-1Gi", "999m", "", "abc", "1 Gi", "1K", "NaN", "1e-1"])
def test_what_is_no_size_is_refused(
    size: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The option is named, and no file is looked at."""
    assert _plan(GOOD, "--max-file-size", size, monkeypatch=monkeypatch) == 1
    assert "Invalid value for '--max-file-size'" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("size", "is_enough"), [("1", False), ("1500m", False), ("1Ki", False), ("1Mi", True), ("2e4", True)]
)
def test_a_size_is_a_quantity_of_bytes(
    size: str, is_enough: bool, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The message shows it as it was written, and how to go on."""
    objects = [*GOOD, queue("b", unused="x" * 1024)]
    assert _plan(objects, "--max-file-size", size, monkeypatch=monkeypatch) == (0 if is_enough else 1)
    if not is_enough:
        assert f"larger than the limit of {size}: raise --max-file-size" in capsys.readouterr().err


@pytest.mark.parametrize("was_enabled", [True, False])
@pytest.mark.parametrize("objects", [GOOD, [*GOOD, queue("a")]], ids=["a plan", "an error"])
def test_the_garbage_collector_is_afterwards_as_it_was(
    objects: list[Plain], was_enabled: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever calls the command from a program of theirs gets it back."""
    (gc.enable if was_enabled else gc.disable)()
    try:
        _plan(objects, monkeypatch=monkeypatch)
        assert gc.isenabled() == was_enabled
    finally:
        gc.enable()


# --- what is printed where -----------------------------------------------------------------------------------------

TALKATIVE = [
    orchestrator("Cohort/c") | {"metadata": {"name": "o"}},
    provider(memory="4Gi"),
    cohort("c"),
    queue("a", 1.5, cohort="c") | {"metadata": {"name": "a"}},
    queue("b", 2, cohort="c") | {"metadata": {"name": "b"}},
    {"apiVersion": "v1", "kind": "Service"},
]
SAYS = (
    "f/cpu becomes 0 for ClusterQueue/a, ClusterQueue/b",
    "no metadata.generation on DynamicQuotaOrchestrator/o",
    "no metadata.uid on ClusterQueue/a, ClusterQueue/b",
    "skipped 1 object of kinds that dqo does not read: 1 Service (v1)",
    "1.5 has to be quoted",
)


@pytest.mark.parametrize("output", ["json", "yaml"])
def test_warnings_and_notes_do_not_stand_in_what_a_machine_reads(
    output: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """They go to standard error, one to a line."""
    assert _plan(TALKATIVE, "-o", output, monkeypatch=monkeypatch) == 0
    printed = capsys.readouterr()
    lines = printed.err.splitlines()
    assert [line.partition(":")[0] for line in lines] == ["Warning"] + ["Note"] * 4
    for text, line in zip(SAYS, lines, strict=True):
        assert text in line
    [document] = documents(printed.out.encode(), is_json=output == "json")
    assert document.content["kind"] == "List"


def test_a_note_stays_on_its_line_whatever_it_names(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A name in a manifest must not look like a message of its own."""
    odd = {"apiVersion": "v1", "kind": "Pod\nWarning: all is lost"}
    assert _plan([*GOOD, odd], "-o", "json", monkeypatch=monkeypatch) == 0
    lines = capsys.readouterr().err.splitlines()
    assert lines == ["Note: skipped 1 object of kinds that dqo does not read: 1 Pod Warning: all is lost (v1)"]


def test_warnings_and_notes_stand_in_the_table(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A person reads one text."""
    assert _plan(TALKATIVE, monkeypatch=monkeypatch) == 0
    printed = capsys.readouterr()
    assert printed.err == ""
    joined = " ".join(printed.out.split())
    for text in SAYS:
        assert text in joined


def test_json_and_yaml_say_the_same(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """Also where a name looks like a number, a boolean or nothing: what dqo writes, dqo and kubectl read."""
    names = ["y", "n", "on", "off", "yes", "no", "true", "null", "1e3", "0x1f", "0b1", "017", "08", "1.5", "a"]
    objects = [orchestrator("Cohort/y"), provider(cpu="40"), cohort("y"), *(queue(name, cohort="y") for name in names)]
    assert _plan(objects, "-o", "json", monkeypatch=monkeypatch) == 0
    from_json = json.loads(capsys.readouterr().out)
    assert {item["metadata"]["name"] for item in from_json["items"]} == {"o", *names}
    assert _plan(objects, "-o", "yaml", monkeypatch=monkeypatch) == 0
    text = capsys.readouterr().out
    assert yaml.safe_load(text) == from_json
    [document] = documents(text.encode())
    assert document.content == from_json


def test_the_road_decides_what_is_written(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """The status of Kueue 0.20, or the spec of any Kueue."""
    written: dict[str, Any] = {}
    for road in ("status", "spec"):
        assert _plan(GOOD, "-o", "json", "--road", road, monkeypatch=monkeypatch) == 0
        items = json.loads(capsys.readouterr().out)["items"]
        written[road] = next(item for item in items if item["kind"] == "ClusterQueue")
    assert "effectiveQuotas" in written["status"]["status"]
    assert "spec" not in written["status"]
    assert "status" not in written["spec"]
    [group] = written["spec"]["spec"]["resourceGroups"]
    assert group == written["status"]["status"]["effectiveQuotas"]["resourceGroups"][0]
    assert group["flavors"][0]["resources"][0]["nominalQuota"] == "4"


def test_the_machine_output_is_a_list_of_what_would_be_written(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Providers that are computed, orchestrators, ClusterQueues, Cohorts, each sorted by name; what stays is absent."""
    objects = [
        *(queue("b", cohort="c"), queue("a", cohort="c"), cohort("c"), queue("outside"), node("n-1")),
        orchestrator("Cohort/c", "p"),
        provider("p"),
        COUNTED | {"metadata": {"name": "z"}},
    ]
    assert _plan(objects, "-o", "json", monkeypatch=monkeypatch) == 0
    planned = json.loads(capsys.readouterr().out)
    assert (planned["apiVersion"], planned["kind"]) == ("v1", "List")
    assert [(item["apiVersion"], item["kind"], item["metadata"]["name"]) for item in planned["items"]] == [
        ("kueue.x-k8s.io/v1alpha1", "CapacityProvider", "z"),
        ("kueue.x-k8s.io/v1alpha1", "DynamicQuotaOrchestrator", "o"),
        ("kueue.x-k8s.io/v1beta2", "ClusterQueue", "a"),
        ("kueue.x-k8s.io/v1beta2", "ClusterQueue", "b"),
        ("kueue.x-k8s.io/v1beta2", "Cohort", "c"),
    ]


def test_without_the_extra_the_table_names_it(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """And what works without it."""
    for name in [name for name in sys.modules if name.partition(".")[0] == "rich" or name.endswith("plan.table")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "rich", None)
    monkeypatch.setitem(sys.modules, "yaml", None)
    assert _plan(GOOD, monkeypatch=monkeypatch) == 1
    assert capsys.readouterr().err == "Error: the table needs rich: install kueue-dqo[cli], or use -o json\n"
    assert _plan(GOOD, "-o", "yaml", monkeypatch=monkeypatch) == 1
    assert capsys.readouterr().err == "Error: YAML needs PyYAML: install kueue-dqo[cli], or use -o json\n"
    assert _plan(GOOD, "-o", "json", monkeypatch=monkeypatch) == 0
