"""What a kubelet serves to the API server: the logs of its containers."""

from __future__ import annotations

import http.server
import json
import ssl
import threading
import time
import urllib.parse
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from http import HTTPStatus
from typing import Final

from tests.controlplane.container import Container
from tests.controlplane.plane import ControlPlane
from tests.controlplane.processes import LOOPBACK, Server

FindContainer = Callable[[str, str, str], Container]
"""By namespace, pod and name. Raises LookupError."""

_POLL: Final = 0.2
_LOGS: Final = "containerLogs"
_KNOWN: Final = {"follow", "previous", "sinceSeconds", "tailLines"}
"""Of the options of a log; another one is refused rather than passed over."""


class KubeletServer:
    """Serves HTTPS on a free loopback port, with the certificate of the control plane, to whoever asks."""

    def __init__(self, plane: ControlPlane, find: FindContainer) -> None:
        class Handler(_Handler):
            find_container = staticmethod(find)

        self._server = http.server.ThreadingHTTPServer((LOOPBACK, 0), Handler)
        self._server.daemon_threads = True
        tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        tls.load_cert_chain(plane.ca, plane.key)
        self._server.socket = tls.wrap_socket(self._server.socket, server_side=True)
        self.port: int = self._server.server_address[1]
        self._thread = threading.Thread(target=self._server.serve_forever, name="kubelet's server")

    def start(self) -> None:
        self._thread.start()

    def end(self) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()


class _Handler(http.server.BaseHTTPRequestHandler):
    find_container: FindContainer

    def do_GET(self) -> None:
        """`/containerLogs/NAMESPACE/POD/CONTAINER`."""
        url = urllib.parse.urlsplit(self.path)
        options = dict(urllib.parse.parse_qsl(url.query))
        match url.path.strip("/").split("/"):
            case [kind, namespace, pod, name] if kind == _LOGS:
                pass
            case _:
                self._answer(HTTPStatus.NOT_FOUND, f"{url.path}: this kubelet serves logs alone")
                return
        if unknown := options.keys() - _KNOWN:
            self._answer(HTTPStatus.BAD_REQUEST, f"{', '.join(sorted(unknown))}: this kubelet knows no such option")
            return
        try:
            container = self.find_container(namespace, pod, name)
        except LookupError as error:
            self._answer(HTTPStatus.NOT_FOUND, str(error))
            return
        server = container.previous if options.get("previous") == "true" else container.server
        if server is None:
            self._answer(HTTPStatus.BAD_REQUEST, f"container {name!r} of pod {namespace}/{pod} has not run")
            return
        self._send_log(server, options)

    def log_message(self, *_: object) -> None:
        """Nothing of every request."""

    def _send_log(self, server: Server, options: dict[str, str]) -> None:
        self.send_response(HTTPStatus.OK)
        self.send_header("Content-Type", "text/plain")
        self.end_headers()
        with server.log.open("rb") as log:
            lines = log.readlines()
            if seconds := options.get("sinceSeconds"):
                lines = list(_since(lines, datetime.now(UTC) - timedelta(seconds=int(seconds))))
            if tail := options.get("tailLines"):
                lines = lines[len(lines) - int(tail) :] if int(tail) < len(lines) else lines
            self.wfile.writelines(lines)
            while options.get("follow") == "true":
                was_running = server.is_running
                self.wfile.write(log.read())
                self.wfile.flush()
                if not was_running:
                    return
                time.sleep(_POLL)

    def _answer(self, status: HTTPStatus, text: str) -> None:
        body = text.encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


def _since(lines: list[bytes], then: datetime) -> Iterator[bytes]:
    """The lines from the first on that was written after `then`, by the time that it tells itself."""
    is_new = False
    for line in lines:
        if not is_new and line.startswith(b"{"):
            is_new = datetime.fromisoformat(json.loads(line)["timestamp"]) >= then
        if is_new:
            yield line
