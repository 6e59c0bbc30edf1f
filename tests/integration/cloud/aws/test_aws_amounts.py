"""From what AWS says to what is published: by the daemon of the shipped overlay, through the SDK."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import boto3
import pytest

from tests.clouds.aws import rows
from tests.clouds.aws.account import REGION
from tests.clouds.aws.moto_server import moto_server
from tests.controlplane.admin import Refused
from tests.integration.cloud.aws.scenes import (
    P_QUOTA,
    Scene,
    quota_entry,
    reservations_entry,
)
from tests.integration.providers.scenes import GPU, wait_failed, wait_published, wait_told


def test_a_quota_counts_in_whole_instances(scene: Scene) -> None:
    """384 vCPUs are two p5.48xlarge; 300 are one, with 8 GPUs and not 12; none is an explicit zero."""
    region = scene.aws.region()
    region.apply(P_QUOTA, 384)
    scene.ask({"h100": [quota_entry()]}, resources={})
    wait_published(
        scene.plane,
        {f"h100/{GPU}": 16, "h100/cpu": 384, "h100/memory": "4Ti"},
        f"2 p5.48xlarge of quota {P_QUOTA} in us-east-1 (384 vCPU)",
    )
    scene.ask({"h100": [quota_entry()]})
    scene.wait(16, 384)
    for vcpus, gpus, cpu in ((300, 8, 192), (191, 0, 0), (576, 24, 576)):
        region.apply(P_QUOTA, vcpus)
        scene.wait(gpus, cpu, f"({vcpus} vCPU)")


def test_a_share_of_a_quota_counts_in_whole_instances_too(scene: Scene) -> None:
    """Half of 768 vCPUs is two; the rest is another flavor's. More than all of it is not given away."""
    scene.aws.region().apply(P_QUOTA, 768)
    a100 = {**quota_entry(share="0.5"), "instanceType": rows.P4D}
    scene.ask({"h100": [quota_entry(share="0.5")], "a100": [a100]})
    wanted = {f"h100/{GPU}": 16, "h100/cpu": 384, f"a100/{GPU}": 32, "a100/cpu": 384}
    wait_published(scene.plane, wanted)
    scene.ask({"h100": [quota_entry(share="0.6")], "a100": [a100]})
    wait_failed(scene.plane, "Misconfigured", P_QUOTA, "0.6", "0.5", "h100", "a100")


def test_a_quota_that_was_never_raised_is_its_default(scene: Scene) -> None:
    """Which the message says, until it is raised."""
    scene.aws.region().default(P_QUOTA, 192)
    scene.ask({"h100": [quota_entry()]})
    scene.wait(8, 192, "192 vCPU, default")
    scene.aws.region().apply(P_QUOTA, 384)
    assert "default" not in scene.wait(16, 384)


def test_no_limit_needs_a_ceiling(scene: Scene) -> None:
    scene.aws.region().apply(P_QUOTA, -1)
    scene.ask({"h100": [quota_entry()]})
    wait_failed(scene.plane, "InvalidCapacity", P_QUOTA, "us-east-1", "maxInstances")
    scene.ask({"h100": [quota_entry(maxInstances=4)]})
    scene.wait(32, 768, "at most 4")


def test_what_jobs_get_of_an_instance_can_be_written(scene: Scene) -> None:
    """The ratio to the quota stays that of the catalogue."""
    scene.aws.region().apply(P_QUOTA, 384)
    scene.ask({"h100": [quota_entry(perInstance={"cpu": "180"})]})
    scene.wait(16, 360)


def test_reservations_count_whole_and_once(scene: Scene) -> None:
    """By id or by tag, over pages; what is in use counts, what has not begun or holds another type does not."""
    scene.aws.page_size = 2
    tagged = {"Tags": rows.tags(team="ml")}
    scene.aws.region().reservations = [
        rows.reservation("cr-0000000a", rows.P5, 3, **tagged),
        rows.reservation("cr-0000000b", rows.P5, 2, AvailableInstanceCount=0, **tagged),
        rows.reservation("cr-0000000c", rows.P5, 4, State="scheduled", **tagged),
        rows.reservation("cr-0000000d", rows.P4D, 8, **tagged),
        rows.reservation("cr-0000000e", rows.P5, 16),
    ]
    scene.ask({"h100": [reservations_entry(tags={"team": "ml"})]})
    scene.wait(40, 960, "cr-0000000a: 3", "cr-0000000b: 2", "cr-0000000c is scheduled")
    scene.aws.region().reservations[1]["TotalInstanceCount"] = 1
    scene.wait(32, 768)
    scene.ask({"h100": [reservations_entry("cr-0000000e", "cr-0000000a")]})
    scene.wait(152, 3648)


def test_reservations_live_inside_the_quota(scene: Scene) -> None:
    """The larger of both counts: their sum would count instances twice."""
    scene.aws.region().apply(P_QUOTA, 384)
    scene.aws.region().reservations = [rows.reservation("cr-0000000a", rows.P5, 3)]
    entries = [quota_entry(), reservations_entry("cr-0000000a")]
    scene.ask({"h100": entries})
    scene.wait(24, 576, "Max of 2 p5.48xlarge", "3 p5.48xlarge")
    with pytest.raises(Refused, match="Sum would count reservations twice"):
        scene.ask({"h100": entries}, combine="Sum")


def test_tags_that_nothing_has_are_told(scene: Scene) -> None:
    """It may be so that nothing is reserved now. An Event says it, since it may be a slip."""
    scene.aws.region().reservations = [rows.reservation("cr-0000000a", rows.P5, 3)]
    scene.ask({"h100": [reservations_entry(tags={"team": "ml"})]})
    scene.wait(0, 0, "team=ml")
    wait_told(scene.plane, "NoReservations", "team=ml")


@pytest.mark.parametrize(
    ("ids", "row", "told"),
    [
        ("cr-0000000b", {}, ("cr-0000000b", "us-east-1")),
        ("cr-0000000a", {"InstanceType": rows.P4D}, ("cr-0000000a", rows.P4D, rows.P5)),
        ("cr-0000000a", {"ReservationType": "capacity-block"}, ("cr-0000000a", "capacityBlocks")),
        ("cr-0000000a", {"OwnerId": "999988887777"}, ("cr-0000000a", "999988887777", "share")),
    ],
    ids=["unknown", "of another type", "a block", "of another account"],
)
def test_a_reservation_that_cannot_be_meant_is_misconfigured(
    ids: str, row: dict[str, Any], told: tuple[str, ...], scene: Scene
) -> None:
    """What it is and what would be right are named. The last capacity stays."""
    scene.begin()
    scene.aws.region().reservations = [rows.reservation("cr-0000000a", rows.P5, 3, **row)]
    scene.ask({"h100": [reservations_entry(ids)]})
    wait_failed(scene.plane, "Misconfigured", *told)
    scene.ask({"h100": [quota_entry()]})
    scene.wait(16, 384)


def test_a_reservation_of_another_account_counts_by_its_share(scene: Scene) -> None:
    scene.aws.region().reservations = [rows.reservation("cr-0000000a", rows.P5, 5, OwnerId="999988887777")]
    scene.ask({"h100": [reservations_entry("cr-0000000a", share="0.5")]})
    scene.wait(16, 384)


# --- the whole catalogue -------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def moto(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The URL of moto, which knows all instance types of EC2."""
    with moto_server(tmp_path_factory.mktemp("moto")) as url:
        yield url


def test_accelerators_are_found_by_their_maker(moto: str, scene: Scene) -> None:
    """In the whole catalogue of EC2. A type that is not in it is a slip."""
    scene.aws.instance_types_from = moto
    sold = {
        "a10g": ("g5.12xlarge", "nvidia.com/gpu", 32),
        "an-eighth": ("g6f.xlarge", "nvidia.com/gpu", 96),
        "inferentia": ("inf2.48xlarge", "aws.amazon.com/neuron", 24),
    }
    flavors = {}
    for number, (name, (kind, _, _)) in enumerate(sold.items()):
        scene.aws.region().apply(f"L-0000000{number}", 384)
        flavors[name] = [{"instanceType": kind, "quota": {"code": f"L-0000000{number}"}}]
    scene.ask(flavors, resources={"exclude": ["cpu", "memory"]})
    wait_published(scene.plane, {f"{name}/{resource}": count for name, (_, resource, count) in sold.items()})
    scene.ask({"h100": [{"instanceType": "p9.huge", "quota": {"code": "L-00000000"}}]})
    wait_failed(scene.plane, "Misconfigured", "p9.huge")


def test_the_small_catalogue_says_what_moto_says(moto: str) -> None:
    """That of the other tests, which is shorter."""
    session = boto3.Session("any", "any", region_name=REGION)
    client = session.client("ec2", endpoint_url=moto)
    found = client.describe_instance_types(InstanceTypes=list(rows.INSTANCE_TYPES))["InstanceTypes"]
    theirs = {each["InstanceType"]: each for each in found}
    for name, ours in rows.INSTANCE_TYPES.items():
        assert _common(ours, theirs[name]) == ours, name


def _common(ours: Any, theirs: Any) -> Any:
    """Theirs, without what ours does not have."""
    if isinstance(ours, dict):
        return {key: _common(value, theirs.get(key)) for key, value in ours.items()}
    if isinstance(ours, list):
        return [_common(*pair) for pair in zip(ours, theirs, strict=True)]
    return theirs
