"""When the agent writes, what it asks of NVML and of the API server, and what becomes of it when either is away."""

from __future__ import annotations

import json
import re

from kueue_dqo.runtime.resources import NODE_GPU_REPORTS
from tests.controlplane.faults import WRITES, Answer
from tests.controlplane.processes import eventually
from tests.integration.gpu.agents import GPU, Fleet
from tests.integration.proxies import Proxy
from tests.nvml.devices import gpus, uuid_of_gpu

WRITTEN = "kueue_dqo_nvidia_gpu_agent_report_writes_total"
REPORTS = NODE_GPU_REPORTS.path()


def test_nothing_is_written_while_nothing_changes(fleet: Fleet, proxy: Proxy) -> None:
    """However often it polls. A change is one write."""
    node = fleet.running(gpus(2), server=proxy.url)
    before, version = proxy.count(), node.report.version
    node.wait_polls(2)
    assert (proxy.count(), node.report.version) == (before, version)
    node.nvml.lose(0)
    node.wait_counts({GPU: (1, 1)}, {uuid_of_gpu(0): "Lost"})
    node.wait_polls()
    assert proxy.count() == before + 1


def test_a_heartbeat_renews_the_inventory(fleet: Fleet) -> None:
    """Nothing but its time changes; and it is not renewed while NVML cannot be read."""
    node = fleet.running(gpus(2), environment={"DQO_HEARTBEAT": "1s"})
    first = node.report
    later = node.wait_report(
        lambda report: report.inventory["renewTime"] > first.inventory["renewTime"], "a later renewTime"
    )
    assert {**later.inventory, "renewTime": ""} == {**first.inventory, "renewTime": ""}
    assert first.inventory["heartbeatSeconds"] == 1


def test_an_api_server_that_was_away_is_told_the_newest(fleet: Fleet, proxy: Proxy) -> None:
    """Not what was in between."""
    node = fleet.running(gpus(3), server=proxy.url)
    failing = proxy.add(Answer(503, verbs=WRITES))
    node.nvml.lose(0)
    eventually(lambda: failing.hits >= 1, "a write fails")
    node.nvml.lose(1)
    node.wait_polls()
    node.nvml.mend(0)
    node.wait_polls()
    assert node.report.unhealthy == {}
    proxy.clear()
    node.wait_counts({GPU: (2, 1)}, {uuid_of_gpu(1): "Lost"})
    assert node.report.obj
    assert node.report.obj["metadata"]["generation"] == 2


def test_an_agent_starts_while_the_api_server_is_away(fleet: Fleet, proxy: Proxy) -> None:
    """It is not ready, and says why; then all goes well."""
    failing = proxy.add(Answer(503))
    node = fleet.node(gpus(1), server=proxy.url).start()
    eventually(lambda: failing.hits >= 2, "it tries again")
    status, body = node.agent.get("/readyz")
    assert (status, "was not written yet" in body) == (503, True)
    proxy.clear()
    node.wait_counts({GPU: (1, 0)})


def test_a_killed_agent_leaves_its_report_and_the_next_one_goes_on(fleet: Fleet) -> None:
    """What changed meanwhile is seen; but the report of a healthy GPU has not kept its UUID."""
    node = fleet.running(gpus(3))
    node.nvml.lose(0)
    lost = node.wait_counts({GPU: (2, 1)}, {uuid_of_gpu(0): "Lost"})
    node.agent.server.kill()
    assert node.report.version == lost.version
    node.nvml.lose(1)
    node.agent.server.start()
    report = node.wait_counts({GPU: (1, 2)}, {uuid_of_gpu(0): "Lost", "1": "Lost"})
    assert report.since[uuid_of_gpu(0)] == lost.since[uuid_of_gpu(0)]


def test_a_report_that_was_deleted_comes_back(fleet: Fleet) -> None:
    """With the next write."""
    node = fleet.running(gpus(2))
    fleet.plane.admin.delete(NODE_GPU_REPORTS.path(node.name))
    node.nvml.lose(0)
    node.wait_counts({GPU: (1, 1)}, {uuid_of_gpu(0): "Lost"})


def test_nobody_asks_about_processes_and_nothing_of_them_leaves_the_node(fleet: Fleet) -> None:
    """By the library's own record, whatever becomes of the GPUs; neither does the token."""
    node = fleet.running(gpus(3), environment={"DQO_LOG_LEVEL": "debug"})
    node.wait_watching()
    node.nvml.inject_xid(0, 79)
    node.nvml.lose(1)
    node.wait_counts({GPU: (1, 2)}, {uuid_of_gpu(0): "Xid79", uuid_of_gpu(1): "Lost"})
    node.restart()
    calls = set(node.nvml.calls())
    assert "nvmlDeviceGetCount_v2" in calls
    assert {function for function in calls if re.search("process|account|pid", function, re.IGNORECASE)} == set()
    said = node.agent.server.log.read_text() + node.agent.get("/metrics")[1] + json.dumps(node.report.obj)
    assert "424242" not in said
    tokens = re.findall(r"eyJ[\w-]+\.[\w-]+\.[\w-]+", said)
    assert tokens == []
