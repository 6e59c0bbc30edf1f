"""Why a GPU is unhealthy, and since when that is told. Pure.

Where several reasons hold, the first of these is told: `Lost` and `ResetRequired` as the end of a call, which are the
most that NVML can say; an XID; the recovery action; a failed row remapping; `Unreadable`, which says only that nobody
knows.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime, timedelta
from typing import Final

from kueue_dqo.api.gpu import UnhealthyDevice, UnhealthyReason
from kueue_dqo.api.meta import time_text
from providers.nvidia_gpu.agent.checks import Checks
from providers.nvidia_gpu.agent.counting import Finding
from providers.nvidia_gpu.agent.known import KnownGPU
from providers.nvidia_gpu.agent.marks import MIG_UUID_PREFIX, Mark

_RECOVERY: Final[Mapping[int, UnhealthyReason | None]] = {
    0: None,
    1: UnhealthyReason.RESET_REQUIRED,  # GPU_RESET
    2: UnhealthyReason.REBOOT_REQUIRED,  # NODE_REBOOT
    5: UnhealthyReason.IMEX_RECOVERY_REQUIRED,  # RECOVER_IMEX_DOMAIN
    6: UnhealthyReason.RESET_REQUIRED,  # BUS_RESET
    7: UnhealthyReason.REBOOT_REQUIRED,  # SYSTEM_REBOOT
}
"""By nvmlDeviceGpuRecoveryAction_t. With any other one, those of later drivers included, the GPU is to be drained."""


def reasons_of(
    known: KnownGPU, *, mark: Mark | None, checks: Checks, unknown_grace: timedelta, now: datetime
) -> Iterator[tuple[str, str]]:
    """Every reason that holds, in the order of the module's text, and since when it is known by itself."""
    layout = known.layout
    if known.gone is not None:
        yield known.gone, time_text(now)
    if mark is not None:
        yield mark.reason, mark.since
    if checks.recovery and layout.recovery_action is not None:
        action = _RECOVERY.get(layout.recovery_action, UnhealthyReason.DRAIN_REQUIRED)
        if action is not None:
            yield action, time_text(now)
    if checks.row_remap and layout.row_remap_failed:
        yield UnhealthyReason.ROW_REMAP_FAILED, time_text(now)
    if known.unread_since is not None and now - known.unread_since >= unknown_grace:
        yield UnhealthyReason.UNREADABLE, time_text(known.unread_since)


class Told:
    """What an inventory says of unhealthy devices, by UUID, or by index of a GPU without one."""

    def __init__(self, unhealthy: Iterable[UnhealthyDevice] = ()) -> None:
        self._findings = {
            key: Finding(device.reason, device.since)
            for device in unhealthy
            if (key := device.uuid or device.index) is not None
        }

    def __contains__(self, key: str | int) -> bool:
        return key in self._findings

    def gpus(self) -> dict[str, str]:
        """The reasons of GPUs, by UUID."""
        return {
            key: finding.reason
            for key, finding in self._findings.items()
            if isinstance(key, str) and not key.startswith(MIG_UUID_PREFIX)
        }

    def since(self, key: str | int, reason: str, since: str) -> Finding:
        """The reason; since when it is told, if it is not new."""
        told = self._findings.get(key)
        return told if told is not None and told.reason == reason else Finding(reason, since)
