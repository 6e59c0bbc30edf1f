"""What one process knows of each GPU, as it read it last. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import NamedTuple

from kueue_dqo.api.gpu import UnhealthyReason
from providers.nvidia_gpu.agent.devices import Device, MigDevice, Xid
from providers.nvidia_gpu.agent.uuids import error_reason


class KnownGPU(NamedTuple):
    """A GPU that was read at least once."""

    layout: Device
    """As it was read last."""
    gone: UnhealthyReason | None = None
    """What NVML said since then: lost, or to be reset. What else it says afterwards changes nothing of that."""
    unread_since: datetime | None = None
    """Since when it says nothing; None for one that is gone."""


class KnownGPUs:
    """By UUID, those that NVML does not list any more included; by index, those that NVML lists and that have none."""

    def __init__(self) -> None:
        self._known: dict[str | int, KnownGPU] = {}

    def __iter__(self) -> Iterator[str]:
        """The UUIDs."""
        return (key for key in self._known if isinstance(key, str))

    def learn_all(self, devices: Iterable[Device], now: datetime) -> dict[Device, KnownGPU | None]:
        """What is known of each GPU after this reading of all; None for one that was never read."""
        known = {device: self.learn(device, now) for device in devices}
        there = {device.key for device in known}
        # Another reading may have other GPUs at these indexes.
        self._known = {key: gpu for key, gpu in self._known.items() if isinstance(key, str) or key in there}
        return known

    def learn(self, device: Device, now: datetime) -> KnownGPU | None:
        """What is known of one GPU after this reading of it."""
        known = self._known.get(device.key)
        if device.error is None:
            known = KnownGPU(device)
        elif known is None:
            return None
        elif device.is_gone:
            known = KnownGPU(known.layout, gone=error_reason(device.error))
        elif known.gone is None and known.unread_since is None:
            known = known._replace(unread_since=now)
        self._known[device.key] = known
        return known

    def meant(self, xid: Xid, devices: Iterable[Device]) -> Iterator[tuple[str, str]]:
        """The devices that an XID concerns: UUID, and UUID of the GPU.

        `devices`: the first reading after it. The MIG devices of the moment of the event are those of the reading
        before it, or else of this one. Where none of them is told, or known, it is the whole GPU; where NVML did not
        tell the GPU either, it may have been any of them.
        """
        read = {device.uuid: device for device in devices if device.uuid is not None}
        if xid.uuid is None:
            for uuid in sorted({*read, *self}):
                yield uuid, uuid
            return
        known = self._known.get(xid.uuid)
        for layout in (None if known is None else known.layout, read.get(xid.uuid)):
            if layout is not None and (mig := _instance(layout, xid)) is not None:
                yield mig.uuid, xid.uuid
                return
        yield xid.uuid, xid.uuid


def _instance(layout: Device, xid: Xid) -> MigDevice | None:
    if xid.gpu_instance is None or xid.compute_instance is None:
        return None
    instance = (xid.gpu_instance, xid.compute_instance)
    migs = (mig for mig in layout.mig_devices if mig.uuid)
    return next((mig for mig in migs if (mig.gpu_instance, mig.compute_instance) == instance), None)
