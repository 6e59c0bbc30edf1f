"""Reservations become instances: the whole of them, where they are, and nothing where the list was not whole."""

from __future__ import annotations

import datetime
from typing import Final

import pytest

from kueue_dqo.api.meta import time_text
from tests.controlplane.admin import Refused
from tests.integration.cloud.gcp.scenes import ONLY_GPUS, ZONE_A, ZONE_B, Scene, reserved
from tests.integration.providers.scenes import GPU, capacity, wait_failed, wait_published, wait_told

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
    scene.project.reservations[0].status = "UPDATING"  # its size is being changed
    wait_published(scene.plane, {_H100: 32}, "train", "UPDATING")


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
    """It is asked of its owner; half of 5 is 2 machines. The owner has to say its share as well, when it counts it."""
    owner = scene.new_project({}, {})
    scene.reserve("train", ZONE_A, 5, owner=owner, shared_with=[scene.project.id])
    shared = {"project": owner.id}
    scene.begin({"h100": [reserved("train", reservations=shared, share="0.5")]}, resources=ONLY_GPUS)
    wait_published(scene.plane, {_H100: 16}, "train", owner.id)
    asked = {each.subject for each in scene.gcp.asked("compute.reservations.list")}
    assert asked == {owner.id}
    with pytest.raises(Refused, match="a share is missing"):
        scene.begin({"h100": [reserved("train", reservations=shared)]}, resources=ONLY_GPUS)
    scene.reserve("mine", ZONE_A, 3, shared_with=[owner.id])
    scene.begin({"h100": [reserved("mine")]}, resources=ONLY_GPUS)
    wait_failed(scene.plane, "Misconfigured", "mine", "SPECIFIC_PROJECTS", "share", "or 1 for all of it")
    scene.begin({"h100": [reserved("mine", share="1")]}, resources=ONLY_GPUS)
    wait_published(scene.plane, {_H100: 24}, "mine")


def test_a_reservation_that_was_seen_to_end_is_0_when_it_is_gone(scene: Scene) -> None:
    """Its time is told beforehand. One that is gone without is a mistake, and so is one gone before its time."""
    scene.reserve("train", ZONE_A, 4)
    scene.reserve("next", ZONE_A, 1)
    train = scene.project.reservations[0]
    train.delete_at_time = time_text(datetime.datetime.now(datetime.UTC) + datetime.timedelta(minutes=5))
    scene.begin({"h100": [reserved("train", "next")]}, resources=ONLY_GPUS)
    wait_published(scene.plane, {_H100: 40}, train.delete_at_time)
    scene.project.reservations.remove(train)
    wait_published(scene.plane, {_H100: 8}, "train", "deleted: 0")
    assert "train" in wait_told(scene.plane, "ReservationEnded")["message"]
    scene.project.reservations[0].delete_at_time = "2099-01-01T00:00:00Z"
    wait_published(scene.plane, {_H100: 8}, "2099")
    scene.project.reservations.clear()
    wait_failed(scene.plane, "Misconfigured", "next", "does not exist")
    assert capacity(scene.plane) == {_H100: "8"}
