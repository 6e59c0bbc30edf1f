"""From the API server's JSON to reports that share what is equal, and cost little where nothing changed. Pure.

Every agent writes its report every few minutes only to say that it is there. What such a heartbeat changes (`renewTime`
and managedFields) stands beside the content, and the content stays the very object that is held already.

Whatever the definition of the kind lets through is not believed unseen: a number that cannot be makes the report one
with a problem, so that only its own node suffers from it.
"""

from __future__ import annotations

import datetime
import functools
import itertools
import sys
from collections.abc import Callable, Iterator
from typing import Any, Final, NamedTuple

import msgspec

from kueue_dqo.api.core import Time
from kueue_dqo.api.gpu import (
    GPU,
    INVENTORY_MANAGER,
    LONGEST_HEARTBEAT,
    LONGEST_REASON,
    MAX_DEVICE_RESOURCES,
    MAX_DEVICES,
    MAX_UNHEALTHY_DEVICES,
    MIG_PREFIX,
    NODE_GPU_REPORT,
    PROBLEM_MANAGER,
    SHARED_SUFFIX,
    AgentProblem,
    DeviceCount,
    GPUInventory,
    NodeGPUReport,
    NodeGPUReportSpec,
    ReportMeta,
)
from kueue_dqo.api.meta import OUR_GROUP, parse_time
from kueue_dqo.api.problems import RESOURCE_NAME, FieldProblem, repeated, shown
from kueue_dqo.api.scheme import KnownKind, ObjectInvalid, decode_json

INVALID_REPORT: Final = "InvalidReport"
"""The reason of the problem that a report has which makes no sense."""
_LISTED_AT_MOST: Final = 3
"""Of what is wrong with a report."""
_NEVER: Final = ""


class Report(NamedTuple):
    """A report as it is held."""

    content: NodeGPUReport
    """Its name and its spec, but for the inventory's `renewTime`: the same object for as long as it is equal."""
    uid: str
    version: str
    """The `resourceVersion`."""
    renewed: str
    """The inventory's `renewTime` as it is written: another one means another write. Empty without an inventory."""
    inventory_written: datetime.datetime | None
    """When the API server took the inventory; the `renewTime` where it does not say so, None where that is no time."""
    problem_written: datetime.datetime | None
    """When the API server took the problem, where it says so."""

    @property
    def node(self) -> str:
        """The name of its node, and its own."""
        return self.content.metadata.name


class _Managed(msgspec.Struct, frozen=True, gc=False):
    """An entry of managedFields without the fields, which are most of it."""

    manager: str = ""
    time: Time | None = None


class _Meta(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    name: str
    uid: str = ""
    resource_version: str = ""
    managed_fields: tuple[_Managed, ...] = ()


class _Report(msgspec.Struct, frozen=True, gc=False):
    metadata: _Meta
    spec: NodeGPUReportSpec = NodeGPUReportSpec()


class _Named(msgspec.Struct, frozen=True, gc=False):
    metadata: _Meta


_decode: Final = msgspec.json.Decoder(_Report).decode
_decode_metadata: Final = msgspec.json.Decoder(_Named).decode
_KIND: Final = KnownKind(OUR_GROUP, NODE_GPU_REPORT, ("v1alpha1",), _Report)


class ReportDecoder:
    """`held` gives the report of that node as it was decoded last, if it is known."""

    def __init__(self, held: Callable[[str], Report | None]) -> None:
        self._held = held

    def decode(self, raw: bytes) -> Report:
        """The report in a piece of JSON. Raises msgspec.DecodeError where it has not even a name."""
        try:
            quick: Any = _decode(raw)
            metadata, spec, problem = quick.metadata, quick.spec, ""
        except msgspec.DecodeError:
            metadata, spec, problem = _carefully(raw)
        problem = problem or "; ".join(map(str, itertools.islice(_problems(spec), _LISTED_AT_MOST)))
        renewed = spec.inventory.renew_time if spec.inventory is not None else _NEVER
        if problem:
            spec = NodeGPUReportSpec(problem=AgentProblem(INVALID_REPORT, problem, _NEVER))
        before = self._held(metadata.name)
        return Report(
            _content(metadata.name, spec, before.content if before is not None else None),
            metadata.uid,
            metadata.resource_version,
            renewed,
            _time_of(metadata, INVENTORY_MANAGER) or _parsed(renewed),
            _time_of(metadata, PROBLEM_MANAGER),
        )


def _carefully(raw: bytes) -> tuple[_Meta, NodeGPUReportSpec, str]:
    """The way that knows null fields and can say what is wrong where."""
    try:
        report = decode_json(_KIND, "v1alpha1", raw).object
    except ObjectInvalid as error:
        return _decode_metadata(raw).metadata, NodeGPUReportSpec(), str(error)
    return report.metadata, report.spec, ""


# --- what cannot be ------------------------------------------------------------------------------------------------


def _problems(spec: NodeGPUReportSpec) -> Iterator[FieldProblem]:
    if spec.problem is not None:
        yield from _reason("spec.problem.reason", spec.problem.reason)
    inventory = spec.inventory
    if inventory is None:
        return
    at = "spec.inventory"
    yield from _within(f"{at}.heartbeatSeconds", inventory.heartbeat_seconds, 1, LONGEST_HEARTBEAT)
    yield from _within(f"{at}.gpus", inventory.gpus, 0, MAX_DEVICES)
    yield from _within(f"{at}.migGpus", inventory.mig_gpus, 0, max(inventory.gpus, 0))
    yield from _within(f"{at}.unhealthyNotListed", inventory.unhealthy_not_listed, 0, MAX_DEVICES)
    yield from _entries(f"{at}.devices", inventory.devices, MAX_DEVICE_RESOURCES)
    yield from _entries(f"{at}.unhealthy", inventory.unhealthy, MAX_UNHEALTHY_DEVICES)
    for name in repeated([each.name for each in inventory.devices]):
        yield FieldProblem(f"{at}.devices", f"{shown(name)} is listed more than once")
    for index, device in enumerate(inventory.devices[:MAX_DEVICE_RESOURCES]):
        field = f"{at}.devices[{index}]"
        is_ours = device.name == GPU or device.name.startswith(MIG_PREFIX)
        if not is_ours or not RESOURCE_NAME.fits(device.name + SHARED_SUFFIX):
            yield FieldProblem(f"{field}.name", f"{shown(device.name)} is neither {GPU} nor {MIG_PREFIX}<profile>")
        yield from _within(f"{field}.healthy", device.healthy, 0, MAX_DEVICES)
        yield from _within(f"{field}.unhealthy", device.unhealthy, 0, MAX_DEVICES)
    for index, unhealthy in enumerate(inventory.unhealthy[:MAX_UNHEALTHY_DEVICES]):
        field = f"{at}.unhealthy[{index}]"
        yield from _reason(f"{field}.reason", unhealthy.reason)
        if _parsed(unhealthy.since) is None:
            yield FieldProblem(f"{field}.since", f"{shown(unhealthy.since)} is no time of RFC 3339")


def _within(field: str, value: int, least: int, most: int) -> Iterator[FieldProblem]:
    if not least <= value <= most:
        yield FieldProblem(field, f"{value} is not within {least} and {most}")


def _entries(field: str, entries: tuple[object, ...], most: int) -> Iterator[FieldProblem]:
    if len(entries) > most:
        yield FieldProblem(field, f"{len(entries)} entries; at most {most} are allowed")


def _reason(field: str, reason: str) -> Iterator[FieldProblem]:
    if not (reason.isascii() and reason.isalnum() and reason[0].isupper() and len(reason) <= LONGEST_REASON):
        yield FieldProblem(field, f"{shown(reason)} is no reason in CamelCase of at most {LONGEST_REASON} letters")


# --- what is held once ---------------------------------------------------------------------------------------------


def _content(name: str, spec: NodeGPUReportSpec, before: NodeGPUReport | None) -> NodeGPUReport:
    held = before.spec if before is not None else NodeGPUReportSpec()
    inventory = _inventory(spec.inventory, held.inventory)
    problem = held.problem if held.problem == spec.problem else spec.problem
    if before is not None and inventory is held.inventory and problem is held.problem:
        return before
    return NodeGPUReport(ReportMeta(sys.intern(name)), NodeGPUReportSpec(inventory, problem))


def _inventory(inventory: GPUInventory | None, held: GPUInventory | None) -> GPUInventory | None:
    if inventory is None:
        return None
    inventory = msgspec.structs.replace(inventory, renew_time=_NEVER)
    if inventory == held:
        return held
    return msgspec.structs.replace(
        inventory,
        driver_version=sys.intern(inventory.driver_version),
        product=sys.intern(inventory.product),
        devices=_shared(inventory.devices),
    )


@functools.lru_cache(maxsize=1024)
def _shared(devices: tuple[DeviceCount, ...]) -> tuple[DeviceCount, ...]:
    """Most nodes have what others have."""
    return devices


def _time_of(metadata: _Meta, manager: str) -> datetime.datetime | None:
    return max((each.time for each in metadata.managed_fields if each.manager == manager and each.time), default=None)


def _parsed(text: str) -> datetime.datetime | None:
    try:
        return parse_time(text)
    except ValueError:
        return None
