"""Pods are watched for as long as some provider needs them, and not at all by anybody else."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from kueue_dqo.api.parameters import Reserve
from kueue_dqo.provider import SourceUnavailable
from kueue_dqo.runtime.resources import NODES, PODS
from tests.unit.providers.node_inventory.cluster import Watched, node, pod
from tests.unit.providers.node_inventory.inventory import amounts, spec

pytestmark = pytest.mark.looptime

RESERVE = spec(reserve=Reserve.UNMANAGED_PODS)
NODES_METRIC = "kueue_dqo_node_inventory_nodes"


async def test_pods_are_watched_from_the_first_question_that_needs_them() -> None:
    """And only those that hold something: a cluster has many others."""
    watched = Watched()
    pods = watched.client.of(PODS)
    async with watched.running():
        await watched.observe(spec())
        assert pods.asked == []
        await watched.observe(RESERVE)
        (asked,) = pods.asked
        assert asked["fieldSelector"] == "spec.nodeName!=,status.phase!=Succeeded,status.phase!=Failed"
        await watched.observe(RESERVE)
        await asyncio.sleep(1)
        assert (len(pods.asked), len(pods.watches)) == (1, 1)


async def test_the_first_list_of_pods_is_a_reason_to_look_once() -> None:
    """However many there are."""
    watched = Watched()
    watched.client.put(NODES, node())
    for number in range(5):
        watched.client.put(PODS, pod(f"p{number}", "100m"))
    async with watched.running():
        await watched.observe()
        await asyncio.sleep(1)
        before = watched.looks
        assert amounts(await watched.observe(RESERVE)) == {"batch": {"cpu": "3500m"}}
        await asyncio.sleep(1)
        assert watched.looks == before + 1


@pytest.mark.parametrize(
    "goes",
    [
        pytest.param(
            lambda watched: watched.observe(spec(), name="needs", peers=("other",)), id="its parameters change"
        ),
        pytest.param(lambda watched: watched.observe(spec(), name="other"), id="its provider is gone"),
    ],
)
async def test_pods_are_watched_until_no_provider_needs_them_any_more(
    goes: Callable[[Watched], Any],
) -> None:
    """Then everything that was held of them is let go, and a later need begins anew."""
    watched = Watched()
    watched.client.put(NODES, node())
    watched.client.put(PODS, pod("p", "1"))
    pods = watched.client.of(PODS)
    async with watched.running():
        await watched.observe(RESERVE, name="needs", peers=("other",))
        await watched.observe(spec(), name="other", peers=("needs",))
        await asyncio.sleep(1)
        assert len(pods.watches) == 1
        assert watched.metric("kueue_dqo_cache_objects", resource="pods") == 1
        await goes(watched)
        await asyncio.sleep(1)
        assert pods.watches == []
        assert watched.metric("kueue_dqo_cache_objects", resource="pods") is None
        watched.client.put(PODS, pod("p", "2"))
        assert amounts(await watched.observe(RESERVE)) == {"batch": {"cpu": "2"}}
        assert len(pods.asked) == 2


async def test_a_need_that_goes_and_comes_back_at_once_begins_anew() -> None:
    watched = Watched()
    watched.client.put(NODES, node())
    watched.client.put(PODS, pod("p", "1"))
    async with watched.running():
        await watched.observe(RESERVE)
        await watched.observe(spec())
        assert amounts(await watched.observe(RESERVE)) == {"batch": {"cpu": "3"}}
        await asyncio.sleep(1)
        assert len(watched.client.of(PODS).watches) == 1


async def test_a_question_about_another_provider_never_takes_the_pods_away_from_one_that_waits_for_them() -> None:
    """Without them a capacity would be published that nothing is kept back of."""
    watched = Watched()
    watched.client.put(NODES, node())
    watched.client.put(PODS, pod("p", "1"))
    watched.client.of(PODS).takes = 5
    async with watched.running():
        await watched.observe(name="other")
        question = asyncio.ensure_future(watched.observe(RESERVE))
        await asyncio.sleep(2)
        await watched.observe(name="other")
        await asyncio.sleep(0)
        with pytest.raises(SourceUnavailable):
            await question
        assert amounts(await watched.observe(RESERVE)) == {"batch": {"cpu": "3"}}


async def test_a_provider_that_is_forgotten_needs_no_pods_and_has_no_series() -> None:
    watched = Watched()
    async with watched.running():
        await watched.observe(RESERVE)
        await asyncio.sleep(1)
        watched.source.forget("mine")
        await asyncio.sleep(1)
        assert watched.client.of(PODS).watches == []
        assert watched.metric(NODES_METRIC, provider="mine", flavor="batch") is None
