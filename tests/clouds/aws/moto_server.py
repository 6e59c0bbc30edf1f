"""moto as a server process: it knows every instance type of EC2."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.controlplane.processes import LOOPBACK, Guard, Server, free_port, http_status


@contextmanager
def moto_server(folder: Path) -> Iterator[str]:
    """The URL of one that runs until the end; it logs into the folder."""
    port = free_port()
    guard = Guard()
    program = Path(sys.executable).with_name("moto_server")
    server = Server(
        "moto",
        [program, "--host", LOOPBACK, "--port", str(port)],
        log=folder / "moto.log",
        ready=lambda: http_status(port, "/moto-api/") is not None,
        guard=guard,
        folder=folder,
    )
    try:
        server.start()
        yield f"http://{LOOPBACK}:{port}"
    finally:
        server.stop()
        guard.close()
