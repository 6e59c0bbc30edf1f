"""A stream that is left in the middle leaves nothing behind, whatever the server does about its connection."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import socket
import ssl
import threading
import warnings
from collections.abc import Iterator

import pytest

from kueue_dqo.runtime.client import Client
from kueue_dqo.runtime.connection import Connection, tls_context
from tests.unit.kueue_dqo.runtime.tls_server import Authority

_ANSWER = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n3\r\n{}\n\r\n"


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("pki"))


@contextlib.contextmanager
def server_without_farewell(authority: Authority) -> Iterator[str]:
    """Its URL. It answers one request with one line, and then neither reads nor closes, as a host that hangs."""
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(*authority.files("server"))
    done = threading.Event()
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def serve() -> None:
            connection, _ = listening.accept()
            with context.wrap_socket(connection, server_side=True, suppress_ragged_eofs=True) as stream:
                stream.recv(65_536)
                stream.sendall(_ANSWER)
                done.wait()

        thread = threading.Thread(target=serve)
        thread.start()
        try:
            yield f"https://127.0.0.1:{listening.getsockname()[1]}"
        finally:
            done.set()
            thread.join()


async def leave_in_the_middle(server: str, authority: Authority) -> None:
    async with Client(Connection(server=server, tls=tls_context(ca_file=authority.certificate))) as client:
        lines = client.lines("/watch", params={}, inactivity=60)
        async with contextlib.aclosing(lines):
            assert await anext(lines) == b"{}"


def test_a_watch_that_is_left_is_cut_and_not_closed_politely(authority: Authority) -> None:
    """Else its socket outlives the client, and the event loop, until the server says goodbye."""
    with server_without_farewell(authority) as server, warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        asyncio.run(leave_in_the_middle(server, authority))
        gc.collect()
    assert [str(each.message) for each in seen if issubclass(each.category, ResourceWarning)] == []
