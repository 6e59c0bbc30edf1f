"""`dqo explain`: Workloads that wait, each for a reason of its own, and quotas with their origin."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from kueue_dqo.cli.main import run

Manifest = dict[str, Any]
KUEUE = "kueue.x-k8s.io/v1beta2"


def _object(kind: str, name: str, namespace: str = "", api_version: str = KUEUE, **fields: Any) -> Manifest:
    meta = {"name": name, "namespace": namespace} if namespace else {"name": name}
    return {"apiVersion": api_version, "kind": kind, "metadata": meta, **fields}


def _queue(name: str, cpu: int, cohort: str = "", limits: Manifest | None = None, **spec: Any) -> Manifest:
    quota = {"name": "cpu", "nominalQuota": cpu, **(limits or {})}
    groups = [{"coveredResources": ["cpu"], "flavors": [{"name": "f", "resources": [quota]}]}]
    parent = {"cohortName": cohort} if cohort else {}
    return _object("ClusterQueue", name, spec={"namespaceSelector": {}, "resourceGroups": groups, **parent} | spec)


def _local(name: str, target: str = "", **spec: Any) -> Manifest:
    return _object("LocalQueue", name, "n", spec={"clusterQueue": target or name, **spec})


def _job(name: str, queue: str, cpu: int, *, pod: Manifest | None = None, limits: Manifest | None = None,
         labels: Manifest | None = None, **spec: Any) -> Manifest:  # fmt: skip
    resources = {"requests": {"cpu": cpu}} | ({"limits": limits} if limits else {})
    pod_spec = {"containers": [{"name": "c", "resources": resources}], **(pod or {})}
    job = _object("Job", name, "n", "batch/v1", spec={"template": {"spec": pod_spec}, **spec})
    job["metadata"]["labels"] = {"kueue.x-k8s.io/queue-name": queue, **(labels or {})}
    return job


HIGH = _object("WorkloadPriorityClass", "high", value=100)
AS_HIGH = {"kueue.x-k8s.io/priority-class": "high"}
FLAVOR = _object("ResourceFlavor", "f", spec={"nodeLabels": {"pool": "f"}})
COMMON = [_object("Namespace", "n", "", "v1"), FLAVOR, HIGH]
CHECK = _object("AdmissionCheck", "approval", spec={"controllerName": "example.com/approval"},
                status={"conditions": [{"type": "Active", "status": "True"}]})  # fmt: skip
CHECKED: Manifest = {"admissionChecksStrategy": {"admissionChecks": [{"name": "approval"}]}}

WAITING = [
    pytest.param([_job("w", "none", 1)], "✗ LocalQueue", ["LocalQueue n/none does not exist: create it"],
                 id="no queue"),
    pytest.param([_queue("q", 4), _local("q", stopPolicy="Hold"), _job("w", "q", 1)], "✗ LocalQueue",
                 ["LocalQueue n/q is stopped"], id="a stopped local queue"),
    pytest.param([_local("q"), _job("w", "q", 1)], "✗ LocalQueue", ["leads to ClusterQueue q, which is not there"],
                 id="no cluster queue"),
    pytest.param([_queue("q", 4, stopPolicy="Hold"), _local("q"), _job("w", "q", 1)], "✗ ClusterQueue",
                 ["ClusterQueue q: Can't admit new workloads: is stopped."], id="a stopped queue"),
    pytest.param([_queue("q", 4, namespaceSelector={"matchLabels": {"team": "a"}}), _local("q"), _job("w", "q", 1)],
                 "✗ Namespace", ["does not select Namespace n"], id="a namespace that is not selected"),
    pytest.param([_queue("q", 9), _local("q"), _job("w", "q", 5), _object("LimitRange", "l", "n", "v1", spec={
                     "limits": [{"type": "Container", "max": {"cpu": 4}, "default": {"cpu": 5}}]})],
                 "✗ Requests", ["requests must not be above the limitRange max"], id="a limit range"),
    pytest.param([_queue("q", 4), _local("q"), _job("w", "q", 1, limits={"example.com/gpu": 1})],
                 "✗ Resources are covered", ["no resource group of ClusterQueue q covers example.com/gpu (main)",
                                             "waiting does not help"], id="an uncovered resource"),
    pytest.param([_queue("q", 4), _local("q"), _job("w", "q", 1, pod={"nodeSelector": {"pool": "g"}})],
                 "✗ Flavors match", ["flavor f doesn't match node affinity", "waiting does not help"], id="a selector"),
    pytest.param([_queue("q", 4), _local("q"), _job("w", "q", 6)], "✗ Quota",
                 ["6 asked, 4 available, 4 at most", "waiting does not help", "2 more quota of f/cpu would make it"],
                 id="more than there is"),
    pytest.param([_queue("q", 4), _local("q"), _job("v", "q", 3), _job("w", "q", 3)], "✗ Quota",
                 ["f lacks 2 of cpu", "3 asked, 1 available, 4 at most", "f/cpu is held by n/v 3 (q)", "waiting helps",
                  "preemption does not help: withinClusterQueue is Never — n/v", "or 2 more quota of f/cpu"],
                 id="held by others"),
    pytest.param([_queue("q", 4, preemption={"withinClusterQueue": "LowerPriority"}), _local("q"),
                  _job("v", "q", 3, labels=AS_HIGH), _job("w", "q", 3)], "✗ Quota",
                 ["their priority is not below 0 — n/v"], id="a higher priority"),
    pytest.param([_queue("q", 2, "c", {"borrowingLimit": 1}), _queue("r", 8, "c"), _local("q"), _job("w", "q", 5)],
                 "✗ Quota", ["borrowingLimit 1", "the borrowingLimit of 1 of ClusterQueue q binds"],
                 id="a borrowing limit"),
    pytest.param([_queue("q", 2, "c"), _queue("r", 8, "c", {"lendingLimit": 1}), _local("q"), _job("w", "q", 5)],
                 "✗ Quota", ["r keeps 7 for itself by its lendingLimit"], id="a lending limit"),
    pytest.param([_queue("q", 4, "c"), _queue("r", 4, "c"), _local("q"), _local("r"), _job("v", "r", 4),
                  _job("w", "q", 6)], "✗ Quota", ["reclaimWithinCohort is Never — n/v"], id="lent out"),
    pytest.param([_queue("q", 4), _local("q"), _job("v", "q", 2), _job("w", "q", 1, parallelism=3)], "✗ Quota",
                 ["2 of its 3 pods would fit now", "job-min-parallelism"], id="some of its pods"),
    pytest.param([_queue("q", 4, **CHECKED), CHECK, _local("q"), _job("w", "q", 1)], "✗ Admission checks",
                 ["approval is Pending", "reserved in q"], id="a check"),
    pytest.param([_queue("q", 4, queueingStrategy="StrictFIFO"), _local("q"), _job("v", "q", 5), _job("w", "q", 1)],
                 "✗ Turn in the queue", ["StrictFIFO: n/v comes first"], id="strict order"),
]  # fmt: skip


@pytest.fixture
def asked(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Any:
    """Runs the command on some objects, and returns its exit code and what it printed."""

    def ask(objects: list[Manifest], *arguments: str) -> tuple[int, str]:
        file = tmp_path / "objects.json"
        file.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": [*COMMON, *objects]}))
        code = run(["explain", *arguments, "-f", str(file)])
        printed = capsys.readouterr()
        return code, printed.out + printed.err

    return ask


@pytest.mark.parametrize(("objects", "rung", "told"), WAITING)
def test_the_first_rung_that_fails_is_told_in_numbers(
    objects: list[Manifest], rung: str, told: list[str], asked: Any
) -> None:
    """And what would help; all before it hold, all after it are open."""
    code, printed = asked(objects, "workload", "n/w")
    assert code == 2
    lines = printed.splitlines()
    failed = [line.strip() for line in lines if line.startswith("  ✗")]
    assert [line.startswith(rung) for line in failed] == [True], printed
    assert [text for text in told if text not in printed] == [], printed
    marks = [line.strip()[0] for line in lines if line.startswith(("  ✓", "  ✗", "  ·"))]
    assert marks == sorted(marks, key="✓✗·".index)


def test_who_is_admitted_is_told_with_the_nodes_that_there_are(asked: Any) -> None:
    """How many can be used, and how many pods they would hold."""
    nodes = []
    for name, ready in (("one", "True"), ("two", "False")):
        node = _object("Node", name, "", "v1", status={
            "allocatable": {"cpu": 2, "pods": 10}, "conditions": [{"type": "Ready", "status": ready}],
        })  # fmt: skip
        node["metadata"]["labels"] = {"pool": "f"}
        nodes.append(node)
    code, printed = asked([_queue("q", 4), _local("q"), _job("w", "q", 1, parallelism=3), *nodes], "workload", "n/w")
    assert code == 0
    assert "It is admitted" in printed
    assert "main needs 3 pods on f; of 2 nodes with its labels 1 can be used; empty they would hold 2" in printed
    assert "not all of its pods find a place" in printed


def test_who_is_about_to_preempt_needs_no_help(asked: Any) -> None:
    """It is admitted in the model; the one that had to go is told why it waits."""
    queue = _queue("q", 4, preemption={"withinClusterQueue": "LowerPriority"})
    objects = [queue, _local("q"), _job("v", "q", 3), _job("w", "q", 3, labels=AS_HIGH)]
    assert asked(objects, "workload", "n/w")[0] == 0
    code, printed = asked(objects, "workload", "n/v")
    assert code == 2
    assert "their priority is not below 0 — n/w" in printed


def test_a_job_without_a_workload_is_told_why(asked: Any) -> None:
    """Kueue does not look at it."""
    job = _job("w", "q", 1)
    job["metadata"]["labels"] = {}
    code, printed = asked([_queue("q", 4), _local("q"), job], "workload", "n/w")
    assert code == 2
    assert "Job n/w has no Workload" in printed
    assert "names no LocalQueue" in printed


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["workload", "n/x"], "there is no Workload n/x"),
        (["workload", "x"], "'x' is no NAMESPACE/NAME"),
        (["quota", "x"], "there is no ClusterQueue 'x'; there is q"),
    ],
)
def test_what_is_not_there_is_told(arguments: list[str], message: str, asked: Any) -> None:
    """Exit code 1."""
    code, printed = asked([_queue("q", 4), _local("q"), _job("w", "q", 1)], *arguments)
    assert code == 1
    assert message in printed


def test_a_quota_is_followed_to_what_was_counted(capsys: pytest.CaptureFixture[str]) -> None:
    """Queue, share, orchestrator, provider, nodes."""
    assert run(["explain", "quota", "team-a", "batch/cpu", "-f", "examples/01-two-teams-one-pool"]) == 0
    told = capsys.readouterr().out
    for text in (
        "batch/cpu: ClusterQueue/team-a has 10 in force",
        "DynamicQuotaOrchestrator/teams gives it 16, where 10 is in force now",
        "of an effective capacity of 48 below Cohort/teams",
        "by declared quotas: ClusterQueue/team-a 10, ClusterQueue/team-b 20",
        "CapacityProvider/batch-nodes (computed here) reports 48",
        "6 nodes, 48 cpu",
    ):
        assert text in told


def test_a_quota_that_somebody_wrote_has_no_origin(asked: Any) -> None:
    """All pairs, where none is named."""
    code, printed = asked([_queue("q", 4)], "quota", "q")
    assert code == 0
    assert "f/cpu: ClusterQueue/q has 4 in force" in printed
    assert "no DynamicQuotaOrchestrator is among the objects" in printed
