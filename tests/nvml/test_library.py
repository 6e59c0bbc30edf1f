"""The test double as a library: loading, the node's errors, missing functions, events."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.controlplane import binaries
from tests.controlplane.processes import eventually
from tests.nvml import library
from tests.nvml.asking import Asker, NvmlFailed
from tests.nvml.devices import XID_EVENT, Gpu, gpus, uuid_of_gpu
from tests.nvml.state import NvmlState

UNINITIALIZED, NOT_SUPPORTED, TIMEOUT, NO_LIBRARY, NO_FUNCTION, MISMATCH = 1, 3, 10, 12, 13, 18
LONG = 60_000


def _fails(asker: Asker, function: str, *arguments: object) -> int:
    with pytest.raises(NvmlFailed) as failed:
        asker.ask(function, *arguments)
    return failed.value.code


# --- loading ---------------------------------------------------------------------------------------------------------


def test_a_library_that_comes_later_is_loaded_later(nvml: NvmlState) -> None:
    """By the same process."""
    nvml.uninstall()
    with Asker(nvml.environment) as asker:
        assert _fails(asker, "nvmlInit") == NO_LIBRARY
        nvml.install()
        asker.ask("nvmlInit")
        assert asker.ask("nvmlDeviceGetCount") == 0


def test_an_older_library_lacks_functions(nvml: NvmlState) -> None:
    """The others work."""
    nvml.install(without=["nvmlDeviceGetRemappedRows"])
    nvml.add(Gpu("GPU-a"))
    with Asker(nvml.environment) as asker:
        asker.ask("nvmlInit")
        assert _fails(asker, "nvmlDeviceGetRemappedRows", asker.gpu(0)) == NO_FUNCTION
        assert asker.ask("nvmlDeviceGetUUID", asker.gpu(0)) == "GPU-a"


def test_a_missing_compiler_is_told(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    """With the way out."""
    monkeypatch.setenv(binaries.CACHE_VARIABLE, str(tmp_path))
    monkeypatch.setattr(shutil, "which", lambda _: None)
    request.addfinalizer(library.library.cache_clear)
    library.library.cache_clear()
    with pytest.raises(library.ShimNotBuilt, match=r"no C compiler on PATH.*`cc`"):
        library.library()


def test_a_state_that_is_not_understood_ends_the_process(nvml: NvmlState) -> None:
    """A test must not pass by it."""
    Path(nvml.environment["NVML_SHIM_STATE"]).write_text("drivr 1\n", encoding="ascii")
    program = "import pynvml; pynvml.nvmlInit()"
    done = subprocess.run([sys.executable, "-c", program], env=nvml.environment, check=False, capture_output=True)
    assert done.returncode < 0
    assert b"nvml shim: before any device: drivr 1" in done.stderr


# --- the node --------------------------------------------------------------------------------------------------------


def test_nothing_works_before_init_and_after_shutdown(nvml: NvmlState, asker: Asker) -> None:
    """Each init needs its shutdown."""
    assert asker.ask("nvmlDeviceGetCount") == 0
    asker.ask("nvmlShutdown")
    assert _fails(asker, "nvmlDeviceGetCount") == UNINITIALIZED
    assert nvml.calls(asker.pid) == [
        "nvmlInitWithFlags",
        "nvmlDeviceGetCount_v2",
        "nvmlShutdown",
        "nvmlDeviceGetCount_v2",
    ]


@pytest.mark.parametrize("code", [4, 9, MISMATCH, 999])
def test_a_node_fails_at_init_or_at_any_call(nvml: NvmlState, asker: Asker, code: int) -> None:
    """Those of GPUs included."""
    nvml.add(Gpu("GPU-a"))
    handle = asker.gpu(0)
    nvml.break_call("*", code)
    assert {_fails(asker, "nvmlDeviceGetCount"), _fails(asker, "nvmlDeviceGetName", handle)} == {code}
    with Asker(nvml.environment) as later:
        assert _fails(later, "nvmlInit") == code


def test_a_function_hangs_until_it_is_mended(nvml: NvmlState) -> None:
    """Init as well."""
    nvml.hang("nvmlInitWithFlags")
    with Asker(nvml.environment) as asker:
        asker.begin("nvmlInit")
        eventually(lambda: nvml.calls(asker.pid) == ["nvmlInitWithFlags"], "it is called")
        assert not asker.has_answer()
        nvml.mend()
        assert asker.answer() is None


# --- events ----------------------------------------------------------------------------------------------------------


@pytest.fixture
def events(nvml: NvmlState, asker: Asker) -> object:
    """An event set with the first of two GPUs."""
    nvml.gpus = gpus(2)
    nvml.write()
    found = asker.ask("nvmlEventSetCreate")
    asker.ask("nvmlDeviceRegisterEvents", asker.gpu(0), XID_EVENT, found)
    return found


def test_an_xid_ends_a_wait(nvml: NvmlState, asker: Asker, events: object) -> None:
    """It tells the GPU, and no instances; and comes once."""
    asker.begin("nvmlEventSetWait", events, LONG)
    eventually(lambda: "nvmlEventSetWait_v2" in nvml.calls(asker.pid), "it waits")
    nvml.inject_xid(1, 48)  # not registered
    nvml.inject_xid(0, 79)
    data = asker.answer()
    assert asker.ask("nvmlDeviceGetUUID", data["device"]) == uuid_of_gpu(0)
    assert (data["eventType"], data["eventData"]) == (XID_EVENT, 79)
    assert data["gpuInstanceId"] == data["computeInstanceId"] == 0xFFFFFFFF
    assert _fails(asker, "nvmlEventSetWait", events, 0) == TIMEOUT


def test_an_xid_goes_to_every_set_that_was_there_before(nvml: NvmlState, asker: Asker, events: object) -> None:
    """One that is registered later never gets it."""
    nvml.inject_xid(0, 62, gpu_instance=3, compute_instance=1)
    late = asker.ask("nvmlEventSetCreate")
    asker.ask("nvmlDeviceRegisterEvents", asker.gpu(0), XID_EVENT, late)
    data = asker.ask("nvmlEventSetWait", events, LONG)
    assert (data["gpuInstanceId"], data["computeInstanceId"]) == (3, 1)
    assert _fails(asker, "nvmlEventSetWait", late, 0) == TIMEOUT
    nvml.inject_xid(0, 63)
    assert [asker.ask("nvmlEventSetWait", each, LONG)["eventData"] for each in (events, late)] == [63, 63]
    asker.ask("nvmlEventSetFree", late)


def test_an_xid_may_come_without_a_device(nvml: NvmlState, asker: Asker, events: object) -> None:
    """To every set."""
    nvml.inject_xid(None, 79)
    assert asker.ask("nvmlEventSetWait", events, LONG)["device"] is None


def test_a_wait_fails_in_the_middle(nvml: NvmlState, asker: Asker, events: object) -> None:
    """As one does whose GPU falls off the bus."""
    asker.begin("nvmlEventSetWait", events, LONG)
    nvml.break_call("nvmlEventSetWait_v2", 15)
    with pytest.raises(NvmlFailed, match="15"):
        asker.answer()


def test_a_gpu_without_events_is_not_registered(nvml: NvmlState, asker: Asker) -> None:
    """It says which types it supports."""
    nvml.gpus = [Gpu("GPU-a", events=None), Gpu("GPU-b", events=0), Gpu("GPU-c")]
    nvml.write()
    found = asker.ask("nvmlEventSetCreate")
    assert _fails(asker, "nvmlDeviceGetSupportedEventTypes", asker.gpu(0)) == NOT_SUPPORTED
    assert [asker.ask("nvmlDeviceGetSupportedEventTypes", asker.gpu(at)) for at in (1, 2)] == [0, XID_EVENT]
    for index in (0, 1):
        assert _fails(asker, "nvmlDeviceRegisterEvents", asker.gpu(index), XID_EVENT, found) == NOT_SUPPORTED


def test_what_the_test_double_has_no_room_for_ends_the_process_with_a_message(
    nvml: NvmlState, capfd: pytest.CaptureFixture[str]
) -> None:
    """Else nobody would know why."""
    nvml.gpus = gpus(65)
    nvml.write()
    with Asker(nvml.environment) as asker:
        asker.ask("nvmlInit")
        found = asker.ask("nvmlEventSetCreate")
        for index in range(64):
            asker.ask("nvmlDeviceRegisterEvents", asker.gpu(index), XID_EVENT, found)
        with pytest.raises(RuntimeError, match="ended with -6"):
            asker.ask("nvmlDeviceRegisterEvents", asker.gpu(64), XID_EVENT, found)
    assert f"nvml shim: too many GPUs in a set of events: {uuid_of_gpu(64)}" in capfd.readouterr().err
