"""NVML cannot be read: the report says why, what was known stands, and nothing becomes a zero."""

from __future__ import annotations

from typing import Any

import pytest

from tests.integration.gpu.agents import GPU, Fleet, GpuNode
from tests.nvml.devices import gpus, uuid_of_gpu

UNKNOWN, NO_PERMISSION, NOT_LOADED, MISMATCH = 999, 4, 9, 18


def _assert_known_stands(node: GpuNode) -> None:
    """The last inventory, a lost GPU included."""
    report = node.report
    assert (report.counts, report.unhealthy) == ({GPU: (3, 1)}, {uuid_of_gpu(1): "Lost"})


def _running(fleet: Fleet, **options: Any) -> GpuNode:
    node = fleet.node(gpus(4), **options)
    node.nvml.lose(1, handle=True)
    node.nvml.gpus[1].failures = {"nvmlDeviceGetHandleByIndex_v2": 0, "nvmlDeviceGetUUID": 0, "*": 15}
    node.nvml.write()
    node.start().wait_counts({GPU: (3, 1)}, {uuid_of_gpu(1): "Lost"})
    return node


def test_a_library_that_is_missing_is_waited_for(fleet: Fleet) -> None:
    """By the same process, which is ready as soon as it has said so."""
    node = fleet.running(gpus(2), installed=False)
    problem = node.wait_problem("LibraryNotFound").problem
    assert "libnvidia-ml.so.1" in problem["message"]
    assert node.report.inventory == {}
    pid = node.agent.server.pid
    node.nvml.install()
    node.wait_counts({GPU: (2, 0)})
    assert node.agent.server.pid == pid


def test_a_library_that_does_not_begin_is_left_to_another_process(fleet: Fleet) -> None:
    """It is never unloaded: whatever is put right is seen by the next one only."""
    reasons = {
        NO_PERMISSION: "NoPermission",
        NOT_LOADED: "DriverNotLoaded",
        MISMATCH: "VersionMismatch",
        1: "NVMLError",
    }
    nodes = {code: fleet.node(gpus(2)) for code in reasons}
    for code, node in nodes.items():
        node.nvml.break_call("nvmlInitWithFlags", code)
        node.start()
    for code, node in nodes.items():
        assert node.wait_ended() == 1
        assert node.wait_problem(reasons[code]).inventory == {}
    node.nvml.mend()
    node.agent.server.start()
    node.wait_counts({GPU: (2, 0)})


def test_a_library_of_another_driver_keeps_what_was_known(fleet: Fleet) -> None:
    """Also the second process that does not get any further, and until one does."""
    node = _running(fleet)
    since = node.report.since
    node.nvml.break_call("*", MISMATCH)
    assert node.wait_ended() == 1
    first = node.wait_problem("VersionMismatch").problem["since"]
    _assert_known_stands(node)
    node.agent.server.launch()
    assert node.wait_ended() == 1
    assert node.wait_problem("VersionMismatch").problem["since"] == first
    _assert_known_stands(node)
    node.nvml.failures.clear()
    node.nvml.write()
    node.agent.server.start()
    assert node.wait_counts({GPU: (3, 1)}, {uuid_of_gpu(1): "Lost"}).since == since


def test_another_driver_under_a_running_agent_restarts_it(fleet: Fleet) -> None:
    """It holds the old library."""
    node = fleet.running(gpus(2))
    node.nvml.driver = "575.51.03"
    node.nvml.write()
    assert node.wait_ended() == 1
    problem = node.wait_problem("VersionMismatch").problem
    assert "570.86.15" in problem["message"]
    assert "575.51.03" in problem["message"]
    node.agent.server.start()
    assert node.wait_counts({GPU: (2, 0)}).inventory["driverVersion"] == "575.51.03"


@pytest.mark.parametrize("function", ["nvmlDeviceGetHandleByIndex_v2", "nvmlDeviceGetMigMode", "nvmlDeviceGetCount_v2"])
def test_a_node_of_which_nobody_knows_anything_is_no_zero(function: str, fleet: Fleet) -> None:
    """All GPUs fail at once, as after a change of the container's cgroup: `Unknown Error`. The agent starts anew."""
    node = _running(fleet)
    node.nvml.gpus[1].failures = {}
    node.nvml.break_call(function, UNKNOWN)
    assert node.wait_ended() == 1
    node.wait_problem("NVMLError")
    _assert_known_stands(node)


def test_no_gpu_at_all_is_no_zero(fleet: Fleet) -> None:
    """An agent that sees none cannot see: what was known stands. The same process goes on once there are some."""
    node = fleet.running()
    problem = node.wait_problem("NoDevices").problem
    assert "NVIDIA_VISIBLE_DEVICES" in problem["message"]
    assert node.report.inventory == {}
    pid = node.agent.server.pid
    node.nvml.gpus = gpus(2)
    node.nvml.write()
    node.wait_counts({GPU: (2, 0)})
    node.nvml.gpus = []
    node.nvml.write()
    assert node.wait_problem("NoDevices").counts == {GPU: (2, 0)}
    assert node.agent.server.pid == pid


def test_a_driver_that_hangs_ends_the_agent(fleet: Fleet) -> None:
    """It says so first, and what was known stands. The next one, which hangs in another call, says since when."""
    node = _running(fleet, environment={"DQO_NVML_TIMEOUT": "1s"})
    node.nvml.hang("nvmlDeviceGetMemoryInfo")
    assert node.wait_ended() == 1
    problem = node.wait_problem("DriverCallHung").problem
    _assert_known_stands(node)
    node.nvml.hang("nvmlInitWithFlags")
    node.agent.server.launch()
    assert node.wait_ended() == 1
    assert node.report.problem == problem
    _assert_known_stands(node)
    node.nvml.hangs.clear()
    node.nvml.write()
    node.agent.server.start()
    node.wait_counts({GPU: (3, 1)}, {uuid_of_gpu(1): "Lost"})


def test_a_wait_for_xids_that_hangs_holds_nothing_up(fleet: Fleet) -> None:
    """Polling goes on, and the agent ends in order."""
    node = fleet.node(gpus(2))
    node.nvml.hang("nvmlEventSetWait_v2")
    node.start().wait_watching()
    node.nvml.lose(1)
    node.wait_counts({GPU: (1, 1)}, {uuid_of_gpu(1): "Lost"})
    node.agent.server.stop()
    assert node.agent.logs("drained")
    assert node.agent.logs("not ended in time, ending at once") == []
