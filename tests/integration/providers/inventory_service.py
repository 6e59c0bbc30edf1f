"""The facility's inventory service that the example of a third party asks: a real HTTP server in a thread."""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Final

from tests.controlplane.processes import LOOPBACK

PATH: Final = "/racks"


class InventoryService:
    """Answers with whatever it was told last, with an ETag."""

    def __init__(self, port: int) -> None:
        self.url = f"http://{LOOPBACK}:{port}{PATH}"
        self.answer: tuple[HTTPStatus, bytes] = (HTTPStatus.SERVICE_UNAVAILABLE, b"")
        self.asked: list[HTTPStatus] = []
        """What it has answered, one after the other."""
        self.answers = threading.Event()
        """While it is not set, whoever asks has to wait."""
        self.answers.set()

    def say(self, gpus: Mapping[str, int]) -> None:
        """From now on the pools have racks for so many GPUs: two racks each, the rest in the second."""
        pools = {
            pool: [{"rack": f"{pool}-1", "gpus": number // 2}, {"rack": f"{pool}-2", "gpus": number - number // 2}]
            for pool, number in gpus.items()
        }
        self.answer = (HTTPStatus.OK, json.dumps({"pools": pools}).encode())

    def break_down(self, body: bytes = b"", status: HTTPStatus = HTTPStatus.SERVICE_UNAVAILABLE) -> None:
        """From now on it answers so."""
        self.answer = (status, body)


@contextmanager
def inventory_service() -> Iterator[InventoryService]:
    """One that runs, on a free port, until the end."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            service.answers.wait()
            status, body = service.answer
            etag = f'"{hashlib.sha256(body).hexdigest()}"'
            if status is HTTPStatus.OK and self.headers["If-None-Match"] == etag:
                status, body = HTTPStatus.NOT_MODIFIED, b""
            service.asked.append(status)
            self.send_response(status)
            self.send_header("ETag", etag)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002  # as the base class has it
            """Nothing is printed."""

    server = ThreadingHTTPServer((LOOPBACK, 0), Handler)
    service = InventoryService(server.server_port)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, name="inventory service")
    thread.start()
    try:
        yield service
    finally:
        service.answers.set()
        server.shutdown()
        server.server_close()
        thread.join()
