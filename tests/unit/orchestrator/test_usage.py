"""Queues whose Workloads hold more than their new quota."""

from __future__ import annotations

import pytest

from kueue_dqo.api.kueue import ClusterQueue, ClusterQueueStatus, FlavorUsage, ResourceUsage
from kueue_dqo.api.meta import ObjectMeta
from kueue_dqo.api.quantity import Quantity
from orchestrator.usage import excess_text, excesses
from tests.unit.orchestrator.builders import CPU, MEMORY, Amounts, Flavors, groups


def _usage(held: Amounts) -> tuple[FlavorUsage, ...]:
    return tuple(
        FlavorUsage(name, tuple(ResourceUsage(resource, Quantity.of(each)) for resource, each in resources.items()))
        for name, resources in held.items()
    )


def _queue(reserved: Amounts, used: Amounts | None = None) -> ClusterQueue:
    return ClusterQueue(
        ObjectMeta("a"),
        status=ClusterQueueStatus(flavors_reservation=_usage(reserved), flavors_usage=_usage(used or {})),
    )


BEFORE: Flavors = {"f": {CPU: 16, MEMORY: "16Gi"}}


@pytest.mark.parametrize(
    ("queue", "planned", "found"),
    [
        pytest.param(_queue({"f": {CPU: 12}}), {"f": {CPU: 8}}, {"f/cpu": ("12", "8", "4")}, id="above"),
        pytest.param(_queue({"f": {CPU: "8001m"}}), {"f": {CPU: 8}}, {"f/cpu": ("8001m", "8", "1m")}, id="just above"),
        pytest.param(_queue({"f": {CPU: 8}}), {"f": {CPU: 8}}, {}, id="all of it"),
        pytest.param(_queue({"f": {CPU: 20}}), {"f": {CPU: 16}}, {}, id="above a quota that stays: it borrows"),
        pytest.param(_queue({"f": {CPU: 20}}), {"f": {CPU: 18}}, {"f/cpu": ("20", "18", "2")}, id="grown, not enough"),
        pytest.param(_queue({"g": {CPU: 12}}), {"f": {CPU: 8}}, {}, id="of a flavor without quota"),
        pytest.param(_queue({}, {"f": {CPU: 12}}), {"f": {CPU: 8}}, {"f/cpu": ("12", "8", "4")}, id="usage alone"),
        pytest.param(_queue({"f": {CPU: 2}}, {"f": {CPU: 12}}), {"f": {CPU: 8}}, {}, id="reservations count"),
        pytest.param(
            _queue({"f": {CPU: 12, MEMORY: "10Gi"}}),
            {"f": {CPU: 8, MEMORY: "4Gi"}},
            {"f/cpu": ("12", "8", "4"), "f/memory": ("10Gi", "4Gi", "6Gi")},
            id="each pair",
        ),
    ],
)
def test_what_is_held_above_a_quota_that_changes(
    queue: ClusterQueue, planned: Flavors, found: dict[str, tuple[str, str, str]]
) -> None:
    """Used, the new quota, and the difference, as they are written."""
    present = excesses(queue, groups(planned), groups(BEFORE))
    assert {str(each.pair): (str(each.used), str(each.nominal), str(each.over)) for each in present} == found


@pytest.mark.parametrize(
    ("has_siblings", "consequence"),
    [
        (True, "the 4 above it count as borrowed, and queues of its cohort may reclaim them by preemption"),
        (False, "nobody is evicted, and nothing more is admitted until usage has fallen"),
    ],
)
def test_the_text_says_what_it_means(has_siblings: bool, consequence: str) -> None:
    """Which depends on whether anybody could take it back."""
    (excess,) = excesses(_queue({"f": {CPU: 12}}), groups({"f": {CPU: 8}}), groups(BEFORE))
    assert excess_text(excess, has_siblings=has_siblings) == f"uses 12 f/cpu, its new quota is 8: {consequence}"
