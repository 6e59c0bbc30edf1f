"""GPUs that fail and recover while the agent runs, and while it does not."""

from __future__ import annotations

from collections.abc import Callable

from tests.integration.gpu.agents import GPU, Fleet
from tests.nvml.devices import RECOVERY_ACTION, Gpu, Mig, gpus, uuid_of_gpu, uuid_of_mig
from tests.nvml.state import NvmlState

UNKNOWN = 999
MIG = "nvidia.com/mig-1g.10gb"


BREAKS: list[tuple[Callable[[NvmlState, int], None], str]] = [
    (lambda nvml, at: nvml.break_call("*", 16, at), "ResetRequired"),
    (lambda nvml, at: nvml.set_field(at, RECOVERY_ACTION, 1), "ResetRequired"),
    (lambda nvml, at: nvml.set_field(at, RECOVERY_ACTION, 2), "RebootRequired"),
    (lambda nvml, at: nvml.set_field(at, RECOVERY_ACTION, 3), "DrainRequired"),
    (lambda nvml, at: nvml.set_field(at, RECOVERY_ACTION, 4), "DrainRequired"),
    (lambda nvml, at: _remap(nvml, at, failure=True), "RowRemapFailed"),
]


def test_a_lost_gpu_leaves_the_others_counted(fleet: Fleet) -> None:
    """Its UUID is told, although it does not answer any more. Since when outlasts the agent, and it may come back."""
    node = fleet.running(gpus(8))
    node.nvml.lose(3)
    node.nvml.lose(5, handle=True)
    lost = {uuid_of_gpu(3): "Lost", uuid_of_gpu(5): "Lost"}
    report = node.wait_counts({GPU: (6, 2)}, lost)
    assert report.inventory["gpus"] == 6
    node.restart()
    assert (node.report.counts, node.report.since) == ({GPU: (6, 2)}, report.since)
    node.nvml.mend()
    node.wait_counts({GPU: (8, 0)})


def test_a_gpu_that_nobody_ever_could_read_has_no_uuid(fleet: Fleet) -> None:
    """Its index is told. A lost one is a GPU all the same; what another one is, nobody knows, so it does not count."""
    node = fleet.node(gpus(3))
    node.nvml.lose(1)
    node.nvml.break_call("*", UNKNOWN, 2)
    node.start().wait_counts({GPU: (1, 1)}, {"1": "Lost", "2": "Unreadable"})


def test_what_nvml_calls_unhealthy_is_unhealthy(fleet: Fleet) -> None:
    """For whatever reason, until it is well again."""
    node = fleet.running(gpus(4))
    for breaks in (BREAKS[:3], BREAKS[3:]):
        node.nvml.gpus = gpus(4)
        for at, (break_it, _) in enumerate(breaks):
            break_it(node.nvml, at)
        node.nvml.write()
        node.wait_counts({GPU: (1, 3)}, {uuid_of_gpu(at): reason for at, (_, reason) in enumerate(breaks)})
    node.nvml.gpus = gpus(4)
    node.nvml.write()
    node.wait_counts({GPU: (4, 0)})


def test_a_pending_row_remapping_is_told_and_no_more(fleet: Fleet) -> None:
    """New work may start. A metric tells it."""
    node = fleet.running(gpus(2))
    version = node.report.version
    _remap(node.nvml, 0, pending=True)
    node.wait_polls()
    pending = node.agent.metric("kueue_dqo_nvidia_gpu_agent_row_remap_pending", uuid=uuid_of_gpu(0))
    assert (node.report.version, pending) == (version, 1)


def test_an_unhealthy_gpu_takes_its_mig_devices_with_it(fleet: Fleet) -> None:
    """It is listed once."""
    node = fleet.running([Gpu(uuid_of_gpu(9), mig=[Mig(), Mig()]), *gpus(1)])
    node.wait_counts({GPU: (1, 0), MIG: (2, 0)})
    node.nvml.lose(0)
    node.wait_counts({GPU: (1, 0), MIG: (0, 2)}, {uuid_of_gpu(9): "Lost"})


def test_mig_devices_come_and_go(fleet: Fleet) -> None:
    """That is configuration: none of them is called removed, whole GPUs become MIG devices, and back."""
    node = fleet.running(gpus(2))
    node.nvml.gpus[0].mig = [Mig(), Mig(slot=4)]
    node.nvml.write()
    node.wait_counts({GPU: (1, 0), MIG: (2, 0)})
    node.nvml.gpus[0].mig = []
    node.nvml.write()
    node.wait_counts({GPU: (1, 0)})
    node.nvml.gpus[0].mig = None
    node.nvml.write()
    node.wait_counts({GPU: (2, 0)})


def test_a_removed_gpu_is_missed_until_it_is_back(fleet: Fleet) -> None:
    """Also by an agent that is started later. It is not counted, and the ones behind it keep their names."""
    node = fleet.running(gpus(3))
    removed = node.nvml.remove(0)
    missed = {uuid_of_gpu(0): "Removed"}
    report = node.wait_counts({GPU: (2, 0)}, missed)
    node.restart()
    assert (node.report.unhealthy, node.report.since) == (missed, report.since)
    node.nvml.add(removed)  # with another index
    node.wait_counts({GPU: (3, 0)})


def test_another_order_means_nothing(fleet: Fleet) -> None:
    """A GPU is known by its UUID: the lost one stays the same, whatever index it has."""
    node = fleet.running(gpus(3))
    node.nvml.lose(2, handle=True)
    node.nvml.gpus[2].failures["nvmlDeviceGetUUID"] = 15
    lost = {uuid_of_gpu(2): "Lost"}
    report = node.wait_counts({GPU: (2, 1)}, lost)
    node.agent.server.stop()
    node.nvml.gpus.reverse()
    node.nvml.write()
    node.agent.server.start()
    assert (node.report.unhealthy, node.report.since) == (lost, report.since)


def test_a_gpu_that_cannot_be_read_for_once_keeps_its_state(fleet: Fleet) -> None:
    """Unknown is not unhealthy; nothing is written."""
    node = fleet.running(gpus(4))
    node.nvml.lose(1)
    report = node.wait_counts({GPU: (3, 1)}, {uuid_of_gpu(1): "Lost"})
    node.nvml.break_call("*", UNKNOWN, 0)
    node.nvml.break_call("nvmlDeviceGetMigMode", UNKNOWN, 2)
    node.wait_polls()
    assert node.report.version == report.version


def test_a_gpu_that_cannot_be_read_for_long_is_unhealthy(fleet: Fleet) -> None:
    """Since it could be read last; until it can be read again."""
    node = fleet.running(gpus(2), environment={"DQO_UNKNOWN_GRACE": "2s"})
    node.nvml.break_call("*", UNKNOWN, 0)
    node.wait_counts({GPU: (1, 1)}, {uuid_of_gpu(0): "Unreadable"})
    node.nvml.mend()
    node.wait_counts({GPU: (2, 0)})


def test_health_checks_can_be_switched_off(fleet: Fleet) -> None:
    """All but one: a lost GPU is lost."""
    node = fleet.running(gpus(4), environment={"DQO_DISABLE_HEALTH_CHECKS": "all"})
    version = node.report.version
    node.wait_watching()
    _remap(node.nvml, 0, failure=True)
    node.nvml.set_field(1, RECOVERY_ACTION, 1)
    node.nvml.inject_xid(2, 79)
    node.wait_polls()
    assert node.report.version == version
    node.nvml.lose(3)
    node.wait_counts({GPU: (3, 1)}, {uuid_of_gpu(3): "Lost"})


def test_one_mig_device_that_fails_is_one_of_many(fleet: Fleet) -> None:
    """An XID tells which, by its instances."""
    node = fleet.running([Gpu(uuid_of_gpu(9), mig=[Mig(), Mig(), Mig(gpu_instance=11)])])
    node.wait_watching()
    node.nvml.inject_xid(0, 94, gpu_instance=11, compute_instance=0)
    node.wait_counts({MIG: (2, 1)}, {uuid_of_mig(uuid_of_gpu(9), 2): "Xid94"})


def _remap(nvml: NvmlState, at: int, *, pending: bool = False, failure: bool = False) -> None:
    nvml.gpus[at].remapped = (0, 1, pending, failure)
    nvml.write()
