"""From limits to whole instances, and from instances to what jobs get of them."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from kueue_dqo.api.cloud import AwsEntry
from kueue_dqo.api.quantity import Quantity
from kueue_dqo.provider import InvalidCapacity, Misconfigured
from providers.cloud_quota.arithmetic import limit_of, whole_instances
from providers.cloud_quota.shapes import Shape, amounts, unknown_accelerators

GPU = "nvidia.com/gpu"
P5 = Shape(192, 2 * 1024**2, {GPU: 8})
VCPUS = 192
WHAT = "quota L-417A185B in us-east-1"


def entry(**fields: Any) -> AwsEntry:
    if isinstance(fields.get("share"), str):
        fields["share"] = Quantity.of(fields["share"])
    return AwsEntry(instance_type="p5.48xlarge", **fields)


def instances(value: float, **fields: Any) -> int:
    one = entry(**fields)
    limit = limit_of(value, what=WHAT, max_instances=one.max_instances)
    return whole_instances(limit, one, VCPUS, what=WHAT)


@pytest.mark.parametrize(
    ("value", "fields", "wanted"),
    [
        (384.0, {}, 2),
        (383.999, {}, 1),
        (300.0, {}, 1),
        (191.0, {}, 0),
        (0.0, {}, 0),
        (768.0, {"share": "0.5"}, 2),
        (640.0, {"share": "0.3"}, 1),  # 192 vCPUs exactly, which floats make a little less
        (768.0, {"share": "0.499999999"}, 1),
        (768.0, {"max_instances": 3}, 3),
        (384.0, {"max_instances": 3}, 2),
        (768.0, {"share": "0.5", "max_instances": 0}, 0),
    ],
)
def test_only_whole_instances_count(value: float, fields: dict[str, Any], wanted: int) -> None:
    assert instances(value, **fields) == wanted


@pytest.mark.parametrize("value", [-1.0, 9.22337e18, 2.0**62, float("inf")])
def test_no_limit_needs_one_in_the_parameters(value: float) -> None:
    assert instances(value, max_instances=5, share="0.5") == 5
    with pytest.raises(InvalidCapacity) as raised:
        instances(value)
    assert WHAT in str(raised.value)
    assert f"{value:g}" in str(raised.value)
    assert "maxInstances" in str(raised.value)


@pytest.mark.parametrize("value", [-2.0, -0.5, float("nan"), float("-inf")])
def test_an_impossible_limit_is_refused_whatever_the_parameters_say(value: float) -> None:
    with pytest.raises(InvalidCapacity, match=f"{WHAT} is {value:g}, which can be no limit"):
        instances(value, max_instances=5)


def test_a_limit_below_the_largest_integers_is_one() -> None:
    assert instances(2.0**61) == 2**61 // VCPUS


@pytest.mark.parametrize("takes", [0, -1])
def test_a_limit_that_an_instance_takes_nothing_of_says_nothing_about_it(takes: int) -> None:
    with pytest.raises(Misconfigured, match=rf"{WHAT}: p5.48xlarge takes {takes} of it"):
        whole_instances(Fraction(8), entry(), takes, what=WHAT)


def test_without_any_bound_nothing_can_be_said() -> None:
    with pytest.raises(InvalidCapacity, match="set maxInstances"):
        whole_instances(None, entry(), VCPUS, what=WHAT)


@settings(max_examples=200)
@given(st.integers(0, 10**7), st.integers(1, 10**9), st.integers(1, 1000))
@example(640, 300_000_000, 192)
def test_instances_never_take_more_than_their_share_and_one_more_always_would(
    limit: int, nanos: int, takes: int
) -> None:
    found = whole_instances(Fraction(limit), entry(share=Quantity(nanos)), takes, what=WHAT)
    assert found * takes * 10**9 <= limit * nanos < (found + 1) * takes * 10**9


# --- what jobs get of them -----------------------------------------------------------------------------------------


def texts(found: dict[str, Quantity]) -> dict[str, str]:
    return {resource: str(quantity) for resource, quantity in found.items()}


def test_instances_have_what_the_catalogue_says() -> None:
    assert texts(amounts(entry(), P5, 2)) == {"cpu": "384", "memory": "4Ti", GPU: "16"}


def test_no_instance_is_an_explicit_zero_of_everything() -> None:
    assert texts(amounts(entry(), P5, 0)) == {"cpu": "0", "memory": "0", GPU: "0"}


def test_what_the_parameters_say_of_an_instance_goes_before_the_catalogue() -> None:
    own = {"cpu": Quantity.of("189500m"), "vpc.amazonaws.com/efa": Quantity.of(32)}
    assert texts(amounts(entry(per_instance=own), P5, 2)) == {
        "cpu": "379",
        "memory": "4Ti",
        GPU: "16",
        "vpc.amazonaws.com/efa": "64",
    }


def test_accelerators_without_a_known_name_are_told_and_not_reported() -> None:
    shape = Shape(48, 96 * 1024, {}, unknown=("2 Xilinx U30",))
    (notice,) = unknown_accelerators(entry(), shape)
    assert notice.reason == "UnknownAccelerator"
    assert "p5.48xlarge has 2 Xilinx U30" in notice.message
    assert "perInstance" in notice.message
    assert texts(amounts(entry(), shape, 1)) == {"cpu": "48", "memory": "96Gi"}


def test_accelerators_that_the_parameters_name_are_not_told_of() -> None:
    shape = Shape(48, 96 * 1024, {GPU: 1}, unknown=("2 Xilinx U30",))
    named = {"xilinx.com/u30": Quantity.of(2)}
    assert unknown_accelerators(entry(per_instance=named), shape) == ()
    assert unknown_accelerators(entry(per_instance={GPU: Quantity.of(1), "cpu": Quantity.of(1)}), shape)
    assert unknown_accelerators(entry(), P5) == ()
