"""Quotas of Compute Engine and of Cloud Quotas become whole instances: the right results, from the shipped daemon."""

from __future__ import annotations

from typing import Final

from tests.clouds.gcp.things import UNLIMITED, gpu_families, region, without_quotas
from tests.integration.cloud.gcp.scenes import GPUS, L4, ONLY_GPUS, REGION, Scene, on_h100, on_l4
from tests.integration.providers.scenes import GPU, POOL, capacity, wait_failed, wait_published

_PAIR: Final = f"l4/{GPU}"
_H100: Final = f"h100/{GPU}"


def test_the_smaller_of_region_and_project_counts(scene: Scene) -> None:
    """16 in the region and 8 over all: 8 GPUs, with the cpu and memory of 2 machines. Told by message and metrics."""
    scene.begin({"l4": [on_l4()]})
    said = wait_published(scene.plane, {_PAIR: 8, "l4/cpu": 96, "l4/memory": "384Gi"})
    for part in ("2 g2-standard-48", L4, REGION, "16", f"{GPUS} 8"):
        assert part in said
    limits = [scene.daemon.metric("kueue_dqo_cloud_quota_limit", provider=POOL, source=each) for each in (L4, GPUS)]
    assert limits == [16, 8]
    assert scene.daemon.metric("kueue_dqo_cloud_quota_instances", provider=POOL, flavor="l4", entry="0") == 2
    scene.set_limits({L4: 16}, {GPUS: 100})
    wait_published(scene.plane, {_PAIR: 16, "l4/cpu": 192, "l4/memory": "768Gi"})
    scene.set_limits({L4: 7}, {})  # a project that has no such row
    wait_published(scene.plane, {_PAIR: 4, "l4/cpu": 48, "l4/memory": "192Gi"})
    scene.set_limits({L4: 3}, {})
    wait_published(scene.plane, {_PAIR: 0, "l4/cpu": 0, "l4/memory": 0})
    assert len(scene.gcp.asked("compute.machineTypes.get")) == 1  # however often it looks


def test_a_region_that_answers_without_quotas_keeps_the_last_capacity(scene: Scene) -> None:
    """With 200, no rows and a warning: that is not 0. Rows beside a warning are not trusted either."""
    scene.begin({"l4": [on_l4()]}, resources=ONLY_GPUS)
    wait_published(scene.plane, {_PAIR: 8})
    whole = scene.project.regions[REGION]
    scene.project.regions[REGION] = without_quotas(whole)
    wait_failed(scene.plane, "SourceUnavailable", REGION, "not available for this region")
    assert capacity(scene.plane) == {_PAIR: "8"}
    scene.project.regions[REGION] = region(scene.project.id, REGION, {})
    wait_failed(scene.plane, "SourceUnavailable", REGION)
    scene.project.regions[REGION] = whole
    wait_published(scene.plane, {_PAIR: 8})
    partly = without_quotas(whole)
    partly.quotas = whole.quotas
    scene.project.regions[REGION] = partly
    wait_failed(scene.plane, "SourceUnavailable", REGION, "not available for this region")
    assert capacity(scene.plane) == {_PAIR: "8"}


def test_a_quota_without_limit_needs_a_ceiling(scene: Scene) -> None:
    """9.22337e18 is no amount of GPUs. With maxInstances, it is that many; a limit of the project does as well."""
    scene.set_limits({L4: UNLIMITED}, {})
    scene.begin({"l4": [on_l4()]}, resources=ONLY_GPUS)
    wait_failed(scene.plane, "InvalidCapacity", L4, REGION, "9.22337e+18", "maxInstances")
    assert capacity(scene.plane) == {}
    scene.begin({"l4": [on_l4(maxInstances=5)]}, resources=ONLY_GPUS)
    wait_published(scene.plane, {_PAIR: 20})
    scene.set_limits({L4: UNLIMITED}, {GPUS: 8})
    wait_published(scene.plane, {_PAIR: 8})


def test_vcpus_are_divided_by_share(scene: Scene) -> None:
    """Half of 100 vCPU is 6 machines of 8. With shares of more than all, both flavors are named."""
    scene.set_limits({"C3_CPUS": 100}, {"CPUS_ALL_REGIONS": 1000})
    half = {"machineType": "c3-standard-8", "metric": {"name": "C3_CPUS"}, "share": "0.5"}
    scene.begin({"one": [half], "other": [half]}, resources={"include": ["cpu"]})
    wait_published(scene.plane, {"one/cpu": 48, "other/cpu": 48})
    scene.begin({"one": [half], "other": [{**half, "share": "0.6"}]}, resources={"include": ["cpu"]})
    wait_failed(scene.plane, "Misconfigured", "C3_CPUS", "one", "other", "share")
    assert capacity(scene.plane) == {"one/cpu": "48", "other/cpu": "48"}


def test_attached_gpus_are_said_by_the_entry(scene: Scene) -> None:
    """N1 has none built in; what a job gets of a machine may be said as well."""
    scene.set_limits({"NVIDIA_T4_GPUS": 10}, {})
    entry = {"machineType": "n1-standard-8", "metric": {"name": "NVIDIA_T4_GPUS"}, "perInstance": {"cpu": "7"}}
    scene.begin({"t4": [entry]}, resources={"include": [GPU, "cpu"]})
    wait_failed(scene.plane, "Misconfigured", "n1-standard-8", "accelerators")
    scene.begin({"t4": [{**entry, "accelerators": 4}]}, resources={"include": [GPU, "cpu"]})
    wait_published(scene.plane, {f"t4/{GPU}": 8, "t4/cpu": 14})


def test_spot_may_be_added_to_on_demand(scene: Scene) -> None:
    """Each has a quota of its own; by default the larger one counts."""
    scene.set_limits({L4: 16, f"PREEMPTIBLE_{L4}": 12}, {})
    spot = on_l4(metric={"name": f"PREEMPTIBLE_{L4}"})
    scene.begin({"l4": [on_l4(), spot]}, resources=ONLY_GPUS)
    wait_published(scene.plane, {_PAIR: 16})
    scene.begin({"l4": [on_l4(), spot]}, combine="Sum", resources=ONLY_GPUS)
    wait_published(scene.plane, {_PAIR: 28})
    scene.begin({"l4": [on_l4(), spot]}, combine="Min", resources=ONLY_GPUS)
    wait_published(scene.plane, {_PAIR: 12})


def test_a_metric_that_is_not_there_is_misconfigured(scene: Scene) -> None:
    """Never 0. Near names are told; for H100, where its quota is."""
    scene.begin({"l4": [on_l4(metric={"name": "NVIDIA_L4_GPU", "unit": "Accelerators"})]}, resources=ONLY_GPUS)
    wait_failed(scene.plane, "Misconfigured", "NVIDIA_L4_GPU ", L4)
    scene.begin({"l4": [on_h100(metric={"name": "NVIDIA_H100_GPUS"})]}, resources=ONLY_GPUS)
    wait_failed(scene.plane, "Misconfigured", "NVIDIA_H100_GPUS", "gpuFamily")


def test_a_gpu_family_has_its_limit_by_region(scene: Scene) -> None:
    """The first row that fits: those of other regions and families come before it, the general one behind it."""
    h100 = on_h100(gpuFamily={"name": "NVIDIA_H100"})
    rows = [
        ({"region": "europe-west4", "gpu_family": "NVIDIA_H100"}, 800, ["europe-west4"]),
        ({"region": REGION, "gpu_family": "NVIDIA_H200"}, 640, [REGION]),
        ({"region": REGION, "gpu_family": "NVIDIA_H100"}, 20, [REGION]),
        ({"gpu_family": "NVIDIA_H100"}, 400, ["europe-west1", REGION]),
    ]
    scene.project.quota_infos = [gpu_families(scene.project.id, rows)]
    scene.begin({"h100": [h100]}, resources=ONLY_GPUS)
    wait_published(scene.plane, {_H100: 16}, "2 a3-highgpu-8g", "NVIDIA_H100", "20")
    scene.project.quota_infos = [gpu_families(scene.project.id, [(rows[2][0], 0, [REGION]), rows[3]])]
    wait_published(scene.plane, {_H100: 0})  # the value is not sent then
    scene.project.quota_infos = [gpu_families(scene.project.id, [*rows[:2], rows[3]])]
    wait_published(scene.plane, {_H100: 400})
    scene.project.quota_infos = [gpu_families(scene.project.id, rows[:2])]
    wait_failed(scene.plane, "Misconfigured", "NVIDIA_H100", REGION)
    assert capacity(scene.plane) == {_H100: "400"}
    scene.project.quota_infos = [gpu_families(scene.project.id, [(rows[2][0], -1, [REGION])])]
    wait_failed(scene.plane, "InvalidCapacity", "NVIDIA_H100", "-1", "maxInstances")


def test_flavors_do_not_take_more_than_there_is_over_all_regions(scene: Scene) -> None:
    """Each may have it alone, not both at once: the last capacity stays, and people are told what to do."""
    scene.set_limits({L4: 8, "NVIDIA_T4_GPUS": 8}, {GPUS: 16})
    t4 = {"machineType": "n1-standard-8", "accelerators": 4, "metric": {"name": "NVIDIA_T4_GPUS"}}
    scene.begin({"l4": [on_l4()], "t4": [t4]}, resources=ONLY_GPUS)
    wait_published(scene.plane, {_PAIR: 8, f"t4/{GPU}": 8})
    scene.set_limits({L4: 8, "NVIDIA_T4_GPUS": 8}, {GPUS: 8})
    wait_failed(scene.plane, "Misconfigured", GPUS, scene.project.id, "l4", "t4", "share", "maxInstances")
    assert capacity(scene.plane) == {_PAIR: "8", f"t4/{GPU}": "8"}
    scene.begin({"l4": [on_l4(maxInstances=1)], "t4": [{**t4, "maxInstances": 1}]}, resources=ONLY_GPUS)
    wait_published(scene.plane, {_PAIR: 4, f"t4/{GPU}": 4}, "at most 1")


def test_regions_do_not_add_up_to_more_than_there_is_over_all(scene: Scene) -> None:
    """Nor do spot and on-demand of one region."""
    scene.set_limits({L4: 8, f"PREEMPTIBLE_{L4}": 8}, {GPUS: 12})
    spot = on_l4(metric={"name": f"PREEMPTIBLE_{L4}"})
    scene.begin({"l4": [on_l4(), spot]}, combine="Sum", resources=ONLY_GPUS)
    wait_failed(scene.plane, "Misconfigured", f"{GPUS} of project {scene.project.id}")
    assert capacity(scene.plane) == {}
    scene.set_limits({L4: 8, f"PREEMPTIBLE_{L4}": 8}, {GPUS: 16})
    wait_published(scene.plane, {_PAIR: 16})


def test_tpus_are_not_bounded_by_the_quota_of_gpus(scene: Scene) -> None:
    """Its unit is said by the parameters: the name has none, and GPUs it counts not."""
    scene.set_limits({"TPU_LITE_PODSLICE_V5": 8}, {GPUS: 0})
    tpus = {"name": "TPU_LITE_PODSLICE_V5", "unit": "Accelerators"}
    scene.begin({"l4": [on_l4(metric=tpus)]}, resources=ONLY_GPUS)
    wait_published(scene.plane, {_PAIR: 8})
