"""Requests to the API server: bytes in, bytes out, every failure an error of `errors.py`."""

# A request has many parts, all given by keyword; its timeout is no matter of this side alone, the server gets it too.
# ruff: noqa: ASYNC109, PLR0913

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping, Sequence
from types import TracebackType
from typing import Any, Final, Self

import msgspec

from kueue_dqo import __version__
from kueue_dqo.runtime.answers import unintelligible
from kueue_dqo.runtime.connection import Connection, find_connection
from kueue_dqo.runtime.limiter import TokenBucket
from kueue_dqo.runtime.request_metrics import RequestCounter
from kueue_dqo.runtime.transport import JSON, Transport
from kueue_dqo.runtime.wire import decode_page_end

_JSON_PATCH: Final = "application/json-patch+json"
_MERGE_PATCH: Final = "application/merge-patch+json"
_APPLY: Final = "application/apply-patch+yaml"  # JSON is YAML
_NOTHING: Final[Mapping[str, str]] = {}
_READ_TIMEOUT: Final = 30.0
_WRITE_TIMEOUT: Final = 4.0
"""Seconds. Short enough that a write which a leader began while it was sure to lead ends before another may lead."""


class Client:
    """One API server, by one pool of connections. Used as an async context manager, which closes the pool.

    Every method raises ApiError. `timeout` is in seconds, counts from the moment that the rate limit lets the request
    through, and is sent to the server as well, so that a write which is given up is not carried out later.
    """

    def __init__(
        self,
        connection: Connection,
        *,
        qps: float = 0,
        burst: int = 1,
        connections: int = 64,
        user_agent: str = f"kueue-dqo/{__version__}",
        metrics: RequestCounter | None = None,
        largest: int | None = None,
    ) -> None:
        """`largest` bounds an answer, in bytes, where the server is not trusted with more."""
        self._limiter = TokenBucket(rate=qps, burst=burst) if qps else None
        self._transport = Transport(
            connection, connections=connections, user_agent=user_agent, metrics=metrics, largest=largest
        )

    @classmethod
    async def connect(
        cls,
        *,
        kubeconfig: str | None = None,
        context: str | None = None,
        qps: float = 0,
        burst: int = 1,
        connections: int = 64,
        user_agent: str = f"kueue-dqo/{__version__}",
        metrics: RequestCounter | None = None,
    ) -> Self:
        """A client for the cluster that the kubeconfig, the pod's service account or the environment names.

        Without `kubeconfig` and `context`, the service account comes first, then the files that KUBECONFIG lists, then
        `~/.kube/config`. Writes are held back to `qps` a second after a first `burst`; 0 is no limit. Raises
        ConfigurationError; nothing is sent to the server yet.
        """
        connection = await find_connection(kubeconfig=kubeconfig, context=context)
        return cls(connection, qps=qps, burst=burst, connections=connections, user_agent=user_agent, metrics=metrics)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Closes all connections; requests under way fail."""
        await self._transport.close()

    async def get(
        self,
        path: str,
        *,
        params: Mapping[str, str] = _NOTHING,
        timeout: float = _READ_TIMEOUT,
    ) -> bytes:
        return await self._transport.request("GET", path, params=params, timeout=timeout)

    async def create(
        self,
        path: str,
        body: bytes,
        *,
        params: Mapping[str, str] = _NOTHING,
        strict: bool = True,
        timeout: float = _WRITE_TIMEOUT,
    ) -> bytes:
        """POST to a collection, or to a subresource that is called."""
        return await self._write("POST", path, body, JSON, params=params, strict=strict, timeout=timeout)

    async def replace(
        self,
        path: str,
        body: bytes,
        *,
        params: Mapping[str, str] = _NOTHING,
        strict: bool = True,
        timeout: float = _WRITE_TIMEOUT,
    ) -> bytes:
        """PUT: a compare-and-set where the body holds a resourceVersion.

        A PUT whose connection breaks is sent once more, as HTTP allows: Conflict may mean that the first one landed.
        """
        return await self._write("PUT", path, body, JSON, params=params, strict=strict, timeout=timeout)

    async def json_patch(
        self,
        path: str,
        operations: Sequence[Mapping[str, Any]],
        *,
        field_manager: str,
        params: Mapping[str, str] = _NOTHING,
        strict: bool = True,
        timeout: float = _WRITE_TIMEOUT,
    ) -> bytes:
        """PATCH by RFC 6902. A `test` that fails raises Invalid with `is_failed_test`."""
        return await self._write(
            "PATCH",
            path,
            msgspec.json.encode(operations),
            _JSON_PATCH,
            params={"fieldManager": field_manager, **params},
            strict=strict,
            timeout=timeout,
        )

    async def merge_patch(
        self,
        path: str,
        body: Mapping[str, Any],
        *,
        field_manager: str,
        params: Mapping[str, str] = _NOTHING,
        strict: bool = True,
        timeout: float = _WRITE_TIMEOUT,
    ) -> bytes:
        """PATCH by RFC 7386: null deletes, lists are replaced as a whole."""
        return await self._write(
            "PATCH",
            path,
            msgspec.json.encode(body),
            _MERGE_PATCH,
            params={"fieldManager": field_manager, **params},
            strict=strict,
            timeout=timeout,
        )

    async def apply(
        self,
        path: str,
        body: Mapping[str, Any],
        *,
        field_manager: str,
        force: bool = False,
        params: Mapping[str, str] = _NOTHING,
        strict: bool = True,
        timeout: float = _WRITE_TIMEOUT,
    ) -> bytes:
        """Server-side apply. Without `force`, a field of another manager raises Conflict."""
        return await self._write(
            "PATCH",
            path,
            msgspec.json.encode(body),
            _APPLY,
            params={"fieldManager": field_manager, "force": "true" if force else "false", **params},
            strict=strict,
            timeout=timeout,
        )

    async def delete(
        self,
        path: str,
        *,
        body: bytes | None = None,
        params: Mapping[str, str] = _NOTHING,
        timeout: float = _WRITE_TIMEOUT,
    ) -> bytes:
        """DELETE; `body` may hold DeleteOptions, such as preconditions."""
        if self._limiter:
            await self._limiter.take()
        return await self._transport.request(
            "DELETE", path, body=body, content_type=JSON, params=params, timeout=timeout
        )

    async def pages(
        self,
        path: str,
        *,
        params: Mapping[str, str] = _NOTHING,
        limit: int = 500,
        timeout: float = _READ_TIMEOUT,
    ) -> AsyncIterator[bytes]:
        """The pages of a LIST, each as it came. Raises Gone where a continue token has expired: list anew."""
        token = ""
        while True:
            query = {**params, "limit": str(limit)}
            if token:
                query["continue"] = token
            page = await self.get(path, params=query, timeout=timeout)
            yield page
            try:
                token = decode_page_end(page).metadata.token
            except msgspec.DecodeError as error:
                raise unintelligible("a page of the list is no list", error, path) from error
            if not token:
                return

    def lines(
        self,
        path: str,
        *,
        params: Mapping[str, str] = _NOTHING,
        inactivity: float,
        on_open: Callable[[], None] | None = None,
    ) -> AsyncGenerator[bytes, None]:
        """The lines of a streamed answer, such as a watch's; it ends when the server ends it.

        `on_open` is called when the server begins to answer, which may be long before the first line. Raises
        Unreachable where the stream breaks off, or where nothing comes for `inactivity` seconds. Whoever leaves it
        early closes it (`contextlib.aclosing`).
        """
        return self._transport.lines(path, params=params, inactivity=inactivity, on_open=on_open)

    async def _write(
        self,
        method: str,
        path: str,
        body: bytes,
        content_type: str,
        *,
        params: Mapping[str, str],
        strict: bool,
        timeout: float,
    ) -> bytes:
        if strict:
            params = {"fieldValidation": "Strict", **params}
        if self._limiter:
            await self._limiter.take()
        return await self._transport.request(
            method, path, body=body, content_type=content_type, params=params, timeout=timeout
        )
