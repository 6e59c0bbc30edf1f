"""What is written to the API server, how often, in which order, and what becomes of it when that is away."""

from __future__ import annotations

import asyncio
import itertools
import random
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import msgspec
import pytest
from prometheus_client import CollectorRegistry
from structlog.testing import capture_logs

from kueue_dqo.api.gpu import AgentProblem, NodeGPUReportSpec, UnhealthyDevice
from kueue_dqo.runtime.errors import (
    Answered,
    ApiError,
    ConfigurationError,
    Forbidden,
    Invalid,
    NotFound,
    TooManyRequests,
    Unauthorized,
    Unreachable,
)
from providers.nvidia_gpu.agent.metrics import AgentMetrics
from providers.nvidia_gpu.agent.node_identity import Identity
from providers.nvidia_gpu.agent.writing import ReportWriter
from tests.unit.kueue_dqo.runtime.virtual_time import VirtualClock
from tests.unit.providers.nvidia_gpu.agent.reports import NODE, PATH, UID, Reports, inventory, problem

pytestmark = pytest.mark.looptime

HEARTBEAT = 300.0
AWAY = Unreachable("refused", method="PATCH", path=PATH, may_have_landed=False)


class Agent:
    """A writer, and what it heard and met."""

    def __init__(self, *, seed: int = 1, uid: str | None = UID) -> None:
        self.api = Reports()
        self.before: list[NodeGPUReportSpec] = []
        self.registry = CollectorRegistry()
        self.identity_failures: list[Exception] = []
        self.uid = uid
        self.asked: list[float] = []
        self.writer = ReportWriter(
            self.api,
            identify=self._identify,
            resume=self.before.append,
            heartbeat=HEARTBEAT,
            clock=VirtualClock(),
            random=random.Random(seed),
            metrics=AgentMetrics(self.registry),
        )

    async def _identify(self) -> Identity:
        self.asked.append(asyncio.get_running_loop().time())
        if self.identity_failures:
            raise self.identity_failures.pop(0)
        return Identity(NODE, self.uid)

    @asynccontextmanager
    async def running(self) -> AsyncIterator[ReportWriter]:
        task = asyncio.create_task(self.writer.run())
        try:
            await asyncio.sleep(1)
            yield self.writer
        finally:
            task.cancel()
            await asyncio.wait({task})
            assert task.cancelled()

    def failing(self, *errors: ApiError) -> None:
        """The next requests end so."""
        left = list(errors)

        def fail() -> None:
            if left:
                raise left.pop(0)

        self.api.before = fail

    def writes(self, result: str) -> float | None:
        name = "kueue_dqo_nvidia_gpu_agent_report_writes_total"
        return self.registry.get_sample_value(name, {"result": result})


def owners(agent: Agent) -> list[str]:
    """The uid of the owner, in each inventory that was written."""
    return [body["metadata"]["ownerReferences"][0]["uid"] for body in agent.api.bodies if "inventory" in body["spec"]]


async def until_tried(agent: Agent, tries: int) -> None:
    """Until the last of so many requests is under way."""
    while len(agent.api.tries) < tries:  # noqa: ASYNC110 - in virtual time
        await asyncio.sleep(0.005)


async def test_what_the_report_said_is_known_before_anything_is_written() -> None:
    """Without the right to read, and without a change of it."""
    agent = Agent()
    agent.api.spec = {"inventory": msgspec.to_builtins(inventory(8)), "problem": msgspec.to_builtins(problem())}
    async with agent.running():
        assert agent.before == [NodeGPUReportSpec(inventory(8), problem())]
        assert agent.api.writes == []
        assert agent.writer.problems() == ["the report was not written yet"]


async def test_a_change_is_written_at_once_and_the_same_again_is_not() -> None:
    """Whenever it was said."""
    agent = Agent()
    async with agent.running() as writer:
        writer.say(inventory(8))
        await asyncio.sleep(0.1)
        writer.say(inventory(8, renewed="2026-01-01T00:00:10Z"))
        await asyncio.sleep(0.1)
        writer.say(inventory(7, renewed="2026-01-01T00:00:20Z"))
        await asyncio.sleep(0.1)
        assert agent.api.written() == [("inventory", 8), ("inventory", 7)]
        assert writer.problems() == []
    assert agent.writes("success") == 2
    written = agent.registry.get_sample_value("kueue_dqo_nvidia_gpu_agent_last_write_timestamp_seconds")
    assert written is not None
    assert written > 0


@pytest.mark.parametrize("uid", [UID, None])
async def test_the_report_is_owned_by_its_node(uid: str | None) -> None:
    """Where its uid is known. Nothing else stands in the metadata."""
    agent = Agent(uid=uid)
    async with agent.running() as writer:
        writer.say(inventory(8))
        await asyncio.sleep(0.1)
    (body,) = agent.api.bodies
    owner = {"apiVersion": "v1", "kind": "Node", "name": NODE, "uid": uid}
    assert body["metadata"] == {"name": NODE, **({"ownerReferences": [owner]} if uid else {})}


async def test_what_is_listed_makes_room_for_a_problem() -> None:
    """Also what an earlier process has written. Its time is the old one: nobody has read NVML anew."""
    listed = tuple(UnhealthyDevice("Lost", "2026-01-01T00:00:00Z", f"GPU-{number:036}") for number in range(12))
    crowded = msgspec.structs.replace(inventory(0), unhealthy=listed)
    agent = Agent()
    agent.api.spec = {"inventory": msgspec.to_builtins(crowded)}
    async with agent.running() as writer:
        writer.say_problem(AgentProblem("LibraryNotFound", "x" * 160, "2026-01-01T00:00:00Z"))
        await asyncio.sleep(1)
    assert [kind for kind, _ in agent.api.written()] == ["inventory", "problem"]
    kept = agent.api.spec["inventory"]
    assert kept["renewTime"] == crowded.renew_time
    assert 0 < len(kept["unhealthy"]) < 12
    assert len(kept["unhealthy"]) + kept["unhealthyNotListed"] == 12


async def test_a_problem_leaves_the_inventory_alone() -> None:
    """It is not renewed, however long the problem lasts: what nobody has read is not said anew."""
    agent = Agent()
    async with agent.running() as writer:
        writer.say(inventory(8))
        await asyncio.sleep(1)
        writer.say_problem(problem())
        await asyncio.sleep(10 * HEARTBEAT)
    assert set(agent.api.written()[1:]) == {("problem", "LibraryNotFound")}
    assert agent.api.spec is not None
    assert agent.api.spec["inventory"]["gpus"] == 8


async def test_an_inventory_is_renewed_before_its_problem_is_taken_away() -> None:
    """Also one that says the same as before: it may be old."""
    agent = Agent()
    async with agent.running() as writer:
        writer.say(inventory(8))
        await asyncio.sleep(1)
        writer.say_problem(problem())
        await asyncio.sleep(1)
        writer.say(inventory(8, renewed="2026-01-01T00:10:00Z"))
        await asyncio.sleep(1)
    assert agent.api.written() == [
        ("inventory", 8),
        ("problem", "LibraryNotFound"),
        ("inventory", 8),
        ("problem", None),
    ]
    assert agent.api.spec is not None
    assert agent.api.spec.keys() == {"inventory"}
    assert agent.api.spec["inventory"]["renewTime"] == "2026-01-01T00:10:00Z"


async def test_a_problem_of_an_earlier_process_is_taken_away() -> None:
    agent = Agent()
    agent.api.spec = {"problem": msgspec.to_builtins(problem())}
    async with agent.running() as writer:
        writer.say(inventory(8))
        await asyncio.sleep(1)
    assert agent.api.written() == [("inventory", 8), ("problem", None)]


async def test_a_problem_that_the_report_has_already_is_confirmed() -> None:
    """Once: a process that can do nothing else has told what it has to tell, and is ready."""
    agent = Agent()
    agent.api.spec = {"problem": msgspec.to_builtins(problem())}
    async with agent.running() as writer:
        writer.say_problem(problem())
        assert await writer.settled(limit=5)
        assert writer.problems() == []
    assert agent.api.written() == [("problem", "LibraryNotFound")]


async def test_heartbeats_keep_their_distance() -> None:
    """A tenth more or less; each says when NVML was read last. A change counts as one."""
    agent = Agent()
    async with agent.running() as writer:
        writer.say(inventory(8))
        await asyncio.sleep(20 * HEARTBEAT)
        writer.say(inventory(8, renewed="2026-01-01T02:00:00Z"))
        await asyncio.sleep(1.2 * HEARTBEAT)
    times = [write.at for write in agent.api.writes]
    gaps = [later - earlier for earlier, later in itertools.pairwise(times[1:])]
    assert len(gaps) >= 18
    assert all(0.9 * HEARTBEAT <= gap <= 1.1 * HEARTBEAT + 1 for gap in gaps)
    assert len(set(gaps)) > 10
    last = agent.api.writes[-1].value
    assert last is not None
    assert last["renewTime"] == "2026-01-01T02:00:00Z"


async def test_the_first_heartbeats_of_many_agents_are_spread_over_the_whole_interval() -> None:
    """A DaemonSet starts all of them in the same moment."""
    agents = [Agent(seed=seed) for seed in range(100)]
    first = []
    for agent in agents:
        async with agent.running() as writer:
            writer.say(inventory(8))
            await asyncio.sleep(1.2 * HEARTBEAT)
        first.append(agent.api.writes[1].at - agent.api.writes[0].at)
    for tenth in range(10):
        assert any(tenth * 30 <= each < (tenth + 1) * 30 for each in first)
    assert max(first) <= HEARTBEAT + 1


async def test_only_the_newest_state_is_written_when_the_server_is_back() -> None:
    agent = Agent()
    async with agent.running() as writer:
        agent.failing(*[AWAY] * 4)
        for gpus in (8, 7, 6):
            writer.say(inventory(gpus))
            await asyncio.sleep(0.02)
        await asyncio.sleep(120)
    assert agent.api.written()[0] == ("inventory", 6)
    assert agent.writes("Unreachable") == 4


async def test_waits_grow_between_failures_and_a_change_cuts_none_of_them_short() -> None:
    """Five thousand agents that see the same must not ask the more often, the worse it is."""
    agent = Agent()
    async with agent.running() as writer:
        agent.failing(*[AWAY] * 12)
        before = len(agent.api.tries)
        for number in range(600):
            writer.say(inventory(number % 8))
            await asyncio.sleep(0.5)
    tries = agent.api.tries[before:]
    assert len([each for each in tries if each < tries[0] + 60]) <= 13
    assert max(later - earlier for earlier, later in itertools.pairwise(tries)) > 5


async def test_the_server_is_left_alone_for_as_long_as_it_asks() -> None:
    agent = Agent()
    async with agent.running() as writer:
        agent.failing(TooManyRequests(method="PATCH", path=PATH, code=429, retry_after=40))
        writer.say(inventory(8))
        await asyncio.sleep(60)
    assert agent.api.tries[2] - agent.api.tries[1] >= 40


async def test_last_words_do_not_wait_for_the_next_try() -> None:
    """One pause is cut short; not more, or a server that is away would be asked without a pause."""
    agent = Agent()
    async with agent.running() as writer:
        agent.failing(TooManyRequests(method="PATCH", path=PATH, code=429, retry_after=40))
        writer.say(inventory(8))
        await asyncio.sleep(1)
        writer.say_problem(problem("DriverCallHung"))
        assert await writer.settled(limit=5)
        assert agent.api.written() == [("problem", "DriverCallHung")]


async def test_last_words_end_in_time_where_the_server_is_away() -> None:
    agent = Agent()
    async with agent.running() as writer:
        agent.failing(*[AWAY] * 1000)
        writer.say_problem(problem("DriverCallHung"))
        began = asyncio.get_running_loop().time()
        assert not await writer.settled(limit=5)
        assert asyncio.get_running_loop().time() - began == 5
        assert len(agent.api.tries) < 20
        assert len(agent.asked) == 1  # that the server is away says nothing of who this is


async def test_a_failure_is_told_once_with_its_way_out() -> None:
    """Until there is another one, or none."""
    agent = Agent()
    text = 'nodegpureports is forbidden: User "a" cannot patch resource "nodegpureports"'
    forbidden = Forbidden(method="PATCH", path=PATH, code=403, message=text)
    missing = NotFound(method="PATCH", path=PATH, code=404)
    with capture_logs() as logs:
        async with agent.running() as writer:
            agent.failing(forbidden, forbidden, forbidden, missing, missing)
            writer.say(inventory(8))
            await asyncio.sleep(1)
            assert "cannot patch" in writer.problems()[0]
            await asyncio.sleep(300)
            assert writer.problems() == []
    told = [
        (line["event"], line.get("way_out", "")) for line in logs if "takes the" in line["event"] or "way_out" in line
    ]
    event = "API server does not take the report, it is tried again"
    assert [each[0] for each in told] == [event, event, "API server takes the report again"]
    assert "create and patch on nodegpureports.kueue-dqo.dev" in told[0][1]
    assert "install the CustomResourceDefinition nodegpureports.kueue-dqo.dev" in told[1][1]


@pytest.mark.parametrize(
    ("refused", "words"),
    [
        (Unauthorized(method="PATCH", path=PATH, code=401), ("token", "service account", "clocks", "new pod")),
        (
            Invalid(method="PATCH", path=PATH, code=422, causes=("spec.inventory.product: Too long",)),
            ("nodegpureports.kueue-dqo.dev", "another version", "webhook", "apply"),
        ),
    ],
    ids=str,
)
async def test_a_refusal_has_its_causes_and_its_way_out_in_the_log(refused: Answered, words: tuple[str, ...]) -> None:
    agent = Agent()
    with capture_logs() as logs:
        async with agent.running() as writer:
            agent.failing(*[refused] * 3)
            writer.say(inventory(8))
            await asyncio.sleep(300)
    (told,) = [line for line in logs if "way_out" in line]
    assert told.get("causes", []) == list(refused.causes)
    for word in words:
        assert word in told["way_out"]


async def test_a_node_that_was_made_anew_gets_the_report_with_the_next_heartbeat() -> None:
    """Even where nothing refuses the old owner: it would be collected as garbage."""
    agent = Agent()
    with capture_logs() as logs:
        async with agent.running() as writer:
            writer.say(inventory(8))
            await asyncio.sleep(1)
            agent.api.spec, agent.uid = None, "another"
            await asyncio.sleep(1.2 * HEARTBEAT)
            assert owners(agent) == [UID, "another"]
            await asyncio.sleep(5 * HEARTBEAT)
    assert len(agent.asked) == len(agent.api.writes)  # at the start, and with each heartbeat
    lines = [line for line in logs if line["event"].startswith("token names another Node")]
    assert [(line["uid"], line["before"]) for line in lines] == [("another", UID)]


async def test_a_node_that_was_made_anew_gets_the_report_after_a_refusal() -> None:
    """Whatever was to be written; it is asked with each try who this is, and no more often."""
    refused = Forbidden(method="PATCH", path=PATH, code=403, message="may be owned by that Node alone")
    agent = Agent()
    with capture_logs() as logs:
        async with agent.running() as writer:
            writer.say(inventory(8))
            await asyncio.sleep(1)
            agent.failing(refused, refused, refused)
            writer.say(inventory(7))
            await asyncio.sleep(0.05)
            agent.uid = "another"
            await asyncio.sleep(20)
            assert agent.api.written() == [("inventory", 8), ("inventory", 7)]
            assert owners(agent) == [UID, "another"]
            writer.say(inventory(6))
            await asyncio.sleep(1)
            assert len(agent.asked) == 1 + 3
            assert agent.api.written()[2:] == [("inventory", 6)]
    (told,) = [line for line in logs if "way_out" in line]
    for word in ("admission policy", "asks anew which node", "delete the agent's pod", "uid"):
        assert word in told["way_out"]


async def test_a_change_of_the_node_is_written_also_while_there_is_a_problem() -> None:
    """What stands is given to the new Node, as it was; then the problem is told."""
    agent = Agent()
    async with agent.running() as writer:
        writer.say(inventory(8))
        await asyncio.sleep(1)
        writer.say_problem(problem())
        await asyncio.sleep(1)
        agent.api.spec, agent.uid = None, "another"
        await asyncio.sleep(1.2 * HEARTBEAT)
        assert agent.api.written()[2:4] == [("inventory", 8), ("problem", "LibraryNotFound")]
        assert owners(agent)[-1] == "another"
        assert agent.api.written()[4:] == []
        await asyncio.sleep(HEARTBEAT)
        assert agent.api.written()[4:] == [("problem", "LibraryNotFound")]


async def test_a_node_that_cannot_be_asked_for_is_asked_for_again() -> None:
    agent = Agent()
    async with agent.running() as writer:
        writer.say(inventory(8))
        await asyncio.sleep(1)
        agent.identity_failures = [AWAY] * 3
        agent.uid = "another"
        await asyncio.sleep(1.2 * HEARTBEAT)
    assert owners(agent)[:2] == [UID, "another"]


async def test_an_agent_without_a_bound_token_warns_once() -> None:
    agent = Agent(uid=None)
    with capture_logs() as logs:
        async with agent.running() as writer:
            writer.say(inventory(8))
            await asyncio.sleep(5 * HEARTBEAT)
    warnings = [(line["event"].split(",")[0], line["node"]) for line in logs if line["log_level"] == "warning"]
    assert warnings == [("token is bound to no node", NODE)]


async def test_an_agent_whose_writes_fail_again_and_again_is_not_ready() -> None:
    """Not for the first failures, which every API server that restarts leads to; and until one lands."""
    agent = Agent()
    async with agent.running() as writer:
        writer.say(inventory(8))
        await asyncio.sleep(1)
        for failures, is_ready in ((7, True), (8, False)):
            agent.failing(*[AWAY] * failures)
            before = len(agent.api.tries)
            writer.say(inventory(failures))
            await until_tried(agent, before + failures)
            await asyncio.sleep(0.02)
            found = writer.problems()
            assert (found == []) is is_ready
            if not is_ready:
                assert found == [f"the report is not up to date, 8 tries have failed: {AWAY}"]
            await asyncio.sleep(60)
            assert writer.problems() == []


async def test_a_write_that_is_under_way_at_the_end_lands_and_so_does_what_was_said_last() -> None:
    """Also after a failure, whose pause is cut short."""
    agent = Agent()
    async with agent.running() as writer:
        writer.say(inventory(8))
        await asyncio.sleep(0.005)
        writer.say(inventory(7))
    assert agent.api.written() == [("inventory", 8), ("inventory", 7)]
    agent = Agent()
    async with agent.running() as writer:
        agent.failing(TooManyRequests(method="PATCH", path=PATH, code=429, retry_after=40))
        writer.say(inventory(8))
        await asyncio.sleep(1)
        began = asyncio.get_running_loop().time()
    assert agent.api.written() == [("inventory", 8)]
    assert asyncio.get_running_loop().time() - began < 1


async def test_a_heartbeat_that_is_under_way_at_the_end_lands() -> None:
    agent = Agent()
    async with agent.running() as writer:
        writer.say(inventory(8))
        await asyncio.sleep(1)
        await until_tried(agent, 3)
    assert agent.api.written() == [("inventory", 8), ("inventory", 8)]


@pytest.mark.parametrize("said", [True, False])
async def test_an_agent_ends_in_time_where_the_server_is_away(said: bool) -> None:
    """Without a word where there is nothing to say, and only once where it had its last words already."""
    agent = Agent()
    async with agent.running() as writer:
        agent.failing(*[AWAY] * 1000)
        if said:
            writer.say(inventory(8))
            await asyncio.sleep(1)
        began = asyncio.get_running_loop().time()
    assert asyncio.get_running_loop().time() - began == (5 if said else 0)
    async with agent.running() as writer:
        writer.say(inventory(7))
        assert not await writer.settled(limit=5)
        began = asyncio.get_running_loop().time()
    assert asyncio.get_running_loop().time() == began


async def test_a_server_that_is_away_at_the_start_is_waited_for() -> None:
    """What is read meanwhile is written once it is known who writes, and what the report said."""
    agent = Agent()
    agent.identity_failures = [AWAY] * 5
    agent.writer.say(inventory(8))
    async with agent.running():
        await asyncio.sleep(120)
    assert agent.before == [NodeGPUReportSpec()]
    assert agent.api.written()[0] == ("inventory", 8)


async def test_a_report_that_nobody_can_read_is_written_anew() -> None:
    agent = Agent()
    agent.api.spec = {"inventory": {"gpus": "many"}}
    with capture_logs() as logs:
        async with agent.running() as writer:
            writer.say(inventory(8))
            await asyncio.sleep(1)
    assert agent.before == [NodeGPUReportSpec()]
    assert agent.api.written() == [("inventory", 8)]
    assert [line["node"] for line in logs if line["event"].startswith("last report cannot be read")] == [NODE]


async def test_a_report_that_was_deleted_comes_back_with_the_heartbeat() -> None:
    agent = Agent()
    async with agent.running() as writer:
        writer.say(inventory(8))
        await asyncio.sleep(1)
        agent.api.spec = None
        await asyncio.sleep(1.2 * HEARTBEAT)
        assert agent.api.spec is not None


async def test_who_does_not_know_its_node_ends() -> None:
    agent = Agent()
    agent.identity_failures = [ConfigurationError("nobody says which node this is")]
    with pytest.raises(ConfigurationError, match="nobody says"):
        await agent.writer.run()
