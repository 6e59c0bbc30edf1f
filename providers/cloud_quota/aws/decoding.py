"""From what the SDK returns to answers. Pure.

Everything that the SDK hands over may be missing; what is missing is told apart from zero. Every key that is read here
is a field of the SDK's service models.
"""

from __future__ import annotations

import datetime
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Final, TypeVar

from kueue_dqo.provider import SourceUnavailable
from providers.cloud_quota.aws.questions import QuotaValue, Reservation
from providers.cloud_quota.shapes import NEURON, RESOURCE_BY_MAKER, Shape

if TYPE_CHECKING:
    from types_boto3_ec2.type_defs import (
        CapacityBlockStatusTypeDef,
        CapacityReservationTypeDef,
        InstanceTypeInfoTypeDef,
    )
    from types_boto3_service_quotas.type_defs import ServiceQuotaTypeDef

T = TypeVar("T")

_ON_DEMAND: Final = "default"
_FIRST_YEAR: Final = 2000
_LAST_YEAR: Final = 9998
"""Beyond these it is no time of a reservation, and arithmetic with it may overflow."""


class HalfAnswer(SourceUnavailable):
    """Something that an answer has to hold is missing from it."""


def needed(value: T | None, what: str) -> T:
    """The value. Raises HalfAnswer where it is missing."""
    if value is None:
        raise HalfAnswer(f"the answer of AWS has no {what}: it is asked again at the next look")
    return value


def typed(value: object, kind: type[T], what: str) -> T:
    """The value, where it is of that type (and no truth value). Raises HalfAnswer where it is missing or another."""
    found = needed(value, what)
    if not isinstance(found, kind) or isinstance(found, bool):
        raise HalfAnswer(f"{what} in the answer of AWS is a {type(found).__name__}: it is asked again at the next look")
    return found


def number(value: object, what: str) -> float:
    """As `typed`, whole or not."""
    return typed(value, int, what) if isinstance(value, int) else typed(value, float, what)


def time_of(value: object, what: str) -> datetime.datetime | None:
    """The time, None where there is none. Raises HalfAnswer for one that is none, or has no time zone."""
    if value is None:
        return None
    time = typed(value, datetime.datetime, what)
    if time.tzinfo is None or not _FIRST_YEAR <= time.year <= _LAST_YEAR:
        raise HalfAnswer(f"{what} in the answer of AWS is {time}, which is no time: it is asked again")
    return time.astimezone(datetime.UTC)


def quota_value(quota: ServiceQuotaTypeDef | None, code: str, *, is_default: bool) -> QuotaValue:
    """The value of a quota. Raises HalfAnswer where AWS says why there is none, does not say one, or says another's."""
    row = needed(quota, "Quota")
    reason = row.get("ErrorReason")
    if reason is not None:
        why, message = reason.get("ErrorCode", "no code"), reason.get("ErrorMessage", "no message")
        raise HalfAnswer(f"Service Quotas has no value at the moment: {why} ({message})")
    if row.get("QuotaCode", code) != code:
        raise HalfAnswer(f"Service Quotas answers about {row.get('QuotaCode')}, and was asked about {code}")
    return QuotaValue(number(row.get("Value"), "Quota.Value"), is_default)


def reservation(row: CapacityReservationTypeDef) -> Reservation:
    """Raises HalfAnswer where not even the id and the state are there; the rest is judged where it is needed."""
    total = row.get("TotalInstanceCount")
    return Reservation(
        id=typed(row.get("CapacityReservationId"), str, "CapacityReservationId"),
        state=typed(row.get("State") or None, str, "State of a capacity reservation"),
        kind=row.get("ReservationType", _ON_DEMAND),
        instance_type=row.get("InstanceType"),
        owner=row.get("OwnerId"),
        total=None if total is None else typed(total, int, "TotalInstanceCount"),
        start=time_of(row.get("StartDate"), "StartDate"),
        end=time_of(row.get("EndDate"), "EndDate"),
        launch_status=row.get("LaunchStatus"),
        tags={tag.get("Key", ""): tag.get("Value", "") for tag in row.get("Tags", ())},
        block_id=row.get("CapacityBlockId"),
        is_interruptible=row.get("Interruptible", False),
    )


def unavailable_of(blocks: Iterable[CapacityBlockStatusTypeDef]) -> Iterator[tuple[str, int | None]]:
    """How many instances have failed, by block.

    The field of the same name in CapacityReservationStatuses is another: what instances use there (EC2's model).
    """
    for block in blocks:
        failed = block.get("TotalUnavailableCapacity")
        name = typed(block.get("CapacityBlockId"), str, "CapacityBlockId")
        yield name, None if failed is None else typed(failed, int, "TotalUnavailableCapacity")


def shape_of(row: InstanceTypeInfoTypeDef) -> Shape:
    """What an instance type has. Raises HalfAnswer where vCPUs, memory, or the number of an accelerator is missing."""
    accelerators: dict[str, int] = {}
    unknown: list[str] = []
    for maker, name, count in _devices(row):
        resource = RESOURCE_BY_MAKER.get(maker.lower())
        if resource is None:
            unknown.append(f"{count} {name if name.startswith(maker) else f'{maker} {name}'}")
        else:
            accelerators[resource] = accelerators.get(resource, 0) + count
    return Shape(
        vcpus=needed(row.get("VCpuInfo", {}).get("DefaultVCpus"), "VCpuInfo.DefaultVCpus"),
        memory_mib=needed(row.get("MemoryInfo", {}).get("SizeInMiB"), "MemoryInfo.SizeInMiB"),
        accelerators=accelerators,
        unknown=tuple(unknown),
    )


def _devices(row: InstanceTypeInfoTypeDef) -> Iterator[tuple[str, str, int]]:
    """(maker, name, number) of all accelerators.

    A fraction of a GPU has Count 0, and is one LogicalGpuCount. Inferentia stands in two lists, of which one counts.
    """
    for gpu in row.get("GpuInfo", {}).get("Gpus", ()):
        count = gpu.get("LogicalGpuCount", gpu.get("Count"))
        yield gpu.get("Manufacturer", ""), gpu.get("Name", "GPU"), needed(count, "Count of a GPU")
    neurons = row.get("NeuronInfo", {}).get("NeuronDevices", [])
    for neuron in neurons:
        yield "AWS", neuron.get("Name", "Neuron device"), needed(neuron.get("Count"), "Count of a Neuron device")
    for device in row.get("InferenceAcceleratorInfo", {}).get("Accelerators", ()):
        maker = device.get("Manufacturer", "")
        if not neurons or RESOURCE_BY_MAKER.get(maker.lower()) != NEURON:
            yield maker, device.get("Name", "accelerator"), needed(device.get("Count"), "Count of an accelerator")
    for media in row.get("MediaAcceleratorInfo", {}).get("Accelerators", ()):
        count = media.get("Count")
        yield media.get("Manufacturer", ""), media.get("Name", "accelerator"), needed(count, "Count of an accelerator")
    for fpga in row.get("FpgaInfo", {}).get("Fpgas", ()):
        yield fpga.get("Manufacturer", ""), fpga.get("Name", "FPGA"), needed(fpga.get("Count"), "Count of an FPGA")
