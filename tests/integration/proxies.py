"""A fault proxy for tests that block: it runs in a thread of its own."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from typing import Any, TypeVar

from tests.controlplane.faults import ALL, Fault, FaultProxy
from tests.controlplane.plane import ControlPlane

T = TypeVar("T")
F = TypeVar("F", bound=Fault)


class Proxy:
    """See FaultProxy; every call is made in the proxy's own thread."""

    def __init__(self, proxy: FaultProxy, loop: asyncio.AbstractEventLoop) -> None:
        self._proxy = proxy
        self._loop = loop
        self.ended = asyncio.Event()
        self.url = proxy.url

    def add(self, fault: F) -> F:
        """From now on this goes wrong."""

        async def add() -> None:
            self._proxy.add(fault)

        self._do(add())
        return fault

    def clear(self) -> None:
        """From now on all goes well."""

        async def clear() -> None:
            self._proxy.clear()

        self._do(clear())

    def count(self, *, verbs: frozenset[str] = ALL, path: str = "") -> int:
        """How many requests with such a verb and a path that the pattern matches came in."""

        async def count() -> int:
            return self._proxy.count(verbs=verbs, path=path)

        return self._do(count())

    def end(self) -> None:
        """Ends it; nothing may be asked of it any more."""
        self._loop.call_soon_threadsafe(self.ended.set)

    def _do(self, work: Coroutine[Any, Any, T]) -> T:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result()


@contextmanager
def running_proxy(plane: ControlPlane) -> Iterator[Proxy]:
    """In front of the plane's API server, until the end."""
    started: Future[Any] = Future()

    async def serve() -> None:
        async with FaultProxy(plane) as running:
            mine = Proxy(running, asyncio.get_running_loop())
            started.set_result(mine)
            await mine.ended.wait()

    with ThreadPoolExecutor(1, "fault proxy") as threads:
        serving = threads.submit(asyncio.run, serve())
        wait([started, serving], return_when=FIRST_COMPLETED)
        if serving.done():
            serving.result()
        proxy: Proxy = started.result()
        try:
            yield proxy
        finally:
            proxy.end()
        serving.result()
