"""Health and metrics over real HTTP on loopback."""

from __future__ import annotations

import asyncio
import signal
import socket
import subprocess
import sys
from collections.abc import Sequence
from contextlib import ExitStack

import aiohttp
import pytest
from prometheus_client import CollectorRegistry, Counter
from structlog.testing import capture_logs

from kueue_dqo.runtime.serving import Check, HealthServer, Limits


def _nothing() -> Sequence[str]:
    return ()


def _server(
    *, ready: Check = _nothing, healthy: Check = _nothing, port: int = 0, limits: Limits | None = None
) -> HealthServer:
    registry = CollectorRegistry()
    Counter("dqo_example", "An example", registry=registry).inc(3)
    server = HealthServer(host="127.0.0.1", port=port, ready=ready, healthy=healthy, registry=registry)
    server.limits = limits or server.limits
    return server


async def _get(server: HealthServer, path: str) -> tuple[int, str]:
    async with aiohttp.ClientSession() as session, session.get(f"http://127.0.0.1:{server.port}{path}") as answer:
        return answer.status, await answer.text()


async def test_a_free_port_is_taken_and_named() -> None:
    async with _server() as one, _server() as other:
        assert 0 != one.port != other.port != 0
        assert await _get(one, "/healthz") == (200, "ok")
        assert await _get(other, "/readyz") == (200, "ok")


async def test_each_reason_is_a_line_of_a_503_as_long_as_it_holds() -> None:
    reasons = ["nodes are not read yet", "not\nconnected"]
    async with _server(ready=lambda: reasons) as server:
        assert await _get(server, "/readyz") == (503, "nodes are not read yet\nnot connected\n")
        assert await _get(server, "/healthz") == (200, "ok")
        reasons.clear()
        assert await _get(server, "/readyz") == (200, "ok")


async def test_health_and_readiness_are_two_things() -> None:
    async with _server(healthy=lambda: ["the loop hangs"]) as server:
        assert await _get(server, "/healthz") == (503, "the loop hangs\n")
        assert await _get(server, "/readyz") == (200, "ok")


async def test_a_check_that_raises_is_no_sign_of_health_and_is_logged() -> None:
    def broken() -> Sequence[str]:
        raise RuntimeError("broken check")

    with capture_logs() as logs:
        async with _server(healthy=broken) as server:
            assert await _get(server, "/healthz") == (503, "the check itself failed: RuntimeError: broken check\n")
    assert [str(line["exc_info"]) for line in logs if line["event"] == "check failed"] == ["broken check"]


async def test_metrics_are_those_of_the_registry_alone() -> None:
    async with _server() as server:
        status, text = await _get(server, "/metrics")
    assert status == 200
    assert "dqo_example_total 3.0" in text
    assert "python_info" not in text


@pytest.mark.parametrize("path", ["/", "/healthz/more", "/debug"])
async def test_there_is_nothing_else(path: str) -> None:
    async with _server() as server:
        assert (await _get(server, path))[0] == 404


async def test_a_port_that_is_taken_is_named() -> None:
    async with _server() as server:
        with pytest.raises(OSError, match=f"127.0.0.1.*{server.port}"):
            await _server(port=server.port).start()


async def test_nobody_listens_after_the_end() -> None:
    async with _server() as server:
        pass
    with pytest.raises(aiohttp.ClientConnectorError):
        await _get(server, "/healthz")


HALF_A_HEAD = b"GET /healthz HTTP/1.1\r\nHost: x\r\nX-Slow: "
UNFINISHED = {
    "nothing": b"",
    "half a head": HALF_A_HEAD,
    "a head without its body": b"POST /healthz HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n",
    "no HTTP": b"\x16\x03\x01",
}


async def _connect(server: HealthServer, said: bytes = b"") -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
    writer.write(said)
    await writer.drain()
    return reader, writer


async def _everything(reader: asyncio.StreamReader) -> bytes:
    """What the server says until it ends the connection, in the one way or the other."""
    try:
        async with asyncio.timeout(30):
            return await reader.read()
    except ConnectionResetError:
        return b""


@pytest.mark.parametrize("said", UNFINISHED.values(), ids=UNFINISHED)
async def test_what_is_never_finished_is_ended(said: bytes) -> None:
    """By the server; the client only waits."""
    async with _server(limits=Limits(longest=0.05)) as server:
        reader, writer = await _connect(server, said)
        await _everything(reader)
        writer.close()
        assert await _get(server, "/healthz") == (200, "ok")


async def test_one_who_goes_on_sending_slowly_is_ended_as_well() -> None:
    async with _server(limits=Limits(longest=0.05)) as server:
        reader, writer = await _connect(server, HALF_A_HEAD)
        ended = asyncio.create_task(_everything(reader))
        while not ended.done():
            writer.write(b"a")
            await asyncio.wait([ended], timeout=0.01)
        writer.close()


async def test_a_connection_is_good_for_one_request() -> None:
    """Nothing is kept open between requests, whatever was asked for."""
    async with _server(limits=Limits(longest=3600)) as server:
        reader, writer = await _connect(server, b"GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: keep-alive\r\n\r\n")
        answer = await _everything(reader)
        writer.close()
    assert answer.startswith(b"HTTP/1.1 200")
    assert b"\r\nConnection: close\r\n" in answer


async def test_many_that_never_finish_silence_nobody() -> None:
    """The oldest end where there are more than may be; whoever comes is answered, again and again."""
    async with _server(limits=Limits(longest=3600, most=8)) as server:
        opened = [await _connect(server, HALF_A_HEAD) for _ in range(50)]
        for _ in range(3):
            assert await _get(server, "/healthz") == (200, "ok")
        await asyncio.gather(*(_everything(reader) for reader, _ in opened[:40]))
        opened += [await _connect(server, HALF_A_HEAD) for _ in range(50)]
        assert await _get(server, "/readyz") == (200, "ok")
    await asyncio.gather(*(_everything(reader) for reader, _ in opened))
    for _, writer in opened:
        writer.close()


SERVES_WITH_FEW_FILES = """
import asyncio, resource
from prometheus_client import CollectorRegistry
from kueue_dqo.runtime.serving import HealthServer

async def serve():
    async with HealthServer(host="127.0.0.1", port=0, ready=list, healthy=list, registry=CollectorRegistry()) as server:
        print("port", server.port, flush=True)
        await asyncio.Event().wait()

resource.setrlimit(resource.RLIMIT_NOFILE, (128, 128))
asyncio.run(serve())
"""


def test_many_at_once_use_up_no_files() -> None:
    """A process that may have 128 open finds 299 connections waiting: it accepts some, ends some, and so on."""
    command = [sys.executable, "-c", SERVES_WITH_FEW_FILES]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process, ExitStack() as ends:
        ends.callback(process.kill)
        assert process.stdout is not None
        port = next(int(line.split()[1]) for line in process.stdout if line.startswith(b"port "))
        process.send_signal(signal.SIGSTOP)
        for _ in range(299):
            client = ends.enter_context(socket.socket())
            client.settimeout(0)
            client.connect_ex(("127.0.0.1", port))
        process.send_signal(signal.SIGCONT)
        with socket.create_connection(("127.0.0.1", port), timeout=30) as probe:
            probe.sendall(b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n")
            assert probe.recv(12) == b"HTTP/1.1 200"
        process.kill()
        assert process.stderr is not None
        assert b"Too many open files" not in process.stderr.read()


@pytest.mark.parametrize("nonsense", [b"GET /healthz HTTP/1.1\r\nX: " + b"a" * 100_000, b"\x16\x03\x01\r\n\r\n"])
async def test_what_is_no_request_is_refused_without_a_line_in_the_log(
    nonsense: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    """Or whoever reaches the port could fill it."""
    async with _server() as server:
        reader, writer = await _connect(server, nonsense + b"\r\n\r\n")
        answer = await _everything(reader)
        writer.close()
        assert answer == b"" or answer.split()[1] == b"400"
        assert await _get(server, "/healthz") == (200, "ok")
    assert caplog.records == []


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH"])
async def test_nothing_can_be_written(method: str) -> None:
    async with _server() as server, aiohttp.ClientSession() as session:
        for path in ("/healthz", "/readyz", "/metrics"):
            async with session.request(method, f"http://127.0.0.1:{server.port}{path}", data=b"x" * 500) as answer:
                assert answer.status == 405
