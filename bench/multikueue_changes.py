"""From a changed quota of one worker to the manager's capacity: the steps, and how long each takes.

Times are the wall clock's: the API server's audit log and the benchmark are on one machine.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import json
import time
from collections.abc import Sequence
from typing import Final, NamedTuple

from bench import audit, cluster
from bench.measure import print_each, print_ratio
from bench.multikueue_daemon import STATUS_WRITE, Running, status, wait_published, watched
from bench.multikueue_objects import CPU, queue_name, set_cpu
from bench.multikueue_scene import BARE, FLOOR, Scene
from kueue_dqo.runtime.client import Client
from kueue_dqo.runtime.resources import CAPACITY_PROVIDERS, CLUSTER_QUEUES

_PAUSE: Final = 1.5
"""Seconds between two changes, so that each is looked at at once: longer than the daemon's own pause after a look."""


class Floor(NamedTuple):
    """Seconds of the same by hand."""

    seen: float
    """From the write of a queue until a watch by way of the proxy sees it."""
    total: float
    """And until a watch of the manager sees the status that is written then."""


class Steps(NamedTuple):
    """Seconds of each step of one change."""

    written: float
    """The write of the queue, in which the watch may see it already."""
    request: float
    """From its beginning until the manager's API server has the daemon's request, without the look."""
    look: float
    status: float
    """Until that request is answered."""
    seen: float
    """Until a watch of the benchmark sees the status."""
    looks: int

    @property
    def total(self) -> float:
        return self.request + self.look + self.status + self.seen


def measure(scene: Scene, daemon: Running, pairs: int, workers: Sequence[str]) -> tuple[list[Floor], list[Steps]]:
    """Changes of these workers in turn, each after the floor."""
    floor, ours = [], []
    for number in range(pairs):
        time.sleep(_PAUSE)
        floor.append(cluster.run(scene.manager, functools.partial(_by_hand, scene=scene, cpu=CPU + 1 + number)))
        time.sleep(_PAUSE)
        ours.append(_change(scene, daemon, workers[number % len(workers)]))
    return floor, ours


def print_steps(what: str, floor: Sequence[Floor], ours: Sequence[Steps]) -> None:
    """The medians, and the ratios of the pairs."""
    print(f"\n{what}, {len(ours)} times")
    lines = {
        "queue written": [each.written for each in ours],
        "from there to a request": [each.request - each.written for each in ours],
        "look": [each.look for each in ours],
        "status written": [each.status for each in ours],
        "seen by a watch": [each.seen for each in ours],
    }
    for name, seconds in lines.items():
        print_each(name, seconds)
    totals = [each.total for each in ours]
    print_each("in all", totals)
    print_each("bare write and watch", [each.seen for each in floor])
    print_ratio([each.seen for each in floor], totals)
    print_each("both writes by hand", [each.total for each in floor])
    print_ratio([each.total for each in floor], totals)
    print(f"  looks                  {min(each.looks for each in ours)} to {max(each.looks for each in ours)}")


def _change(scene: Scene, daemon: Running, worker: str) -> Steps:
    """One queue has a cpu more. The capacity has to be the one that is wanted."""
    looks, seconds = daemon.looks()
    began, written, seen = cluster.run(scene.manager, functools.partial(_grow, scene=scene, worker=worker))
    time.sleep(_PAUSE)
    looks, seconds = (after - before for after, before in zip(daemon.looks(), (looks, seconds), strict=True))
    write = audit.first([event for event in daemon.requests() if audit.received(event) >= began], STATUS_WRITE)
    look = seconds / looks
    return Steps(
        written=written - began,
        request=audit.received(write) - began - look,
        look=look,
        status=audit.answered(write) - audit.received(write),
        seen=seen - audit.answered(write),
        looks=int(looks),
    )


async def _grow(client: Client, scene: Scene, worker: str) -> tuple[float, float, float]:
    """When the write began, when it had ended, and when a watch saw the capacity."""
    async with await Client.connect(kubeconfig=str(scene.plane.kubeconfig())) as theirs, watched(client) as changes:
        path = CLUSTER_QUEUES.path(queue_name(worker, 0))
        quotas = json.loads(await theirs.get(path))["spec"]["resourceGroups"][0]["flavors"][0]["resources"]
        cpu = int(quotas[0]["nominalQuota"]) + 1
        before = scene.capacity
        scene.capacity = {**before, "gpu/cpu": before["gpu/cpu"] + 1000}
        began = time.time()
        await set_cpu(theirs, worker, 0, cpu)
        written = time.time()
        return began, written, await wait_published(changes, scene.capacity, before)


async def _by_hand(client: Client, scene: Scene, cpu: int) -> Floor:
    """A queue is written and seen, and then a status that is as long as the daemon's."""
    body = {"status": (await asyncio.to_thread(status, scene.manager))["status"]}
    amounts = body["status"]["capacity"]["flavors"][0]["resources"]
    amounts["cpu"] = str(time.time_ns())
    path = CAPACITY_PROVIDERS.path(FLOOR, subresource="status")
    async with (
        await Client.connect(kubeconfig=str(scene.plane.kubeconfig())) as theirs,
        await Client.connect(kubeconfig=str(scene.bare)) as reader,
        watched(client) as changes,
    ):
        listed = await reader.get(CLUSTER_QUEUES.path())
        params = {"watch": "true", "resourceVersion": json.loads(listed)["metadata"]["resourceVersion"]}
        opened = asyncio.Event()
        lines = reader.lines(CLUSTER_QUEUES.path(), params=params, inactivity=60, on_open=opened.set)
        async with contextlib.aclosing(lines):
            line = asyncio.ensure_future(anext(lines))
            await opened.wait()
            await theirs.get(CLUSTER_QUEUES.path(queue_name(BARE, 0)))  # the connection is there
            began = time.perf_counter()
            await asyncio.gather(set_cpu(theirs, BARE, 0, cpu), line)
            seen = time.perf_counter() - began
        await client.merge_patch(path, body, field_manager="bench")
        async for obj in changes:
            if obj["metadata"]["name"] == FLOOR:
                break
        return Floor(seen, time.perf_counter() - began)
