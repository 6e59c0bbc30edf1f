"""The words of NVML, made such that the definition of reports takes them. Pure.

A driver may give anything: one odd name must not cost the report of a whole node.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from kueue_dqo.api.gpu_checks import UUID
from providers.nvidia_gpu.agent.devices import Device
from providers.nvidia_gpu.agent.marks import MIG_UUID_PREFIX
from providers.nvidia_gpu.agent.sizes import cleaned


def text_of(function: Callable[..., Any], *arguments: Any) -> str:
    """The text that a function of `pynvml` returns, cleaned, also where it is not UTF-8.

    Raises what else the function raises.
    """
    try:
        text = str(function(*arguments))
    except UnicodeDecodeError as error:
        text = error.object.decode(error.encoding, errors="replace")
    return cleaned(text)


def gpu_uuid(text: str) -> str | None:
    """The text where it can be the UUID of a GPU: `GPU-…`, or bare as integrated GPUs give it. Else None."""
    return text if text and UUID.fits(text) and not text.startswith(MIG_UUID_PREFIX) else None


def mig_uuid(text: str) -> str:
    """The text where it can be the UUID of a MIG device. Else empty: it is counted, and cannot be told from others."""
    return text if UUID.fits(text) and text.startswith(MIG_UUID_PREFIX) else ""


def told_apart(devices: Sequence[Device]) -> tuple[Device, ...]:
    """The devices, none of which has the UUID of another: those that share one are as those that have none."""
    times = Counter(device.uuid for device in devices)
    times.update(mig.uuid for device in devices for mig in device.mig_devices)

    def own(device: Device) -> Device:
        migs = tuple(mig if times[mig.uuid] == 1 else mig._replace(uuid="") for mig in device.mig_devices)
        if device.uuid is None or times[device.uuid] == 1:
            return replace(device, mig_devices=migs)
        return replace(device, mig_devices=migs, uuid=None, odd_uuid=device.uuid)

    return tuple(map(own, devices))
