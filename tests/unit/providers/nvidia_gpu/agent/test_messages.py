"""What the report says of a node that cannot be read: the way out is within what there is room for."""

from __future__ import annotations

import pytest

from kueue_dqo.api.gpu import AgentProblem
from providers.nvidia_gpu.agent import devices
from providers.nvidia_gpu.agent.devices import Device, NodeUnreadable, Reading, call_failed
from providers.nvidia_gpu.agent.library import pynvml
from providers.nvidia_gpu.agent.report import fitted_problem

NODE = "n" * 63
FUNCTIONS = ("nvmlInit", "nvmlSystemGetDriverVersion", "nvmlDeviceGetCount")
CODES = sorted(value for name, value in vars(pynvml()).items() if name.startswith("NVML_ERROR_"))
COMPONENT = "nvidia-gpu-mig, else nvidia-gpu-privileged"
OF_A_CALL = {12: "nvidia-gpu-hostpath", 9: "dmesg on the node", 4: "nvidia-gpu-privileged", 18: "module, or reboot"}

OF_ALL = {9: OF_A_CALL[9], 4: COMPONENT, 18: OF_A_CALL[18]}


def words(code: int) -> str:
    """NVML's own."""
    return str(pynvml().NVMLError(code))


def assert_whole(message: str, end: str) -> None:
    problem = AgentProblem("Reason", message, "2026-12-24T12:00:00Z")
    assert fitted_problem(problem, node=NODE) == problem
    assert message.endswith(end)


@pytest.mark.parametrize("code", CODES)
def test_a_call_that_fails_has_its_way_out_in_the_report(code: int) -> None:
    for function in FUNCTIONS:
        message = call_failed(function, words(code), code)
        assert message.startswith(f"{function}: ")
        assert f"(NVML error {code}); " in message
        assert_whole(message, OF_A_CALL.get(code, "see nvidia-smi and dmesg on the node"))


@pytest.mark.parametrize("code", sorted({*CODES} - {devices.GPU_IS_LOST, devices.RESET_REQUIRED}))
def test_gpus_that_all_fail_have_their_way_out_in_the_report(code: int) -> None:
    """With MIG, that no permission is left is a matter of a capability."""
    failing = tuple(Device(index, None, error=code, error_text=words(code)) for index in range(128))
    with pytest.raises(NodeUnreadable) as raised:
        Reading("570.1", failing).demand_readable()
    assert_whole(raised.value.message, OF_ALL.get(code, "if it stays, delete its pod"))


def test_different_errors_have_the_way_out_that_fits_all() -> None:
    failing = tuple(Device(index, None, error=code, error_text=words(code)) for index, code in enumerate((4, 999)))
    with pytest.raises(NodeUnreadable) as raised:
        Reading("570.1", failing).demand_readable()
    assert_whole(raised.value.message, "if it stays, delete its pod")


def test_a_node_without_gpus_has_its_way_out_in_the_report() -> None:
    with pytest.raises(NodeUnreadable) as raised:
        Reading("570.1", ()).demand_readable()
    assert_whole(raised.value.message, "lspci and dmesg on the node")


def test_words_of_nvml_are_cut_rather_than_the_way_out() -> None:
    message = call_failed("nvmlDeviceGetCount", 'a "word" ' * 40, 4)
    assert_whole(message, OF_A_CALL[4])
    assert "… (NVML error 4)" in message
