"""Devices of NVML's test double, as a test describes them."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterator
from typing import Final

NOT_SUPPORTED: Final = 3
GPU_IS_LOST: Final = 15
RECOVERY_ACTION: Final = 230
"""NVML_FI_DEV_GET_GPU_RECOVERY_ACTION."""
XID_EVENT: Final = 8
"""nvmlEventTypeXidCriticalError."""
EVERY_CALL: Final = "*"
BY_INDEX: Final = "nvmlDeviceGetHandleByIndex_v2"


@dataclasses.dataclass
class Mig:
    """A MIG device. What is left empty is made up, by its GPU and its slot."""

    profile: str = "1g.10gb"
    slot: int | None = None
    """NVML's index of it on its GPU; as it comes, where None."""
    uuid: str = ""
    gpu_instance: int | None = None
    """7 and the slot, where None."""
    compute_instance: int = 0
    name: str | None = None
    """The GPU's product and `MIG` and the profile, as a driver writes it, where None."""
    failures: dict[str, int] = dataclasses.field(default_factory=dict)
    """What functions answer for this device: an NVML code by the function's name."""

    def lines(self, gpu: Gpu, slot: int) -> Iterator[str]:
        """Of the state file."""
        # Such as `1g.10gb`, `1c.3g.40gb`, or `1g.10gb+me`.
        found = re.fullmatch(r"(?:(\d+)c\.)?(\d+)g\.(\d+)gb.*", self.profile)
        if found is None:
            raise ValueError(f"{self.profile}: no profile of a MIG device, such as 1g.10gb")
        compute, slices, memory = found.groups()
        instance = 7 + slot if self.gpu_instance is None else self.gpu_instance
        yield f"mig {self.uuid or uuid_of_mig(gpu.uuid, slot)}"
        yield f"name {f'{gpu.product} MIG {self.profile}' if self.name is None else self.name}"
        yield f"slot {slot}"
        yield f"instances {instance} {self.compute_instance}"
        yield f"slices {slices} {compute or slices}"
        yield f"memory {int(memory) * 1024}"
        yield from (f"fail {function} {code}" for function, code in self.failures.items())


@dataclasses.dataclass
class Gpu:
    """A GPU. Without more it is healthy, new enough for everything, and its MIG mode is off."""

    uuid: str
    product: str = "NVIDIA H100 80GB HBM3"
    memory_mib: int = 81_559
    pci: str = "00000000:19:00.0"
    mig: list[Mig] | None = None
    """Its MIG devices, where MIG mode is on."""
    mig_capable: bool = True
    mig_slots: int = 7
    events: int | None = XID_EVENT
    """The event types that it supports; None: it knows no events."""
    remapped: tuple[int, int, bool, bool] | None = (0, 0, False, False)
    """Rows for correctable and uncorrectable errors, pending, failure; None: not supported."""
    fields: dict[int, int] = dataclasses.field(default_factory=lambda: {RECOVERY_ACTION: 0})
    """Field values by field; others are not supported."""
    field_failures: dict[int, int] = dataclasses.field(default_factory=dict)
    """The NVML code of single fields."""
    failures: dict[str, int] = dataclasses.field(default_factory=dict)
    """What functions answer for this GPU and its MIG devices: an NVML code by name, `*` for all. The first that fits
    holds; 0 lets a function do its work in spite of a later one."""
    hangs: set[str] = dataclasses.field(default_factory=set)
    """Functions that do not come back for this GPU."""

    def lines(self) -> Iterator[str]:
        """Of the state file."""
        yield f"gpu {self.uuid}"
        yield f"name {self.product}"
        yield f"pci {self.pci}"
        yield f"memory {self.memory_mib}"
        if self.mig_capable:
            yield f"mig-mode {0 if self.mig is None else 1} {self.mig_slots}"
        if self.events is not None:
            yield f"events {self.events}"
        if self.remapped is not None:
            yield "remapped {:d} {:d} {:d} {:d}".format(*self.remapped)
        yield from (f"field {field} 0 {value}" for field, value in self.fields.items())
        yield from (f"field {field} {code} 0" for field, code in self.field_failures.items())
        yield from (f"hang {function}" for function in sorted(self.hangs))
        yield from (f"fail {function} {code}" for function, code in self.failures.items())
        for place, device in enumerate(self.mig or ()):
            yield from device.lines(self, place if device.slot is None else device.slot)


def uuid_of_gpu(number: int, node: int = 0) -> str:
    """A UUID as a driver gives it, which tells a reader the GPU's number and its node's."""
    return f"GPU-{node:08x}-0000-4000-8000-{number:012x}"


def uuid_of_mig(gpu: str, slot: int) -> str:
    """A UUID of a MIG device, which tells a reader its GPU and its slot."""
    head, _, tail = gpu.removeprefix("GPU-").partition("-0000-")
    return f"MIG-{head}-{slot + 1:04x}-{tail}" if tail else f"MIG-{head}-{slot + 1:04x}"


def gpus(count: int, *, node: int = 0, product: str = "NVIDIA H100 80GB HBM3") -> list[Gpu]:
    """So many healthy GPUs of one product, numbered."""
    return [
        Gpu(uuid_of_gpu(number, node), product=product, pci=f"00000000:{0x19 + number:02X}:00.0")
        for number in range(count)
    ]
