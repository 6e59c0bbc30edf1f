"""What the report says of healthy GPUs, in every layout."""

from __future__ import annotations

import json
import os
from collections import Counter

import pytest

from tests.integration.gpu.agents import GPU, Counts, Fleet
from tests.nvml import drivers
from tests.nvml.devices import Gpu, Mig, gpus, uuid_of_gpu


def _old(number: int) -> Gpu:
    """Too old for all that could be asked about its health."""
    uuid = uuid_of_gpu(number)
    return Gpu(uuid, product="Tesla T4", mig_capable=False, events=None, remapped=None, fields={})


SEVEN = [Mig("1g.10gb") for _ in range(7)]
LAYOUTS: dict[str, tuple[list[Gpu], Counts, int]] = {
    "whole GPUs": (gpus(8), {GPU: (8, 0)}, 0),
    "old GPUs": ([_old(number) for number in range(4)], {GPU: (4, 0)}, 0),
    "one of eight cut": (
        [Gpu(uuid_of_gpu(99), mig=SEVEN), *gpus(7)],
        {GPU: (7, 0), "nvidia.com/mig-1g.10gb": (7, 0)},
        1,
    ),
    "mixed profiles with gaps": (
        [Gpu(uuid_of_gpu(1), mig=[Mig("3g.40gb"), Mig("1g.20gb", slot=3), Mig("1g.10gb+me", slot=6)])],
        {"nvidia.com/mig-1g.10gb.me": (1, 0), "nvidia.com/mig-1g.20gb": (1, 0), "nvidia.com/mig-3g.40gb": (1, 0)},
        1,
    ),
    "profiles that no name tells": (
        [
            Gpu(
                uuid_of_gpu(1),
                memory_mib=81920,
                mig=[Mig("1g.10gb", name="NVIDIA H100 80GB HBM3"), Mig("1c.3g.40gb", name="")],
            )
        ],
        {"nvidia.com/mig-1c.3g.40gb": (1, 0), "nvidia.com/mig-1g.10gb": (1, 0)},
        1,
    ),
    "MIG on without devices": ([Gpu(uuid_of_gpu(1), mig=[]), *gpus(1)], {GPU: (1, 0)}, 1),
}
ROOM = 2048
LONG = "n" * 63
"""As long as the host names are that clouds give their nodes."""


@pytest.mark.parametrize("driver", drivers.drivers())
def test_a_report_says_what_the_library_says(driver: str, fleet: Fleet) -> None:
    """By other calls and another process. Changes nothing, so a real driver is asked as well."""
    node = fleet.node([Gpu(uuid_of_gpu(99), mig=[Mig("1g.10gb"), Mig("2g.20gb")]), *gpus(3)])
    environment = {} if driver == drivers.REAL else node.nvml.environment
    facts = drivers.facts(environment)
    if driver == drivers.REAL:
        node = fleet.node(environment={name: os.environ.get(name, "") for name in node.nvml.environment})
    node.start().agent.server.wait_ready()
    inventory = node.wait_report(lambda report: bool(report.inventory), "an inventory").inventory
    assert inventory["driverVersion"] == facts.driver
    assert inventory["product"] in facts.products
    assert (inventory.get("gpus", 0), inventory.get("migGpus", 0)) == (facts.gpus, facts.mig_gpus)
    profiles = {name.rpartition(" ")[2].replace("+", "."): count for name, count in facts.mig_names.items()}
    wanted = Counter({f"nvidia.com/mig-{profile}": count for profile, count in profiles.items()})
    wanted[GPU] = facts.gpus - facts.mig_gpus
    assert {each["name"]: each["healthy"] for each in inventory["devices"]} == {**+wanted}


def test_every_layout_is_counted(fleet: Fleet) -> None:
    """By the resource that the device plugin gives under the strategy mixed. Nothing unknown is unhealthy."""
    nodes = {layout: fleet.node(devices).start() for layout, (devices, _, _) in LAYOUTS.items()}
    for layout, (devices, counts, mig_gpus) in LAYOUTS.items():
        report = nodes[layout].wait_counts(counts)
        assert (report.inventory["gpus"], report.inventory.get("migGpus", 0)) == (len(devices), mig_gpus), layout
        assert report.inventory["product"] == devices[0].product, layout


def test_a_report_is_named_after_its_node_and_owned_by_it(fleet: Fleet) -> None:
    """It says where and how it was read, and until when it is good."""
    node = fleet.running(gpus(2))
    report = node.wait_counts({GPU: (2, 0)})
    assert report.obj
    uid = fleet.plane.admin.get(f"/api/v1/nodes/{node.name}")["metadata"]["uid"]
    owner = {"apiVersion": "v1", "kind": "Node", "name": node.name, "uid": uid}
    assert report.obj["metadata"]["ownerReferences"] == [owner]
    assert report.inventory["driverVersion"] == node.nvml.driver
    assert report.inventory["bootId"]
    assert report.inventory["heartbeatSeconds"] == 24 * 3600


def test_an_old_library_lacks_what_a_healthy_gpu_need_not_tell(fleet: Fleet) -> None:
    """Neither rows, nor fields, nor MIG, nor events."""
    node = fleet.node(gpus(2))
    node.nvml.install(
        without=[
            "nvmlDeviceGetRemappedRows",
            "nvmlDeviceGetFieldValues",
            "nvmlDeviceGetMigMode",
            "nvmlDeviceGetMaxMigDeviceCount",
            "nvmlDeviceGetMigDeviceHandleByIndex",
            "nvmlEventSetCreate",
            "nvmlDeviceGetSupportedEventTypes",
        ]
    )
    node.start().wait_counts({GPU: (2, 0)})
    node.wait_polls()


@pytest.mark.parametrize("name", ["gpu-node", LONG], ids=["short", "long"])
def test_a_report_stays_small_with_everything_unhealthy_and_a_problem(name: str, fleet: Fleet) -> None:
    """16 GPUs cut into 7 MIG devices each: first single MIG devices, then all GPUs, then the library as well."""
    # The profiles that make a GPU of 80 GB full in the most different ways.
    cuts = [
        [Mig("1g.10gb") for _ in range(6)] + [Mig("1g.10gb+me")],
        [Mig("1g.20gb"), Mig("1g.20gb"), Mig("2g.20gb"), Mig("1g.10gb"), Mig("1g.10gb")],
        [Mig("1c.3g.40gb"), Mig("2c.3g.40gb", gpu_instance=7, compute_instance=1), Mig("4g.40gb")],
        [Mig("7g.80gb")],
    ]
    devices = [Gpu(uuid_of_gpu(n), mig=cuts[n % 4] if n >= 4 else cuts[0], fields={}) for n in range(16)]
    node = fleet.running(devices, name=name)
    kinds = len(node.report.counts)
    assert kinds == 8
    node.wait_watching()
    for gpu in devices:
        for place, device in enumerate(gpu.mig or ()):
            instance = 7 + place if device.gpu_instance is None else device.gpu_instance
            node.nvml.inject_xid(gpu, 79, gpu_instance=instance, compute_instance=device.compute_instance)
    node.wait_report(lambda report: all(healthy == 0 for healthy, _ in report.counts.values()), "all MIG devices")
    assert _size(node.report.obj) <= ROOM
    for gpu in devices:
        node.nvml.lose(gpu)
    report = node.wait_report(lambda report: report.inventory.get("gpus", 0) == 0, "lost GPUs")
    assert len(report.counts) == kinds
    assert len(report.unhealthy) + report.inventory.get("unhealthyNotListed", 0) == 16
    assert _size(report.obj) <= ROOM
    node.nvml.break_call("*", 999)
    report = node.wait_problem("NVMLError")
    assert _size(report.obj) <= ROOM
    assert len(report.counts) == kinds


def _size(obj: object) -> int:
    return len(json.dumps(obj, ensure_ascii=False, separators=(",", ":")).encode())
