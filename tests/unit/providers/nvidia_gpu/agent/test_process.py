"""The agent as a process: how it ends, whatever the driver and the API server do."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from kueue_dqo.runtime.errors import ConfigurationError
from providers.nvidia_gpu.agent.process import read_boot_id
from tests.controlplane.processes import LOOPBACK, eventually, free_port
from tests.nvml.devices import gpus
from tests.nvml.state import NvmlState

Start = Callable[..., subprocess.Popen[str]]


@pytest.fixture
def state(tmp_path: Path) -> NvmlState:
    """A node with two GPUs."""
    folder = tmp_path / "nvml"
    folder.mkdir()
    return NvmlState(folder, gpus(2))


@pytest.fixture
def start(tmp_path: Path, state: NvmlState) -> Iterator[Start]:
    """Starts an agent whose API server is away."""
    config = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "away",
        "contexts": [{"name": "away", "context": {"cluster": "away", "user": "nobody"}}],
        "clusters": [{"name": "away", "cluster": {"server": f"http://{LOOPBACK}:{free_port()}"}}],
        "users": [{"name": "nobody", "user": {}}],
    }
    kubeconfig = tmp_path / "kubeconfig"
    kubeconfig.write_text(json.dumps(config), encoding="utf-8")
    started: list[subprocess.Popen[str]] = []

    def begin(*arguments: str) -> subprocess.Popen[str]:
        command = [sys.executable, "-m", "kueue_dqo.cli", "provider", "nvidia-gpu", "--role", "agent"]
        options = ["--kubeconfig", str(kubeconfig), "--listen", f"{LOOPBACK}:0", "--poll", "1s", *arguments]
        environment = {**os.environ, **state.environment}
        process = subprocess.Popen([*command, *options], stdout=subprocess.PIPE, text=True, env=environment)
        started.append(process)
        return process

    yield begin
    for process in started:
        process.kill()
        process.communicate()


def lines_of(process: subprocess.Popen[str]) -> list[dict[str, Any]]:
    """What it logged until its end."""
    text, _ = process.communicate(timeout=60)
    return [json.loads(line) for line in text.splitlines()]


@pytest.mark.parametrize("hangs", [False, True], ids=["event thread waits", "call hangs"])
def test_a_signal_ends_it_in_order(hangs: bool, state: NvmlState, start: Start) -> None:
    """Also while a call of the driver is under way."""
    function = "nvmlDeviceGetName" if hangs else "nvmlEventSetWait_v2"
    if hangs:
        state.hang(function)
    process = start("--nvml-timeout", "1h", "--grace", "50")
    eventually(lambda: function in state.calls(process.pid), f"{function} is called", within=60)
    process.send_signal(signal.SIGTERM)
    lines = lines_of(process)
    assert (process.returncode, lines[-1]["event"]) == (0, "drained")


def test_last_words_that_nobody_takes_end_within_the_grace(state: NvmlState, start: Start) -> None:
    """It has something to say, and the API server is away."""
    state.gpus = []
    state.write()
    process = start("--grace", "2")
    eventually(lambda: state.calls(process.pid).count("nvmlDeviceGetCount_v2") > 1, "it has no GPU", within=60)
    process.send_signal(signal.SIGTERM)
    lines = lines_of(process)
    assert "NoDevices" in {line.get("reason") for line in lines}
    assert (process.returncode, lines[-1]["event"]) == (0, "drained")


def test_a_driver_that_hangs_ends_it(state: NvmlState, start: Start) -> None:
    """Also where the API server does not take its last words."""
    state.hang("nvmlDeviceGetName")
    process = start("--nvml-timeout", "1s")
    last = lines_of(process)[-1]
    assert process.returncode == 1
    assert (last["event"], last["reason"], last["reported"]) == (
        "ending, to be started anew",
        "DriverCallHung",
        False,
    )


def test_a_library_of_another_driver_ends_it(state: NvmlState, start: Start) -> None:
    """Without a traceback: nothing of that is a mistake of the agent's."""
    state.break_call("nvmlInitWithFlags", 18)
    process = start()
    lines = lines_of(process)
    assert process.returncode == 1
    assert [line for line in lines if "exception" in line] == []
    assert "VersionMismatch" in {line.get("reason") for line in lines}


def test_an_address_that_cannot_be_had_ends_it(state: NvmlState, start: Start) -> None:
    """Before anything is asked of the driver or the API server."""
    process = start("--listen", "203.0.113.1:80")
    assert lines_of(process) == []
    assert (process.returncode, state.calls()) == (1, [])


def test_one_boot_is_told_from_another(tmp_path: Path) -> None:
    """By what the kernel says."""
    file = tmp_path / "boot_id"
    with pytest.raises(ConfigurationError, match="the agent needs Linux"):
        read_boot_id(file)
    file.write_text("6a1f2e0c-0000-4000-8000-000000000001\n", encoding="ascii")
    assert read_boot_id(file) == "6a1f2e0c-0000-4000-8000-000000000001"
