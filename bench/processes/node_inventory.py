"""A process of the benchmark of the node inventory: the daemon, or a floor that begins with the same imports.

The floors read by the daemon's client and decode with its types, in one pass over what the API server sends.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import signal
import sys
import time
from typing import Any, Final

import msgspec

# What the daemon imports, so that no side waits for it once its clock has begun.
import kueue_dqo.cli.provider
import kueue_dqo.runtime.kubeconfig  # noqa: F401
import providers.daemon
import providers.node_inventory.source  # noqa: F401
from bench.measure import own_peak_bytes
from kueue_dqo.api.core import Node, NodeMeta
from kueue_dqo.api.quantity import Quantity
from kueue_dqo.cli.main import run
from kueue_dqo.runtime.client import Client
from kueue_dqo.runtime.resources import NODES
from kueue_dqo.runtime.wire import ListMeta

_SILENCE: Final = 600.0


class _Page(msgspec.Struct):
    metadata: ListMeta
    items: list[Node]


class _Metadata(NodeMeta, frozen=True, gc=False, rename="camel"):
    resource_version: str = ""


class _Watched(Node, frozen=True, gc=False, rename="camel"):
    metadata: _Metadata


class _Event(msgspec.Struct):
    type: str
    object: _Watched


def _quantity(_: type, value: object) -> Quantity:
    return Quantity.of(value)


def _say(**values: Any) -> None:
    print(json.dumps(values), flush=True)


async def _imports(kubeconfig: str) -> None:
    """Nothing but the imports, and what it takes to find the API server."""
    async with await Client.connect(kubeconfig=kubeconfig):
        _say(peak=own_peak_bytes())


async def _list(kubeconfig: str) -> None:
    """All nodes, page by page, and kept."""
    decode = msgspec.json.Decoder(_Page, dec_hook=_quantity).decode
    nodes: list[Node] = []
    async with await Client.connect(kubeconfig=kubeconfig) as client:
        began, used = time.monotonic(), time.process_time()
        async for page in client.pages(NODES.path()):
            nodes += decode(page).items
        seconds, used = time.monotonic() - began, time.process_time() - used
    _say(seconds=seconds, cpu=used, peak=own_peak_bytes(), nodes=len(nodes))


async def _watch(kubeconfig: str) -> None:
    """All changes from now on, until SIGTERM."""
    decode = msgspec.json.Decoder(_Event, dec_hook=_quantity).decode
    nodes: dict[str, Node] = {}
    events = watches = 0

    async def follow(client: Client) -> None:
        nonlocal events, watches
        version = json.loads(await client.get(NODES.path(), params={"limit": "1"}))["metadata"]["resourceVersion"]
        while True:  # the server ends a watch that cannot keep up; the next one goes on where it ended
            watches += 1
            params = {"watch": "true", "resourceVersion": version}
            lines = client.lines(NODES.path(), params=params, inactivity=_SILENCE, on_open=lambda: _say(watching=True))
            async with contextlib.aclosing(lines):
                async for line in lines:
                    node = decode(line).object
                    nodes[node.metadata.name] = node
                    version = node.metadata.resource_version
                    events += 1

    async with await Client.connect(kubeconfig=kubeconfig) as client:
        task = asyncio.create_task(follow(client))
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, task.cancel)
        with contextlib.suppress(asyncio.CancelledError):
            await task
    _say(events=events, watches=watches)


def _daemon(*arguments: str) -> None:
    """The command itself."""
    _say(began=time.monotonic(), used=time.process_time())
    sys.exit(run(["provider", "node-inventory", *arguments]))


def main(side: str, *arguments: str) -> None:
    if side == "daemon":
        _daemon(*arguments)
    floors = {"imports": _imports, "list": _list, "watch": _watch}
    asyncio.run(floors[side](*arguments))


if __name__ == "__main__":
    main(*sys.argv[1:])
