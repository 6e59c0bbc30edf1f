"""What-ifs: what is asked, what becomes of quotas, and the difference that is shown."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from kueue_dqo.cli.main import run
from kueue_dqo.cli.simulate.what_if import CapacityChange, capacity_change, weight_change

Manifest = dict[str, Any]
KUEUE = "kueue.x-k8s.io/v1beta2"


def _object(kind: str, name: str, namespace: str = "", api_version: str = KUEUE, **fields: Any) -> Manifest:
    meta = {"name": name, "namespace": namespace} if namespace else {"name": name}
    return {"apiVersion": api_version, "kind": kind, "metadata": meta, **fields}


def _queue(name: str, cpu: int, cohort: str = "", **spec: Any) -> Manifest:
    flavors = [{"name": "f", "resources": [{"name": "cpu", "nominalQuota": cpu}]}]
    parent = {"cohortName": cohort} if cohort else {}
    groups = [{"coveredResources": ["cpu"], "flavors": flavors}]
    return _object("ClusterQueue", name, spec={"namespaceSelector": {}, "resourceGroups": groups, **parent, **spec})


def _job(name: str, queue: str, cpu: int) -> Manifest:
    containers = [{"name": "c", "resources": {"requests": {"cpu": cpu}}}]
    job = _object("Job", name, "n", "batch/v1", spec={"template": {"spec": {"containers": containers}}})
    job["metadata"]["labels"] = {"kueue.x-k8s.io/queue-name": queue}
    return job


def _node(name: str, cpu: int) -> Manifest:
    node = _object("Node", name, "", "v1", status={
        "allocatable": {"cpu": cpu}, "conditions": [{"type": "Ready", "status": "True"}],
    })  # fmt: skip
    node["metadata"]["labels"] = {"pool": "f"}
    return node


def _local(name: str) -> Manifest:
    return _object("LocalQueue", name, "n", spec={"clusterQueue": name})


COMMON = [
    _object("Namespace", "n", "", "v1"),
    _object("ResourceFlavor", "f", spec={"nodeLabels": {"pool": "f"}}),
]
ALONE = [*COMMON, _queue("a", 4), _local("a"), _job("one", "a", 3), _job("two", "a", 3)]
TOGETHER = [*COMMON, _queue("a", 6, "c"), _queue("b", 3, "c"), _local("a"), _local("b"), _job("one", "b", 5)]


@pytest.fixture
def asked(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Any:
    """Runs the command on some objects, and returns what it printed."""

    def ask(objects: list[Manifest], *arguments: str, code: int = 0) -> str:
        file = tmp_path / "objects.json"
        file.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": objects}))
        assert run(["simulate", "-f", str(file), *arguments]) == code
        printed = capsys.readouterr()
        return printed.out if code == 0 else printed.err

    return ask


def _rows(printed: str) -> dict[str, list[str]]:
    """The cells of each row by its first."""
    lines = [line.split("  ") for line in printed.splitlines() if line.startswith("  ")]
    cells = [[cell.strip() for cell in line if cell.strip()] for line in lines]
    return {each[0]: each[1:] for each in cells if each}


@pytest.mark.parametrize(
    ("text", "change"),
    [
        ("f/cpu=+2", ("", "f", "cpu", 2)),
        ("f/nvidia.com/gpu=-8", ("", "f", "nvidia.com/gpu", -8)),
        ("team:f/cpu=+1", ("team", "f", "cpu", 1)),
    ],
)
def test_a_change_of_capacity_is_read(text: str, change: tuple[str, str, str, int]) -> None:
    """Of a flavor, or of one queue."""
    node, flavor, resource, amount = change
    assert capacity_change(text) == CapacityChange(node, (flavor, resource), amount * 10**9)  # type: ignore[arg-type]  # a pair


@pytest.mark.parametrize("text", ["f/cpu", "f/cpu=2", "cpu=+2", "f/cpu=+x", "f/cpu=+-2", "=+2"])
def test_what_is_no_change_is_refused(text: str) -> None:
    """It needs a sign."""
    with pytest.raises(ValueError, match=r"no change of capacity|no quantity|negative"):
        capacity_change(text)


@pytest.mark.parametrize("text", ["q", "q=", "q=heavy", "q=-1"])
def test_what_is_no_weight_is_refused(text: str) -> None:
    """It is a quantity."""
    with pytest.raises(ValueError, match=r"no weight|no quantity|negative"):
        weight_change(text)


def test_more_capacity_lets_one_in(asked: Any) -> None:
    """Two more CPUs, and the second fits."""
    rows = _rows(asked(ALONE, "--capacity", "f/cpu=+2"))
    assert rows["n/two"] == ["is admitted", "Waits", "Admitted on f (cpu) × 1"]
    assert rows["a"] == ["f/cpu", "4 → 6", "3 → 6", "0"]


def test_less_capacity_sends_nobody_away(asked: Any) -> None:
    """And that is told."""
    printed = asked(ALONE, "--capacity", "a:f/cpu=-2")
    assert "ClusterQueue/a holds 1 of f/cpu more than its quota" in printed
    assert printed.splitlines()[-1] == "no Workload changes"


def test_without_an_orchestrator_all_that_have_it_share_in_proportion(asked: Any) -> None:
    """Six and three: four of six, two of six."""
    rows = _rows(asked(TOGETHER, "--capacity", "f/cpu=+6"))
    assert rows["a"] == ["f/cpu", "6 → 10", "0", "0"]
    assert rows["b"] == ["f/cpu", "3 → 5", "5", "2 → 0"]


def test_what_is_borrowed_is_told_with_those_who_lend(asked: Any) -> None:
    """Who leaves quota unused."""
    rows = _rows(asked(TOGETHER, "--capacity", "b:f/cpu=-2"))
    assert rows["b"] == ["f/cpu", "3 → 1", "5", "2 → 4", "a (6 unused)"]


def test_a_lost_node_takes_what_pods_could_have_had_of_it(asked: Any) -> None:
    """Of the flavors whose labels it has."""
    rows = _rows(asked([*ALONE, _node("n1", 2), _node("n2", 3)], "--lose-node", "n1"))
    assert rows["a"] == ["f/cpu", "4 → 2", "3", "0"]


def test_with_an_orchestrator_quotas_follow_as_a_plan_computes_them(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """A third and two thirds of what is left."""
    folder = "examples/01-two-teams-one-pool"
    assert run(["simulate", "-f", folder, "--capacity", "batch/cpu=-4"]) == 0
    rows = _rows(capsys.readouterr().out)
    assert rows["team-a"][:2] == ["batch/cpu", "16 → 14667m"]
    assert rows["team-b"][:2] == ["batch/cpu", "32 → 29333m"]


def test_objects_may_come_as_well(asked: Any, tmp_path: Path) -> None:
    """With `--add FILE`, or `--add -f FILE`."""
    (tmp_path / "more").mkdir()
    file = tmp_path / "more" / "job.json"
    file.write_text(json.dumps(_job("three", "a", 1)))
    for arguments in (("--add", str(file)), ("--add", "-f", str(file))):
        rows = _rows(asked(ALONE, *arguments))
        assert rows == {"WORKLOAD": rows["WORKLOAD"], "n/three": ["comes", "Admitted on f (cpu) × 1"],
                        "CLUSTERQUEUE": rows["CLUSTERQUEUE"], "a": ["f/cpu", "4", "3 → 4", "0"]}  # fmt: skip


def test_a_weight_changes_whose_turn_it_is(asked: Any) -> None:
    """Under fair sharing, who borrows too much for its weight gives back."""
    strategies = ["LessThanOrEqualToFinalShare", "LessThanInitialShare"]
    fair: Manifest = {"apiVersion": "config.kueue.x-k8s.io/v1beta2", "kind": "Configuration"}
    fair |= {"fairSharing": {"preemptionStrategies": strategies}}
    reclaim = {"preemption": {"reclaimWithinCohort": "Any"}}
    queues = [_queue("a", 0, "c", **reclaim), _queue("b", 0, "c", **reclaim), _queue("pool", 6, "c")]
    jobs = [_job(f"{queue}{index}", queue, 1) for index in range(6) for queue in "ab"]
    objects = [fair, *COMMON, *queues, _local("a"), _local("b"), *jobs]
    rows = _rows(asked(objects, "--weight", "a=2"))
    assert rows["a"][2:4] == ["3 → 4", "3 → 4"]
    assert rows["b"][2:4] == ["3 → 2", "3 → 2"]


def test_a_list_holds_what_is_not_as_before(asked: Any) -> None:
    """Workloads, queues, counters."""
    items = json.loads(asked(ALONE, "--capacity", "f/cpu=+2", "-o", "json"))["items"]
    assert [(each["kind"], each["metadata"]["name"]) for each in items] == [
        ("Workload", "<workload of two>"),
        ("ClusterQueue", "a"),
        ("LocalQueue", "a"),
    ]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--lose-node", "none"], "no Node of this name"),
        (["--capacity", "g/cpu=+1"], "no ClusterQueue or Cohort has a quota of g/cpu"),
        (["--capacity", "a:g/cpu=+1"], "a is no ClusterQueue or Cohort with a quota of g/cpu"),
        (["--weight", "none=1"], "no ClusterQueue, Cohort or LocalQueue (NAMESPACE/NAME) is 'none'"),
        (["--capacity", "a"], "is no change of capacity"),
    ],
)
def test_what_is_not_there_is_told(asked: Any, arguments: list[str], message: str) -> None:
    """Exit code 1."""
    assert message in asked(ALONE, *arguments, code=1)
