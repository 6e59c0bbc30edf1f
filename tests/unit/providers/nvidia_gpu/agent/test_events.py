"""XIDs of NVML's test double, as a thread of its own waits for them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.controlplane.processes import eventually
from tests.nvml.devices import Gpu, Mig, gpus, uuid_of_gpu
from tests.nvml.state import NvmlState
from tests.unit.providers.nvidia_gpu.agent.nvml_process import NvmlProcess

WAIT = "nvmlEventSetWait_v2"
UNKNOWN, NOT_SUPPORTED = 999, 3


@pytest.fixture
def state(tmp_path: Path) -> NvmlState:
    """A node with three GPUs."""
    return NvmlState(tmp_path, gpus(3))


@pytest.fixture
def process(state: NvmlState) -> Iterator[NvmlProcess]:
    """It has read NVML, and follows nobody."""
    with NvmlProcess(state.environment) as running:
        running.read()
        yield running


def follow(process: NvmlProcess, state: NvmlState, *numbers: int) -> None:
    """Returns when these GPUs are registered."""
    before = len(state.calls())
    process.ask(" ".join(["follow", *map(uuid_of_gpu, numbers)]))
    eventually(lambda: state.calls()[before:].count(WAIT) > 1, f"{numbers} are waited for", within=60)


def xid(number: int, gpu: int | None, gi: int | None = None, ci: int | None = None) -> dict[str, Any]:
    uuid = None if gpu is None else uuid_of_gpu(gpu)
    return {"number": number, "uuid": uuid, "gpu_instance": gi, "compute_instance": ci}


def test_an_xid_is_told_with_its_gpu(state: NvmlState, process: NvmlProcess) -> None:
    """And its instances; one of a GPU that nobody follows is not."""
    follow(process, state, 0, 1)
    state.inject_xid(2, 31)
    state.inject_xid(1, 79)
    state.inject_xid(0, 94, gpu_instance=3, compute_instance=0)
    assert [process.next("xid"), process.next("xid")] == [xid(79, 1), xid(94, 0, 3, 0)]


def test_gpus_that_appear_later_are_followed_too(state: NvmlState, process: NvmlProcess) -> None:
    """By the same set of events."""
    follow(process, state, 0)
    follow(process, state, 0, 2)
    state.inject_xid(2, 79)
    assert process.next("xid") == xid(79, 2)
    assert state.calls().count("nvmlEventSetCreate") == 1


def test_a_gpu_that_is_lost_is_known_by_its_handle(state: NvmlState, process: NvmlProcess) -> None:
    """XID 79 says that it has fallen off the bus: it cannot tell its UUID. Also when it is not followed any more."""
    follow(process, state, 0, 1)
    state.lose(1)
    state.inject_xid(1, 79)
    assert process.next("xid") == xid(79, 1)
    follow(process, state, 0)
    state.inject_xid(1, 79)
    assert process.next("xid") == xid(79, 1)


def test_an_xid_without_a_gpu_is_nobodys(state: NvmlState, process: NvmlProcess) -> None:
    follow(process, state, 0)
    state.inject_xid(None, 79)
    assert process.next("xid") == xid(79, None)


def test_a_set_that_fails_is_made_anew(state: NvmlState, process: NvmlProcess) -> None:
    """Nobody is marked for that."""
    follow(process, state, 0, 1)
    state.break_call(WAIT, UNKNOWN)
    eventually(lambda: "nvmlEventSetFree" in state.calls(), "the set is freed", within=60)
    state.mend()
    eventually(lambda: state.calls()[-1] == WAIT, "XIDs are waited for again", within=60)
    eventually(lambda: state.calls().count("nvmlDeviceRegisterEvents") >= 4, "both are registered anew", within=60)
    follow(process, state, 0, 1, 2)
    state.inject_xid(1, 79)
    assert process.next("xid") == xid(79, 1)


@pytest.mark.parametrize("events", [None, 1], ids=["no events", "other events"])
def test_a_gpu_without_xids_leaves_the_others_theirs(events: int | None, state: NvmlState) -> None:
    """It is asked once, and polled."""
    state.gpus[0].events = events
    state.write()
    with NvmlProcess(state.environment) as process:
        process.read()
        follow(process, state, 0, 1)
        state.inject_xid(1, 79)
        assert process.next("xid") == xid(79, 1)
    assert state.calls().count("nvmlDeviceGetSupportedEventTypes") == 2


def test_a_gpu_that_cannot_be_registered_for_now_is_registered_later(state: NvmlState, process: NvmlProcess) -> None:
    state.break_call("nvmlDeviceRegisterEvents", UNKNOWN, 0)
    follow(process, state, 0, 1)
    state.mend()
    eventually(lambda: state.calls()[-2:] == [WAIT, WAIT], "no GPU is left to be registered", within=60)
    state.inject_xid(0, 79)
    assert process.next("xid") == xid(79, 0)


def test_a_gpu_that_comes_back_is_registered_anew(state: NvmlState, process: NvmlProcess) -> None:
    """It may have been reset."""
    follow(process, state, 0, 1)
    follow(process, state, 1)
    follow(process, state, 0, 1)
    assert state.calls().count("nvmlDeviceRegisterEvents") == 3


def test_mig_devices_are_told_by_their_gpu(state: NvmlState) -> None:
    """Events are the GPU's; the instances tell the MIG device."""
    state.gpus = [Gpu(uuid_of_gpu(0), mig=[Mig(gpu_instance=9)])]
    state.write()
    with NvmlProcess(state.environment) as process:
        process.read()
        follow(process, state, 0)
        state.inject_xid(0, 43, gpu_instance=9, compute_instance=0)
        assert process.next("xid") == xid(43, 0, 9, 0)
