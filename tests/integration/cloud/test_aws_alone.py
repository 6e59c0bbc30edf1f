"""A daemon that looks once an hour: what changes by itself is followed all the same, and few calls are made."""

from __future__ import annotations

import datetime
from collections.abc import Iterator

import pytest

from tests.clouds.aws import rows
from tests.controlplane.plane import ControlPlane
from tests.integration.cloud.aws.scenes import (
    CPU,
    H100,
    P_QUOTA,
    Scene,
    blocks_entry,
    quota_entry,
    reservations_entry,
    started,
)
from tests.integration.providers.scenes import history_of_providers, published_in, wait_observed, wait_published


@pytest.fixture(scope="module")
def scene(shared_plane: ControlPlane, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Scene]:
    """Of this file alone: another daemon would look more often."""
    with started(shared_plane, tmp_path_factory.mktemp("aws"), DQO_INTERVAL="1h") as running:
        yield running
        running.clear()


def test_a_block_falls_at_its_moment(scene: Scene) -> None:
    """30 minutes before its end nothing of it is left, although nobody would look for an hour. One fall, no other."""
    now = datetime.datetime.now(datetime.UTC)
    ends = now.replace(microsecond=0) + datetime.timedelta(minutes=30, seconds=8)
    scene.aws.region().reservations = [rows.block("cr-0000000a", rows.P5, 4, ends)]
    history = history_of_providers(scene.plane)
    scene.ask({"h100": [blocks_entry("cr-0000000a", before="30m")]})
    scene.wait(32, 768)
    scene.wait(0, 0, "stopAdmittingBefore")
    assert datetime.datetime.now(datetime.UTC) >= ends - datetime.timedelta(minutes=30)
    assert published_in(history.versions()) == [{}, {H100: "32", CPU: "768"}, {H100: "0", CPU: "0"}]
    scene.clear()


def test_one_look_asks_each_thing_once(scene: Scene) -> None:
    """However many flavors there are, and for other providers of the account as well, soon after."""
    region = scene.aws.region()
    region.apply(P_QUOTA, 768)
    region.reservations = [rows.reservation("cr-0000000a", rows.P5, 1), rows.reservation("cr-0000000b", rows.P4D, 1)]
    a100 = [
        {**quota_entry(share="0.5"), "instanceType": rows.P4D},
        {**reservations_entry("cr-0000000b"), "instanceType": rows.P4D},
    ]
    scene.ask(
        {"h100": [quota_entry(share="0.5"), reservations_entry("cr-0000000a")], "a100": a100},
        resources={"include": ["cpu"]},
    )
    wait_published(scene.plane, {"h100/cpu": 384, "a100/cpu": 384})
    asked = sorted(each.operation for each in scene.aws.requests if not each.operation.startswith("sts:AssumeRole"))
    assert asked == [
        "ec2:DescribeCapacityReservations",
        *["ec2:DescribeInstanceTypes"] * 2,
        "servicequotas:GetServiceQuota",
        "sts:GetCallerIdentity",
    ]
    wait_observed(scene.plane, scene.daemon, 2)
    assert len(scene.aws.requests) == len(asked) + 1
