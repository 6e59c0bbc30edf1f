"""An HTTP server on loopback that answers as a test says: for what a real API server does not do on demand.

It decides nothing and checks nothing; what an API server does by itself is tested on a real one.
"""

from __future__ import annotations

import asyncio
import json
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Self

from aiohttp import web
from aiohttp.test_utils import TestServer

from kueue_dqo.runtime.client import Client
from kueue_dqo.runtime.connection import Connection

Answer = Callable[[web.Request], Awaitable[web.StreamResponse]]
_DEADLINE = 20.0


class Seen(NamedTuple):
    """A request that came in."""

    method: str
    target: str
    """Path and query as they were sent."""
    path: str
    query: dict[str, str]
    headers: dict[str, str]
    body: bytes
    connection: int
    """The port at the client's end."""


@dataclass
class ScriptedServer:
    """Answers lists and watches by two scripts, one answer each; a script's last answer is given again and again."""

    lists: deque[Answer] = field(default_factory=deque)
    watches: deque[Answer] = field(default_factory=deque)
    seen: list[Seen] = field(default_factory=list)
    url: str = ""
    ended: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def seen_lists(self) -> list[Seen]:
        return [seen for seen in self.seen if "watch" not in seen.query]

    @property
    def seen_watches(self) -> list[Seen]:
        return [seen for seen in self.seen if "watch" in seen.query]

    @asynccontextmanager
    async def running(self) -> AsyncIterator[Self]:
        application = web.Application(client_max_size=2**26)
        application.router.add_route("*", "/{path:.*}", self._answer)
        server = TestServer(application)
        await server.start_server()
        self.url = f"http://127.0.0.1:{server.port}"
        try:
            yield self
        finally:
            self.ended.set()
            await server.close()

    async def _answer(self, request: web.Request) -> web.StreamResponse:
        peer = request.transport.get_extra_info("peername") if request.transport else ("", 0)
        self.seen.append(
            Seen(
                request.method,
                request.raw_path,
                request.path,
                dict(request.query),
                dict(request.headers),
                await request.read(),
                peer[1],
            )
        )
        script = self.watches if "watch" in request.query else self.lists
        answer = script.popleft() if len(script) > 1 else script[0]
        return await answer(request)

    def hang(self, *lines: bytes) -> Answer:
        """A watch in which nothing more comes after these lines."""

        async def answer(request: web.Request) -> web.StreamResponse:
            response = await _stream(request, lines)
            await self.ended.wait()
            return response

        return answer


def says(
    code: int, body: bytes | dict[str, Any] = b"", content_type: str = "application/json", **headers: str
) -> Answer:
    """That code and body; header names with `_` for `-`."""
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    named = {name.replace("_", "-"): value for name, value in headers.items()}

    async def answer(request: web.Request) -> web.StreamResponse:
        del request
        return web.Response(status=code, body=data, content_type=content_type, headers=named)

    return answer


def refuses(code: int, reason: str = "", message: str = "", **headers: str) -> Answer:
    """A Kubernetes Status."""
    return says(code, status(code, reason, message), **headers)


def closes(*lines: bytes) -> Answer:
    """A watch that the server ends in good order after these lines."""

    async def answer(request: web.Request) -> web.StreamResponse:
        return await _stream(request, lines)

    return answer


def cuts(*lines: bytes) -> Answer:
    """A watch, or any other answer, whose connection is reset after these lines."""

    async def answer(request: web.Request) -> web.StreamResponse:
        response = await _stream(request, lines)
        assert request.transport is not None
        request.transport.abort()
        return response

    return answer


def drops() -> Answer:
    """No answer: the connection is reset when the request has come."""

    async def answer(request: web.Request) -> web.StreamResponse:
        assert request.transport is not None
        request.transport.abort()
        return web.Response()

    return answer


def page(version: int, *objects: dict[str, Any], goes_on: str = "") -> Answer:
    """A page of a list; the last one goes on nowhere."""
    metadata = {"resourceVersion": str(version)} | ({"continue": goes_on} if goes_on else {})
    return says(200, {"kind": "NodeList", "apiVersion": "v1", "metadata": metadata, "items": list(objects)})


def thing(name: str, version: int, **fields: Any) -> dict[str, Any]:
    namespace, _, bare = name.rpartition("/")
    metadata = {"name": bare, "resourceVersion": str(version)} | ({"namespace": namespace} if namespace else {})
    return {"metadata": metadata, **fields}


def event(kind: str, name: str, version: int, **fields: Any) -> bytes:
    return json.dumps({"type": kind, "object": thing(name, version, **fields)}).encode() + b"\n"


def bookmark(version: int) -> bytes:
    return json.dumps({"type": "BOOKMARK", "object": {"metadata": {"resourceVersion": str(version)}}}).encode() + b"\n"


def error_event(code: int, reason: str) -> bytes:
    return json.dumps({"type": "ERROR", "object": status(code, reason)}).encode() + b"\n"


def status(code: int, reason: str = "", message: str = "") -> dict[str, Any]:
    return {
        "kind": "Status",
        "apiVersion": "v1",
        "status": "Failure",
        "code": code,
        "reason": reason,
        "message": message,
    }


async def _stream(request: web.Request, lines: Iterable[bytes]) -> web.StreamResponse:
    response = web.StreamResponse(headers={"Content-Type": "application/json"})
    response.enable_chunked_encoding()
    await response.prepare(request)
    for line in lines:
        await response.write(line)
    return response


def client_of(server: ScriptedServer, **options: Any) -> Client:
    return Client(Connection(server=server.url), **options)


async def until(condition: Callable[[], object]) -> None:
    """Returns when the condition holds; fails when it does not come to hold."""
    async with asyncio.timeout(_DEADLINE):
        while not condition():  # noqa: ASYNC110 - conditions are of many kinds, not all of them have an event
            await asyncio.sleep(0.001)
