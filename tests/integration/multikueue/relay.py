"""A server in front of a worker's API server, in threads, that says what it likes: each line of an answer is rewritten.

It speaks TLS with the API server's own certificate, so that a kubeconfig of the worker is good for it. It only reads.
"""

from __future__ import annotations

import contextlib
import http.client
import socket
import ssl
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Final

import yarl

from tests.controlplane.plane import ControlPlane
from tests.controlplane.processes import LOOPBACK

Rewrite = Callable[[str, bytes], bytes]
"""From a path with its query and a line that is the answer, or an event of a watch, to what is sent instead."""

_PASSED_ON: Final = ("Authorization", "Accept")


def with_other_uids(_: str, line: bytes) -> bytes:
    """As if it were another cluster with the same objects."""
    return line.replace(b'"uid":"', b'"uid":"other-')


@contextmanager
def running_relay(plane: ControlPlane, rewrite: Rewrite) -> Iterator[str]:
    """Its URL, until the end."""
    behind = _Behind(plane)

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            headers = {name: self.headers[name] for name in _PASSED_ON if name in self.headers}
            # Either side may go in the middle.
            with contextlib.suppress(OSError, http.client.HTTPException), behind.asked(self.path, headers) as answer:
                self.send_response(answer.status)
                self.send_header("Content-Type", answer.headers["Content-Type"])
                self.send_header("Connection", "close")
                self.end_headers()
                for line in answer:
                    self.wfile.write(rewrite(self.path, line))

        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002  # as the base class has it
            """Nothing is printed."""

    with _Server((LOOPBACK, 0), Handler) as server:
        tls = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        tls.load_cert_chain(plane.ca, plane.key)
        server.socket = tls.wrap_socket(server.socket, server_side=True)
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, name="relay")
        thread.start()
        try:
            yield f"https://{LOOPBACK}:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()
            behind.end()


class _Server(ThreadingHTTPServer):
    daemon_threads = False  # its end waits for them


class _Behind:
    """Requests to the API server, which all end by `end`."""

    def __init__(self, plane: ControlPlane) -> None:
        self._port = yarl.URL(plane.url).port
        self._tls = ssl.create_default_context(cafile=str(plane.ca))
        self._lock = threading.Lock()
        self._sockets: set[socket.socket] | None = set()

    @contextmanager
    def asked(self, path: str, headers: dict[str, str]) -> Iterator[http.client.HTTPResponse]:
        """The answer, not yet read."""
        connection = http.client.HTTPSConnection(LOOPBACK, self._port, context=self._tls)
        try:
            connection.connect()
            with self._known(connection.sock):
                connection.request("GET", path, headers=headers)
                with connection.getresponse() as answer:
                    yield answer
        finally:
            connection.close()

    @contextmanager
    def _known(self, mine: socket.socket) -> Iterator[None]:
        with self._lock:
            if self._sockets is None:
                raise ConnectionAbortedError("the relay has ended")
            self._sockets.add(mine)
        try:
            yield
        finally:
            with self._lock:
                if self._sockets is not None:
                    self._sockets.discard(mine)

    def end(self) -> None:
        """Cuts them all, watches too; there are no others."""
        with self._lock:
            cut, self._sockets = self._sockets or set(), None
            for each in cut:
                with contextlib.suppress(OSError):  # the API server has gone before
                    socket.socket.shutdown(each, socket.SHUT_RDWR)  # not the farewell of TLS, for which it would wait
