"""NVML libraries that tests only read from: the test double, and the machine's own where it has a GPU.

A test that takes its expectation from what a library itself says runs with each of them. On a machine without a driver,
or without a GPU, there is nothing but the test double, and nothing to skip.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from functools import cache
from typing import Any, Final, NamedTuple

from tests.nvml.asking import Asker, NvmlFailed

SHIM: Final = "shim"
REAL: Final = "real driver"
_NOT_FOUND: Final = 6


class Facts(NamedTuple):
    """What a library says of a node whose GPUs are all well, in plain calls."""

    driver: str
    gpus: int
    mig_gpus: int
    products: Counter[str]
    mig_names: Counter[str]
    """The names of MIG devices, which end in their profiles."""


def drivers() -> list[str]:
    """Those of this machine."""
    return [SHIM, REAL] if _has_real_driver() else [SHIM]


@cache
def _has_real_driver() -> bool:
    try:
        return facts({}).gpus > 0
    except NvmlFailed:
        return False


def facts(environment: Mapping[str, str]) -> Facts:
    """What the library says that a process with this environment loads. Raises NvmlFailed."""
    with Asker(environment) as asker:
        asker.ask("nvmlInit")
        handles = [asker.gpu(index) for index in range(asker.ask("nvmlDeviceGetCount"))]
        cut = [handle for handle in handles if _has_mig(asker, handle)]
        return Facts(
            driver=asker.ask("nvmlSystemGetDriverVersion"),
            gpus=len(handles),
            mig_gpus=len(cut),
            products=Counter(asker.ask("nvmlDeviceGetName", handle) for handle in handles),
            mig_names=Counter(
                asker.ask("nvmlDeviceGetName", device) for handle in cut for device in _mig_devices(asker, handle)
            ),
        )


def _has_mig(asker: Asker, handle: Any) -> bool:
    try:
        now, _ = asker.ask("nvmlDeviceGetMigMode", handle)
    except NvmlFailed:
        return False
    return bool(now)


def _mig_devices(asker: Asker, handle: Any) -> list[Any]:
    found = []
    for slot in range(asker.ask("nvmlDeviceGetMaxMigDeviceCount", handle)):
        try:
            found.append(asker.ask("nvmlDeviceGetMigDeviceHandleByIndex", handle, slot))
        except NvmlFailed as failed:
            if failed.code != _NOT_FOUND:
                raise
    return found
