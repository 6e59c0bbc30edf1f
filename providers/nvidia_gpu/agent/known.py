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
    """What NVML said since then: lost, or to be reset."""
    unread_since: datetime | None = None
    """Since when it says nothing."""


class KnownGPUs:
    """By UUID, those that NVML does not list any more included."""

    def __init__(self) -> None:
        self._known: dict[str, KnownGPU] = {}

    def __iter__(self) -> Iterator[str]:
        """The UUIDs."""
        return iter(self._known)

    def learn(self, device: Device, now: datetime) -> KnownGPU | None:
        """What is known of the GPU after this reading of it; None for one that was never read."""
        if device.uuid is None:
            return None
        known = self._known.get(device.uuid)
        if device.error is None:
            known = KnownGPU(device)
        elif known is None:
            return None
        elif device.is_gone:
            known = known._replace(gone=error_reason(device.error))
        elif known.unread_since is None:
            known = known._replace(unread_since=now)
        self._known[device.uuid] = known
        return known

    def meant(self, xid: Xid, devices: Iterable[Device]) -> Iterator[tuple[str, str]]:
        """The devices that an XID concerns: UUID, and UUID of the GPU.

        `devices`: the first reading after it. The MIG devices of the moment of the event are those of the reading
        before it, or else of this one. Where none of them is told, or known, it is the whole GPU; where NVML did not
        tell the GPU either, it may have been any of them.
        """
        read = {device.uuid: device for device in devices if device.uuid is not None}
        if xid.uuid is None:
            for uuid in sorted({*read, *self._known}):
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
    return next((mig for mig in layout.mig_devices if (mig.gpu_instance, mig.compute_instance) == instance), None)
