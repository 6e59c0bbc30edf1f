"""The publisher: what it writes, when it looks, and what it leaves alone."""

from __future__ import annotations

import asyncio
import itertools
from typing import Any

import pytest

from kueue_dqo.api.parameters import CommonParameters
from kueue_dqo.provider import Notice, Observation, Request, SourceUnavailable, WithoutParameters
from kueue_dqo.runtime.resources import CAPACITY_PROVIDERS, RESOURCE_FLAVORS
from tests.unit.providers.memory_api import MemoryApi
from tests.unit.providers.publishing import INTERVAL, World, capacity_of, raising

pytestmark = pytest.mark.looptime

EIGHTY = {"h100": {"nvidia.com/gpu": "80"}}
SOON = 2.0


def patched(api: MemoryApi) -> list[str]:
    return [each.name for each in api.patches]


# --- what is written -------------------------------------------------------------------------------------------------


async def test_capacity_and_condition_are_written_in_one_patch() -> None:
    world = World()
    world.provider()
    async with world.running():
        await asyncio.sleep(SOON)
    (patch,) = world.api.patches
    assert patch.manager == "kueue-dqo-test"
    assert world.api.capacity("pool") == EIGHTY
    assert patch.condition == {
        "type": "CapacitySynchronized",
        "status": "True",
        "reason": "Synchronized",
        "message": "all well",
        "observedGeneration": 1,
        "lastTransitionTime": "2026-01-01T00:00:00Z",
    }
    (event,) = world.told.events
    assert event == ("pool", "Normal", "Synchronized", "all well")


async def test_nothing_is_written_where_nothing_differs() -> None:
    """Amounts compare by value, and our own write is no reason to look again."""
    world = World()
    world.source.amounts = {"h100": {"memory": "2Gi"}}
    world.provider()
    async with world.running():
        await asyncio.sleep(SOON)
        assert len(world.source.asked) == 1
        world.source.amounts = {"h100": {"memory": 2 * 1024**3}}
        await asyncio.sleep(3600)
    assert len(world.api.patches) == 1
    assert world.api.gets == []


async def test_a_source_that_tells_nothing_is_asked_about_every_five_minutes() -> None:
    """Never in step with others: up to a tenth sooner or later."""
    world = World()
    world.provider()
    async with world.running():
        await asyncio.sleep(24 * 3600)
    times = world.source.times()
    pauses = [after - before for before, after in itertools.pairwise(times)]
    assert 0.9 * INTERVAL - 1 <= min(pauses) < max(pauses) <= 1.1 * INTERVAL + 1
    assert len(set(pauses)) > len(pauses) / 2


async def test_a_source_may_say_when_to_look_again() -> None:
    world = World()
    world.source.more = {"look_again": 20.0}
    world.provider()
    async with world.running():
        await asyncio.sleep(70)
    assert [round(at) for at in world.source.times()] == [0, 20, 40, 60]


async def test_every_edit_of_the_spec_is_answered() -> None:
    world = World()
    world.api.put(RESOURCE_FLAVORS, "a100", spec={})
    world.provider()
    async with world.running():
        await asyncio.sleep(SOON)
        world.provider("pool", "h100", "a100")
        await asyncio.sleep(SOON)
    assert [each.condition["observedGeneration"] for each in world.api.patches] == [1, 2]
    assert world.api.condition("pool")["lastTransitionTime"] == "2026-01-01T00:00:00Z"
    assert len(world.told.events) == 1


async def test_changes_that_come_together_cost_two_looks() -> None:
    """One at once, and one half a second after it."""
    world = World()
    world.provider()
    world.provider("other")
    async with world.running():
        await asyncio.sleep(10)
        world.source.asked.clear()
        for _ in range(40):
            world.publisher.look()
            await asyncio.sleep(0.01)
        await asyncio.sleep(10)
    for name in ("pool", "other"):
        first, second = world.source.times(name)
        assert first == pytest.approx(10, abs=0.02)
        assert second - first == pytest.approx(0.5, abs=0.05)


async def test_conditions_of_others_stay() -> None:
    world = World()
    other = {"type": "Verified", "status": "Unknown", "reason": "Later", "message": "", "extra": 1}
    world.provider(status={"conditions": [other]})
    async with world.running():
        await asyncio.sleep(SOON)
        assert world.api.status("pool")["conditions"][0] == other
        world.api.put(CAPACITY_PROVIDERS, "pool", status={**world.api.status("pool"), "conditions": [other]})
        await asyncio.sleep(SOON)
    assert [each["type"] for each in world.api.status("pool")["conditions"]] == ["Verified", "CapacitySynchronized"]
    assert world.api.status("pool")["conditions"][0] == other


# --- what others do to it --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("part", ["everything", "capacity", "amount", "condition", "message"])
async def test_a_status_that_others_edit_is_written_anew(part: str) -> None:
    """Once."""
    world = World()
    world.provider()
    async with world.running():
        await asyncio.sleep(SOON)
        good = world.api.status("pool")
        condition = good["conditions"][0]
        by_hand: dict[str, Any] = {
            "everything": {},
            "capacity": {"conditions": [condition]},
            "amount": {**good, "capacity": {"flavors": [{"name": "h100", "resources": {"nvidia.com/gpu": "81"}}]}},
            "condition": {**good, "conditions": []},
            "message": {**good, "conditions": [{**condition, "message": "by hand"}]},
        }
        world.api.put(CAPACITY_PROVIDERS, "pool", status=by_hand[part])
        await asyncio.sleep(3600)
    assert world.api.capacity("pool") == EIGHTY
    assert world.api.condition("pool") | {"lastTransitionTime": ""} == condition | {"lastTransitionTime": ""}
    assert len(world.api.patches) == 2


async def test_an_object_that_changed_while_it_was_written_is_read_anew() -> None:
    """At most three times; then it waits a little."""
    world = World()
    world.provider()
    rivals = iter(range(4))

    def rival() -> None:
        for number in rivals:
            world.api.put(CAPACITY_PROVIDERS, "pool", metadata={"labels": {"number": str(number)}})
            break

    world.api.before_patch = rival
    async with world.running():
        await asyncio.sleep(10)
    assert world.api.capacity("pool") == EIGHTY
    assert len(world.api.patches) == 1
    assert world.api.gets == [CAPACITY_PROVIDERS.path("pool")] * 4
    assert len(world.source.asked) == 2


async def test_an_edit_while_it_is_written_is_answered_for_what_it_asks() -> None:
    """What was observed for the old spec is not published under the new generation."""
    world = World()
    world.api.put(RESOURCE_FLAVORS, "a100", spec={})
    world.provider()

    def edit() -> None:
        world.api.before_patch = lambda: None
        world.source.amounts = {"a100": {"nvidia.com/gpu": 8}}
        world.provider("pool", "a100")

    world.api.before_patch = edit
    async with world.running():
        await asyncio.sleep(SOON)
    (patch,) = world.api.patches
    assert patch.condition["observedGeneration"] == 2
    assert world.api.capacity("pool") == {"a100": {"nvidia.com/gpu": "8"}}


async def test_an_object_of_the_same_name_is_another_one() -> None:
    """Guards included: what its predecessor published holds nothing back."""
    world = World()
    world.parameters(guards={"fallAfter": "10m"})
    world.provider(parameters="p")
    async with world.running():
        await asyncio.sleep(SOON)
        world.source.amounts = {"h100": {"nvidia.com/gpu": 8}}
        world.publisher.look()
        await asyncio.sleep(SOON)
        assert world.api.capacity("pool") == EIGHTY
        world.api.delete(CAPACITY_PROVIDERS, "pool")
        world.provider(parameters="p", metadata={"uid": "another"})
        await asyncio.sleep(SOON)
    assert world.api.capacity("pool") == {"h100": {"nvidia.com/gpu": "8"}}


async def test_an_object_that_is_being_deleted_is_left_alone() -> None:
    """And is still a peer of the others."""
    world = World()
    world.provider()
    world.provider("other")
    async with world.running():
        await asyncio.sleep(SOON)
        world.api.put(CAPACITY_PROVIDERS, "other", metadata={"deletionTimestamp": "2026-01-01T00:00:02Z"}, status={})
        await asyncio.sleep(SOON)
        assert world.api.status("other") == {}
        assert [each.provider.metadata.name for each in world.source.requests[-1].peers] == ["other"]
        world.api.delete(CAPACITY_PROVIDERS, "other")
        await asyncio.sleep(SOON)
        assert world.source.requests[-1].peers == ()
    assert sorted(patched(world.api)) == ["other", "pool"]


async def test_a_source_is_told_of_whom_it_is_not_asked_any_more() -> None:
    """Once it is gone, and of all others when another replica leads."""
    world = World()
    world.provider()
    world.provider("other")
    async with world.running():
        await asyncio.sleep(SOON)
        assert world.source.forgotten == []
        world.api.delete(CAPACITY_PROVIDERS, "other")
        await asyncio.sleep(SOON)
        assert world.source.forgotten == ["other"]
        world.publisher.stop()
    assert world.source.forgotten == ["other", "pool"]


# --- whose it is -----------------------------------------------------------------------------------------------------


async def test_other_controllers_objects_are_left_alone() -> None:
    world = World()
    world.provider("theirs", controller="example.com/other")
    async with world.running():
        await asyncio.sleep(SOON)
        world.provider("theirs", "h100", "x", controller="example.com/other")
        await asyncio.sleep(SOON)
    assert world.api.patches == []
    assert world.source.asked == []


async def test_only_some_may_be_served() -> None:
    """Also one that comes later; the others are peers all the same."""
    world = World(only=frozenset({"mine", "later"}))
    world.provider("mine")
    world.provider("another")
    async with world.running():
        await asyncio.sleep(SOON)
        world.provider("later")
        await asyncio.sleep(SOON)
    assert {name for name, _ in world.source.asked} == {"mine", "later"}
    assert {each.provider.metadata.name for each in world.source.requests[-1].peers} >= {"another"}


async def test_what_is_kept_by_hand_is_left_alone() -> None:
    """Until it gets parameters, and again once they are taken away."""
    world = World()
    world.without_parameters = WithoutParameters.BY_HAND
    world.provider()
    world.parameters()
    async with world.running():
        await asyncio.sleep(SOON)
        assert world.api.patches == []
        assert world.publisher.served() == {}
        world.provider(parameters="p")
        await asyncio.sleep(SOON)
        assert len(world.api.patches) == 1
        world.provider()
        world.api.put(CAPACITY_PROVIDERS, "pool", status={})
        await asyncio.sleep(3600)
        assert len(world.api.patches) == 1
        assert world.publisher.records == {}


async def test_whoever_does_not_lead_writes_nothing() -> None:
    world = World()
    world.provider()
    world.leads = False
    async with world.running():
        await asyncio.sleep(SOON)
    assert world.api.patches == []


async def test_a_source_that_reads_providers_is_asked_when_any_of_them_changes() -> None:
    """And not for what it wrote itself: two of them would keep each other busy for ever."""
    world = World(reads_providers=True)
    world.provider()
    world.provider("theirs", controller="example.com/other")
    async with world.running():
        await asyncio.sleep(10)
        assert len(world.source.asked) == 1
        world.api.put(CAPACITY_PROVIDERS, "theirs", status={"capacity": {"flavors": []}})
        await asyncio.sleep(10)
        assert len(world.source.asked) == 2
        assert world.source.requests[-1].providers["theirs"].status.capacity is not None


# --- what people are told --------------------------------------------------------------------------------------------


async def test_what_a_source_notices_is_told_once() -> None:
    """Again when it becomes something else."""
    world = World()
    world.source.more = {"notices": (Notice("NodesExcluded", "2 of 10"),)}
    world.provider()
    async with world.running():
        await asyncio.sleep(3 * INTERVAL)
        world.source.more = {"notices": (Notice("NodesExcluded", "3 of 10"), Notice("Fine", "x", is_warning=False))}
        world.publisher.look()
        await asyncio.sleep(3 * INTERVAL)
    assert [each[1:] for each in world.told.events] == [
        ("Normal", "Synchronized", "all well"),
        ("Warning", "NodesExcluded", "2 of 10"),
        ("Warning", "NodesExcluded", "3 of 10"),
        ("Normal", "Fine", "x"),
    ]


async def test_metrics_of_a_provider_go_with_it() -> None:
    world = World()
    world.parameters(headroom=[{"flavor": "h100", "resource": "nvidia.com/gpu", "percent": 10}])
    world.provider(parameters="p")
    pair = {"provider": "pool", "flavor": "h100", "resource": "nvidia.com/gpu"}
    async with world.running():
        await asyncio.sleep(SOON)
        assert world.metric("published_capacity", **pair) == 72
        assert world.metric("observed_capacity", **pair) == 80
        assert world.metric("headroom", **pair) == 8
        assert world.metric("synchronized", provider="pool") == 1
        assert world.metric("condition", provider="pool", reason="Synchronized") == 1
        assert world.metric("observations_total", provider="pool", result="success") == 1
        assert world.metric("status_writes_total", provider="pool") == 1
        assert world.metric("observation_seconds_count") == 1
        assert world.metric("last_observation_timestamp_seconds", provider="pool") is not None
        world.source.answers["pool"] = raising(SourceUnavailable("gone"))
        world.publisher.look()
        await asyncio.sleep(0.3)
        assert world.metric("synchronized", provider="pool") == 0
        assert world.metric("condition", provider="pool", reason="Synchronized") is None
        assert world.metric("published_capacity", **pair) == 72
        world.api.delete(CAPACITY_PROVIDERS, "pool")
        await asyncio.sleep(SOON)
        assert [each for family in world.registry.collect() for each in family.samples if "pool" in str(each)] == []


async def test_a_provider_is_alive_while_it_is_looked_after() -> None:
    """Whatever its source says."""
    world = World()
    world.source.answers["failing"] = raising(SourceUnavailable("no"))
    for name in ("pool", "failing"):
        world.provider(name)
    async with world.running():
        assert not world.publisher.is_alive("pool")
        for _ in range(100):
            await asyncio.sleep(60)
            assert world.publisher.is_alive("pool")
            assert world.publisher.is_alive("failing")
        assert not world.publisher.is_alive("unknown")


async def test_answers_for_one_provider_do_not_wait_for_another() -> None:
    world = World()

    async def slow(_: Request[CommonParameters]) -> Observation:
        await asyncio.sleep(50)
        return Observation(capacity_of(EIGHTY), "slow")

    for name in ("a", "b", "c"):
        world.source.answers[name] = slow
        world.provider(name)
    world.provider()
    async with world.running():
        await asyncio.sleep(SOON)
        assert patched(world.api) == ["pool"]
        await asyncio.sleep(60)
    assert sorted(patched(world.api)) == ["a", "b", "c", "pool"]
