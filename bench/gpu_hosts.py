"""GPU nodes on a control plane: each with an NVML of its own and the agent as its pod would run it."""

from __future__ import annotations

import contextlib
import http.client
import json
import shutil
import sys
import tempfile
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from bench import cluster
from tests.controlplane.plane import ControlPlane
from tests.controlplane.processes import LOOPBACK, free_port, http_status
from tests.integration.daemons import NAMESPACE
from tests.integration.objects import add_node
from tests.nvml.devices import gpus
from tests.nvml.state import NvmlState

GPUS: Final = 8
LABEL: Final = "example.com/pool"
_ACCOUNT: Final = "kueue-dqo-nvidia-gpu-agent"


class Host:
    """A node of 8 GPUs and its agent, which runs and has written its report."""

    def __init__(self, plane: ControlPlane, name: str, folder: Path, *, pool: str, arguments: tuple[str, ...]) -> None:
        """`pool`: of the node's label. `arguments`: of the agent, beside those of the address."""
        self.name = name
        add_node(plane, name, {"cpu": 64, "nvidia.com/gpu": GPUS}, labels={LABEL: pool})
        self.nvml = NvmlState(folder, gpus(GPUS))
        self.pod = plane.add_pod(NAMESPACE, _ACCOUNT, name)
        account = folder / "serviceaccount"
        account.mkdir(mode=0o700)
        (account / "token").write_text(plane.token_of(NAMESPACE, _ACCOUNT, pod=self.pod))
        shutil.copy(plane.ca, account / "ca.crt")
        _, _, port = plane.url.rpartition(":")
        environment = {
            **self.nvml.environment,
            "KUBERNETES_SERVICE_HOST": LOOPBACK,
            "KUBERNETES_SERVICE_PORT": port,
            "DQO_NODE_NAME": name,
        }
        own = free_port()
        log = cluster.log_of(plane, name)
        log.unlink(missing_ok=True)
        command = [sys.executable, "-m", "bench.processes.gpu_agent", "agent", str(account)]
        self.agent = cluster.Served([*command, "--listen", f"{LOOPBACK}:{own}", *arguments], log, own, environment)

    def wait_ready(self) -> None:
        """Returns when the report is written. Raises RuntimeError where the agent has ended."""

        def is_ready() -> bool:
            if self.agent.process.poll() is not None:
                raise RuntimeError(f"the agent of {self.name} has ended: {self.agent.log.read_text()[-2000:]}")
            return http_status(self.agent.port, "/readyz") == http.client.OK

        cluster.wait_until(is_ready, f"the agent of {self.name} is ready")

    def ask(self, path: str) -> None:
        """As its kubelet or Prometheus would."""
        with urllib.request.urlopen(f"http://{LOOPBACK}:{self.agent.port}{path}", timeout=10) as answer:
            answer.read()

    def logged(self, event: str) -> list[dict[str, Any]]:
        """The agent's log lines with this event."""
        lines = self.agent.log.read_text(encoding="utf-8").splitlines()
        records = [json.loads(line) for line in lines if line.startswith("{")]
        return [record for record in records if record.get("event") == event]

    def check_imports(self) -> None:
        """What the agent that has ended should not have imported fails the run."""
        last = self.agent.log.read_text(encoding="utf-8").splitlines()[-1]
        assert json.loads(last) == {"superfluous": []}, f"the agent of {self.name} ended with: {last}"


@contextlib.contextmanager
def running(plane: ControlPlane, name: str, *arguments: str, pool: str) -> Iterator[Host]:
    """A node whose agent runs."""
    with tempfile.TemporaryDirectory(prefix="kueue-dqo-nvml-") as folder:
        host = Host(plane, name, Path(folder), pool=pool, arguments=arguments)
        try:
            host.wait_ready()
            yield host
        finally:
            if host.agent.process.poll() is None:
                host.agent.stop()
        host.check_imports()
