"""When the source asks to be asked: after a change of what counts, soon, and never after a heartbeat."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest

from kueue_dqo.api.gpu import GPU
from kueue_dqo.api.parameters import Cordoned
from kueue_dqo.runtime.resources import CLUSTER_QUEUES, NODE_GPU_REPORTS, NODES, PODS
from tests.unit.providers.node_inventory.cluster import queue
from tests.unit.providers.nvidia_gpu.cluster import Watched, node, pod
from tests.unit.providers.nvidia_gpu.gpus import spec

pytestmark = pytest.mark.looptime


@pytest.mark.parametrize(
    ("change", "looks"),
    [
        pytest.param(lambda w: w.report(), 0, id="a heartbeat"),
        pytest.param(lambda w: w.report(healthy={GPU: 7}, broken={"GPU-5a": "Lost"}), 1, id="a lost GPU"),
        pytest.param(lambda w: w.report(problem="LibraryNotFound"), 1, id="a problem"),
        pytest.param(lambda w: w.report("n2"), 1, id="another report"),
        pytest.param(lambda w: w.client.delete(NODE_GPU_REPORTS, "n1"), 1, id="a report that is deleted"),
        pytest.param(lambda w: w.client.put(NODES, node(heartbeat=30)), 0, id="a node's heartbeat"),
        pytest.param(lambda w: w.client.put(NODES, node(unschedulable=True)), 1, id="a cordon"),
        pytest.param(lambda w: w.client.put(NODES, node(has={GPU: "7"})), 1, id="less to allocate"),
        pytest.param(lambda w: w.client.put(CLUSTER_QUEUES, queue("q", GPU)), 1, id="a pair that a queue declares"),
    ],
)
async def test_only_what_counts_is_a_reason_to_look(change: Callable[[Watched], None], looks: int) -> None:
    watched = Watched()
    watched.add("n1")
    async with watched.running():
        await watched.observe()
        assert await watched.looks_after(lambda: change(watched)) == looks


async def test_of_a_burst_the_first_change_is_told_at_once_and_the_others_together() -> None:
    """A fault of a rack's power comes as many reports; each look counts all nodes."""
    watched = Watched()
    watched.add(*(f"n{number}" for number in range(50)))
    async with watched.running():
        await watched.observe()
        await asyncio.sleep(10)
        watched.looks.clear()
        began = watched.clock.monotonic()
        for number in range(50):
            watched.report(f"n{number}", healthy={GPU: 7}, broken={"GPU-5a": "Lost"})
            await asyncio.sleep(0.05)
        await asyncio.sleep(10)
    assert [round(each - began, 2) for each in watched.looks] == [0, 2, 4]


async def test_a_word_of_an_agent_that_was_not_heard_is_a_reason_to_look_whatever_it_says() -> None:
    """It says what it always said; but the node counts again."""
    watched = Watched()
    for name in ("n1", "n2"):
        watched.client.put(NODES, node(name))
    watched.report("n1", before=100)
    watched.report("n2", before=1000)
    async with watched.running():
        assert "holding n2 until" in (await watched.observe()).summary
        assert await watched.looks_after(lambda: watched.report("n1")) == 0
        assert await watched.looks_after(lambda: watched.report("n2")) == 1
        assert (await watched.observe()).summary == f"h100: 2 nodes, 16 {GPU}"


@pytest.mark.parametrize(
    ("change", "looks"),
    [
        pytest.param(pod("new", 1, on="n2"), 1, id="Kueue's, on a cordoned node"),
        pytest.param(pod("new", 1, on="n1"), 0, id="Kueue's, on another node"),
        pytest.param(pod("new", 1, on="n2", managed=False), 0, id="another one"),
    ],
)
async def test_only_pods_of_kueue_on_cordoned_nodes_are_a_reason_to_look(change: dict[str, object], looks: int) -> None:
    watched = Watched()
    watched.add("n1", "n2")
    watched.client.put(NODES, node("n2", unschedulable=True))
    async with watched.running():
        await watched.observe(spec(cordoned=Cordoned.COUNT_ALLOCATED))
        assert await watched.looks_after(lambda: watched.client.put(PODS, change)) == looks
