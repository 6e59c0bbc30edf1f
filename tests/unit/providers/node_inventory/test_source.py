"""The source over a fake cluster in virtual time: what it answers, what it cannot answer, what it counts."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from kueue_dqo.api.parameters import Cordoned, Reserve
from kueue_dqo.provider import SourceUnavailable
from kueue_dqo.runtime.resources import CLUSTER_QUEUES, COHORTS, NODES, PODS, Resource
from providers.node_inventory.source import CONTROLLER
from tests.unit.providers.node_inventory.cluster import Watched, node, pod, queue
from tests.unit.providers.node_inventory.inventory import amounts, spec

pytestmark = pytest.mark.looptime

RESERVE = spec(reserve=Reserve.UNMANAGED_PODS)
NODES_METRIC = "kueue_dqo_node_inventory_nodes"


def test_the_controller_is_the_one_that_capacity_providers_name() -> None:
    assert CONTROLLER.name == "kueue-dqo.dev/node-inventory"
    assert CONTROLLER.parameters is not None
    assert CONTROLLER.parameters.resource.plural == "nodeinventoryparameters"


# --- what it answers -----------------------------------------------------------------------------------------------


async def test_it_waits_for_the_first_lists_and_asks_to_be_asked_after_them() -> None:
    """Half a list would be half a capacity."""
    watched = Watched()
    for number in range(3):
        watched.client.put(NODES, node(f"n{number}"))
    for resource, seconds in ((NODES, 20.0), (CLUSTER_QUEUES, 5.0), (COHORTS, 30.0)):
        watched.client.of(resource).takes = seconds
    async with watched.running():
        started = watched.clock.monotonic()
        observation = await watched.observe()
        assert watched.clock.monotonic() - started == 30
        assert amounts(observation) == {"batch": {"cpu": "12"}}
        await asyncio.sleep(1)
        assert watched.looks == 1


async def test_a_cluster_without_nodes_is_zero_of_what_queues_and_cohorts_declare() -> None:
    watched = Watched()
    watched.client.put(CLUSTER_QUEUES, queue("q", "cpu"))
    watched.client.put(COHORTS, queue("c", "memory"))
    async with watched.running():
        assert amounts(await watched.observe()) == {"batch": {"cpu": "0", "memory": "0"}}


async def test_pods_are_counted_where_the_parameters_say_so() -> None:
    watched = Watched()
    watched.client.put(NODES, node("n1"))
    watched.client.put(NODES, node("n2", unschedulable=True))
    watched.client.put(PODS, pod("job", "3", on="n2", managed=True))
    watched.client.put(PODS, pod("daemon", "500m", on="n1"))
    both = spec(cordoned=Cordoned.COUNT_ALLOCATED, reserve=Reserve.UNMANAGED_PODS)
    async with watched.running():
        assert amounts(await watched.observe(both)) == {"batch": {"cpu": "6500m"}}
        watched.client.delete(PODS, "team/job")
        await asyncio.sleep(1)
        assert amounts(await watched.observe(both)) == {"batch": {"cpu": "3500m"}}


async def test_a_node_whose_clock_is_ahead_waits_for_no_longer_than_the_delay() -> None:
    watched = Watched()
    async with watched.running():
        await watched.observe()
        watched.client.put(NODES, node(ready_since="2026-01-01T06:00:00Z"))
        await asyncio.sleep(1)
        assert (await watched.observe(spec(60))).look_again == 59
        await asyncio.sleep(59)
        assert amounts(await watched.observe(spec(60))) == {"batch": {"cpu": "4"}}


async def test_delays_are_judged_by_the_time_when_the_lists_are_there() -> None:
    """And not by that of the question."""
    watched = Watched()
    watched.client.put(NODES, node(ready_since="2026-01-01T00:00:00Z"))
    watched.client.of(NODES).takes = 30
    async with watched.running():
        assert (await watched.observe(spec(50))).look_again == 20


# --- what it cannot answer -----------------------------------------------------------------------------------------


async def unavailable(question: Any) -> str:
    with pytest.raises(SourceUnavailable) as raised:
        await question
    return str(raised.value)


async def test_a_right_that_is_missing_is_named_and_holds_up_nobody_for_long() -> None:
    """The first question waits a little, later ones not at all."""
    watched = Watched()
    watched.client.refuse(NODES)
    async with watched.running():
        started = watched.clock.monotonic()
        message = await unavailable(watched.observe())
        assert watched.clock.monotonic() - started == 10
        assert message.startswith("nodes could not be read: no permission to list nodes: cannot list nodes; ")
        assert "ClusterRole" in message
        await unavailable(watched.observe())
        assert watched.clock.monotonic() - started == 10


async def test_without_the_right_to_pods_only_those_that_need_them_are_unavailable() -> None:
    """The message names the component that gives it."""
    watched = Watched()
    watched.client.put(NODES, node())
    watched.client.refuse(PODS)
    async with watched.running():
        message = await unavailable(watched.observe(RESERVE, name="needs", peers=("other",)))
        assert "pods could not be read: no permission to list pods" in message
        assert "manifests/components/node-inventory-pods" in message
        other = await watched.observe(spec(), name="other", peers=("needs",))
        assert amounts(other) == {"batch": {"cpu": "4"}}


async def test_a_list_that_does_not_end_is_no_empty_cluster() -> None:
    """A question waits for it, but less long than it has."""
    watched = Watched()
    watched.client.of(NODES).takes = 600
    async with watched.running():
        started = watched.clock.monotonic()
        assert "nodes could not be read: not listed yet" in await unavailable(watched.observe())
        assert watched.clock.monotonic() - started == 45


async def test_a_source_that_went_blind_is_trusted_for_a_minute() -> None:
    """Watches break off now and then; but what was there an hour ago is not what is there."""
    watched = Watched()
    watched.client.put(NODES, node())
    async with watched.running():
        await watched.observe()
        watched.client.refuse(NODES)
        await asyncio.sleep(50)
        assert amounts(await watched.observe()) == {"batch": {"cpu": "4"}}
        await asyncio.sleep(20)
        assert "no permission to watch nodes" in await unavailable(watched.observe())
        watched.client.of(NODES).refusal = None
        await asyncio.sleep(20)
        assert amounts(await watched.observe()) == {"batch": {"cpu": "4"}}


async def test_what_becomes_readable_later_is_a_reason_to_look() -> None:
    watched = Watched()
    watched.client.put(NODES, node())
    watched.client.refuse(NODES)
    async with watched.running():
        await unavailable(watched.observe())
        before = watched.looks
        watched.client.of(NODES).refusal = None
        await asyncio.sleep(60)
        assert watched.looks > before
        assert amounts(await watched.observe()) == {"batch": {"cpu": "4"}}


@pytest.mark.parametrize("resource", [NODES, CLUSTER_QUEUES, PODS], ids=lambda each: each.plural)
async def test_becoming_blind_and_seeing_again_are_reasons_to_look(resource: Resource) -> None:
    """The condition must not wait for the next round: neither to turn false, nor to turn true again."""
    watched = Watched()
    watched.client.put(NODES, node())
    async with watched.running():
        await watched.observe(RESERVE)
        await asyncio.sleep(1)
        watched.client.refuse(resource)
        before = watched.looks
        await asyncio.sleep(58)
        assert watched.looks == before
        await asyncio.sleep(3)
        assert watched.looks == before + 1
        assert resource.plural in await unavailable(watched.observe(RESERVE))
        watched.client.of(resource).refusal = None
        await asyncio.sleep(60)
        assert watched.looks == before + 2
        assert amounts(await watched.observe(RESERVE)) == {"batch": {"cpu": "4"}}


async def test_a_watch_that_breaks_off_for_a_moment_is_no_reason_to_look() -> None:
    """What was held stayed good all the time."""
    watched = Watched()
    watched.client.put(NODES, node())
    async with watched.running():
        await watched.observe()
        await asyncio.sleep(1)
        before = watched.looks
        watched.client.refuse(NODES)
        await asyncio.sleep(1)
        watched.client.of(NODES).refusal = None
        await asyncio.sleep(200)
        assert watched.looks == before


# --- metrics -------------------------------------------------------------------------------------------------------


async def test_metrics_say_what_was_counted() -> None:
    watched = Watched()
    watched.client.put(NODES, node("n1"))
    watched.client.put(NODES, node("n2", unschedulable=True))
    watched.client.put(NODES, node("n3", ready="False"))
    watched.client.put(PODS, pod("job", "1500m", on="n2", managed=True))
    watched.client.put(PODS, pod("daemon", "250m", on="n1"))
    async with watched.running():
        await watched.observe(spec(cordoned=Cordoned.COUNT_ALLOCATED, reserve=Reserve.UNMANAGED_PODS))
    pair = {"provider": "mine", "flavor": "batch"}
    assert watched.metric(NODES_METRIC, **pair) == 1
    excluded = "kueue_dqo_node_inventory_excluded_nodes"
    assert [watched.metric(excluded, **pair, reason=each) for each in ("NotReady", "Cordoned", "Deleting")] == [1, 1, 0]
    assert watched.metric("kueue_dqo_node_inventory_reserve", **pair, resource="cpu") == 0.25
    assert watched.metric("kueue_dqo_node_inventory_allocated_on_cordoned", **pair, resource="cpu") == 1.5


async def test_series_of_providers_and_flavors_that_are_gone_disappear() -> None:
    watched = Watched()
    async with watched.running():
        await watched.observe(name="one", peers=("two",))
        await watched.observe(name="two", peers=("one",))
        assert watched.metric(NODES_METRIC, provider="one", flavor="batch") == 0
        await watched.observe(name="two")
    assert watched.metric(NODES_METRIC, provider="one", flavor="batch") is None
    assert watched.metric(NODES_METRIC, provider="two", flavor="batch") == 0
