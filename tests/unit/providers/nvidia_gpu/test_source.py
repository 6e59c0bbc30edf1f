"""The aggregator over a fake cluster in virtual time: what it answers, what it cannot answer, what it tidies up."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from kueue_dqo.api import dqo
from kueue_dqo.api.gpu import GPU
from kueue_dqo.api.parameters import Cordoned
from kueue_dqo.provider import SourceUnavailable
from kueue_dqo.runtime.errors import Forbidden
from kueue_dqo.runtime.resources import CLUSTER_QUEUES, NODE_GPU_REPORTS, NODES, PODS
from providers.nvidia_gpu.source import CONTROLLER
from tests.unit.providers.node_inventory.cluster import queue
from tests.unit.providers.nvidia_gpu.cluster import Watched, node, pod
from tests.unit.providers.nvidia_gpu.gpus import amounts, spec

pytestmark = pytest.mark.looptime

HOUR = 3600


def test_the_controller_is_the_one_that_capacity_providers_name() -> None:
    assert CONTROLLER.name == "kueue-dqo.dev/nvidia-gpu"
    assert CONTROLLER.parameters is not None
    assert CONTROLLER.parameters.resource.plural == "nvidiagpuparameters"


async def unavailable(question: Any) -> str:
    with pytest.raises(SourceUnavailable) as raised:
        await question
    return str(raised.value)


# --- what it answers -----------------------------------------------------------------------------------------------


async def test_it_waits_for_nodes_and_reports_and_asks_to_be_asked_after_them() -> None:
    """Half a list would be half a capacity."""
    watched = Watched()
    watched.add("n1", "n2")
    watched.client.of(NODES).takes = 5
    watched.client.of(NODE_GPU_REPORTS).takes = 20
    async with watched.running():
        assert amounts(await watched.observe()) == {"h100": {GPU: "16"}}
        assert watched.clock.monotonic() == 20
        await asyncio.sleep(1)
        assert len(watched.looks) == 1


async def test_a_gpu_that_dies_and_its_node_that_dies_after_it() -> None:
    watched = Watched()
    watched.add("n1", "n2", "n3")
    async with watched.running():
        assert amounts(await watched.observe()) == {"h100": {GPU: "24"}}
        watched.report("n2", healthy={GPU: 7}, broken={"GPU-5a": "Lost"})
        await asyncio.sleep(1)
        observation = await watched.observe()
        assert amounts(observation) == {"h100": {GPU: "23"}}
        assert "unhealthy: n2 GPU-5a Lost since " in observation.summary
        watched.client.put(NODES, node("n2", ready="Unknown"))
        await asyncio.sleep(1)
        assert amounts(await watched.observe()) == {"h100": {GPU: "16"}}


async def test_an_agent_that_falls_silent_is_held_then_excluded_and_counts_again_when_it_is_heard() -> None:
    watched = Watched()
    watched.add("n1", "n2", "n3")

    async def heartbeats(minutes: int) -> None:
        """Of the two others."""
        for _ in range(minutes // 5):
            await asyncio.sleep(300)
            watched.report("n1")
            watched.report("n2")
            await asyncio.sleep(0.1)

    async with watched.running():
        await watched.observe()
        await heartbeats(20)
        held = await watched.observe()
        assert amounts(held) == {"h100": {GPU: "24"}}
        assert "; holding n3 until 2026-01-01T00:25:00Z: AgentSilent" in held.summary
        await heartbeats(10)
        excluded = await watched.observe()
        assert amounts(excluded) == {"h100": {GPU: "16"}}
        assert excluded.summary.endswith("; excluded: AgentSilent=1 (n3)")
        watched.report("n3")
        await asyncio.sleep(1)
        assert amounts(await watched.observe()) == {"h100": {GPU: "24"}}


async def test_where_all_agents_fall_silent_nothing_is_published_until_they_are_heard() -> None:
    watched = Watched()
    watched.add("n1", "n2", "n3")
    async with watched.running():
        await watched.observe()
        await asyncio.sleep(HOUR)
        assert (await unavailable(watched.observe())).startswith("no agent of any node with GPUs is heard, AgentSilent")
        assert await watched.looks_after(lambda: watched.report("n1")) == 1


async def test_the_first_capacity_waits_for_most_agents() -> None:
    """After that, new nodes may come as many as they like."""
    watched = Watched()
    for name in ("n1", "n2", "n3"):
        watched.client.put(NODES, node(name))
    watched.report("n1")
    async with watched.running():
        assert "2 of 3 nodes with GPUs have no report" in await unavailable(
            watched.observe(status=dqo.CapacityProviderStatus())
        )
        assert amounts(await watched.observe()) == {"h100": {GPU: "8"}}


async def test_a_report_that_is_deleted_leaves_its_node_counting_for_the_grace() -> None:
    watched = Watched()
    watched.add("n1", "n2", "n3")
    async with watched.running():
        await watched.observe()
        watched.client.delete(NODE_GPU_REPORTS, "n3")
        await asyncio.sleep(1)
        held = await watched.observe()
        assert amounts(held) == {"h100": {GPU: "24"}}
        assert "holding n3 until 2026-01-01T00:10:00Z: AgentSilent" in held.summary
        await asyncio.sleep(600)
        excluded = await watched.observe()
        assert excluded.summary == f"h100: 2 nodes, 16 {GPU}; excluded: AgentSilent=1 (n3)"


async def test_a_cluster_without_nodes_is_zero_of_what_queues_declare() -> None:
    watched = Watched()
    watched.client.put(CLUSTER_QUEUES, queue("q", "cpu", GPU, on="h100"))
    async with watched.running():
        assert amounts(await watched.observe()) == {"h100": {GPU: "0"}}


async def test_pods_are_read_only_where_the_parameters_say_so() -> None:
    watched = Watched()
    watched.add("n1", "n2")
    watched.client.put(NODES, node("n2", unschedulable=True))
    watched.client.put(PODS, pod("job", 3, on="n2"))
    async with watched.running():
        assert amounts(await watched.observe()) == {"h100": {GPU: "8"}}
        assert watched.client.of(PODS).asked == []
        count_allocated = spec(cordoned=Cordoned.COUNT_ALLOCATED)
        assert amounts(await watched.observe(count_allocated)) == {"h100": {GPU: "11"}}


# --- what it cannot answer -----------------------------------------------------------------------------------------


async def test_without_reports_the_message_says_what_to_install() -> None:
    watched = Watched()
    watched.client.refuse(NODE_GPU_REPORTS)
    async with watched.running():
        message = await unavailable(watched.observe())
    assert message.startswith("nodegpureports could not be read: no permission to list nodegpureports")
    assert "kubectl apply -k manifests/crds/providers" in message
    assert "ClusterRole" in message


async def test_without_the_right_to_pods_the_component_is_named() -> None:
    watched = Watched()
    watched.add("n1")
    watched.client.refuse(PODS)
    async with watched.running():
        message = await unavailable(watched.observe(spec(cordoned=Cordoned.COUNT_ALLOCATED)))
    assert "pods could not be read" in message
    assert "manifests/components/nvidia-gpu-pods" in message


# --- what it tidies up ---------------------------------------------------------------------------------------------


async def test_a_report_without_a_node_is_deleted_after_an_hour() -> None:
    watched = Watched()
    watched.add("n1")
    watched.report("gone")
    async with watched.running():
        await watched.observe()
        await asyncio.sleep(HOUR)
        assert watched.deleting.deleted == []
        await asyncio.sleep(600)
        assert watched.deleting.deleted == ["gone"]
        assert "gone" not in watched.client.of(NODE_GPU_REPORTS).objects


async def test_only_who_is_asked_tidies_up() -> None:
    """That is the leader; another replica begins to watch when it becomes one."""
    watched = Watched()
    watched.report("gone")
    async with watched.running():
        await asyncio.sleep(2 * HOUR)
        await watched.observe()
        await asyncio.sleep(HOUR - 1200)
        assert watched.deleting.deleted == []
        watched.source.forget("mine")
        await asyncio.sleep(HOUR)
        assert watched.deleting.deleted == []
        await watched.observe()
        await asyncio.sleep(HOUR + 600)
        assert watched.deleting.deleted == ["gone"]


async def test_nothing_is_tidied_up_by_who_does_not_see_the_nodes() -> None:
    watched = Watched()
    watched.report("gone")
    async with watched.running():
        await watched.observe()
        watched.client.refuse(NODES)
        await asyncio.sleep(2 * HOUR)
        assert watched.deleting.deleted == []


async def test_a_right_to_delete_that_is_missing_ends_nothing() -> None:
    watched = Watched()
    watched.add("n1")
    watched.report("gone")
    watched.deleting.refusal = Forbidden(method="DELETE", path="/", code=403, reason="Forbidden", message="no")
    async with watched.running():
        await watched.observe()
        await asyncio.sleep(HOUR + 600)
        watched.report("n1")
        await asyncio.sleep(1)
        assert amounts(await watched.observe()) == {"h100": {GPU: "8"}}
        watched.deleting.refusal = None
        await asyncio.sleep(600)
        assert watched.deleting.deleted == ["gone"]


# --- metrics -------------------------------------------------------------------------------------------------------


async def test_metrics_say_what_was_counted() -> None:
    watched = Watched()
    watched.add("n1", "n2", "n3", "n4")
    watched.client.put(NODES, node("n1", has={GPU: "6"}))
    watched.report("n1", healthy={GPU: 7}, broken={"GPU-5a": "Lost"})
    watched.client.put(NODES, node("n2", unschedulable=True))
    watched.report("n3", problem="LibraryNotFound")
    watched.report("n5", gpus=-1)
    async with watched.running():
        await watched.observe(spec(max_silent_percent=100))
    pair = {"provider": "mine", "flavor": "h100"}
    assert watched.metric("nodes", **pair) == 3
    assert watched.metric("excluded_nodes", **pair, reason="Cordoned") == 1
    assert watched.metric("held_nodes", **pair, reason="LibraryNotFound") == 1
    assert watched.metric("unhealthy_devices", **pair, reason="Lost") == 1
    assert watched.metric("capped", **pair, resource=GPU) == 1
    states = {state: watched.metric("reports", state=state) for state in ("good", "problem", "invalid", "deleted")}
    assert states == {"good": 3, "problem": 1, "invalid": 1, "deleted": 0}


async def test_series_of_providers_that_are_gone_disappear() -> None:
    watched = Watched()
    watched.add("n1")
    async with watched.running():
        await watched.observe(name="one", peers=("two",))
        await watched.observe(name="two", peers=("one",))
        watched.source.forget("one")
    assert watched.metric("nodes", provider="one", flavor="h100") is None
    assert watched.metric("nodes", provider="two", flavor="h100") == 1
