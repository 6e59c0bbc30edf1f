"""Guards in a publisher: what is held, over restarts and failures, and what people are told of it."""

from __future__ import annotations

import asyncio
from collections import Counter

import pytest

from kueue_dqo.api import dqo
from kueue_dqo.provider import Observation, SourceUnavailable
from kueue_dqo.runtime.resources import CAPACITY_PROVIDERS, RESOURCE_FLAVORS
from tests.unit.providers.publishing import World, capacity_of, raising

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
        acknowledge(world, hashes_of(world))
        await asyncio.sleep(1)
        assert world.api.capacity("pool") == EIGHT
        await asyncio.sleep(7200)
        assert world.api.capacity("pool") == EIGHT
    assert world.told.reasons == ["Synchronized", "CapacityHeld", "FallAcknowledged"]
    assert world.told.events[1].type == "Warning"
    assert len(world.api.patches) == 3


def hashes_of(world: World) -> str:
    """What the command of the message acknowledges."""
    message = world.api.condition("pool")["message"]
    (argument,) = [part for part in message.split() if part.startswith("kueue-dqo.dev/acknowledge=")]
    return str(argument.partition("=")[2])


def acknowledge(world: World, value: str) -> None:
    world.annotate("pool", **{"kueue-dqo.dev/acknowledge": value})


BOTH_LOW = {"h100": {"nvidia.com/gpu": "8"}, "a100": {"nvidia.com/gpu": "1"}}


async def both_fall(world: World) -> None:
    """Two flavors, each by more than half."""
    world.api.put(RESOURCE_FLAVORS, "a100", spec={})
    world.source.amounts = WITH_A100
    world.provider("pool", "h100", "a100", parameters="p")
    await asyncio.sleep(10)
    world.source.amounts = BOTH_LOW
    world.publisher.look()
    await asyncio.sleep(10)
    assert world.api.capacity("pool") == WITH_A100


async def test_the_command_of_the_message_lets_all_falls_through() -> None:
    world = world_with(**BREAKER)
    async with world.running():
        await both_fall(world)
        hashes = hashes_of(world)
        assert len(hashes.split(",")) == 2
        acknowledge(world, hashes)
        await asyncio.sleep(1)
        assert world.api.capacity("pool") == BOTH_LOW
    assert world.told.reasons[-2:] == ["FallAcknowledged", "FallAcknowledged"]


async def test_acknowledgements_that_overwrite_each_other_at_once_all_count() -> None:
    """There is one annotation; whoever acknowledges hash by hash loses none."""
    world = world_with(**BREAKER)
    async with world.running():
        await both_fall(world)
        for value in hashes_of(world).split(","):
            acknowledge(world, value)
        await asyncio.sleep(1)
        assert world.api.capacity("pool") == BOTH_LOW


async def test_the_command_stays_while_the_source_fails_and_over_a_restart() -> None:
    """With the provider's name, which no hold has."""
    world = world_with(**BREAKER)
    async with world.running():
        await asyncio.sleep(10)
        falls(world)
        await asyncio.sleep(10)
        said = world.api.condition("pool")["message"]
    assert said.endswith("--overwrite publishes it now; all well")
    world.source.answers["pool"] = raising(SourceUnavailable("no"))
    async with world.running():
        await asyncio.sleep(10)
        assert world.api.condition("pool")["message"] == f"{said.removesuffix('all well')}no"
        acknowledge(world, hashes_of(world))
        await asyncio.sleep(10)
        assert world.api.capacity("pool") == EIGHTY
        world.source.answers.clear()
        world.publisher.look()
        await asyncio.sleep(10)
        assert world.api.capacity("pool") == EIGHT


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


def adds_a100(world: World) -> None:
    """To the spec, and to what is there."""
    world.api.put(RESOURCE_FLAVORS, "a100", spec={})
    world.source.amounts = {"h100": {"nvidia.com/gpu": 80}, "a100": {"nvidia.com/gpu": 8}}
    world.provider("pool", "h100", "a100", parameters="p")


WITH_A100 = {**EIGHTY, "a100": {"nvidia.com/gpu": "8"}}


async def test_a_flavor_that_joins_the_spec_is_published_at_once() -> None:
    """It had a quota, and jobs run on it: a quota of 0 for the length of a guard would have them preempted."""
    world = world_with(riseAfter="10m")
    async with world.running():
        await asyncio.sleep(10)
        adds_a100(world)
        await asyncio.sleep(1)
        assert world.api.capacity("pool") == WITH_A100
        condition = world.api.condition("pool")
        assert (condition["message"], condition["observedGeneration"]) == ("all well", 2)
        world.source.amounts = {"h100": {"nvidia.com/gpu": 80}, "a100": {"nvidia.com/gpu": 16}}
        world.publisher.look()
        await asyncio.sleep(10)
        assert world.api.capacity("pool") == WITH_A100
    assert world.told.reasons == ["Synchronized", "CapacityHeld"]


async def test_so_is_one_that_joins_between_two_leaders() -> None:
    world = world_with(riseAfter="10m")
    async with world.running():
        await asyncio.sleep(10)
    adds_a100(world)
    async with world.running():
        await asyncio.sleep(1)
        assert world.api.capacity("pool") == WITH_A100


async def test_so_is_one_that_joins_while_the_source_fails() -> None:
    """Also where the next leader finds that the failure was said of the new spec already."""
    world = world_with(riseAfter="10m")
    async with world.running():
        await asyncio.sleep(10)
        world.source.answers["pool"] = raising(SourceUnavailable("no"))
        adds_a100(world)
        await asyncio.sleep(10)
        assert world.api.capacity("pool") == EIGHTY
        assert world.api.condition("pool")["observedGeneration"] == 2
    world.source.answers.clear()
    async with world.running():
        await asyncio.sleep(1)
        assert world.api.capacity("pool") == WITH_A100


async def test_so_is_one_that_was_taken_out_and_put_back() -> None:
    world = world_with(riseAfter="10m")
    async with world.running():
        await asyncio.sleep(10)
        adds_a100(world)
        await asyncio.sleep(10)
        world.provider("pool", "h100", parameters="p")
        await asyncio.sleep(10)
        assert world.api.capacity("pool") == EIGHTY
        adds_a100(world)
        await asyncio.sleep(1)
        assert world.api.capacity("pool") == WITH_A100


# --- resources that change at different times ------------------------------------------------------------------------

MEMORY = "memory"
GPU = "nvidia.com/gpu"


async def falls_one_after_the_other(world: World) -> None:
    """First GPUs, held until 10:10; a minute later memory, held until 11:10."""
    await asyncio.sleep(10)
    world.source.amounts = {"h100": {GPU: 8, MEMORY: 100}}
    world.publisher.look()
    await asyncio.sleep(60)
    world.source.amounts = {"h100": {GPU: 8, MEMORY: 10}}
    world.publisher.look()
    await asyncio.sleep(10)


async def test_the_metric_has_the_latest_end_of_a_flavors_holds() -> None:
    """Two series with the same labels would be one too many for Prometheus."""
    world = world_with(fallAfter="10m")
    world.source.amounts = {"h100": {GPU: 80, MEMORY: 100}}
    async with world.running():
        await falls_one_after_the_other(world)
        assert world.api.condition("pool")["message"].count("holding h100 until") == 2
        labels = {"provider": "pool", "flavor": "h100", "guard": "fall"}
        assert world.metric("held_until_timestamp_seconds", **labels) == 1767226270
        assert twice(world) == []
        record = world.publisher.records["pool"]
        record.holds = record.holds[::-1]
        assert world.metric("held_until_timestamp_seconds", **labels) == 1767226270


async def test_no_series_is_there_twice_although_a_source_lists_a_flavor_twice() -> None:
    world = world_with()
    async with world.running():
        world.source.answers["pool"] = lists_h100_twice
        world.publisher.look()
        await asyncio.sleep(10)
        assert world.api.condition("pool")["reason"] == "InvalidCapacity"
        assert world.metric("observed_capacity", provider="pool", flavor="h100", resource=GPU) == 2
        assert twice(world) == []


async def lists_h100_twice(_: object) -> Observation:
    (one,) = capacity_of({"h100": {GPU: 1}}).flavors
    (two,) = capacity_of({"h100": {GPU: 2}}).flavors
    return Observation(dqo.Capacity((one, two)), "twice")


def twice(world: World) -> list[str]:
    """The series that are there more than once."""
    series = Counter(
        f"{sample.name}{sorted(sample.labels.items())}"
        for family in world.registry.collect()
        for sample in family.samples
    )
    return [each for each, times in series.items() if times > 1]


async def test_a_resource_that_is_held_later_than_another_one_is_told_of_too() -> None:
    """And the end once, when nothing of the flavor is held any more."""
    world = world_with(fallAfter="10m")
    world.source.amounts = {"h100": {GPU: 80, MEMORY: 100}}
    async with world.running():
        await falls_one_after_the_other(world)
        first, second = [each.message for each in world.told.events if each.reason == "CapacityHeld"]
        assert first == "holding h100 until 2026-01-01T00:10:10Z: observed 8, published 80 nvidia.com/gpu"
        assert second == "holding h100 until 2026-01-01T00:11:10Z: observed 10, published 100 memory"
        await asyncio.sleep(700)
        assert world.api.capacity("pool") == {"h100": {GPU: "8", MEMORY: "10"}}
    assert world.told.reasons == ["Synchronized", "CapacityHeld", "CapacityHeld", "CapacityReleased"]


async def test_a_fall_that_goes_on_is_no_other_hold() -> None:
    """It has another end, and the same resource."""
    world = world_with(fallAfter="10m")
    async with world.running():
        await asyncio.sleep(10)
        world.source.amounts = {"h100": {GPU: 40}}
        world.publisher.look()
        await asyncio.sleep(300)
        falls(world)
        await asyncio.sleep(400)
        assert world.api.capacity("pool") == {"h100": {GPU: "40"}}
        await asyncio.sleep(300)
        assert world.api.capacity("pool") == EIGHT
    assert world.told.reasons == ["Synchronized", "CapacityHeld", "CapacityReleased"]


# --- flavors that have nothing to do with it -------------------------------------------------------------------------


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
