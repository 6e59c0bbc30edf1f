"""Quotas of Compute Engine, by region and over all regions."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import pytest

from kueue_dqo.api.cloud import MetricUnit
from kueue_dqo.provider import CapacityError, InvalidCapacity, Misconfigured, SourceUnavailable
from providers.cloud_quota.cloud import Draw, Limit
from tests.unit.providers.cloud_quota.gcp.accounts import answers, derived, of_metric, texts

UNLIMITED = 9.22337203685e18
L4, GPUS = "NVIDIA_L4_GPUS", "GPUS_ALL_REGIONS"
KEY = "quota GPUS_ALL_REGIONS of project fleet-1"


@pytest.mark.parametrize(
    ("regional", "over_all", "more", "instances"),
    [
        (16.0, 8.0, {}, 1),
        (16.0, 16.0, {}, 2),
        (8.0, 16.0, {}, 1),
        (16.0, None, {}, 2),  # the project has no such quota
        (15.0, 16.0, {}, 1),  # whole instances only
        (7.0, 16.0, {}, 0),
        (0.0, 16.0, {}, 0),
        (16.0, 16.0, {"share": "500m"}, 1),
        (32.0, 8.0, {"share": "500m"}, 0),  # the share is of what there really is
        (160.0, 160.0, {"max_instances": 3}, 3),
        (UNLIMITED, 16.0, {}, 2),  # bounded by the other
        (-1.0, 16.0, {}, 2),
        (16.0, UNLIMITED, {}, 2),
        (UNLIMITED, UNLIMITED, {"max_instances": 5}, 5),
        (16.0, 8.0, {"global_metric": ""}, 2),  # told that none bounds it
    ],
)
def test_smaller_limit_of_region_and_project_counts_in_whole_instances(
    regional: float, over_all: float | None, more: dict[str, Any], instances: int
) -> None:
    given = answers({L4: regional}, {} if over_all is None else {GPUS: over_all})
    assert derived(of_metric(L4, "g2-standard-96", **more), given).instances == instances


def test_amounts_are_those_of_the_whole_instances_and_explicit_zeros_of_none() -> None:
    two = derived(of_metric(L4, "g2-standard-96"), answers({L4: 16.0}))
    assert texts(two.amounts) == {"cpu": "192", "memory": "768Gi", "nvidia.com/gpu": "16"}
    none = derived(of_metric(L4, "g2-standard-96"), answers({L4: 0.0}))
    assert texts(none.amounts) == {"cpu": "0", "memory": "0", "nvidia.com/gpu": "0"}


def test_text_and_limits_tell_both_quotas() -> None:
    one = derived(of_metric(L4, "g2-standard-96"), answers({L4: 16.0}, {GPUS: 8.0}))
    assert one.text == "1 g2-standard-96 of quota NVIDIA_L4_GPUS in us-central1 (16, GPUS_ALL_REGIONS 8)"
    assert one.limits == (Limit(L4, "us-central1", 16.0), Limit(GPUS, "global", 8.0))
    free = derived(of_metric(L4, "g2-standard-96", max_instances=1), answers({L4: UNLIMITED}))
    assert free.limits == (Limit(L4, "us-central1", math.inf),)
    assert "(unlimited, at most 1)" in free.text
    assert (one.draws, free.draws) == ({KEY: Draw(KEY, Fraction(8), Fraction(8))}, {})
    part = derived(of_metric(L4, "g2-standard-96", share="0.5", max_instances=3), answers({L4: 16.0}, {GPUS: 16.0}))
    assert part.text.endswith("(16, GPUS_ALL_REGIONS 16, share 0.5, at most 3)")


@pytest.mark.parametrize(
    ("metric", "machine_type", "more", "instances"),
    [
        ("C3_CPUS", "c3-standard-4", {}, 3),
        ("PREEMPTIBLE_CPUS", "n1-standard-8", {}, 1),
        ("NVIDIA_T4_GPUS", "n1-standard-8", {"accelerators": 4}, 3),
        ("TPU_LITE_PODSLICE_V5", "ct5lp-hightpu-4t", {"unit": MetricUnit.ACCELERATORS}, 3),
        ("A_METRIC_OF_TOMORROW_GPUS", "a3-highgpu-8g", {}, 1),
        ("CEREBRAS_GPUS", "x9-standard-8", {}, 6),  # counted, though the resource is not known
    ],
)
def test_an_instance_takes_what_the_metric_counts(
    metric: str, machine_type: str, more: dict[str, Any], instances: int
) -> None:
    assert derived(of_metric(metric, machine_type, **more), answers({metric: 12.0})).instances == instances


def test_vcpus_are_bounded_by_those_over_all_regions() -> None:
    given = answers({"C3_CPUS": 12.0}, {"CPUS_ALL_REGIONS": 8.0, GPUS: 0.0})
    assert derived(of_metric("C3_CPUS", "c3-standard-4"), given).instances == 2


@pytest.mark.parametrize(
    ("limits", "more", "error", "said"),
    [
        ({"NVIDIA_T4_GPUS": 1.0, "CPUS": 8.0}, {}, Misconfigured, "NVIDIA_T4_GPUS"),
        ({"CPUS": 8.0}, {}, Misconfigured, "gpuFamily"),
        ({L4: None}, {}, SourceUnavailable, "without a limit"),
        ({L4: UNLIMITED}, {}, InvalidCapacity, "maxInstances"),
        ({L4: -1.0}, {}, InvalidCapacity, "maxInstances"),
        ({L4: math.nan}, {}, InvalidCapacity, "nan"),
        ({L4: -2.0}, {"max_instances": 4}, InvalidCapacity, "-2"),
        ({L4: 8.0}, {"global_metric": "GPUS_ALL_REGION"}, Misconfigured, "GPUS_ALL_REGIONS"),
        ({L4: 8.0}, {"global_metric": "BAD"}, InvalidCapacity, "quota BAD of project fleet-1 is nan"),
    ],
)
def test_what_cannot_be_counted_is_an_error_that_names_the_quota(
    limits: dict[str, float | None], more: dict[str, Any], error: type[CapacityError], said: str
) -> None:
    with pytest.raises(error, match=said) as raised:
        derived(of_metric(L4, "g2-standard-96", **more), answers(limits, {GPUS: UNLIMITED, "BAD": math.nan}))
    assert raised.type is error
    assert "fleet-1" in str(raised.value)


def test_a_machine_type_without_accelerators_takes_nothing_of_a_metric_of_gpus() -> None:
    with pytest.raises(Misconfigured, match="set accelerators of the entry"):
        derived(of_metric("NVIDIA_T4_GPUS", "n1-standard-8"), answers({"NVIDIA_T4_GPUS": 8.0}))


def test_a_name_that_does_not_tell_its_unit_asks_for_it() -> None:
    with pytest.raises(Misconfigured, match="set unit to Accelerators or VCPUs"):
        derived(of_metric("TPU_LITE_PODSLICE_V5", "ct5lp-hightpu-4t"), answers({"TPU_LITE_PODSLICE_V5": 8.0}))


def test_what_is_no_gpu_by_its_name_is_not_bounded_by_that_of_gpus() -> None:
    tpus = {"TPU_LITE_PODSLICE_V5": 8.0}
    entry = of_metric("TPU_LITE_PODSLICE_V5", "ct5lp-hightpu-4t", unit=MetricUnit.ACCELERATORS)
    found = derived(entry, answers(tpus, {GPUS: 0.0, "CPUS_ALL_REGIONS": 0.0}))
    assert (found.instances, found.draws) == (2, {})
    named = of_metric("TPU_LITE_PODSLICE_V5", "ct5lp-hightpu-4t", "TPUS_EVERYWHERE", unit=MetricUnit.ACCELERATORS)
    assert derived(named, answers(tpus, {"TPUS_EVERYWHERE": 4.0})).instances == 1


def test_each_limit_counts_what_an_instance_takes_of_it() -> None:
    """GPUs of the region, vCPUs over all: 2 instances by the first, 1 by the second."""
    entry = of_metric(L4, "g2-standard-96", "CPUS_ALL_REGIONS")
    found = derived(entry, answers({L4: 16.0}, {"CPUS_ALL_REGIONS": 100.0}))
    assert found.instances == 1
    assert [(int(each.limit), int(each.amount)) for each in found.draws.values()] == [(100, 96)]


def test_entries_of_two_metrics_draw_from_one_limit() -> None:
    given = answers({L4: 8.0, "NVIDIA_T4_GPUS": 8.0}, {GPUS: 12.0})
    l4 = derived(of_metric(L4, "g2-standard-96"), given)
    t4 = derived(of_metric("NVIDIA_T4_GPUS", "n1-standard-8", accelerators=4), given)
    assert l4.draws == {KEY: Draw(KEY, Fraction(12), Fraction(8))}
    assert t4.draws == {KEY: Draw(KEY, Fraction(12), Fraction(8))}
