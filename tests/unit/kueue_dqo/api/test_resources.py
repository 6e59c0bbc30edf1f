"""Pairs of flavor and resource, and the unit of a resource."""

from __future__ import annotations

import pytest

from kueue_dqo.api.quantity import Quantity
from kueue_dqo.api.resources import FlavorResource, unit_nanos


@pytest.mark.parametrize(
    ("resource", "unit"),
    [("cpu", "1m"), ("memory", "1"), ("nvidia.com/gpu", "1"), ("pods", "1"), ("example.com/cpu", "1")],
)
def test_cpu_is_split_in_thousandths_and_all_else_in_units(resource: str, unit: str) -> None:
    """Whatever else has cpu in its name."""
    assert unit_nanos(resource) == Quantity.of(unit).nanos


def test_a_pair_is_shown_as_flavor_and_resource() -> None:
    """As tables and messages name it."""
    assert str(FlavorResource("spot", "nvidia.com/gpu")) == "spot/nvidia.com/gpu"
