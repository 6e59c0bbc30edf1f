"""Which GPU one without a UUID is: a lost GPU often cannot even say that. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from kueue_dqo.api.gpu import UnhealthyReason
from providers.nvidia_gpu.agent.devices import GPU_IS_LOST, RESET_REQUIRED, Device


def error_reason(error: int | None) -> UnhealthyReason:
    """What a GPU is called that cannot be read for this code."""
    if error == GPU_IS_LOST:
        return UnhealthyReason.LOST
    return UnhealthyReason.RESET_REQUIRED if error == RESET_REQUIRED else UnhealthyReason.UNREADABLE


def identified(
    devices: Sequence[Device], *, at: Mapping[int, str], remembered: Mapping[str, str | None]
) -> tuple[Device, ...]:
    """The devices, with the UUID of one that was known before where it can be told.

    `at`: which UUID had which index in the poll before. `remembered`: every UUID of a GPU that is known, and why it was
    unhealthy. Only UUIDs that no device of this poll has come into question, and none that was removed: one that was
    taken out is not lost. In this order:

    1. the one that had the same index;
    2. those that were unhealthy for the same reason, as a report that an earlier process wrote does not tell indexes;
    3. whichever are left, where they are not more than the devices that nobody could name. Otherwise one of them may as
       well have been removed, and guessing would accuse the wrong GPU.

    Only the first is for a device that can be read, and has just no UUID of its own.
    """
    there = {device.uuid for device in devices}
    missing = {uuid for uuid, reason in remembered.items() if reason != UnhealthyReason.REMOVED and uuid not in there}
    nameless = {device.index: device for device in devices if device.uuid is None}
    names = dict[int, str]()

    def name(index: int, uuid: str) -> None:
        names[index] = uuid
        missing.discard(uuid)
        nameless.pop(index)

    for index in sorted(nameless):
        if (uuid := at.get(index)) in missing:
            name(index, uuid)
    nameless = {index: device for index, device in nameless.items() if device.error is not None}
    for index, device in sorted(nameless.items()):
        alike = [uuid for uuid in missing if remembered[uuid] == error_reason(device.error)]
        if alike:
            name(index, min(alike))
    if len(missing) <= len(nameless):
        for index, uuid in zip(sorted(nameless), sorted(missing), strict=False):
            name(index, uuid)
    return tuple(replace(device, uuid=names[device.index]) if device.index in names else device for device in devices)
