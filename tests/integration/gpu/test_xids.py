"""XIDs: which count, what they mark, and for how long."""

from __future__ import annotations

from kueue_dqo.runtime.resources import NODE_GPU_REPORTS
from tests.controlplane.processes import eventually
from tests.integration.gpu.agents import GPU, Fleet, GpuNode
from tests.nvml.devices import RECOVERY_ACTION, Gpu, Mig, gpus, uuid_of_gpu

XIDS = "kueue_dqo_nvidia_gpu_agent_xids_total"
MARKED = {uuid_of_gpu(0): "Xid79"}


def _unknowing(count: int) -> list[Gpu]:
    """GPUs that know no recovery action, as those of older drivers."""
    found = gpus(count)
    for gpu in found:
        gpu.fields.clear()
    return found


def _marked(fleet: Fleet) -> GpuNode:
    """A node of two GPUs, the first of which had an XID."""
    node = fleet.running(_unknowing(2))
    node.wait_watching()
    node.nvml.inject_xid(0, 79)
    node.wait_counts({GPU: (1, 1)}, MARKED)
    return node


def _wait_told(node: GpuNode, xid: int, *, counted: bool) -> None:
    def is_told() -> bool:
        return node.agent.metric(XIDS, xid=str(xid), counted=str(counted).lower()) == 1

    eventually(is_told, f"XID {xid} is told")


def test_xids_count_but_for_those_of_applications(fleet: Fleet) -> None:
    """They come at once, however seldom the agent polls. Later ones change nothing."""
    node = fleet.running(gpus(2), environment={"DQO_POLL": "1h"})
    node.wait_watching()
    version = node.report.version
    for ignored in (13, 31, 43, 45, 68, 109):
        node.nvml.inject_xid(0, ignored)
        _wait_told(node, ignored, counted=False)
    assert node.report.version == version
    node.nvml.inject_xid(0, 79)
    report = node.wait_counts({GPU: (1, 1)}, MARKED)
    node.nvml.inject_xid(0, 48)
    node.nvml.inject_xid(1, 48)
    later = node.wait_counts({GPU: (0, 2)}, {**MARKED, uuid_of_gpu(1): "Xid48"})
    assert later.since[uuid_of_gpu(0)] == report.since[uuid_of_gpu(0)]
    # Not one of them is said to be over, whatever the GPU says now.
    node.nvml.set_field(0, RECOVERY_ACTION, 0)
    assert node.report.unhealthy == later.unhealthy


def test_lists_say_which_xids_count(fleet: Fleet) -> None:
    """As those of the device plugin: what is enabled counts whatever is disabled."""
    lists = {"DQO_DISABLE_HEALTH_CHECKS": "xids", "DQO_ENABLE_HEALTH_CHECKS": "31, 79"}
    node = fleet.running(gpus(3), environment=lists)
    node.wait_watching()
    node.nvml.inject_xid(1, 48)
    node.nvml.inject_xid(2, 31)
    node.nvml.inject_xid(0, 79)
    node.wait_counts({GPU: (1, 2)}, {**MARKED, uuid_of_gpu(2): "Xid31"})
    _wait_told(node, 48, counted=False)


def test_a_mark_outlasts_the_agent(fleet: Fleet) -> None:
    """NVML does not tell an XID twice."""
    node = _marked(fleet)
    since = node.report.since
    node.restart(kill=True)
    node.wait_polls()
    assert (node.report.unhealthy, node.report.since) == (MARKED, since)


def test_a_mark_ends_where_a_later_agent_is_told_that_nothing_need_be_done(fleet: Fleet) -> None:
    """By the recovery action."""
    node = _marked(fleet)
    node.nvml.set_field(0, RECOVERY_ACTION, 0)
    node.restart()
    node.wait_counts({GPU: (2, 0)})


def test_a_mark_ends_with_the_boot_and_with_the_driver(fleet: Fleet) -> None:
    """A reset by either is a new beginning."""
    node = _marked(fleet)
    node.agent.server.stop()
    report = NODE_GPU_REPORTS.path(node.name)
    fleet.plane.admin.patch(report, {"spec": {"inventory": {"bootId": "another"}}})
    node.agent.server.start()
    node.wait_counts({GPU: (2, 0)})
    node.wait_watching()
    node.nvml.inject_xid(0, 79)
    node.wait_counts({GPU: (1, 1)}, MARKED)
    node.agent.server.stop()
    node.nvml.driver = "575.51.03"
    node.nvml.write()
    node.agent.server.start()
    assert node.wait_counts({GPU: (2, 0)}).inventory["driverVersion"] == "575.51.03"


def test_a_mark_ends_where_the_report_is_deleted_between_two_agents(fleet: Fleet) -> None:
    """As the page says it: the agent has left before, so that it cannot write the mark back."""
    node = _marked(fleet)
    node.agent.server.stop()
    assert node.report.unhealthy == MARKED
    fleet.plane.admin.delete(NODE_GPU_REPORTS.path(node.name))
    node.agent.server.start()
    node.wait_counts({GPU: (2, 0)})


def test_a_mark_outlasts_a_report_that_is_deleted_under_the_agent(fleet: Fleet) -> None:
    """The next heartbeat writes it again, and the next agent reads it there."""
    node = fleet.running(_unknowing(2), environment={"DQO_HEARTBEAT": "1s"})
    node.wait_watching()
    node.nvml.inject_xid(0, 79)
    node.wait_counts({GPU: (1, 1)}, MARKED)
    fleet.plane.admin.delete(NODE_GPU_REPORTS.path(node.name))
    node.wait_counts({GPU: (1, 1)}, MARKED)
    node.restart()
    node.wait_polls()
    assert node.report.unhealthy == MARKED


def test_an_xid_of_nobody_knows_which_gpu_marks_all(fleet: Fleet) -> None:
    """As the device plugin does."""
    node = fleet.running(gpus(2))
    node.wait_watching()
    node.nvml.inject_xid(None, 79)
    node.wait_counts({GPU: (0, 2)}, {**MARKED, uuid_of_gpu(1): "Xid79"})


def test_an_xid_of_an_unknown_mig_device_marks_its_gpu(fleet: Fleet) -> None:
    """With all that the GPU is cut into."""
    node = fleet.running([Gpu(uuid_of_gpu(0), mig=[Mig(), Mig()])])
    node.wait_watching()
    node.nvml.inject_xid(0, 79, gpu_instance=99, compute_instance=0)
    node.wait_counts({"nvidia.com/mig-1g.10gb": (0, 2)}, MARKED)


def test_a_wait_that_fails_marks_nothing(fleet: Fleet) -> None:
    """It is tried again; until then the agent polls, and afterwards XIDs are heard again."""
    node = fleet.running(gpus(2))
    node.wait_watching()
    version = node.report.version
    node.nvml.break_call("nvmlEventSetWait_v2", 999)
    eventually(lambda: bool(node.agent.logs("XIDs cannot be waited for, polling goes on")), "it is told")
    node.wait_polls()
    assert node.report.version == version
    node.nvml.mend()
    before = len(node.nvml.calls())
    eventually(lambda: "nvmlEventSetWait_v2" in node.nvml.calls()[before:], "XIDs are waited for again")
    node.nvml.lose(1)
    node.wait_counts({GPU: (1, 1)}, {uuid_of_gpu(1): "Lost"})
    node.nvml.inject_xid(0, 79)
    node.wait_counts({GPU: (0, 2)}, {**MARKED, uuid_of_gpu(1): "Lost"})
