"""The aggregator over a fake cluster in virtual time: what it answers, what it cannot answer, what it tidies up."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from kueue_dqo.api import dqo
from kueue_dqo.api.gpu import GPU
from kueue_dqo.api.parameters import Cordoned
from kueue_dqo.provider import SourceUnavailable
from kueue_dqo.runtime.errors import Forbidden, Gone, NotFound
from kueue_dqo.runtime.resources import CLUSTER_QUEUES, NODE_GPU_REPORTS, NODES, PODS
from providers.nvidia_gpu.source import CONTROLLER
from tests.unit.providers.node_inventory.cluster import queue
from tests.unit.providers.nvidia_gpu.cluster import Watched, node, pod
from tests.unit.providers.nvidia_gpu.gpus import Manifest, amounts, published, spec

pytestmark = pytest.mark.looptime

HOUR = 3600
NAMES = tuple(f"n{number:02}" for number in range(1, 11))


def with_uid(content: Manifest, uid: str) -> Manifest:
    """The node as a machine of its own."""
    content["metadata"]["uid"] = uid
    return content


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


async def test_what_a_list_brings_after_an_outage_is_as_old_as_the_api_server_says() -> None:
    """Nobody watched: the agent may have fallen silent meanwhile."""
    watched = Watched()
    watched.add("n1", "n2", "n3")
    reports = watched.client.of(NODE_GPU_REPORTS)
    async with watched.running():
        await watched.observe()
        watched.client.refuse(NODE_GPU_REPORTS)
        reports.refusal = Gone(method="GET", path="/", code=410, reason="Expired", message="too old")
        await asyncio.sleep(1200)
        for name, ago in (("n1", 10), ("n2", 10), ("n3", 1000)):
            watched.report(name, before=ago)
        reports.refusal = None
        await asyncio.sleep(120)
        assert "; holding n3 until 2026-01-01T00:28:20Z: AgentSilent" in (await watched.observe()).summary


async def test_what_the_watch_brings_is_new_whatever_the_clock_of_the_api_server_says() -> None:
    watched = Watched()
    watched.add("n1", "n2")
    async with watched.running():
        await watched.observe()
        await asyncio.sleep(1200)
        for name in ("n1", "n2"):
            watched.report(name, before=1000)
        await asyncio.sleep(1)
        assert (await watched.observe()).summary == f"h100: 2 nodes, 16 {GPU}"


async def test_agents_that_report_one_by_one_after_their_definition_was_installed_anew_do_not_shrink_the_capacity() -> (
    None
):
    watched = Watched()
    watched.add(*NAMES)
    reports = watched.client.of(NODE_GPU_REPORTS)
    async with watched.running():
        assert amounts(await watched.observe(status=published(80))) == {"h100": {GPU: "80"}}
        for name in NAMES:
            watched.client.delete(NODE_GPU_REPORTS, name)
        watched.client.refuse(NODE_GPU_REPORTS)
        reports.refusal = NotFound(method="GET", path="/", code=404, reason="NotFound", message="no such thing")
        await asyncio.sleep(HOUR)
        await unavailable(watched.observe(status=published(80)))
        reports.refusal = None
        await asyncio.sleep(HOUR)
        for name in NAMES[:7]:
            watched.report(name)
        await asyncio.sleep(1)
        message = await unavailable(watched.observe(status=published(80)))
        assert message.startswith("nothing is known of 3 of 10 nodes with GPUs, NoReport (n08, n09, n10)")
        for name in NAMES[7:]:
            watched.report(name)
        await asyncio.sleep(1)
        assert amounts(await watched.observe(status=published(80))) == {"h100": {GPU: "80"}}


async def test_agents_that_are_heard_one_by_one_after_an_outage_do_not_shrink_the_capacity() -> None:
    """Nobody was heard for longer than an agent may be silent, and the grace, together."""
    watched = Watched()
    watched.add(*NAMES)
    reports = watched.client.of(NODE_GPU_REPORTS)
    status = published(80)
    async with watched.running():
        assert amounts(await watched.observe(status=status)) == {"h100": {GPU: "80"}}
        watched.client.refuse(NODE_GPU_REPORTS)
        reports.refusal = Gone(method="GET", path="/", code=410, reason="Expired", message="too old")
        await asyncio.sleep(HOUR)
        await unavailable(watched.observe(status=status))
        watched.report(NAMES[0])
        reports.refusal = None
        await asyncio.sleep(120)
        assert "9 of the 10 agents that were heard fell out" in await unavailable(watched.observe(status=status))
        for name in NAMES[1:7]:
            watched.report(name)
            await asyncio.sleep(1)
            await unavailable(watched.observe(status=status))
        for name in NAMES[7:9]:
            watched.report(name)
            await asyncio.sleep(1)
            assert amounts(await watched.observe(status=status)) == {"h100": {GPU: "80"}}
        await asyncio.sleep(890)
        for name in NAMES[:9]:
            watched.report(name)
        await asyncio.sleep(20)
        last = await watched.observe(status=status)
        assert last.summary == f"h100: 9 nodes, 72 {GPU}; excluded: AgentSilent=1 (n10)"


async def test_a_report_that_a_finalizer_keeps_leaves_its_node_counting_for_the_grace() -> None:
    watched = Watched()
    watched.add("n1", "n2", "n3")
    async with watched.running():
        await watched.observe()
        deleted = watched.clock.now()
        assert await watched.looks_after(lambda: watched.report("n3", deleted=deleted)) == 1
        assert "holding n3 until 2026-01-01T00:10:10Z: AgentSilent" in (await watched.observe()).summary
        assert watched.metric("reports", state="deleted") == 1
        await asyncio.sleep(600)
        watched.report("n3", deleted=deleted)
        await asyncio.sleep(1)
        assert (await watched.observe()).summary == f"h100: 2 nodes, 16 {GPU}; excluded: AgentSilent=1 (n3)"


async def test_a_machine_that_takes_the_name_of_another_one_counts_once_its_own_agent_has_spoken() -> None:
    watched = Watched()
    watched.client.put(NODES, node("n1"))
    watched.report("n1")
    watched.client.put(NODES, with_uid(node("n2"), "old"))
    watched.report("n2", owner="old")
    async with watched.running():
        assert amounts(await watched.observe()) == {"h100": {GPU: "16"}}
        watched.client.put(NODES, with_uid(node("n2"), "new"))
        await asyncio.sleep(1)
        assert (await watched.observe()).summary == f"h100: 1 node, 8 {GPU}; excluded: NoReport=1 (n2)"
        watched.client.delete(NODE_GPU_REPORTS, "n2")
        await asyncio.sleep(1)
        assert (await watched.observe()).summary == f"h100: 1 node, 8 {GPU}; excluded: NoReport=1 (n2)"
        assert watched.metric("reports", state="deleted") == 0
        watched.report("n2", owner="new")
        await asyncio.sleep(1)
        assert amounts(await watched.observe()) == {"h100": {GPU: "16"}}


async def test_what_is_remembered_of_a_deleted_report_goes_with_its_machine() -> None:
    watched = Watched()
    watched.client.put(NODES, node("n1"))
    watched.report("n1")
    watched.client.put(NODES, with_uid(node("n2"), "old"))
    watched.report("n2", owner="old")
    async with watched.running():
        await watched.observe()
        watched.client.delete(NODE_GPU_REPORTS, "n2")
        await asyncio.sleep(1)
        assert watched.metric("reports", state="deleted") == 1
        watched.client.put(NODES, with_uid(node("n2"), "new"))
        await asyncio.sleep(1)
        assert watched.metric("reports", state="deleted") == 0


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
