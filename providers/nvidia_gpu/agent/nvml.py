"""One reading of all GPUs by NVML. Nothing here asks about processes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, Final

import structlog

from providers.nvidia_gpu.agent.devices import (
    FUNCTION_NOT_FOUND,
    GPU_IS_LOST,
    NOT_FOUND,
    NOT_SUPPORTED,
    RESET_REQUIRED,
    UNKNOWN,
    Device,
    MigDevice,
    NodeUnreadable,
    Reading,
    call_failed,
    problem_reason,
)
from providers.nvidia_gpu.agent.profiles import profile_in, profile_of
from providers.nvidia_gpu.agent.sizes import cleaned
from providers.nvidia_gpu.agent.texts import gpu_uuid, mig_uuid, text_of, told_apart

_RECOVERY_ACTION: Final = 230
"""NVML_FI_DEV_GET_GPU_RECOVERY_ACTION, which older releases of pynvml have no name for."""
_MIB: Final = 1024 * 1024
_GONE: Final = frozenset({GPU_IS_LOST, RESET_REQUIRED})
_VALUES: Final = ("dVal", "uiVal", "ulVal", "ullVal", "sllVal", "siVal", "usVal")
"""The member of nvmlValue_t that holds the value, by nvmlValueType_t."""

_log = structlog.get_logger(__name__)


class Nvml:
    """NVML through `pynvml`. Every call may hang for as long as the driver does, so none is made in the loop.

    The library is never unloaded and NVML never shut down: both end with the process.
    """

    def __init__(self, library: Any) -> None:
        """`library`: the module pynvml."""
        self._nvml = library
        self._is_open = False
        self._oddities = set[tuple[int, str]]()
        """What the log has told: which errors that nobody expects, of which GPUs."""

    def open(self) -> None:
        """Loads the library and begins; once that has succeeded, it does nothing. Raises NodeUnreadable."""
        if not self._is_open:
            self._of_node(self._nvml.nvmlInit)
            self._is_open = True

    def read(self) -> Reading:
        """All GPUs as they are now; opens NVML where that has not been done yet.

        Raises NodeUnreadable where it is not one GPU that cannot be read but the whole node. What becomes of one GPU
        is in its Device. Any other error is a mistake, of the library or of the agent.
        """
        self.open()
        version = self._of_node(self._nvml.nvmlSystemGetDriverVersion, is_text=True)
        # Counts those too whose handles cannot be had.
        count = int(self._of_node(self._nvml.nvmlDeviceGetCount))
        return Reading(version, told_apart([self._device(index) for index in range(count)]))

    def _of_node(self, function: Callable[[], Any], *, is_text: bool = False) -> Any:
        try:
            return text_of(function) if is_text else function()
        except self._nvml.NVMLError as error:
            code = int(error.value)
            raise NodeUnreadable(
                problem_reason(code),
                call_failed(function.__name__, text_of(str, error), code),
                # pynvml tries to load it again, but never loads it twice, and remembers which functions it has.
                needs_restart=self._nvml.nvmlLib is not None,
            ) from error

    def _device(self, index: int) -> Device:
        uuid: str | None = None
        try:
            handle = self._nvml.nvmlDeviceGetHandleByIndex(index)
            text = text_of(self._nvml.nvmlDeviceGetUUID, handle)
            uuid = gpu_uuid(text)
            device = self._read(index, uuid, handle)
        except self._nvml.NVMLError as error:
            return Device(index, uuid, error=int(error.value), error_text=text_of(str, error))
        except Exception as error:  # noqa: BLE001 - the other GPUs are none the worse for it
            kind = type(error).__name__
            words = cleaned(f"{kind}: {error}")
            if (index, kind) not in self._oddities:
                self._oddities.add((index, kind))
                _log.warning("GPU cannot be read in a way that nobody expects", index=index, uuid=uuid, exc_info=True)
            return Device(index, uuid, error=UNKNOWN, error_text=words)
        return device if uuid is not None else replace(device, odd_uuid=text)

    def _read(self, index: int, uuid: str | None, handle: Any) -> Device:
        """Raises NVMLError where the GPU is gone, or nobody can say what it is cut into."""
        # The UUID and the name of a lost GPU may be known to the library still. Its memory is not.
        memory = self._asked(self._nvml.nvmlDeviceGetMemoryInfo, handle)
        mig_enabled = self._has_mig_enabled(handle)
        # With MIG on, no GPU of any driver supports it.
        rows = None if mig_enabled else self._asked(self._nvml.nvmlDeviceGetRemappedRows, handle)
        return Device(
            index,
            uuid,
            product=self._name(handle),
            mig_enabled=mig_enabled,
            mig_devices=self._mig_devices(handle, memory) if mig_enabled else (),
            recovery_action=self._recovery_action(handle),
            row_remap_pending=bool(rows[2]) if rows is not None else None,
            row_remap_failed=bool(rows[3]) if rows is not None else None,
        )

    def _name(self, handle: Any) -> str:
        return str(self._asked(text_of, self._nvml.nvmlDeviceGetName, handle) or "")

    def _asked(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """What it returns, or None where this GPU or this driver does not know it: unknown is not unhealthy.

        Raises NVMLError where the GPU is gone.
        """
        try:
            return function(*arguments)
        except self._nvml.NVMLError as error:
            if error.value in _GONE:
                raise
            return None

    def _recovery_action(self, handle: Any) -> int | None:
        values = self._asked(self._nvml.nvmlDeviceGetFieldValues, handle, [_RECOVERY_ACTION])
        if values is None:
            return None
        (field,) = values
        if field.nvmlReturn in _GONE:
            raise self._nvml.NVMLError(field.nvmlReturn)
        if field.nvmlReturn != self._nvml.NVML_SUCCESS or not 0 <= field.valueType < len(_VALUES):
            return None
        return int(getattr(field.value, _VALUES[field.valueType]))

    def _has_mig_enabled(self, handle: Any) -> bool:
        try:
            current, _ = self._nvml.nvmlDeviceGetMigMode(handle)
        except self._nvml.NVMLError as error:
            if error.value in {NOT_SUPPORTED, FUNCTION_NOT_FOUND}:
                return False
            raise
        return bool(current == self._nvml.NVML_DEVICE_MIG_ENABLE)

    def _mig_devices(self, handle: Any, memory: Any) -> tuple[MigDevice, ...]:
        """Those that are there; the indices of others are free."""
        found = []
        for index in range(self._nvml.nvmlDeviceGetMaxMigDeviceCount(handle)):
            try:
                device = self._nvml.nvmlDeviceGetMigDeviceHandleByIndex(handle, index)
                found.append(self._mig_device(device, memory))
            except self._nvml.NVMLError as error:
                if error.value != NOT_FOUND:
                    raise
        return tuple(found)

    def _mig_device(self, device: Any, memory: Any) -> MigDevice:
        uuid = mig_uuid(text_of(self._nvml.nvmlDeviceGetUUID, device))
        profile = profile_in(self._name(device))
        if profile is None:
            attributes = self._nvml.nvmlDeviceGetAttributes(device)
            profile = profile_of(
                gpu_slices=int(attributes.gpuInstanceSliceCount),
                compute_slices=int(attributes.computeInstanceSliceCount),
                memory_mib=int(attributes.memorySizeMB),
                gpu_memory_mib=int(memory.total) // _MIB if memory is not None else None,
            )
        return MigDevice(
            uuid,
            profile,
            gpu_instance=self._asked(self._nvml.nvmlDeviceGetGpuInstanceId, device),
            compute_instance=self._asked(self._nvml.nvmlDeviceGetComputeInstanceId, device),
        )
