"""Reservations of Compute Engine: what counts of them, and what is no reservation of the entry."""

from __future__ import annotations

import datetime
from fractions import Fraction
from typing import Any

import hypothesis
import pytest
from hypothesis import strategies as st

from kueue_dqo.provider import CapacityError, InvalidCapacity, Misconfigured, SourceUnavailable
from providers.cloud_quota.cloud import Limit
from providers.cloud_quota.gcp import wording
from providers.cloud_quota.gcp.cloud import CLOUD
from tests.unit.providers.cloud_quota.gcp.accounts import ZONE, P, answers, derived, of_reservations, reservation, texts

A3 = "a3-highgpu-8g"
B = "us-central1-b"
ELSEWHERE = "europe-west4-a"


def test_all_instances_of_every_zone_with_that_name_count() -> None:
    given = answers(reservations=[reservation("big", B, 2), reservation("big"), reservation("big", ELSEWHERE, 9)])
    both = derived(of_reservations(A3, "big"), given)
    assert both.instances == 6
    assert texts(both.amounts)["nvidia.com/gpu"] == "48"
    assert both.text == "6 a3-highgpu-8g of reservations big in us-central1-a (4), big in us-central1-b (2)"
    assert both.limits == (
        Limit("fleet-1/us-central1-a/big", "us-central1", 4.0),
        Limit("fleet-1/us-central1-b/big", "us-central1", 2.0),
    )


def test_only_the_zones_that_are_named_count() -> None:
    given = answers(reservations=[reservation("big"), reservation("big", B, 2)])
    assert derived(of_reservations(A3, "big", zones=[B]), given).instances == 2


@pytest.mark.parametrize("status", ["CREATING", "DELETING", "INVALID", "A_STATUS_OF_TOMORROW"])
def test_one_that_is_not_ready_counts_nothing_and_it_is_said(status: str) -> None:
    given = answers(reservations=[reservation("big", status=status), reservation("old", count=1)])
    one = derived(of_reservations(A3, "big", "old"), given)
    assert one.instances == 1
    assert f"big in us-central1-a ({status}: 0 of 4)" in one.text


def test_one_whose_size_is_being_changed_counts_what_it_says() -> None:
    found = derived(of_reservations(A3, "big"), answers(reservations=[reservation("big", status="UPDATING")]))
    assert found.instances == 4
    assert found.text == "4 a3-highgpu-8g of reservation big in us-central1-a (4, UPDATING)"


def test_a_share_is_of_each_reservation_and_the_ceiling_of_all() -> None:
    given = answers(reservations=[reservation("one", count=3), reservation("two", count=3)])
    assert derived(of_reservations(A3, "one", "two", share="500m"), given).instances == 2
    assert derived(of_reservations(A3, "one", "two", max_instances=5), given).instances == 5
    text = derived(of_reservations(A3, "one", "two", share="0.5", max_instances=5), given).text
    assert text == (
        "2 a3-highgpu-8g of reservations (share 0.5, at most 5) one in us-central1-a (1 of 3), "
        "two in us-central1-a (1 of 3)"
    )


@pytest.mark.parametrize("share_type", ["SPECIFIC_PROJECTS", "ORGANIZATION", "A_TYPE_OF_TOMORROW"])
def test_one_that_is_shared_with_others_needs_a_share(share_type: str) -> None:
    given = answers(reservations=[reservation("big", share_type=share_type)])
    with pytest.raises(Misconfigured, match=rf"shared with other projects \({share_type}\).*or 1 for all of it"):
        derived(of_reservations(A3, "big"), given)
    assert derived(of_reservations(A3, "big", share="1"), given).instances == 4


@pytest.mark.parametrize("share_type", ["", "LOCAL"])
def test_one_that_is_shared_with_nobody_needs_none(share_type: str) -> None:
    given = answers(reservations=[reservation("big", share_type=share_type)])
    assert derived(of_reservations(A3, "big"), given).instances == 4


def test_shared_ones_are_looked_up_where_they_are_owned() -> None:
    given = answers(reservations=[reservation("big")], owner="owner-1")
    half = derived(of_reservations(A3, "big", project="owner-1", share="500m"), given)
    assert half.instances == 2
    assert half.text.endswith("big in us-central1-a of project owner-1 (2 of 4)")
    assert half.taken == {"reservation big in us-central1-a of project owner-1": Fraction(1, 2)}


def test_attached_gpus_have_to_be_those_of_the_entry() -> None:
    t4 = reservation("t4", count=3, machine_type="n1-standard-8", accelerators=(("nvidia-tesla-t4", 4),))
    found = derived(of_reservations("n1-standard-8", "t4", accelerators=4), answers(reservations=[t4]))
    assert texts(found.amounts) == {"cpu": "24", "memory": "90Gi", "nvidia.com/gpu": "12"}


@pytest.mark.parametrize("told", [(), (("nvidia-h100-80gb", 8),)])
def test_built_in_gpus_need_not_be_told(told: tuple[tuple[str, int], ...]) -> None:
    given = answers(reservations=[reservation("big", accelerators=told)])
    assert derived(of_reservations(A3, "big"), given).instances == 4
    assert derived(of_reservations(A3, "big", accelerators=8), given).instances == 4


N1_WITH_FOUR = {"machine_type": "n1-standard-8", "accelerators": (("nvidia-tesla-t4", 4),)}


@pytest.mark.parametrize(
    ("what", "entry", "error", "said"),
    [
        ({"machine_type": "a3-megagpu-8g"}, {}, Misconfigured, "a3-megagpu-8g, the entry of a3-highgpu-8g"),
        ({"machine_type": ""}, {}, Misconfigured, r"machine type \(none\)"),
        ({"count": None}, {}, SourceUnavailable, "without the number of its instances"),
        ({"count": None, "is_specific": False}, {}, Misconfigured, "no number of instances"),
        ({"accelerators": None}, {}, SourceUnavailable, "without the number of its accelerators"),
        ({"count": -1}, {}, InvalidCapacity, "-1"),
        ({"status": ""}, {}, SourceUnavailable, "without a status"),
        ({"accelerators": (("nvidia-h100-80gb", 4),)}, {}, Misconfigured, "4 nvidia-h100-80gb"),
        (N1_WITH_FOUR, {"machine_type": "n1-standard-8"}, Misconfigured, "the entry none"),
        (N1_WITH_FOUR, {"machine_type": "n1-standard-8", "accelerators": 2}, Misconfigured, "the entry 2"),
        (
            {"machine_type": "n1-standard-8"},
            {"machine_type": "n1-standard-8", "accelerators": 2},
            Misconfigured,
            "no accelerators",
        ),
        ({"delete_at": "tomorrow"}, {}, InvalidCapacity, "tomorrow"),
    ],
)
def test_what_is_no_reservation_of_the_entry_is_an_error(
    what: dict[str, Any], entry: dict[str, Any], error: type[CapacityError], said: str
) -> None:
    more = {"machine_type": A3, **entry}
    with pytest.raises(error, match=said) as raised:
        derived(
            of_reservations(more.pop("machine_type"), "big", **more), answers(reservations=[reservation("big", **what)])
        )
    assert raised.type is error
    assert "reservation big in us-central1-a of project fleet-1" in str(raised.value)


@pytest.mark.parametrize("zones", [(), (B,)])
def test_a_name_that_does_not_exist_in_the_zones_is_a_mistake(zones: tuple[str, ...]) -> None:
    given = answers(reservations=[reservation("big", ELSEWHERE), reservation("bigger")])
    with pytest.raises(Misconfigured, match="reservation big of project fleet-1 does not exist in us-central1"):
        derived(of_reservations(A3, "big", zones=zones), given)


SEEN = [
    {"status": "DELETING"},
    {"status": "DELETING", "delete_at": "2099-01-01T00:00:00Z"},
    {"delete_at": "2026-12-01T00:09:00Z"},
    {"delete_at": "2026-11-30T23:59:00Z"},
]


@pytest.mark.parametrize("seen", SEEN)
@pytest.mark.parametrize("more", [{}, {"zones": [ZONE]}, {"project": "owner-1", "share": "1"}])
@pytest.mark.parametrize("is_new", [False, True])
def test_one_that_was_seen_to_end_is_zero_afterwards(seen: dict[str, Any], more: dict[str, Any], is_new: bool) -> None:
    """A process that has just begun knows it by what the one before it said, and says so again."""
    ended: set[str] = set()
    entry, owner = of_reservations(A3, "big", **more), more.get("project", P)
    before = derived(entry, answers(reservations=[reservation("big", **seen)], owner=owner), ended)
    for _ in range(2):
        known = set(CLOUD.remembered(f"l4: 8; l4 from {before.text}")) if is_new else ended
        before = derived(entry, answers(owner=owner), known)
        assert before.instances == 0
        assert "(deleted: 0)" in before.text
        assert [notice.reason for notice in before.notices] == ["ReservationEnded"]


def test_one_that_is_gone_long_before_its_end_is_a_mistake() -> None:
    ended: set[str] = set()
    entry = of_reservations(A3, "big")
    seen = derived(entry, answers(reservations=[reservation("big", delete_at="2026-12-01T00:11:00Z")]), ended)
    for known in (ended, set(CLOUD.remembered(seen.text))):
        with pytest.raises(Misconfigured, match="does not exist"):
            derived(entry, answers(), known)


def test_one_that_ended_in_another_zone_is_a_mistake() -> None:
    ended: set[str] = set()
    derived(of_reservations(A3, "big"), answers(reservations=[reservation("big", status="DELETING")]), ended)
    with pytest.raises(Misconfigured, match=f"does not exist in {B}"):
        derived(of_reservations(A3, "big", zones=[B]), answers(), ended)


NAMES = st.from_regex(r"[a-z]([-a-z0-9]{0,8}[a-z0-9])?", fullmatch=True)
ZONES = st.sampled_from(["us-central1-a", "us-central1-ai1b", "northamerica-northeast2-c"])
ENDS = st.sampled_from(["", "2026-12-01T06:00:00Z", "2026-12-01T09:00:00.000-08:00"])
STATUSES = st.sampled_from(["READY", "UPDATING", "CREATING", "DELETING", "INVALID"])
OWNERS = st.sampled_from([None, "owner-1", "example.com:owner"])


@hypothesis.given(
    st.lists(st.tuples(NAMES, ZONES, OWNERS, STATUSES, ENDS, st.integers(0, 4)), max_size=4),
    st.lists(st.tuples(NAMES, st.sampled_from(["us-central1", "us-central1-a"]), OWNERS), max_size=2),
)
@hypothesis.settings(max_examples=100)
def test_ends_that_are_told_are_read_back(
    listed: list[tuple[str, str, str | None, str, str, int]], gone: list[tuple[str, str, str | None]]
) -> None:
    texts_of: list[str] = []
    wanted: set[str] = set()
    for name, zone, owner, status, end, part in listed:
        one = reservation(name, zone, status=status, delete_at=end)
        texts_of.append(f"{wording.name_text(name, zone, owner)} ({wording.state_text(one, 4, part)})")
        if end or status == "DELETING":
            wanted |= set(wording.memories(name, zone, owner, "" if status == "DELETING" else end))
    for name, place, owner in gone:
        texts_of.append(wording.gone_text(wording.name_text(name, place, owner)))
        wanted.add(wording.name_text(name, place, owner))
    message = f"a: 8; a from 1 c3 of quota CPUS in us-central1 (4) and 4 c3 of reservations {', '.join(texts_of)}"
    regions = {wording.name_text(name, "us-central1", owner) for name, _, owner in gone}
    assert wanted <= set(CLOUD.remembered(message)) <= wanted | regions


@pytest.mark.parametrize(
    "text",
    [
        "",
        "big in us-central1-a (4, until further notice)",
        "big in us-central1-a (4, until tomorrow)",
        "of NVIDIA_H100 in us-east5 (64)",
    ],
)
def test_what_tells_no_end_is_passed_over(text: str) -> None:
    assert list(CLOUD.remembered(text)) == []


def test_one_that_deletes_itself_counts_until_then_and_is_looked_at_again() -> None:
    first = reservation("big", delete_at="2026-12-01T09:00:00.000-08:00")
    given = answers(reservations=[first, reservation("old", delete_at="2026-12-02T00:00:00Z")])
    both = derived(of_reservations(A3, "big", "old"), given)
    assert both.instances == 8
    assert both.next == datetime.datetime(2026, 12, 1, 17, tzinfo=datetime.UTC)


def test_one_whose_time_is_over_counts_nothing_though_it_is_still_there() -> None:
    past = answers(reservations=[reservation("big", delete_at="2026-12-01T00:00:00Z")])
    over = derived(of_reservations(A3, "big"), past)
    assert (over.instances, over.next) == (0, None)
    assert over.text.endswith("(0 of 4, until 2026-12-01T00:00:00Z)")
    assert over.limits[0].value == 0


@pytest.mark.parametrize(
    ("missing", "zones", "is_whole"),
    [
        ("projects/fleet-1/zones/us-central1-b", (), False),
        ("zones/us-central1-b: UNREACHABLE try later", (), False),
        ("zones/us-central1-b", ("us-central1-a",), True),
        ("projects/fleet-1/regions/us-central1", (), False),
        ("zones/europe-west4-a", (), True),
        ("regions/europe-west4", (), True),
        ("PARTIAL_SUCCESS some were left out", (), False),
    ],
)
def test_zones_that_were_not_told_are_no_zero(missing: str, zones: tuple[str, ...], is_whole: bool) -> None:
    given = answers(reservations=[reservation("big")], missing=[missing])
    entry = of_reservations(A3, "big", zones=zones)
    if is_whole:
        assert derived(entry, given).instances == 4
        return
    with pytest.raises(SourceUnavailable) as raised:
        derived(entry, given)
    assert missing in str(raised.value)
