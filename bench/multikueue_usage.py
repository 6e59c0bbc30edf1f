"""What Workloads on workers cost the manager's daemon: they change the statuses of queues, and no capacity."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import json
import sys
import time
from collections.abc import Iterator
from typing import Final

from bench import cluster
from bench.measure import MEGABYTE
from bench.multikueue_daemon import Running, quiet
from bench.multikueue_objects import at_once, use, use_local
from bench.multikueue_scene import Scene
from kueue_dqo.runtime.client import Client

_PER_SECOND: Final = 40
"""Of all workers together."""


def measure(scene: Scene, daemon: Running, seconds: float) -> None:
    """For so many seconds, beside a floor that watches the same."""
    count = round(seconds * _PER_SECOND)
    with _watcher(scene, count) as floor:
        looks, writes = daemon.looks()[0], daemon.writes()
        before = quiet(daemon, floor)
        began = time.monotonic()
        cluster.run(scene.plane, functools.partial(_change, scene=scene, count=count))
        took = time.monotonic() - began
        cluster.wait_until(lambda: "seen" in floor.log.read_text(), "the floor has seen all of it")
        after = quiet(daemon, floor)
        looks, writes = daemon.looks()[0] - looks, daemon.writes() - writes
        peak = daemon.memory("VmHWM") / MEGABYTE
        floor.stop()
        events = json.loads(floor.log.read_text().splitlines()[-1])["events"]
        assert events == count, f"the floor has seen {events} of {count}"
    ours, theirs = (later - earlier for later, earlier in zip(after, before, strict=True))
    print(f"\n{count:,} statuses of queues in {took:.0f} s, {count / took:.0f} a second, nothing else")
    print(f"  looks                  {looks:10.0f}   aim 0: {'reached' if looks == 0 else 'MISSED'}")
    print(f"  status writes          {writes:10.0f}   aim 0: {'reached' if writes == 0 else 'MISSED'}")
    print(f"  CPU                    {100 * ours / took:10.2f} % of a core   {1e6 * ours / count:.0f} us each")
    print(f"  CPU of watch, json     {100 * theirs / took:10.2f} % of a core   {ours / theirs:.2f} x")
    print(f"  memory at its peak     {peak:10.1f} MB")


async def _change(client: Client, scene: Scene, count: int) -> None:
    """The queues of all workers in turn, a ClusterQueue and a LocalQueue, in this pace."""
    loop = asyncio.get_running_loop()
    began = loop.time()

    async def one(number: int) -> None:
        await asyncio.sleep(max(0.0, began + number / _PER_SECOND - loop.time()))
        turn, is_local = divmod(number, 2)
        worker, queue = scene.workers[turn % len(scene.workers)], turn // len(scene.workers) % scene.queues
        # Not as many as there were: each is a change.
        await (use_local if is_local else use)(client, worker, queue, workloads=100 + number)

    await at_once(range(count), one)


@contextlib.contextmanager
def _watcher(scene: Scene, count: int) -> Iterator[cluster.Process]:
    """The floor, once it watches."""
    log = cluster.log_of(scene.manager, "watch")
    log.unlink(missing_ok=True)
    module = "bench.processes.multikueue_floor"
    floor = cluster.Process([sys.executable, "-m", module, "watch", scene.where, str(count)], log)
    try:
        cluster.wait_until(lambda: "watching" in log.read_text(), "the watches")
        yield floor
    finally:
        if floor.process.poll() is None:
            floor.stop()
