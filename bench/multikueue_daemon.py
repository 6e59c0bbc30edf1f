"""The multikueue daemon as its Deployment runs it, what it takes, and what it publishes."""

from __future__ import annotations

import asyncio
import contextlib
import json
import time
import urllib.parse
from collections.abc import AsyncGenerator, Iterator, Sequence
from pathlib import Path
from typing import Any, Final

from bench import audit, cluster, machines, provider
from bench.multikueue_objects import FLEET
from bench.multikueue_scene import Scene
from kueue_dqo.runtime.client import Client
from kueue_dqo.runtime.resources import CAPACITY_PROVIDERS
from tests.controlplane.plane import ControlPlane
from tests.integration.daemons import start_daemon

_ACCOUNT: Final = "system:serviceaccount:kueue-dqo-system:kueue-dqo-multikueue"
STATUS_WRITE: Final = "patch capacityproviders/status"
_PATIENCE: Final = 300.0
Changes = AsyncGenerator[dict[str, Any], None]


class Running:
    """A daemon that was started; it need not be ready."""

    def __init__(self, scene: Scene, *arguments: str) -> None:
        self.daemon = start_daemon(scene.manager, scene.installed, name="multikueue", arguments=arguments, wait=False)
        self.began: Final = time.time()
        self._manager = scene.manager
        self._task = Path(f"/proc/{self.daemon.server.pid}")

    def cpu_seconds(self) -> float:
        """What it has used so far, read without asking it."""
        threads = (self._task / "task").glob("*/schedstat")
        return sum(int(each.read_text(encoding="ascii").split()[0]) for each in threads) / 1e9

    def memory(self, field: str) -> int:
        """`VmRSS` (now) or `VmHWM` (peak), in bytes."""
        lines = (self._task / "status").read_text(encoding="ascii").splitlines()
        return int(next(line for line in lines if line.startswith(field)).split()[1]) * 1024

    def led_since(self) -> float:
        """When it won the election, in seconds since the epoch."""
        return audit.clock(self.daemon.logs("leader election won")[0]["timestamp"])

    def looks(self) -> tuple[float, float]:
        """How many there were, and the seconds of all of them."""
        name = "kueue_dqo_provider_observation_seconds"
        return self.daemon.metric(f"{name}_count"), self.daemon.metric(f"{name}_sum")

    def writes(self) -> float:
        """Of statuses."""
        return self.daemon.metric("kueue_dqo_provider_status_writes_total")

    def requests(self) -> list[audit.Event]:
        """To the manager, since it was started. A watch is there when it has begun, and again when it has ended."""
        events = self._manager.requests()
        return [each for each in events if each["user"]["username"] == _ACCOUNT and audit.received(each) >= self.began]


def watches(requests: Sequence[audit.Event]) -> tuple[int, list[int]]:
    """How many are open, and the seconds that all of them were to last."""
    begun = {each["auditID"]: each for each in requests if each["verb"] == "watch"}
    ended = {each["auditID"] for each in requests if each["stage"] == "ResponseComplete"}
    queries = (urllib.parse.parse_qs(urllib.parse.urlsplit(each["requestURI"]).query) for each in begun.values())
    return len(begun.keys() - ended), [int(query["timeoutSeconds"][0]) for query in queries]


@contextlib.contextmanager
def running(scene: Scene, *arguments: str) -> Iterator[Running]:
    """The daemon, ended at the end."""
    daemon = Running(scene, *arguments)
    try:
        yield daemon
    finally:
        daemon.daemon.server.stop()


@contextlib.contextmanager
def settled(scene: Scene, *arguments: str) -> Iterator[Running]:
    """A daemon that has published what all workers have, and has nothing to do."""
    cluster.run(scene.manager, scene.recreate)
    with running(scene, *arguments) as daemon:
        cluster.wait_until(lambda: published(status(scene.manager)) == scene.capacity, "the capacity", 0.2)
        quiet(daemon)
        yield daemon


def quiet(*sides: Running | cluster.Process) -> list[float]:
    """The CPU time of each once none has anything to do any more, for three times half a second."""
    used, times = [side.cpu_seconds() for side in sides], 0
    while times < 3:
        time.sleep(0.5)
        before, used = used, [side.cpu_seconds() for side in sides]
        is_quiet = all(after - earlier < 0.03 for after, earlier in zip(used, before, strict=True))
        times = times + 1 if is_quiet else 0
    return used


# --- what is published -----------------------------------------------------------------------------------------------


def status(manager: ControlPlane) -> dict[str, Any]:
    """The CapacityProvider."""
    found: dict[str, Any] = manager.admin.get(CAPACITY_PROVIDERS.path(FLEET))
    return found


def published(obj: dict[str, Any]) -> machines.Pairs:
    """The capacity that is trustworthy, in units; nothing for none."""
    return provider.capacity(obj) if provider.is_synchronized(obj) else {}


def is_held(manager: ControlPlane) -> bool:
    """Whether the capacity is told to be what was last read of a worker."""
    return any("held until" in each["message"] for each in status(manager)["status"]["conditions"])


@contextlib.asynccontextmanager
async def watched(client: Client, version: str = "") -> AsyncGenerator[Changes, None]:
    """The CapacityProviders as they change after that version, or from now on, once the watch is open."""
    if not version:
        version = json.loads(await client.get(CAPACITY_PROVIDERS.path()))["metadata"]["resourceVersion"]
    opened = asyncio.Event()
    async with contextlib.aclosing(provider.changes(client, version, opened.set)) as changes:
        first = asyncio.ensure_future(anext(changes))
        await opened.wait()

        async def all_of_them() -> Changes:
            yield await first
            async for each in changes:
                yield each

        try:
            yield all_of_them()
        finally:
            first.cancel()


async def wait_published(changes: Changes, wanted: machines.Pairs, before: machines.Pairs) -> float:
    """When the capacity was seen, in seconds since the epoch. Nothing but that of `before` may be seen until then."""
    async with asyncio.timeout(_PATIENCE):
        async for obj in changes:
            found = published(obj) if obj["metadata"]["name"] == FLEET else before
            if found == wanted:
                return time.time()
            assert found in ({}, before), f"{found} was published before {wanted}"
    raise RuntimeError("the watch has ended")
