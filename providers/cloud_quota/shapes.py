"""What one instance of a type has, and what a job gets of it. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from kueue_dqo.api.cloud import CloudEntry
from kueue_dqo.api.quantity import NANOS, Format, Quantity
from kueue_dqo.api.resources import CPU
from kueue_dqo.provider import Notice

MEMORY: Final = "memory"
NVIDIA: Final = "nvidia.com/gpu"
AMD: Final = "amd.com/gpu"
NEURON: Final = "aws.amazon.com/neuron"
GAUDI: Final = "habana.ai/gaudi"
TPU: Final = "google.com/tpu"

RESOURCE_BY_MAKER: Final[Mapping[str, str]] = {
    "amd": AMD,
    "annapurna": NEURON,
    "aws": NEURON,
    "google": TPU,
    "habana": GAUDI,
    "nvidia": NVIDIA,
}
"""What device plugins call accelerators, by their makers in small letters. Of any other maker nothing is reported."""

UNKNOWN_ACCELERATOR: Final = "UnknownAccelerator"
"""The reason of the Event about accelerators whose resource is not known."""

_BYTES_IN_MEBIBYTE: Final = 1024**2


@dataclass(frozen=True, slots=True)
class Shape:
    """What the cloud's catalogue says of one instance of a type."""

    vcpus: int
    memory_mib: int
    accelerators: Mapping[str, int]
    """How many, by the name of their resource, such as nvidia.com/gpu."""
    unknown: tuple[str, ...] = ()
    """Accelerators whose resource is not known, for a person: `2 Xilinx U30`."""


def per_instance(entry: CloudEntry, shape: Shape) -> dict[str, Quantity]:
    """What a job gets of one instance: what the catalogue says, and before it what the entry says."""
    return {
        CPU: Quantity(shape.vcpus * NANOS),
        MEMORY: Quantity(shape.memory_mib * _BYTES_IN_MEBIBYTE * NANOS, Format.BINARY),
        **{resource: Quantity(count * NANOS) for resource, count in sorted(shape.accelerators.items())},
        **entry.per_instance,
    }


def amounts(entry: CloudEntry, shape: Shape, instances: int) -> dict[str, Quantity]:
    """What jobs get of so many instances, by resource. Of no instance it is an explicit 0 of each."""
    return {
        resource: Quantity(quantity.nanos * instances, quantity.format)
        for resource, quantity in per_instance(entry, shape).items()
    }


def unknown_accelerators(entry: CloudEntry, shape: Shape) -> tuple[Notice, ...]:
    """The Event about accelerators that nobody reports. An extended resource of the entry's own is taken for them."""
    if not shape.unknown or any(
        "/" in resource and resource not in shape.accelerators for resource in entry.per_instance
    ):
        return ()
    return (
        Notice(
            UNKNOWN_ACCELERATOR,
            f"{entry.type_name} has {', '.join(shape.unknown)}, and the name that jobs ask for is not known: write it "
            "with its number into perInstance of the entries with that type; until then it is not reported",
        ),
    )
