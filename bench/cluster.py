"""A control plane full of queues, and the daemon beside it."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import subprocess
import tempfile
import time
import urllib.request
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from prometheus_client.parser import text_string_to_metric_families

from bench.measure import ROOT, dqo
from kueue_dqo.runtime.client import Client
from kueue_dqo.runtime.resources import CAPACITY_PROVIDERS, CLUSTER_QUEUES, COHORTS, DYNAMIC_QUOTA_ORCHESTRATORS
from tests.controlplane.kueue import install_crds
from tests.controlplane.plane import ControlPlane
from tests.controlplane.processes import LOOPBACK, free_port
from tests.integration.objects import cohort, orchestrator, provider, queue

FLAVORS: Final = ("a100", "h100", "l40s", "on-demand")
RESOURCES: Final = ("cpu", "memory", "nvidia.com/gpu")
CONCURRENCY: Final = 16
TOP: Final = "all"
_WRITERS: Final = 32
_PATIENCE: Final = 900.0


@contextlib.contextmanager
def control_plane(*, audit: bool = False) -> Iterator[ControlPlane]:
    """With Kueue's definitions and ours; `audit`: see `ControlPlane.requests`."""
    with ControlPlane(audit=audit) as plane:
        install_crds(plane)
        yield plane


def run(plane: ControlPlane, work: Callable[[Client], Awaitable[Any]]) -> Any:
    """Runs a coroutine with an administrator's client."""

    async def main() -> Any:
        async with await Client.connect(kubeconfig=str(plane.kubeconfig())) as client:
            return await work(client)

    return asyncio.run(main())


def fill(plane: ControlPlane, queues: int) -> None:
    """So many ClusterQueues of 12 pairs in one Cohort, a provider and an orchestrator over all of it."""
    quotas = {flavor: {"cpu": "64", "memory": "256Gi", "nvidia.com/gpu": "8"} for flavor in FLAVORS}
    objects = [queue(f"queue-{number:05}", quotas, cohort=TOP) for number in range(queues)]

    async def create(client: Client) -> None:
        await client.create(COHORTS.path(), json.dumps(cohort(TOP)).encode())
        await client.create(CAPACITY_PROVIDERS.path(), json.dumps(provider("pool", *FLAVORS)).encode())
        await client.create(
            DYNAMIC_QUOTA_ORCHESTRATORS.path(), json.dumps(orchestrator("dqo", "pool", root=("Cohort", TOP))).encode()
        )
        slots = asyncio.Semaphore(_WRITERS)

        async def one(body: bytes) -> None:
            async with slots:
                await client.create(CLUSTER_QUEUES.path(), body)

        await asyncio.gather(*(one(json.dumps(each).encode()) for each in objects))

    run(plane, create)


def capacity_status(queues: int, percent: int) -> dict[str, Any]:
    """The status of a provider that has so many percent of what the queues declare."""

    def whole(units: int) -> str:
        return str(units * queues * percent // 100)

    resources = {"cpu": whole(64), "memory": whole(256 * 2**30), "nvidia.com/gpu": whole(8)}
    condition = {
        "type": "CapacitySynchronized",
        "status": "True",
        "reason": "Synchronized",
        "message": "",
        "observedGeneration": 1,
        "lastTransitionTime": "2026-01-31T12:00:00Z",
    }
    return {
        "status": {
            "capacity": {"flavors": [{"name": flavor, "resources": resources} for flavor in FLAVORS]},
            "conditions": [condition],
        }
    }


async def publish(client: Client, queues: int, percent: int) -> None:
    """As the provider's controller would."""
    path = CAPACITY_PROVIDERS.path("pool", subresource="status")
    await client.merge_patch(path, capacity_status(queues, percent), field_manager="bench")


class Process:
    """A process of a benchmark, with its output in a file."""

    def __init__(self, command: Sequence[str | Path], log: Path, environment: Mapping[str, str] | None = None) -> None:
        self.log = log
        with log.open("ab") as output:
            self.process = subprocess.Popen(
                command, env={**os.environ, **(environment or {})}, cwd=ROOT, stdout=output, stderr=subprocess.STDOUT
            )

    def stop(self, how: signal.Signals = signal.SIGTERM) -> None:
        """Ends it and waits."""
        self.process.send_signal(how)
        self.process.wait()

    def cpu_seconds(self) -> float:
        """What it has used so far, read without asking it; without that of threads that have ended."""
        threads = Path(f"/proc/{self.process.pid}/task").glob("*/schedstat")
        return sum(int(each.read_text(encoding="ascii").split()[0]) for each in threads) / 1e9

    def memory(self, field: str) -> int:
        """`VmRSS` (now) or `VmHWM` (peak), in bytes."""
        status = Path(f"/proc/{self.process.pid}/status").read_text(encoding="ascii")
        return int(next(line for line in status.splitlines() if line.startswith(field)).split()[1]) * 1024


class Served(Process):
    """A daemon that serves its metrics."""

    def __init__(
        self, command: Sequence[str | Path], log: Path, port: int, environment: Mapping[str, str] | None = None
    ) -> None:
        self.port = port
        super().__init__(command, log, environment)

    def metric(self, name: str, **labels: str) -> float:
        """The sum of a metric's samples that carry these labels."""
        with urllib.request.urlopen(f"http://{LOOPBACK}:{self.port}/metrics", timeout=60) as answer:
            families = text_string_to_metric_families(answer.read().decode())
            return sum(
                sample.value
                for family in families
                for sample in family.samples
                if sample.name == name and labels.items() <= sample.labels.items()
            )

    def is_leader(self) -> bool:
        """Whether it leads; False as long as it does not answer. Raises RuntimeError where it has ended."""
        if self.process.poll() is not None:
            raise RuntimeError(f"{self.process.args!r} has ended: {self.log.read_text()[-2000:]}")
        try:
            return self.metric("leader_election_master_status") == 1
        except OSError:
            return False


class Daemon(Served):
    """`dqo orchestrator` as a process, without its rate limit."""

    def __init__(self, plane: ControlPlane, *, name: str = "orchestrator", **environment: str) -> None:
        port = free_port()
        values = {
            "DQO_ENFORCEMENT": "spec",
            "DQO_NAMESPACE": "default",
            "DQO_IDENTITY": name,
            "DQO_LISTEN": f"{LOOPBACK}:{port}",
            "DQO_KUBECONFIG": str(plane.kubeconfig()),
            "DQO_CONCURRENCY": str(CONCURRENCY),
            "DQO_WRITE_QPS": "0",
            "DQO_QUOTA_METRICS": "false",  # what is asked for while it is measured would cost more than what is
        } | environment
        super().__init__([dqo(), "orchestrator"], log_of(plane, name), port, values)


def log_of(plane: ControlPlane, name: str) -> Path:
    """Where a process beside that control plane writes; it outlives the control plane."""
    return Path(tempfile.gettempdir()) / f"{plane.folder.name}-{name}.log"


@contextlib.contextmanager
def daemon(plane: ControlPlane, **environment: str) -> Iterator[Daemon]:
    """One daemon, ended at the end."""
    running = Daemon(plane, **environment)
    try:
        yield running
    finally:
        if running.process.poll() is None:
            running.stop()


def wait_until(holds: Callable[[], bool], what: str, interval: float = 0.05) -> None:
    """Raises TimeoutError after a quarter of an hour."""
    deadline = time.monotonic() + _PATIENCE
    while not holds():
        if time.monotonic() > deadline:
            raise TimeoutError(what)
        time.sleep(interval)


def is_distributed(plane: ControlPlane) -> bool:
    """Whether the orchestrator says that every write has landed."""
    status = plane.admin.get(DYNAMIC_QUOTA_ORCHESTRATORS.path("dqo")).get("status", {})
    return any(each["type"] == "Distributed" and each["status"] == "True" for each in status.get("conditions") or [])


async def time_changes(client: Client, count: int, start: Callable[[], Awaitable[None]]) -> float:
    """Seconds from `start` until so many ClusterQueues have changed, as a watch of them all sees it."""
    page = json.loads(await client.get(CLUSTER_QUEUES.path(), params={"limit": "1"}))
    version = page["metadata"]["resourceVersion"]
    params = {"watch": "true", "resourceVersion": version}
    lines = client.lines(CLUSTER_QUEUES.path(), params=params, inactivity=120)
    seen = 0
    async with contextlib.aclosing(lines):
        opened = asyncio.ensure_future(anext(lines))
        await asyncio.sleep(0.2)  # the watch is open before anything is written
        began = time.perf_counter()
        starting = asyncio.ensure_future(start())
        await opened
        seen += 1
        while seen < count:
            await anext(lines)
            seen += 1
        ended = time.perf_counter()
        await starting
    return ended - began
