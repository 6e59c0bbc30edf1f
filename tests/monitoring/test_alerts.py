"""Every alert fires when it should, names what it is about, and stays quiet beside that. Judged by promtool."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import yaml

from kueue_dqo.api import dqo
from tests.controlplane import binaries
from tests.controlplane.kueue import read
from tests.monitoring.rules import (
    OF_THE_SCRAPE,
    RULES,
    RUNBOOKS,
    alerts,
    known,
    promtool,
    rendered,
    rule_file,
    unknown_in,
)

HERE = 'namespace="kueue-dqo-system"'
ONE, TWO = f'{HERE},pod="one"', f'{HERE},pod="two"'


class Case(NamedTuple):
    """One alert: series in promtool's notation, a value a minute."""

    fires: dict[str, str]
    labels: dict[str, str]
    """But for those of the rule, and the namespace."""
    summary: str
    quiet: dict[str, dict[str, str]]
    """Series beside which it has nothing to say, by why."""
    value: str = "1"
    at: str = "60m"


def condition(status: str, reason: str, pod: str = ONE) -> str:
    return (
        f'kueue_dqo_orchestrator_condition{{{pod},orchestrator="teams",type="Distributed",'
        f'status="{status}",reason="{reason}"}}'
    )


WRITES = f'kueue_dqo_enforcement{{{ONE},road="spec",writes="true"}}'
LOOKS_ON = f'kueue_dqo_enforcement{{{ONE},road="spec",writes="false"}}'
DIFFERENCES = f'kueue_dqo_quota_differences{{{ONE},orchestrator="teams"}}'
REVERTS = f'kueue_dqo_quota_reverts_total{{{ONE},kind="ClusterQueue",name="team-a",manager="argocd"}}'
STOPPED = "kueue_dqo_quota_objects_stopped{%s}"
FAILED = f'kueue_dqo_quota_writes_total{{{ONE},kind="Cohort",result="failed"}}'
REFUSED = f'kueue_dqo_quota_writes_total{{{ONE},kind="Cohort",result="refused"}}'
LANDED = f'kueue_dqo_quota_writes_total{{{ONE},kind="Cohort",result="landed"}}'
EXPIRED = 'kueue_dqo_provider_lease_expired{%s,provider="nodes"}'
SYNCHRONIZED = 'kueue_dqo_provider_synchronized{%s,provider="nodes"}'
READY = 'kueue_dqo_provider_ready{%s,provider="nodes"}'
LOOKED = 'kueue_dqo_provider_last_observation_timestamp_seconds{%s,provider="nodes"}'
HELD = 'kueue_dqo_provider_held_until_timestamp_seconds{%s,provider="nodes",flavor="h100",guard="%s"}'
CAPACITY = 'kueue_dqo_capacity{%s,provider="%s",flavor="h100",resource="cpu"}'
EXCLUDED = f'kueue_dqo_node_inventory_excluded_nodes{{{ONE},provider="nodes",flavor="h100",reason="%s"}}'
NODES = f'kueue_dqo_node_inventory_nodes{{{ONE},provider="nodes",flavor="h100"}}'
GPUS = f'kueue_dqo_nvidia_gpu_unhealthy_devices{{{ONE},provider="gpus",flavor="h100",reason="Lost"}}'
GPU_NODES = f'kueue_dqo_nvidia_gpu_held_nodes{{{ONE},provider="gpus",flavor="h100",reason="AgentSilent"}}'
AGENT = f'kueue_dqo_nvidia_gpu_agent_problem{{{ONE},node="n1",reason="LibraryNotFound"}}'
CALLS = f'kueue_dqo_cloud_quota_calls_total{{{ONE},cloud="aws",call="ec2:DescribeCapacityReservations",result="%s"}}'
THROTTLES = f'kueue_dqo_cloud_quota_throttles_total{{{ONE},cloud="aws",call="servicequotas:GetServiceQuota"}}'
AGE = f'kueue_dqo_cloud_quota_answer_age_seconds{{{ONE},provider="account"}}'
WORKER = f'kueue_dqo_multikueue_worker_available{{{ONE},provider="fleet",worker="eu"}}'
LEADS = 'leader_election_master_status{%s,name="kueue-dqo-orchestrator"}'
UP = f'up{{job="kueue-dqo",component="orchestrator",{HERE},pod="%s"}}'
PROVIDER_UP = f'up{{job="kueue-dqo",component="node-inventory",{HERE},pod="%s"}}'
AGENT_UP = f'up{{job="kueue-dqo",component="nvidia-gpu-agent",{HERE},pod="%s"}}'
BEGAN = f'process_start_time_seconds{{job="kueue-dqo",component="orchestrator",{ONE}}}'
FOLLOWS = f'kueue_dqo_cache_up_to_date{{{ONE},resource="nodes"}}'
REQUESTS = f'rest_client_requests_total{{job="kueue-dqo",{ONE},code="%s",method="PATCH"}}'
ERRORS = f'controller_runtime_reconcile_errors_total{{job="kueue-dqo",{ONE},controller="orchestrator"}}'
DROPPED = f'kueue_dqo_events_dropped_total{{{ONE},cause="%s"}}'

CASES = {
    "KueueDqoQuotasNotKeptUp": Case(
        {condition("False", "EffectiveCapacityNotComputed"): "1x60"},
        {"orchestrator": "teams", "reason": "EffectiveCapacityNotComputed"},
        "Quotas below orchestrator teams do not follow the capacity (EffectiveCapacityNotComputed)",
        {
            "it distributes": {condition("True", "QuotasDistributed"): "1x60"},
            "another has precedence": {condition("False", "ConflictingDynamicQuotaOrchestrator"): "1x60"},
            "it was so for eight minutes": {condition("False", "Misconfigured"): "_x52 1x8"},
            "it is gone": {condition("False", "Misconfigured"): "1x30 stale"},
        },
    ),
    "KueueDqoQuotaDifferences": Case(
        {DIFFERENCES: "3x60", WRITES: "1x60"},
        {"orchestrator": "teams"},
        "3 queues or Cohorts below teams have other quotas than they should",
        {
            "it only observes": {DIFFERENCES: "3x60", LOOKS_ON: "1x60"},
            "a pass takes a while": {DIFFERENCES: "0x45 3x10 0x5", WRITES: "1x60"},
        },
        value="3",
    ),
    "KueueDqoConflict": Case(
        {condition("False", "ConflictingDynamicQuotaOrchestrator"): "1x60"},
        {"orchestrator": "teams", "reason": "ConflictingDynamicQuotaOrchestrator"},
        "Orchestrator teams gives way to another (ConflictingDynamicQuotaOrchestrator)",
        {"something else is wrong": {condition("False", "Misconfigured"): "1x60"}},
    ),
    "KueueDqoQuotasUndone": Case(
        {REVERTS: "0x50 2x10"},
        {"kind": "ClusterQueue", "name": "team-a", "manager": "argocd"},
        "argocd undoes the quotas of ClusterQueue team-a",
        {"it was an hour ago": {REVERTS: "0x5 2x60"}, "the daemon was restarted": {REVERTS: "5x50 0x10"}},
    ),
    "KueueDqoObjectsLeftAlone": Case(
        {STOPPED % ONE: "2x60", STOPPED % TWO: "0x60"},
        {},
        "2 queues or Cohorts are left alone since somebody keeps undoing their quotas",
        {"there are none": {STOPPED % ONE: "0x60"}, "it is over": {STOPPED % ONE: "2x50 0x10"}},
        value="2",
    ),
    "KueueDqoStandingDown": Case(
        {f"kueue_dqo_standing_down{{{ONE}}}": "1x60"},
        {},
        "Kueue's own orchestrator is at work, and this one writes nothing",
        {"it is alone": {f"kueue_dqo_standing_down{{{ONE}}}": "0x60"}},
    ),
    "KueueDqoWritesFailing": Case(
        {FAILED: "0+1x60"},
        {"kind": "Cohort"},
        "Writes of quotas of Cohorts fail, and are tried again",
        {"one failed and the next landed": {FAILED: "0x55 1x5"}, "they land": {LANDED: "0+1x60"}},
    ),
    "KueueDqoWritesRefused": Case(
        {REFUSED: "0x55 1x5"},
        {"kind": "Cohort"},
        "Writes of quotas of Cohorts are refused",
        {"they land": {LANDED: "0+1x60"}},
    ),
    "KueueDqoProviderExpired": Case(
        {EXPIRED % ONE: "1x60"},
        {"provider": "nodes"},
        "CapacityProvider nodes has shown no sign of life: its capacity may be old",
        {"it lives": {EXPIRED % ONE: "0x60"}, "another replica took over": {EXPIRED % ONE: "0x56 1x2 0x2"}},
    ),
    "KueueDqoProviderNotSynchronized": Case(
        {READY % ONE: "0x60", READY % TWO: "0x60"},
        {"provider": "nodes"},
        "CapacityProvider nodes is not synchronized",
        {
            "it is": {SYNCHRONIZED % ONE: "1x60", READY % ONE: "1x60"},
            "one of the replicas that read it is behind": {READY % ONE: "0x60", READY % TWO: "1x60"},
            "a new leader has not looked yet": {SYNCHRONIZED % ONE: "1x50 stale", SYNCHRONIZED % TWO: "_x52 1x8"},
        },
    ),
    "KueueDqoCapacityStale": Case(
        {LOOKED % ONE: "1800x60"},
        {"provider": "nodes"},
        "The source of CapacityProvider nodes has given nothing for 30m 0s",
        {
            "it answers every minute": {LOOKED % ONE: "0+60x60"},
            "another replica has looked since": {LOOKED % ONE: "600x60", LOOKED % TWO: "0+60x60"},
        },
        value="30m 0s",
    ),
    "KueueDqoBreakerOpen": Case(
        {HELD % (ONE, "breaker"): "7200x60"},
        {"provider": "nodes", "flavor": "h100"},
        "A large fall of h100 waits for a person (CapacityProvider nodes)",
        {
            "another guard holds": {HELD % (ONE, "fall"): "7200x60"},
            "its time is over": {HELD % (ONE, "breaker"): "3000x60"},
            "it was acknowledged": {HELD % (ONE, "breaker"): "7200x50 stale"},
        },
    ),
    "KueueDqoCapacityGone": Case(
        {CAPACITY % (ONE, "nodes"): "48x30 0x30", CAPACITY % (TWO, "nodes"): "48x30 0x30"},
        {"provider": "nodes", "flavor": "h100", "resource": "cpu"},
        "Nothing is left of h100/cpu (CapacityProvider nodes)",
        {
            "there is some": {CAPACITY % (ONE, "nodes"): "48x30 1x30"},
            "there never was any": {CAPACITY % (ONE, "nodes"): "0x60"},
            "it was so for four minutes": {CAPACITY % (ONE, "nodes"): "48x56 0x4"},
            "the provider is gone": {CAPACITY % (ONE, "nodes"): "48x30 stale"},
        },
        value="0",
    ),
    "KueueDqoNodesExcluded": Case(
        {EXCLUDED % "NotReady": "1x60", EXCLUDED % "Cordoned": "1x60", NODES: "8x60"},
        {"provider": "nodes", "flavor": "h100"},
        "20% of the nodes of h100 do not count (CapacityProvider nodes)",
        {
            "one of twenty": {EXCLUDED % "NotReady": "1x60", NODES: "19x60"},
            "the flavor has no nodes": {EXCLUDED % "NotReady": "0x60", NODES: "0x60"},
        },
        value="20%",
    ),
    "KueueDqoGpuUnhealthy": Case(
        {GPUS: "8x60"},
        {"provider": "gpus", "flavor": "h100", "reason": "Lost"},
        "8 GPUs of h100 are unhealthy (Lost)",
        {"they came back": {GPUS: "8x50 stale"}},
        value="8",
    ),
    "KueueDqoGpuNodesHeld": Case(
        {GPU_NODES: "2x60"},
        {"provider": "gpus", "flavor": "h100", "reason": "AgentSilent"},
        "2 nodes of h100 count with what their agents said last (AgentSilent)",
        {"agents were upgraded": {GPU_NODES: "_x56 2x4"}},
        value="2",
    ),
    "KueueDqoGpuAgentProblem": Case(
        {AGENT: "1x60"},
        {"pod": "one", "reason": "LibraryNotFound"},
        "The agent one cannot read the driver (LibraryNotFound)",
        {"the driver was upgraded": {AGENT: "_x56 1x4"}},
    ),
    "KueueDqoCloudDenied": Case(
        {CALLS % "denied": "0x58 1x2"},
        {"cloud": "aws", "call": "ec2:DescribeCapacityReservations"},
        "aws denies ec2:DescribeCapacityReservations",
        {"calls succeed": {CALLS % "ok": "0+1x60"}, "it was an hour ago": {CALLS % "denied": "0x2 1x60"}},
    ),
    "KueueDqoCloudThrottled": Case(
        {THROTTLES: "0+1x60"},
        {"cloud": "aws", "call": "servicequotas:GetServiceQuota"},
        "aws throttles servicequotas:GetServiceQuota",
        {"now and then": {THROTTLES: "0x30 3x30"}},
        value="60",
    ),
    "KueueDqoCloudAnswerOld": Case(
        {AGE: "0+120x60"},
        {"provider": "account"},
        "The capacity of CapacityProvider account comes of answers that are 2h 0m 0s old",
        {"of the last interval": {AGE: "300x60"}},
        value="2h 0m 0s",
    ),
    "KueueDqoWorkerUnavailable": Case(
        {WORKER: "0x60"},
        {"provider": "fleet", "worker": "eu"},
        "Worker eu cannot be read (CapacityProvider fleet)",
        {"it can": {WORKER: "1x60"}, "it was taken out": {WORKER: "0x50 stale"}},
        value="0",
    ),
    "KueueDqoNoLeader": Case(
        {LEADS % ONE: "0x60", LEADS % TWO: "0x60"},
        {"name": "kueue-dqo-orchestrator"},
        "Nobody leads kueue-dqo-orchestrator",
        {
            "one leads": {LEADS % ONE: "0x60", LEADS % TWO: "1x60"},
            "the other took over": {LEADS % ONE: "1x55 stale", LEADS % TWO: "0x57 1x3"},
        },
        value="0",
    ),
    "KueueDqoOrchestratorAbsent": Case(
        {UP % "one": "1x30 stale", UP % "two": "0x60"},
        {},
        "No replica of the orchestrator answers",
        {"one answers": {UP % "one": "1x60", UP % "two": "0x60"}, "a rollout": {UP % "one": "1x55 stale"}},
    ),
    "KueueDqoDaemonsGone": Case(
        {PROVIDER_UP % "one": "1x300 stale", PROVIDER_UP % "two": "1x20 0x1000 stale", UP % "one": "1x1560"},
        {"component": "node-inventory"},
        "No pod of node-inventory answers, and there were some within a day",
        {
            "one answers": {PROVIDER_UP % "one": "1x300 stale", PROVIDER_UP % "two": "1x1560"},
            "a rollout": {PROVIDER_UP % "one": "1x1550 stale", PROVIDER_UP % "two": "_x1558 1x2"},
            "others are installed and this was never": {UP % "one": "1x1560"},
            "uninstalled long ago": {PROVIDER_UP % "one": "1x60 stale", UP % "one": "1x1560"},
            "no GPU nodes are left, which is as it should be": {AGENT_UP % "one": "1x1500 stale"},
            "the orchestrator has an alert of its own": {UP % "one": "1x1500 stale"},
        },
        at="1560m",
    ),
    "KueueDqoDaemonDown": Case(
        {UP % "one": "0x60", UP % "two": "1x60"},
        {"job": "kueue-dqo", "component": "orchestrator", "pod": "one"},
        "one (orchestrator) does not answer",
        {"it starts": {UP % "one": "1x50 0x2 1x8"}},
        value="0",
    ),
    "KueueDqoNotFollowing": Case(
        {FOLLOWS: "0x60"},
        {"pod": "one", "resource": "nodes"},
        "one cannot follow nodes",
        {"it follows": {FOLLOWS: "1x60"}, "the API server was upgraded": {FOLLOWS: "1x50 0x5 1x5"}},
        value="0",
    ),
    "KueueDqoForbidden": Case(
        {REQUESTS % "403": "0+1x60"},
        {"pod": "one"},
        "The API server refuses requests of one",
        {"one, at an upgrade": {REQUESTS % "403": "0x50 1x10"}, "others": {REQUESTS % "409": "0+1x60"}},
    ),
    "KueueDqoReconcilesFailing": Case(
        {ERRORS: "0+1x60"},
        {"controller": "orchestrator"},
        "Passes of orchestrator fail again and again",
        {"one did": {ERRORS: "0x50 1x10"}},
    ),
    "KueueDqoEventsLost": Case(
        {DROPPED % "failed": "0x50 2x10"},
        {"pod": "one", "cause": "failed"},
        "Events of one were lost (failed)",
        {"spam is dropped on purpose": {DROPPED % "spam": "0+9x60"}},
    ),
}


def test_every_alert_has_its_case() -> None:
    """A new one is not forgotten here."""
    assert set(CASES) == set(alerts())


def _series(series: dict[str, str]) -> list[dict[str, str]]:
    return [{"series": name, "values": values} for name, values in series.items()]


def _tests(name: str, case: Case) -> list[dict[str, Any]]:
    rule = alerts()[name]
    labels = {"namespace": "kueue-dqo-system"} | case.labels
    # What increase() extrapolates is no round number: the description shows it rounded, whatever it is.
    annotations = {key: rendered(text, labels, case.value) for key, text in rule["annotations"].items()}
    fires = {"exp_labels": labels | rule["labels"], "exp_annotations": annotations}
    if "increase(" in rule["expr"] and "$value" in rule["annotations"]["description"]:
        fires.pop("exp_annotations")
    expected = {"eval_time": case.at, "alertname": name, "exp_alerts": [fires]}
    quiet = [
        {
            "name": f"{name}: quiet: {why}",
            "interval": "1m",
            "input_series": _series(series),
            "alert_rule_test": [{"eval_time": case.at, "alertname": name, "exp_alerts": []}],
        }
        for why, series in case.quiet.items()
    ]
    fired: dict[str, Any] = {"name": name, "interval": "1m", "input_series": _series(case.fires)}
    if "exp_annotations" in fires:
        fired["alert_rule_test"] = [expected]
    else:
        matched = ",".join(f'{key}="{value}"' for key, value in sorted((labels | rule["labels"]).items()))
        sample = f'ALERTS{{alertname="{name}",alertstate="firing",{matched}}}'
        query = f'ALERTS{{alertname="{name}",alertstate="firing"}}'
        fired["promql_expr_test"] = [
            {"expr": query, "eval_time": case.at, "exp_samples": [{"labels": sample, "value": 1}]}
        ]
    return [fired, *quiet]


def _plain(value: object) -> str:
    return json.dumps(value)  # which YAML is as well, and is written faster


def _judge(folder: Path, tests: list[dict[str, Any]]) -> None:
    """All of them by one run: what differs is printed with the test's name, which begins with that of the alert.

    Each alert has a file of its own, so that not every rule is evaluated for each minute of each test.
    """
    of_alert: dict[str, list[dict[str, Any]]] = {}
    for each in tests:
        of_alert.setdefault(each["name"].partition(":")[0], []).append(each)
    files = []
    for name, own in of_alert.items():
        (folder / f"{name}.yaml").write_text(_plain({"groups": [{"name": name, "rules": [alerts()[name]]}]}))
        files.append(folder / f"{name}.test.yaml")
        files[-1].write_text(_plain({"rule_files": [f"{name}.yaml"], "evaluation_interval": "1m", "tests": own}))
    done = promtool("test", "rules", *files)
    assert done.returncode == 0, done.stdout + done.stderr


def test_alerts_fire_when_they_should_and_only_then(tmp_path: Path) -> None:
    """Each test's name says why it should have been quiet."""
    _judge(tmp_path, [each for name, case in CASES.items() for each in _tests(name, case)])


def _firing(name: str, labels: dict[str, str], at: str) -> dict[str, Any]:
    """That exactly one fires; with empty labels, that none does."""
    all_labels = {"alertname": name, "alertstate": "firing"} | labels | alerts()[name]["labels"]
    matched = ",".join(f'{key}="{value}"' for key, value in sorted(all_labels.items()))
    return {
        "expr": f'ALERTS{{alertname="{name}",alertstate="firing"}}',
        "eval_time": at,
        "exp_samples": [{"labels": f"ALERTS{{{matched}}}", "value": 1}] if labels else [],
    }


def _query_test(name: str, series: dict[str, str], *expected: dict[str, Any]) -> dict[str, Any]:
    return {"name": name, "interval": "1m", "input_series": _series(series), "promql_expr_test": list(expected)}


def test_an_orchestrator_that_was_never_found_is_absent(tmp_path: Path) -> None:
    """No series can name its namespace, so none is named; but not from the first minute."""
    name = "KueueDqoOrchestratorAbsent"
    labels = {"job": "kueue-dqo", "component": "orchestrator"}
    _judge(
        tmp_path,
        [_query_test(name, {PROVIDER_UP % "one": "1x60"}, _firing(name, {}, "9m"), _firing(name, labels, "60m"))],
    )


def _in_cluster(cluster: str, series: dict[str, str]) -> dict[str, str]:
    return {name.replace("{", f'{{cluster="{cluster}",', 1): values for name, values in series.items()}


def test_the_cluster_that_is_sick_is_named_beside_one_that_is_well(tmp_path: Path) -> None:
    """Where one Prometheus evaluates for many clusters."""
    tests = []
    for name, case in CASES.items():
        labels = {"namespace": "kueue-dqo-system", "cluster": "sick"} | case.labels
        series = _in_cluster("sick", case.fires) | _in_cluster("well", next(iter(case.quiet.values())))
        tests.append(_query_test(name, series, _firing(name, labels, case.at)))
    _judge(tmp_path, tests)


def test_the_installation_that_is_sick_is_named_beside_one_that_is_well(tmp_path: Path) -> None:
    """Two in namespaces of one cluster."""
    tests = []
    for name, case in CASES.items():
        well = {
            each.replace("kueue-dqo-system", "other"): values
            for each, values in next(iter(case.quiet.values())).items()
        }
        labels = {"namespace": "kueue-dqo-system"} | case.labels
        tests.append(_query_test(name, case.fires | well, _firing(name, labels, case.at)))
    _judge(tmp_path, tests)


def test_a_former_leader_that_serves_what_it_knew_changes_nothing(tmp_path: Path) -> None:
    """Neither a second alert, nor a number that is twice as high."""
    tests = []
    for name, case in CASES.items():
        rule = alerts()[name]
        if "pod" in case.labels or "increase(" in rule["expr"]:
            continue  # of each pod; of what was counted by each
        former = {each.replace('pod="one"', 'pod="two"'): values for each, values in case.fires.items()}
        tests += _tests(name, case._replace(fires=former | case.fires, quiet={}))
    assert len(tests) > 15
    _judge(tmp_path, tests)


COUNTED = [name for name, rule in alerts().items() if "increase(" in rule["expr"]]
AT_ONCE = [name for name in COUNTED if "for" not in alerts()[name] and alerts()[name]["expr"].endswith("> 0")]
"""Those that fire at the first occurrence. The others are about what goes on."""


def test_a_counter_that_comes_out_of_nothing_is_noticed(tmp_path: Path) -> None:
    """A series with labels begins at 1, and `increase` sees none of that; and it is over after a while."""
    tests = []
    for name in COUNTED:
        case = CASES[name]
        labels = {"namespace": "kueue-dqo-system"} | case.labels
        if name not in AT_ONCE:
            series = dict.fromkeys(case.fires, "_x20 1+1x60")
            tests.append(_query_test(name, series, _firing(name, labels, "51m")))
            continue
        expected = _firing(name, labels, "51m"), _firing(name, {}, "111m")
        series = dict.fromkeys(case.fires, "_x49 1x90")
        long_ago, just_now = {UP % "one": "1x140", BEGAN: "0x140"}, {UP % "one": "_x49 1x90", BEGAN: "_x49 2930x90"}
        tests.append(_query_test(f"{name}: in a pod that runs", series | long_ago, *expected))
        tests.append(_query_test(f"{name}: in a pod that has just begun", series | just_now, *expected))
    assert len(AT_ONCE) == 4
    _judge(tmp_path, tests)


def test_a_counter_that_was_only_not_looked_at_is_no_occurrence(tmp_path: Path) -> None:
    """A restart of the daemon, an outage or a restart of Prometheus: what is counted was counted before."""
    whys = {
        "the daemon was restarted": ("20x120 0x80", "1x200", "0x120 7200x80"),
        "the daemon was restarted, and has nothing to count": ("20x120 stale", "1x200", "0x120 7200x80"),
        "Prometheus was away": ("20x80 _x40 20x80", "1x80 _x40 1x80", "0x80 _x40 0x80"),
        "Prometheus has lost what it knew": ("_x120 20x80", "_x120 1x80", "_x120 0x80"),
        "its target could not be read": ("20x80 stale _x40 20x80", "1x80 0x40 1x80", "0x80 stale _x40 0x80"),
    }
    tests = [
        _query_test(
            f"{name}: {why}",
            dict.fromkeys(CASES[name].fires, counted) | {UP % "one": up, BEGAN: began},
            *(_firing(name, {}, f"{at}m") for at in (119, 121, 125, 130, 140, 185, 195)),
        )
        for name in COUNTED
        for why, (counted, up, began) in whys.items()
    ]
    _judge(tmp_path, tests)


@pytest.mark.parametrize("name", CASES)
def test_the_summary_is_one_line_that_names_what_it_is_about(name: str) -> None:
    """As it stands on a telephone."""
    case, rule = CASES[name], alerts()[name]
    assert rendered(rule["annotations"]["summary"], case.labels, case.value) == case.summary
    assert len(case.summary) < 120


def test_prometheus_takes_the_rules(tmp_path: Path) -> None:
    """Its own linter has nothing to say."""
    (tmp_path / "rules.yaml").write_text(yaml.safe_dump(rule_file()))
    done = promtool("check", "rules", "--lint=all", "--lint-fatal", tmp_path / "rules.yaml")
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_operator_takes_the_rules() -> None:
    """By the schema of its own definition, without a field too many."""
    (file,) = binaries.operator_crds().glob("*_prometheusrules.yaml")
    (definition,) = read(file)
    (version,) = definition["spec"]["versions"]
    (rules,) = read(RULES)
    _assert_known(rules["spec"], version["schema"]["openAPIV3Schema"]["properties"]["spec"], "spec")


def _assert_known(value: object, schema: dict[str, Any], path: str) -> None:
    if isinstance(value, dict) and "properties" in schema:
        assert value.keys() <= schema["properties"].keys(), path
        for key, inner in value.items():
            _assert_known(inner, schema["properties"][key], f"{path}.{key}")
    elif isinstance(value, list):
        for inner in value:
            _assert_known(inner, schema["items"], f"{path}[]")


@pytest.mark.parametrize("name", CASES)
def test_rules_ask_for_what_daemons_serve(name: str) -> None:
    """By the metrics that the code declares: one that is renamed is missed here."""
    assert unknown_in(alerts()[name]["expr"]) == []


def test_no_series_has_a_label_of_the_scrape() -> None:
    """Prometheus would call it `exported_…`, or lose its own where it honours labels."""
    assert {name: labels & OF_THE_SCRAPE for name, labels in known().items() if labels & OF_THE_SCRAPE} == {}


def test_what_no_daemon_serves_is_noticed() -> None:
    """The check above can fail: by the name, by a label, by a group."""
    assert unknown_in('kueue_dqo_nothing > 0 and kueue_dqo_capacity{colour="red"} > 0') == [
        "kueue_dqo_nothing",
        "kueue_dqo_capacity{colour}",
    ]
    assert unknown_in("sum by (colour) (kueue_dqo_capacity)") == ["colour"]


@pytest.mark.parametrize("name", CASES)
def test_every_alert_has_its_page(name: str) -> None:
    """Which says what to type first, what it means, what to do and what not."""
    rule = alerts()[name]
    assert rule["annotations"]["runbook"] == f"docs/runbooks/{name}.md"
    page = (RUNBOOKS / f"{name}.md").read_text()
    assert page.startswith(f"# {name}\n")
    for heading in ("Type first", "Causes", "Way out", "Until then"):
        assert f"\n## {heading}\n" in page, heading
    assert f"**{rule['labels']['severity']}**" in page


def test_there_is_no_page_of_an_alert_that_is_gone() -> None:
    """And the index has each."""
    pages = {page.stem for page in RUNBOOKS.glob("*.md")} - {"README"}
    assert pages == set(alerts())
    index = (RUNBOOKS / "README.md").read_text()
    assert [name for name in alerts() if f"[{name}]({name}.md)" not in index] == []


def test_reasons_in_rules_are_reasons_of_conditions() -> None:
    """A matcher with a reason that nobody gives matches nothing, and nobody notices."""
    reasons = {
        value
        for rule in alerts().values()
        for matched in re.findall(r'reason[=!]~?"([^"]+)"', rule["expr"])
        for value in matched.split("|")
    }
    assert reasons == {dqo.CONFLICTING_ORCHESTRATOR, dqo.EFFECTIVE_QUOTAS_CONFLICT}
    series = {series for case in CASES.values() for series in case.fires if "Distributed" in series}
    given = {reason for each in series for reason in re.findall(r'reason="(\w+)"', each)}
    assert given <= {dqo.CONFLICTING_ORCHESTRATOR, dqo.EFFECTIVE_CAPACITY_NOT_COMPUTED}
