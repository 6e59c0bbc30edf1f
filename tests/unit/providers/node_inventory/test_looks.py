"""When the source asks to be asked: after a change of something that counts, and never after a heartbeat."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from kueue_dqo.api.parameters import Cordoned, Reserve
from kueue_dqo.runtime.resources import CLUSTER_QUEUES, NODES, PODS
from tests.unit.providers.node_inventory.cluster import Watched, node, pod, queue
from tests.unit.providers.node_inventory.inventory import spec

pytestmark = pytest.mark.looptime

COUNT_ALLOCATED = spec(cordoned=Cordoned.COUNT_ALLOCATED)
RESERVE = spec(reserve=Reserve.UNMANAGED_PODS)


@pytest.mark.parametrize(
    ("changed", "looks"),
    [
        pytest.param(node(heartbeat=30), 0, id="a heartbeat"),
        pytest.param(node(unschedulable=True), 1, id="a cordon"),
        pytest.param(node(ready="Unknown"), 1, id="not ready"),
        pytest.param(node(ready_since="2025-12-31T00:00:00Z"), 1, id="ready since another time"),
        pytest.param(node(labels={"pool": "b"}), 1, id="a label"),
        pytest.param(node(allocatable={"cpu": "5"}), 1, id="more to allocate"),
        pytest.param(node("n2"), 1, id="another node"),
    ],
)
async def test_only_what_counts_of_a_node_is_a_reason_to_look(changed: dict[str, Any], looks: int) -> None:
    watched = Watched()
    watched.client.put(NODES, node())
    async with watched.running():
        await watched.observe()
        assert await watched.looks_after(lambda: watched.client.put(NODES, changed)) == looks
        assert (await watched.observe()).capacity is not None


async def test_a_node_that_is_gone_is_a_reason_to_look() -> None:
    watched = Watched()
    watched.client.put(NODES, node())
    async with watched.running():
        await watched.observe()
        assert await watched.looks_after(lambda: watched.client.delete(NODES, "n1")) == 1
        assert (await watched.observe()).summary == "batch: 0 nodes"


@pytest.mark.parametrize(
    ("changed", "looks"),
    [
        pytest.param(queue("q", "cpu", usage=7), 0, id="its usage"),
        pytest.param(queue("r", "cpu"), 0, id="another one of the same pairs"),
        pytest.param(queue("q", "cpu", "memory"), 1, id="another resource"),
        pytest.param(queue("q"), 1, id="no pair any more"),
    ],
)
async def test_only_the_pairs_that_queues_declare_are_a_reason_to_look(changed: dict[str, Any], looks: int) -> None:
    watched = Watched()
    watched.client.put(CLUSTER_QUEUES, queue("q", "cpu"))
    async with watched.running():
        await watched.observe()
        assert await watched.looks_after(lambda: watched.client.put(CLUSTER_QUEUES, changed)) == looks


@pytest.mark.parametrize(
    ("parameters", "changed", "looks"),
    [
        pytest.param(COUNT_ALLOCATED, pod("new", on="n2", managed=True), 1, id="Kueue's, on a cordoned node"),
        pytest.param(COUNT_ALLOCATED, pod("new", on="n1", managed=True), 0, id="Kueue's, on another node"),
        pytest.param(COUNT_ALLOCATED, pod("new", on="n2"), 0, id="another one, which nobody counts"),
        pytest.param(RESERVE, pod("new", on="n1"), 1, id="another one"),
        pytest.param(RESERVE, pod("new", on="n2", managed=True), 0, id="Kueue's, which nobody counts"),
        pytest.param(RESERVE, pod("old", heartbeat=3), 0, id="no other request"),
        pytest.param(RESERVE, pod("old", "2"), 2, id="a resize: what went and what came"),
    ],
)
async def test_only_pods_that_change_what_counts_are_a_reason_to_look(
    parameters: Any, changed: dict[str, Any], looks: int
) -> None:
    """Jobs come and go all the time: only where their node is cordoned do they matter."""
    watched = Watched()
    watched.client.put(NODES, node("n1"))
    watched.client.put(NODES, node("n2", unschedulable=True))
    watched.client.put(PODS, pod("old"))
    async with watched.running():
        await watched.observe(parameters)
        await asyncio.sleep(1)
        assert await watched.looks_after(lambda: watched.client.put(PODS, changed)) == looks
