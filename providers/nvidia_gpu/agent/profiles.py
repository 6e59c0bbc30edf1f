"""Profiles of MIG devices as the names of resources have them: `1g.10gb`, `1c.3g.20gb`, `1g.10gb.me`. Pure."""

from __future__ import annotations

import re
from typing import Final

from kueue_dqo.api.gpu import MIG_PREFIX
from kueue_dqo.api.gpu_checks import REPORTED

_NUMBER: Final = "[0-9]{1,5}"
_IN_NAME: Final = re.compile(rf"\bMIG ((?:{_NUMBER}c\.)?{_NUMBER}g\.{_NUMBER}gb)(\S*)$")
_NOT_IN_RESOURCES: Final = re.compile(r"[^A-Za-z0-9-]+")
_DOTS: Final = re.compile(r"-*\.[-.]*")
_LONGEST: Final = REPORTED.longest - len(MIG_PREFIX)
_MIB_IN_GIB: Final = 1024
_EIGHTHS: Final = 8
"""Of a GPU's memory: what instances are cut by."""


def profile_in(name: str) -> str | None:
    """The profile at the end of the name that NVML gives a MIG device; None where there is none.

    The device plugin writes `nvidia.com/mig-1g.10gb.me` for `MIG 1g.10gb+me`. Whatever the driver appends, this makes
    the name of a resource.
    """
    found = _IN_NAME.search(name)
    if found is None:
        return None
    suffix = _DOTS.sub(".", _NOT_IN_RESOURCES.sub(".", found[2]))
    return (found[1] + suffix)[:_LONGEST].rstrip("-.")


def profile_of(*, gpu_slices: int, compute_slices: int, memory_mib: int, gpu_memory_mib: int | None) -> str:
    """The profile that the attributes of a MIG device come to. What a `+me` would say is not among them.

    The number of gigabytes in a profile is not what the device has, which is a little less: it is a whole number of
    eighths of the GPU's memory. Where that is not known, the device's own memory is rounded up.
    """
    if gpu_memory_mib:
        eighths = max(1, round(_EIGHTHS * memory_mib / gpu_memory_mib))
        gigabytes = round(eighths * -(-gpu_memory_mib // _MIB_IN_GIB) / _EIGHTHS)
    else:
        gigabytes = -(-memory_mib // _MIB_IN_GIB)
    part = "" if compute_slices == gpu_slices else f"{compute_slices}c."
    return f"{part}{gpu_slices}g.{gigabytes}gb"
