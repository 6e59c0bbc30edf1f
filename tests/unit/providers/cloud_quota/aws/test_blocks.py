"""Capacity blocks: their end, what is broken of them, those to come."""

from __future__ import annotations

import datetime
from collections.abc import Mapping

import pytest

from kueue_dqo.provider import InvalidCapacity, Misconfigured, SourceUnavailable
from tests.unit.providers.cloud_quota.aws.entries import (
    NOW,
    OTHER,
    P5,
    REGION,
    block,
    blocks,
    derived,
    entry,
    minutes,
    reasons,
    reservation,
    shown,
)

HEADER = f"{P5} of 1 capacity block in {REGION}"


def test_a_block_that_ends_soon_admits_nothing_and_says_why() -> None:
    found = derived(entry(blocks("cr-a", early="60m")), block("cr-a", end=minutes(50)))
    why = "cr-a ends at 2026-12-01T12:50:00Z, and stopAdmittingBefore is 1h: 0 of 4"
    assert (found.instances, found.text, found.next) == (0, f"0 {HEADER}: {why}", None)
    assert shown(found) == {"cpu": "0", "memory": "0", "nvidia.com/gpu": "0"}


@pytest.mark.parametrize(
    ("early", "now", "instances"),
    [
        ("1h", NOW, 4),
        ("1h", minutes(59.99), 4),
        ("1h", minutes(60), 0),
        ("30m", minutes(60), 4),
        ("30m", minutes(90), 0),
        ("30m", minutes(500), 0),
    ],
)
def test_a_block_counts_until_so_long_before_its_end(early: str, now: datetime.datetime, instances: int) -> None:
    found = derived(entry(blocks("cr-a", early=early)), block("cr-a", end=minutes(120)), now=now)
    assert found.instances == instances
    assert found.next == (minutes(60 if early == "1h" else 90) if instances else None)


@pytest.mark.parametrize(
    ("unavailable", "text"),
    [
        ({}, "4 {}: cr-a until {}: 4"),
        ({"cb-other": 3}, "4 {}: cr-a until {}: 4"),
        ({"cb-a": 0}, "4 {}: cr-a until {}: 4"),
        ({"cb-a": 1}, "3 {}: cr-a until {} has 1 unavailable: 3 of 4"),
        ({"cb-a": 9}, "0 {}: cr-a until {} has 4 unavailable: 0 of 4"),
    ],
)
def test_what_is_broken_does_not_count(unavailable: Mapping[str, int | None], text: str) -> None:
    found = derived(entry(blocks("cr-a")), block("cr-a"), unavailable=unavailable)
    assert found.text == text.format(HEADER, "2026-12-01T22:00:00Z")


def test_what_is_broken_of_a_block_is_taken_off_its_reservations_once() -> None:
    parts = [block("cr-b", 2, block_id="cb-1"), block("cr-a", 2, block_id="cb-1"), block("cr-c", 2, block_id="cb-2")]
    found = derived(entry(blocks("cr-a", "cr-b", "cr-c")), *parts, unavailable={"cb-1": 3})
    assert found.instances == 3


def test_a_negative_number_of_broken_instances_is_none() -> None:
    with pytest.raises(InvalidCapacity, match="capacity block cb-a has -3 unavailable instances"):
        derived(entry(blocks("cr-a")), block("cr-a"), unavailable={"cb-a": -3})


def test_half_an_answer_about_a_block_is_no_answer() -> None:
    with pytest.raises(SourceUnavailable, match="TotalUnavailableCapacity of capacity block cb-a"):
        derived(entry(blocks("cr-a")), block("cr-a"), unavailable={"cb-a": None})
    with pytest.raises(SourceUnavailable, match="EndDate of cr-a"):
        derived(entry(blocks("cr-a")), block("cr-a", end=None))


def test_a_block_to_come_is_looked_at_when_it_starts() -> None:
    found = derived(entry(blocks("cr-a")), block("cr-a", state="scheduled", start=minutes(90)), unavailable={"cb-a": 1})
    assert found.text == f"0 {HEADER}: cr-a is scheduled and starts at 2026-12-01T13:30:00Z: 0 of 4"
    assert found.next == minutes(90)


def test_a_block_that_is_over_is_remembered() -> None:
    ended: set[str] = set()
    found = derived(entry(blocks("cr-a")), block("cr-a", state="expired"), ended=ended)
    assert (ended, reasons(found)) == ({"cr-a", "cr-a until 2026-12-01T22:00:00Z"}, ["ReservationEnded"])
    assert "take it out of capacityBlocks" in found.notices[0].message


def test_a_reservation_on_demand_is_no_block() -> None:
    with pytest.raises(Misconfigured, match=r"cr-a in capacityBlocks is no capacity block .*: name it in capacityRes"):
        derived(entry(blocks("cr-a")), reservation("cr-a"))
    found = derived(entry(blocks(team="ml")), reservation("cr-a", tags={"team": "ml"}))
    assert reasons(found) == ["NoReservations"]


def test_blocks_of_another_account_need_a_share() -> None:
    with pytest.raises(Misconfigured, match=f"capacity block cr-a belongs to account {OTHER}"):
        derived(entry(blocks("cr-a")), block("cr-a", owner=OTHER))
    assert derived(entry(blocks("cr-a"), share="0.5"), block("cr-a", owner=OTHER)).instances == 2


def test_blocks_are_summed_and_the_first_to_end_wakes() -> None:
    listed = [block("cr-a", end=minutes(300)), block("cr-b", 2, end=minutes(200)), block("cr-c", 1, end=minutes(30))]
    found = derived(entry(blocks("cr-a", "cr-b", "cr-c")), *listed)
    assert (found.instances, found.next) == (6, minutes(140))
