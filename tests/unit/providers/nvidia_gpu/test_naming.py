"""What a node offers by the device plugin's names: MIG strategies, and where they come from."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kueue_dqo.api.gpu import GPU, GPUInventory
from kueue_dqo.api.parameters import MigStrategy
from tests.unit.providers.nvidia_gpu.offers import EIGHT, LARGE, MEDIA, SMALL, inventory, offer, shared

STRATEGY = "nvidia.com/mig.strategy"
ONE_CUT_SEVEN_WHOLE = inventory({GPU: 7, SMALL: 7}, mig_gpus=1)
ALL_CUT_ALIKE = inventory({SMALL: 14}, mig_gpus=2)
CUT_UNEQUALLY = inventory({SMALL: 7, LARGE: 2}, mig_gpus=2)


@pytest.mark.parametrize(
    ("found", "strategy", "offers"),
    [
        pytest.param(EIGHT, "none", {GPU: 8}, id="none: whole GPUs"),
        pytest.param(ONE_CUT_SEVEN_WHOLE, "none", {GPU: 8}, id="none: GPUs that are cut count as whole ones"),
        pytest.param(EIGHT, "single", {GPU: 8}, id="single without MIG: whole GPUs"),
        pytest.param(ALL_CUT_ALIKE, "single", {GPU: 14}, id="single: each MIG device is a GPU"),
        pytest.param(EIGHT, "mixed", {GPU: 8}, id="mixed without MIG: whole GPUs"),
        pytest.param(ONE_CUT_SEVEN_WHOLE, "mixed", {GPU: 7, SMALL: 7}, id="mixed: each by its name"),
        pytest.param(
            inventory({SMALL: 6, MEDIA: 1}, mig_gpus=1), "mixed", {SMALL: 6, MEDIA: 1}, id="mixed: media extensions"
        ),
        pytest.param(inventory({}, mig_gpus=2), "mixed", {GPU: 0}, id="mixed: MIG is on, nothing is cut yet"),
        pytest.param(inventory({}, mig_gpus=2), "single", {GPU: 0}, id="single: MIG is on, nothing is cut yet"),
        pytest.param(inventory({}, mig_gpus=2), "none", {GPU: 2}, id="none: MIG is on, nothing is cut yet"),
        pytest.param(inventory({}), "none", {GPU: 0}, id="none: no GPU is left"),
    ],
)
def test_the_strategy_names_what_there_is(found: GPUInventory, strategy: str, offers: dict[str, int]) -> None:
    by_label = offer(found, {STRATEGY: strategy})
    assert by_label == (offers, offers, ())
    assert offer(found, strategy=MigStrategy(strategy.capitalize())) == by_label


@pytest.mark.parametrize(
    ("label", "has", "parameter", "offers"),
    [
        pytest.param("single", {SMALL: 7}, MigStrategy.AUTO, {GPU: 14}, id="the label goes before allocatable"),
        pytest.param("none", {SMALL: 7}, MigStrategy.AUTO, {GPU: 8}, id="the label none as well"),
        pytest.param(None, {SMALL: 7, GPU: 7}, MigStrategy.AUTO, {GPU: 7, SMALL: 7}, id="allocatable has MIG devices"),
        pytest.param(None, {SMALL: 0}, MigStrategy.AUTO, {GPU: 7, SMALL: 7}, id="all of them unhealthy"),
        pytest.param(None, {SMALL: None}, MigStrategy.AUTO, {GPU: 8}, id="an amount of null is as absent"),
        pytest.param(None, {GPU: 8}, MigStrategy.AUTO, {GPU: 8}, id="allocatable has none"),
        pytest.param(None, {}, MigStrategy.AUTO, {GPU: 8}, id="allocatable is empty"),
        pytest.param("mixed", {}, MigStrategy.NONE, {GPU: 8}, id="the parameter goes before the label"),
        pytest.param("none", {}, MigStrategy.MIXED, {GPU: 7, SMALL: 7}, id="the parameter goes before the label none"),
    ],
)
def test_where_the_strategy_comes_from(
    label: str | None, has: dict[str, int | None], parameter: MigStrategy, offers: dict[str, int]
) -> None:
    labels = {} if label is None else {STRATEGY: label}
    assert offer(ONE_CUT_SEVEN_WHOLE, labels, has, strategy=parameter).healthy == offers


@pytest.mark.parametrize("value", ["Mixed", "all", ""])
def test_an_unknown_strategy_is_ignored_and_told(value: str) -> None:
    found = offer(ONE_CUT_SEVEN_WHOLE, {STRATEGY: value}, {SMALL: 7, GPU: 7})
    assert found.healthy == {GPU: 7, SMALL: 7}
    (problem,) = found.problems
    assert problem == (
        f"has the label nvidia.com/mig.strategy={value}, which is neither none, single nor mixed, so that it is "
        "ignored: correct it, or set spec.migStrategy of the parameters"
    )
    assert offer(ONE_CUT_SEVEN_WHOLE, {STRATEGY: value}, strategy=MigStrategy.MIXED).problems == ()


@pytest.mark.parametrize(
    ("found", "offers", "why"),
    [
        pytest.param(ONE_CUT_SEVEN_WHOLE, 14, "7 GPUs without MIG beside others with it", id="MIG on and off"),
        pytest.param(
            inventory({GPU: 1}, mig_gpus=1), 1, "1 GPU without MIG beside others with it", id="on but nothing cut"
        ),
        pytest.param(CUT_UNEQUALLY, 9, "MIG devices of the profiles 1g.10gb, 3g.40gb", id="two profiles"),
        pytest.param(
            inventory({SMALL: 7}, unhealthy={LARGE: 2}), 7, "MIG devices of the profiles 1g.10gb, 3g.40gb", id="one ill"
        ),
        pytest.param(
            inventory({GPU: 2, SMALL: 6, MEDIA: 1}, mig_gpus=1),
            9,
            "2 GPUs without MIG beside others with it and MIG devices of the profiles 1g.10gb, 1g.10gb.me",
            id="both",
        ),
    ],
)
def test_single_with_several_kinds_of_devices_counts_them_and_says_so(
    found: GPUInventory, offers: int, why: str
) -> None:
    single = offer(found, {STRATEGY: "single"})
    assert single.healthy == {GPU: offers}
    (problem,) = single.problems
    assert problem.startswith(f"has {why}: under the MIG strategy single the device plugin wants one kind of device")
    assert offer(found, {STRATEGY: "mixed"}).problems == ()


@pytest.mark.parametrize(
    "found",
    [
        pytest.param(inventory({SMALL: 7}, unhealthy={GPU: 1}, mig_gpus=1), id="a lost GPU of which nothing is known"),
        pytest.param(inventory({SMALL: 7, LARGE: 0}, mig_gpus=1), id="a profile that nothing has"),
        pytest.param(inventory({SMALL: 3}, unhealthy={SMALL: 4}, mig_gpus=1), id="some MIG devices are unhealthy"),
    ],
)
def test_single_with_devices_of_one_kind_is_no_problem(found: GPUInventory) -> None:
    assert offer(found, {STRATEGY: "single"}).problems == ()


@pytest.mark.parametrize(
    ("found", "strategy", "healthy", "total"),
    [
        pytest.param(inventory({GPU: 7}, unhealthy={GPU: 1}), "none", {GPU: 7}, {GPU: 8}, id="one lost"),
        pytest.param(inventory({}, unhealthy={GPU: 8}), "none", {GPU: 0}, {GPU: 8}, id="all lost: an explicit zero"),
        pytest.param(inventory({}, unhealthy={GPU: 8}), "mixed", {GPU: 0}, {GPU: 8}, id="all lost under mixed"),
        pytest.param(inventory({SMALL: 7}, unhealthy={SMALL: 7}), "single", {GPU: 7}, {GPU: 14}, id="single"),
        pytest.param(
            inventory({SMALL: 5, GPU: 6}, unhealthy={SMALL: 2, LARGE: 2}),
            "mixed",
            {GPU: 6, LARGE: 0, SMALL: 5},
            {GPU: 6, LARGE: 2, SMALL: 7},
            id="mixed: by name",
        ),
        pytest.param(
            inventory({SMALL: 7}, mig_gpus=1, unhealthy={SMALL: 7}, listed={"GPU-a": "Xid79"}),
            "none",
            {GPU: 1},
            {GPU: 2},
            id="none: a GPU that is cut is only listed",
        ),
        pytest.param(
            inventory({}, unhealthy={SMALL: 14}, listed={"GPU-a": "Lost", "GPU-b": "Lost"}),
            "none",
            {GPU: 0},
            {GPU: 2},
            id="none: all GPUs that are cut are lost",
        ),
        pytest.param(
            inventory({SMALL: 6}, mig_gpus=1, unhealthy={SMALL: 1}, listed={"MIG-a": "Xid79"}),
            "none",
            {GPU: 1},
            {GPU: 1},
            id="none: an unhealthy MIG device leaves its GPU healthy",
        ),
        pytest.param(
            inventory({SMALL: 7}, mig_gpus=1, listed={"GPU-a": "Removed", "": "Lost"}),
            "none",
            {GPU: 1},
            {GPU: 2},
            id="none: what was removed is not there",
        ),
        pytest.param(
            inventory({SMALL: 7}, mig_gpus=1, unhealthy={GPU: 3}, listed={"GPU-a": "Lost"}),
            "none",
            {GPU: 1},
            {GPU: 4},
            id="none: the list was cut",
        ),
        pytest.param(
            inventory({GPU: 7}, listed={"GPU-a": "Removed"}), "none", {GPU: 7}, {GPU: 7}, id="removed, without MIG"
        ),
    ],
)
def test_unhealthy_devices_are_in_the_total_alone(
    found: GPUInventory, strategy: str, healthy: dict[str, int], total: dict[str, int]
) -> None:
    assert offer(found, {STRATEGY: strategy}) == (healthy, total, ())


counts = st.integers(0, 16)
inventories = st.builds(
    lambda healthy, ill, mig: inventory(healthy, mig_gpus=mig, unhealthy=ill),
    st.dictionaries(st.sampled_from([GPU, SMALL, LARGE, MEDIA]), counts),
    st.dictionaries(st.sampled_from([GPU, SMALL, LARGE, MEDIA]), counts),
    counts,
)
label_values = st.sampled_from(["none", "single", "mixed", "Mixed", ""])
replicas = st.sampled_from(["0", "1", "4", "1000", "1001", "-1", "many", ""])
products = st.sampled_from(["NVIDIA-H100", "NVIDIA-H100-SHARED", None])
allocatables = st.dictionaries(st.sampled_from([GPU, f"{GPU}.shared", SMALL, f"{SMALL}.shared"]), counts)


@given(inventories, label_values, replicas, products, allocatables)
def test_whatever_a_node_says_it_offers_no_more_than_it_has_times_its_replicas(
    found: GPUInventory, strategy: str, times: str, product: str | None, has: dict[str, int]
) -> None:
    offers = offer(found, {STRATEGY: strategy} | shared(GPU, times, product=product), dict(has))
    most = {"4": 4, "1000": 1000}.get(times, 1)
    devices = found.gpus + sum(each.healthy for each in found.devices)
    assert offers.healthy
    assert offers.healthy.keys() == offers.total.keys()
    assert all(0 <= amount <= offers.total[name] for name, amount in offers.healthy.items())
    assert sum(offers.healthy.values()) <= devices * most
    assert all(name.startswith("nvidia.com/") for name in offers.healthy)


@given(st.integers(0, 16), st.integers(0, 16), label_values)
def test_without_mig_every_strategy_says_the_same(healthy: int, ill: int, strategy: str) -> None:
    found = offer(inventory({GPU: healthy}, unhealthy={GPU: ill}), {STRATEGY: strategy})
    assert (found.healthy, found.total) == ({GPU: healthy}, {GPU: healthy + ill})
