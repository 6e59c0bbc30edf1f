"""The objects of a kind by the endpoint that their label names, as of now.

One API server that has the queues of fifty workers goes through all of them for each list, and refuses lists when there
are many. So it is listed and watched once, and lists are answered by what came in.
"""

from __future__ import annotations

import asyncio
import json
from collections import defaultdict
from typing import Final

import aiohttp
import msgspec

LABEL: Final = "endpoint"
_PAGE: Final = "500"


class _Meta(msgspec.Struct, rename="camel"):
    name: str = ""
    namespace: str = ""
    resource_version: str = ""
    labels: dict[str, str] = {}
    continue_: str = msgspec.field(name="continue", default="")


class _Object(msgspec.Struct):
    metadata: _Meta


class _Page(msgspec.Struct, rename="camel"):
    api_version: str
    kind: str
    metadata: _Meta
    items: list[msgspec.Raw]


class _Event(msgspec.Struct):
    type: str
    object: msgspec.Raw


class Store:
    """Of one collection, from the first list on, by whose credentials it is read."""

    def __init__(self, session: aiohttp.ClientSession, url: str) -> None:
        self._session = session
        self._url = url
        self._lock = asyncio.Lock()
        self._task: asyncio.Task[None] | None = None
        self._kind = ("", "")
        self._version = ""
        self._objects: dict[str, dict[str, bytes]] = defaultdict(dict)

    async def page(self, endpoint: str, query: dict[str, str], headers: dict[str, str]) -> bytes:
        """A page of the list of that endpoint's objects."""
        async with self._lock:
            if self._task is None:
                await self._read(headers)
                self._task = asyncio.create_task(self._follow(headers))
        first, limit = int(query.get("continue", "0")), int(query.get("limit", _PAGE))
        objects = list(self._objects[endpoint].values())
        metadata = {"resourceVersion": self._version}
        if first + limit < len(objects):
            metadata["continue"] = str(first + limit)
        api_version, kind = self._kind
        head = json.dumps({"apiVersion": api_version, "kind": kind, "metadata": metadata})[:-1]
        return b"".join([head.encode(), b',"items":[', b",".join(objects[first : first + limit]), b"]}"])

    async def _read(self, headers: dict[str, str]) -> None:
        token = ""
        while True:
            query = {"limit": _PAGE, "continue": token} if token else {"limit": _PAGE}
            async with self._session.get(self._url, params=query, headers=headers, raise_for_status=True) as answer:
                page = msgspec.json.decode(await answer.read(), type=_Page)
            for raw in page.items:
                self._put(raw)
            self._kind, self._version, token = (
                (page.api_version, page.kind),
                page.metadata.resource_version,
                page.metadata.continue_,
            )
            if not token:
                return

    async def _follow(self, headers: dict[str, str]) -> None:
        """Whatever ends the watch, it goes on where it was."""
        while True:
            query = {"watch": "true", "resourceVersion": self._version}
            async with self._session.get(self._url, params=query, headers=headers, raise_for_status=True) as answer:
                async for line in answer.content:
                    event = msgspec.json.decode(line, type=_Event)
                    self._version = self._put(event.object, gone=event.type == "DELETED")

    def _put(self, raw: msgspec.Raw, *, gone: bool = False) -> str:
        metadata = msgspec.json.decode(raw, type=_Object).metadata
        objects, key = self._objects[metadata.labels.get(LABEL, "")], f"{metadata.namespace}/{metadata.name}"
        if gone:
            objects.pop(key, None)
        else:
            objects[key] = bytes(raw)
        return metadata.resource_version
