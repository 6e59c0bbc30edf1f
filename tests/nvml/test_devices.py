"""Devices of the test double, as the unmodified `pynvml` sees them."""

from __future__ import annotations

import pytest

from tests.controlplane.processes import eventually
from tests.nvml.asking import Asker, NvmlFailed
from tests.nvml.devices import NOT_SUPPORTED, RECOVERY_ACTION, Gpu, Mig, gpus, uuid_of_gpu, uuid_of_mig
from tests.nvml.state import NvmlState

NOT_FOUND = 6
LOST = 15


def test_versions_and_devices_are_those_of_the_state(nvml: NvmlState, asker: Asker) -> None:
    """By index and by UUID."""
    nvml.gpus = gpus(2)
    nvml.write()
    assert asker.ask("nvmlSystemGetDriverVersion") == nvml.driver
    assert asker.ask("nvmlSystemGetNVMLVersion") == f"12.{nvml.driver}"
    assert asker.ask("nvmlDeviceGetCount") == 2
    handle = asker.gpu(1)
    assert asker.ask("nvmlDeviceGetUUID", handle) == uuid_of_gpu(1)
    assert asker.ask("nvmlDeviceGetName", handle) == "NVIDIA H100 80GB HBM3"
    assert asker.ask("nvmlDeviceGetIndex", handle) == 1
    pci = asker.ask("nvmlDeviceGetPciInfo", handle)
    assert (pci["busId"], pci["bus"], pci["busIdLegacy"]) == ("00000000:1A:00.0", 0x1A, "0000:1a:00.0")


@pytest.mark.parametrize("version", [None, 0x02000028])
def test_memory_has_two_layouts(nvml: NvmlState, asker: Asker, version: int | None) -> None:
    """Both are filled."""
    nvml.add(Gpu("GPU-a", memory_mib=1024))
    memory = asker.ask("nvmlDeviceGetMemoryInfo", asker.gpu(0), version)
    assert (memory["total"], memory["free"], memory["used"]) == (2**30, 2**30, 0)


def test_mig_devices_have_slots_with_gaps(nvml: NvmlState, asker: Asker) -> None:
    """A gap is not found. Each device tells its instances, its slices and its GPU."""
    nvml.gpus = [Gpu("GPU-a", mig=[Mig("1g.10gb"), Mig("1c.3g.40gb", slot=2, gpu_instance=3, compute_instance=1)])]
    nvml.write()
    gpu = asker.gpu(0)
    assert asker.ask("nvmlDeviceGetMigMode", gpu) == [1, 1]
    assert asker.ask("nvmlDeviceGetMaxMigDeviceCount", gpu) == 7
    first = asker.ask("nvmlDeviceGetMigDeviceHandleByIndex", gpu, 0)
    assert asker.ask("nvmlDeviceGetName", first) == "NVIDIA H100 80GB HBM3 MIG 1g.10gb"
    with pytest.raises(NvmlFailed, match=r"6$"):
        asker.ask("nvmlDeviceGetMigDeviceHandleByIndex", gpu, 1)
    second = asker.ask("nvmlDeviceGetMigDeviceHandleByIndex", gpu, 2)
    assert asker.ask("nvmlDeviceGetUUID", second) == uuid_of_mig("GPU-a", 2)
    assert asker.ask("nvmlDeviceGetGpuInstanceId", second) == 3
    assert asker.ask("nvmlDeviceGetComputeInstanceId", second) == 1
    assert asker.ask("nvmlDeviceIsMigDeviceHandle", second) == 1
    attributes = asker.ask("nvmlDeviceGetAttributes", second)
    slices = attributes["gpuInstanceSliceCount"], attributes["computeInstanceSliceCount"]
    assert (slices, attributes["memorySizeMB"]) == ((3, 1), 40960)
    parent = asker.ask("nvmlDeviceGetDeviceHandleFromMigDeviceHandle", second)
    assert asker.ask("nvmlDeviceGetUUID", parent) == "GPU-a"
    with pytest.raises(NvmlFailed, match=str(NOT_SUPPORTED)):
        asker.ask("nvmlDeviceGetRemappedRows", gpu)


def test_a_gpu_without_mig_says_so(nvml: NvmlState, asker: Asker) -> None:
    """As a T4 does; and one that could has it off."""
    nvml.gpus = [Gpu("GPU-a", mig_capable=False), Gpu("GPU-b")]
    nvml.write()
    with pytest.raises(NvmlFailed) as failed:
        asker.ask("nvmlDeviceGetMigMode", asker.gpu(0))
    assert failed.value.code == NOT_SUPPORTED
    assert asker.ask("nvmlDeviceGetMigMode", asker.gpu(1)) == [0, 0]


def test_rows_and_fields_are_told(nvml: NvmlState, asker: Asker) -> None:
    """Each field has a code of its own; one without a value is not supported."""
    nvml.gpus = [Gpu("GPU-a", remapped=(1, 2, True, False), fields={RECOVERY_ACTION: 2}, field_failures={7: 999})]
    nvml.write()
    gpu = asker.gpu(0)
    assert asker.ask("nvmlDeviceGetRemappedRows", gpu) == [1, 2, 1, 0]
    values = asker.ask("nvmlDeviceGetFieldValues", gpu, [RECOVERY_ACTION, 7, 8])
    assert [each["nvmlReturn"] for each in values] == [0, 999, NOT_SUPPORTED]
    assert (values[0]["value"], values[0]["valueType"]) == (2, 1)


@pytest.mark.parametrize("handle", [False, True], ids=["no handle", "a handle"])
def test_a_lost_gpu_is_counted_and_answers_nothing(nvml: NvmlState, asker: Asker, handle: bool) -> None:
    """The others go on answering."""
    nvml.gpus = gpus(2)
    nvml.lose(0, handle=handle)
    assert asker.ask("nvmlDeviceGetCount") == 2
    with pytest.raises(NvmlFailed) as failed:
        asker.ask("nvmlDeviceGetUUID", asker.gpu(0))
    assert failed.value.code == LOST
    assert asker.ask("nvmlDeviceGetUUID", asker.gpu(1)) == uuid_of_gpu(1)


def test_a_removed_gpu_leaves_a_stale_handle(nvml: NvmlState, asker: Asker) -> None:
    """Those after it move up; when it is back, the handle is good again."""
    nvml.gpus = gpus(2)
    nvml.write()
    stale = asker.gpu(0)
    removed = nvml.remove(0)
    assert asker.ask("nvmlDeviceGetCount") == 1
    assert asker.ask("nvmlDeviceGetUUID", asker.gpu(0)) == uuid_of_gpu(1)
    with pytest.raises(NvmlFailed) as failed:
        asker.ask("nvmlDeviceGetName", stale)
    assert failed.value.code == LOST
    with pytest.raises(NvmlFailed) as failed:
        asker.ask("nvmlDeviceGetHandleByUUID", removed.uuid)
    assert failed.value.code == NOT_FOUND
    nvml.add(removed)
    assert asker.ask("nvmlDeviceGetIndex", stale) == 1


def test_a_function_fails_or_hangs_for_one_gpu(nvml: NvmlState, asker: Asker) -> None:
    """Until it is mended."""
    nvml.gpus = gpus(2)
    nvml.break_call("nvmlDeviceGetName", 999, 0)
    one, other = asker.gpu(0), asker.gpu(1)
    with pytest.raises(NvmlFailed, match="999"):
        asker.ask("nvmlDeviceGetName", one)
    nvml.hang("nvmlDeviceGetUUID", 1)
    assert asker.ask("nvmlDeviceGetUUID", one) == uuid_of_gpu(0)
    asker.begin("nvmlDeviceGetUUID", other)
    eventually(lambda: nvml.calls(asker.pid).count("nvmlDeviceGetUUID") == 2, "it is called")
    assert not asker.has_answer()
    nvml.mend()
    assert asker.answer() == uuid_of_gpu(1)
    assert asker.ask("nvmlDeviceGetName", one) == "NVIDIA H100 80GB HBM3"


def test_questions_for_processes_are_answered_and_seen(nvml: NvmlState, asker: Asker) -> None:
    """So a test that looks for them would find them."""
    nvml.add(Gpu("GPU-a"))
    found = asker.ask("nvmlDeviceGetComputeRunningProcesses_v3", asker.gpu(0))
    assert len(found) == 1
    assert "nvmlDeviceGetComputeRunningProcesses_v3" in nvml.calls(asker.pid)
