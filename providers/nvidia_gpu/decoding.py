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
    INVENTORY_MANAGER,
    NO_DEVICES,
    NODE_GPU_REPORT,
    PROBLEM_MANAGER,
    AgentProblem,
    DeviceCount,
    GPUInventory,
    NodeGPUReport,
    NodeGPUReportSpec,
    OwnerReference,
    ReportMeta,
    owning_node,
)
from kueue_dqo.api.gpu_checks import problems_of_report
from kueue_dqo.api.meta import OUR_GROUP, parse_time
from kueue_dqo.api.problems import RESOURCE_NAME, FieldProblem, shown
from kueue_dqo.api.scheme import KnownKind, ObjectInvalid, decode_json
from providers.nodes.usable import Unusable
from providers.nvidia_gpu.hearing import AGENT_SILENT, NO_REPORT

INVALID_REPORT: Final = "InvalidReport"
"""The reason of the problem that a report has which makes no sense."""
AGENT_PROBLEM: Final = "AgentProblem"
"""The reason of an agent's problem that has the name of a reason which is not the agent's to give."""
_NOT_FOR_AGENTS: Final = frozenset({*Unusable, AGENT_SILENT, NO_REPORT, INVALID_REPORT})
_SEES_NOTHING: Final = "the report has no GPU at all, not even an unhealthy one"
_LISTED_AT_MOST: Final = 3
"""Of what is wrong with a report."""
_NEVER: Final = ""


class Report(NamedTuple):
    """A report as it is held."""

    content: NodeGPUReport
    """Its name and what it tells, but for the inventory's `renewTime`: the same object for as long as it is equal."""
    uid: str
    version: str
    """The `resourceVersion`."""
    renewed: str
    """The inventory's `renewTime` as it is written: another one means another write. Empty without an inventory."""
    inventory_written: datetime.datetime | None
    """When the API server took the inventory; the `renewTime` where it does not say so, None where that is no time."""
    problem_began: datetime.datetime | None
    """Since when it has a problem, by the API server's clock, where that says so."""
    owner: str
    """The UID of the Node that owns it; empty where none does."""
    deleted: datetime.datetime | None = None
    """Since when it is being deleted, by the API server's clock: somebody's finalizer may keep it for long."""

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
    owner_references: tuple[OwnerReference, ...] = ()
    deletion_timestamp: Time | None = None


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
        began = _problem_began(metadata, spec)
        nonsense = NodeGPUReportSpec(problem=AgentProblem(INVALID_REPORT, problem, _NEVER))
        spec = nonsense if problem else telling(spec)
        before = self._held(metadata.name)
        return Report(
            _content(metadata.name, spec, before.content if before is not None else None),
            metadata.uid,
            metadata.resource_version,
            renewed,
            _time_of(metadata, INVENTORY_MANAGER) or _parsed(renewed),
            began,
            owning_node(metadata.owner_references),
            metadata.deletion_timestamp,
        )


def _carefully(raw: bytes) -> tuple[_Meta, NodeGPUReportSpec, str]:
    """The way that knows null fields and can say what is wrong where."""
    try:
        report = decode_json(_KIND, "v1alpha1", raw).object
    except ObjectInvalid as error:
        return _decode_metadata(raw).metadata, NodeGPUReportSpec(), str(error)
    return report.metadata, report.spec, ""


# --- what is made of it --------------------------------------------------------------------------------------------


def _problems(spec: NodeGPUReportSpec) -> Iterator[FieldProblem]:
    """The rules of the definition; and names that no other part of a capacity could stand beside."""
    yield from problems_of_report(NodeGPUReport(ReportMeta(_NEVER), spec))
    for index, device in enumerate(spec.inventory.devices if spec.inventory is not None else ()):
        if not RESOURCE_NAME.fits(device.name):
            field = f"spec.inventory.devices[{index}].name"
            yield FieldProblem(field, f"{shown(device.name)} is no {RESOURCE_NAME.wanted}")


def telling(spec: NodeGPUReportSpec) -> NodeGPUReportSpec:
    """What the report tells. An inventory without a single device, be it an unhealthy one, tells nothing.

    An agent with GPUs that sees none, as after an accident with its container's devices, must not be believed to have
    a node without GPUs. Nor can its problem pass for a reason that others find, such as that its node is cordoned.
    """
    problem, inventory = spec.problem, spec.inventory
    if problem is not None and problem.reason in _NOT_FOR_AGENTS:
        problem = AgentProblem(AGENT_PROBLEM, f"{problem.reason}: {problem.message}", problem.since)
        spec = msgspec.structs.replace(spec, problem=problem)
    if inventory is None or inventory.gpus or inventory.unhealthy or inventory.unhealthy_not_listed:
        return spec
    if any(each.healthy or each.unhealthy for each in inventory.devices):
        return spec
    return NodeGPUReportSpec(problem=spec.problem or AgentProblem(NO_DEVICES, _SEES_NOTHING, _NEVER))


def _problem_began(metadata: _Meta, spec: NodeGPUReportSpec) -> datetime.datetime | None:
    """Since when there is a problem, by the API server's clock.

    The server knows when the problem was written last, as it is when only its message changes. Since when the agent has
    it, the agent says by the node's clock, which may be wrong: how long that is after the last inventory is not.
    """
    written = _time_of(metadata, PROBLEM_MANAGER)
    if written is None or spec.problem is None or spec.inventory is None:
        return written
    inventory_written = _time_of(metadata, INVENTORY_MANAGER)
    renewed, since = _parsed(spec.inventory.renew_time), _parsed(spec.problem.since)
    if inventory_written is None or renewed is None or since is None:
        return written
    return min(inventory_written + max(since - renewed, datetime.timedelta()), written)


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
