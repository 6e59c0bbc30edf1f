"""Pairs of flavor and resource on the command line."""

from __future__ import annotations

import pytest

from kueue_dqo.api.quantity import Quantity
from kueue_dqo.api.resources import FlavorResource
from kueue_dqo.cli.capacity.arguments import amounts_of


def test_pairs_are_set_and_taken_away() -> None:
    """The first slash parts flavor and resource: names of resources have slashes of their own."""
    assert amounts_of(["a100/nvidia.com/gpu=8", "batch/memory=1.5Gi", "batch/cpu-", "a-b/c-d=0"]) == {
        FlavorResource("a100", "nvidia.com/gpu"): Quantity.of(8),
        FlavorResource("batch", "memory"): Quantity.of("1.5Gi"),
        FlavorResource("batch", "cpu"): None,
        FlavorResource("a-b", "c-d"): Quantity.of(0),
    }


@pytest.mark.parametrize(
    ("text", "says"),
    [
        pytest.param("batch/cpu", "has no quantity", id="no amount"),
        pytest.param("cpu=4", "is no pair of flavor and resource", id="no flavor"),
        pytest.param("/cpu=4", "is no pair of flavor and resource", id="an empty flavor"),
        pytest.param("batch/=4", "is no pair of flavor and resource", id="an empty resource"),
        pytest.param("batch-", "is no pair of flavor and resource", id="no resource to take away"),
        pytest.param("batch/cpu=", "is no quantity", id="an empty amount"),
        pytest.param("batch/cpu=4x", "is no quantity", id="no quantity"),
        pytest.param("batch/cpu=1=2", "is no quantity", id="two amounts"),
        pytest.param("batch/cpu=-1m", "is negative", id="negative"),
        pytest.param("batch/cpu=9223372036854775808", "is more than 9223372036854775807", id="above the largest"),
        pytest.param("batch/cpu=8Ei", "is more than 9223372036854775807", id="above the largest, in short"),
    ],
)
def test_what_is_no_amount_of_a_pair_is_refused(text: str, says: str) -> None:
    """The message shows the argument."""
    with pytest.raises(ValueError, match=says) as raised:
        amounts_of([text])
    assert repr(text) in str(raised.value)


def test_the_largest_amount_is_taken() -> None:
    """It is what Kueue holds."""
    (amount,) = amounts_of(["batch/cpu=9223372036854775807"]).values()
    assert amount == Quantity.of(2**63 - 1)


def test_a_pair_is_named_once() -> None:
    """Also where it is set and taken away."""
    with pytest.raises(ValueError, match="batch/cpu is named twice"):
        amounts_of(["batch/cpu=1", "batch/cpu-"])
