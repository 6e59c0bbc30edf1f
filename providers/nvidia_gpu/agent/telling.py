"""Lines of the log for what has changed on the node: one for each device."""

from __future__ import annotations

from collections.abc import Iterable

import structlog

from kueue_dqo.api.gpu import GPUInventory, UnhealthyDevice
from providers.nvidia_gpu.agent.devices import Device

_log = structlog.get_logger(__name__)


def tell_changes(before: GPUInventory | None, now: GPUInventory) -> None:
    """What the inventory says that the last one did not."""
    old = _by_device(before.unhealthy if before is not None else ())
    new = _by_device(now.unhealthy)
    for device, found in new.items():
        if device not in old or old[device].reason != found.reason:
            _log.warning("device is unhealthy", device=device, reason=found.reason, since=found.since)
    for device, gone in old.items():
        if device not in new:
            _log.info("device is not unhealthy any more", device=device, reason=gone.reason, since=gone.since)
    if before is None or _counts(before) != _counts(now):
        _log.info(
            "devices of the node",
            gpus=now.gpus,
            mig_gpus=now.mig_gpus,
            devices={each.name: f"{each.healthy} healthy, {each.unhealthy} unhealthy" for each in now.devices},
            product=now.product,
            driver_version=now.driver_version,
        )


def tell_errors(before: Iterable[Device], now: Iterable[Device]) -> None:
    """What NVML answers of GPUs that it cannot read, where it answered something else before."""
    old = {(each.uuid or each.index, each.error) for each in before}
    for each in now:
        if each.error is not None and (each.uuid or each.index, each.error) not in old:
            _log.warning("GPU cannot be read", index=each.index, uuid=each.uuid, error=each.error_text, code=each.error)


def tell_odd_uuids(before: Iterable[Device], now: Iterable[Device]) -> None:
    """GPUs that can be told by their indexes only."""
    old = {(each.index, each.odd_uuid) for each in before}
    for each in now:
        if each.odd_uuid is not None and (each.index, each.odd_uuid) not in old:
            _log.warning(
                "GPU has no UUID of its own, it is told by its index, and XIDs of it are not",
                index=each.index,
                uuid=each.odd_uuid,
            )


def tell_row_remaps(before: Iterable[str], now: Iterable[str]) -> None:
    """GPUs, by UUID, that want a reset to finish a row remapping."""
    for uuid in sorted(set(now) - set(before)):
        _log.warning("row remapping is pending, the GPU is healthy but wants a reset", device=uuid)
    for uuid in sorted(set(before) - set(now)):
        _log.info("row remapping is not pending any more", device=uuid)


def _by_device(unhealthy: Iterable[UnhealthyDevice]) -> dict[str, UnhealthyDevice]:
    return {each.uuid or f"index {each.index}": each for each in unhealthy}


def _counts(inventory: GPUInventory) -> tuple[object, ...]:
    return inventory.gpus, inventory.mig_gpus, inventory.devices, inventory.product, inventory.driver_version
