"""A fake AWS as an HTTP server in a thread: the SDK is led to it by `AWS_ENDPOINT_URL`."""

from __future__ import annotations

import json
import re
import sys
import threading
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Final

from tests.clouds.aws.account import Aws, Request
from tests.clouds.aws.credentials import Key
from tests.clouds.aws.faults import CutOff, Fault, HalfAnswer, Page, Refuse, Reset, Slow
from tests.clouds.aws.operations import NotKnownHere, output_of
from tests.clouds.aws.wire import Answer, Refusal, WrongAnswer, answered, refused
from tests.controlplane.processes import LOOPBACK, free_port

_SIGNED: Final = re.compile(r"Credential=(?P<key>[^/]+)/\d+/(?P<region>[^/]+)/(?P<service>[^/]+)/aws4_request")
_PAGE: Final = b"<!DOCTYPE html><html><body><h1>Something went wrong</h1></body></html>"
_INSTANCE_TYPES: Final = "ec2:DescribeInstanceTypes"


class _Listening(ThreadingHTTPServer):
    def __init__(self, port: int, aws: Aws) -> None:
        super().__init__((LOOPBACK, port), _Handler)
        self.aws = aws

    def handle_error(self, request: Any, client_address: Any) -> None:
        if not isinstance(sys.exception(), ConnectionError):  # a client that has given up
            super().handle_error(request, client_address)


class Server:
    """A fake AWS on a port that it keeps while nobody listens there."""

    def __init__(self, aws: Aws) -> None:
        self.aws = aws
        self.port = free_port()
        self.url = f"http://{LOOPBACK}:{self.port}"
        self._listening: ThreadingHTTPServer | None = None
        self._thread: threading.Thread | None = None

    def listen(self) -> None:
        """From now on connections are accepted."""
        self._listening = _Listening(self.port, self.aws)
        self._thread = threading.Thread(
            target=self._listening.serve_forever, kwargs={"poll_interval": 0.05}, name="fake AWS"
        )
        self._thread.start()

    def hang_up(self) -> None:
        """From now on they are refused."""
        if self._listening is not None and self._thread is not None:
            self._listening.shutdown()
            self._listening.server_close()
            self._thread.join()
            self._listening = self._thread = None

    def environment(self, folder: Path, key: Key | None = None) -> dict[str, str]:
        """What leads the SDK here, and nowhere else; with a key, that one. The folder holds nothing of the SDK's."""
        given = {} if key is None else {"AWS_ACCESS_KEY_ID": key.id, "AWS_SECRET_ACCESS_KEY": key.secret}
        return {
            "AWS_ENDPOINT_URL": self.url,
            "AWS_EC2_METADATA_DISABLED": "true",
            "AWS_CONFIG_FILE": str(folder / "no-config"),
            "AWS_SHARED_CREDENTIALS_FILE": str(folder / "no-credentials"),
            "NO_PROXY": LOOPBACK,
            **given,
        }


@contextmanager
def running(aws: Aws | None = None) -> Iterator[Server]:
    """One that listens, until the end. Raises AssertionError where a test has set up what AWS could not answer."""
    server = Server(aws or Aws())
    server.listen()
    try:
        yield server
    finally:
        server.aws.heal()
        server.hang_up()
    assert server.aws.mistakes == []


class _Handler(BaseHTTPRequestHandler):
    server: _Listening

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        try:
            answer, fault = self._answer(body)
        except (NotKnownHere, WrongAnswer) as error:
            self.server.aws.mistakes.append(f"{type(error).__name__}: {error}")
            answer, fault = Answer(501, "text/plain", str(error).encode()), None
        self._send(answer, fault)

    def _answer(self, body: bytes) -> tuple[Answer, Fault | None]:
        """What is to be sent, and what goes wrong with it."""
        aws, headers = self.server.aws, dict(self.headers.items())
        service, operation, parameters = _asked(headers, body)
        name = f"{service}:{operation}"
        signed = _SIGNED.search(headers.get("Authorization", ""))
        caller, region = None, ""
        try:
            if signed is not None:
                region = signed["region"]
                caller = aws.credentials.caller(service, signed["key"], headers.get("X-Amz-Security-Token"))
            fault = aws.struck(Request(name, caller.account if caller else "", region, parameters))
            if isinstance(fault, Refuse):
                raise fault.answer(service, name, caller.arn if caller else "anonymous")
            if name == _INSTANCE_TYPES and aws.instance_types_from is not None:
                return _asked_of(aws.instance_types_from, body, headers), fault
            return answered(service, operation, output_of(aws, name, caller, region, parameters)), fault
        except Refusal as refusal:
            return refused(service, refusal), None

    def _send(self, answer: Answer, fault: Fault | None) -> None:
        if isinstance(fault, Reset):
            return
        if isinstance(fault, Slow):
            fault.released.wait()
        half = answer.body[: len(answer.body) // 2]
        if isinstance(fault, Page):
            answer = Answer(fault.status, "text/html", _PAGE)
        elif isinstance(fault, HalfAnswer):
            answer = answer._replace(body=half)
        self.send_response(answer.status)
        self.send_header("Content-Type", answer.content_type)
        self.send_header("Content-Length", str(len(answer.body)))
        self.end_headers()
        self.wfile.write(half if isinstance(fault, CutOff) else answer.body)

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002  # as the base class has it
        """Nothing is printed."""


def _asked(headers: Mapping[str, str], body: bytes) -> tuple[str, str, dict[str, Any]]:
    """Service, operation and parameters."""
    target = headers.get("X-Amz-Target")
    if target is not None:
        return "servicequotas", target.partition(".")[2], json.loads(body)
    parameters = dict(urllib.parse.parse_qsl(body.decode(), strict_parsing=True))
    version, operation = parameters.pop("Version"), parameters.pop("Action")
    service = {"2016-11-15": "ec2", "2011-06-15": "sts"}[version]
    return service, operation, dict(parameters)


def _asked_of(url: str, body: bytes, headers: Mapping[str, str]) -> Answer:
    """What another server answers to the same question."""
    passed = {name: headers[name] for name in ("Authorization", "Content-Type", "X-Amz-Date")}
    request = urllib.request.Request(url, body, passed, method="POST")  # noqa: S310  # a server on loopback
    try:
        with urllib.request.urlopen(request) as answer:  # noqa: S310  # as above
            return Answer(answer.status, answer.headers["Content-Type"], answer.read())
    except urllib.error.HTTPError as error:
        return Answer(error.code, error.headers["Content-Type"], error.read())
