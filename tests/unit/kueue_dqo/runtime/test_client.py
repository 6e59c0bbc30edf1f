"""Requests over real connections: what is sent, what comes back, what failures become."""

from __future__ import annotations

import asyncio
import contextlib
import gzip
import json
import socket
from collections.abc import AsyncIterator, Awaitable, Callable
from functools import partial
from typing import Any

import pytest
from aiohttp import web
from prometheus_client import CollectorRegistry

from kueue_dqo import __version__
from kueue_dqo.runtime import transport
from kueue_dqo.runtime.client import Client
from kueue_dqo.runtime.connection import Connection
from kueue_dqo.runtime.credentials import FixedCredentials
from kueue_dqo.runtime.errors import (
    Answered,
    ApiError,
    Conflict,
    Forbidden,
    Gone,
    Invalid,
    ServerFailed,
    Silent,
    TooManyRequests,
    Unauthorized,
    Unreachable,
)
from kueue_dqo.runtime.request_metrics import RequestMetrics
from tests.unit.kueue_dqo.runtime.scripted_server import (
    ScriptedServer,
    client_of,
    closes,
    cuts,
    drops,
    page,
    refuses,
    says,
    thing,
    until,
)

PATH = "/apis/g/v1/things/a"
Call = Callable[[Client], Awaitable[bytes]]


@pytest.fixture
async def server() -> AsyncIterator[ScriptedServer]:
    async with ScriptedServer().running() as running:
        yield running


@pytest.fixture
async def client(server: ScriptedServer) -> AsyncIterator[Client]:
    async with client_of(server) as opened:
        yield opened


@pytest.mark.parametrize(
    ("call", "method", "query", "content_type", "body"),
    [
        (lambda c: c.get(PATH, params={"a": "b c"}), "GET", {"a": "b c", "timeout": "30s"}, None, b""),
        (
            lambda c: c.create(PATH, b"{}", timeout=2.5),
            "POST",
            {"fieldValidation": "Strict", "timeout": "2.5s"},
            "application/json",
            b"{}",
        ),
        (
            lambda c: c.replace(PATH, b"{}"),
            "PUT",
            {"fieldValidation": "Strict", "timeout": "4s"},
            "application/json",
            b"{}",
        ),
        (
            lambda c: c.json_patch(PATH, [{"op": "test", "path": "/a", "value": 1}], field_manager="m"),
            "PATCH",
            {"fieldManager": "m", "fieldValidation": "Strict", "timeout": "4s"},
            "application/json-patch+json",
            b'[{"op":"test","path":"/a","value":1}]',
        ),
        (
            lambda c: c.merge_patch(PATH, {"a": None}, field_manager="m", strict=False),
            "PATCH",
            {"fieldManager": "m", "timeout": "4s"},
            "application/merge-patch+json",
            b'{"a":null}',
        ),
        (
            lambda c: c.apply(PATH, {"a": 1}, field_manager="m", force=True),
            "PATCH",
            {"fieldManager": "m", "force": "true", "fieldValidation": "Strict", "timeout": "4s"},
            "application/apply-patch+yaml",
            b'{"a":1}',
        ),
        (lambda c: c.delete(PATH), "DELETE", {"timeout": "4s"}, None, b""),
        (lambda c: c.delete(PATH, body=b"{}"), "DELETE", {"timeout": "4s"}, "application/json", b"{}"),
    ],
)
async def test_a_request_is_sent_as_it_is_meant(
    server: ScriptedServer,
    client: Client,
    call: Call,
    method: str,
    query: dict[str, str],
    content_type: str | None,
    body: bytes,
) -> None:
    server.lists.append(says(200, b'{"answer": 1}\n'))
    assert await call(client) == b'{"answer": 1}\n'
    seen = server.seen[0]
    assert (seen.method, seen.path, seen.query, seen.body) == (method, PATH, query, body)
    assert seen.headers.get("Content-Type") == content_type
    assert seen.headers["Accept"] == "application/json"
    assert seen.headers["User-Agent"] == f"kueue-dqo/{__version__}"
    assert "Authorization" not in seen.headers


async def test_a_server_may_stand_behind_a_path(server: ScriptedServer) -> None:
    server.lists.append(says(200, b"{}"))
    async with Client(Connection(server=f"{server.url}/k8s/clusters/c-1")) as client:
        await client.get("/api/v1/nodes/a%2Fb")
    assert server.seen[0].target == "/k8s/clusters/c-1/api/v1/nodes/a%2Fb?timeout=30s"


@pytest.mark.parametrize(
    ("answer", "kind", "message"),
    [
        (refuses(409, "Conflict", "changed"), Conflict, f"GET {PATH}: 409 Conflict: changed"),
        (refuses(422, "Invalid", "no"), Invalid, f"GET {PATH}: 422 Invalid: no"),
        (
            says(503, b"<html>down</html>", "text/html"),
            ServerFailed,
            f"GET {PATH}: 503 Service Unavailable: the answer is no Kubernetes Status: <html>down</html>",
        ),
        (
            says(200, b"<html>Log in</html>", "text/html"),
            Answered,
            f"GET {PATH}: 200 OK: the answer is no Kubernetes Status: <html>Log in</html>",
        ),
        (
            says(302, b"", "text/plain", Location="http://elsewhere/"),
            Answered,
            f"GET {PATH}: 302 Found: the answer is empty",
        ),
    ],
)
async def test_an_answer_that_is_no_success_is_an_error(
    server: ScriptedServer, client: Client, answer: Any, kind: type[ApiError], message: str
) -> None:
    server.lists.append(answer)
    with pytest.raises(kind) as caught:
        await client.get(PATH)
    assert str(caught.value) == message
    assert len(server.seen) == 1


async def test_a_server_that_is_too_busy_says_for_how_long(server: ScriptedServer, client: Client) -> None:
    server.lists.append(refuses(429, "TooManyRequests", "later", Retry_After="7"))
    with pytest.raises(TooManyRequests) as caught:
        await client.merge_patch(PATH, {}, field_manager="m")
    assert caught.value.retry_after == 7
    assert len(server.seen) == 1


async def test_a_refused_connection_was_never_a_request() -> None:
    with socket.socket() as bound:  # bound and not listening: refuses
        bound.bind(("127.0.0.1", 0))
        async with Client(Connection(server=f"http://127.0.0.1:{bound.getsockname()[1]}")) as client:
            with pytest.raises(Unreachable, match=f"PUT {PATH}: Cannot connect to host 127.0.0.1") as caught:
                await client.replace(PATH, b"{}")
    assert not caught.value.may_have_landed


async def test_a_request_whose_connection_broke_may_have_landed(server: ScriptedServer, client: Client) -> None:
    server.lists.append(drops())
    with pytest.raises(Unreachable) as caught:
        await client.merge_patch(PATH, {}, field_manager="m")
    assert caught.value.may_have_landed


async def test_an_answer_that_breaks_off_is_no_answer(server: ScriptedServer, client: Client) -> None:
    server.lists.append(cuts(b'{"half'))
    with pytest.raises(Unreachable):
        await client.get(PATH)


async def test_a_request_that_is_not_answered_in_time_may_have_landed(server: ScriptedServer, client: Client) -> None:
    server.lists.append(server.hang())
    with pytest.raises(Unreachable, match=r"no answer for 0\.05 s") as caught:
        await client.merge_patch(PATH, {}, field_manager="m", timeout=0.05)
    assert caught.value.may_have_landed
    assert server.seen[0].query["timeout"] == "0.05s"


def _has_seen(server: ScriptedServer, count: int) -> bool:
    return len(server.seen) == count


async def test_a_request_that_is_cancelled_does_not_spoil_the_pool(server: ScriptedServer) -> None:
    server.lists.extend([server.hang(b'{"the answer to the'), server.hang(), says(200, b'{"answer": 2}')])
    async with client_of(server, connections=1) as client:
        for count in (1, 2):
            lost = asyncio.create_task(client.get(PATH))
            await until(partial(_has_seen, server, count))
            lost.cancel()
            with pytest.raises(asyncio.CancelledError):
                await lost
        assert await client.get(PATH) == b'{"answer": 2}'
    assert len({seen.connection for seen in server.seen}) == 3


async def test_connections_are_used_again(server: ScriptedServer, client: Client) -> None:
    server.lists.extend([says(200, b"{}"), refuses(409), refuses(404), says(200, b"{}")])
    for _ in range(4):
        with contextlib.suppress(Answered):
            await client.get(PATH)
    assert len({seen.connection for seen in server.seen}) == 1


async def test_watches_take_no_connection_from_requests(server: ScriptedServer) -> None:
    server.watches.append(server.hang(b"line\n"))
    server.lists.append(says(200, b"{}"))
    async with client_of(server, connections=1) as client:
        lines = [client.lines(PATH, params={"watch": "true"}, inactivity=30) for _ in range(3)]
        for stream in lines:
            assert await anext(stream) == b"line"
        assert await client.get(PATH) == b"{}"
        for stream in lines:
            await stream.aclose()


class Rotating:
    """Credentials that are replaced when they are rejected."""

    def __init__(self) -> None:
        self.number = 1

    async def header(self) -> str:
        return f"Bearer {self.number}"

    def reject(self) -> None:
        self.number += 1


async def test_a_rejected_token_is_replaced_for_the_next_request(server: ScriptedServer) -> None:
    server.lists.extend([refuses(401, "Unauthorized", "Unauthorized"), says(200, b"{}")])
    async with Client(Connection(server=server.url, credentials=Rotating())) as client:
        with pytest.raises(Unauthorized):
            await client.get(PATH)
        await client.get(PATH)
    assert [seen.headers["Authorization"] for seen in server.seen] == ["Bearer 1", "Bearer 2"]


async def test_a_connection_whose_certificate_is_rejected_is_given_up(server: ScriptedServer) -> None:
    server.lists.extend([refuses(401), refuses(401), says(200, b"{}")])
    async with client_of(server) as client:
        for _ in range(5):
            with contextlib.suppress(Unauthorized):
                await client.get(PATH)
    old, again, new, *kept = [seen.connection for seen in server.seen]
    assert old == again != new
    assert len({new, *kept}) == 2  # the one that was accepted first is closed too, and the next one stays


async def test_writes_are_held_back_and_reads_are_not(server: ScriptedServer) -> None:
    server.lists.append(says(200, b"{}"))
    async with client_of(server, qps=0.001, burst=1) as client:
        await client.create(PATH, b"{}")
        held_back = [
            asyncio.create_task(call)
            for call in (
                client.create(PATH, b"{}"),
                client.replace(PATH, b"{}"),
                client.json_patch(PATH, [], field_manager="m"),
                client.delete(PATH),
            )
        ]
        for _ in range(3):
            await client.get(PATH)
        assert not any(task.done() for task in held_back)
        for task in held_back:
            task.cancel()
        await asyncio.gather(*held_back, return_exceptions=True)
    assert [seen.method for seen in server.seen] == ["POST", "GET", "GET", "GET"]


async def test_pages_follow_the_token(server: ScriptedServer, client: Client) -> None:
    server.lists.extend(
        [page(5, thing("a", 1), goes_on="t 1/+"), page(5, thing("b", 1), goes_on="t2"), page(5, thing("c", 1))]
    )
    pages = [raw async for raw in client.pages("/things", params={"labelSelector": "x"}, limit=1)]
    assert [json.loads(raw)["items"][0]["metadata"]["name"] for raw in pages] == ["a", "b", "c"]
    assert [seen.query.get("continue") for seen in server.seen] == [None, "t 1/+", "t2"]
    assert all(seen.query["limit"] == "1" and seen.query["labelSelector"] == "x" for seen in server.seen)
    assert "resourceVersion" not in server.seen[0].query


async def test_pages_end_where_the_token_has_expired(server: ScriptedServer, client: Client) -> None:
    server.lists.extend([page(5, goes_on="t"), refuses(410, "Expired", "too old")])
    with pytest.raises(Gone):
        _ = [raw async for raw in client.pages("/things")]


async def test_a_page_that_is_no_list_is_an_error(server: ScriptedServer, client: Client) -> None:
    server.lists.append(says(200, b"Log in", "text/plain"))
    with pytest.raises(Unreachable, match="a page of the list is no list"):
        _ = [raw async for raw in client.pages("/things")]


async def test_lines_may_be_of_many_megabytes_and_come_in_pieces(server: ScriptedServer, client: Client) -> None:
    long = b"x" * 5_000_000
    server.watches.append(closes(b"a\nb", b"b\n\n", long, b"\nno end"))
    opened: list[bool] = []
    lines = client.lines(PATH, params={"watch": "true"}, inactivity=30, on_open=lambda: opened.append(True))
    assert [line async for line in lines] == [b"a", b"bb", long, b"no end"]
    assert opened == [True]


async def test_lines_that_break_off_are_an_error_after_what_came(server: ScriptedServer, client: Client) -> None:
    server.watches.append(cuts(b"a\n", b"half"))
    came = []
    with pytest.raises(Unreachable):  # noqa: PT012 - what came before belongs to it
        async for line in client.lines(PATH, params={"watch": "true"}, inactivity=30):
            came.append(line)  # noqa: PERF401 - a comprehension would lose it
    assert came in ([b"a"], [])


async def test_silence_is_an_error(server: ScriptedServer, client: Client) -> None:
    server.watches.append(server.hang(b"a\n"))
    lines = client.lines(PATH, params={"watch": "true"}, inactivity=0.05)
    assert await anext(lines) == b"a"
    with pytest.raises(Silent, match=r"nothing came for 0\.05 s"):
        await anext(lines)


@pytest.mark.parametrize("answer", [refuses(410, "Expired", "too old"), says(410, b"<html>", "text/html")])
async def test_a_refused_stream_is_the_same_error_as_a_refused_request(
    server: ScriptedServer, client: Client, answer: Any
) -> None:
    server.watches.append(answer)
    opened: list[bool] = []
    with pytest.raises(Gone):
        await anext(client.lines(PATH, params={"watch": "true"}, inactivity=30, on_open=lambda: opened.append(True)))
    assert not opened


async def test_requests_are_counted_by_their_answer(server: ScriptedServer) -> None:
    registry = CollectorRegistry()
    server.lists.extend([says(200, b"{}"), refuses(404), drops()])
    server.watches.append(closes(b"a\n"))
    async with client_of(server, metrics=RequestMetrics(registry)) as client:
        for _ in range(3):
            with contextlib.suppress(ApiError):
                await client.merge_patch(PATH, {}, field_manager="m")
        _ = [line async for line in client.lines(PATH, params={"watch": "true"}, inactivity=30)]
    counts = {
        (code, method): registry.get_sample_value("rest_client_requests_total", {"code": code, "method": method})
        for code, method in (("200", "PATCH"), ("404", "PATCH"), ("<error>", "PATCH"), ("200", "GET"))
    }
    assert counts == dict.fromkeys(counts, 1.0)


async def test_a_proxy_is_asked_for_the_server(server: ScriptedServer) -> None:
    server.lists.append(says(200, b"{}"))
    async with Client(Connection(server="http://api.invalid", proxy=server.url)) as client:
        assert await client.get(PATH) == b"{}"
    assert server.seen[0].headers["Host"] == "api.invalid"


async def test_a_proxy_that_refuses_leaves_no_doubt() -> None:
    async def refuse(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 407 Proxy Authentication Required\r\nContent-Length: 0\r\n\r\n")
        await writer.drain()
        writer.close()

    proxy = await asyncio.start_server(refuse, "127.0.0.1", 0)
    address = "http://user:s3cret@127.0.0.1:" + str(proxy.sockets[0].getsockname()[1])
    async with proxy, Client(Connection(server="https://api.invalid", proxy=address)) as client:
        with pytest.raises(Unreachable, match="the proxy answered 407 Proxy Authentication Required") as caught:
            await client.merge_patch(PATH, {}, field_manager="m")
    assert not caught.value.may_have_landed
    assert "s3cret" not in str(caught.value)


async def test_answers_that_are_compressed_are_read(server: ScriptedServer, client: Client) -> None:
    async def answer(request: web.Request) -> web.StreamResponse:
        response = web.Response(body=b'{"a": "' + b"x" * 100_000 + b'"}', content_type="application/json")
        response.enable_compression()
        assert "gzip" in request.headers["Accept-Encoding"]
        return response

    server.lists.append(answer)
    assert len(await client.get(PATH)) == 100_009


@pytest.mark.parametrize("code", [200, 403])
async def test_an_answer_of_a_server_that_is_not_trusted_is_bounded(code: int, server: ScriptedServer) -> None:
    """That of one who is, is not; an error's is no exception. The connection is not used again."""
    server.lists.append(says(code, b'"' + b"x" * 5_000 + b'"'))
    connection = Connection(server=server.url)
    async with Client(connection, largest=5_001) as client:
        with pytest.raises(Unreachable, match=r"larger than it may be \(5001 bytes"):
            await client.get(PATH)
    async with Client(connection, largest=5_002) as client:
        if code == 200:
            assert len(await client.get(PATH)) == 5_002
        else:
            with pytest.raises(Forbidden):
                await client.get(PATH)


async def test_a_line_of_a_server_that_is_not_trusted_is_bounded(server: ScriptedServer) -> None:
    """Each by itself: a stream may have many."""
    server.watches.append(closes(b"a" * 90 + b"\n", b"b" * 90 + b"\n", b"c" * 101))
    came = []
    async with Client(Connection(server=server.url), largest=100) as client:
        with pytest.raises(Unreachable, match=r"larger than it may be \(100 bytes"):  # noqa: PT012 - what came belongs to it
            async for line in client.lines(PATH, params={"watch": "true"}, inactivity=30):
                came.append(line)  # noqa: PERF401 - a comprehension would lose it
    assert came == [b"a" * 90, b"b" * 90]


async def test_a_server_that_is_not_trusted_may_not_compress(server: ScriptedServer) -> None:
    """A little of it would be a lot of memory; what it sends all the same is taken as it is, and is no answer."""
    server.lists.append(says(200, gzip.compress(b" " * 10_000_000), Content_Encoding="gzip"))
    async with Client(Connection(server=server.url), largest=100_000) as client:
        assert len(await client.get(PATH)) < 100_000
    assert server.seen[-1].headers["Accept-Encoding"] == "identity"


@pytest.mark.parametrize("sent", [b"\n" * 2**16, b"x\n"], ids=["much", "often"])
async def test_a_stream_that_never_pauses_is_cut(
    sent: bytes, server: ScriptedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It would take all the time there is; others have their turn meanwhile."""
    monkeypatch.setattr(transport, "_FLOOD_CHUNKS", 200)
    monkeypatch.setattr(transport, "_FLOOD_CHUNKS_A_SECOND", 1)

    async def flood(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Type": "application/json"})
        await response.prepare(request)
        with contextlib.suppress(ConnectionError):
            while True:
                await response.write(sent)
                await asyncio.sleep(0)
        return response

    server.watches.append(flood)
    turns = 0

    async def others() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    async with Client(Connection(server=server.url), largest=2**20) as client:
        task = asyncio.create_task(others())
        with pytest.raises(Unreachable, match="what never ends"):
            async for _ in client.lines(PATH, params={"watch": "true"}, inactivity=30):
                pass
        task.cancel()
    assert turns > 10


@pytest.mark.parametrize("token", ["s3cret-token", "aaaaaaaa.bbbbbbbb.cccccccc"], ids=["plain", "JWT"])
@pytest.mark.parametrize("what", ["whole", "parts"])
async def test_a_server_that_repeats_a_request_does_not_make_its_token_known(
    token: str, what: str, server: ScriptedServer
) -> None:
    """Debugging proxies do, in bodies of every form."""
    told = f"Bearer {token}" if what == "whole" else " ".join(token.split("."))
    server.lists.extend(
        [refuses(403, "Forbidden", f"who is {told}?"), says(502, f"<p>{told}</p>".encode(), "text/html")]
    )
    connection = Connection(server=server.url, credentials=FixedCredentials(f"Bearer {token}"))
    async with Client(connection) as client:
        for _ in range(2):
            with pytest.raises(ApiError) as caught:
                await client.get(PATH)
            assert "***" in str(caught.value)
            assert not any(part in str(caught.value) for part in token.split("."))


async def test_the_password_of_a_proxy_is_not_shown() -> None:
    connection = Connection(server="https://127.0.0.1:9", proxy="http://user:s3cret@127.0.0.1:9")
    async with Client(connection) as client:
        with pytest.raises(Unreachable) as caught:
            await client.get(PATH)
    assert "s3cret" not in str(caught.value)
