"""What a person is told: stable, bounded, and with a way out."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Iterable

import pytest

from kueue_dqo.api.wording import LONGEST_MESSAGE
from kueue_dqo.provider import Notice
from tests.unit.providers.nvidia_gpu.gpus import (
    GPU,
    GRACE,
    NOW,
    SILENT_AFTER,
    SINCE,
    Manifest,
    ago,
    flavor,
    manifest,
    node,
    observed,
    seen_reports,
    spec,
)

PATIENT = spec(max_silent_percent=100)


def pool(count: int) -> list[str]:
    return [f"n{number:04}" for number in range(count)]


def by_reason(notices: Iterable[Notice]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for notice in notices:
        found.setdefault(notice.reason, []).append(notice.message)
    return found


def test_the_summary_tells_everything_in_one_order() -> None:
    names = pool(12)
    nodes = [node(name) for name in names[:-2]]
    nodes += [node("n0010", {GPU: 7}), node("n0011", unschedulable=True)]
    reports = [manifest(name) for name in names[4:]]
    reports += [
        manifest("n0000", {GPU: 7}, broken={"GPU-5a": "Lost"}),
        manifest("n0001", problem="LibraryNotFound"),
        manifest("n0002", renewed=ago(SILENT_AFTER + GRACE)),
    ]
    assert observed(nodes, reports, parameters=PATIENT).summary == (
        f"h100: 9 nodes, 70 {GPU}; unhealthy: n0000 GPU-5a Lost since {SINCE}; "
        "holding n0001 until 2026-09-20T10:10:00Z: LibraryNotFound; "
        "excluded: Cordoned=1, AgentSilent=1 (n0002), NoReport=1 (n0003); "
        f"capped by allocatable: n0010 7 of 8 {GPU}"
    )


def everything_is_wrong(count: int) -> tuple[list[str], list[Manifest]]:
    names = pool(count)
    kinds: list[Callable[[str], Manifest]] = [
        lambda name: manifest(name, {GPU: 4}, broken={f"GPU-{name}-{each}": f"Xid{each}" for each in range(4)}),
        lambda name: manifest(name, problem=f"Problem{name}", renewed=ago(1)),
        lambda name: manifest(name, renewed=ago(3000)),
        lambda name: manifest(name, gpus=-1),
        lambda name: manifest(name, {GPU: 16}),
        manifest,
    ]
    return names, [kinds[index % len(kinds)](name) for index, name in enumerate(names)]


def test_whatever_happens_to_thousands_of_nodes_fits_into_a_condition() -> None:
    names, reports = everything_is_wrong(1200)
    observation = observed([node(name) for name in names], reports, parameters=PATIENT)
    assert len(observation.summary) < 3000 < LONGEST_MESSAGE
    assert len(observation.notices) < 40
    assert all(len(notice.message) < 1024 for notice in observation.notices)  # what an Event takes
    assert " and 795 more" in observation.summary  # 200 nodes of 4 devices, 5 of which are shown


def test_devices_that_a_report_has_no_room_for_are_counted_among_those_that_are_not_shown() -> None:
    report = manifest(healthy={}, broken={"GPU-1": "Lost"}, unhealthyNotListed=15)
    assert f"unhealthy: n1 GPU-1 Lost since {SINCE} and 15 more" in observed([node()], [report]).summary


def test_a_device_without_a_uuid_goes_by_its_number() -> None:
    report = manifest(healthy={GPU: 7}, unhealthy=[{"reason": "Lost", "since": SINCE, "index": 3}])
    assert f"unhealthy: n1 GPU 3 Lost since {SINCE}" in observed([node()], [report]).summary


@pytest.mark.parametrize("seconds", [1, 30, 299])
def test_no_text_changes_while_only_time_passes(seconds: int) -> None:
    """Every other message is a write of the status."""
    names, reports = everything_is_wrong(12)
    known, nodes = seen_reports(reports), [node(name) for name in names]
    later = NOW + datetime.timedelta(seconds=seconds)
    first = observed(nodes, known, parameters=PATIENT)
    second = observed(nodes, known, parameters=PATIENT, now=later)
    assert second.summary == first.summary
    assert second.notices == first.notices


def test_the_order_of_nodes_and_reports_makes_no_difference() -> None:
    names, reports = everything_is_wrong(60)
    nodes = [node(name) for name in names]
    assert observed(nodes[::-1], reports[::-1], parameters=PATIENT) == observed(nodes, reports, parameters=PATIENT)


def test_a_few_resources_are_told_those_first_of_which_there_are_any() -> None:
    kinds = {f"nvidia.com/mig-{number}g.10gb": number for number in range(1, 8)}
    mixed = node(has=kinds, labels={"nvidia.com/mig.strategy": "mixed"})
    declared = {"h100": {"nvidia.com/mig-0g.5gb"}}
    observation = observed([mixed], [manifest("n1", kinds, mig_gpus=7)], declared=declared)
    told = ", ".join(f"{number} nvidia.com/mig-{number}g.10gb" for number in range(1, 6))
    assert observation.summary == f"h100: 1 node, {told} and 3 more"
    single = node(has=kinds, labels={"nvidia.com/mig.strategy": "single"})
    (odd,) = by_reason(observed([single], [manifest("n1", kinds, mig_gpus=7)]).notices)["OddOffer"]
    assert "profiles 1g.10gb, 2g.10gb, 3g.10gb, 4g.10gb, 5g.10gb and 2 more: under" in odd
    few = {each: number for each, number in kinds.items() if number < 3}
    observation = observed(
        [node(has=few, labels={"nvidia.com/mig.strategy": "mixed"})],
        [manifest("n1", few, mig_gpus=2)],
        declared=declared,
    )
    assert observation.summary.endswith(", 2 nvidia.com/mig-2g.10gb, 0 nvidia.com/mig-0g.5gb")


# --- Events --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("reason", "way_out"),
    [
        ("Lost", "reboot node n1"),
        ("Removed", "forgotten when node n1 is rebooted"),
        ("ResetRequired", "nvidia-smi --gpu-reset"),
        ("RebootRequired", "drain and reboot node n1"),
        ("DrainRequired", "drain node n1 and reset its GPUs"),
        ("ImexRecoveryRequired", "with node n1 (its IMEX domain)"),
        ("RowRemapFailed", "have the GPU replaced"),
        ("Unreadable", "--field-selector spec.nodeName=n1"),
        ("Xid79", "--disable-health-checks"),
    ],
)
def test_unhealthy_devices_are_told_by_reason_with_a_way_out(reason: str, way_out: str) -> None:
    report = manifest(healthy={GPU: 6}, broken={"GPU-1": reason, "GPU-2": reason})
    (notice,) = observed([node()], [report]).notices
    assert notice.reason == "DevicesUnhealthy"
    assert notice.is_warning
    assert notice.message.startswith(
        f"2 devices do not count, {reason}: n1 GPU-1 since {SINCE}, n1 GPU-2 since {SINCE}; "
    )
    assert way_out in notice.message


def test_nodes_of_all_flavors_are_told_together() -> None:
    nodes = [node("n1", unschedulable=True), node("a1", labels={"pool": "b"}, unschedulable=True)]
    observation = observed(nodes, [manifest("n1"), manifest("a1")], [flavor("h100"), flavor("a100", {"pool": "b"})])
    (notice,) = observation.notices
    assert notice.message.startswith("2 nodes do not count, Cordoned: a1, n1; ")
    assert not notice.is_warning


def test_the_same_oddity_of_many_nodes_is_one_event() -> None:
    nodes = [node(name, labels={"nvidia.com/mig.strategy": "some"}) for name in pool(7)]
    found = by_reason(observed(nodes, [manifest(name) for name in pool(7)]).notices)
    (message,) = found["OddOffer"]
    assert message.startswith(
        "7 nodes (n0000, n0001, n0002, n0003, n0004 and 2 more): each has the label nvidia.com/mig.strategy=some, which"
    )
