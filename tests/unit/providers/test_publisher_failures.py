"""What a publisher says when there is nothing to publish, and how it goes on."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
from collections.abc import AsyncGenerator, AsyncIterator
from typing import Any, cast

import pytest
from structlog.testing import capture_logs

from kueue_dqo.api import dqo
from kueue_dqo.api.parameters import CommonParameters
from kueue_dqo.provider import InvalidCapacity, Misconfigured, Observation, Request, SourceUnavailable
from kueue_dqo.provider import WithoutParameters as Without
from kueue_dqo.runtime.errors import ApiError, Forbidden, Invalid, ServerFailed, Unreachable
from kueue_dqo.runtime.resources import CAPACITY_PROVIDERS, RESOURCE_FLAVORS, Resource
from tests.unit.providers.publishing import INTERVAL, LIMIT, PARAMETERS, World, capacity_of, hanging, raising

pytestmark = pytest.mark.looptime

EIGHTY = {"h100": {"nvidia.com/gpu": "80"}}
SOON = 2.0


def said(world: World, name: str = "pool") -> tuple[str, str]:
    condition = world.api.condition(name)
    assert condition["status"] == ("True" if condition["reason"] == "Synchronized" else "False")
    return condition["reason"], condition["message"]


# --- the source ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (SourceUnavailable("the service is down"), "SourceUnavailable"),
        (InvalidCapacity("the service is down"), "InvalidCapacity"),
        (Misconfigured("the service is down"), "Misconfigured"),
    ],
)
async def test_a_failure_keeps_the_capacity(error: Exception, reason: str) -> None:
    """And is told by condition and Event, each time that it begins and ends."""
    world = World()
    world.provider()
    async with world.running():
        await asyncio.sleep(SOON)
        world.source.answers["pool"] = raising(error)
        world.publisher.look()
        await asyncio.sleep(SOON)
        assert said(world) == (reason, "the service is down")
        assert world.api.capacity("pool") == EIGHTY
        assert "/status/capacity" not in world.api.patches[-1].values
        assert world.api.condition("pool")["lastTransitionTime"] == "2026-01-01T00:00:02Z"
        world.source.answers.clear()
        await asyncio.sleep(10)
        assert said(world) == ("Synchronized", "all well")
    assert [(each.type, each.reason) for each in world.told.events] == [
        ("Normal", "Synchronized"),
        ("Warning", reason),
        ("Normal", "Synchronized"),
    ]
    assert world.metric("observations_total", provider="pool", result=reason) is None  # nobody leads any more


async def test_a_failing_source_is_asked_less_and_less_often() -> None:
    """From a second to the interval; after a success it begins anew."""
    world = World()
    world.provider()
    world.source.answers["pool"] = raising(SourceUnavailable("no"))
    async with world.running():
        await asyncio.sleep(24 * 3600)
        times = world.source.times()
        pauses = [after - before for before, after in itertools.pairwise(times)]
        assert all(0.5 * 2**n <= pause <= 2**n + 0.1 for n, pause in enumerate(pauses[:8]))
        assert 0.5 * INTERVAL <= min(pauses[9:]) < max(pauses) <= INTERVAL + 0.1
        assert len(world.api.patches) == 1
        world.source.answers.clear()
        await asyncio.sleep(INTERVAL + 1)
        world.source.answers["pool"] = raising(SourceUnavailable("no"))
        world.source.asked.clear()
        world.publisher.look()
        await asyncio.sleep(5)
    times = world.source.times()
    assert 0.5 <= times[1] - times[0] <= 1.1


@pytest.mark.parametrize(("again", "at"), [(100.0, 100.0), ("soon", None), (None, None)], ids=str)
async def test_a_failure_may_say_when_to_ask_at_the_latest(again: Any, at: float | None) -> None:
    """Such as when a grace ends. Third parties' may be anything."""
    world = World()
    world.provider()

    async def answer(_: object) -> Observation:
        error = SourceUnavailable("no")
        error.look_again = again if again != 100.0 else again - asyncio.get_running_loop().time() % 100.0
        raise error

    world.source.answers["pool"] = answer
    async with world.running():
        await asyncio.sleep(3600)
    near = [time for time in world.source.times() if time > 50 and min(time % 100, 100 - time % 100) < 0.6]
    assert (len(near) > 30) is (at is not None)


@pytest.mark.parametrize("error", [ValueError("x"), asyncio.CancelledError(), KeyError("h100")], ids=repr)
async def test_whatever_a_source_raises_is_no_capacity(error: BaseException) -> None:
    """The traceback is in the log."""
    world = World()
    world.provider()
    world.source.answers["pool"] = raising(error)
    with capture_logs() as logs:
        async with world.running():
            await asyncio.sleep(0.4)
    reason, message = said(world)
    assert reason == "SourceUnavailable"
    assert f"the source failed: {type(error).__name__}" in message
    (log,) = [each for each in logs if each["event"] == "source failed"]
    assert (log["provider"], log["log_level"], type(log["exc_info"])) == ("pool", "error", type(error))


WRONG: dict[str, Any] = {
    "None": None,
    "no capacity": Observation(cast("Any", None), "all well"),
    "a float": Observation(capacity_of({"h100": {"cpu": 1}}), "all well")._replace(
        capacity=dqo.Capacity((dqo.FlavorCapacity("h100", {"cpu": cast("Any", 1.5)}),))
    ),
    "no flavor": Observation(dqo.Capacity((cast("Any", "h100"),)), "all well"),
    "no text": Observation(capacity_of({}), cast("Any", 3)),
    "no seconds": Observation(capacity_of({}), "all well", cast("Any", "5")),
    "no notice": Observation(capacity_of({}), "all well", None, cast("Any", ("text",))),
    "no notices": Observation(capacity_of({}), "all well", None, cast("Any", None)),
}


@pytest.mark.parametrize("answer", WRONG.values(), ids=WRONG)
async def test_what_is_no_observation_is_a_failure_of_the_source(answer: Any) -> None:
    """Of a third party's that nobody has checked for types. It is said, and tried less and less often."""
    world = World()

    async def wrong(_: Request[CommonParameters]) -> Any:
        return answer

    world.provider()
    async with world.running():
        await asyncio.sleep(SOON)
        world.source.answers["pool"] = wrong
        world.publisher.look()
        await asyncio.sleep(SOON)
        assert said(world)[0] == "SourceUnavailable"
        assert "TypeError: " in said(world)[1]
        assert world.api.capacity("pool") == EIGHTY
        world.source.asked.clear()
        with capture_logs() as logs:
            await asyncio.sleep(600)
        assert len(world.source.asked) < 15
        assert len([each for each in logs if each["log_level"] == "error"]) < 15


async def test_what_judging_an_answer_fails_of_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    """Not only logged: a condition that stays True while nothing is published any more would be a lie."""
    world = World()
    world.provider()

    def broken(*_: object) -> None:
        raise ZeroDivisionError("a fault of ours")

    async with world.running():
        await asyncio.sleep(SOON)
        monkeypatch.setattr("providers.looking.settle", broken)
        world.publisher.look()
        await asyncio.sleep(SOON)
        assert said(world)[0] == "SourceUnavailable"
        assert "ZeroDivisionError: a fault of ours" in said(world)[1]
        monkeypatch.undo()
        await asyncio.sleep(INTERVAL)
        assert said(world) == ("Synchronized", "all well")


async def test_a_fault_behind_a_look_is_tried_again_more_and_more_slowly(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever it is, it must not spin."""
    world = World()
    world.provider()

    def broken(*_: object) -> None:
        raise ZeroDivisionError("a fault of ours")

    monkeypatch.setattr("providers.publisher.Publisher._ended", broken)
    with capture_logs() as logs:
        async with world.running():
            await asyncio.sleep(300)
    assert 5 < len([each for each in logs if each["event"] == "reconcile failed"]) < 40


async def test_a_hold_that_ends_while_the_source_fails_is_not_told_any_more() -> None:
    world = World()
    world.parameters(guards={"fallAfter": "4m"})
    world.provider(parameters="p")
    async with world.running():
        await asyncio.sleep(SOON)
        world.source.amounts = {"h100": {"nvidia.com/gpu": 8}}
        world.publisher.look()
        await asyncio.sleep(SOON)
        world.source.answers["pool"] = raising(SourceUnavailable("the service is down"))
        world.publisher.look()
        await asyncio.sleep(200)
        assert said(world)[1].startswith("holding h100 until ")
        await asyncio.sleep(42)
        assert said(world)[1] == "the service is down"


async def test_impossible_numbers_are_not_published() -> None:
    world = World()
    world.source.amounts = {"h100": {"nvidia.com/gpu": -1}}
    world.provider()
    async with world.running():
        await asyncio.sleep(SOON)
    assert said(world)[0] == "InvalidCapacity"
    assert world.api.capacity("pool") is None


async def test_a_source_that_hangs_is_given_up_after_a_minute() -> None:
    """And asked anew, never twice at the same time."""
    world = World()
    world.provider()
    world.source.answers["pool"] = hanging
    async with world.running():
        await asyncio.sleep(LIMIT - 1)
        assert world.api.patches == []
        await asyncio.sleep(2)
        assert said(world)[0] == "SourceUnavailable"
        assert "no answer within 60 s" in said(world)[1]
        await asyncio.sleep(1000)
        times = world.source.times()
        assert len(times) > 3
        assert all(after - before > LIMIT for before, after in itertools.pairwise(times))


async def test_a_source_that_does_not_let_go_is_not_asked_again() -> None:
    """Until it does."""
    world = World()
    world.provider()
    stuck = asyncio.Event()

    async def stubborn(_: Request[CommonParameters]) -> Observation:
        while not stuck.is_set():
            try:
                await stuck.wait()
            except asyncio.CancelledError:
                continue
        return world.source.observation()

    world.source.answers["pool"] = stubborn
    async with world.running():
        await asyncio.sleep(LIMIT + 10)
        assert said(world)[0] == "SourceUnavailable"
        assert "does not end that" in said(world)[1]
        writes = len(world.api.patches)
        await asyncio.sleep(1000)
        assert len(world.source.asked) == 1
        assert len(world.api.patches) == writes  # it says the same as long as it is the same
        stuck.set()
        await asyncio.sleep(INTERVAL + 1)
        assert said(world) == ("Synchronized", "all well")


@pytest.mark.parametrize("part", ["everything", "amount", "condition"])
async def test_a_failure_keeps_the_capacity_whatever_others_make_of_it(part: str) -> None:
    """What was published last is what can be trusted, not what somebody has written since."""
    world = World()
    world.provider()
    async with world.running():
        await asyncio.sleep(SOON)
        world.source.answers["pool"] = raising(SourceUnavailable("the service is down"))
        world.publisher.look()
        await asyncio.sleep(SOON)
        good = world.api.status("pool")
        by_hand: dict[str, Any] = {
            "everything": {},
            "amount": {**good, "capacity": {"flavors": [{"name": "h100", "resources": {"nvidia.com/gpu": "999"}}]}},
            "condition": {**good, "conditions": []},
        }
        world.api.put(CAPACITY_PROVIDERS, "pool", status=by_hand[part])
        await asyncio.sleep(10)
    assert said(world) == ("SourceUnavailable", "the service is down")
    assert world.api.capacity("pool") == EIGHTY


# --- an edit meanwhile -----------------------------------------------------------------------------------------------


async def test_an_edit_is_answered_at_once_while_the_source_is_unavailable() -> None:
    """The last capacity stays, and the orchestrator can say why it does not count."""
    world = World()
    world.provider()
    async with world.running():
        await asyncio.sleep(SOON)
        world.source.answers["pool"] = hanging
        world.publisher.look()
        await asyncio.sleep(2 * LIMIT)
        world.api.put(RESOURCE_FLAVORS, "a100", spec={})
        world.provider("pool", "h100", "a100")
        await asyncio.sleep(0.1)
        assert said(world)[0] == "SourceUnavailable"
        assert world.api.condition("pool")["observedGeneration"] == 2
        assert world.api.capacity("pool") == EIGHTY


async def test_an_edit_ends_the_question_that_is_being_asked() -> None:
    """Of the parameters as well: the new question may be one that can be answered."""
    world = World()
    world.parameters()
    world.provider(parameters="p")
    world.source.answers["pool"] = hanging
    async with world.running():
        await asyncio.sleep(10)
        world.source.answers.clear()
        world.parameters(headroom=[{"flavor": "h100", "resource": "nvidia.com/gpu", "quantity": "8"}])
        await asyncio.sleep(SOON)
        assert world.api.capacity("pool") == {"h100": {"nvidia.com/gpu": "72"}}
        world.source.answers["pool"] = hanging
        world.publisher.look()
        await asyncio.sleep(10)
        world.source.answers.clear()
        world.provider(parameters="p", metadata={"labels": {}}, flavors_changed=True)
        world.provider("pool", "h100", parameters="")
        await asyncio.sleep(SOON)
        assert world.api.capacity("pool") == EIGHTY


# --- parameters and flavors ------------------------------------------------------------------------------------------


async def test_parameters_are_followed() -> None:
    """Missing, created, changed, deleted, created again."""
    world = World()
    world.provider(parameters="p")
    async with world.running():
        await asyncio.sleep(SOON)
        assert said(world)[0] == "Misconfigured"
        assert "spec.parameters names TestParameters 'p', which does not exist" in said(world)[1]
        for percent, left in ((10, "72"), (50, "40")):
            world.parameters(headroom=[{"flavor": "h100", "resource": "nvidia.com/gpu", "percent": percent}])
            await asyncio.sleep(1)
            assert world.api.capacity("pool") == {"h100": {"nvidia.com/gpu": left}}
        world.api.delete(PARAMETERS, "p")
        await asyncio.sleep(1)
        assert said(world)[0] == "Misconfigured"
        world.parameters()
        await asyncio.sleep(1)
        assert world.api.capacity("pool") == EIGHTY


async def test_parameters_that_cannot_be_used_are_named_with_their_field() -> None:
    world = World()
    world.parameters(headroom=[{"flavour": "h100"}])
    world.provider(parameters="p")
    async with world.running():
        await asyncio.sleep(SOON)
    assert said(world)[0] == "Misconfigured"
    assert said(world)[1].startswith("TestParameters/p cannot be used: spec.headroom[0]")


async def test_parameters_of_another_kind_are_refused() -> None:
    world = World()
    world.parameters()
    world.provider(parameters="p", kind="ConfigMap")
    async with world.running():
        await asyncio.sleep(SOON)
    assert said(world)[0] == "Misconfigured"
    assert "names kind 'ConfigMap' of apiGroup 'example.com'" in said(world)[1]


async def test_a_controller_may_insist_on_parameters() -> None:
    world = World()
    world.without_parameters = Without.MISCONFIGURED
    world.provider()
    async with world.running():
        await asyncio.sleep(SOON)
    assert said(world)[0] == "Misconfigured"
    assert "spec.parameters is missing" in said(world)[1]


async def test_a_cluster_without_the_parameters_kind_is_told_where_it_matters() -> None:
    """Providers without parameters do without; readiness says it where one needs it."""
    world = World()
    world.api.absent.add(PARAMETERS.path())
    world.provider("without")
    async with world.running():
        await asyncio.sleep(SOON)
        assert said(world, "without")[0] == "Synchronized"
        assert world.directory.problems() == []
        world.provider(parameters="p")
        await asyncio.sleep(SOON)
        assert said(world)[0] == "Misconfigured"
        assert "no CustomResourceDefinition testparameters.example.com in version v1: install it" in said(world)[1]
        (problem,) = world.directory.problems()
        assert problem.startswith("testparameters.v1.example.com: ")
        world.api.absent.clear()
        world.parameters()
        await asyncio.sleep(60)
        assert said(world)[0] == "Synchronized"
        assert world.directory.problems() == []


async def test_a_flavor_without_object_is_a_mistake() -> None:
    """Until it is created."""
    world = World()
    world.provider("pool", "h100", "a100")
    async with world.running():
        await asyncio.sleep(SOON)
        assert said(world)[0] == "Misconfigured"
        assert "ResourceFlavor a100 does not exist" in said(world)[1]
        assert world.source.asked == []
        world.api.put(RESOURCE_FLAVORS, "a100", spec={})
        await asyncio.sleep(1)
        assert said(world)[0] == "Synchronized"


async def test_an_object_that_cannot_be_read_says_so_itself() -> None:
    """Its spec; a status that cannot be read is written anew."""
    world = World()
    world.provider(status={"capacity": {"flavors": [{"name": "h100", "resources": {"cpu": "1 core"}}]}})
    world.api.put(
        CAPACITY_PROVIDERS,
        "broken",
        spec={"controllerName": "example.com/test", "orchestratedFlavors": []},
        status={"capacity": {"flavors": []}},
    )
    async with world.running():
        await asyncio.sleep(SOON)
        assert said(world, "broken")[0] == "Misconfigured"
        assert "the object cannot be read: spec.orchestratedFlavors: is empty" in said(world, "broken")[1]
        assert world.api.capacity("broken") == {}
        assert world.api.capacity("pool") == EIGHTY
        await asyncio.sleep(3600)
    assert len(world.api.patches) == 2


# --- the API server --------------------------------------------------------------------------------------------------


def _error(kind: type[ApiError], **more: Any) -> ApiError:
    if issubclass(kind, Unreachable):
        return kind("reset", method="PATCH", path="/x", may_have_landed=True)
    return kind(method="PATCH", path="/x", **more)


@pytest.mark.parametrize("lands", [False, True])
async def test_a_write_whose_fate_is_unknown_is_made_sure_of(lands: bool) -> None:
    world = World()
    world.provider()
    failures = iter([_error(Unreachable), _error(ServerFailed, code=500)])

    def fail() -> None:
        for error in failures:
            raise error

    if lands:
        world.api.after_patch = fail
    else:
        world.api.before_patch = fail
    async with world.running():
        await asyncio.sleep(10)
    assert world.api.capacity("pool") == EIGHTY
    assert len(world.api.patches) == 1


@pytest.mark.parametrize(
    "error",
    [
        _error(Forbidden, code=403, message='User "x" cannot patch'),
        _error(Invalid, code=422, causes=("status: no",)),
    ],
    ids=["forbidden", "invalid"],
)
async def test_a_refused_status_is_told_and_tried_less_and_less_often(error: ApiError) -> None:
    """The provider does not count as looked after."""
    world = World()
    world.provider()
    tries: list[float] = []

    def refuse() -> None:
        tries.append(asyncio.get_running_loop().time())
        raise error

    world.api.before_patch = refuse
    with capture_logs() as logs:
        async with world.running():
            await asyncio.sleep(3600)
            assert not world.publisher.is_alive("pool")
            assert {each.reason for each in world.told.events} == {"StatusRejected"}
            assert 10 < len(tries) < 40
            world.api.before_patch = lambda: None
            await asyncio.sleep(INTERVAL + 1)
            assert world.publisher.is_alive("pool")
    assert world.api.capacity("pool") == EIGHTY
    assert "status refused" in {each["event"] for each in logs}


async def test_a_status_that_others_keep_changing_is_left_for_a_while() -> None:
    """So that two writers do not keep the API server busy."""
    world = World()
    world.provider()
    tries: list[float] = []

    def rival() -> None:
        tries.append(asyncio.get_running_loop().time())
        world.api.put(CAPACITY_PROVIDERS, "pool", metadata={"labels": {"try": str(len(tries))}})

    world.api.before_patch = rival
    async with world.running():
        await asyncio.sleep(60)
        assert len(tries) < 40
        world.api.before_patch = lambda: None
        await asyncio.sleep(60)
    assert world.api.capacity("pool") == EIGHTY


async def test_a_rival_is_answered_more_and_more_slowly() -> None:
    """And named. Whoever leaves the status alone again finds it right, and is answered at once the next time."""
    world = World()
    world.provider()

    async def overwrite(seconds: float) -> int:
        """Whenever it is right, for so long. Returns how often."""
        times, end = 0, asyncio.get_running_loop().time() + seconds
        while asyncio.get_running_loop().time() < end:
            if world.api.capacity("pool") == EIGHTY:
                times += 1
                managed = {"manager": "rival", "subresource": "status", "time": "2026-01-01T00:00:00Z"}
                world.api.put(CAPACITY_PROVIDERS, "pool", metadata={"managedFields": [managed]}, status={})
            await asyncio.sleep(0.1)
        return times

    async with world.running():
        await asyncio.sleep(SOON)
        assert 8 <= await overwrite(600) <= 20
        await asyncio.sleep(61)
        assert world.api.capacity("pool") == EIGHTY
        contested = [each for each in world.told.events if each.reason == "StatusContested"]
        assert "field manager 'rival' writes over the status" in contested[-1].message
        await asyncio.sleep(601)
        world.api.put(CAPACITY_PROVIDERS, "pool", status={})
        await asyncio.sleep(SOON)
        assert world.api.capacity("pool") == EIGHTY


# --- what is not seen any more ---------------------------------------------------------------------------------------


class _Permissions:
    """Which resources the daemon may not read at present, by their collections' paths."""

    def __init__(self, world: World, monkeypatch: pytest.MonkeyPatch) -> None:
        self.refused: set[str] = set()
        self._watches: dict[str, asyncio.Event] = {}
        lines, pages = world.api.lines, world.api.pages

        async def watched(path: str, **more: Any) -> AsyncGenerator[bytes, None]:
            self._check(path)
            ends = asyncio.create_task(self._watches.setdefault(path, asyncio.Event()).wait())
            async with contextlib.aclosing(lines(path, **more)) as news:
                while True:
                    line = asyncio.ensure_future(anext(news))
                    try:
                        await asyncio.wait({line, ends}, return_when=asyncio.FIRST_COMPLETED)
                        if not line.done():
                            raise Unreachable("broke off", method="GET", path=path, may_have_landed=False)
                        yield line.result()
                    finally:
                        line.cancel()
                        await asyncio.wait({line})

        async def listed(path: str, **more: Any) -> AsyncIterator[bytes]:
            self._check(path)
            async for page in pages(path, **more):
                yield page

        monkeypatch.setattr(world.api, "lines", watched)
        monkeypatch.setattr(world.api, "pages", listed)

    def refuse(self, resource: Resource) -> None:
        """Its watch ends as well."""
        self.refused.add(resource.path())
        self._watches.pop(resource.path()).set()

    def _check(self, path: str) -> None:
        if path in self.refused:
            raise Forbidden(message="may not", method="GET", path=path, code=403)


@pytest.mark.parametrize("resource", [PARAMETERS, RESOURCE_FLAVORS, CAPACITY_PROVIDERS], ids=lambda each: each.plural)
async def test_what_a_question_is_made_of_is_trusted_for_a_minute_of_blindness(
    resource: Resource, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Then the condition says so, at once; the capacity stays. And at once when it is seen again."""
    world = World()
    permissions = _Permissions(world, monkeypatch)
    world.parameters("p")
    world.provider(parameters="p")
    async with world.running():
        await asyncio.sleep(SOON)
        permissions.refuse(resource)
        await asyncio.sleep(55)
        assert said(world)[0] == "Synchronized"
        await asyncio.sleep(5)
        reason, message = said(world)
        assert reason == "SourceUnavailable"
        assert message.startswith(f"{resource.plural} could not be read: no permission to watch {resource.full_name}: ")
        assert "ClusterRole" in message
        assert world.api.capacity("pool") == EIGHTY
        await asyncio.sleep(3600)
        assert len(world.api.patches) == 2
        permissions.refused.clear()
        await asyncio.sleep(61)  # the longest time between two tries of a watch, which is not the source's
        assert said(world) == ("Synchronized", "all well")


async def test_parameters_that_nobody_names_need_not_be_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    world = World()
    permissions = _Permissions(world, monkeypatch)
    world.provider()
    async with world.running():
        await asyncio.sleep(SOON)
        permissions.refuse(PARAMETERS)
        await asyncio.sleep(3600)
        assert said(world)[0] == "Synchronized"
        assert len(world.api.patches) == 1
