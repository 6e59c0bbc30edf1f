"""When NVML is read, what becomes of what it says, and what is done where it says nothing."""

from __future__ import annotations

import asyncio
import datetime
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager
from typing import NoReturn, TypeVar

import pytest
from prometheus_client import CollectorRegistry
from structlog.testing import capture_logs

from kueue_dqo.api.gpu import AgentProblem, GPUInventory, NodeGPUReportSpec
from providers.nvidia_gpu.agent.checks import Checks
from providers.nvidia_gpu.agent.devices import Device, NodeUnreadable, Reading, Xid
from providers.nvidia_gpu.agent.health import Health
from providers.nvidia_gpu.agent.metrics import AgentMetrics
from providers.nvidia_gpu.agent.polling import MustRestart, Poller
from providers.nvidia_gpu.agent.report import fitted_problem
from providers.nvidia_gpu.agent.watchdog import Hung
from tests.unit.kueue_dqo.runtime.virtual_time import VirtualClock
from tests.unit.providers.nvidia_gpu.agent.reports import problem

pytestmark = pytest.mark.looptime

T = TypeVar("T")
INTERVAL = 10.0
LIMIT = 30.0
NOTHING = NodeGPUReportSpec()
NO_LIBRARY = NodeUnreadable("LibraryNotFound", "no library", needs_restart=False)
MISMATCH = NodeUnreadable("VersionMismatch", "another version", needs_restart=True)


class Ended(BaseException):
    """In place of the end of the process."""


class Node:
    """A node's NVML, and everybody around the poller: who calls, who writes, who waits for XIDs."""

    def __init__(self) -> None:
        self.reading: Reading | Exception = reading(Device(0, "GPU-a"), Device(1, "GPU-b"))
        self.hangs = False
        self.polls: list[float] = []
        self.said: list[GPUInventory | AgentProblem] = []
        self.followed: list[str] = []
        self.silence = 0.0
        self.waited_for: list[float] = []
        self.registry = CollectorRegistry()
        self.poller = Poller(
            self,
            worker=self,
            health=Health(Checks.of("", ""), unknown_grace=datetime.timedelta(minutes=10), boot_id="boot"),
            writer=self,
            watch=self,
            clock=VirtualClock(),
            metrics=AgentMetrics(self.registry),
            interval=INTERVAL,
            limit=LIMIT,
            heartbeat=300.0,
            end=self._end,
        )

    def read(self) -> Reading:
        if isinstance(self.reading, Exception):
            raise self.reading
        return self.reading

    async def call(self, function: Callable[[], T], *, limit: float) -> T:
        assert limit == LIMIT
        self.polls.append(asyncio.get_running_loop().time())
        if self.hangs:
            await asyncio.sleep(limit)
            raise Hung("a call of the driver has not come back within 30 s")
        return function()

    def say(self, inventory: GPUInventory) -> None:
        self.said.append(inventory)

    def say_problem(self, problem: AgentProblem) -> None:
        self.said.append(problem)

    async def settled(self, *, limit: float) -> bool:
        self.waited_for.append(limit)
        return True

    def follow(self, uuids: Iterable[str]) -> None:
        self.followed = list(uuids)

    def _end(self, code: int) -> NoReturn:
        raise Ended(code)

    @property
    def problems(self) -> list[AgentProblem]:
        return [each for each in self.said if isinstance(each, AgentProblem)]

    @property
    def inventories(self) -> list[GPUInventory]:
        return [each for each in self.said if isinstance(each, GPUInventory)]

    @asynccontextmanager
    async def running(self, before: NodeGPUReportSpec | None = NOTHING) -> AsyncIterator[Poller]:
        """`before`: what the report said; None: the API server has not told yet."""
        if before is not None:
            self.poller.resume(before)
        task = asyncio.create_task(self.poller.run())
        try:
            await asyncio.sleep(0.1)
            yield self.poller
        finally:
            task.cancel()
            await asyncio.wait({task})


def reading(*devices: Device, driver: str = "570.1") -> Reading:
    return Reading(driver, devices)


async def test_nvml_is_read_at_an_interval_and_at_once_after_an_xid_that_counts() -> None:
    node = Node()
    async with node.running() as poller:
        assert node.polls == [0]
        await asyncio.sleep(20)
        assert node.polls == [0, 10, 20]
        poller.note(Xid(79, "GPU-a"))
        await asyncio.sleep(0.1)
        assert len(node.polls) == 4
        assert [each.reason for each in node.inventories[-1].unhealthy] == ["Xid79"]
        poller.note(Xid(13, "GPU-a"))
        await asyncio.sleep(5)
        assert len(node.polls) == 4
    name = "kueue_dqo_nvidia_gpu_agent_xids_total"
    assert node.registry.get_sample_value(name, {"xid": "79", "counted": "true"}) == 1
    assert node.registry.get_sample_value(name, {"xid": "13", "counted": "false"}) == 1


@pytest.mark.parametrize("number", [63, 154])
async def test_an_xid_that_says_that_another_sign_has_changed_has_it_read_at_once(number: int) -> None:
    node = Node()
    with capture_logs() as logs:
        async with node.running() as poller:
            node.reading = reading(Device(0, "GPU-a", recovery_action=1), Device(1, "GPU-b"))
            for _ in range(3):
                poller.note(Xid(number, "GPU-a"))
            await asyncio.sleep(0.1)
            assert len(node.polls) == 2
            assert [each.reason for each in node.inventories[-1].unhealthy] == ["ResetRequired"]
    assert [line["log_level"] for line in logs if line["event"] == "XID"] == ["info", "debug", "debug"]
    name = "kueue_dqo_nvidia_gpu_agent_xids_total"
    assert node.registry.get_sample_value(name, {"xid": str(number), "counted": "false"}) == 3


async def test_each_xid_of_a_device_has_one_line_however_often_it_comes() -> None:
    """The metric counts them all."""
    node = Node()
    with capture_logs() as logs:
        async with node.running() as poller:
            for number in (79, 48, 13):
                for uuid in ("GPU-a", "GPU-b"):
                    for _ in range(1000):
                        poller.note(Xid(number, uuid))
    lines = [(line["xid"], line["device"]) for line in logs if line["log_level"] == "warning" and "xid" in line]
    assert lines == [(79, "GPU-a"), (79, "GPU-b"), (48, "GPU-a"), (48, "GPU-b")]
    assert [line["log_level"] for line in logs if line.get("xid") == 13] == ["debug"] * 2000
    name = "kueue_dqo_nvidia_gpu_agent_xids_total"
    assert node.registry.get_sample_value(name, {"xid": "79", "counted": "true"}) == 2000


async def test_a_flood_of_xids_leads_to_a_poll_a_second() -> None:
    node = Node()
    async with node.running() as poller:
        for _ in range(500):
            poller.note(Xid(79, "GPU-a"))
            await asyncio.sleep(0.01)
        assert len(node.polls) <= 8


async def test_nothing_is_said_before_the_last_report_is_known() -> None:
    """Then at once. XIDs that come meanwhile count."""
    node = Node()
    async with node.running(before=None) as poller:
        poller.note(Xid(79, "GPU-a"))
        await asyncio.sleep(30)
        assert node.said == []
        poller.resume(NodeGPUReportSpec())
        (inventory,) = node.inventories
        assert [each.reason for each in inventory.unhealthy] == ["Xid79"]


async def test_what_was_read_before_the_last_report_is_known_is_remembered() -> None:
    """A GPU that was lost meanwhile has its UUID, and since when. What did not change is remembered once."""
    node = Node()
    async with node.running(before=None) as poller:
        await asyncio.sleep(3 * INTERVAL)
        node.reading = reading(Device(0, "GPU-a"), Device(1, None, error=15, error_text="lost"))
        await asyncio.sleep(3 * INTERVAL)
        poller.resume(NodeGPUReportSpec())
        assert len(node.said) == 2
        assert [(each.uuid, each.since) for each in node.inventories[-1].unhealthy] == [
            ("GPU-b", "2026-01-01T00:00:40Z")
        ]


async def test_of_what_was_read_before_the_last_report_is_known_the_first_and_the_newest_are_kept() -> None:
    """However often it changes, and however long the API server is away."""
    node = Node()
    async with node.running(before=None) as poller:
        for number in range(100):
            other = Device(1, "GPU-b", recovery_action=number % 2)
            node.reading = reading(Device(0, "GPU-a"), other)
            await asyncio.sleep(INTERVAL)
        poller.resume(NodeGPUReportSpec())
        first, newest = node.inventories
        assert (first.renew_time, newest.renew_time) == ("2026-01-01T00:00:00Z", "2026-01-01T00:16:40Z")
        assert [each.reason for each in newest.unhealthy] == ["ResetRequired"]


async def test_a_problem_that_begins_before_the_last_report_is_known_is_the_last_that_is_said() -> None:
    """After what was read before it; one that has passed is not said at all."""
    for passes in (False, True):
        node = Node()
        async with node.running(before=None) as poller:
            node.reading = NO_LIBRARY
            await asyncio.sleep(INTERVAL)
            if passes:
                node.reading = reading(Device(0, "GPU-a"))
                await asyncio.sleep(INTERVAL)
            poller.resume(NodeGPUReportSpec(problem=problem("LibraryNotFound", "2025-12-31T00:00:00Z")))
            last = node.said[-1]
            if passes:
                assert isinstance(last, GPUInventory)
            else:
                assert isinstance(last, AgentProblem)
                assert last.since == "2025-12-31T00:00:00Z"


async def test_xids_are_waited_for_on_gpus_that_can_be_read() -> None:
    """One that was lost is registered anew when it is back."""
    node = Node()
    async with node.running():
        assert node.followed == ["GPU-a", "GPU-b"]
        node.reading = reading(Device(0, "GPU-a"), Device(1, "GPU-b", error=15, error_text="lost"))
        await asyncio.sleep(INTERVAL)
        assert node.followed == ["GPU-a"]


async def test_a_problem_that_passes_is_told_and_the_process_goes_on() -> None:
    """It is told every time, and is the same: the writer knows that. Since when goes on while its reason stays."""
    node = Node()
    node.reading = NO_LIBRARY
    with capture_logs() as logs:
        async with node.running() as poller:
            await asyncio.sleep(3 * INTERVAL)
            assert len(set(node.problems)) == 1
            assert poller.problems() == []
            node.reading = reading(Device(0, "GPU-a"))
            await asyncio.sleep(INTERVAL)
    assert isinstance(node.said[-1], GPUInventory)
    events = [line["event"] for line in logs]
    assert (events.count("NVML cannot be read"), events.count("NVML can be read again")) == (1, 1)


@pytest.mark.parametrize(("reason", "goes_on"), [("LibraryNotFound", True), ("DriverNotLoaded", False)])
async def test_a_problem_goes_on_from_an_earlier_process(reason: str, goes_on: bool) -> None:
    """Where its reason is the same; also where the report is known only after the problem."""
    since = "2025-12-31T00:00:00Z"
    for late in (False, True):
        node = Node()
        node.reading = NO_LIBRARY
        before = NodeGPUReportSpec(problem=problem(reason, since))
        async with node.running(before=None if late else before) as poller:
            if late:
                poller.resume(before)
            await asyncio.sleep(1)
        assert (node.problems[-1].since == since) is goes_on


async def test_a_problem_that_comes_back_after_a_reading_is_new() -> None:
    """What an earlier process had is over by then."""
    node = Node()
    async with node.running(NodeGPUReportSpec(problem=problem("LibraryNotFound", "2025-12-31T00:00:00Z"))):
        node.reading = NO_LIBRARY
        await asyncio.sleep(INTERVAL)
    assert [each.since for each in node.problems] == ["2026-01-01T00:00:10Z"]


async def test_a_node_without_gpus_is_a_problem_and_never_a_zero() -> None:
    """The same process sees when there are some; those that all went at once are still known."""
    node = Node()
    async with node.running():
        there = node.reading
        node.reading = reading()
        await asyncio.sleep(2 * INTERVAL)
        assert {each.reason for each in node.problems} == {"NoDevices"}
        node.reading = there
        await asyncio.sleep(INTERVAL)
    first, last = node.inventories
    assert (len(last.devices), last.devices, last.unhealthy) == (1, first.devices, ())


async def test_what_only_another_process_can_read_ends_this_one() -> None:
    """After its last words, for which there are five seconds."""
    node = Node()
    node.reading = MISMATCH
    node.poller.resume(NodeGPUReportSpec())
    with pytest.raises(MustRestart, match="another version"):
        await node.poller.run()
    assert [each.reason for each in node.problems] == ["VersionMismatch"]
    assert node.waited_for == [5]


async def test_another_driver_needs_another_process() -> None:
    """The library in this one is the old driver's."""
    node = Node()
    async with node.running():
        pass
    node.reading = reading(Device(0, "GPU-a"), driver="580.2")
    with pytest.raises(MustRestart, match=r"was 570\.1 and is 580\.2 now"):
        await node.poller.run()
    assert node.problems[-1].reason == "VersionMismatch"


async def test_a_driver_that_hangs_ends_the_process_and_never_in_a_zero() -> None:
    """The report says so first."""
    node = Node()
    async with node.running():
        pass
    node.hangs = True
    began = asyncio.get_running_loop().time()
    with pytest.raises(Ended, match="1"):
        await node.poller.run()
    assert asyncio.get_running_loop().time() - began == LIMIT
    assert len(node.inventories) == 1
    (told,) = node.problems
    assert told.reason == "DriverCallHung"
    assert fitted_problem(told, node="n" * 63) == told
    assert node.waited_for == [5]


async def test_an_error_that_nobody_expects_is_a_problem_of_the_node() -> None:
    """In the report before the process ends, and in the log with where it happened."""
    node = Node()
    node.reading = ValueError("NULL pointer\naccess" * 20)
    node.poller.resume(NOTHING)
    with capture_logs() as logs, pytest.raises(MustRestart):
        await node.poller.run()
    (told,) = node.problems
    assert told.reason == "NVMLError"
    assert told.message.startswith("ValueError: NULL pointer access")
    assert told.message.endswith("see its log")
    assert fitted_problem(told, node="n" * 63) == told
    assert node.waited_for == [5]
    assert [line.get("exc_info") for line in logs if line["event"].startswith("NVML cannot be read in a way")] == [True]


async def test_a_gpu_without_a_uuid_of_its_own_is_counted_and_told_once() -> None:
    """Nobody waits for its XIDs, which could not be told from others'."""
    node = Node()
    with capture_logs() as logs:
        async with node.running():
            node.reading = reading(Device(0, "GPU-a"), Device(1, None, odd_uuid=""), Device(2, None, odd_uuid="odd id"))
            await asyncio.sleep(3 * INTERVAL)
    assert node.followed == ["GPU-a"]
    told = [(line["index"], line["uuid"]) for line in logs if line["event"].startswith("GPU has no UUID")]
    assert told == [(1, ""), (2, "odd id")]


async def test_an_agent_whose_polls_do_not_end_is_not_healthy() -> None:
    """Whatever holds them up, longer than the driver may."""
    node = Node()
    async with node.running() as poller:
        await asyncio.sleep(60)
        assert poller.problems() == []
    await asyncio.sleep(INTERVAL + LIMIT)
    assert poller.problems() == []
    await asyncio.sleep(10)
    assert poller.problems() == ["no poll of NVML has ended for 50 s"]


async def test_a_thread_of_xids_that_hangs_is_told_once() -> None:
    """Polling goes on."""
    node = Node()
    with capture_logs() as logs:
        async with node.running():
            node.silence = 60
            await asyncio.sleep(3 * INTERVAL)
    assert [line["event"] for line in logs].count(
        "the thread that waits for XIDs hangs in the driver, polling goes on"
    ) == 1


async def test_what_nvml_answers_of_a_gpu_is_in_the_log_once() -> None:
    """Until it answers something else."""
    node = Node()
    with capture_logs() as logs:
        async with node.running():
            for code in (999, 999, 4, None, 4):
                node.reading = reading(Device(0, "GPU-a"), Device(1, "GPU-b", error=code, error_text=f"error {code}"))
                await asyncio.sleep(INTERVAL)
    told = [(line["uuid"], line["error"]) for line in logs if line["event"] == "GPU cannot be read"]
    assert told == [("GPU-b", "error 999"), ("GPU-b", "error 4"), ("GPU-b", "error 4")]


async def test_a_change_of_drivers_fits_into_the_report() -> None:
    """Whatever these call themselves."""
    node = Node()
    node.reading = reading(Device(0, "GPU-a"), driver="570." + "x" * 80)
    async with node.running():
        pass
    node.reading = reading(Device(0, "GPU-a"), driver="580." + "x" * 80)
    with pytest.raises(MustRestart, match="starts anew with its library"):
        await node.poller.run()
    assert fitted_problem(node.problems[-1], node="n" * 63) == node.problems[-1]


async def test_the_log_has_a_line_for_each_change_and_none_for_a_poll() -> None:
    node = Node()
    with capture_logs() as logs:
        async with node.running():
            await asyncio.sleep(3 * INTERVAL)
            node.reading = reading(Device(0, "GPU-a", row_remap_pending=True), Device(1, "GPU-b", recovery_action=1))
            await asyncio.sleep(3 * INTERVAL)
            node.reading = reading(Device(0, "GPU-a"), Device(1, "GPU-b", recovery_action=0))
            await asyncio.sleep(3 * INTERVAL)
    assert [(line["event"], line.get("device", line.get("gpus"))) for line in logs] == [
        ("devices of the node", 2),
        ("device is unhealthy", "GPU-b"),
        ("devices of the node", 1),
        ("row remapping is pending, the GPU is healthy but wants a reset", "GPU-a"),
        ("device is not unhealthy any more", "GPU-b"),
        ("devices of the node", 2),
        ("row remapping is not pending any more", "GPU-a"),
    ]
