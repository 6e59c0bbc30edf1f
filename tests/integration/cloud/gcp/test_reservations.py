"""Reservations become instances: the whole of them, where they are, and nothing where the list was not whole."""

from __future__ import annotations

from typing import Final

import pytest

from tests.controlplane.admin import Refused
from tests.integration.cloud.gcp.scenes import ONLY_GPUS, ZONE_A, ZONE_B, Scene, reserved
from tests.integration.providers.scenes import GPU, capacity, wait_failed, wait_published

_H100: Final = f"h100/{GPU}"


def test_reservations_count_whole_where_they_are(scene: Scene) -> None:
    """Those in use too; of one name, those of the zones that are named, which may be on another page."""
    scene.reserve("other", ZONE_A, 9)
    scene.reserve("train", ZONE_A, 2, in_use=2)
    scene.reserve("another", ZONE_B, 9)
    scene.reserve("train", ZONE_B, 3, in_use=1)
    scene.begin({"h100": [reserved("train")]}, resources=ONLY_GPUS)
    wait_published(scene.plane, {_H100: 40}, "5 a3-highgpu-8g", "train")
    scene.begin({"h100": [reserved("train", reservations={"zones": [ZONE_B]})]}, resources=ONLY_GPUS)
    wait_published(scene.plane, {_H100: 24}, ZONE_B)
    scene.begin({"h100": [reserved("train", "other")]}, resources=ONLY_GPUS)
    wait_published(scene.plane, {_H100: 112})


def test_a_reservation_that_is_not_ready_is_0_and_said(scene: Scene) -> None:
    scene.reserve("train", ZONE_A, 4, status="CREATING")
    scene.begin({"h100": [reserved("train")]}, resources=ONLY_GPUS)
    wait_published(scene.plane, {_H100: 0}, "train", "CREATING")


def test_a_zone_that_was_not_reached_is_not_empty(scene: Scene) -> None:
    """It is told on the second page alone. The last capacity stays."""
    scene.reserve("first", ZONE_A, 1)
    scene.reserve("second", ZONE_A, 1)
    scene.reserve("train", ZONE_B, 4)
    scene.begin({"h100": [reserved("train")]}, resources=ONLY_GPUS)
    wait_published(scene.plane, {_H100: 32})
    train = scene.project.reservations.pop()
    scene.reserve("third", ZONE_A, 1)
    scene.project.unreachable = [f"zones/{ZONE_B}"]
    wait_failed(scene.plane, "SourceUnavailable", ZONE_B, scene.project.id)
    assert capacity(scene.plane) == {_H100: "32"}
    scene.project.unreachable = []
    scene.project.reservations = [train]
    wait_published(scene.plane, {_H100: 32})


def test_a_name_that_is_nowhere_is_misconfigured(scene: Scene) -> None:
    """And one of another machine type."""
    scene.reserve("train", ZONE_A, 4)
    scene.reserve("small", ZONE_A, 4, kind="g2-standard-48")
    scene.begin({"h100": [reserved("train", "trian")]}, resources=ONLY_GPUS)
    wait_failed(scene.plane, "Misconfigured", "trian", scene.project.id)
    scene.begin({"h100": [reserved("small")]}, resources=ONLY_GPUS)
    wait_failed(scene.plane, "Misconfigured", "small", "g2-standard-48", "a3-highgpu-8g")
    assert capacity(scene.plane) == {}


def test_a_shared_reservation_needs_a_share(scene: Scene) -> None:
    """It is asked of its owner; half of 5 is 2 machines."""
    owner = scene.new_project({}, {})
    scene.reserve("train", ZONE_A, 5, owner=owner, shared_with=[scene.project.id])
    shared = {"project": owner.id}
    scene.begin({"h100": [reserved("train", reservations=shared, share="0.5")]}, resources=ONLY_GPUS)
    wait_published(scene.plane, {_H100: 16}, "train", owner.id)
    asked = {each.subject for each in scene.gcp.asked("compute.reservations.list")}
    assert asked == {owner.id}
    with pytest.raises(Refused, match="a share is missing"):
        scene.begin({"h100": [reserved("train", reservations=shared)]}, resources=ONLY_GPUS)
