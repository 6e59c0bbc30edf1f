"""From readings and XIDs to the inventory of the node; what is remembered between polls. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta

from kueue_dqo.api.gpu import GPUInventory, UnhealthyReason
from kueue_dqo.api.meta import time_text
from providers.nvidia_gpu.agent.checks import Checks
from providers.nvidia_gpu.agent.counting import Finding, Judged, layouts_left, tally
from providers.nvidia_gpu.agent.devices import Device, Reading, Xid
from providers.nvidia_gpu.agent.known import KnownGPU, KnownGPUs
from providers.nvidia_gpu.agent.marks import Marks
from providers.nvidia_gpu.agent.reasons import Told, reasons_of
from providers.nvidia_gpu.agent.sizes import DRIVER_VERSION_ROOM, cut
from providers.nvidia_gpu.agent.uuids import error_reason, identified


class Health:
    """Not for several threads: readings and XIDs come from one."""

    def __init__(self, checks: Checks, *, unknown_grace: timedelta, boot_id: str = "") -> None:
        """`unknown_grace`: how long a GPU that was readable keeps its state while nobody knows how it is."""
        self._checks = checks
        self._grace = unknown_grace
        self._boot_id = boot_id
        self._resumed: GPUInventory | None = None
        self._xids: dict[Xid, str] = {}
        """Not judged yet, and when each was told first: one that comes a thousand times is one."""
        self._driver_version: str | None = None
        self._known = KnownGPUs()
        self._marks = Marks()
        self._told = Told()
        """What the last inventory said."""
        self._indexes: dict[int, str] = {}
        """The UUIDs of the last reading."""
        self._product = ""
        self._before: GPUInventory | None = None
        """What an earlier process counted, with this boot and driver."""
        self._began: datetime | None = None
        """When this process read for the first time, with this driver."""

    def resume(self, inventory: GPUInventory | None) -> None:
        """What the node's report said last. Before the first `judge`; of another boot or driver it means nothing."""
        if inventory is not None and self._boot_id and inventory.boot_id == self._boot_id:
            self._resumed = inventory

    def note(self, xid: Xid, now: datetime) -> bool:
        """Whether the XID counts; then it marks its device in the next `judge`."""
        if not self._checks.xid(xid.number):
            return False
        self._xids.setdefault(xid, time_text(now))
        return True

    def is_hint(self, xid: Xid) -> bool:
        """Whether the XID marks nothing, but says that a reading may have changed."""
        return self._checks.is_hint(xid.number)

    def judge(self, reading: Reading, now: datetime, *, heartbeat: timedelta) -> GPUInventory:
        """The inventory as of this reading; `heartbeat` is what it promises.

        Raises NodeUnreadable where nobody can tell how the node is, and remembers nothing of the reading then.
        """
        reading.demand_readable()
        driver_version = cut(reading.driver_version, DRIVER_VERSION_ROOM)
        self._begin(driver_version, now)
        devices = identified(reading.devices, at=self._indexes, remembered=self._remembered())
        self._mark(devices)
        gpus = self._all_judged(devices, now)
        gpus.extend(self._removed({device.uuid for device in devices}, now))
        result = tally(gpus)
        self._indexes = {device.index: device.uuid for device in devices if device.uuid is not None}
        self._told = Told(result.unhealthy)
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

    def _begin(self, driver_version: str, now: datetime) -> None:
        """With another driver everything begins anew, but for what the report of an earlier process says about it."""
        if driver_version == self._driver_version:
            return
        resumed = self._resumed
        self._resumed = None
        self._driver_version = driver_version
        self._known = KnownGPUs()
        self._marks = Marks()
        self._told = Told()
        self._indexes = {}
        self._product = ""
        self._before = None
        self._began = now
        if resumed is not None and resumed.driver_version == driver_version:
            self._marks.take_over(resumed.unhealthy, self._checks)
            self._told = Told(resumed.unhealthy)
            self._product = resumed.product
            self._before = resumed

    def _remembered(self) -> dict[str, str | None]:
        """Every GPU whose UUID is known, and why it was unhealthy, if it was."""
        remembered: dict[str, str | None] = dict.fromkeys(self._known)
        return remembered | self._told.gpus()

    def _mark(self, devices: tuple[Device, ...]) -> None:
        for xid, since in self._xids.items():
            for uuid, gpu in self._known.meant(xid, devices):
                self._marks.set(uuid, xid.number, since, gpu=gpu)
        self._xids.clear()
        self._marks.settle(devices)

    def _all_judged(self, devices: tuple[Device, ...], now: datetime) -> list[Judged]:
        """Those that an earlier process counted as healthy, and that this one never could read, keep that for a while.

        A report does not tell the UUIDs of healthy GPUs, only how many there are: as many as are not accounted for.
        """
        known = self._known.learn_all(devices, now)
        blind = [device for device, found in known.items() if found is None and not device.is_gone]
        held = self._held(devices, blind, now)
        gpus = [self._judged(device, known[device], now) for device in devices if device not in held]
        if held and self._before is not None:
            left = layouts_left(self._before.devices, gpus)
            gpus.extend(Judged(uuid=each.uuid, index=each.index, finding=None, layout=next(left)) for each in held)
        return gpus

    def _held(self, devices: tuple[Device, ...], blind: list[Device], now: datetime) -> list[Device]:
        if self._before is None or self._began is None or now - self._began >= self._grace:
            return []
        ill = Told(self._before.unhealthy)
        others = sum(device not in blind and device.key not in ill for device in devices)
        return [device for device in blind if device.key not in ill][: max(0, self._before.gpus - others)]

    def _judged(self, device: Device, known: KnownGPU | None, now: datetime) -> Judged:
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
        key = device.key
        mark = self._marks.get(device.uuid)
        if mark is not None and not device.is_gone:
            return self._told.since(key, mark.reason, mark.since)
        return self._told.since(key, error_reason(device.error), time_text(now))

    def _finding(self, known: KnownGPU, now: datetime) -> Finding | None:
        """The first reason that holds; None for a healthy GPU."""
        key, mark = known.layout.key, self._marks.get(known.layout.uuid)
        reasons = reasons_of(known, mark=mark, checks=self._checks, unknown_grace=self._grace, now=now)
        return next((self._told.since(key, *reason) for reason in reasons), None)

    def _mig_findings(self, layout: Device) -> Iterator[tuple[str, Finding]]:
        for mig in layout.mig_devices:
            if (mark := self._marks.get(mig.uuid)) is not None:
                yield mig.uuid, self._told.since(mig.uuid, mark.reason, mark.since)

    def _removed(self, there: set[str | None], now: datetime) -> Iterator[Judged]:
        for uuid in self._remembered():
            if uuid not in there:
                finding = self._told.since(uuid, UnhealthyReason.REMOVED, time_text(now))
                yield Judged(uuid=uuid, finding=finding, is_counted=False)
