"""What fails is never 0: the last capacity stays, and the message says what is wrong and the way out."""

from __future__ import annotations

from collections.abc import Callable
from http import HTTPStatus
from typing import Final

import pytest

from tests.clouds.gcp import replies
from tests.clouds.gcp.gcp import WORKLOAD
from tests.clouds.gcp.replies import Reply
from tests.clouds.gcp.things import COMPUTE, gpu_families
from tests.controlplane.processes import eventually
from tests.integration.cloud.gcp.scenes import ONLY_GPUS, REGION, ZONE_A, Scene, on_h100, on_l4, reserved
from tests.integration.providers.scenes import GPU, capacity, wait_failed, wait_published

_PAIR: Final = f"l4/{GPU}"
_H100: Final = f"h100/{GPU}"
_GET: Final = "compute.regions.get"
_FAMILIES: Final = [({"region": REGION, "gpu_family": "NVIDIA_H100"}, 64, [REGION])]


def _begin(scene: Scene) -> None:
    scene.begin({"l4": [on_l4()]}, resources=ONLY_GPUS)
    wait_published(scene.plane, {_PAIR: 8})


@pytest.mark.parametrize(
    ("fault", "throttles"), [(replies.throttled, 2), (replies.unavailable, 0)], ids=["throttled", "unavailable"]
)
def test_what_is_over_soon_is_not_told(fault: Callable[[], Reply], throttles: int, scene: Scene) -> None:
    """It is tried again within the look; throttles are counted."""
    before = scene.daemon.metric("kueue_dqo_cloud_quota_throttles_total", call=_GET)
    scene.gcp.fail(_GET, fault(), times=2)
    _begin(scene)
    assert [each.status for each in scene.gcp.asked(_GET)[:3]] != [200, 200, 200]
    after = scene.daemon.metric("kueue_dqo_cloud_quota_throttles_total", call=_GET)
    assert after - before == throttles


def test_an_account_that_is_throttled_is_left_alone_for_a_while(scene: Scene) -> None:
    """Compute Engine says so with the status of a missing permission; the message says until when."""
    _begin(scene)
    scene.gcp.fail(_GET, replies.rate_limit_exceeded())
    wait_failed(scene.plane, "SourceUnavailable", _GET, "Z")
    assert capacity(scene.plane) == {_PAIR: "8"}
    said = wait_failed(scene.plane, "SourceUnavailable", "refuses calls for their number", scene.project.id)
    assert "permission" not in said


def test_what_is_no_answer_keeps_the_last_capacity(scene: Scene) -> None:
    """Half of one, pages of proxies with whatever status: all is told. Until there is one."""
    scene.project.quota_infos = [gpu_families(scene.project.id, _FAMILIES)]
    scene.begin({"l4": [on_l4()], "h100": [on_h100(gpuFamily={"name": "NVIDIA_H100"})]}, resources=ONLY_GPUS)
    wait_published(scene.plane, {_PAIR: 8, _H100: 64})
    scene.gcp.fail(_GET, replies.cut)
    scene.gcp.fail("compute.projects.get", replies.page(HTTPStatus.BAD_GATEWAY))
    scene.gcp.fail("cloudquotas.quotas.get", replies.page(HTTPStatus.OK))
    wait_failed(scene.plane, "SourceUnavailable", _GET, REGION, "compute.projects.get", "502", "cloudquotas.quotas.get")
    assert capacity(scene.plane) == {_PAIR: "8", _H100: "64"}
    scene.gcp.mend()
    wait_published(scene.plane, {_PAIR: 8, _H100: 64})


def test_a_missing_permission_is_named(scene: Scene) -> None:
    """All that are missing, not the first alone; and who lacks them. Granted, it goes on."""
    scene.reserve("train", ZONE_A, 4)
    scene.project.quota_infos = [gpu_families(scene.project.id, _FAMILIES)]
    permissions = {_GET, "compute.projects.get", "compute.reservations.list", "cloudquotas.quotas.get"}
    scene.gcp.denied = set(permissions)
    h100 = [reserved("train"), on_h100(gpuFamily={"name": "NVIDIA_H100"})]
    scene.begin({"l4": [on_l4()], "h100": h100}, resources=ONLY_GPUS)
    wait_failed(scene.plane, "Misconfigured", *permissions, scene.project.id, WORKLOAD)
    scene.gcp.denied = {"compute.machineTypes.get"}  # asked of zones, which the region tells
    wait_failed(scene.plane, "Misconfigured", "compute.machineTypes.get", scene.project.id, WORKLOAD)
    scene.gcp.mend()
    wait_published(scene.plane, {_PAIR: 8, _H100: 64})


def test_a_service_that_is_not_enabled_is_named(scene: Scene) -> None:
    _begin(scene)
    scene.gcp.fail(_GET, replies.service_disabled(COMPUTE, scene.project.number))
    wait_failed(scene.plane, "Misconfigured", COMPUTE, scene.project.id)
    assert capacity(scene.plane) == {_PAIR: "8"}
    scene.gcp.mend()
    wait_published(scene.plane, {_PAIR: 8})


def test_what_there_is_not_is_misconfigured(scene: Scene) -> None:
    """A machine type that no zone of the region has; a project."""
    scene.begin({"l4": [on_l4(machineType="g2-standard-480")]}, resources=ONLY_GPUS)
    wait_failed(scene.plane, "Misconfigured", "g2-standard-480", REGION)
    scene.begin({"l4": [on_l4()]}, account={"project": "no-such-fleet"}, resources=ONLY_GPUS)
    wait_failed(scene.plane, "Misconfigured", "no-such-fleet")
    assert capacity(scene.plane) == {}


def test_a_look_that_takes_long_holds_no_other_one_up(scene: Scene) -> None:
    """Meanwhile another project is asked. What comes late counts."""
    _begin(scene)
    scene.gcp.hold(_GET, f"{scene.project.id}/")
    eventually(lambda: scene.gcp.waiting > 0, "an answer is waited for")
    slow, scene.project = scene.project, scene.new_project({"NVIDIA_L4_GPUS": 4}, {})
    scene.begin({"l4": [on_l4()]}, resources=ONLY_GPUS)
    wait_published(scene.plane, {_PAIR: 4})
    assert scene.gcp.waiting > 0
    scene.gcp.release()
    scene.begin({"l4": [on_l4()]}, account={"project": slow.id}, resources=ONLY_GPUS)
    wait_published(scene.plane, {_PAIR: 8})
