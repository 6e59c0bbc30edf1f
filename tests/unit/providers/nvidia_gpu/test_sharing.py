"""Devices that are offered more than once: time-slicing, MPS, and the names that they get."""

from __future__ import annotations

import pytest

from kueue_dqo.api.gpu import GPU
from kueue_dqo.api.parameters import MigStrategy, SharedResource
from tests.unit.providers.nvidia_gpu.offers import EIGHT, LARGE, SMALL, inventory, offer, shared

RENAMED = f"{GPU}.shared"
PRODUCT = "NVIDIA-H100-80GB-HBM3"
PRODUCT_SHARED = f"{PRODUCT}-SHARED"


@pytest.mark.parametrize(
    ("labels", "offers"),
    [
        pytest.param(shared(GPU, 4, product=PRODUCT_SHARED, strategy="time-slicing"), {GPU: 32}, id="time-slicing"),
        pytest.param(shared(GPU, 4, product=PRODUCT_SHARED, strategy="mps"), {GPU: 32}, id="MPS"),
        pytest.param(shared(GPU, 4, product=PRODUCT_SHARED), {GPU: 32}, id="an old version that names no strategy"),
        pytest.param(shared(GPU, 4, product=PRODUCT, strategy="time-slicing"), {RENAMED: 32}, id="renamed"),
        pytest.param(shared(GPU, 4), {GPU: 32}, id="a label by hand, without a product"),
        pytest.param(shared(GPU, 1, product=PRODUCT, strategy="none"), {GPU: 8}, id="not shared"),
        pytest.param(shared(GPU, 4, product=PRODUCT, strategy="none"), {GPU: 8}, id="the strategy is none"),
        pytest.param(shared(GPU, 0, product=PRODUCT, strategy="none"), {GPU: 8}, id="cannot be shared as it stands"),
        pytest.param(shared(GPU, 0), {GPU: 8}, id="cannot be shared, by an old version"),
        pytest.param(shared(SMALL, 4), {GPU: 8}, id="only another resource is"),
        pytest.param(shared(GPU, 1000, product=PRODUCT_SHARED), {GPU: 8000}, id="the most"),
        pytest.param({f"{GPU}.sharing-strategy": "mps"}, {GPU: 8}, id="a strategy without a number"),
    ],
)
def test_labels_tell_how_devices_are_shared(labels: dict[str, str], offers: dict[str, int]) -> None:
    assert offer(EIGHT, labels) == (offers, offers, ())


def test_each_mig_resource_is_shared_by_itself_under_mixed() -> None:
    labels = (
        {"nvidia.com/mig.strategy": "mixed"}
        | shared(GPU, 2, product=PRODUCT_SHARED)
        | shared(SMALL, 4, product=f"{PRODUCT}-MIG-1g.10gb", strategy="time-slicing")
    )
    found = inventory({GPU: 6, SMALL: 7, LARGE: 2}, mig_gpus=2, unhealthy={SMALL: 1})
    assert offer(found, labels) == (
        {GPU: 12, f"{SMALL}.shared": 28, LARGE: 2},
        {GPU: 12, f"{SMALL}.shared": 32, LARGE: 2},
        (),
    )


def test_under_single_mig_devices_are_shared_as_gpus() -> None:
    labels = {"nvidia.com/mig.strategy": "single"} | shared(GPU, 3, product=f"{PRODUCT}-MIG-1g.10gb-SHARED")
    found = inventory({SMALL: 14}, mig_gpus=2)
    assert offer(found, labels | shared(SMALL, 10)).healthy == {GPU: 42}


def test_under_none_gpus_that_are_cut_are_shared_as_gpus() -> None:
    found = inventory({SMALL: 7, GPU: 7}, mig_gpus=1)
    assert offer(found, shared(GPU, 4, product=PRODUCT_SHARED)).healthy == {GPU: 32}


@pytest.mark.parametrize(
    ("has", "product", "name"),
    [
        pytest.param({RENAMED: 32}, PRODUCT_SHARED, RENAMED, id="renamed: the product's label lags behind"),
        pytest.param({RENAMED: 32, GPU: 0}, PRODUCT_SHARED, RENAMED, id="renamed: the kubelet remembers the old name"),
        pytest.param({RENAMED: 32}, None, RENAMED, id="renamed: there is no product"),
        pytest.param({GPU: 32}, PRODUCT, GPU, id="not renamed: the product's label lags behind"),
        pytest.param({GPU: 32, RENAMED: 0}, PRODUCT, GPU, id="not renamed: the kubelet remembers the new name"),
        pytest.param({GPU: 0, RENAMED: 0}, PRODUCT, RENAMED, id="neither, so the label: renamed"),
        pytest.param({GPU: 0, RENAMED: 0}, PRODUCT_SHARED, GPU, id="neither, so the label: not renamed"),
        pytest.param({GPU: 32, RENAMED: 32}, PRODUCT, RENAMED, id="both, so the label: renamed"),
        pytest.param({GPU: 32, RENAMED: 32}, PRODUCT_SHARED, GPU, id="both, so the label: not renamed"),
        pytest.param({GPU: None, RENAMED: None}, PRODUCT, RENAMED, id="null is as absent"),
    ],
)
def test_allocatable_settles_whether_what_is_shared_is_renamed(
    has: dict[str, int | None], product: str | None, name: str
) -> None:
    assert offer(EIGHT, shared(GPU, 4, product=product), has).healthy == {name: 32}


def test_a_single_replica_keeps_its_name_unless_allocatable_has_the_other_one() -> None:
    labels = shared(GPU, 1, product=PRODUCT)
    assert offer(EIGHT, labels).healthy == {GPU: 8}
    assert offer(EIGHT, labels, {RENAMED: 8}).healthy == {RENAMED: 8}


@pytest.mark.parametrize(
    ("sharing", "offers"),
    [
        pytest.param(SharedResource(GPU, 2), {GPU: 16}, id="another number"),
        pytest.param(SharedResource(GPU, 1), {GPU: 8}, id="not shared after all"),
        pytest.param(SharedResource(GPU, 2, RENAMED), {RENAMED: 16}, id="renamed"),
        pytest.param(SharedResource(GPU, 2, "nvidia.com/slice"), {"nvidia.com/slice": 16}, id="renamed as nobody does"),
        pytest.param(SharedResource(SMALL, 2), {RENAMED: 32}, id="another resource: the labels hold"),
    ],
)
def test_parameters_go_before_the_labels(sharing: SharedResource, offers: dict[str, int]) -> None:
    labels = shared(GPU, 4, product=PRODUCT, strategy="time-slicing")
    assert offer(EIGHT, labels, {RENAMED: 32}, sharing=(sharing,)) == (offers, offers, ())


def test_parameters_hide_labels_that_make_no_sense() -> None:
    assert offer(EIGHT, shared(GPU, "many"), sharing=(SharedResource(GPU, 4),)) == ({GPU: 32}, {GPU: 32}, ())


def test_resources_that_parameters_give_one_name_are_added_up() -> None:
    found = inventory({GPU: 6, SMALL: 7, LARGE: 2}, mig_gpus=2, unhealthy={LARGE: 1})
    sharing = (SharedResource(SMALL, 1, "nvidia.com/slice"), SharedResource(LARGE, 3, "nvidia.com/slice"))
    assert offer(found, strategy=MigStrategy.MIXED, sharing=sharing) == (
        {GPU: 6, "nvidia.com/slice": 13},
        {GPU: 6, "nvidia.com/slice": 16},
        (),
    )


@pytest.mark.parametrize("value", ["many", "-1", "", "4.0", "1_0", "٤", "1001", "99999999999999999999", " 4", "4\n"])
def test_a_number_of_replicas_that_is_none_is_ignored_and_told(value: str) -> None:
    found = offer(EIGHT, shared(GPU, value, product=PRODUCT))
    assert found.healthy == {GPU: 8}
    (problem,) = found.problems
    assert problem == (
        f"has the label nvidia.com/gpu.replicas={value}, which is no whole number up to 1000, so that its devices "
        "count as not shared: correct it, or set spec.sharing of the parameters"
    )


def test_an_unknown_way_of_sharing_is_ignored_and_told() -> None:
    found = offer(EIGHT, shared(GPU, 4, product=PRODUCT_SHARED, strategy="dreams"))
    assert found.healthy == {GPU: 8}
    (problem,) = found.problems
    assert problem.startswith(
        "has the label nvidia.com/gpu.sharing-strategy=dreams, which is neither none, time-slicing nor mps, so that its"
    )


def test_labels_of_resources_that_the_node_does_not_offer_are_no_problem() -> None:
    assert offer(EIGHT, shared(SMALL, "many")).problems == ()


def test_a_multiple_in_allocatable_that_nobody_tells_of_is_told() -> None:
    found = offer(EIGHT, has={GPU: 32})
    assert found.healthy == {GPU: 8}
    (problem,) = found.problems
    assert problem == (
        "has 32 nvidia.com/gpu in status.allocatable and 8 devices: if its device plugin offers each as 4, say so in "
        "spec.sharing of the parameters, or run GPU feature discovery, which labels the node with "
        "nvidia.com/gpu.replicas; so far each counts as one"
    )
    (problem,) = offer(EIGHT, has={RENAMED: 16}).problems
    assert problem.startswith("has 16 nvidia.com/gpu.shared in status.allocatable and 8 devices")


@pytest.mark.parametrize("amount", [0, 7, 8, 12, 20])
def test_an_allocatable_that_is_no_multiple_is_no_sign_of_sharing(amount: int) -> None:
    assert offer(EIGHT, has={GPU: amount}).problems == ()


def test_where_sharing_is_told_a_multiple_in_allocatable_is_no_problem() -> None:
    """Allocatable may lag behind, or the parameters may say something else on purpose."""
    assert offer(EIGHT, shared(GPU, 1, product=PRODUCT), {GPU: 32}).problems == ()
    assert offer(EIGHT, has={GPU: 32}, sharing=(SharedResource(GPU, 1),)).problems == ()


def test_beside_unhealthy_devices_a_multiple_in_allocatable_is_no_sign_of_sharing() -> None:
    """The device plugin may not have noticed that one of two GPUs is gone."""
    found = inventory({GPU: 1}, listed={"GPU-a": "Removed"})
    assert offer(found, has={GPU: 2}).problems == ()


def test_without_healthy_devices_nothing_is_a_multiple() -> None:
    assert offer(inventory({}), has={GPU: 8}).problems == ()
