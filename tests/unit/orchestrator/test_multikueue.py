"""Which queues MultiKueue sets the quotas of."""

from __future__ import annotations

import pytest

from kueue_dqo.api.kueue import (
    MULTI_KUEUE_CONTROLLER,
    AdmissionCheck,
    AdmissionCheckParameters,
    AdmissionCheckRule,
    AdmissionCheckSpec,
    AdmissionChecksStrategy,
    ClusterQueue,
    ClusterQueueSpec,
    Cohort,
    MultiKueueConfig,
    MultiKueueConfigSpec,
)
from kueue_dqo.api.meta import ObjectMeta
from orchestrator.multikueue import automated_checks, why_automated


def _check(name: str, config: str | None, controller: str = MULTI_KUEUE_CONTROLLER) -> AdmissionCheck:
    parameters = AdmissionCheckParameters("kueue.x-k8s.io", "MultiKueueConfig", config) if config is not None else None
    return AdmissionCheck(ObjectMeta(name), AdmissionCheckSpec(controller, parameters))


def _configs(**management: str) -> dict[str, MultiKueueConfig]:
    return {
        name: MultiKueueConfig(ObjectMeta(name), MultiKueueConfigSpec(quota_management=value))
        for name, value in management.items()
    }


@pytest.mark.parametrize(
    ("check", "found"),
    [
        pytest.param(_check("remote", "auto"), {"remote": "auto"}, id="automated"),
        pytest.param(_check("remote", "manual"), {}, id="manual"),
        pytest.param(_check("remote", "silent"), {}, id="not said, which is manual"),
        pytest.param(_check("remote", "missing"), {}, id="no such config"),
        pytest.param(_check("remote", None), {}, id="no parameters"),
        pytest.param(_check("remote", "auto", "example.com/licences"), {}, id="another controller"),
    ],
)
def test_a_check_is_automated_by_its_controller_and_its_config(check: AdmissionCheck, found: dict[str, str]) -> None:
    """With the name of the config, for the message."""
    assert automated_checks([check], _configs(auto="Automated", manual="Manual", silent="")) == found


def _queue(*checks: str) -> ClusterQueue:
    rules = tuple(AdmissionCheckRule(name) for name in checks)
    return ClusterQueue(
        ObjectMeta("a"), ClusterQueueSpec(admission_checks_strategy=AdmissionChecksStrategy(admission_checks=rules))
    )


def test_a_queue_with_such_a_check_is_not_ours() -> None:
    """The message names check, config and both ways out."""
    assert why_automated(_queue("licences", "remote"), {"remote": "auto"}) == (
        "MultiKueue sets its quotas (AdmissionCheck remote, MultiKueueConfig auto with quotaManagement Automated): "
        "set that to Manual, or take the queue out of the subtree"
    )


@pytest.mark.parametrize(
    "node",
    [
        pytest.param(_queue(), id="without checks"),
        pytest.param(_queue("licences"), id="with another check"),
        pytest.param(Cohort(ObjectMeta("a")), id="Cohort"),
    ],
)
def test_any_other_object_is_ours(node: ClusterQueue | Cohort) -> None:
    """Whatever is automated elsewhere."""
    assert why_automated(node, {"remote": "auto"}) is None
    assert why_automated(_queue("remote"), {}) is None
