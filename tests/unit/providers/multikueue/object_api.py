"""An HTTP API on loopback with objects that come, change and go while they are watched, one by one, by their names."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from random import Random
from typing import Any, Self

from aiohttp import web
from prometheus_client import CollectorRegistry

from kueue_dqo.provider import Environment
from kueue_dqo.runtime.cache_metrics import CacheMetrics
from kueue_dqo.runtime.client import Client
from kueue_dqo.runtime.clock import SystemClock
from kueue_dqo.runtime.connection import Connection
from tests.unit.kueue_dqo.runtime.scripted_server import Answer, ScriptedServer

Plain = dict[str, Any]


class ObjectApi:
    """Collections by their paths. `refusals` are what a collection answers instead, and those of watches alone."""

    def __init__(self) -> None:
        self.server = ScriptedServer()
        self.refusals: dict[str, Answer] = {}
        self.watch_refusals: dict[str, Answer] = {}
        self.open: list[tuple[str, str]] = []
        """The collection and the selector of each watch that goes on."""
        self._objects: dict[tuple[str, str], Plain] = {}
        self._events: list[tuple[str, str, int, bytes]] = []
        """Collection, name, version, and the line of a watch."""
        self._news: dict[asyncio.Queue[bytes | None], tuple[str, str]] = {}
        self._version = 1

    @asynccontextmanager
    async def running(self) -> AsyncIterator[Self]:
        self.server.lists.append(self._list)
        self.server.watches.append(self._watch)
        async with self.server.running():
            try:
                yield self
            finally:
                self.end_watches()

    def put(self, path: str, name: str, **content: Any) -> None:
        """Creates the object, or puts another in its place."""
        self._version += 1
        is_new = (path, name) not in self._objects
        namespace = path.split("/")[-2]
        metadata = {"name": name, "namespace": namespace, "resourceVersion": str(self._version)}
        self._objects[path, name] = {"metadata": metadata, **content}
        self._tell(path, "ADDED" if is_new else "MODIFIED", self._objects[path, name])

    def delete(self, path: str, name: str) -> None:
        self._version += 1
        gone = self._objects.pop((path, name))
        gone["metadata"]["resourceVersion"] = str(self._version)
        self._tell(path, "DELETED", gone)

    def end_watches(self) -> None:
        for queue in self._news:
            queue.put_nowait(None)

    async def _list(self, request: web.Request) -> web.StreamResponse:
        if request.path in self.refusals:
            return await self.refusals[request.path](request)
        selector = request.query.get("fieldSelector", "")
        items = [
            each for (path, name), each in self._objects.items() if _is_watched((request.path, selector), path, name)
        ]
        return web.json_response({"metadata": {"resourceVersion": str(self._version)}, "items": items})

    async def _watch(self, request: web.Request) -> web.StreamResponse:
        refusals = self.watch_refusals | self.refusals
        if request.path in refusals:
            return await refusals[request.path](request)
        response = web.StreamResponse(headers={"Content-Type": "application/json"})
        await response.prepare(request)
        queue: asyncio.Queue[bytes | None] = asyncio.Queue()
        watched = (request.path, request.query.get("fieldSelector", ""))
        self._news[queue] = watched
        for path, name, version, line in self._events:
            if version > int(request.query["resourceVersion"]) and _is_watched(watched, path, name):
                queue.put_nowait(line)
        self.open.append(watched)
        try:
            while news := await queue.get():
                await response.write(news)
        finally:
            del self._news[queue]
            self.open.remove(watched)
        return response

    def _tell(self, path: str, kind: str, content: Plain) -> None:
        name, version = content["metadata"]["name"], int(content["metadata"]["resourceVersion"])
        line = json.dumps({"type": kind, "object": content}).encode() + b"\n"
        self._events.append((path, name, version, line))
        for queue, watched in self._news.items():
            if _is_watched(watched, path, name):
                queue.put_nowait(line)


def _is_watched(watched: tuple[str, str], path: str, name: str) -> bool:
    return watched[0] == path and watched[1] in {"", f"metadata.name={name}"}


@asynccontextmanager
async def environment_of(
    api: ObjectApi, *, namespace: str = "ours", **settings: str | bool
) -> AsyncIterator[Environment]:
    """What the process lends to its source; settings have `_` for `-`."""
    registry = CollectorRegistry()
    async with Client(Connection(server=api.server.url)) as client:
        yield Environment(
            client=client,
            clock=SystemClock(),
            random=Random(7),
            registry=registry,
            cache_metrics=CacheMetrics(registry),
            look=lambda: None,
            namespace=namespace,
            settings={name.replace("_", "-"): value for name, value in settings.items()},
        )
