"""Nodes with GPUs, each with an agent as a process and an NVML of its own."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterable, Mapping
from http import HTTPStatus
from pathlib import Path
from typing import Any, Final

import pytest

from kueue_dqo.runtime.resources import NODE_GPU_REPORTS
from tests.controlplane.admin import Refused
from tests.controlplane.plane import ControlPlane
from tests.controlplane.processes import ServerFailed, eventually
from tests.integration.daemons import Daemon, start_agent
from tests.nvml.devices import Gpu
from tests.nvml.state import NvmlState

Manifest = dict[str, Any]
Counts = dict[str, tuple[int, int]]
"""How many devices are healthy, and how many are not, by resource."""

QUICK: Final = {"DQO_POLL": "1s", "DQO_HEARTBEAT": "24h", "DQO_NVML_TIMEOUT": "30s"}
"""For an agent that sees a change soon, and writes nothing by itself."""
GPU: Final = "nvidia.com/gpu"
_WITHIN: Final = 60.0


class Report:
    """A NodeGPUReport as one request gave it; empty where there is none."""

    def __init__(self, obj: Manifest | None) -> None:
        self.obj = obj
        spec = (obj or {}).get("spec") or {}
        self.inventory: Manifest = spec.get("inventory") or {}
        self.problem: Manifest = spec.get("problem") or {}
        """Why NVML cannot be read; empty where it can."""

    @property
    def version(self) -> str:
        """The resourceVersion, which every write changes."""
        assert self.obj
        return str(self.obj["metadata"]["resourceVersion"])

    @property
    def counts(self) -> Counts:
        """Healthy and unhealthy devices by resource."""
        devices = self.inventory.get("devices", [])
        return {each["name"]: (each["healthy"], each.get("unhealthy", 0)) for each in devices}

    @property
    def unhealthy(self) -> dict[str, str]:
        """The reason of each unhealthy device, by UUID; of one without, by index."""
        return {each.get("uuid") or str(each["index"]): each["reason"] for each in self.inventory.get("unhealthy", [])}

    @property
    def since(self) -> dict[str, str]:
        """Since when each unhealthy device is that has a UUID."""
        return {each["uuid"]: each["since"] for each in self.inventory.get("unhealthy", []) if "uuid" in each}


class GpuNode:
    """A Node, its NVML, and its agent, which may end and be started again as its kubelet would."""

    def __init__(self, plane: ControlPlane, name: str, nvml: NvmlState, start: Callable[[], Daemon]) -> None:
        self.plane = plane
        self.name = name
        self.nvml = nvml
        self._start = start
        self._agent: Daemon | None = None

    @property
    def agent(self) -> Daemon:
        """Its agent, which has been started."""
        assert self._agent is not None
        return self._agent

    def start(self) -> GpuNode:
        """Starts the agent for the first time, and returns without waiting."""
        self._agent = self._start()
        return self

    def restart(self, *, kill: bool = False) -> None:
        """The agent ends, in order or by `kill`, and is started again; returns when it has written."""
        (self.agent.server.kill if kill else self.agent.server.stop)()
        self.agent.server.start()

    def wait_ended(self) -> int:
        """Waits until the agent has ended by itself. Returns its exit code."""
        eventually(lambda: not self.agent.server.is_running, f"the agent of {self.name} ends", within=_WITHIN)
        with pytest.raises(ServerFailed) as ended:
            self.agent.server.wait_ready()
        found = re.search(r"exit code (-?\d+)", str(ended.value))
        assert found
        return int(found[1])

    @property
    def report(self) -> Report:
        """Its report as it is now."""
        try:
            return Report(self.plane.admin.get(NODE_GPU_REPORTS.path(self.name)))
        except Refused as refused:
            if refused.code != HTTPStatus.NOT_FOUND:
                raise
            return Report(None)

    def wait_counts(self, wanted: Counts, unhealthy: Mapping[str, str] | None = None) -> Report:
        """Waits until the report counts so, with these unhealthy devices, and tells no problem. Returns it."""

        def is_so(report: Report) -> bool:
            return (report.counts, report.unhealthy, report.problem) == (wanted, unhealthy or {}, {})

        return self.wait_report(is_so, f"{wanted}, unhealthy {unhealthy or {}}")

    def wait_problem(self, reason: str) -> Report:
        """Waits until the report tells a problem with this reason. Returns it."""
        return self.wait_report(lambda report: report.problem.get("reason") == reason, f"a problem {reason}")

    def wait_report(self, holds: Callable[[Report], bool], what: str) -> Report:
        """Waits until something holds of the report. Returns it."""
        seen = Report(None)

        def look() -> bool:
            nonlocal seen
            seen = self.report
            return holds(seen)

        try:
            eventually(look, f"{self.name}: {what}", within=_WITHIN)
        except TimeoutError as error:
            raise AssertionError(f"{error}\nthe report: {seen.obj}") from error
        return seen

    def wait_watching(self) -> None:
        """Waits until the agent waits for XIDs: those before are lost."""
        pid = self.agent.server.pid
        eventually(lambda: "nvmlEventSetWait_v2" in self.nvml.calls(pid), f"{self.name} waits for XIDs", within=_WITHIN)

    def wait_polls(self, polls: int = 1) -> None:
        """Waits until all of NVML was read so many times from now on, by the agent that runs now."""
        pid = self.agent.server.pid
        before = self._reads(pid)
        eventually(lambda: self._reads(pid) > before + polls, f"{polls} polls of {self.name}", within=_WITHIN)

    def _reads(self, pid: int) -> int:
        return self.nvml.calls(pid).count("nvmlDeviceGetCount_v2")


class Fleet:
    """Makes nodes. Their names differ, so that one test's node means nothing to another's."""

    _numbers = itertools.count()

    def __init__(self, plane: ControlPlane, installed: Iterable[Manifest], folder: Path) -> None:
        """`installed`: with the DaemonSet. `folder`: for the states of NVML."""
        self.plane = plane
        self._installed = list(installed)
        self._folder = folder

    def node(
        self,
        gpus: Iterable[Gpu] = (),
        *,
        name: str = "",
        installed: bool = True,
        environment: Mapping[str, str] | None = None,
        server: str | None = None,
    ) -> GpuNode:
        """A node with these GPUs, whose agent is not started.

        Args:
            gpus: in NVML's order.
            name: of the node, where it matters.
            installed: whether NVML's library is there.
            environment: of the agent, beside `QUICK` and what its NVML needs.
            server: a URL in front of the API server.
        """
        number = next(self._numbers)
        found = name or f"gpu-{number}"
        folder = self._folder / str(number)
        folder.mkdir()
        nvml = NvmlState(folder, gpus, installed=installed)
        self.plane.admin.apply({"apiVersion": "v1", "kind": "Node", "metadata": {"name": found}})
        values = {**QUICK, **nvml.environment, **(environment or {})}

        def start() -> Daemon:
            process = f"agent-{number}"
            return start_agent(
                self.plane,
                self._installed,
                node=found,
                name=process,
                server=server,
                environment=values,
                wait=False,
            )

        return GpuNode(self.plane, found, nvml, start)

    def running(self, gpus: Iterable[Gpu] = (), **options: Any) -> GpuNode:
        """As `node`, with its agent started and its report written."""
        node = self.node(gpus, **options).start()
        node.agent.server.wait_ready()
        return node
