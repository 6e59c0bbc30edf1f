"""The API server of a worker that does what a real one does not do on demand: hang, be older, have too much."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, Final, Self

from aiohttp import web
from aiohttp.test_utils import TestServer

GROUP: Final = "kueue.x-k8s.io"


def queue(name: str, cpu: int, *, cohort: str = "") -> dict[str, Any]:
    """A ClusterQueue of so many cpu in the flavor `default`."""
    flavor = {"name": "default", "resources": [{"name": "cpu", "nominalQuota": str(cpu)}]}
    spec = {"resourceGroups": [{"coveredResources": ["cpu"], "flavors": [flavor]}], "cohortName": cohort}
    return {"metadata": {"name": name}, "spec": spec}


def local_queue(name: str, leads_to: str) -> dict[str, Any]:
    """A LocalQueue in the namespace `team`."""
    return {"metadata": {"name": name, "namespace": "team"}, "spec": {"clusterQueue": leads_to}}


def kubeconfig(api: WorkerApi, bearer: str = "t") -> bytes:
    """One that leads there."""
    content = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "c",
        "contexts": [{"name": "c", "context": {"cluster": "k", "user": "u"}}],
        "clusters": [{"name": "k", "cluster": {"server": api.url}}],
        "users": [{"name": "u", "user": {"token": bearer}}],
    }
    return json.dumps(content).encode()


class WorkerApi:
    """Discovery, lists and watches of Kueue's group. It decides nothing and checks nothing."""

    def __init__(self) -> None:
        self.served: dict[str, set[str]] = {"v1beta2": {"clusterqueues", "localqueues", "cohorts"}}
        """The resources of each version."""
        self.objects: dict[str, dict[str, dict[str, Any]]] = {"clusterqueues": {}, "localqueues": {}, "cohorts": {}}
        """By resource and name."""
        self.answers = asyncio.Event()
        """Cleared: nothing is answered any more."""
        self.answers.set()
        self.refuses: int | None = None
        """The code by which everything is refused."""
        self.silent: set[str] = set()
        """The resources of which nothing is answered."""
        self.bearer = ""
        """The only one that is taken; empty: any, or none."""
        self.nonsense: dict[str, bytes] = {}
        """What is answered instead: to questions for the group, to lists, to watches."""
        self.nonsense_told = 0
        self.asked = 0
        """How many requests have come."""
        self.lists: list[str] = []
        """The paths that were listed."""
        self.watchers = 0
        self.url = ""
        self._version = 1
        self._watches: list[tuple[str, asyncio.Queue[bytes | None]]] = []
        self._ended = asyncio.Event()

    @asynccontextmanager
    async def running(self) -> AsyncIterator[Self]:
        application = web.Application()
        application.router.add_get("/apis/" + GROUP, self._group)
        application.router.add_get("/apis/" + GROUP + "/{version}", self._resources)
        application.router.add_get("/apis/" + GROUP + "/{version}/{resource}", self._objects)
        server = TestServer(application)
        await server.start_server(shutdown_timeout=0.01)  # watches are cut, not waited for
        self.url = f"http://127.0.0.1:{server.port}"
        try:
            yield self
        finally:
            self._ended.set()
            self.cut()
            await server.close()

    def put(self, resource: str, content: dict[str, Any]) -> None:
        """Creates the object, or changes it."""
        name = content["metadata"]["name"]
        kind = "MODIFIED" if name in self.objects[resource] else "ADDED"
        self._version += 1
        content = {**content, "metadata": {**content["metadata"], "resourceVersion": str(self._version)}}
        self.objects[resource][name] = content
        line = json.dumps({"type": kind, "object": content}).encode() + b"\n"
        for watched, lines in self._watches:
            if watched == resource:
                lines.put_nowait(line)

    def remove(self, resource: str, name: str) -> None:
        """Deletes the object."""
        self._version += 1
        content = self.objects[resource].pop(name)
        content = {**content, "metadata": {**content["metadata"], "resourceVersion": str(self._version)}}
        line = json.dumps({"type": "DELETED", "object": content}).encode() + b"\n"
        for watched, lines in self._watches:
            if watched == resource:
                lines.put_nowait(line)

    def _nonsense(self, where: str) -> web.Response | None:
        if where not in self.nonsense:
            return None
        self.nonsense_told += 1
        body = self.nonsense[where]
        status = 200 if b'"Status"' not in body else 503
        return web.Response(body=body, content_type="application/json", status=status)

    def cut(self) -> None:
        """Ends all watches."""
        for _, lines in self._watches:
            lines.put_nowait(None)

    async def _may_go_on(self, request: web.Request) -> web.Response | None:
        self.asked += 1
        waits = [asyncio.ensure_future(each.wait()) for each in (self.answers, self._ended)]
        await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
        for each in waits:
            each.cancel()
        if self.bearer and request.headers.get("Authorization") != f"Bearer {self.bearer}":
            return _refusal(401)
        return _refusal(self.refuses) if self.refuses else None

    async def _group(self, request: web.Request) -> web.StreamResponse:
        refusal = await self._may_go_on(request)
        if refusal is not None:
            return refusal
        if nonsense := self._nonsense("group"):
            return nonsense
        if not self.served:
            return _refusal(404)
        versions = [{"groupVersion": f"{GROUP}/{each}", "version": each} for each in self.served]
        return web.json_response({"kind": "APIGroup", "name": GROUP, "versions": versions})

    async def _resources(self, request: web.Request) -> web.StreamResponse:
        refusal = await self._may_go_on(request)
        if refusal is not None:
            return refusal
        names = self.served.get(request.match_info["version"])
        if names is None:
            return _refusal(404)
        return web.json_response({"kind": "APIResourceList", "resources": [{"name": each} for each in sorted(names)]})

    async def _objects(self, request: web.Request) -> web.StreamResponse:
        resource = request.match_info["resource"]
        refusal = await self._may_go_on(request)
        if refusal is not None:
            return refusal
        if resource in self.silent:
            await self._ended.wait()
        if resource not in self.served.get(request.match_info["version"], ()):
            return _refusal(404)
        if nonsense := self._nonsense("watch" if "watch" in request.query else "list"):
            return nonsense
        if "watch" in request.query:
            return await self._watch(request, resource)
        self.lists.append(request.path)
        first = int(request.query.get("continue", 0))
        last = first + int(request.query["limit"])
        found = list(self.objects[resource].values())
        metadata = {"resourceVersion": str(self._version)} | ({"continue": str(last)} if last < len(found) else {})
        return web.json_response({"metadata": metadata, "items": found[first:last]})

    async def _watch(self, request: web.Request, resource: str) -> web.StreamResponse:
        lines: asyncio.Queue[bytes | None] = asyncio.Queue()
        self._watches.append((resource, lines))
        self.watchers += 1
        response = web.StreamResponse(headers={"Content-Type": "application/json"})
        try:
            await response.prepare(request)
            while (line := await lines.get()) is not None:
                await response.write(line)
        except ConnectionResetError:
            pass
        finally:
            self.watchers -= 1
            self._watches.remove((resource, lines))
        return response


def _refusal(code: int) -> web.Response:
    status = {"kind": "Status", "apiVersion": "v1", "code": code, "message": "refused by the test"}
    return web.json_response(status, status=code)
