"""Readings of NVML's test double, by the unmodified `pynvml`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.nvml.devices import RECOVERY_ACTION, Gpu, Mig, gpus, uuid_of_gpu
from tests.nvml.state import NvmlState
from tests.unit.providers.nvidia_gpu.agent.nvml_process import NvmlProcess

LOST, RESET, UNKNOWN, NO_PERMISSION, NOT_LOADED = 15, 16, 999, 4, 9


@pytest.fixture
def state(tmp_path: Path) -> NvmlState:
    """A node without GPUs."""
    return NvmlState(tmp_path)


@pytest.fixture
def process(state: NvmlState) -> Iterator[NvmlProcess]:
    with NvmlProcess(state.environment) as running:
        yield running


def test_a_healthy_gpu_says_everything(state: NvmlState, process: NvmlProcess) -> None:
    state.add(Gpu("GPU-a", remapped=(1, 0, True, False)))
    assert process.read() == {
        "driver_version": state.driver,
        "devices": [
            {
                "index": 0,
                "uuid": "GPU-a",
                "product": "NVIDIA H100 80GB HBM3",
                "mig_enabled": False,
                "mig_devices": [],
                "recovery_action": 0,
                "row_remap_failed": False,
                "row_remap_pending": True,
                "error": None,
                "error_text": "",
                "odd_uuid": None,
            }
        ],
    }


def test_a_gpu_that_knows_nothing_of_health_is_readable(state: NvmlState, process: NvmlProcess) -> None:
    """Not supported is unknown, and unknown is not unhealthy."""
    state.add(Gpu("GPU-a", mig_capable=False, remapped=None, fields={}, events=None))
    device = process.device()
    unknown = ("recovery_action", "row_remap_failed", "row_remap_pending", "error")
    assert {key: device[key] for key in unknown} == dict.fromkeys(unknown)


@pytest.mark.parametrize(
    "function",
    [
        "nvmlDeviceGetMemoryInfo",
        "nvmlDeviceGetName",
        "nvmlDeviceGetRemappedRows",
        "nvmlDeviceGetFieldValues",
    ],
)
def test_a_question_that_fails_alone_is_unknown(function: str, state: NvmlState, process: NvmlProcess) -> None:
    """But where it says that the GPU is gone, it is."""
    state.gpus = gpus(1)
    state.break_call(function, UNKNOWN, 0)
    assert process.device()["error"] is None
    for code in (LOST, RESET):
        state.break_call(function, code, 0)
        device = process.device()
        assert (device["error"], device["uuid"]) == (code, uuid_of_gpu(0))


def test_without_a_function_its_answer_is_unknown(state: NvmlState) -> None:
    """As with an old driver."""
    names = ("RemappedRows", "FieldValues", "MigMode", "MemoryInfo")
    state.install(without=[f"nvmlDeviceGet{name}" for name in names])
    state.add(Gpu("GPU-a"))
    with NvmlProcess(state.environment) as process:
        device = process.device()
    assert (device["error"], device["recovery_action"], device["row_remap_failed"]) == (None, None, None)


@pytest.mark.parametrize("code", [LOST, UNKNOWN])
def test_a_recovery_action_that_cannot_be_told_is_unknown_or_a_loss(
    code: int, state: NvmlState, process: NvmlProcess
) -> None:
    """The call succeeds, and says of the field that it did not."""
    state.add(Gpu("GPU-a", fields={}, field_failures={RECOVERY_ACTION: code}))
    device = process.device()
    assert (device["error"], device["recovery_action"]) == (code if code == LOST else None, None)


@pytest.mark.parametrize(
    ("breaks", "uuid"),
    [
        (lambda state: state.lose(1), None),
        (lambda state: state.lose(1, handle=True), None),
        (lambda state: state.break_call("nvmlDeviceGetMemoryInfo", LOST, 1), uuid_of_gpu(1)),
    ],
    ids=["no handle", "a handle", "a handle and a UUID"],
)
def test_a_lost_gpu_leaves_the_others_readable(
    breaks: Callable[[NvmlState], None], uuid: str | None, state: NvmlState, process: NvmlProcess
) -> None:
    """Whatever of it NVML still knows."""
    state.gpus = gpus(3)
    state.write()
    breaks(state)
    devices = process.read()["devices"]
    assert [each["error"] for each in devices] == [None, LOST, None]
    assert (devices[1]["uuid"], devices[1]["error_text"]) == (uuid, "GPU is lost")


def test_mig_devices_are_found_behind_gaps(state: NvmlState, process: NvmlProcess) -> None:
    """By the profiles in their names, or by their attributes; row remapping is not asked for."""
    migs = [
        Mig("1g.10gb+me", slot=1, gpu_instance=9),
        Mig("1c.3g.40gb", slot=4, gpu_instance=2, compute_instance=1, name="Unnamed"),
    ]
    state.add(Gpu("GPU-a", mig=migs))
    device = process.device()
    found = [each[1:] for each in device["mig_devices"]]
    assert found == [["1g.10gb.me", 9, 0], ["1c.3g.40gb", 2, 1]]
    assert (device["mig_enabled"], device["row_remap_failed"]) == (True, None)
    assert all(each[0].startswith("MIG-") for each in device["mig_devices"])


def test_a_gpu_whose_mig_devices_cannot_be_told_is_not_readable(state: NvmlState, process: NvmlProcess) -> None:
    """Else it would count as one without any."""
    state.add(Gpu("GPU-a", mig=[Mig()]))
    state.break_call("nvmlDeviceGetMigDeviceHandleByIndex", NO_PERMISSION, 0)
    assert (process.device()["error"], process.device()["uuid"]) == (NO_PERMISSION, "GPU-a")


def test_a_library_that_comes_later_is_found(state: NvmlState) -> None:
    """Without another process."""
    state.uninstall()
    state.add(Gpu("GPU-a"))
    with NvmlProcess(state.environment) as process:
        process.ask("read")
        reason, message, needs_restart = process.next("unreadable")
        assert (reason, needs_restart) == ("LibraryNotFound", False)
        assert "runtimeClass nvidia" in message
        state.install()
        assert process.device()["uuid"] == "GPU-a"


@pytest.mark.parametrize(
    ("function", "code", "reason"),
    [
        ("nvmlInitWithFlags", NOT_LOADED, "DriverNotLoaded"),
        ("nvmlInitWithFlags", 18, "VersionMismatch"),
        ("nvmlInitWithFlags", NO_PERMISSION, "NoPermission"),
        ("nvmlDeviceGetCount_v2", UNKNOWN, "NVMLError"),
        ("nvmlSystemGetDriverVersion", 1, "NVMLError"),
    ],
)
def test_a_loaded_library_that_fails_needs_another_process(
    function: str, code: int, reason: str, state: NvmlState, process: NvmlProcess
) -> None:
    """It keeps what it has found out about the driver."""
    state.break_call(function, code)
    process.ask("read")
    found: list[Any] = process.next("unreadable")
    assert (found[0], found[2]) == (reason, True)
    assert f"(NVML error {code})" in found[1]


def test_gpus_of_one_uuid_are_told_by_their_indexes(state: NvmlState, process: NvmlProcess) -> None:
    state.gpus = [Gpu("GPU-a"), Gpu("GPU-b"), Gpu("GPU-a")]
    state.write()
    devices = process.read()["devices"]
    assert [(each["uuid"], each["odd_uuid"], each["error"]) for each in devices] == [
        (None, "GPU-a", None),
        ("GPU-b", None, None),
        (None, "GPU-a", None),
    ]


def test_no_question_is_about_processes(state: NvmlState, process: NvmlProcess) -> None:
    """Nothing of them leaves the node, since nothing of them is known."""
    state.add(Gpu("GPU-a", mig=[Mig()]))
    process.read()
    assert [call for call in state.calls() if "Process" in call] == []
    assert "nvmlDeviceGetUUID" in state.calls()
