"""What one instance of a machine type has and takes, attached GPUs included. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

from kueue_dqo.api.cloud import GcpEntry
from kueue_dqo.provider import Misconfigured, Notice
from providers.cloud_quota.gcp.questions import Machine
from providers.cloud_quota.shapes import NVIDIA, RESOURCE_BY_MAKER, TPU, Shape

MACHINE_TYPE_DEPRECATED: Final = "MachineTypeDeprecated"
"""The reason of the Event about machine types that are about to go."""

_TPU: Final = re.compile(r"ct[0-9]|tpu")
"""How types of TPU begin: `ct5lp`, `ct6e`, `tpu7x`."""


def shape_of(entry: GcpEntry, machine: Machine) -> Shape:
    """What one instance of the entry has.

    GPUs that are attached are NVIDIA's: no other ones can be attached (N1).

    Raises:
        Misconfigured: the entry attaches accelerators to a type that has others built in.
    """
    built_in = count_of(machine.accelerators)
    if entry.accelerators is not None and built_in not in {0, entry.accelerators}:
        raise Misconfigured(
            f"machine type {entry.machine_type} has {listed(machine.accelerators)} built in, and accelerators says "
            f"{entry.accelerators}: leave it out, it is for types without any"
        )
    accelerators: dict[str, int] = {}
    unknown: list[str] = []
    if not built_in and entry.accelerators:
        accelerators[NVIDIA] = entry.accelerators
    for kind, count in machine.accelerators:
        resource = _resource_of(kind)
        if resource is None:
            unknown.append(f"{count} {kind}")
        else:
            accelerators[resource] = accelerators.get(resource, 0) + count
    return Shape(machine.vcpus, machine.memory_mib, accelerators, tuple(unknown))


def accelerators_of(entry: GcpEntry, machine: Machine) -> int:
    """How many accelerators one instance of the entry takes of a quota, those of unknown makers included."""
    return count_of(machine.accelerators) or entry.accelerators or 0


def deprecation(entry: GcpEntry, machine: Machine) -> tuple[Notice, ...]:
    """The Event about a machine type that the cloud withdraws."""
    if not machine.deprecated:
        return ()
    return (
        Notice(
            MACHINE_TYPE_DEPRECATED,
            f"machine type {entry.machine_type} is {machine.deprecated} at the cloud: move to another one before "
            "instances of it can no longer be made",
        ),
    )


def count_of(accelerators: Iterable[tuple[str, int]]) -> int:
    """How many there are of all types together."""
    return sum(count for _, count in accelerators)


def listed(accelerators: Iterable[tuple[str, int]]) -> str:
    """`8 nvidia-h100-80gb`."""
    return ", ".join(f"{count} {kind}" for kind, count in accelerators) or "no accelerators"


def _resource_of(kind: str) -> str | None:
    """The name of the resource by the type of an accelerator, whose maker it begins with."""
    if _TPU.match(kind):
        return TPU
    return RESOURCE_BY_MAKER.get(kind.partition("-")[0])
