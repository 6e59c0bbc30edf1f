"""What the SDK's clients meet: a server on the loopback that answers what a test told it, tokens, and virtual time."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Final
from urllib.parse import urlsplit

import google.auth.credentials
import pytest
from google.api_core.retry import retry_base, retry_unary

from kueue_dqo.api.cloud import GcpProject
from providers.cloud_quota.cloud import Call
from providers.cloud_quota.gcp import account, calling, credentials, regions

TOKEN: Final = "ya29.secret-token"  # noqa: S105 -- of nobody


@dataclass(frozen=True, slots=True)
class Reply:
    """One answer."""

    status: int = 200
    body: bytes = b"{}"
    is_cut: bool = False
    """Whether the connection ends before the body does."""


def reply(content: Any, status: int = 200) -> Reply:
    """In JSON."""
    return Reply(status, json.dumps(content).encode())


def refused(status: int, message: str, reason: str = "", **info: Any) -> Reply:
    """An error in the form of Google's services; `info` is what is told beside its reason."""
    details = [{"@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": reason, **info}] if info else []
    errors = [{"message": message, "domain": "global", "reason": reason}]
    return reply({"error": {"code": status, "message": message, "errors": errors, "details": details}}, status)


@dataclass
class Server:
    """Answers by path, one after the other; the last one stays."""

    url: str = ""
    replies: dict[str, list[Reply]] = field(default_factory=dict)
    asked: list[tuple[str, Mapping[str, str]]] = field(default_factory=list)
    """Paths with their queries, and headers."""
    bodies: list[bytes] = field(default_factory=list)

    def answers(self, path: str, *replies: Reply) -> None:
        self.replies[path] = list(replies)

    @property
    def paths(self) -> list[str]:
        return [path for path, _ in self.asked]

    def next(self, path: str) -> Reply:
        planned = self.replies.get(path, [refused(404, f"The resource '{path}' was not found", "notFound")])
        return planned.pop(0) if len(planned) > 1 else planned[0]


@contextmanager
def serving() -> Iterator[Server]:
    """Runs until the end."""
    state = Server()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            state.asked.append((self.path, {name.lower(): value for name, value in self.headers.items()}))
            state.bodies.append(self.rfile.read(int(self.headers.get("Content-Length", "0"))))
            answer = state.next(urlsplit(self.path).path)
            self.send_response(answer.status)
            self.send_header("Content-Length", str(len(answer.body)))
            self.end_headers()
            self.wfile.write(answer.body[:-1] if answer.is_cut else answer.body)

        def do_POST(self) -> None:
            self.do_GET()

        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 -- as the base class has it
            """Nothing is printed."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    state.url = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield state
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


class Tokens(google.auth.credentials.Credentials):
    """Credentials of somebody, whose tokens are made here."""

    def __init__(self, email: str = "kueue-dqo@fleet-1.iam.gserviceaccount.com") -> None:
        super().__init__()  # type: ignore[no-untyped-call] # of the SDK
        self.service_account_email = email
        self.refreshed = 0
        self.failure: Exception | None = None

    def refresh(self, request: Callable[..., Any]) -> None:
        del request
        self.refreshed += 1
        if self.failure is not None:
            raise self.failure
        self.token = TOKEN


class Virtual:
    """Time that goes on by waiting alone."""

    def __init__(self) -> None:
        self.now = 1000.0

    def monotonic(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds

    def install(self, monkeypatch: pytest.MonkeyPatch) -> None:
        for module in (retry_base, retry_unary, calling, credentials, regions):
            monkeypatch.setattr(module, "time", self)


@dataclass
class Opened:
    """An account that asks the server."""

    server: Server
    tokens: Tokens
    time: Virtual
    calls: list[Call]
    account: account.GcpAccount

    def answer(self, question: Any, seconds: float = 50.0) -> Any:
        return self.account.answer(question, self.time.now + seconds)


@contextmanager
def opened(server: Server, monkeypatch: pytest.MonkeyPatch, project: GcpProject) -> Iterator[Opened]:
    """Opens an account with such credentials, whose APIs are at the server."""
    tokens, time, calls = Tokens(), Virtual(), list[Call]()
    time.install(monkeypatch)
    for name in ("DQO_GCP_COMPUTE_ENDPOINT", "DQO_GCP_CLOUD_QUOTAS_ENDPOINT", "DQO_GCP_IAM_CREDENTIALS_ENDPOINT"):
        monkeypatch.setenv(name, f"{server.url}/")
    monkeypatch.setattr("google.auth.default", lambda **_: (tokens, None))
    found = account.GcpAccount(project, calls.append)
    try:
        yield Opened(server, tokens, time, calls, found)
    finally:
        found.close()
