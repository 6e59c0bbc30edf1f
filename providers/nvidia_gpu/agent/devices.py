"""What NVML said in one poll, as plain values; the codes and reasons of its errors. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, NamedTuple

from kueue_dqo.api.gpu import NO_DEVICES
from providers.nvidia_gpu.agent.sizes import MESSAGE_ROOM, cleaned, cut, encoded_size

# The return codes of NVML (nvmlReturn_t in nvml.h) that mean something here; they never change.
NOT_SUPPORTED: Final = 3
NO_PERMISSION: Final = 4
NOT_FOUND: Final = 6
DRIVER_NOT_LOADED: Final = 9
TIMEOUT: Final = 10
LIBRARY_NOT_FOUND: Final = 12
FUNCTION_NOT_FOUND: Final = 13
GPU_IS_LOST: Final = 15
RESET_REQUIRED: Final = 16
LIB_RM_VERSION_MISMATCH: Final = 18
UNKNOWN: Final = 999

NVML_ERROR: Final = "NVMLError"
DRIVER_CALL_HUNG: Final = "DriverCallHung"
_REASONS: Final[Mapping[int, str]] = {
    LIBRARY_NOT_FOUND: "LibraryNotFound",
    DRIVER_NOT_LOADED: "DriverNotLoaded",
    NO_PERMISSION: "NoPermission",
    LIB_RM_VERSION_MISMATCH: "VersionMismatch",
}
_WAYS_OUT: Final[Mapping[int, str]] = {
    LIBRARY_NOT_FOUND: "libnvidia-ml.so.1 is not in the pod: use the runtimeClass nvidia, or the component "
    "nvidia-gpu-hostpath",
    DRIVER_NOT_LOADED: "the kernel module is not loaded: see nvidia-smi and dmesg on the node",
    NO_PERMISSION: "use runtimeClass nvidia and NVIDIA_VISIBLE_DEVICES=all, or component nvidia-gpu-privileged",
    LIB_RM_VERSION_MISMATCH: "finish the upgrade: reload the module, or reboot",
}
_OTHERWISE: Final = "see nvidia-smi and dmesg on the node"
_WAYS_OUT_OF_ALL: Final[Mapping[int, str]] = {
    DRIVER_NOT_LOADED: _WAYS_OUT[DRIVER_NOT_LOADED],
    LIB_RM_VERSION_MISMATCH: _WAYS_OUT[LIB_RM_VERSION_MISMATCH],
    NO_PERMISSION: "with MIG use the component nvidia-gpu-mig, else nvidia-gpu-privileged",
}
"""Where the library has begun, and no GPU can be read."""
_OTHERWISE_OF_ALL: Final = "the agent starts anew; if it stays, delete its pod"


def problem_reason(code: int) -> str:
    """The reason of a node's problem where a call that concerns the whole node ends in this code."""
    return _REASONS.get(code, NVML_ERROR)


def call_failed(function: str, text: str, code: int) -> str:
    """The message where such a call ends in this error; `text` is NVML's own."""
    return _message(f"{function}: ", text, f" (NVML error {code}); {_WAYS_OUT.get(code, _OTHERWISE)}")


def failed_otherwise(error: Exception) -> str:
    """The message where reading ends in what is no error of NVML."""
    return _message(f"{type(error).__name__}: ", str(error), "; the agent starts anew: if it stays, see its log")


def _message(before: str, text: str, after: str) -> str:
    """No longer than the report has room for, so that the way out is not cut off: rather the words of NVML are."""
    return before + cut(cleaned(text), MESSAGE_ROOM - encoded_size(before + after) + len('""')) + after


class NodeUnreadable(Exception):
    """Nobody knows how the node's GPUs are: the last inventory stands. Never a zero."""

    def __init__(self, reason: str, message: str, *, needs_restart: bool) -> None:
        """`needs_restart`: the library is loaded and keeps what it holds; only a new process may read again."""
        super().__init__(message)
        self.reason = reason
        self.message = message
        self.needs_restart = needs_restart


class MigDevice(NamedTuple):
    """A MIG device (compute instance) of a GPU."""

    uuid: str
    """`MIG-…`; empty where NVML gives none of its own."""
    profile: str
    """As resource names have it: `1g.10gb`, `1g.10gb.me`."""
    gpu_instance: int | None = None
    compute_instance: int | None = None


@dataclass(frozen=True, slots=True)
class Device:
    """A GPU as one poll saw it."""

    index: int
    """NVML's, of this poll."""
    uuid: str | None
    """Mostly `GPU-…`; None where not even that could be read, or where it is none of its own."""
    product: str = ""
    mig_enabled: bool = False
    mig_devices: tuple[MigDevice, ...] = ()
    recovery_action: int | None = None
    """nvmlDeviceGpuRecoveryAction_t; None: this GPU or driver has no such field."""
    row_remap_failed: bool | None = None
    """None: not supported, or not asked because MIG is on."""
    row_remap_pending: bool | None = None
    error: int | None = None
    """The code that reading this GPU ended in. Then only `index`, and `uuid` where it is there, mean something."""
    error_text: str = ""
    odd_uuid: str | None = None
    """What NVML gives as its UUID, where that is none, or is that of another GPU as well. Then it has no `uuid`."""

    @property
    def key(self) -> str | int:
        """What tells it from the others: the UUID, or else the index."""
        return self.index if self.uuid is None else self.uuid

    @property
    def is_gone(self) -> bool:
        """Whether NVML says that this GPU is lost or has to be reset, as opposed to nothing."""
        return self.error in {GPU_IS_LOST, RESET_REQUIRED}


class Reading(NamedTuple):
    """One poll of a whole node."""

    driver_version: str
    devices: tuple[Device, ...]

    def demand_readable(self) -> None:
        """Raises NodeUnreadable where no GPU can be read, though not all of them are lost; or where there is none.

        Then it is the agent that cannot see any more: a container may lose its access to all devices while they go on
        working, as after `systemctl daemon-reload` on the node, or never have had any. Agents run where GPUs are.
        """
        if not self.devices:
            raise NodeUnreadable(
                NO_DEVICES,
                "NVML lists no GPU: does the pod have NVIDIA_VISIBLE_DEVICES=all and the runtimeClass nvidia? Else see "
                "lspci and dmesg on the node",
                needs_restart=False,
            )
        unknown = [device for device in self.devices if device.error is not None and not device.is_gone]
        if not unknown or any(device.error is None for device in self.devices):
            return
        first = unknown[0]
        codes = {device.error or 0 for device in unknown}
        reasons = {problem_reason(code) for code in codes}
        way_out = _WAYS_OUT_OF_ALL.get(first.error or 0, _OTHERWISE_OF_ALL) if len(codes) == 1 else _OTHERWISE_OF_ALL
        raise NodeUnreadable(
            reasons.pop() if len(reasons) == 1 else NVML_ERROR,
            _message(
                f"none of {len(self.devices)} GPUs can be read; index {first.index}: ",
                first.error_text,
                f" (NVML error {first.error}); {way_out}",
            ),
            needs_restart=True,
        )


class Xid(NamedTuple):
    """An event of nvmlEventTypeXidCriticalError."""

    number: int
    uuid: str | None
    """The GPU's; None: NVML did not tell which, so it may be any."""
    gpu_instance: int | None = None
    """Of the MIG device; None where the event does not tell."""
    compute_instance: int | None = None
