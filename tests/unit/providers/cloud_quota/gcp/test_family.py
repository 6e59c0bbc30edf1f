"""Quotas of Cloud Quotas by GPU family: which of their limits holds."""

from __future__ import annotations

from typing import Any

import pytest

from kueue_dqo.api.cloud import GcpEntry, GcpGpuFamily
from kueue_dqo.api.quantity import Quantity
from kueue_dqo.provider import CapacityError, InvalidCapacity, Misconfigured, SourceUnavailable
from providers.cloud_quota.cloud import Limit
from providers.cloud_quota.gcp.questions import QuotaRow
from tests.unit.providers.cloud_quota.gcp.accounts import answers, derived, texts

H100 = {"gpu_family": "NVIDIA_H100"}
HERE = {"region": "us-central1"}
ELSEWHERE = ("europe-west4",)


def entry(family: str = "NVIDIA_H100", machine_type: str = "a3-highgpu-8g", **more: Any) -> GcpEntry:
    return GcpEntry(machine_type=machine_type, gpu_family=GcpGpuFamily(family), **more)


def row(value: int | None, *dimensions: dict[str, str], locations: tuple[str, ...] = ("us-central1",)) -> QuotaRow:
    return QuotaRow({name: text for each in dimensions for name, text in each.items()}, locations, value)


@pytest.mark.parametrize(
    ("rows", "instances"),
    [
        ([row(32, HERE, H100)], 4),
        ([row(32, HERE, H100, locations=())], 4),  # not told where
        ([row(32, H100, locations=("us-central1", "us-east5"))], 4),
        ([row(32, H100, locations=("global",))], 4),
        # the more specific ones come first, and the first that fits holds
        ([row(16, HERE, H100), row(64, H100), row(8)], 2),
        ([row(0, HERE, H100), row(64, H100)], 0),
        # in whatever order they come
        ([row(8), row(64, H100), row(16, HERE, H100)], 2),
        ([row(16, HERE), row(64, H100)], 2),
        # of other regions and families, and about something narrower
        ([row(64, {"region": "us-east5"}, H100), row(16, HERE, H100)], 2),
        ([row(64, HERE, {"gpu_family": "NVIDIA_H200"}), row(16, HERE, H100)], 2),
        ([row(64, HERE, H100, {"zone": "us-central1-a"}), row(16, HERE, H100)], 2),
        ([row(64, H100, locations=ELSEWHERE), row(16, H100)], 2),
        # without a dimension it holds for every value that has none of its own
        ([row(64, {"gpu_family": "NVIDIA_B200"}), row(8)], 1),
        ([row(64, {"gpu_family": "NVIDIA_B200"}), row(8, HERE)], 1),
    ],
)
def test_most_specific_limit_that_fits_region_and_family_holds(rows: list[QuotaRow], instances: int) -> None:
    assert derived(entry(), answers(rows=rows)).instances == instances


def test_amounts_text_and_limit_of_a_family() -> None:
    two = derived(entry(), answers(rows=[row(23, HERE, H100)]))
    assert texts(two.amounts) == {"cpu": "416", "memory": "3746Gi", "nvidia.com/gpu": "16"}
    quota = "GPUS-PER-GPU-FAMILY-per-project-region"
    assert two.text == f"2 a3-highgpu-8g of quota {quota} of NVIDIA_H100 in us-central1 (23)"
    assert two.limits == (Limit(f"{quota}/NVIDIA_H100", "us-central1", 23.0),)


def test_text_tells_what_makes_less_of_it() -> None:
    text = derived(entry(share=Quantity.of("0.5"), max_instances=3), answers(rows=[row(64, HERE, H100)])).text
    assert text.endswith("(64, share 0.5, at most 3)")


def test_a_limit_for_every_family_is_said_to_be_one() -> None:
    text = derived(entry("NVIDIA_H1OO"), answers(rows=[row(64, HERE, H100), row(0)])).text
    assert "(0, the limit of every family without one of its own)" in text


@pytest.mark.parametrize(
    ("rows", "error", "said"),
    [
        ([row(64, HERE, {"gpu_family": "NVIDIA_H200"})], Misconfigured, "NVIDIA_H200"),
        (
            [row(64, H100, locations=ELSEWHERE)],
            Misconfigured,
            "NVIDIA_H100 in us-central1 .* name a region that has it",
        ),
        ([row(None, HERE, H100)], SourceUnavailable, "without a value"),
        ([row(-1, HERE, H100)], InvalidCapacity, "maxInstances"),
        ([row(2**63 - 1, HERE, H100)], InvalidCapacity, "maxInstances"),
        ([row(-7, HERE, H100)], InvalidCapacity, "-7"),
    ],
)
def test_what_cannot_be_counted_is_an_error(rows: list[QuotaRow], error: type[CapacityError], said: str) -> None:
    with pytest.raises(error, match=said) as raised:
        derived(entry(), answers(rows=rows))
    assert raised.type is error


def test_unlimited_is_bounded_by_max_instances() -> None:
    assert derived(entry(max_instances=3), answers(rows=[row(-1, HERE, H100)])).instances == 3


def test_a_machine_type_without_gpus_takes_nothing_of_a_family() -> None:
    with pytest.raises(Misconfigured, match="c3-standard-4 has none built in"):
        derived(entry(machine_type="c3-standard-4"), answers(rows=[row(64, HERE, H100)]))
