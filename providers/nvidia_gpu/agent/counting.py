"""What the judged GPUs of a node are together: counts by resource, and the list of the unhealthy ones. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from kueue_dqo.api.gpu import GPU, MIG_PREFIX, DeviceCount, UnhealthyDevice
from providers.nvidia_gpu.agent.devices import Device, MigDevice


class Finding(NamedTuple):
    """Why a device is unhealthy, and since when (RFC 3339, UTC)."""

    reason: str
    since: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """A GPU that NVML lists, or did."""

    uuid: str | None
    index: int | None = None
    """NVML's; None for one that it does not list any more."""
    finding: Finding | None
    """None: healthy."""
    layout: Device | None = None
    """As it was read last, or as it was counted before this process; None where nobody could read it."""
    is_counted: bool = True
    mig_findings: Mapping[str, Finding] = field(default_factory=dict)
    """The unhealthy MIG devices of a healthy GPU, by UUID."""


class Tally(NamedTuple):
    """The parts of an inventory that are counted."""

    gpus: int
    mig_gpus: int
    devices: tuple[DeviceCount, ...]
    unhealthy: tuple[UnhealthyDevice, ...]
    product: str
    """The most common, the first by name of several; empty where no GPU could be read."""


def tally(gpus: Sequence[Judged]) -> Tally:
    """All of a node's GPUs together.

    A GPU of which nobody knows whether it is cut into MIG devices is like the others: where all of those are cut, it
    would be a whole GPU that the node never had, and is not counted.
    """
    counted = [gpu for gpu in gpus if gpu.is_counted]
    layouts = [gpu.layout for gpu in counted if gpu.layout is not None]
    is_all_mig = bool(layouts) and all(layout.mig_enabled for layout in layouts)
    healthy, unhealthy = Counter[str](), Counter[str]()
    for gpu in counted:
        if gpu.layout is None and is_all_mig:
            continue
        for name, is_healthy in _units(gpu):
            (healthy if is_healthy else unhealthy)[name] += 1
    well = [gpu.layout for gpu in counted if gpu.finding is None]
    products = Counter(layout.product for layout in layouts if layout.product)
    return Tally(
        gpus=len(well),
        mig_gpus=sum(layout is not None and layout.mig_enabled for layout in well),
        devices=tuple(
            DeviceCount(name, healthy[name], unhealthy[name]) for name in sorted(healthy.keys() | unhealthy.keys())
        ),
        unhealthy=tuple(sorted(_listed(gpus), key=lambda device: (device.uuid, device.index or 0))),
        product=min(products, key=lambda name: (-products[name], name), default=""),
    )


def layouts_left(devices: Iterable[DeviceCount], gpus: Iterable[Judged]) -> Iterator[Device]:
    """What GPUs that nobody can read may be, without end: `devices` was counted once, and `gpus` are read now.

    Whole ones first. All MIG devices that are missing are on the next: on which of several makes no difference to the
    counts.
    """
    left = Counter({each.name: each.healthy + each.unhealthy for each in devices})
    left.subtract(name for gpu in gpus if gpu.is_counted for name, _ in _units(gpu))
    for _ in range(left.pop(GPU, 0)):
        yield Device(-1, None)
    migs = [MigDevice("", name.removeprefix(MIG_PREFIX)) for name, count in left.items() for _ in range(count)]
    if migs:
        yield Device(-1, None, mig_enabled=True, mig_devices=tuple(migs))
    while True:
        yield Device(-1, None, mig_enabled=True)


def _units(gpu: Judged) -> Iterator[tuple[str, bool]]:
    """What the GPU is to a device plugin, piece by piece: the resource, and whether it is healthy."""
    if gpu.layout is None or not gpu.layout.mig_enabled:
        yield GPU, gpu.finding is None
        return
    for mig in gpu.layout.mig_devices:
        yield f"{MIG_PREFIX}{mig.profile}", gpu.finding is None and mig.uuid not in gpu.mig_findings


def _listed(gpus: Sequence[Judged]) -> Iterator[UnhealthyDevice]:
    for gpu in gpus:
        if gpu.finding is not None:
            index = gpu.index if gpu.uuid is None else None
            yield UnhealthyDevice(gpu.finding.reason, gpu.finding.since, gpu.uuid or "", index)
        for uuid, finding in gpu.mig_findings.items():
            yield UnhealthyDevice(finding.reason, finding.since, uuid)
