"""The services of Google Cloud on one loopback port, each at the paths that it has."""

from __future__ import annotations

import contextlib
import socket
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Final
from urllib.parse import parse_qsl, unquote, urlsplit

from tests.clouds.gcp.gcp import Asked, Gcp
from tests.clouds.gcp.replies import Reply
from tests.clouds.gcp.services import Request, serve
from tests.controlplane.processes import LOOPBACK

_NOWHERE: Final = "/nonexistent"


class Services:
    """The address of the services, and their state."""

    def __init__(self, gcp: Gcp, port: int) -> None:
        self.gcp: Final = gcp
        self.address: Final = f"{LOOPBACK}:{port}"
        self.url: Final = f"http://{self.address}"

    def environment(self) -> dict[str, str]:
        """With it, a process of Google's libraries finds its credentials here and nowhere else, and a daemon asks here.

        Of the process that runs the test nothing is left that the libraries would look at.
        """
        return {
            "GCE_METADATA_HOST": self.address,
            "GCE_METADATA_IP": self.address,
            "GOOGLE_APPLICATION_CREDENTIALS": "",
            "CLOUDSDK_CONFIG": _NOWHERE,
            "NO_PROXY": LOOPBACK,
            "DQO_GCP_COMPUTE_ENDPOINT": self.url,
            "DQO_GCP_CLOUD_QUOTAS_ENDPOINT": self.url,
            "DQO_GCP_IAM_CREDENTIALS_ENDPOINT": self.url,
        }


class _Server(ThreadingHTTPServer):
    """Ends the connections that clients keep open."""

    def __init__(self, handler: type[BaseHTTPRequestHandler]) -> None:
        super().__init__((LOOPBACK, 0), handler)
        self.connections: set[socket.socket] = set()

    def finish_request(self, request: Any, client_address: Any) -> None:
        self.connections.add(request)
        try:
            super().finish_request(request, client_address)
        finally:
            self.connections.discard(request)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Prints what went wrong in a handler, but for clients that went away."""
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)


@contextmanager
def gcp_services() -> Iterator[Services]:
    """Services that run, on a free port, until the end."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True
        wbufsize = -1  # head and body in one piece

        def do_GET(self) -> None:
            request = self._request()
            answered = serve(gcp, request)
            gcp.wait(answered.method, answered.subject)
            gcp.record(Asked(answered.method, answered.subject, answered.principal, answered.reply.status))
            self._send(answered.reply)

        def do_POST(self) -> None:
            self.do_GET()

        def _request(self) -> Request:
            parts = urlsplit(self.path)
            headers: Mapping[str, str] = {name.lower(): value for name, value in self.headers.items()}
            body = self.rfile.read(int(headers.get("content-length", "0")))
            query = dict(parse_qsl(parts.query, keep_blank_values=True))
            return Request(self.command, unquote(parts.path), query, headers, body)

        def _send(self, reply: Reply) -> None:
            self.send_response(reply.status)
            self.send_header("Content-Type", reply.content_type)
            self.send_header("Content-Length", str(len(reply.body)))
            self.send_header("Metadata-Flavor", "Google")
            self.end_headers()
            self.wfile.write(reply.body[: len(reply.body) // 2] if reply.is_cut else reply.body)
            self.close_connection = self.close_connection or reply.is_cut

        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002  # as the base class has it
            """Nothing is printed."""

    gcp = Gcp()
    server = _Server(Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, name="Google Cloud")
    thread.start()
    try:
        yield Services(gcp, server.server_port)
    finally:
        gcp.release()
        server.shutdown()
        for connection in list(server.connections):
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
        server.server_close()
        thread.join()
