"""What a plan makes of providers whose capacity only a cloud knows, or only other clusters."""

from __future__ import annotations

from typing import Any

import pytest

from kueue_dqo.cli.objects import CLUSTER
from kueue_dqo.cli.plan.computation import make_plan
from kueue_dqo.cli.plan.warnings import warnings
from orchestrator.enforcement.roads import Road
from tests.unit.kueue_dqo.cli.plan.builders import (
    CLOUD_QUOTA,
    COMPOSITE,
    DELETED,
    MULTIKUEUE,
    NOON,
    OURS,
    Plain,
    cloud_parameters,
    composite_parameters,
    flavor,
    manifests_of,
    obj,
    orchestrator,
    plan_of,
    provider,
    published,
    queue,
    reporting,
    taken,
)

OF_WORKERS = (
    "CapacityProvider workers has no status, and a plan reads no worker cluster: nothing is known of what the workers "
    "have; "
)
UNKNOWN = (
    "CapacityProvider account has no status, and a plan asks no cloud: nothing is known of what the account holds; "
    "plan with what `dqo provider cloud-quota --once -f FILE -o yaml` prints as well"
)


def account(name: str = "account", **more: Any) -> Plain:
    return provider(name, controller=CLOUD_QUOTA, parameters="aws", **more)


def answered(name: str = "account", cpu: int = 384, **more: Any) -> Plain:
    return reporting(name, {"batch": {"cpu": cpu}}, controller=CLOUD_QUOTA, parameters="aws", **more)


def test_what_no_plan_asks_is_said_with_what_does() -> None:
    """And it has no capacity, not one of zero."""
    plan = plan_of(flavor(), account(), cloud_parameters("aws"), queue(), orchestrator(providers=["account"]))
    assert warnings(plan) == [UNKNOWN]
    assert not plan.providers["account"].has_status
    assert plan.computed_providers == set()
    assert not plan.all_work


def workers(name: str = "workers", **more: Any) -> Plain:
    return provider(name, controller=MULTIKUEUE, parameters="research", **more)


def test_no_plan_reads_the_workers_of_a_manager() -> None:
    """Their kubeconfigs are in Secrets, which it does not read either. The status says what they have."""
    parameters = obj(OURS, "MultiKueueParameters", "research", spec={"managerQueues": {"clusterQueues": ["a"]}})
    plan = plan_of(flavor(), workers(), parameters, queue(), orchestrator(providers=["workers"]))
    assert warnings(plan) == [
        f"{OF_WORKERS}plan with what `kubectl get capacityproviders workers -o yaml` prints as well"
    ]
    assert plan.computed_providers == set()
    manifests = manifests_of(flavor(), workers())
    manifests.origin = CLUSTER
    assert warnings(make_plan(manifests, Road.STATUS, NOON)) == [
        f"{OF_WORKERS}look at the daemon that keeps it: kubectl get pods -A -l app.kubernetes.io/component=multikueue"
    ]


def test_each_source_that_is_not_asked_has_a_warning_of_its_own() -> None:
    """With its own way out."""
    found = warnings(plan_of(flavor(), workers(), account()))
    assert [each.partition(" has no status")[0] for each in found] == [
        *("CapacityProvider account", "CapacityProvider workers")
    ]


def test_in_a_cluster_the_daemon_is_to_be_looked_at() -> None:
    """It should have written something."""
    manifests = manifests_of(flavor(), account())
    manifests.origin = CLUSTER
    [warning] = warnings(make_plan(manifests, Road.STATUS, NOON))
    assert warning == (
        "CapacityProvider account has no status, and a plan asks no cloud: nothing is known of what the account holds; "
        "look at the daemon that keeps it: kubectl get pods -A -l app.kubernetes.io/component=cloud-quota"
    )


@pytest.mark.parametrize(
    "found",
    [
        pytest.param(answered(), id="with a status"),
        pytest.param(account(deletionTimestamp=DELETED), id="being deleted"),
        pytest.param(provider("account", controller="example.com/by-hand"), id="of another controller"),
    ],
)
def test_nothing_is_said_of_others(found: Plain) -> None:
    """That a third party's provider has no status is nothing that this program could mend."""
    assert warnings(plan_of(flavor(), found)) == []


def test_a_composite_waits_for_the_answer() -> None:
    """It says so itself."""
    both = provider("both", controller=COMPOSITE, parameters="both")
    plan = plan_of(flavor(), account(), both, composite_parameters("both", "account"))
    [condition] = plan.providers["both"].status.conditions
    assert (condition.reason, "account" in condition.message) == ("SourceUnavailable", True)
    assert warnings(plan) == [UNKNOWN]


def test_what_was_answered_stands_beside_what_is_applied() -> None:
    """The folder of an installation and the output of the question, in either order."""
    read = reporting("workers", {"batch": {"cpu": 21}}, controller=MULTIKUEUE, parameters="research")
    for first, second, cpu in ((account(), answered(), "384"), (workers(), read, "21")):
        for pair in ((first, second), (second, first)):
            plan = plan_of(flavor(), *pair)
            assert published(plan, first["metadata"]["name"]) == {"batch": {"cpu": cpu}}
            assert warnings(plan) == []


@pytest.mark.parametrize(
    "second",
    [
        pytest.param(account(), id="twice without a status"),
        pytest.param(
            reporting("account", {"more": {"cpu": 1}}, controller=CLOUD_QUOTA, parameters="aws"), id="of other flavors"
        ),
        pytest.param(reporting("account", controller="example.com/by-hand"), id="of another controller"),
    ],
)
def test_what_differs_otherwise_stands_twice(second: Plain) -> None:
    """Nobody could say which of both is meant."""
    assert "CapacityProvider/account stands twice" in problem_of(account(), second)


def test_two_answers_stand_twice() -> None:
    """They may differ."""
    assert "CapacityProvider/account stands twice" in problem_of(account(), answered(cpu=1), answered(cpu=2))


def test_other_providers_stand_twice() -> None:
    """Their statuses are computed, or written by somebody else."""
    assert "stands twice" in problem_of(
        provider("nodes"), reporting("nodes", controller="kueue-dqo.dev/node-inventory")
    )


def problem_of(*objects: Plain) -> str:
    [problem] = taken(*objects).problems
    return problem
