"""A provider's daemon that is measured beside floors, all of them processes of one module of `bench.processes`."""

from __future__ import annotations

import asyncio
import contextlib
import json
import sys
import time
from collections.abc import AsyncGenerator, Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

from bench import cluster, machines
from bench.measure import MEGABYTE, Run, ask
from kueue_dqo.api.quantity import Quantity
from kueue_dqo.runtime.client import Client
from kueue_dqo.runtime.resources import CAPACITY_PROVIDERS
from tests.controlplane.plane import ControlPlane
from tests.controlplane.processes import LOOPBACK, free_port
from tests.integration.objects import provider

NO_LOOKS: Final = ("--interval", "1h")
"""So that no look but one that a change leads to comes in between."""
_PATIENCE: Final = 300.0
_UNIT_NANOS: Final = {"cpu": 10**6, "memory": 10**9, "nvidia.com/gpu": 10**9}


class Subject(NamedTuple):
    """What is measured."""

    module: str
    """Of `bench.processes`."""
    provider: str
    """The name of its CapacityProvider."""
    controller: str
    flavors: tuple[str, ...]


class Daemon(cluster.Served):
    """The provider's command as a process, which says when its imports are over."""

    def __init__(self, plane: ControlPlane, subject: Subject, *more: str) -> None:
        port = free_port()
        where = ("--kubeconfig", str(plane.kubeconfig()), "--namespace", "default", "--listen", f"{LOOPBACK}:{port}")
        log = cluster.log_of(plane, subject.module)
        log.unlink(missing_ok=True)
        super().__init__(_command(subject, "daemon", *where, *more), log, port)

    def beginning(self) -> dict[str, float]:
        """The clock and its CPU time when its imports were over."""
        first: dict[str, float] = json.loads(self.log.read_text().splitlines()[0])
        return first


class Counts:
    """What a daemon has done so far."""

    def __init__(self, daemon: Daemon) -> None:
        self.observations = daemon.metric("kueue_dqo_provider_observations_total")
        self.seconds = daemon.metric("kueue_dqo_provider_observation_seconds_sum")
        """Of all observations."""
        self.writes = daemon.metric("kueue_dqo_provider_status_writes_total")
        self.requests = daemon.metric("rest_client_requests_total")
        every = sum(daemon.metric("rest_client_requests_total", method=each) for each in ("PATCH", "POST", "PUT"))
        self.other_writes = every - self.writes


# --- processes -----------------------------------------------------------------------------------------------------


@contextlib.contextmanager
def running(plane: ControlPlane, subject: Subject, *arguments: str) -> Iterator[Daemon]:
    """The daemon, ended at the end."""
    daemon = Daemon(plane, subject, *arguments)
    try:
        yield daemon
    finally:
        daemon.stop()


@contextlib.contextmanager
def settled(plane: ControlPlane, subject: Subject, *arguments: str) -> Iterator[Daemon]:
    """A daemon that has looked at everything."""
    with running(plane, subject, *arguments) as daemon:
        cluster.wait_until(daemon.is_leader, "leadership", 0.2)
        looked = "kueue_dqo_provider_observations_total"
        cluster.wait_until(lambda: daemon.metric(looked, result="success") > 0, "an observation", 0.2)
        yield daemon


@contextlib.contextmanager
def watcher(plane: ControlPlane, subject: Subject) -> Iterator[cluster.Process]:
    """The floor that watches; `events_of` tells what it has seen once it has been stopped."""
    log = cluster.log_of(plane, "watch")
    log.unlink(missing_ok=True)
    floor = cluster.Process(_command(subject, "watch", plane.kubeconfig()), log)
    try:
        cluster.wait_until(lambda: "watching" in log.read_text(), "the watch")
        yield floor
    finally:
        if floor.process.poll() is None:
            floor.stop()


def events_of(floor: cluster.Process) -> int:
    """How many changes a watcher that has ended saw."""
    return int(json.loads(floor.log.read_text().splitlines()[-1])["events"])


def quiet(process: cluster.Process) -> float:
    """Its CPU time once it has nothing to do any more, for three times half a second."""
    used, times = process.cpu_seconds(), 0
    while times < 3:
        time.sleep(0.5)
        before, used = used, process.cpu_seconds()
        times = times + 1 if used - before < 0.02 else 0
    return used


def print_at_rest(daemon: Daemon, seconds: float) -> None:
    """Waits for so long, and prints what the daemon took meanwhile."""
    cpu, requests = daemon.cpu_seconds(), daemon.metric("rest_client_requests_total")
    time.sleep(seconds)
    cpu, requests = daemon.cpu_seconds() - cpu, daemon.metric("rest_client_requests_total") - requests
    print(f"\nat rest, over {seconds:g} s")
    rest, peak = (daemon.memory(field) / MEGABYTE for field in ("VmRSS", "VmHWM"))
    print(f"  memory                 {rest:10.1f} MB  (at its peak {peak:.1f} MB)")
    print(f"  CPU                    {100 * cpu / seconds:10.2f} % of a core")
    print(f"  requests               {requests * 60 / seconds:10.1f} a minute")


def _command(subject: Subject, side: str, *arguments: str | Path) -> Sequence[str | Path]:
    return [sys.executable, "-m", f"bench.processes.{subject.module}", side, *arguments]


# --- the first capacity --------------------------------------------------------------------------------------------


def lists(plane: ControlPlane, subject: Subject, count: int) -> Run:
    """The floor that reads so many objects, and decodes them."""
    answer = ask(subject.module, "list", plane.kubeconfig())
    assert answer["objects"] == count, f"the floor has read {answer['objects']} of {count} objects"
    return Run(answer["seconds"], answer["cpu"], answer["peak"])


async def first_capacity(client: Client, plane: ControlPlane, subject: Subject, expected: machines.Pairs) -> Run:
    """From the end of the daemon's imports until a watch sees the capacity, which has to be the right one."""
    version = await recreate(client, plane, subject)
    opened = asyncio.Event()
    async with contextlib.aclosing(changes(client, version, opened.set)) as seen:
        first = asyncio.ensure_future(anext(seen))
        await opened.wait()
        with running(plane, subject) as daemon:
            async with asyncio.timeout(_PATIENCE):
                obj = await first
                while not is_synchronized(obj):
                    obj = await anext(seen)
            ended, cpu = time.monotonic(), daemon.cpu_seconds()
            beginning = daemon.beginning()
            peak = daemon.memory("VmHWM")
    assert capacity(obj) == expected, "the capacity is another one"
    return Run(ended - beginning["began"], cpu - beginning["used"], peak)


# --- its CapacityProvider ------------------------------------------------------------------------------------------


async def recreate(client: Client, plane: ControlPlane, subject: Subject) -> str:
    """A CapacityProvider that nobody has written to yet; returns its resourceVersion."""
    if any(each["metadata"]["name"] == subject.provider for each in plane.admin.items(CAPACITY_PROVIDERS.path())):
        await client.delete(CAPACITY_PROVIDERS.path(subject.provider))
    body = json.dumps(provider(subject.provider, *subject.flavors, controller=subject.controller)).encode()
    created = json.loads(await client.create(CAPACITY_PROVIDERS.path(), body))
    return str(created["metadata"]["resourceVersion"])


async def changes(client: Client, version: str, on_open: Callable[[], None]) -> AsyncGenerator[dict[str, Any], None]:
    """The CapacityProviders as they change after that version."""
    params = {"watch": "true", "resourceVersion": version}
    async for line in client.lines(CAPACITY_PROVIDERS.path(), params=params, inactivity=600, on_open=on_open):
        yield json.loads(line)["object"]


def is_synchronized(obj: dict[str, Any]) -> bool:
    """Whether its capacity is trustworthy."""
    return any(each["status"] == "True" for each in obj.get("status", {}).get("conditions") or [])


def capacity(obj: dict[str, Any]) -> machines.Pairs:
    """In the units of the resources, by pair; what a pool has nothing of, it does not list."""
    return {
        f"{flavor['name']}/{resource}": Quantity.of(text).nanos // _UNIT_NANOS[resource]
        for flavor in obj["status"]["capacity"]["flavors"]
        for resource, text in flavor["resources"].items()
        if resource in _UNIT_NANOS
    }
