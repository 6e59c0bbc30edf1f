"""On-demand capacity reservations: by id and tag, by state, of other accounts, ended."""

from __future__ import annotations

import datetime
from typing import Any

import pytest

from kueue_dqo.api.cloud import AwsCapacityReservations
from kueue_dqo.provider import InvalidCapacity, Misconfigured, SourceUnavailable
from providers.cloud_quota.aws.cloud import CLOUD
from providers.cloud_quota.aws.questions import Reservation
from providers.cloud_quota.cloud import Limit
from tests.unit.providers.cloud_quota.aws.entries import (
    NOW,
    OTHER,
    OWN,
    P5,
    REGION,
    block,
    derived,
    entry,
    minutes,
    on_demand,
    reasons,
    reservation,
    shown,
)

HEADER = f"{P5} of 1 capacity reservation in {REGION}"


@pytest.mark.parametrize(
    ("state", "instances", "text"),
    [
        ("active", 4, "cr-a: 4"),
        ("expired", 0, "cr-a is expired: 0 of 4"),
        ("cancelled", 0, "cr-a is cancelled: 0 of 4"),
        ("cancelling", 0, "cr-a is cancelling: 0 of 4"),
        ("failed", 0, "cr-a is failed: 0 of 4"),
        ("payment-failed", 0, "cr-a is payment-failed: 0 of 4"),
        ("unsupported", 0, "cr-a is unsupported: 0 of 4"),
        ("pending", 0, "cr-a is pending: 0 of 4"),
        ("scheduled", 0, "cr-a is scheduled: 0 of 4"),
        ("payment-pending", 0, "cr-a is payment-pending: 0 of 4"),
        ("assessing", 0, "cr-a is assessing: 0 of 4"),
        ("delayed", 0, "cr-a is delayed: 0 of 4"),
        ("unavailable", 0, "cr-a is unavailable: 0 of 4"),
        ("one-of-next-year", 0, "cr-a is one-of-next-year: 0 of 4"),
    ],
)
def test_only_active_ones_count(state: str, instances: int, text: str) -> None:
    ended: set[str] = set()
    found = derived(entry(on_demand("cr-a")), reservation("cr-a", state=state), ended=ended)
    assert (found.instances, found.text) == (instances, f"{instances} {HEADER}: {text}")
    over = state in {"expired", "cancelled", "failed", "payment-failed", "unsupported"}
    assert ended == ({"cr-a"} if over else set())
    assert reasons(found) == (["ReservationEnded"] if over else [])
    assert found.taken == ({} if over else {"capacity reservation cr-a": 1})


def test_all_instances_count_those_in_use_included_and_each_reservation_once() -> None:
    wanted = AwsCapacityReservations(ids=("cr-a", "cr-b", "cr-a"), tags={"team": "ml"})
    listed = [reservation("cr-b", 2), reservation("cr-a", 3, tags={"team": "ml"}), reservation("cr-c", 9)]
    found = derived(entry(wanted), *listed)
    assert found.text == f"5 {P5} of 2 capacity reservations in {REGION}: cr-a: 3, cr-b: 2"
    assert shown(found) == {"cpu": "960", "memory": "10Ti", "nvidia.com/gpu": "40"}
    assert found.limits == (Limit("cr-a", REGION, 3), Limit("cr-b", REGION, 2))


def test_the_share_is_of_each_and_the_ceiling_of_all() -> None:
    wanted, listed = on_demand("cr-a", "cr-b"), [reservation("cr-a", 5), reservation("cr-b", 3)]
    found = derived(entry(wanted, share="0.5"), *listed)
    assert found.text == f"3 {P5} of 2 capacity reservations in {REGION} (share 0.5): cr-a: 2 of 5, cr-b: 1 of 3"
    assert [str(part) for part in found.taken.values()] == ["1/2", "1/2"]
    assert derived(entry(wanted, max_instances=6), *listed).instances == 6


@pytest.mark.parametrize(
    ("tags", "fields", "is_meant"),
    [
        ({"team": "ml", "pool": "a", "more": "x"}, {}, True),
        ({"team": "ml", "pool": "b"}, {}, False),
        ({"team": "ml"}, {}, False),
        ({"team": "ml", "pool": "a"}, {"instance_type": "p4d.24xlarge"}, False),
        ({"team": "ml", "pool": "a"}, {"kind": "capacity-block"}, False),
    ],
)
def test_tags_mean_those_of_the_type_and_kind_that_have_all_of_them(
    tags: dict[str, str], fields: dict[str, Any], is_meant: bool
) -> None:
    found = derived(entry(on_demand(team="ml", pool="a")), reservation("cr-a", tags=tags, **fields))
    assert found.instances == (4 if is_meant else 0)
    assert reasons(found) == ([] if is_meant else ["NoReservations"])
    if not is_meant:
        assert found.text == f"0 {P5}: no capacity reservation in {REGION} has the tags pool=a, team=ml"
        assert shown(found)["nvidia.com/gpu"] == "0"


@pytest.mark.parametrize(
    ("listed", "text"),
    [
        ([reservation("cr-b")], "capacity reservation cr-a is not among the 1 reservation that .* in us-east-1"),
        ([], "capacity reservation cr-a is not among the 0 reservations"),
        ([block("cr-a")], "cr-a in capacityReservations is no capacity reservation .*: name it in capacityBlocks"),
        ([reservation("cr-a", kind="new-kind")], "cr-a .* of type new-kind: take it out of capacityReservations"),
        ([reservation("cr-a", instance_type="p4d.24xlarge")], "cr-a holds p4d.24xlarge, and the entry is of p5.48xl"),
        ([reservation("cr-a", owner=OTHER)], f"cr-a belongs to account {OTHER} and is shared with {OWN}: set share"),
    ],
)
def test_an_id_that_means_something_else_is_a_mistake(listed: list[Reservation], text: str) -> None:
    with pytest.raises(Misconfigured, match=text):
        derived(entry(on_demand("cr-a")), *listed)


def test_all_mistakes_of_an_entry_are_told() -> None:
    with pytest.raises(Misconfigured, match=r"cr-a is not among.*; cr-b in capacityReservations is no"):
        derived(entry(on_demand("cr-a", "cr-b")), block("cr-b"))


@pytest.mark.parametrize("share", ["0.5", "1"])
def test_what_another_account_shares_counts_with_a_share(share: str) -> None:
    found = derived(entry(on_demand("cr-a"), share=share), reservation("cr-a", owner=OTHER))
    assert found.instances == (2 if share == "0.5" else 4)


def test_the_owner_of_what_is_over_does_not_matter() -> None:
    assert derived(entry(on_demand("cr-a")), reservation("cr-a", owner=OTHER, state="expired")).instances == 0


def test_one_that_was_seen_to_end_may_be_forgotten_by_ec2() -> None:
    ended: set[str] = set()
    before = derived(entry(on_demand("cr-a")), reservation("cr-a", state="expired"), ended=ended)
    after = derived(entry(on_demand("cr-a", "cr-a")), ended=ended)
    assert after.text == f"0 {HEADER}: cr-a has ended: 0"
    assert after.notices == before.notices
    assert "take it out of capacityReservations" in after.notices[0].message


@pytest.mark.parametrize(
    ("missing", "name"), [("owner", "OwnerId"), ("total", "TotalInstanceCount"), ("instance_type", "InstanceType")]
)
def test_what_has_to_be_known_is_never_taken_for_zero(missing: str, name: str) -> None:
    fields: dict[str, Any] = {missing: None}
    with pytest.raises(SourceUnavailable, match=f"{name} of cr-a"):
        derived(entry(on_demand("cr-a")), reservation("cr-a", **fields))


def test_what_is_missing_of_others_does_not_matter() -> None:
    other = Reservation("cr-b", "active", tags={"team": "web"})
    assert derived(entry(AwsCapacityReservations(("cr-a",), {"team": "ml"})), reservation("cr-a"), other).instances == 4


@pytest.mark.parametrize(
    ("start", "text", "wakes"),
    [
        (minutes(30), "cr-a is scheduled and starts at 2026-12-01T12:30:00Z: 0 of 4", minutes(30)),
        (NOW, "cr-a is scheduled and starts at 2026-12-01T12:00:00Z: 0 of 4", None),
        (minutes(-5), "cr-a is scheduled and starts at 2026-12-01T11:55:00Z: 0 of 4", None),
    ],
)
def test_one_of_a_future_date_is_looked_at_when_it_starts(
    start: datetime.datetime, text: str, wakes: datetime.datetime | None
) -> None:
    found = derived(entry(on_demand("cr-a")), reservation("cr-a", state="scheduled", start=start))
    assert (found.text, found.next) == (f"0 {HEADER}: {text}", wakes)


def test_one_with_an_end_counts_until_then() -> None:
    wanted = entry(on_demand("cr-a", "cr-b"))
    listed = [reservation("cr-a", end=minutes(10)), reservation("cr-b", 1, end=minutes(20))]
    before, after = derived(wanted, *listed), derived(wanted, *listed, now=minutes(10))
    assert (before.instances, before.next) == (5, minutes(10))
    assert (after.instances, after.next) == (1, minutes(20))
    assert "cr-a ended at 2026-12-01T12:10:00Z: 0 of 4" in after.text
    assert derived(wanted, *listed, now=NOW).notices == ()


def test_one_that_takes_no_instance_is_nothing() -> None:
    found = derived(entry(on_demand("cr-a")), reservation("cr-a", launch_status="unlaunchable"))
    assert found.text == f"0 {HEADER}: cr-a takes no instance now (unlaunchable): 0 of 4"


def test_the_text_stays_short_however_many_there_are() -> None:
    found = derived(entry(on_demand(team="ml")), *(reservation(f"cr-{n:02}", tags={"team": "ml"}) for n in range(40)))
    assert found.text.endswith("cr-04: 4 and 35 more")
    assert found.instances == 160


@pytest.mark.parametrize(
    "end",
    [
        reservation("cr-0a", state="expired"),
        reservation("cr-0a", state="cancelled"),
        reservation("cr-0a", end=minutes(30)),
        reservation("cr-0a", end=minutes(-30)),
        reservation("cr-0a", end=minutes(30), is_interruptible=True),
    ],
)
def test_a_new_process_reads_from_the_message_what_has_ended(end: Reservation) -> None:
    """And so a reservation that EC2 has forgotten by then is no mistake."""
    one, ended = entry(on_demand("cr-0a", "cr-0b")), set[str]()
    message = derived(one, end, reservation("cr-0b"), ended=ended).text
    assert set(CLOUD.remembered(message)) & ended
    later = derived(one, reservation("cr-0b"), ended=CLOUD.remembered(message), now=minutes(31))
    assert (later.instances, reasons(later)) == (4, ["ReservationEnded"])
    again = derived(one, reservation("cr-0b"), ended=CLOUD.remembered(later.text), now=minutes(32))
    assert again.instances == 4


def test_a_reservation_that_is_gone_before_its_end_is_a_mistake() -> None:
    one, ended = entry(on_demand("cr-0a")), set[str]()
    derived(one, reservation("cr-0a", end=minutes(30)), ended=ended)
    with pytest.raises(Misconfigured, match="cr-0a is not among"):
        derived(one, ended=ended, now=minutes(29))
    assert derived(one, ended=ended, now=minutes(30)).instances == 0


def test_a_negative_number_of_instances_is_none() -> None:
    with pytest.raises(InvalidCapacity, match="cr-b has -4 instances"):
        derived(entry(on_demand("cr-a", "cr-b")), reservation("cr-a", 8), reservation("cr-b", -4))


def test_limits_are_what_counts_and_not_too_many() -> None:
    found = derived(entry(on_demand("cr-a", "cr-b")), reservation("cr-a"), reservation("cr-b", state="scheduled"))
    assert [limit.value for limit in found.limits] == [4, 0]
    many = (reservation(f"cr-{number}", tags={"team": "ml"}) for number in range(300))
    assert len(derived(entry(on_demand(team="ml")), *many).limits) == 100
