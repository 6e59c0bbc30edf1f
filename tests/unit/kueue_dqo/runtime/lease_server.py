"""One Lease in memory with the API server's rules, and everything that a network does to requests."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable
from typing import Any

import msgspec

from kueue_dqo.runtime.errors import Conflict, NotFound, ServerFailed, Unreachable

COLLECTION = "/apis/coordination.k8s.io/v1/namespaces/kueue-system/leases"
OBJECT = f"{COLLECTION}/dqo"


class LeaseServer:
    """What is stored. Clients reach it each by a network of its own."""

    def __init__(self) -> None:
        self.lease: dict[str, Any] | None = None
        self.writes = 0

    @property
    def spec(self) -> dict[str, Any]:
        assert self.lease is not None
        spec: dict[str, Any] = self.lease["spec"]
        return spec

    @property
    def holder(self) -> str:
        holder: str = self.spec["holderIdentity"]
        return holder

    def edit(self, **spec: Any) -> None:
        """As somebody else does it, with kubectl."""
        assert self.lease is not None
        self._store({**self.lease, "spec": {**self.spec, **spec}})

    def handle(self, method: str, path: str, body: bytes) -> bytes:
        """Does it, and returns the answer."""
        if method == "POST":
            assert path == COLLECTION
            if self.lease is not None:
                raise Conflict(method=method, path=path, code=409, reason="AlreadyExists")
            return self._store(msgspec.json.decode(body))
        assert path == OBJECT
        if self.lease is None:
            raise NotFound(method=method, path=path, code=404, reason="NotFound")
        if method == "GET":
            return msgspec.json.encode(self.lease)
        lease = msgspec.json.decode(body)
        version = lease["metadata"]["resourceVersion"]
        if version != self.lease["metadata"]["resourceVersion"]:
            raise Conflict(method=method, path=path, code=409, reason="Conflict")
        return self._store(lease)

    def _store(self, lease: dict[str, Any]) -> bytes:
        self.writes += 1
        self.lease = {**lease, "metadata": {**lease["metadata"], "resourceVersion": str(self.writes)}}
        return msgspec.json.encode(self.lease)


class LeaseNetwork:
    """A client of the server. `trouble` is called for each request and says what becomes of it."""

    def __init__(self, server: LeaseServer, trouble: Callable[[str], str | float] = lambda _: 0.0) -> None:
        self.trouble = trouble
        self.requests: list[tuple[str, float]] = []
        """(method, timeout) of all."""
        self._server = server
        self._underway: set[asyncio.Task[None]] = set()

    async def get(self, path: str, /, *, timeout: float) -> bytes:  # noqa: ASYNC109 - as the client
        return await self._request("GET", path, b"", timeout)

    async def create(self, path: str, body: bytes, /, *, timeout: float) -> bytes:  # noqa: ASYNC109 - as the client
        return await self._request("POST", path, body, timeout)

    async def replace(self, path: str, body: bytes, /, *, timeout: float) -> bytes:  # noqa: ASYNC109 - as the client
        return await self._request("PUT", path, body, timeout)

    async def _request(self, method: str, path: str, body: bytes, limit: float) -> bytes:
        """Trouble: seconds until the server does it and as long again until the answer is here; or a word.

        `refused`: it never arrives. `failed`: 500. `cut`: it is done, but the answer is lost. `hangs`: never done.
        """
        self.requests.append((method, limit))
        trouble = self.trouble(method)
        if trouble == "refused":
            raise Unreachable("refused", method=method, path=path, may_have_landed=False)
        if trouble == "failed":
            raise ServerFailed(method=method, path=path, code=500)
        answer: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()
        if trouble != "hangs":
            delay = 0.0 if isinstance(trouble, str) else trouble
            # On its own: a request that its sender has given up may still be done.
            task = asyncio.create_task(self._handle(method, path, body, delay, answer))
            self._underway.add(task)
            task.add_done_callback(self._underway.discard)
        try:
            async with asyncio.timeout(limit):
                result = await answer
                if trouble == "cut":
                    raise Unreachable("reset", method=method, path=path, may_have_landed=True)
                return result
        except TimeoutError as error:
            raise Unreachable("no answer", method=method, path=path, may_have_landed=True) from error

    async def _handle(self, method: str, path: str, body: bytes, delay: float, answer: asyncio.Future[bytes]) -> None:
        await asyncio.sleep(delay)
        try:
            result = self._server.handle(method, path, body)
        except (Conflict, NotFound) as error:
            await asyncio.sleep(delay)
            if not answer.done():
                answer.set_exception(error)
        else:
            await asyncio.sleep(delay)
            if not answer.done():
                answer.set_result(result)


def random_trouble(chance: random.Random, until: float) -> Callable[[str], str | float]:
    """Everything that can happen, up to a time; afterwards quick answers."""

    def trouble(method: str) -> str | float:
        del method
        if asyncio.get_running_loop().time() >= until:
            return 0.01
        kind = chance.choice(["quick"] * 6 + ["slow", "very slow", "refused", "failed", "cut", "hangs"])
        if kind == "quick":
            return chance.uniform(0, 0.2)
        if kind == "slow":
            return chance.uniform(0, 3)
        if kind == "very slow":
            return chance.uniform(3, 20)
        return kind

    return trouble
