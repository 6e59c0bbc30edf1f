"""HTTP to one API server: connections, headers, and what became of a request."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncGenerator, Callable, Iterable, Mapping
from http import HTTPStatus
from typing import Any, Final
from urllib.parse import urlencode

import aiohttp
from yarl import URL

from kueue_dqo.runtime.answers import error_of
from kueue_dqo.runtime.connection import Connection
from kueue_dqo.runtime.errors import Answered, Silent, Unreachable
from kueue_dqo.runtime.lines import LineSplitter
from kueue_dqo.runtime.request_metrics import RequestCounter

JSON: Final = "application/json"
_CONNECT_TIMEOUT: Final = 30.0
"""Seconds until a stream is connected; any other request has its own limit for all of it."""

# A thousand queues whose usage changes every second stay far below. More is a fault, or meant to keep us busy.
_FLOOD_BYTES: Final = 16 * 2**20
_FLOOD_BYTES_A_SECOND: Final = 2**20
_FLOOD_CHUNKS: Final = 20_000
_FLOOD_CHUNKS_A_SECOND: Final = 1_000

_SHORTEST_SECRET: Final = 6
"""Characters. Of a token, its parts between dots count as well, which are long; anything shorter is a word."""
_CREDENTIALS_IN_URL: Final = re.compile(r"(//)[^/@\s]+@")

_NEVER_SENT: Final = (
    aiohttp.ClientConnectorError,
    aiohttp.ClientHttpProxyError,
    aiohttp.ConnectionTimeoutError,
    aiohttp.ServerFingerprintMismatch,
)


class Transport:
    """The connections to one API server. Its methods raise ApiError."""

    def __init__(
        self,
        connection: Connection,
        *,
        connections: int,
        user_agent: str,
        metrics: RequestCounter | None,
        largest: int | None = None,
    ) -> None:
        """`largest` is for a server that is not trusted: the most bytes of an answer and of a line of a stream.

        Such a server may not compress either, nor send more than a stream of changes ever has.
        """
        self._connection = connection
        self._largest = largest
        self._metrics = metrics
        self._was_rejected = False
        self._authorization = ""
        """What was sent last."""
        self._options: Final[dict[str, Any]] = {
            "allow_redirects": False,
            "proxy": connection.proxy,
            "server_hostname": connection.server_name,
        }
        headers = [("Accept", JSON), ("User-Agent", user_agent), *connection.headers]
        if largest is not None:
            headers.append(("Accept-Encoding", "identity"))
        self._session = self._open_session(headers, limit=connections)
        # A watch holds its connection for minutes; it must not take one from the pool that writes wait for.
        self._streams = self._open_session(headers, limit=0)

    async def close(self) -> None:
        """Closes all connections; requests under way fail."""
        await self._streams.close()
        await self._session.close()

    async def request(  # noqa: PLR0913 - the parts of a request
        self,
        method: str,
        path: str,
        *,
        params: Mapping[str, str],
        timeout: float,  # noqa: ASYNC109 - sent to the server as well
        body: bytes | None = None,
        content_type: str = JSON,
    ) -> bytes:
        """One request, its answer as a whole."""
        url = self._url(path, {**params, "timeout": f"{timeout:g}s"})
        limit = aiohttp.ClientTimeout(total=timeout)
        try:
            headers = await self._headers(content_type if body is not None else "")
            async with self._session.request(
                method, url, data=body, headers=headers, timeout=limit, **self._options
            ) as response:
                if not _is_success(response):
                    raise await self._failure(response, method, path)
                answer = await self._read(response, method, path)
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            raise self._unreachable(error, method, path, timeout) from error
        self._was_rejected = False
        self._count(method, str(response.status))
        return answer

    async def lines(
        self, path: str, *, params: Mapping[str, str], inactivity: float, on_open: Callable[[], None] | None = None
    ) -> AsyncGenerator[bytes, None]:
        """The lines of a streamed answer, until the server ends it."""
        timeout = aiohttp.ClientTimeout(total=None, connect=min(inactivity, _CONNECT_TIMEOUT), sock_read=inactivity)
        splitter = LineSplitter()
        try:
            headers = await self._headers("")
            async with self._streams.get(
                self._url(path, params), headers=headers, timeout=timeout, **self._options
            ) as response:
                if not _is_success(response):
                    raise await self._failure(response, "GET", path)
                self._count("GET", str(response.status))
                if on_open:
                    on_open()
                flood = _Flood()
                try:
                    async for chunk in response.content.iter_any():
                        for line in splitter.feed(chunk):
                            yield line
                        if self._largest is None:
                            continue
                        if splitter.waiting > self._largest or flood.is_one(chunk):
                            raise self._too_large("GET", path)
                        await asyncio.sleep(0)  # where more is always there, nobody else would have a turn
                finally:
                    cut_unless_read(response)
        except aiohttp.SocketTimeoutError as error:
            self._count("GET", "<error>")
            text = f"nothing came for {inactivity:g} s"
            raise Silent(text, method="GET", path=path, may_have_landed=True) from error
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            raise self._unreachable(error, "GET", path, _CONNECT_TIMEOUT) from error
        if splitter.rest:
            yield splitter.rest

    def _open_session(self, headers: Iterable[tuple[str, str]], *, limit: int) -> aiohttp.ClientSession:
        # No trust_env: it reads ~/.netrc at every request, and its NO_PROXY knows no networks.
        return aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=limit, ssl=self._connection.tls or True),
            headers=list(headers),
            auto_decompress=self._largest is None,
            cookie_jar=aiohttp.DummyCookieJar(),
        )

    def _url(self, path: str, params: Mapping[str, str]) -> URL:
        return URL(f"{self._connection.server}{path}?{urlencode(params)}", encoded=True)

    async def _headers(self, content_type: str) -> dict[str, str]:
        headers = {"Content-Type": content_type} if content_type else {}
        authorization = await self._connection.credentials.header()
        if authorization:
            headers["Authorization"] = self._authorization = authorization
        if self._was_rejected:
            # A client certificate stays with its connection. Until one is accepted, none is used a second time.
            headers["Connection"] = "close"
        return headers

    async def _failure(self, response: aiohttp.ClientResponse, method: str, path: str) -> Answered:
        body = await self._read(response, method, path)
        self._count(method, str(response.status))
        if response.status == HTTPStatus.UNAUTHORIZED:
            self._connection.credentials.reject()
            self._was_rejected = True
        return error_of(
            method=method,
            path=path,
            code=response.status,
            body=self._without_secrets(body.decode(errors="surrogateescape")).encode(errors="surrogateescape"),
            retry_after=response.headers.get("Retry-After", ""),
        )

    async def _read(self, response: aiohttp.ClientResponse, method: str, path: str) -> bytes:
        """The body. Raises Unreachable where it is larger than it may be."""
        if self._largest is None:
            return await response.read()
        chunks, size = [], 0
        async for chunk in response.content.iter_any():
            chunks.append(chunk)
            size += len(chunk)
            if size > self._largest:
                cut_unless_read(response)
                raise self._too_large(method, path)
        return b"".join(chunks)

    def _too_large(self, method: str, path: str) -> Unreachable:
        self._count(method, "<error>")
        text = f"the answer is larger than it may be ({self._largest} bytes, less for what never ends)"
        return Unreachable(text, method=method, path=path, may_have_landed=True)

    def _unreachable(self, error: Exception, method: str, path: str, timeout: float) -> Unreachable:
        self._count(method, "<error>")
        if isinstance(error, aiohttp.ClientHttpProxyError):
            text = f"the proxy answered {error.status} {error.message}"
        elif isinstance(error, TimeoutError) and not isinstance(error, aiohttp.ConnectionTimeoutError):
            text = f"no answer for {timeout:g} s"
        else:
            text = self._without_secrets(str(error)) or type(error).__name__
        return Unreachable(text, method=method, path=path, may_have_landed=not isinstance(error, _NEVER_SENT))

    def _without_secrets(self, text: str) -> str:
        """Servers and proxies repeat requests in their answers, and libraries repeat addresses in their errors."""
        scheme, _, token = self._authorization.partition(" ")
        for secret in (token or scheme, *token.split(".")):
            if len(secret) >= _SHORTEST_SECRET:
                text = text.replace(secret, "***")
        return _CREDENTIALS_IN_URL.sub(r"\1***@", text)

    def _count(self, method: str, code: str) -> None:
        if self._metrics:
            self._metrics.count(code, method)


class _Flood:
    """What a stream has sent, and whether that is more than any stream of changes has."""

    def __init__(self) -> None:
        self._began = asyncio.get_running_loop().time()
        self._bytes = 0
        self._chunks = 0

    def is_one(self, chunk: bytes) -> bool:
        """Whether it is one with this chunk."""
        self._bytes += len(chunk)
        self._chunks += 1
        seconds = asyncio.get_running_loop().time() - self._began
        return (
            self._bytes > _FLOOD_BYTES + _FLOOD_BYTES_A_SECOND * seconds
            or self._chunks > _FLOOD_CHUNKS + _FLOOD_CHUNKS_A_SECOND * seconds
        )


def cut_unless_read(response: aiohttp.ClientResponse) -> None:
    """Ends the connection of an answer that is left in the middle, as a watch is that nobody wants any more.

    Closing it politely would wait for the server's part of TLS' farewell, half a minute where it is silent, and closing
    the session does not wait for that.
    """
    if response.connection is not None and response.connection.transport is not None:
        response.connection.transport.abort()


def _is_success(response: aiohttp.ClientResponse) -> bool:
    """Whether the API server carried the request out. HTML is a proxy's or a login page's, whatever its code."""
    return HTTPStatus.OK <= response.status < HTTPStatus.MULTIPLE_CHOICES and response.content_type != "text/html"
