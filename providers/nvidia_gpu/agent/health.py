"""From readings and XIDs to the inventory of the node; what is remembered between polls. Pure.

Where several reasons hold, the first of these is told: `Lost` and `ResetRequired` as the end of a call, which are the
most that NVML can say; an XID; the recovery action; a failed row remapping; `Unreadable`, which says only that nobody
knows.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime, timedelta
from typing import Final

from kueue_dqo.api.gpu import GPUInventory, UnhealthyDevice, UnhealthyReason
from kueue_dqo.api.meta import time_text
from providers.nvidia_gpu.agent.checks import Checks
from providers.nvidia_gpu.agent.counting import Finding, Judged, tally
from providers.nvidia_gpu.agent.devices import Device, Reading, Xid
from providers.nvidia_gpu.agent.known import KnownGPU, KnownGPUs
from providers.nvidia_gpu.agent.marks import MIG_UUID_PREFIX, Marks
from providers.nvidia_gpu.agent.sizes import DRIVER_VERSION_ROOM, cut
from providers.nvidia_gpu.agent.uuids import error_reason, identified

_RECOVERY: Final[Mapping[int, UnhealthyReason | None]] = {
    0: None,
    1: UnhealthyReason.RESET_REQUIRED,  # GPU_RESET
    2: UnhealthyReason.REBOOT_REQUIRED,  # NODE_REBOOT
    6: UnhealthyReason.RESET_REQUIRED,  # BUS_RESET
    7: UnhealthyReason.REBOOT_REQUIRED,  # SYSTEM_REBOOT
}
"""By nvmlDeviceGpuRecoveryAction_t. With any other one, those of later drivers included, the GPU is to be drained."""


class Health:
    """Not for several threads: readings and XIDs come from one."""

    def __init__(self, checks: Checks, *, unknown_grace: timedelta, boot_id: str = "") -> None:
        """`unknown_grace`: how long a GPU that was readable keeps its state while nobody knows how it is."""
        self._checks = checks
        self._grace = unknown_grace
        self._boot_id = boot_id
        self._resumed: GPUInventory | None = None
        self._xids: list[tuple[Xid, str]] = []
        self._driver_version: str | None = None
        self._known = KnownGPUs()
        self._marks = Marks()
        self._told: dict[str | int, Finding] = {}
        """What the last inventory said, by UUID, or by index of a GPU without one."""
        self._indexes: dict[int, str] = {}
        """The UUIDs of the last reading."""
        self._product = ""

    def resume(self, inventory: GPUInventory | None) -> None:
        """What the node's report said last. Before the first `judge`; of another boot or driver it means nothing."""
        if inventory is not None and self._boot_id and inventory.boot_id == self._boot_id:
            self._resumed = inventory

    def note(self, xid: Xid, now: datetime) -> bool:
        """Whether the XID counts; then it marks its device in the next `judge`."""
        if not self._checks.xid(xid.number):
            return False
        self._xids.append((xid, time_text(now)))
        return True

    def judge(self, reading: Reading, now: datetime, *, heartbeat: timedelta) -> GPUInventory:
        """The inventory as of this reading; `heartbeat` is what it promises.

        Raises NodeUnreadable where nobody can tell how the node is, and remembers nothing of the reading then.
        """
        reading.demand_readable()
        driver_version = cut(reading.driver_version, DRIVER_VERSION_ROOM)
        self._begin(driver_version)
        devices = identified(reading.devices, at=self._indexes, remembered=self._remembered())
        self._mark(devices)
        gpus = [self._judged(device, now) for device in devices]
        gpus.extend(self._removed({device.uuid for device in devices}, now))
        result = tally(gpus)
        self._indexes = {device.index: device.uuid for device in devices if device.uuid is not None}
        self._told = _told(result.unhealthy)
        self._product = result.product or self._product
        return GPUInventory(
            renew_time=time_text(now),
            heartbeat_seconds=round(heartbeat.total_seconds()),
            boot_id=self._boot_id,
            driver_version=driver_version,
            product=self._product,
            gpus=result.gpus,
            mig_gpus=result.mig_gpus,
            devices=result.devices,
            unhealthy=result.unhealthy,
        )

    def _begin(self, driver_version: str) -> None:
        """With another driver everything begins anew, but for what the report of an earlier process says about it."""
        if driver_version == self._driver_version:
            return
        resumed = self._resumed
        self._resumed = None
        self._driver_version = driver_version
        self._known = KnownGPUs()
        self._marks = Marks()
        self._told = {}
        self._indexes = {}
        self._product = ""
        if resumed is not None and resumed.driver_version == driver_version:
            self._marks.take_over(resumed.unhealthy, self._checks)
            self._told = _told(resumed.unhealthy)
            self._product = resumed.product

    def _remembered(self) -> dict[str, str | None]:
        """Every GPU whose UUID is known, and why it was unhealthy, if it was."""
        remembered: dict[str, str | None] = dict.fromkeys(self._known)
        for key, finding in self._told.items():
            if isinstance(key, str) and not key.startswith(MIG_UUID_PREFIX):
                remembered[key] = finding.reason
        return remembered

    def _mark(self, devices: tuple[Device, ...]) -> None:
        for xid, since in self._xids:
            for uuid, gpu in self._known.meant(xid, devices):
                self._marks.set(uuid, xid.number, since, gpu=gpu)
        self._xids.clear()
        self._marks.settle(devices)

    def _judged(self, device: Device, now: datetime) -> Judged:
        known = self._known.learn(device, now)
        if known is None:
            # One that NVML calls lost is a GPU all the same; what one is that it cannot read, nobody knows.
            return Judged(
                uuid=device.uuid,
                index=device.index,
                finding=self._unknown_finding(device, now),
                is_counted=device.is_gone,
            )
        finding = self._finding(known, now)
        mig_findings = {} if finding is not None else dict(self._mig_findings(known.layout))
        return Judged(
            uuid=device.uuid, index=device.index, finding=finding, layout=known.layout, mig_findings=mig_findings
        )

    def _unknown_finding(self, device: Device, now: datetime) -> Finding:
        """Of a GPU that this process never could read."""
        key = device.index if device.uuid is None else device.uuid
        mark = self._marks.get(device.uuid)
        if mark is not None and not device.is_gone:
            return self._since(key, mark.reason, mark.since)
        return self._since(key, error_reason(device.error), time_text(now))

    def _finding(self, known: KnownGPU, now: datetime) -> Finding | None:
        """The first reason that holds; None for a healthy GPU."""
        uuid = known.layout.uuid or ""
        return next((self._since(uuid, *reason) for reason in self._reasons(known, now)), None)

    def _reasons(self, known: KnownGPU, now: datetime) -> Iterator[tuple[str, str]]:
        """Every reason that holds, in the order of the module's text, and since when it is known by itself."""
        layout = known.layout
        if known.gone is not None:
            yield known.gone, time_text(now)
        if (mark := self._marks.get(layout.uuid)) is not None:
            yield mark.reason, mark.since
        if self._checks.recovery and layout.recovery_action is not None:
            action = _RECOVERY.get(layout.recovery_action, UnhealthyReason.DRAIN_REQUIRED)
            if action is not None:
                yield action, time_text(now)
        if self._checks.row_remap and layout.row_remap_failed:
            yield UnhealthyReason.ROW_REMAP_FAILED, time_text(now)
        if known.unread_since is not None and now - known.unread_since >= self._grace:
            yield UnhealthyReason.UNREADABLE, time_text(known.unread_since)

    def _mig_findings(self, layout: Device) -> Iterator[tuple[str, Finding]]:
        for mig in layout.mig_devices:
            if (mark := self._marks.get(mig.uuid)) is not None:
                yield mig.uuid, self._since(mig.uuid, mark.reason, mark.since)

    def _removed(self, there: set[str | None], now: datetime) -> Iterator[Judged]:
        for uuid in self._remembered():
            if uuid not in there:
                finding = self._since(uuid, UnhealthyReason.REMOVED, time_text(now))
                yield Judged(uuid=uuid, finding=finding, is_counted=False)

    def _since(self, key: str | int, reason: str, since: str) -> Finding:
        """The reason; since when it is told, if it is not new."""
        told = self._told.get(key)
        return told if told is not None and told.reason == reason else Finding(reason, since)


def _told(unhealthy: Iterable[UnhealthyDevice]) -> dict[str | int, Finding]:
    return {
        key: Finding(device.reason, device.since)
        for device in unhealthy
        if (key := device.uuid or device.index) is not None
    }
