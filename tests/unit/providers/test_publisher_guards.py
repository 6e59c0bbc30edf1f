"""Guards in a publisher: what is held, over restarts and failures, and what people are told of it."""

from __future__ import annotations

import asyncio

import pytest

from kueue_dqo.provider import SourceUnavailable
from kueue_dqo.runtime.resources import CAPACITY_PROVIDERS, RESOURCE_FLAVORS
from tests.unit.providers.publishing import World, raising

pytestmark = pytest.mark.looptime

EIGHTY = {"h100": {"nvidia.com/gpu": "80"}}
EIGHT = {"h100": {"nvidia.com/gpu": "8"}}
BREAKER = {"maxFallPercent": 50, "breakerGrace": "1h"}


def world_with(**guards: object) -> World:
    world = World()
    world.parameters(guards=guards)
    world.provider(parameters="p")
    return world


def falls(world: World) -> None:
    world.source.amounts = {"h100": {"nvidia.com/gpu": 8}}
    world.publisher.look()


async def test_a_fall_is_held_and_published_when_it_has_lasted() -> None:
    world = world_with(fallAfter="10m")
    async with world.running():
        await asyncio.sleep(10)
        falls(world)
        await asyncio.sleep(599)
        assert world.api.capacity("pool") == EIGHTY
        condition = world.api.condition("pool")
        assert (condition["status"], condition["reason"]) == ("True", "Synchronized")
        assert condition["message"] == (
            "holding h100 until 2026-01-01T00:10:10Z: observed 8, published 80 nvidia.com/gpu; all well"
        )
        labels = {"provider": "pool", "flavor": "h100", "guard": "fall"}
        assert world.metric("held_until_timestamp_seconds", **labels) == 1767226210
        await asyncio.sleep(3)
        assert world.api.capacity("pool") == EIGHT
        assert world.api.condition("pool")["message"] == "all well"
        assert world.metric("held_until_timestamp_seconds", **labels) is None
    assert world.told.reasons == ["Synchronized", "CapacityHeld", "CapacityReleased"]
    assert len(world.api.patches) == 3


async def test_a_restart_prolongs_no_hold() -> None:
    """Nor tells of it again."""
    world = world_with(fallAfter="10m")
    async with world.running():
        await asyncio.sleep(10)
        falls(world)
        await asyncio.sleep(300)
    async with world.running():
        await asyncio.sleep(299)
        assert world.api.capacity("pool") == EIGHTY
        await asyncio.sleep(3)
        assert world.api.capacity("pool") == EIGHT
    assert world.told.reasons == ["Synchronized", "CapacityHeld", "CapacityReleased"]
    assert len(world.api.patches) == 3


async def test_a_failure_at_a_restart_prolongs_no_hold_either() -> None:
    world = world_with(fallAfter="10m")
    async with world.running():
        await asyncio.sleep(10)
        falls(world)
        await asyncio.sleep(300)
        world.source.answers["pool"] = raising(SourceUnavailable("no"))
        world.publisher.look()
        await asyncio.sleep(10)
        assert world.api.condition("pool")["message"].endswith("published 80 nvidia.com/gpu; no")
    world.source.answers.clear()
    async with world.running():
        await asyncio.sleep(292)
        assert world.api.capacity("pool") == EIGHT


async def test_a_wiped_status_ends_no_hold() -> None:
    """What was published last is what is held."""
    world = world_with(fallAfter="10m")
    async with world.running():
        await asyncio.sleep(10)
        falls(world)
        await asyncio.sleep(10)
        good = world.api.status("pool")
        world.api.put(CAPACITY_PROVIDERS, "pool", status={})
        await asyncio.sleep(10)
        assert world.api.capacity("pool") == EIGHTY
        assert world.api.condition("pool")["message"] == good["conditions"][0]["message"]


async def test_a_large_fall_waits_for_its_acknowledgement() -> None:
    """Which is answered at once."""
    world = world_with(**BREAKER)
    async with world.running():
        await asyncio.sleep(10)
        falls(world)
        await asyncio.sleep(600)
        assert world.api.capacity("pool") == EIGHTY
        message = world.api.condition("pool")["message"]
        (command,) = [part for part in message.split() if part.startswith("kueue-dqo.dev/acknowledge=")]
        world.annotate("pool", **{"kueue-dqo.dev/acknowledge": command.partition("=")[2]})
        await asyncio.sleep(1)
        assert world.api.capacity("pool") == EIGHT
        await asyncio.sleep(7200)
        assert world.api.capacity("pool") == EIGHT
    assert world.told.reasons == ["Synchronized", "CapacityHeld", "FallAcknowledged"]
    assert world.told.events[1].type == "Warning"
    assert len(world.api.patches) == 3


async def test_guards_that_are_turned_off_let_go_at_once() -> None:
    world = world_with(**BREAKER)
    async with world.running():
        await asyncio.sleep(10)
        falls(world)
        await asyncio.sleep(10)
        assert world.api.capacity("pool") == EIGHTY
        world.parameters()
        await asyncio.sleep(1)
        assert world.api.capacity("pool") == EIGHT


async def test_other_flavors_go_on() -> None:
    world = world_with(fallAfter="10m")
    world.api.put(RESOURCE_FLAVORS, "a100", spec={})
    world.source.amounts = {"h100": {"nvidia.com/gpu": 80}, "a100": {"nvidia.com/gpu": 4}}
    world.provider("pool", "h100", "a100", parameters="p")
    async with world.running():
        await asyncio.sleep(10)
        world.source.amounts = {"h100": {"nvidia.com/gpu": 8}, "a100": {"nvidia.com/gpu": 5}}
        world.publisher.look()
        await asyncio.sleep(10)
    assert world.api.capacity("pool") == {"h100": {"nvidia.com/gpu": "80"}, "a100": {"nvidia.com/gpu": "5"}}
