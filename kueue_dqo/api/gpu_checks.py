"""What is wrong with a NodeGPUReport: the rules of its definition in `manifests/crds`.

Agents keep to them. A report in a manifest may have been written by hand.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from kueue_dqo.api.gpu import (
    GPU,
    LONGEST_HEARTBEAT,
    LONGEST_PROBLEM,
    LONGEST_REASON,
    LONGEST_TEXT,
    LONGEST_UUID,
    MAX_DEVICE_RESOURCES,
    MAX_DEVICES,
    MAX_UNHEALTHY_DEVICES,
    MIG_PREFIX,
    AgentProblem,
    DeviceCount,
    GPUInventory,
    NodeGPUReport,
    UnhealthyDevice,
)
from kueue_dqo.api.meta import parse_time
from kueue_dqo.api.problems import SUBDOMAIN, FieldProblem, Form, shown, unique

_LONGEST_RESOURCE: Final = 63
"""Characters that the device plugin takes for a resource, prefix included."""
NVIDIA_RESOURCE: Final = Form(
    re.compile(rf"nvidia\.com/{SUBDOMAIN}"),
    _LONGEST_RESOURCE,
    f"name that NVIDIA's device plugin gives a resource, of at most {_LONGEST_RESOURCE} characters, such as "
    "nvidia.com/gpu.shared",
)
DEVICES: Final = Form(
    re.compile(r"nvidia\.com/(gpu|mig-([0-9]+c\.)?[0-9]+g\.[0-9]+gb([-.][a-z]+)*)"),
    _LONGEST_RESOURCE,
    "name of NVIDIA's devices, nvidia.com/gpu or such as nvidia.com/mig-1g.10gb",
)
REPORTED: Final = Form(
    re.compile(r"nvidia\.com/(gpu|mig-[-A-Za-z0-9.]+)"), _LONGEST_RESOURCE, f"{GPU}, nor {MIG_PREFIX}<profile>"
)
"""Of the devices in a report. The names of profiles are NVML's: one that nobody knows must not cost the report."""
REASON: Final = Form(re.compile(r"[A-Z][A-Za-z0-9]*"), LONGEST_REASON, "reason in CamelCase, such as Lost or Xid79")
UUID: Final = Form(
    re.compile(r"((GPU|MIG)-[-A-Za-z0-9/]+|[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12})?"),
    LONGEST_UUID,
    "UUID of a device as nvidia-smi -L shows it: mostly GPU-… or MIG-…",
)
TIME: Final = Form(
    re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]{1,9})?Z"),
    30,
    "time in UTC: write it as 2026-01-31T12:00:00Z",
)
_MAX_INDEX: Final = MAX_DEVICES - 1


def problems_of_report(report: NodeGPUReport) -> Iterator[FieldProblem]:
    """Every problem of the spec."""
    if report.spec.inventory is not None:
        yield from _inventory("spec.inventory", report.spec.inventory)
    if report.spec.problem is not None:
        yield from _problem("spec.problem", report.spec.problem)


def _inventory(field: str, inventory: GPUInventory) -> Iterator[FieldProblem]:
    yield from _time(f"{field}.renewTime", inventory.renew_time)
    yield from _number(f"{field}.heartbeatSeconds", inventory.heartbeat_seconds, 1, LONGEST_HEARTBEAT)
    for name, text in (
        ("bootId", inventory.boot_id),
        ("driverVersion", inventory.driver_version),
        ("product", inventory.product),
    ):
        yield from _text(f"{field}.{name}", text, LONGEST_TEXT)
    for name, number in (
        ("gpus", inventory.gpus),
        ("migGpus", inventory.mig_gpus),
        ("unhealthyNotListed", inventory.unhealthy_not_listed),
    ):
        yield from _number(f"{field}.{name}", number, 0, MAX_DEVICES)
    if inventory.mig_gpus > inventory.gpus >= 0:
        yield FieldProblem(f"{field}.migGpus", f"{inventory.mig_gpus} of {inventory.gpus} GPUs cannot be")
    yield from unique(f"{field}.devices", [each.name for each in inventory.devices], MAX_DEVICE_RESOURCES)
    for index, count in enumerate(inventory.devices):
        yield from _count(f"{field}.devices[{index}]", count)
    unhealthy = len(inventory.unhealthy)
    if unhealthy > MAX_UNHEALTHY_DEVICES:
        yield FieldProblem(f"{field}.unhealthy", f"{unhealthy} entries; at most {MAX_UNHEALTHY_DEVICES} are allowed")
    for index, device in enumerate(inventory.unhealthy):
        yield from _unhealthy(f"{field}.unhealthy[{index}]", device)


def _count(field: str, count: DeviceCount) -> Iterator[FieldProblem]:
    yield from REPORTED.problems(f"{field}.name", count.name)
    yield from _number(f"{field}.healthy", count.healthy, 0, MAX_DEVICES)
    yield from _number(f"{field}.unhealthy", count.unhealthy, 0, MAX_DEVICES)


def _unhealthy(field: str, device: UnhealthyDevice) -> Iterator[FieldProblem]:
    yield from REASON.problems(f"{field}.reason", device.reason)
    yield from _time(f"{field}.since", device.since)
    yield from UUID.problems(f"{field}.uuid", device.uuid)
    if device.index is not None:
        yield from _number(f"{field}.index", device.index, 0, _MAX_INDEX)


def _problem(field: str, problem: AgentProblem) -> Iterator[FieldProblem]:
    yield from REASON.problems(f"{field}.reason", problem.reason)
    yield from _text(f"{field}.message", problem.message, LONGEST_PROBLEM)
    yield from _time(f"{field}.since", problem.since)


def _time(field: str, text: str) -> Iterator[FieldProblem]:
    """Its form, and a day that there is."""
    found = list(TIME.problems(field, text))
    if not found:
        try:
            parse_time(text)
        except ValueError:
            found.append(FieldProblem(field, f"{shown(text)} is no {TIME.wanted}"))
    yield from found


def _text(field: str, text: str, longest: int) -> Iterator[FieldProblem]:
    if len(text) > longest:
        yield FieldProblem(field, f"{shown(text)} has {len(text)} characters; at most {longest} are allowed")


def _number(field: str, number: int, least: int, most: int) -> Iterator[FieldProblem]:
    if not least <= number <= most:
        yield FieldProblem(field, f"{number} is out of range: {least} to {most} are allowed")
