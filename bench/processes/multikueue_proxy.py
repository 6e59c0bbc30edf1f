"""The API servers of many workers that are one: a process that answers HTTP at many ports.

Each endpoint shows the objects that carry its label. Their namespace, which only they have, goes by the name that it
has on the manager, which is as long. TLS is by the API server's own certificate; credentials are passed on.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import ssl
import sys
from collections import Counter
from collections.abc import AsyncIterator
from typing import Any, Final

import aiohttp
from aiohttp import web

from bench.processes.multikueue_store import LABEL, Store
from kueue_dqo.runtime.transport import cut_unless_read
from tests.controlplane.faults import verb_of
from tests.controlplane.processes import LOOPBACK, free_port

_SELECTOR: Final = "labelSelector"
_LABELLED: Final = frozenset({"clusterqueues", "localqueues", "cohorts"})
_PASSED_ON: Final = ("Authorization", "Accept", "User-Agent")


class _Endpoint:
    """One worker."""

    def __init__(self, name: str, namespace: str) -> None:
        self.name = name
        self.port = free_port()
        self.replaced = f'"namespace":"{name}"'.encode(), f'"namespace":"{namespace}"'.encode()
        self.answers = asyncio.Event()
        self.answers.set()
        self.transports: set[asyncio.Transport] = set()
        """Of the requests that are under way."""

    def hang(self) -> None:
        """What is under way breaks off, and nothing is answered any more."""
        self.answers.clear()
        for each in self.transports:
            each.abort()


class _Proxy:
    """What it has seen is counted since it was last asked."""

    def __init__(self, url: str, endpoints: list[_Endpoint], session: aiohttp.ClientSession) -> None:
        self._url = url
        self._by_port = {each.port: each for each in endpoints}
        self._session = session
        self._stores: dict[str, Store] = {}
        self.requests: Counter[str] = Counter()
        self.timeouts: list[int] = []
        """Seconds that each watch is to last."""
        self.watches = 0
        """That are open now."""

    async def handle(self, request: web.Request) -> web.StreamResponse:
        transport = request.transport
        if transport is None:  # the client has gone
            return web.Response()
        endpoint = self._by_port[transport.get_extra_info("sockname")[1]]
        query = dict(request.query)
        verb = verb_of(request.method, request.path, query)
        self.requests[verb] += 1
        if verb == "watch":
            self.timeouts.append(int(query.get("timeoutSeconds", "0")))
        if request.path.rpartition("/")[2] in _LABELLED:
            query[_SELECTOR] = f"{LABEL}={endpoint.name}"
        endpoint.transports.add(transport)
        try:
            await endpoint.answers.wait()
            return await self._forward(request, endpoint, query)
        finally:
            endpoint.transports.discard(transport)

    async def _forward(self, request: web.Request, endpoint: _Endpoint, query: dict[str, str]) -> web.StreamResponse:
        headers = {name: request.headers[name] for name in _PASSED_ON if name in request.headers}
        if _SELECTOR in query and "watch" not in query:
            store = self._stores.setdefault(request.path, Store(self._session, f"{self._url}{request.path}"))
            body = (await store.page(endpoint.name, query, headers)).replace(*endpoint.replaced)
            return web.Response(body=body, content_type="application/json")
        async with self._session.get(f"{self._url}{request.path}", params=query, headers=headers) as answer:
            if "watch" not in query:
                body = await answer.read()
                return web.Response(status=answer.status, body=body, content_type=answer.content_type)
            self.watches += 1
            try:
                return await _stream(request, answer, endpoint)
            finally:
                self.watches -= 1
                cut_unless_read(answer)


async def _stream(request: web.Request, answer: aiohttp.ClientResponse, endpoint: _Endpoint) -> web.StreamResponse:
    response = web.StreamResponse(status=answer.status, headers={"Content-Type": answer.headers["Content-Type"]})
    with contextlib.suppress(ConnectionResetError):  # the client has gone
        await response.prepare(request)
        async for lines in _lines(answer):
            await response.write(lines.replace(*endpoint.replaced))
        await response.write_eof()
    return response


async def _lines(answer: aiohttp.ClientResponse) -> AsyncIterator[bytes]:
    """What arrives, as it arrives, in whole lines."""
    rest = b""
    async for chunk, _ in answer.content.iter_chunks():
        whole, end, rest = (rest + chunk).rpartition(b"\n")
        if end:
            yield whole + end
    if rest:
        yield rest


async def _main(url: str, ca: str, key: str) -> None:
    namespaces: dict[str, str] = json.loads(await _next_line())
    endpoints = {name: _Endpoint(name, namespace) for name, namespace in namespaces.items()}
    trusted = ssl.create_default_context(cafile=ca)
    own = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    own.load_cert_chain(ca, key)
    connector = aiohttp.TCPConnector(ssl=trusted, limit=0)
    async with aiohttp.ClientSession(connector=connector, timeout=aiohttp.ClientTimeout(total=None)) as session:
        proxy = _Proxy(url, list(endpoints.values()), session)
        app = web.Application()
        app.router.add_route("GET", "/{path:.*}", proxy.handle)
        runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.01, handler_cancellation=True)
        await runner.setup()
        for each in endpoints.values():
            await web.TCPSite(runner, LOOPBACK, each.port, ssl_context=own).start()
        _say({each.name: f"https://{LOOPBACK}:{each.port}" for each in endpoints.values()})
        while line := await _next_line():
            _say(_obey(json.loads(line), proxy, endpoints))
        await runner.cleanup()


def _obey(command: dict[str, Any], proxy: _Proxy, endpoints: dict[str, _Endpoint]) -> Any:
    if "hang" in command:
        endpoints[command["hang"]].hang()
    elif "answer" in command:
        endpoints[command["answer"]].answers.set()
    else:
        seen = {"requests": dict(proxy.requests), "timeouts": proxy.timeouts, "watches": proxy.watches}
        proxy.requests, proxy.timeouts = Counter(), []
        return seen
    return {}


async def _next_line() -> str:
    return await asyncio.to_thread(sys.stdin.readline)


def _say(content: Any) -> None:
    print(json.dumps(content), flush=True)


if __name__ == "__main__":
    asyncio.run(_main(*sys.argv[1:]))
