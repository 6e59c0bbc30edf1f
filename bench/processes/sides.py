"""What the processes have in common that are measured beside a provider's daemon: floors, and the command itself.

A floor reads by the daemon's client and decodes with the daemon's types, in one pass over what the API server sends.
The module that uses this imports what the daemon imports, so that no side waits for it once its clock has begun.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import signal
import sys
import time
from collections.abc import Callable, Mapping
from typing import Any, Final, TypeVar

import msgspec

# What every provider's daemon imports.
import kueue_dqo.cli.provider
import kueue_dqo.runtime.kubeconfig  # noqa: F401
import providers.daemon  # noqa: F401
from bench.measure import own_peak_bytes
from kueue_dqo.api.quantity import Quantity
from kueue_dqo.cli.main import run
from kueue_dqo.runtime.client import Client

T = TypeVar("T")

_SILENCE: Final = 600.0


def say(**values: Any) -> None:
    """A line of JSON."""
    print(json.dumps(values), flush=True)


def decoder(kind: type[T]) -> Callable[[bytes], T]:
    """The quickest way from JSON to that type."""
    return msgspec.json.Decoder(kind, dec_hook=_quantity).decode


def _quantity(_: type, value: object) -> Quantity:
    return Quantity.of(value)


async def imports(kubeconfig: str) -> None:
    """Nothing but the imports, and what it takes to find the API server."""
    async with await Client.connect(kubeconfig=kubeconfig):
        say(peak=own_peak_bytes())


async def read_all(kubeconfig: str, collections: Mapping[str, Callable[[bytes], Any]]) -> None:
    """All objects at these paths, page by page, and kept; a decoder makes something with `items` of a page."""
    objects: list[Any] = []

    async def read(client: Client, path: str, decode: Callable[[bytes], Any]) -> None:
        async for page in client.pages(path):
            objects.extend(decode(page).items)

    async with await Client.connect(kubeconfig=kubeconfig) as client:
        began, used = time.monotonic(), time.process_time()
        await asyncio.gather(*(read(client, path, decode) for path, decode in collections.items()))
        seconds, used = time.monotonic() - began, time.process_time() - used
    say(seconds=seconds, cpu=used, peak=own_peak_bytes(), objects=len(objects))


async def follow(kubeconfig: str, path: str, decode: Callable[[bytes], Any]) -> None:
    """All changes of objects at a path from now on, until SIGTERM; a decoder makes an event with `object` of a line."""
    objects: dict[str, Any] = {}
    events = watches = 0

    async def watch(client: Client) -> None:
        nonlocal events, watches
        version = json.loads(await client.get(path, params={"limit": "1"}))["metadata"]["resourceVersion"]
        while True:  # the server ends a watch that cannot keep up; the next one goes on where it ended
            watches += 1
            params = {"watch": "true", "resourceVersion": version}
            lines = client.lines(path, params=params, inactivity=_SILENCE, on_open=lambda: say(watching=True))
            async with contextlib.aclosing(lines):
                async for line in lines:
                    obj = decode(line).object
                    objects[obj.metadata.name] = obj
                    version = obj.metadata.resource_version
                    events += 1

    async with await Client.connect(kubeconfig=kubeconfig) as client:
        task = asyncio.create_task(watch(client))
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, task.cancel)
        with contextlib.suppress(asyncio.CancelledError):
            await task
    say(events=events, watches=watches)


def daemon(name: str, *arguments: str) -> None:
    """The command `dqo provider NAME` itself. Does not return."""
    say(began=time.monotonic(), used=time.process_time())
    sys.exit(run(["provider", name, *arguments]))
