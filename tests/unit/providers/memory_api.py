"""As much of an API server as a publisher meets: objects with versions, lists, watches, JSON patches."""

from __future__ import annotations

import asyncio
import copy
import json
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping, Sequence
from typing import Any

from kueue_dqo.runtime.errors import Invalid, NotFound
from kueue_dqo.runtime.resources import CAPACITY_PROVIDERS, Resource

Plain = dict[str, Any]


class Patch:
    """A patch that was sent, and when."""

    def __init__(self, path: str, operations: list[Plain], manager: str) -> None:
        self.name = path.split("/")[-2]
        self.manager = manager
        self.at = asyncio.get_running_loop().time()
        self.values = {each["path"]: each["value"] for each in operations}

    @property
    def condition(self) -> Plain:
        """Ours, which is the last."""
        condition: Plain = self.values["/status/conditions"][-1]
        return condition


class MemoryApi:
    """`before_patch` may raise what a patch ends in, or change objects; `after_patch` may lose its answer."""

    def __init__(self) -> None:
        self.objects: dict[str, Plain] = {}
        self.patches: list[Patch] = []
        self.gets: list[str] = []
        self.absent: set[str] = set()
        """Resources that the server does not have, by their collections' paths."""
        self.before_patch: Callable[[], None] = _nothing
        self.after_patch: Callable[[], None] = _nothing
        self._version = 0
        self._watches: dict[str, list[asyncio.Queue[bytes]]] = {}

    # --- as a client's methods ---------------------------------------------------------------------------------------

    async def pages(self, path: str, **_: Any) -> AsyncIterator[bytes]:
        if path in self.absent:
            raise NotFound(method="GET", path=path, code=404, reason="NotFound")
        items = [each for name, each in self.objects.items() if name.rpartition("/")[0] == path]
        yield json.dumps({"metadata": {"resourceVersion": str(self._version)}, "items": items}).encode()

    async def lines(self, path: str, *, on_open: Callable[[], None], **_: Any) -> AsyncGenerator[bytes, None]:
        news: asyncio.Queue[bytes] = asyncio.Queue()
        self._watches.setdefault(path, []).append(news)
        on_open()
        while True:
            yield await news.get()

    async def get(self, path: str, **_: Any) -> bytes:
        self.gets.append(path)
        return json.dumps(self._at(path)).encode()

    async def json_patch(
        self, path: str, operations: Sequence[Mapping[str, Any]], *, field_manager: str, **_: Any
    ) -> bytes:
        sent: list[Plain] = json.loads(json.dumps(operations))
        self.before_patch()
        target = path.removesuffix("/status")
        patched = copy.deepcopy(self._at(target))
        for each in sent:
            _apply(patched, each, path)
        self.patches.append(Patch(path, sent, field_manager))
        self._store(target, patched, "MODIFIED")
        self.after_patch()
        await asyncio.sleep(0.01)  # the watch is quicker than the answer
        return json.dumps(self._at(target)).encode()

    # --- as what others do -------------------------------------------------------------------------------------------

    def put(self, resource: Resource, name: str, **content: Any) -> None:
        """Creates it, or changes what is given; another spec is another generation."""
        path = resource.path(name)
        old = self.objects.get(path)
        new: Plain = copy.deepcopy(old) if old else {"metadata": {"name": name, "uid": name, "generation": 1}}
        metadata = {**new["metadata"], **content.pop("metadata", {})}
        if old and "spec" in content and content["spec"] != old.get("spec"):
            metadata["generation"] = old["metadata"]["generation"] + 1
        self._store(path, {**new, **content, "metadata": metadata}, "MODIFIED" if old else "ADDED")

    def delete(self, resource: Resource, name: str) -> None:
        path = resource.path(name)
        gone = self.objects.pop(path)
        self._version += 1
        gone["metadata"]["resourceVersion"] = str(self._version)
        self._tell(path, "DELETED", gone)

    def status(self, name: str) -> Plain:
        """Of a CapacityProvider; empty where there is none."""
        found: Plain = self._at(CAPACITY_PROVIDERS.path(name)).get("status", {})
        return found

    def condition(self, name: str) -> Plain:
        """CapacitySynchronized."""
        conditions: list[Plain] = self.status(name).get("conditions", [])
        return next((each for each in conditions if each["type"] == "CapacitySynchronized"), {})

    def capacity(self, name: str) -> dict[str, Plain] | None:
        """What is published, by flavor."""
        capacity = self.status(name).get("capacity")
        return {each["name"]: each["resources"] for each in capacity["flavors"]} if capacity is not None else None

    # --- inside ------------------------------------------------------------------------------------------------------

    def _at(self, path: str) -> Plain:
        if path not in self.objects:
            raise NotFound(method="GET", path=path, code=404, reason="NotFound")
        return self.objects[path]

    def _store(self, path: str, obj: Plain, kind: str) -> None:
        self._version += 1
        obj["metadata"]["resourceVersion"] = str(self._version)
        self.objects[path] = obj
        self._tell(path, kind, obj)

    def _tell(self, path: str, kind: str, obj: Plain) -> None:
        for watch in self._watches.get(path.rpartition("/")[0], []):
            watch.put_nowait(json.dumps({"type": kind, "object": obj}).encode())


def _apply(obj: Plain, operation: Plain, path: str) -> None:
    *parents, last = operation["path"].strip("/").split("/")
    place: Any = obj
    for step in parents:
        if step not in place:
            raise Invalid(method="PATCH", path=path, code=422, reason="Invalid", message="no such path")
        place = place[step]
    if operation["op"] == "test":
        if place.get(last) != operation["value"]:
            raise Invalid(method="PATCH", path=path, code=422, reason="Invalid", message="test failed")
        return
    assert operation["op"] == "add"
    place[last] = operation["value"]


def _nothing() -> None:
    """As the server is by itself."""
