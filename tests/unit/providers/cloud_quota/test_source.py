"""The source as a daemon runs it, over a cloud without a network, with threads of its own."""

from __future__ import annotations

import asyncio
import contextlib
import datetime
import random
import threading
from collections.abc import Callable, Iterator
from fractions import Fraction
from importlib.metadata import entry_points
from typing import Any, cast

import pytest
from prometheus_client import CollectorRegistry

from kueue_dqo.api.cloud import CloudQuotaParametersSpec
from kueue_dqo.provider import (
    ENTRY_POINTS,
    Environment,
    Misconfigured,
    Observation,
    Request,
    SourceUnavailable,
    WithoutParameters,
)
from kueue_dqo.runtime.cache_metrics import CacheMetrics
from kueue_dqo.runtime.client import Client
from kueue_dqo.runtime.clock import SystemClock
from providers.cloud_quota import connection
from providers.cloud_quota.asking import threads
from providers.cloud_quota.cloud import Result
from providers.cloud_quota.clouds import cloud_of
from providers.cloud_quota.source import CONTROLLER, CloudQuota
from tests.unit.providers.cloud_quota.clouds import GPU, FakeCloud, amounts_of, entry, quota, request, spec

ASKED = spec({"p5": [entry("L-1")]})
LIMIT = 10.0
"""Seconds until a test gives up that waits for a thread."""


class World:
    """The source in a process, and the cloud that all parameters are about."""

    def __init__(self, cloud: FakeCloud) -> None:
        self.cloud = cloud
        self._others = set(threading.enumerate())
        self.registry = CollectorRegistry()
        self.source = CloudQuota(
            Environment(
                client=cast("Client", None),  # it asks no API server
                clock=SystemClock(),
                random=random.Random(1),
                registry=self.registry,
                cache_metrics=CacheMetrics(CollectorRegistry()),
                look=lambda: None,
            )
        )

    async def observe(self, about: Request[CloudQuotaParametersSpec] | None = None) -> Observation:
        async with asyncio.timeout(LIMIT):
            return await self.source.observe(about or request(ASKED))

    @property
    def threads(self) -> list[threading.Thread]:
        """Those that ask for this source: the process of a test may have others, of tests before."""
        found = [each for each in threading.enumerate() if each not in self._others]
        return [each for each in found if each.name.startswith("cloud-aws")]

    def sample(self, name: str, **labels: str) -> float | None:
        return self.registry.get_sample_value(f"kueue_dqo_cloud_quota_{name}", labels)


@pytest.fixture
def world(monkeypatch: pytest.MonkeyPatch) -> Iterator[World]:
    cloud = FakeCloud({quota("L-1"): 384.0, quota("L-2"): 768.0})
    monkeypatch.setattr("providers.cloud_quota.asking.cloud_of", lambda _: cloud)
    found = World(cloud)
    yield found
    for name in ("aws", "a", "b"):
        found.source.forget(name)
    for thread in found.threads:
        thread.join(LIMIT)
    assert not found.threads


async def until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(LIMIT):
        while not condition():  # noqa: ASYNC110 - a thread sees to it, which sets no event of the loop
            await asyncio.sleep(0.001)


# --- which it is -----------------------------------------------------------------------------------------------------


def test_the_controller_is_the_one_that_capacity_providers_name() -> None:
    assert CONTROLLER.name == "kueue-dqo.dev/cloud-quota"
    assert CONTROLLER.parameters is not None
    assert CONTROLLER.parameters.resource.plural == "cloudquotaparameters"
    assert CONTROLLER.without_parameters is WithoutParameters.MISCONFIGURED


def test_it_is_run_as_cloud_quota() -> None:
    (found,) = entry_points(group=ENTRY_POINTS, name="cloud-quota")
    assert found.load() is CONTROLLER


def test_parameters_without_a_cloud_are_misconfigured() -> None:
    with pytest.raises(Misconfigured, match="exactly one of aws, gcp"):
        cloud_of(CloudQuotaParametersSpec())


# --- what it answers -------------------------------------------------------------------------------------------------


async def test_what_the_account_allows_becomes_the_capacity(world: World) -> None:
    observation = await world.observe()
    assert amounts_of(observation) == {"p5": {"cpu": "384", "memory": "4Ti", GPU: "16"}}


async def test_entries_are_derived_at_the_time_when_the_answers_are_there(world: World) -> None:
    """A block may have ended while they were waited for."""
    before = datetime.datetime.now(datetime.UTC)
    await world.observe()
    (at,) = world.cloud.derived_at
    assert before <= at <= datetime.datetime.now(datetime.UTC)


async def test_a_change_in_the_cluster_costs_no_calls(world: World) -> None:
    first = await world.observe()
    assert await world.observe() == first
    assert world.cloud.times == {"L-1": 1, "p5.48xlarge": 1}


async def test_an_edit_asks_only_what_is_new_in_it(world: World) -> None:
    await world.observe()
    await world.observe(request(spec({"p5": [entry("L-1"), entry("L-2")]})))
    assert world.cloud.times == {"L-1": 1, "L-2": 1, "p5.48xlarge": 1}


async def test_parameters_that_lead_to_no_questions_are_named(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(account: Any) -> Any:
        raise Misconfigured(f"{account.regions[0]} is no region")

    monkeypatch.setattr(world.cloud, "questions", refuse)
    with pytest.raises(Misconfigured) as raised:
        await world.observe()
    assert str(raised.value) == "CloudQuotaParameters aws-parameters: us-east-1 is no region"


# --- threads ---------------------------------------------------------------------------------------------------------


async def test_a_question_that_hangs_in_its_thread_is_not_asked_again_by_others(world: World) -> None:
    asked, go = threading.Event(), threading.Event()

    def hang() -> float:
        asked.set()
        assert go.wait(LIMIT)
        return 384.0

    world.cloud.answers[quota("L-1")] = hang
    first = asyncio.create_task(world.observe(request(ASKED, name="a", peers={"b": None})))
    await until(asked.is_set)
    first.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await first
    second = asyncio.create_task(world.observe(request(ASKED, name="b", peers={"a": None})))
    await asyncio.sleep(0)
    go.set()
    assert amounts_of(await second)["p5"][GPU] == "16"
    assert world.cloud.times["L-1"] == 1


def test_an_account_has_two_threads() -> None:
    before = set(threading.enumerate())
    executor, go = threads("aws"), threading.Event()
    waiting = [executor.submit(go.wait, LIMIT) for _ in range(5)]
    assert [each.name for each in threading.enumerate() if each not in before] == ["cloud-aws_0", "cloud-aws_1"]
    go.set()
    executor.shutdown()
    assert all(each.result() for each in waiting)


async def test_accounts_are_opened_one_after_the_other(world: World) -> None:
    opening: list[int] = []
    most: list[int] = []
    first, go = threading.Event(), threading.Event()

    def load() -> None:
        opening.append(1)
        most.append(len(opening))
        first.set()
        assert go.wait(LIMIT)
        opening.pop()

    world.cloud.on_open = load
    roles = {name: spec({"p5": [entry("L-1")]}, role=f"arn:aws:iam::{name}:role/r") for name in ("a", "b")}
    looks = [
        asyncio.create_task(world.observe(request(roles[name], name=name, peers=dict.fromkeys({"a", "b"} - {name}))))
        for name in ("a", "b")
    ]
    await until(first.is_set)
    await until(lambda: len(world.threads) >= 2)
    go.set()
    await asyncio.gather(*looks)
    assert most == [1, 1]


async def test_an_account_that_cannot_be_opened_for_long_does_not_keep_others_from_it(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connection, "_LONGEST_OPENING", 0)
    opening, go = threading.Event(), threading.Event()

    def hang() -> None:
        world.cloud.on_open = lambda: None
        opening.set()
        assert go.wait(LIMIT)

    world.cloud.on_open = hang
    peers: dict[str, Any] = {"a": None, "b": None}
    other = spec({"p5": [entry("L-2")]}, role="arn:aws:iam::2:role/b")
    first = asyncio.create_task(world.observe(request(ASKED, name="a", peers=peers)))
    await until(opening.is_set)
    try:
        observation = await world.observe(request(other, name="b", peers=peers))
    finally:
        go.set()
    assert amounts_of(observation)["p5"][GPU] == "32"
    assert amounts_of(await first)["p5"][GPU] == "16"


async def test_no_request_begins_after_the_time_of_a_look(world: World) -> None:
    """What is left of the look is what the next one waits for."""
    looks = world.source._looks  # noqa: SLF001 - the source itself looks for 50 s
    await looks.look("a", world.cloud, ASKED.account, seconds=0)
    looked = await looks.look("a", world.cloud, ASKED.account, seconds=LIMIT)
    assert list(map(str, looked.heard.failures)) == [
        "Fake Cloud, account 1111: no time was left for Quota(us-east-1, L-1)",
        "Fake Cloud, account 1111: no time was left for Shape(p5.48xlarge)",
    ]
    assert world.cloud.asked == []
    looks.forget("a")  # the source does not know of it


# --- who asks --------------------------------------------------------------------------------------------------------


async def test_a_provider_that_is_forgotten_leaves_no_account_and_no_series(world: World) -> None:
    await world.observe()
    assert world.sample("instances", provider="aws", flavor="p5", entry="0", region="us-east-1", type="p5.48xlarge")
    world.source.forget("aws")
    await until(lambda: world.cloud.opened[0].closed == 1)
    assert "kueue_dqo_cloud_quota_instances" in {family.name for family in world.registry.collect()}
    assert [each for family in world.registry.collect() for each in family.samples if "provider" in each.labels] == []


async def test_a_provider_that_is_gone_from_the_peers_is_forgotten(world: World) -> None:
    other = spec({"p5": [entry("L-2")]}, role="arn:aws:iam::2:role/b")
    await world.observe(request(other, name="b"))
    await world.observe(request(ASKED, name="a", peers={"b": other}))
    assert not world.cloud.opened[0].closed
    await world.observe(request(ASKED, name="a"))
    await until(lambda: world.cloud.opened[0].closed == 1)
    assert not world.cloud.opened[1].closed


async def test_the_end_of_the_process_closes_all_accounts(world: World) -> None:
    running = asyncio.create_task(world.source.run())
    await world.observe()
    running.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await running
    await until(lambda: world.cloud.opened[0].closed == 1)
    await until(lambda: not world.threads)


# --- metrics ---------------------------------------------------------------------------------------------------------


async def test_limits_instances_and_the_age_of_answers_are_shown(world: World) -> None:
    await world.observe(request(spec({"p5": [entry("L-1"), entry("L-2", share="0.5")]})))
    assert world.sample("limit", provider="aws", source="L-1", region="us-east-1") == 384
    assert world.sample("limit", provider="aws", source="L-2", region="us-east-1") == 768
    labels = {"provider": "aws", "flavor": "p5", "region": "us-east-1", "type": "p5.48xlarge"}
    assert [world.sample("instances", entry=number, **labels) for number in "01"] == [2, 2]
    age = world.sample("answer_age_seconds", provider="aws")
    assert age is not None
    assert 0 <= age < LIMIT


async def test_the_age_of_answers_is_that_of_the_last_capacity_while_looks_fail(world: World) -> None:
    await world.observe()
    first = world.sample("answer_age_seconds", provider="aws")
    world.cloud.answers[quota("L-2")] = SourceUnavailable("down")
    with pytest.raises(SourceUnavailable):
        await world.observe(request(spec({"p5": [entry("L-2")]})))
    second = world.sample("answer_age_seconds", provider="aws")
    assert first is not None
    assert second is not None
    assert second >= first


async def test_what_one_provider_found_is_refused_to_another_until_it_is_gone(world: World) -> None:
    world.cloud.more = {"taken": {"reservation cr-1": Fraction(1)}}
    asked = {"a": spec({"p5": [entry("L-1")]}), "b": spec({"p4d": [entry("L-2")]})}
    await world.observe(request(asked["a"], name="a", peers={"b": asked["b"]}))
    with pytest.raises(Misconfigured, match="reservation cr-1: 2 of it is taken"):
        await world.observe(request(asked["b"], name="b", peers={"a": asked["a"]}))
    await world.observe(request(asked["b"], name="b"))


async def test_calls_are_counted_by_their_result(world: World) -> None:
    world.cloud.answers[quota("L-1")] = SourceUnavailable("throttled")
    world.cloud.results[quota("L-1")] = Result.THROTTLED
    world.cloud.throttles = 3
    with pytest.raises(SourceUnavailable):
        await world.observe()
    call = {"cloud": "aws", "call": "servicequotas:GetServiceQuota"}
    assert world.sample("calls_total", result="throttled", **call) == 1
    assert world.sample("throttles_total", **call) in {3, 6}  # the shape is asked as well, or waits behind
    count = world.sample("call_seconds_count", **call)
    assert count is not None
    assert world.sample("call_seconds_sum", **call) == 0.25 * count
