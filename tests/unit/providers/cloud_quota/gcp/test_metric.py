"""Quotas of Compute Engine, by region and over all regions."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import pytest

from kueue_dqo.api.cloud import MetricUnit
from kueue_dqo.provider import CapacityError, InvalidCapacity, Misconfigured, SourceUnavailable
from providers.cloud_quota.cloud import Limit
from providers.cloud_quota.gcp.questions import MachineQuestion, ProjectQuestion, Quotas, RegionQuestion
from providers.cloud_quota.heard import SomeAnswers
from tests.unit.providers.cloud_quota.gcp.accounts import (
    MACHINES,
    REGION,
    P,
    answers,
    derived,
    of_metric,
    project,
    texts,
)

UNLIMITED = 9.22337203685e18
L4, GPUS = "NVIDIA_L4_GPUS", "GPUS_ALL_REGIONS"


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
    assert "(unlimited)" in free.text


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
    ],
)
def test_what_cannot_be_counted_is_an_error_that_names_the_quota(
    limits: dict[str, float | None], more: dict[str, Any], error: type[CapacityError], said: str
) -> None:
    with pytest.raises(error, match=said) as raised:
        derived(of_metric(L4, "g2-standard-96", **more), answers(limits, {GPUS: UNLIMITED}))
    assert raised.type is error
    assert "fleet-1" in str(raised.value)


def test_a_machine_type_without_accelerators_takes_nothing_of_a_metric_of_gpus() -> None:
    with pytest.raises(Misconfigured, match="set accelerators of the entry"):
        derived(of_metric("NVIDIA_T4_GPUS", "n1-standard-8"), answers({"NVIDIA_T4_GPUS": 8.0}))


def test_a_name_that_does_not_tell_its_unit_asks_for_it() -> None:
    with pytest.raises(Misconfigured, match="set unit to Accelerators or VCPUs"):
        derived(of_metric("TPU_LITE_PODSLICE_V5", "ct5lp-hightpu-4t"), answers({"TPU_LITE_PODSLICE_V5": 8.0}))


def test_flavors_that_share_the_limit_over_all_regions_are_told_once() -> None:
    l4 = of_metric(L4, "g2-standard-96")
    t4 = of_metric("NVIDIA_T4_GPUS", "n1-standard-8", accelerators=4)
    account = project(l4, t4)
    given = answers({L4: 16.0, "NVIDIA_T4_GPUS": 8.0}, {GPUS: 16.0})
    first, second = (derived(entry, given, account=account) for entry in (l4, t4))
    assert (first.instances, second.instances) == (2, 2)
    (notice,) = first.notices
    assert notice.reason == "GlobalLimitShared"
    assert "flavor-0, flavor-1 count 24 of GPUS_ALL_REGIONS" in notice.message
    assert "16 over all regions" in notice.message
    assert second.notices == ()


@pytest.mark.parametrize("over_all", [24.0, UNLIMITED, None])
def test_flavors_within_the_limit_over_all_regions_are_no_news(over_all: float | None) -> None:
    entries = of_metric(L4, "g2-standard-96"), of_metric("NVIDIA_T4_GPUS", "n1-standard-8", accelerators=4)
    given = answers({L4: 16.0, "NVIDIA_T4_GPUS": 8.0}, {} if over_all is None else {GPUS: over_all})
    assert derived(entries[0], given, account=project(*entries)).notices == ()


def test_flavors_of_which_nothing_is_known_are_left_out_of_the_limit_over_all_regions() -> None:
    here, elsewhere = of_metric(L4, "g2-standard-96"), of_metric(L4, "g2-standard-96", region="europe-west4")
    machine = MachineQuestion(P, REGION, "g2-standard-96")
    given = {
        machine: MACHINES["g2-standard-96"],
        RegionQuestion(P, REGION): Quotas({L4: 16.0}),
        ProjectQuestion(P): Quotas({GPUS: 16.0}),
    }
    unanswered = SomeAnswers(given, frozenset({replace(machine, region="europe-west4")}))
    assert derived(here, unanswered, account=project(here, elsewhere)).notices == ()
