"""The HTTP server of a daemon: /healthz and /readyz for the kubelet, /metrics for Prometheus."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from types import TracebackType
from typing import Final, Self

import structlog
from aiohttp import web
from prometheus_client import CollectorRegistry
from prometheus_client.aiohttp import make_aiohttp_handler

_log: structlog.stdlib.BoundLogger = structlog.get_logger()

_SHUTDOWN_TIMEOUT: Final = 2.0
"""Seconds that requests under way have left at the end."""

Check = Callable[[], Sequence[str]]
"""Reasons against, each one line for a person; none where all is well."""


class HealthServer:
    """Listens from entry to exit of its `async with` block, or from `start` to `stop`.

    `/healthz` and `/readyz` answer 200 with `ok`, or 503 with one line for each reason that `healthy` or `ready` gives.
    A check that raises counts as a reason. Port 0 takes a free one, which `port` then names.
    """

    def __init__(self, *, host: str, port: int, ready: Check, healthy: Check, registry: CollectorRegistry) -> None:
        self.host = host
        self.port = port
        application = web.Application()
        application.router.add_get("/healthz", _handler("healthz", healthy))
        application.router.add_get("/readyz", _handler("readyz", ready))
        application.router.add_get("/metrics", make_aiohttp_handler(registry))
        self._runner = web.AppRunner(application, access_log=None, shutdown_timeout=_SHUTDOWN_TIMEOUT)

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
            await web.TCPSite(self._runner, self.host, self.port).start()
        except BaseException:
            await self._runner.cleanup()
            raise
        self.port = self._runner.addresses[0][1]
        _log.info("serving health and metrics", host=self.host, port=self.port)

    async def stop(self) -> None:
        """Takes no more requests and ends."""
        await self._runner.cleanup()


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
