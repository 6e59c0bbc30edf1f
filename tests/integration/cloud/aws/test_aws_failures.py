"""What goes wrong on the way to AWS is never a capacity of zero: the last one stays, and the reason is told."""

from __future__ import annotations

from typing import Any

import pytest

from tests.clouds.aws import faults
from tests.clouds.aws.faults import Deny, Fault, Throttle
from tests.integration.cloud.aws.scenes import (
    CPU,
    H100,
    P_QUOTA,
    QUOTA,
    RESERVATIONS,
    Scene,
    quota_entry,
    reservations_entry,
)
from tests.integration.providers.scenes import capacity, wait_failed, wait_observed


def _is_kept(scene: Scene) -> bool:
    return capacity(scene.plane) == {H100: "16", CPU: "384"}


def test_a_throttled_account_is_left_alone(scene: Scene) -> None:
    """The SDK's own retries are made, then nothing for a while, although the daemon looks. Until when is told."""
    scene.begin()
    fault = scene.aws.add(Throttle(QUOTA))
    wait_failed(scene.plane, "SourceUnavailable", QUOTA)
    wait_failed(
        scene.plane, "SourceUnavailable", "refuses calls for their number", "nothing more of servicequotas in us-east-1"
    )
    assert fault.hits == 3
    assert _is_kept(scene)
    wait_observed(scene.plane, scene.daemon, 2)
    assert fault.hits == 3
    assert scene.daemon.metric("kueue_dqo_cloud_quota_throttles_total", cloud="aws", call=QUOTA) == 3


def test_a_few_throttles_are_nothing(scene: Scene) -> None:
    """The SDK tries again."""
    scene.aws.add(Throttle(QUOTA, times=2))
    scene.begin()


@pytest.mark.parametrize(
    "fault",
    [faults.Page(operation=QUOTA), faults.CutOff(QUOTA), faults.Reset(QUOTA), faults.Refuse(QUOTA)],
    ids=["a page", "half", "none", "an error"],
)
def test_what_is_no_answer_of_service_quotas_keeps_the_capacity(fault: Fault, scene: Scene) -> None:
    _fails_and_heals(scene, fault, [quota_entry()])


@pytest.mark.parametrize("kind", [faults.HalfAnswer, faults.Reset])
def test_half_a_list_is_no_list(kind: Any, scene: Scene) -> None:
    """Its second page is missing."""
    scene.aws.page_size = 1
    _fails_and_heals(
        scene, kind(RESERVATIONS, skip=1), [quota_entry(), reservations_entry("cr-0000000a", "cr-0000000b")]
    )


def _fails_and_heals(scene: Scene, fault: Fault, entries: list[dict[str, Any]]) -> None:
    scene.begin()
    scene.aws.add(fault)
    scene.ask({"h100": entries})
    wait_failed(scene.plane, "SourceUnavailable", fault.named, "us-east-1")
    assert _is_kept(scene)
    scene.aws.heal()
    scene.ask({"h100": [quota_entry()]})
    scene.wait(16, 384)


def test_nobody_is_there(scene: Scene) -> None:
    """Connections are refused for a while."""
    scene.begin()
    scene.server.hang_up()
    wait_failed(scene.plane, "SourceUnavailable", QUOTA)
    assert _is_kept(scene)
    scene.server.listen()
    scene.wait(16, 384)


def test_a_quota_that_cannot_be_told_is_unavailable(scene: Scene) -> None:
    """Service Quotas knows the quota, and says why it has no value now."""
    scene.begin()
    reason = {"ErrorCode": "DEPENDENCY_THROTTLING_ERROR", "ErrorMessage": "EC2 was throttled"}
    scene.aws.region().apply(P_QUOTA, None, ErrorReason=reason)
    wait_failed(scene.plane, "SourceUnavailable", P_QUOTA, "DEPENDENCY_THROTTLING_ERROR")
    assert _is_kept(scene)


@pytest.mark.parametrize(
    ("quota", "told"),
    [({"code": "L-00000000"}, "L-00000000"), ({"code": P_QUOTA, "service": "EC2"}, "EC2")],
    ids=["code", "service"],
)
def test_a_quota_that_aws_does_not_know_is_misconfigured(quota: dict[str, str], told: str, scene: Scene) -> None:
    """Neither raised nor with a default. What was asked for where is named."""
    scene.begin()
    scene.ask({"h100": [{**quota_entry(), "quota": quota}]})
    wait_failed(scene.plane, "Misconfigured", told, "us-east-1")
    assert _is_kept(scene)


def test_a_denied_call_names_the_permission_that_is_missing(scene: Scene) -> None:
    """All of them at once, and who does not have them."""
    scene.begin()
    scene.aws.add(Deny(QUOTA))
    scene.aws.add(Deny(RESERVATIONS))
    scene.ask({"h100": [quota_entry(), reservations_entry("cr-0000000a")]})
    who = "arn:aws:sts::111122223333:assumed-role/kueue-dqo/"
    wait_failed(scene.plane, "Misconfigured", *(f"{each} is denied to {who}" for each in (QUOTA, RESERVATIONS)))
    assert _is_kept(scene)
    scene.aws.heal()
    scene.ask({"h100": [quota_entry()]})
    scene.wait(16, 384)
