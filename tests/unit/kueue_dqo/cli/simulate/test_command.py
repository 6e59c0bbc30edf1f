"""`dqo simulate` as a function of its arguments: what goes where, and with which exit code."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from kueue_dqo.cli.main import run

Manifest = dict[str, Any]

BASE = """
apiVersion: v1
kind: Namespace
metadata: {name: a}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: ResourceFlavor
metadata: {name: standard}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: ClusterQueue
metadata: {name: team}
spec:
  namespaceSelector: {}
  preemption: {withinClusterQueue: LowerPriority}
  resourceGroups:
  - coveredResources: [cpu]
    flavors: [{name: standard, resources: [{name: cpu, nominalQuota: 4}]}]
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: LocalQueue
metadata: {name: queue, namespace: a}
spec: {clusterQueue: team}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: WorkloadPriorityClass
metadata: {name: high}
value: 10
"""


def _job(name: str, cpu: str, *, high: bool = False, **metadata: Any) -> str:
    labels = {"kueue.x-k8s.io/queue-name": "queue"} | ({"kueue.x-k8s.io/priority-class": "high"} if high else {})
    containers = [{"name": "c", "image": "none", "resources": {"requests": {"cpu": cpu}}}]
    job = {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": name, "namespace": "a", "labels": labels, **metadata},
        "spec": {"suspend": True, "template": {"spec": {"restartPolicy": "Never", "containers": containers}}},
    }
    return "---\n" + yaml.safe_dump(job)


DONE = "---\napiVersion: batch/v1\nkind: Job\nmetadata: {name: %s, namespace: a}\nstatus: {conditions: [%s]}\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A Job runs, one of higher priority sends it away, and is done."""
    for step, text in (
        ("01", BASE + _job("first", "3")),
        ("02", _job("second", "4", high=True)),
        ("03", DONE % ("second", "{type: Complete, status: 'True'}")),
    ):
        (tmp_path / step).mkdir()
        (tmp_path / step / "objects.yaml").write_text(text)
    return tmp_path


def _settled(capsys: pytest.CaptureFixture[str]) -> dict[str, Manifest]:
    items = json.loads(capsys.readouterr().out)["items"]
    workloads = [each for each in items if each["kind"] == "Workload"]
    return {each["metadata"]["ownerReferences"][0]["name"]: each for each in workloads}


def _is_true(workload: Manifest, kind: str) -> bool:
    return any(each["type"] == kind and each["status"] == "True" for each in workload["status"]["conditions"])


def test_the_last_step_is_what_a_list_says(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """With the queue, the priority, the admission of each, and how often it was evicted."""
    assert run(["simulate", "-f", str(folder), "-o", "json"]) == 0
    settled = _settled(capsys)
    first, second = settled["first"], settled["second"]
    assert _is_true(first, "Admitted")
    assert first["status"]["admission"]["podSetAssignments"][0]["resourceUsage"] == {"cpu": "3"}
    assert first["status"]["schedulingStats"]["evictions"][0] == {
        "reason": "Preempted", "underlyingCause": "", "count": 1,
    }  # fmt: skip
    assert _is_true(second, "Finished")
    assert (second["spec"]["queueName"], second["spec"]["priority"]) == ("queue", 10)


def test_a_table_shows_each_step(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Who is admitted on what, who waits and why, what queues hold."""
    assert run(["simulate", str(folder)]) == 0
    steps = capsys.readouterr().out.split("Step ")
    assert [step[:2] for step in steps[1:]] == ["01", "02", "03"]
    assert "a/first   queue → team         0  Admitted  standard (cpu) × 1" in steps[1]
    assert "Waits (Preempted)" in steps[2]
    assert "insufficient unused quota for cpu in flavor standard, 3 more needed" in steps[2]
    assert "team          yes        1         1         1  standard/cpu        4         0" in steps[2]
    assert "1 admitted, 1 finished" in steps[3]


def test_a_trace_tells_what_each_cycle_decides(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Whom a head sends away, and why one waits."""
    assert run(["simulate", "-f", str(folder), "--trace"]) == 0
    told = capsys.readouterr().out
    assert "cycle 1: team: a/first is admitted" in told
    assert "cycle 1: team: a/second preempts a/first (InClusterQueue)" in told
    assert run(["simulate", "-f", str(folder), "--trace", "-o", "json"]) == 0
    printed = capsys.readouterr()
    json.loads(printed.out)
    assert "Step 02: cycle 1: team: a/second preempts a/first (InClusterQueue)" in printed.err


def test_yaml_says_what_json_says(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The same List."""
    assert run(["simulate", "-f", str(folder), "-o", "json"]) == 0
    as_json = json.loads(capsys.readouterr().out)
    assert run(["simulate", "-f", str(folder), "-o", "yaml"]) == 0
    assert yaml.safe_load(capsys.readouterr().out) == as_json


def test_what_is_not_modelled_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Beside the table, elsewhere on standard error; kinds that nobody reads as well."""
    flavor = "---\napiVersion: kueue.x-k8s.io/v1beta2\nkind: ResourceFlavor\nmetadata: {name: f}\n"
    topology = "spec: {nodeLabels: {a: b}, topologyName: racks}\n"
    other = "---\napiVersion: v1\nkind: Secret\nmetadata: {name: s}\n"
    (tmp_path / "a.yaml").write_text(BASE + flavor + topology + other)
    said = "ResourceFlavor/f: spec.topologyName: 'racks': topology-aware scheduling is not modelled"
    assert run(["simulate", "-f", str(tmp_path)]) == 0
    printed = capsys.readouterr()
    assert said in printed.out
    assert "skipped: Secret (v1)" in printed.out
    assert run(["simulate", "-f", str(tmp_path), "-o", "json"]) == 0
    assert f"Note: {said}" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (_job("odd", "-1"), "Job/a/odd: spec.template.spec.containers[0].resources.requests[cpu]: -1 is negative"),
        (_job("odd", "1") + _job("odd", "1"), "Job/a/odd stands twice"),
        (BASE.replace("LowerPriority", "Anybody"), 'ClusterQueue/team: spec.preemption.withinClusterQueue: "Anybody"'),
        ("a: [", "a.yaml is no YAML (line 2"),
    ],
)
def test_bad_input_ends_with_its_place(
    text: str, message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Exit code 1, and nothing on standard output."""
    (tmp_path / "a.yaml").write_text(text)
    assert run(["simulate", "-f", str(tmp_path)]) == 1
    printed = capsys.readouterr()
    assert message in printed.err
    assert "a.yaml" in printed.err
    assert printed.out == ""


def test_without_a_path_there_is_nothing_to_simulate(capsys: pytest.CaptureFixture[str]) -> None:
    """It says how to name one."""
    assert run(["simulate"]) == 1
    assert "-f PATH" in capsys.readouterr().err


ODD = [
    pytest.param(_job("j", "1").replace("queue-name: queue", "queue-name: none"), "LocalQueue none doesn't exist",
                 id="a queue that is not there"),
    pytest.param(_job("j", "1").replace("cpu: '1'", "nvidia.com/gpu: '1'"), "nvidia.com/gpu",
                 id="an uncovered resource"),
    pytest.param(_job("j", "1").replace("kueue.x-k8s.io/queue-name: queue", "x: z"), "names no LocalQueue",
                 id="no queue"),
    pytest.param("---\napiVersion: kueue.x-k8s.io/v1beta2\nkind: Workload\nmetadata: {name: w, namespace: a}\n"
                 "spec: {podSets: [{name: main, template: {spec: {containers: [{name: c}]}}}]}\n",
                 "LocalQueue  doesn't exist", id="a workload without a queue"),
    pytest.param("---\napiVersion: kueue.x-k8s.io/v1beta2\nkind: Cohort\nmetadata: {name: x}\nspec: {parentName: x}\n",
                 "x → x: a cycle", id="a cyclic cohort"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "said"), ODD)
def test_odd_input_is_simulated_and_told(
    text: str, said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Kueue takes it, and so the model does."""
    (tmp_path / "a.yaml").write_text(BASE + text)
    assert run(["simulate", "-f", str(tmp_path)]) == 0
    assert said in capsys.readouterr().out
