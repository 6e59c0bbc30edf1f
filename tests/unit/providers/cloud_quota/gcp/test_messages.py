"""The SDK's messages: JSON as the APIs write it, of which their types have to know every field."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from google.cloud import cloudquotas_v1, compute_v1
from google.protobuf import json_format  # type: ignore[import-untyped] # of the SDK

from kueue_dqo.provider import SourceUnavailable
from providers.cloud_quota.gcp import messages
from providers.cloud_quota.gcp.questions import Machine, QuotaRow, Quotas, Reservation

URL = "https://www.googleapis.com/compute/v1/projects/fleet-1"


def message(kind: Any, content: dict[str, Any]) -> Any:
    """A message of that type. A field that it does not know is an error."""
    found = kind()
    json_format.ParseDict(content, kind.pb(found), ignore_unknown_fields=False)
    return found


def test_quotas_and_zones_of_a_region() -> None:
    region = message(
        compute_v1.Region,
        {
            "zones": [f"{URL}/zones/us-central1-b", f"{URL}/zones/us-central1-a"],
            "quotas": [
                {"metric": "A_METRIC_OF_TOMORROW_GPUS", "limit": 16.0, "usage": 4.0, "owner": "x"},
                {"metric": "C3_CPUS", "limit": 0.0},
                {"metric": "CPUS"},
            ],
        },
    )
    assert messages.region_quotas(region, "it") == Quotas(
        {"A_METRIC_OF_TOMORROW_GPUS": 16.0, "C3_CPUS": 0.0, "CPUS": None}
    )
    assert messages.zones_of(region) == ("us-central1-a", "us-central1-b")


@pytest.mark.parametrize("warning", [{"code": "QUOTA_INFO_UNAVAILABLE"}, {"message": "not now"}])
def test_a_warning_about_quotas_is_an_error_whatever_stands_beside_it(warning: dict[str, str]) -> None:
    content = {"quotas": [{"metric": "CPUS", "limit": 1.0}], "quotaStatusWarning": warning}
    with pytest.raises(SourceUnavailable, match="could not tell its quotas"):
        messages.region_quotas(message(compute_v1.Region, content), "it")


def test_a_project_without_quotas_is_an_error() -> None:
    with pytest.raises(SourceUnavailable, match="without quotas"):
        messages.project_quotas(compute_v1.Project(), "it")
    whole = message(compute_v1.Project, {"quotas": [{"metric": "GPUS_ALL_REGIONS", "limit": 8.0}]})
    assert messages.project_quotas(whole, "it") == Quotas({"GPUS_ALL_REGIONS": 8.0})


@pytest.mark.parametrize(
    ("deprecated", "state"),
    [({}, ""), ({"deprecated": {"state": "ACTIVE"}}, ""), ({"deprecated": {"state": "OBSOLETE"}}, "OBSOLETE")],
)
def test_a_machine_type(deprecated: dict[str, Any], state: str) -> None:
    content = {
        "guestCpus": 208,
        "memoryMb": 1917952,
        "accelerators": [{"guestAcceleratorType": "nvidia-h100-80gb", "guestAcceleratorCount": 8}],
        **deprecated,
    }
    machine = messages.machine(message(compute_v1.MachineType, content), "it")
    assert machine == Machine(208, 1_917_952, (("nvidia-h100-80gb", 8),), state)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ({}, "guestCpus, memoryMb"),
        ({"guestCpus": 8}, "memoryMb"),
        ({"guestCpus": 0, "memoryMb": 1024}, "guestCpus"),
        ({"guestCpus": 8, "memoryMb": -1}, "memoryMb"),
        (
            {"guestCpus": 8, "memoryMb": 1, "accelerators": [{"guestAcceleratorType": "nvidia-l4"}]},
            "guestAcceleratorCount",
        ),
    ],
)
def test_a_machine_type_without_its_size_is_an_error(content: dict[str, Any], said: str) -> None:
    with pytest.raises(SourceUnavailable, match=f"it: the cloud answered without {said} of it"):
        messages.machine(message(compute_v1.MachineType, content), "it")


@pytest.mark.parametrize("second", [8.0, None])
def test_a_metric_with_two_limits_has_none(second: float | None) -> None:
    rows = [{"metric": "CPUS", "limit": 16.0}, {"metric": "CPUS"} | ({} if second is None else {"limit": second})]
    with pytest.raises(SourceUnavailable, match="two limits of CPUS"):
        messages.project_quotas(message(compute_v1.Project, {"quotas": rows}), "it")
    assert messages.project_quotas(message(compute_v1.Project, {"quotas": rows[:1] * 2}), "it") == Quotas(
        {"CPUS": 16.0}
    )


def test_limits_of_cloud_quotas_keep_their_order() -> None:
    info = message(
        cloudquotas_v1.QuotaInfo,
        {
            "dimensionsInfos": [
                {
                    "dimensions": {"region": "us-central1", "gpu_family": "NVIDIA_H100"},
                    "details": {"value": "9223372036854775807"},
                    "applicableLocations": ["us-central1"],
                },
                {"details": {"value": "-1"}},
                {"details": {}},
                {},
            ]
        },
    )
    rows = messages.quota_rows(info, "it")
    assert rows[0] == QuotaRow(
        {"region": "us-central1", "gpu_family": "NVIDIA_H100"}, ("us-central1",), 9_223_372_036_854_775_807
    )
    assert [row.value for row in rows[1:]] == [-1, 0, None]
    with pytest.raises(SourceUnavailable, match="no limits"):
        messages.quota_rows(cloudquotas_v1.QuotaInfo(), "it")


def test_reservations_of_a_page() -> None:
    page = message(
        compute_v1.ReservationAggregatedList,
        {
            "items": {
                "zones/us-central1-a": {
                    "reservations": [
                        {
                            "name": "t4",
                            "zone": f"{URL}/zones/us-central1-a",
                            "status": "READY",
                            "deleteAtTime": "2026-12-01T09:00:00.000-08:00",
                            "specificReservation": {
                                "count": "4",
                                "inUseCount": "3",
                                "assuredCount": "4",
                                "instanceProperties": {
                                    "machineType": "n1-standard-8",
                                    "guestAccelerators": [
                                        {"acceleratorType": "nvidia-tesla-t4", "acceleratorCount": 2}
                                    ],
                                },
                            },
                        },
                        {"name": "tpu", "status": "READY", "aggregateReservation": {"vmFamily": "VM_FAMILY_X"}},
                    ]
                }
            }
        },
    )
    assert list(messages.reservations(page)) == [
        Reservation(
            name="t4",
            zone="us-central1-a",
            status="READY",
            count=4,
            machine_type="n1-standard-8",
            accelerators=(("nvidia-tesla-t4", 2),),
            delete_at="2026-12-01T09:00:00.000-08:00",
        ),
        Reservation(name="tpu", zone="us-central1-a", status="READY", count=None, machine_type="", is_specific=False),
    ]


def test_what_a_reservation_leaves_out_is_not_zero() -> None:
    specific = {"instanceProperties": {"guestAccelerators": [{"acceleratorType": "nvidia-tesla-t4"}]}}
    found = {"name": "big", "specificReservation": specific, "shareSettings": {"shareType": "ORGANIZATION"}}
    content = {"items": {"zones/us-central1-a": {"reservations": [found]}}}
    (one,) = messages.reservations(message(compute_v1.ReservationAggregatedList, content))
    assert (one.is_specific, one.count, one.accelerators) == (True, None, None)
    assert one.is_shared


def test_a_reservation_on_two_pages_is_one() -> None:
    one = Reservation(name="big", zone="us-central1-a", status="READY", count=4, machine_type="c3")
    elsewhere = replace(one, zone="us-central1-b")
    assert messages.unique([one, elsewhere, one], "it") == (one, elsewhere)
    with pytest.raises(SourceUnavailable, match="it: the cloud told reservation big in us-central1-a in two ways"):
        messages.unique([one, replace(one, count=5)], "it")


def test_what_a_page_could_not_tell() -> None:
    page = message(
        compute_v1.ReservationAggregatedList,
        {
            "unreachables": ["zones/us-central1-c"],
            "warning": {"code": "PARTIAL_SUCCESS", "message": "some"},
            "items": {
                "zones/us-central1-a": {"warning": {"code": "NO_RESULTS_ON_PAGE", "message": "none"}},
                "zones/us-central1-b": {"warning": {"code": "UNREACHABLE", "message": "down"}},
                "zones/us-central1-f": {"warning": {"message": "no code"}},
            },
        },
    )
    assert list(messages.missing(page)) == [
        "zones/us-central1-c",
        "PARTIAL_SUCCESS some",
        "zones/us-central1-b: UNREACHABLE down",
        "zones/us-central1-f: warning no code",
    ]
