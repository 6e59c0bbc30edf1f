"""Readings of a node, and what becomes of them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from kueue_dqo.api.gpu import GPUInventory
from providers.nvidia_gpu.agent.checks import Checks
from providers.nvidia_gpu.agent.devices import Device, MigDevice, Reading
from providers.nvidia_gpu.agent.health import Health

NOON = datetime(2026, 12, 24, 12, tzinfo=UTC)
SINCE_NOON = "2026-12-24T12:00:00Z"
SINCE_ONE = "2026-12-24T13:00:00Z"
HOUR = timedelta(hours=1)
MINUTE = timedelta(minutes=1)
GRACE = timedelta(minutes=10)
HEARTBEAT = timedelta(minutes=5)
DRIVER = "580.95.05"
BOOT = "6a1f2e0c-0000-4000-8000-000000000001"
H100 = "NVIDIA H100 80GB HBM3"
LOST, RESET, ODD = 15, 16, 999


def gpu(number: int, *, index: int | None = None, **changes: Any) -> Device:
    """GPU-<number>, healthy unless told otherwise."""
    return Device(number if index is None else index, f"GPU-{number}", **{"product": H100, **changes})


def nameless(index: int, error: int) -> Device:
    """One of which even the UUID could not be read."""
    return Device(index, None, error=error, error_text="it failed")


def slices(number: int, *profiles: str, **changes: Any) -> Device:
    """GPU-<number> with MIG on: MIG-<number>-<position> in GPU instance position, compute instance 0."""
    migs = tuple(
        MigDevice(f"MIG-{number}-{position}", profile, gpu_instance=position, compute_instance=0)
        for position, profile in enumerate(profiles)
    )
    return gpu(number, mig_enabled=True, mig_devices=migs, **changes)


def reading(*devices: Device, driver: str = DRIVER) -> Reading:
    return Reading(driver, devices)


def node(count: int, **errors: int) -> Reading:
    """GPU-0 and following; `gpu_3=15` has an error, its UUID readable."""
    return reading(*(gpu(number, error=errors.get(f"gpu_{number}")) for number in range(count)))


def health(checks: Checks | None = None, *, boot: str = BOOT, resumed: GPUInventory | None = None) -> Health:
    made = Health(Checks() if checks is None else checks, unknown_grace=GRACE, boot_id=boot)
    made.resume(resumed)
    return made


def judged(made: Health, seen: Reading, now: datetime = NOON) -> GPUInventory:
    return made.judge(seen, now, heartbeat=HEARTBEAT)


def counts(inventory: GPUInventory) -> dict[str, tuple[int, int]]:
    """Healthy and unhealthy by the resource without its domain."""
    return {each.name.removeprefix("nvidia.com/"): (each.healthy, each.unhealthy) for each in inventory.devices}


def listed(inventory: GPUInventory) -> dict[str | int | None, tuple[str, str]]:
    """Reason and since by UUID, or by index."""
    return {each.uuid or each.index: (each.reason, each.since) for each in inventory.unhealthy}


def reasons(inventory: GPUInventory) -> dict[str | int | None, str]:
    return {key: reason for key, (reason, _) in listed(inventory).items()}
