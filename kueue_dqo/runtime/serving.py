"""The HTTP server of a daemon: /healthz and /readyz for the kubelet, /metrics for Prometheus."""

from __future__ import annotations

import asyncio
import logging
import os
import socket
from collections.abc import Awaitable, Callable, Sequence
from types import TracebackType
from typing import Final, NamedTuple, Self

import structlog
from aiohttp import hdrs, web
from aiohttp.http_exceptions import HttpProcessingError
from prometheus_client import CollectorRegistry
from prometheus_client.aiohttp import make_aiohttp_handler

_log: structlog.stdlib.BoundLogger = structlog.get_logger()

_SHUTDOWN_TIMEOUT: Final = 2.0
"""Seconds that requests under way have left at the end."""
_LARGEST_BODY: Final = 1024
"""Bytes of a request's body. Nothing that is served takes one."""
_ACCEPTED_AT_ONCE: Final = 16
"""Connections before any of them is counted: asyncio accepts as many in one go as it lets wait."""
_WAITING: Final = 1024
"""Connections that wait for that. Linux has a limit of its own, 4,096 by default."""


class Limits(NamedTuple):
    """What whoever reaches the port may use up."""

    longest: float = 15.0
    """Seconds that a connection lasts, whatever it does. By default the kubelet waits 1 s, Prometheus 10 s."""
    most: int = 64
    """Connections at a time. One more ends the oldest, so that many which never finish silence nobody."""


Check = Callable[[], Sequence[str]]
"""Reasons against, each one line for a person; none where all is well."""


class HealthServer:
    """Listens from entry to exit of its `async with` block, or from `start` to `stop`.

    `/healthz` and `/readyz` answer 200 with `ok`, or 503 with one line for each reason that `healthy` or `ready` gives.
    A check that raises counts as a reason. Port 0 takes a free one, which `port` then names.

    Whoever reaches the port may connect, so a connection is good for one request, lasts for `limits.longest` seconds
    at most, and ends where it is the oldest of `limits.most` and another comes.
    """

    def __init__(
        self,
        *,
        host: str,
        port: int,
        ready: Check,
        healthy: Check,
        registry: CollectorRegistry,
    ) -> None:
        self.host = host
        self.port = port
        application = web.Application(client_max_size=_LARGEST_BODY)
        application.router.add_get("/healthz", _handler("healthz", healthy))
        application.router.add_get("/readyz", _handler("readyz", ready))
        application.router.add_get("/metrics", make_aiohttp_handler(registry))
        application.on_response_prepare.append(_only_one_request)
        # A child of aiohttp's own: a filter is not inherited, so other servers keep theirs.
        logger = logging.getLogger("aiohttp.server.health")
        logger.addFilter(_is_our_mistake)
        self._runner = web.AppRunner(application, access_log=None, logger=logger, shutdown_timeout=_SHUTDOWN_TIMEOUT)
        self.limits = Limits()
        self._connections: dict[_Connection, None] = {}
        self._server: asyncio.Server | None = None

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self.stop()

    async def start(self) -> None:
        """Raises OSError, which names host and port, where they cannot be listened on."""
        await self._runner.setup()
        try:
            self._server = await asyncio.get_running_loop().create_server(
                self._connection, self.host, self.port, backlog=_ACCEPTED_AT_ONCE
            )
        except BaseException:
            await self._runner.cleanup()
            raise
        # What is accepted at once is bounded, what waits is not: the kernel would drop it, the kubelet's probe too.
        for listening in self._server.sockets:
            with socket.socket(fileno=os.dup(listening.fileno())) as same:
                same.listen(_WAITING)
        self.port = self._server.sockets[0].getsockname()[1]
        _log.info("serving health and metrics", host=self.host, port=self.port)

    async def stop(self) -> None:
        """Takes no more requests and ends."""
        if self._server is not None:
            self._server.close()
        await self._runner.cleanup()
        for connection in list(self._connections):
            connection.cut()

    def _connection(self) -> _Connection:
        server = self._runner.server
        if server is None:
            message = "a connection before the start"
            raise RuntimeError(message)
        return _Connection(server(), self._connections, self.limits)


class _Connection(asyncio.Protocol):
    """aiohttp's own protocol within limits that it does not have: none for a request's head, none for their number."""

    def __init__(self, inner: asyncio.Protocol, connections: dict[_Connection, None], limits: Limits) -> None:
        self._inner = inner
        self._connections = connections
        self._limits = limits

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = transport
        if len(self._connections) >= self._limits.most:
            next(iter(self._connections)).cut()
        self._connections[self] = None
        self._end = asyncio.get_running_loop().call_later(self._limits.longest, self.cut)
        self._inner.connection_made(transport)

    def cut(self) -> None:
        """Ends it at once, whatever has been sent."""
        self._connections.pop(self, None)
        if isinstance(self._transport, asyncio.Transport):
            self._transport.abort()

    def connection_lost(self, exc: Exception | None) -> None:
        self._end.cancel()
        self._connections.pop(self, None)
        self._inner.connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        self._inner.data_received(data)

    def eof_received(self) -> bool | None:
        return self._inner.eof_received()

    def pause_writing(self) -> None:
        self._inner.pause_writing()

    def resume_writing(self) -> None:
        self._inner.resume_writing()


def _is_our_mistake(record: logging.LogRecord) -> bool:
    """Whether it is worth a line: what is no HTTP is not, or whoever reaches the port could fill the log."""
    return record.exc_info is None or not isinstance(record.exc_info[1], HttpProcessingError)


async def _only_one_request(request: web.Request, response: web.StreamResponse) -> None:
    del request
    response.force_close()
    response.headers[hdrs.CONNECTION] = "close"  # this comes after aiohttp has chosen the headers


def _handler(name: str, check: Check) -> Callable[[web.Request], Awaitable[web.Response]]:
    async def handle(request: web.Request) -> web.Response:
        del request
        try:
            reasons = list(check())
        except Exception as error:  # noqa: BLE001 - a check that is broken is no sign of health
            _log.error("check failed", check=name, exc_info=error)
            reasons = [f"the check itself failed: {type(error).__name__}: {error}"]
        if not reasons:
            return web.Response(text="ok")
        return web.Response(status=503, text="".join(" ".join(reason.split()) + "\n" for reason in reasons))

    return handle
