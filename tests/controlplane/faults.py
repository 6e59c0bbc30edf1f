"""A proxy between a client and the API server that makes what can go wrong on the way happen, and counts requests.

    async with FaultProxy(plane) as proxy:
        kubeconfig = plane.kubeconfig(server=proxy.url)
        proxy.add(Answer(500, verbs=WRITES, every=3))

It speaks TLS on both sides, with the API server's own certificate, so that a kubeconfig of the control plane is good
for it; or plain HTTP in front (`tls=False`). Credentials are passed on as they come. It runs in the test's event loop.
"""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import json
import re
import ssl
import weakref
from collections import Counter
from collections.abc import AsyncIterator
from types import TracebackType
from typing import Any, Final, Self

import aiohttp
import yarl
from aiohttp import web

from kueue_dqo.runtime.transport import cut_unless_read
from tests.controlplane.plane import ControlPlane
from tests.controlplane.processes import LOOPBACK, free_port

READS: Final = frozenset({"get", "list"})
WATCHES: Final = frozenset({"watch"})
WRITES: Final = frozenset({"create", "update", "patch", "delete", "deletecollection"})
ALL: Final = READS | WATCHES | WRITES

# Of one connection only, so never passed on; and what aiohttp sets itself.
_HOP: Final = frozenset(
    {"connection", "keep-alive", "te", "trailer", "transfer-encoding", "upgrade", "host", "content-length"}
)


@dataclasses.dataclass(kw_only=True)
class Fault:
    """Which requests go wrong: the `every`-th of those with such a verb and a path that the pattern matches.

    `times` bounds how often; None is for ever. `hits` counts how often it was. Verbs are those of Kubernetes.
    """

    verbs: frozenset[str] = ALL
    path: str = ""
    every: int = 1
    times: int | None = None
    hits: int = 0
    _seen: int = 0

    def strikes(self, verb: str, path: str, query: dict[str, str]) -> bool:
        """Whether this request is one of them. Counts it."""
        if verb not in self.verbs or not re.search(self.path, path) or not self._applies(query):
            return False
        self._seen += 1
        if self._seen % self.every or self.hits == self.times:
            return False
        self.hits += 1
        return True

    def _applies(self, query: dict[str, str]) -> bool:  # noqa: ARG002  # one fault looks at the query
        return True


@dataclasses.dataclass
class Answer(Fault):
    """The server is not asked; the proxy answers with a Status of this code. `retry_after` is in seconds."""

    code: int
    retry_after: int | None = None


@dataclasses.dataclass
class ExpireWatch(Fault):
    """A watch from a resourceVersion is told that this is too old: by a 410, or by an ERROR event in its stream."""

    as_event: bool = False
    verbs: frozenset[str] = dataclasses.field(default=WATCHES, kw_only=True)

    def _applies(self, query: dict[str, str]) -> bool:  # as above
        return bool(query.get("resourceVersion"))


@dataclasses.dataclass
class Delay(Fault):
    """The request reaches the server so many seconds later."""

    seconds: float


@dataclasses.dataclass
class CutWatch(Fault):
    """The connection of a watch is cut after so many seconds, in the middle of the stream."""

    seconds: float
    verbs: frozenset[str] = dataclasses.field(default=WATCHES, kw_only=True)


@dataclasses.dataclass
class LoseAnswer(Fault):
    """The server gets the request and acts on it; the connection is cut before its answer is passed on."""

    verbs: frozenset[str] = dataclasses.field(default=WRITES, kw_only=True)


@dataclasses.dataclass
class LoseRequest(Fault):
    """The connection is cut before the server gets the request."""


class FaultProxy:
    """See above. `requests` counts what came in, by verb and path; the path has no query."""

    def __init__(self, plane: ControlPlane, *, tls: bool = True) -> None:
        self._target = plane.url
        self._plane = plane
        self._tls = tls
        self._port = free_port()
        self._faults: list[Fault] = []
        self._session: aiohttp.ClientSession | None = None
        self._clients: weakref.WeakSet[asyncio.Transport] = weakref.WeakSet()
        """The connections on which requests came."""
        self._runner: web.AppRunner | None = None
        self.requests: Counter[tuple[str, str]] = Counter()
        self.url = f"{'https' if tls else 'http'}://{LOOPBACK}:{self._port}"

    async def __aenter__(self) -> Self:
        trusted = ssl.create_default_context(cafile=str(self._plane.ca))
        self._session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(ssl=trusted, limit=0),
            timeout=aiohttp.ClientTimeout(total=None),
            auto_decompress=False,
            skip_auto_headers=("User-Agent", "Accept", "Accept-Encoding", "Content-Type"),
        )
        await self.listen()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self.refuse()
        if self._session is not None:
            await self._session.close()

    def add(self, fault: Fault) -> Fault:
        """From now on this goes wrong. Returns the fault, whose `hits` tell how often it did."""
        self._faults.append(fault)
        return fault

    def clear(self) -> None:
        """From now on all goes well."""
        self._faults.clear()

    def count(self, *, verbs: frozenset[str] = ALL, path: str = "") -> int:
        """How many requests with such a verb and a path that the pattern matches came in."""
        found = (n for (verb, at), n in self.requests.items() if verb in verbs and re.search(path, at))
        return sum(found)

    async def refuse(self) -> None:
        """Cuts every connection and refuses new ones, until `listen`."""
        if self._runner is not None:
            # Closed politely, a connection would wait for its client's farewell, for which the test's end does not.
            for client in self._clients:
                client.abort()
            await self._runner.cleanup()
            self._runner = None

    async def listen(self) -> None:
        """Takes connections, on the same port as before."""
        app = web.Application(client_max_size=64 * 2**20)
        app.router.add_route("*", "/{path:.*}", self._handle)
        # At the end handlers are cancelled, not waited for. To aiohttp a timeout of 0 would be none.
        self._runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.01, handler_cancellation=True)
        await self._runner.setup()
        tls = None
        if self._tls:
            tls = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
            tls.load_cert_chain(self._plane.ca, self._plane.key)
        await web.TCPSite(self._runner, LOOPBACK, self._port, ssl_context=tls, reuse_address=True).start()

    async def _handle(self, request: web.Request) -> web.StreamResponse:
        query = dict(request.query)
        verb = verb_of(request.method, request.path, query)
        self.requests[verb, request.path] += 1
        if request.transport is not None:
            self._clients.add(request.transport)
        cut: float | None = None
        loses_answer = False
        for fault in [each for each in self._faults if each.strikes(verb, request.path, query)]:
            match fault:
                case Delay(seconds=seconds):
                    await asyncio.sleep(seconds)
                case Answer(code=code, retry_after=retry_after):
                    headers = {"Retry-After": str(retry_after)} if retry_after is not None else {}
                    return web.json_response(_status(code), status=code, headers=headers)
                case ExpireWatch(as_event=True):
                    event = {"type": "ERROR", "object": _status(410)}
                    return web.Response(text=json.dumps(event) + "\n", content_type="application/json")
                case ExpireWatch():
                    return web.json_response(_status(410), status=410)
                case LoseRequest():
                    return _cut(request)
                case LoseAnswer():
                    loses_answer = True
                case CutWatch(seconds=seconds):
                    cut = seconds
        return await self._forward(request, cut_after=cut, loses_answer=loses_answer)

    async def _forward(
        self, request: web.Request, *, cut_after: float | None, loses_answer: bool
    ) -> web.StreamResponse:
        if self._session is None:
            raise RuntimeError("the proxy is not running")
        try:
            async with self._session.request(
                request.method,
                yarl.URL(f"{self._target}{request.raw_path}", encoded=True),
                headers=_passed_on(request.headers),
                data=await request.read() or None,
                allow_redirects=False,
            ) as answer:
                try:
                    if loses_answer:
                        await answer.read()
                        return _cut(request)
                    return await self._pass_back(request, answer, cut_after)
                finally:
                    cut_unless_read(answer)
        except aiohttp.ClientError:  # the API server is away: so is the proxy
            return _cut(request)

    @staticmethod
    async def _pass_back(
        request: web.Request, answer: aiohttp.ClientResponse, cut_after: float | None
    ) -> web.StreamResponse:
        response = web.StreamResponse(status=answer.status, reason=answer.reason, headers=_passed_on(answer.headers))
        if answer.content_length is not None:
            response.content_length = answer.content_length
        await response.prepare(request)
        with contextlib.suppress(ConnectionResetError):  # the client has gone
            try:
                async with asyncio.timeout(cut_after):
                    async for chunk in _chunks(answer):
                        await response.write(chunk)
            except TimeoutError:
                return _cut(request, response)
            except aiohttp.ClientError:  # the API server broke off in the middle
                return _cut(request, response)
            await response.write_eof()
        return response


async def _chunks(answer: aiohttp.ClientResponse) -> AsyncIterator[bytes]:
    """What arrives, as it arrives: an event of a watch is not held back."""
    async for chunk, _ in answer.content.iter_chunks():
        if chunk:
            yield chunk


def verb_of(method: str, path: str, query: dict[str, str]) -> str:
    """The Kubernetes verb of a request."""
    # /api/v1/… or /apis/GROUP/VERSION/…, then perhaps /namespaces/NAMESPACE, then the collection and perhaps a name.
    parts = path.strip("/").split("/")
    rest = parts[2:] if parts[0] == "api" else parts[3:]
    if rest[:1] == ["namespaces"] and len(rest) > 2:  # namespaces, NAMESPACE
        rest = rest[2:]
    is_collection = len(rest) == 1
    if method in {"GET", "HEAD"}:
        if query.get("watch", "").lower() in {"true", "1"}:
            return "watch"
        return "list" if is_collection else "get"
    if method == "DELETE" and is_collection:
        return "deletecollection"
    return {"POST": "create", "PUT": "update", "PATCH": "patch", "DELETE": "delete"}.get(method, method.lower())


def _passed_on(headers: Any) -> list[tuple[str, str]]:
    return [(name, value) for name, value in headers.items() if name.lower() not in _HOP]


def _cut(request: web.Request, response: web.StreamResponse | None = None) -> web.StreamResponse:
    """Resets the connection: the client gets neither an end nor an error."""
    if request.transport is not None:
        request.transport.abort()
    return response if response is not None else web.Response()


def _status(code: int) -> dict[str, Any]:
    reasons = {404: "NotFound", 409: "Conflict", 410: "Expired", 429: "TooManyRequests", 500: "InternalError"}
    return {
        "apiVersion": "v1",
        "kind": "Status",
        "metadata": {},
        "status": "Failure",
        "code": code,
        "reason": reasons.get(code, "ServiceUnavailable"),
        "message": f"a fault of the test: {code}",
    }
