"""The devices that an XID marked, until something says that they are well again. Pure.

A mark ends with the boot, with the driver, and where a process starts later and NVML recommends no recovery action any
more. The mark of a MIG device ends with that device, too.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final, NamedTuple

from kueue_dqo.api.gpu import UnhealthyDevice
from providers.nvidia_gpu.agent.checks import Checks
from providers.nvidia_gpu.agent.devices import Device

MIG_UUID_PREFIX: Final = "MIG-"
_REASON: Final = re.compile(r"Xid([0-9]{1,9})")
_NO_ACTION: Final = 0


def is_mark(reason: str) -> bool:
    """Whether this reason of an unhealthy device names an XID."""
    return _REASON.fullmatch(reason) is not None


class Mark(NamedTuple):
    """The first XID that marked a device; later ones change nothing."""

    number: int
    since: str
    gpu: str | None
    """UUID of the GPU; None for a MIG device of which nobody knows its GPU yet."""
    is_resumed: bool = False
    """An earlier process set it, and its GPU was not read since."""

    @property
    def reason(self) -> str:
        """`Xid79`."""
        return f"Xid{self.number}"


class Marks:
    """By UUID, of GPUs and of MIG devices."""

    def __init__(self) -> None:
        self._marks: dict[str, Mark] = {}

    def get(self, uuid: str | None) -> Mark | None:
        """What marks the device."""
        return None if uuid is None else self._marks.get(uuid)

    def set(self, uuid: str, number: int, since: str, *, gpu: str) -> None:
        """An XID of a GPU, or of a MIG device of it."""
        mark = self._marks.get(uuid)
        # What an earlier process saw is what this one has seen, from now on.
        self._marks[uuid] = Mark(number, since, gpu) if mark is None else mark._replace(gpu=gpu, is_resumed=False)

    def take_over(self, unhealthy: Iterable[UnhealthyDevice], checks: Checks) -> None:
        """Those of an earlier process, but for XIDs that no longer count."""
        for device in unhealthy:
            match = _REASON.fullmatch(device.reason)
            if device.uuid and match and checks.xid(number := int(match[1])):
                gpu = None if device.uuid.startswith(MIG_UUID_PREFIX) else device.uuid
                self._marks[device.uuid] = Mark(number, device.since, gpu, is_resumed=True)

    def settle(self, devices: Iterable[Device]) -> None:
        """Drops what these readings refute: all GPUs of a poll."""
        unread = False
        for device in devices:
            if device.uuid is None or device.error is not None:
                unread = True
                continue
            self._settle_gpu(device.uuid, device)
        if not unread:
            # Every GPU was asked, and none has such a MIG device.
            self._marks = {uuid: mark for uuid, mark in self._marks.items() if mark.gpu is not None}

    def _settle_gpu(self, gpu: str, device: Device) -> None:
        there = {gpu, *(mig.uuid for mig in device.mig_devices)}
        for uuid, mark in list(self._marks.items()):
            if uuid in there:
                if mark.is_resumed and device.recovery_action == _NO_ACTION:
                    del self._marks[uuid]
                else:
                    self._marks[uuid] = mark._replace(gpu=gpu, is_resumed=False)
            elif mark.gpu == gpu:
                del self._marks[uuid]
