"""Asking an account, in virtual time: what costs calls, what does not, and what comes of calls that fail."""

from __future__ import annotations

import asyncio
import itertools
import random
from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio

from kueue_dqo.provider import Misconfigured, SourceUnavailable
from providers.cloud_quota.asking import Looks, used_for
from providers.cloud_quota.cloud import Call, CredentialsExpired, Result
from providers.cloud_quota.heard import Heard, Unanswered
from tests.unit.kueue_dqo.runtime.virtual_time import VirtualClock
from tests.unit.providers.cloud_quota.clouds import (
    P5,
    FakeCloud,
    QuotaQuestion,
    ShapeQuestion,
    VirtualExecutor,
    entry,
    quota,
    spec,
)

pytestmark = pytest.mark.looptime

HOUR = 3600
FOR_EVER = 1e9
ONE = spec({"p5": [entry("L-1")]}).account
TWO = spec({"p5": [entry("L-1"), entry("L-2")]}).account


class World:
    """One cloud, and looks at it."""

    def __init__(self) -> None:
        self.cloud = FakeCloud({quota("L-1"): 384.0, quota("L-2"): 768.0})
        self.calls: list[tuple[str, Call]] = []
        self.executors: list[VirtualExecutor] = []
        self.takes = 0.0
        self.looks = Looks(
            clock=VirtualClock(),
            random=random.Random(1),
            record=lambda cloud, call: self.calls.append((cloud, call)),
            keep=60,
            executor=self._executor,
        )

    def _executor(self, cloud: str) -> VirtualExecutor:
        assert cloud == "aws"
        self.executors.append(VirtualExecutor(self.takes))
        return self.executors[-1]

    async def look(self, account: Any = ONE, who: str = "aws") -> Heard:
        return (await self.looks.look(who, self.cloud, account)).heard

    def throttle(self, code: str) -> None:
        """From now on."""
        self.cloud.answers[quota(code)] = SourceUnavailable(f"{code} is throttled")
        self.cloud.results[quota(code)] = Result.THROTTLED

    def relent(self, code: str) -> None:
        self.cloud.answers[quota(code)] = 384.0
        self.cloud.results.clear()


@pytest_asyncio.fixture
async def world() -> AsyncIterator[World]:
    found = World()
    yield found
    found.looks.close()


def closures(world: World) -> list[int]:
    """Of each account that was opened."""
    return [each.closed for each in world.cloud.opened]


def texts(heard: Heard) -> list[str]:
    return [str(each) for each in heard.failures]


# --- what costs calls ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("interval", "kept"), [(300, 60), (120, 60), (60, 30), (10, 5)])
def test_answers_are_used_again_for_half_an_interval_and_a_minute_at_most(interval: float, kept: float) -> None:
    assert used_for(interval) == kept


async def test_each_question_is_asked_once_and_its_answer_is_what_the_account_says(world: World) -> None:
    heard = await world.look(TWO)
    assert (heard.answers[quota("L-1")], heard.answers[quota("L-2")]) == (384.0, 768.0)
    assert heard.failures == ()
    assert world.cloud.times == {"L-1": 1, "L-2": 1, "p5.48xlarge": 1}
    assert [cloud for cloud, _ in world.calls] == ["aws"] * 3


async def test_looks_soon_after_another_cost_no_calls_and_later_ones_only_for_what_may_have_changed(
    world: World,
) -> None:
    first = await world.look()
    await asyncio.sleep(59)
    assert (await world.look()).oldest == first.oldest == 0
    assert world.cloud.times == {"L-1": 1, "p5.48xlarge": 1}
    await asyncio.sleep(1)
    assert (await world.look()).oldest == 60
    assert world.cloud.times == {"L-1": 2, "p5.48xlarge": 1}


async def test_a_shape_is_kept_for_most_of_a_day(world: World) -> None:
    await world.look()
    await asyncio.sleep(21.5 * HOUR)
    await world.look()
    assert world.cloud.times["p5.48xlarge"] == 1
    await asyncio.sleep(2.5 * HOUR)
    await world.look()
    assert world.cloud.times["p5.48xlarge"] == 2


async def test_shapes_are_not_all_asked_anew_at_the_same_moment(world: World) -> None:
    types = [f"type{number}" for number in range(20)]
    world.cloud.answers |= {ShapeQuestion(each): P5 for each in types}
    account = spec({"p5": [entry("L-1", instanceType=each) for each in types]}).account
    await world.look(account)
    await asyncio.sleep(22.8 * HOUR)
    await world.look(account)
    asked = [world.cloud.times[each] for each in types]
    assert {1, 2} == set(asked)


async def test_what_an_account_did_not_answer_leaves_the_other_answers_as_they_are(world: World) -> None:
    world.cloud.answers[quota("L-1")] = Misconfigured("no permission for L-1")
    heard = await world.look(TWO)
    assert texts(heard) == ["no permission for L-1"]
    assert heard.answers[quota("L-2")] == 768.0
    with pytest.raises(Unanswered):
        heard.answers[quota("L-1")]
    world.cloud.answers[quota("L-1")] = 384.0
    heard = await world.look(TWO)
    assert heard.answers[quota("L-1")] == 384.0
    assert world.cloud.times == {"L-1": 2, "L-2": 1, "p5.48xlarge": 1}


async def test_all_that_an_account_did_not_answer_is_told(world: World) -> None:
    for code in ("L-1", "L-2"):
        world.cloud.answers[quota(code)] = SourceUnavailable(f"{code} failed")
    assert texts(await world.look(TWO)) == ["L-1 failed", "L-2 failed"]


async def test_a_mistake_in_the_code_of_a_cloud_is_no_answer(world: World) -> None:
    world.cloud.answers[quota("L-1")] = ZeroDivisionError("oops")
    with pytest.raises(ZeroDivisionError):
        await world.look()


# --- looks beside each other -----------------------------------------------------------------------------------------


async def test_two_providers_of_one_account_share_a_question_that_is_being_asked(world: World) -> None:
    world.takes = 5
    first, second = await asyncio.gather(world.look(ONE, "a"), world.look(TWO, "b"))
    assert first.answers[quota("L-1")] == second.answers[quota("L-1")] == 384.0
    assert world.cloud.times == {"L-1": 1, "L-2": 1, "p5.48xlarge": 1}
    assert len(world.cloud.opened) == 1


async def test_a_look_that_is_given_up_leaves_its_answers_to_the_next_one(world: World) -> None:
    world.takes = 5
    look = asyncio.create_task(world.look(TWO))
    await asyncio.sleep(7)
    look.cancel()
    await asyncio.sleep(1)
    heard = await world.look(TWO)
    assert heard.failures == ()
    assert world.cloud.times == {"L-1": 1, "L-2": 1, "p5.48xlarge": 1}


async def test_a_look_has_50_seconds_and_what_comes_later_is_for_the_next_one(world: World) -> None:
    world.takes = 30  # to open the account, and then for an answer
    heard = await world.look()
    assert asyncio.get_running_loop().time() == 50
    assert texts(heard) == [
        "Quota(us-east-1, L-1) was not answered within 50 s",
        "Shape(p5.48xlarge) was not answered within 50 s",
    ]
    assert (await world.look()).failures == ()
    assert asyncio.get_running_loop().time() == 60
    assert world.cloud.times == {"L-1": 1, "p5.48xlarge": 1}


# --- credentials -----------------------------------------------------------------------------------------------------


def expire_at_first(world: World, code: str) -> None:
    """Whoever was opened first has credentials that are not taken any more."""

    def given() -> Any:
        return CredentialsExpired("ExpiredToken") if len(world.cloud.opened) == 1 else 384.0

    world.cloud.answers[quota(code)] = given


async def test_an_account_whose_credentials_have_expired_is_opened_anew_once(world: World) -> None:
    expire_at_first(world, "L-1")
    expire_at_first(world, "L-2")
    heard = await world.look(TWO)
    assert heard.failures == ()
    assert world.cloud.times == {"L-1": 2, "L-2": 2, "p5.48xlarge": 1}
    await asyncio.sleep(1)
    assert closures(world) == [1, 0]


async def test_new_credentials_that_have_expired_too_make_the_source_unavailable_until_the_next_look(
    world: World,
) -> None:
    world.cloud.answers[quota("L-1")] = CredentialsExpired("ExpiredToken: the token is from yesterday")
    heard = await world.look()
    (failure,) = heard.failures
    assert type(failure) is SourceUnavailable
    assert "Fake Cloud, account 1111: credentials that were just read have expired" in str(failure)
    assert "the token is from yesterday" in str(failure)
    assert world.cloud.times["L-1"] == 2
    world.cloud.answers[quota("L-1")] = 384.0
    assert (await world.look()).failures == ()
    assert closures(world) == [1, 1, 0]


async def test_an_account_that_cannot_be_opened_is_tried_again_only_some_seconds_later(world: World) -> None:
    """Every question of a look would try, and look after look would soon after a change."""
    tried: list[float] = []

    def refuse() -> None:
        tried.append(asyncio.get_running_loop().time())
        raise Misconfigured("AssumeRole is denied")

    world.cloud.on_open = refuse
    world.takes = 1
    for _ in range(5):
        assert texts(await world.look(TWO)) == ["AssumeRole is denied"] * 3
        await asyncio.sleep(2)
    assert tried == [1]
    await asyncio.sleep(1)
    assert texts(await world.look(TWO)) == ["AssumeRole is denied"] * 3
    assert tried == [1, 13]
    world.cloud.on_open = lambda: None
    await asyncio.sleep(10)
    assert (await world.look(TWO)).failures == ()


# --- calls that hang -------------------------------------------------------------------------------------------------


async def hang(world: World, account: Any = ONE) -> None:
    """A look whose calls never end; those of executors that are made later do."""
    world.takes = FOR_EVER
    await world.look(account)
    world.takes = 0


async def test_a_question_that_hangs_is_asked_anew_by_another_connection(world: World) -> None:
    await hang(world)
    hung = [
        f"{each} hangs long after its time: it is asked anew by another connection at the next look"
        for each in ("Quota(us-east-1, L-1)", "Shape(p5.48xlarge)")
    ]
    assert texts(await world.look()) == hung
    assert asyncio.get_running_loop().time() == 65
    assert (await world.look()).failures == ()
    assert [each.is_shut_down for each in world.executors] == [True, False]


async def test_what_waits_behind_calls_that_hang_is_asked_anew_as_well(world: World) -> None:
    await hang(world)
    assert len(texts(await world.look(TWO))) == 3
    assert asyncio.get_running_loop().time() == 65  # and not 50 s after it was asked, or more
    assert (await world.look(TWO)).failures == ()


async def test_no_more_than_three_connections_are_left_to_calls_that_hang(world: World) -> None:
    for _ in range(5):
        await hang(world)
        await asyncio.sleep(20)
    assert len(world.executors) == 3
    failures = texts(await world.look())
    assert len(failures) == 2
    assert failures[0].startswith("Fake Cloud, account 1111: calls hang in 3 connections that were left behind")
    assert failures[0].endswith("and restart the daemon")


async def test_a_connection_is_left_no_more_once_its_calls_have_ended(world: World) -> None:
    world.takes = HOUR
    for _ in range(4):
        await world.look()
        await asyncio.sleep(20)
    assert len(world.executors) == 3
    world.takes = 0
    assert "restart the daemon" in texts(await world.look())[0]
    await asyncio.sleep(3 * HOUR)
    assert (await world.look()).failures == ()
    assert closures(world) == [1, 1, 1, 0]


async def test_an_account_that_is_left_while_calls_hang_is_not_asked_any_more(world: World) -> None:
    await hang(world)
    world.looks.forget("aws")
    await asyncio.sleep(HOUR)
    assert len(world.executors) == 1
    assert world.executors[0].is_shut_down


# --- a missing SDK ---------------------------------------------------------------------------------------------------


async def test_a_missing_sdk_is_named_with_what_to_install(world: World) -> None:
    def load() -> None:
        raise ModuleNotFoundError("No module named 'boto3'")

    world.cloud.on_open = load
    failure = (await world.look()).failures[0]
    assert type(failure) is Misconfigured
    assert "No module named 'boto3'" in str(failure)
    assert "install kueue-dqo[aws]" in str(failure)


# --- throttling ------------------------------------------------------------------------------------------------------


async def test_after_a_throttle_nothing_is_asked_for_a_while_which_the_failure_tells(world: World) -> None:
    await world.look(TWO)
    await asyncio.sleep(60)
    world.throttle("L-1")
    await world.look(TWO)
    asked = len(world.cloud.asked)
    await asyncio.sleep(13)
    heard = await world.look(ONE)
    assert len(world.cloud.asked) == asked
    (text,) = texts(heard)
    assert text.startswith(
        "Fake Cloud, account 1111 refuses calls for their number (servicequotas:GetServiceQuota in us-east-1): "
        "nothing more of quotas in us-east-1 is asked before 2026-01-01T00:01:1"
    )
    world.relent("L-1")
    await asyncio.sleep(4)
    assert (await world.look(ONE)).failures == ()


async def test_what_the_cloud_counts_by_itself_is_asked_though_something_else_is_refused(world: World) -> None:
    """AWS throttles each of its services by region."""
    there = QuotaQuestion("eu-west-1", "L-3")
    world.cloud.answers[there] = 8.0
    entries = [entry("L-1"), entry("L-2"), entry("L-3", region="eu-west-1")]
    world.throttle("L-1")
    heard = await world.look(spec({"p5": entries}).account)
    assert world.cloud.times == {"L-1": 1, "L-3": 1, "p5.48xlarge": 1}
    assert heard.answers[there] == 8.0
    first, second = texts(heard)
    assert first == "L-1 is throttled"
    assert "nothing more of quotas in us-east-1 is asked" in second
    world.cloud.answers[quota("L-4")] = world.cloud.answers[QuotaQuestion("eu-west-1", "L-4")] = 1.0
    heard = await world.look(spec({"p5": [entry("L-4"), entry("L-4", region="eu-west-1")]}).account)
    assert len(texts(heard)) == 1
    assert heard.answers[QuotaQuestion("eu-west-1", "L-4")] == 1.0


async def test_an_account_that_was_throttled_when_it_was_opened_rests_as_well(world: World) -> None:
    opened: list[float] = []

    def refuse() -> None:
        opened.append(asyncio.get_running_loop().time())
        raise SourceUnavailable("AssumeRole is throttled")

    world.cloud.on_open, world.cloud.open_result = refuse, Result.THROTTLED
    while len(opened) < 2:
        await world.look()
        await asyncio.sleep(1)
    assert opened[1] >= 13


async def test_questions_that_wait_behind_one_that_is_throttled_are_not_asked() -> None:
    world = World()
    account = spec({"p5": [entry(f"L-{number}") for number in range(1, 9)]}).account
    world.cloud.answers |= {quota(f"L-{number}"): 1.0 for number in range(1, 9)}
    world.throttle("L-1")
    heard = await world.look(account)
    assert world.cloud.times == {"L-1": 1, "p5.48xlarge": 1}
    assert texts(heard)[0] == "L-1 is throttled"
    assert len(set(texts(heard))) == 2
    world.looks.close()


async def test_rests_grow_up_to_five_minutes_and_are_short_again_after_a_look_that_went_well(world: World) -> None:
    times: list[float] = []

    def throttled() -> Exception:
        times.append(asyncio.get_running_loop().time())
        return SourceUnavailable("throttled")

    world.cloud.answers[quota("L-1")] = throttled
    world.cloud.results[quota("L-1")] = Result.THROTTLED
    while len(times) < 8:
        await world.look()
        await asyncio.sleep(1)
    lengths = [later - earlier for earlier, later in itertools.pairwise(times)]
    for length, wanted in zip(lengths, [15, 30, 60, 120, 240, 300, 300], strict=True):
        assert 0.9 * wanted <= length <= 1.1 * wanted + 1
    world.relent("L-1")
    await asyncio.sleep(400)
    assert (await world.look()).failures == ()
    await asyncio.sleep(60)
    world.throttle("L-1")
    await world.look()
    world.relent("L-1")
    await asyncio.sleep(17)
    assert (await world.look()).failures == ()


async def test_something_else_that_is_wrong_for_days_does_not_keep_rests_long(world: World) -> None:
    """Only what is refused for its number does."""

    async def rest() -> float:
        """Throttles, and returns how long nothing was asked then."""
        world.throttle("L-1")
        told = texts(await world.look(TWO))
        world.relent("L-1")
        since = asyncio.get_running_loop().time()
        while "refuses" in " ".join(told):
            await asyncio.sleep(1)
            told = texts(await world.look(TWO))
        passed = asyncio.get_running_loop().time() - since
        await asyncio.sleep(60)
        return passed

    world.cloud.answers[quota("L-2")] = Misconfigured("L-2 is unknown")
    assert [13 <= await rest() <= 18 for _ in range(3)] == [True] * 3


async def test_a_throttle_of_another_scope_does_not_make_rests_short_again(world: World) -> None:
    times: list[float] = []

    def throttled() -> Exception:
        times.append(asyncio.get_running_loop().time())
        return SourceUnavailable("throttled")

    world.cloud.answers[quota("L-1")] = throttled
    world.cloud.results[quota("L-1")] = Result.THROTTLED
    other = spec({"p5": [entry("L-3", region="eu-west-1")]}).account
    while len(times) < 3:
        world.cloud.answers[QuotaQuestion("eu-west-1", "L-3")] = SourceUnavailable("down")
        await world.look()
        await world.look(other)
        await asyncio.sleep(1)
    assert times[2] - times[1] >= 27


# --- who asks --------------------------------------------------------------------------------------------------------


async def test_an_account_is_closed_when_the_last_provider_that_asks_it_is_gone(world: World) -> None:
    await world.look(ONE, "a")
    await world.look(ONE, "b")
    world.looks.forget("a")
    await asyncio.sleep(1)
    assert closures(world) == [0]
    world.looks.forget("b")
    world.looks.forget("b")
    await asyncio.sleep(1)
    assert closures(world) == [1]
    assert world.executors[0].is_shut_down


async def test_a_provider_that_asks_in_another_name_leaves_the_former_account(world: World) -> None:
    await world.look(ONE)
    await world.look(spec({"p5": [entry("L-1")]}, role="arn:aws:iam::2:role/b").account)
    await asyncio.sleep(1)
    assert closures(world) == [1, 0]


async def test_questions_of_an_account_that_is_left_are_not_asked_any_more() -> None:
    world = World()
    world.takes = 5
    look = asyncio.create_task(world.look(spec({"p5": [entry("L-1"), entry("L-2")]}).account))
    await asyncio.sleep(7)  # two of three are asked
    world.looks.forget("aws")
    heard = await look
    assert any("is not looked after here any more" in text for text in texts(heard))
    await asyncio.sleep(20)
    assert sum(world.cloud.times.values()) == 2
    assert closures(world) == [1]
