"""Capacity blocks, which end at a time that is known from the start."""

from __future__ import annotations

import datetime
from typing import Final

from tests.clouds.aws import rows
from tests.integration.cloud.aws.scenes import Scene, blocks_entry, quota_entry
from tests.integration.providers.scenes import wait_failed, wait_told

_HOUR: Final = 60


def _in(minutes: float) -> datetime.datetime:
    return datetime.datetime.now(datetime.UTC).replace(microsecond=0) + datetime.timedelta(minutes=minutes)


def _text(time: datetime.datetime) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ")


def test_a_block_that_ends_soon_counts_no_more(scene: Scene) -> None:
    """Four p5 that end in 50 minutes, where nothing is admitted in the last hour: none, and the message says why."""
    ends = _in(50)
    scene.aws.region().reservations = [rows.block("cr-0000000a", rows.P5, 4, ends)]
    scene.ask({"h100": [blocks_entry("cr-0000000a")]})
    scene.wait(0, 0, "cr-0000000a", f"ends at {_text(ends)}", "stopAdmittingBefore", "0 of 4")
    scene.ask({"h100": [blocks_entry("cr-0000000a", before="45m")]})
    scene.wait(32, 768)


def test_blocks_count_when_they_have_begun_and_without_what_is_broken(scene: Scene) -> None:
    """Each by its own state; one instance of the second one cannot be used."""
    scene.aws.region().reservations = [
        rows.block("cr-0000000a", rows.P5, 2, _in(5 * _HOUR), State="scheduled", StartDate=_in(3 * _HOUR)),
        rows.block("cr-0000000b", rows.P5, 4, _in(5 * _HOUR)),
        rows.block("cr-0000000c", rows.P5, 1, _in(9 * _HOUR)),
    ]
    scene.aws.region().block_statuses = [rows.block_status("cr-0000000b", 4, 1), rows.block_status("cr-0000000c", 1, 0)]
    scene.ask({"h100": [blocks_entry("cr-0000000a", "cr-0000000b", "cr-0000000c")]})
    scene.wait(32, 768, "cr-0000000a is scheduled", "has 1 unavailable: 3 of 4")
    scene.aws.region().reservations[0]["State"] = "active"
    scene.wait(48, 1152)


def test_a_block_that_has_ended_is_no_slip(scene: Scene) -> None:
    """It is told while EC2 still knows it, and stays 0 when EC2 has forgotten it. One that was never seen is a slip."""
    over = rows.block("cr-0000000a", rows.P5, 4, _in(-10), State="expired")
    scene.aws.region().reservations = [over, rows.block("cr-0000000b", rows.P5, 1, _in(9 * _HOUR))]
    scene.ask({"h100": [blocks_entry("cr-0000000a", "cr-0000000b")]})
    scene.wait(8, 192, "cr-0000000a is expired")
    wait_told(scene.plane, "ReservationEnded", "cr-0000000a")
    del scene.aws.region().reservations[0]
    scene.wait(8, 192, "cr-0000000a has ended: 0")
    scene.ask({"h100": [blocks_entry("cr-0000000a", "cr-0000000b", "cr-0000000c")]})
    wait_failed(scene.plane, "Misconfigured", "cr-0000000c")


def test_blocks_may_be_added_to_the_quota(scene: Scene) -> None:
    """They are bought beside it."""
    scene.aws.region().apply("L-417A185B", 192)
    scene.aws.region().reservations = [rows.block("cr-0000000a", rows.P5, 4, _in(5 * _HOUR))]
    entries = [quota_entry(), blocks_entry("cr-0000000a")]
    scene.ask({"h100": entries}, combine="Sum")
    scene.wait(40, 960)
