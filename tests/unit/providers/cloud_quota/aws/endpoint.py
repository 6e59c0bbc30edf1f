"""An HTTP endpoint that answers as AWS does, word for word as a test says, and remembers what it was asked."""

from __future__ import annotations

import json
import os
import threading
import types
import urllib.parse
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, NamedTuple

import pytest

STS = "https://sts.amazonaws.com/doc/2011-06-15/"
EC2 = "http://ec2.amazonaws.com/doc/2016-11-15/"


class Answer(NamedTuple):
    """One answer. `cut`: so many bytes of it are sent, then the connection ends."""

    body: str
    status: int = 200
    cut: int | None = None


class Asked(NamedTuple):
    """One request."""

    operation: str
    fields: Mapping[str, str]
    headers: Mapping[str, str]

    @property
    def access_key(self) -> str:
        return self.headers["Authorization"].partition("Credential=")[2].partition("/")[0]


class Endpoint:
    """Answers of one operation are given in their order, the last one again and again."""

    def __init__(self) -> None:
        self.answers: dict[str, list[Answer]] = {}
        self.asked: list[Asked] = []
        self.url = ""
        self._lock = threading.Lock()
        self._given: dict[str, int] = defaultdict(int)

    def answers_to(self, operation: str, *answers: Answer) -> None:
        with self._lock:
            self.answers[operation] = list(answers)
            self._given[operation] = 0

    def operations(self) -> list[str]:
        return [each.operation for each in self.asked]

    def take(self, asked: Asked) -> Answer:
        with self._lock:
            self.asked.append(asked)
            answers = self.answers[asked.operation]
            number = min(self._given[asked.operation], len(answers) - 1)
            self._given[asked.operation] += 1
            return answers[number]


@contextmanager
def in_place_of_aws(patch: pytest.MonkeyPatch, directory: Path) -> Iterator[Endpoint]:
    """The SDK is given the endpoint and keys by the environment; its retries do not wait."""
    for name in os.environ:
        if name.startswith("AWS_"):
            patch.delenv(name)
    with _serving() as found:
        given = {
            "AWS_ENDPOINT_URL": found.url,
            "AWS_ACCESS_KEY_ID": "AKIAOWNKEY1234567890",
            "AWS_SECRET_ACCESS_KEY": "own-secret",
            "AWS_EC2_METADATA_DISABLED": "true",
            "AWS_CONFIG_FILE": str(directory / "config"),
            "AWS_SHARED_CREDENTIALS_FILE": str(directory / "credentials"),
        }
        for name, value in given.items():
            patch.setenv(name, value)
        patch.setattr("botocore.endpoint.time", types.SimpleNamespace(sleep=lambda _: None))
        yield found


@contextmanager
def _serving() -> Iterator[Endpoint]:
    endpoint = Endpoint()
    server = ThreadingHTTPServer(("127.0.0.1", 0), _handler_of(endpoint.take))
    endpoint.url = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=lambda: server.serve_forever(poll_interval=0.01))
    thread.start()
    try:
        yield endpoint
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def _handler_of(take: Callable[[Asked], Answer]) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"])).decode()
            target = self.headers.get("X-Amz-Target")
            if target is not None:
                asked = Asked(target.rpartition(".")[2], json.loads(body), dict(self.headers))
            else:
                fields = dict(urllib.parse.parse_qsl(body))
                asked = Asked(fields["Action"], fields, dict(self.headers))
            self._give(take(asked))

        def do_GET(self) -> None:
            self._give(take(Asked(f"GET {self.path}", {}, dict(self.headers))))

        def _give(self, answer: Answer) -> None:
            content = answer.body.encode()
            self.send_response(answer.status)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content[: answer.cut])
            self.close_connection = True

        def log_message(self, *_: object) -> None:
            """Nothing is written."""

    return Handler


# --- what AWS says -------------------------------------------------------------------------------------------------


def quota(**fields: Any) -> Answer:
    return Answer(json.dumps({"Quota": {"QuotaCode": "L-417A185B"} | fields}))


def json_error(code: str, message: str = "so it is", status: int = 400) -> Answer:
    return Answer(json.dumps({"__type": code, "Message": message}), status)


def ec2(operation: str, content: str) -> Answer:
    return Answer(f'<?xml version="1.0"?><{operation}Response xmlns="{EC2}">{content}</{operation}Response>')


def ec2_error(code: str, message: str = "so it is", status: int = 400) -> Answer:
    error = f"<Errors><Error><Code>{code}</Code><Message>{message}</Message></Error></Errors>"
    return Answer(f'<?xml version="1.0"?><Response>{error}<RequestID>r</RequestID></Response>', status)


def reservations(*names: str, more: str = "") -> Answer:
    items = "".join(
        f"<item><capacityReservationId>{name}</capacityReservationId><state>active</state><ownerId>111122223333</ownerId>"
        "<instanceType>p5.48xlarge</instanceType><totalInstanceCount>4</totalInstanceCount>"
        "<endDate>2026-12-01T12:00:00.000Z</endDate><reservationType>default</reservationType>"
        "<tagSet><item><key>team</key><value>ml</value></item></tagSet></item>"
        for name in names
    )
    token = f"<nextToken>{more}</nextToken>" if more else ""
    content = f"<capacityReservationSet>{items}</capacityReservationSet>{token}"
    return ec2("DescribeCapacityReservations", content)


def sts(operation: str, content: str) -> Answer:
    result = f"<{operation}Result>{content}</{operation}Result>"
    return Answer(f'<{operation}Response xmlns="{STS}">{result}</{operation}Response>')


def sts_error(code: str, message: str, status: int = 403) -> Answer:
    error = f"<Error><Type>Sender</Type><Code>{code}</Code><Message>{message}</Message></Error>"
    return Answer(f'<ErrorResponse xmlns="{STS}">{error}</ErrorResponse>', status)


def assumed(operation: str, access_key: str, expiration: str) -> Answer:
    credentials = (
        f"<AccessKeyId>{access_key}</AccessKeyId><SecretAccessKey>s</SecretAccessKey><SessionToken>t-{access_key}"
        f"</SessionToken><Expiration>{expiration}</Expiration>"
    )
    return sts(operation, f"<Credentials>{credentials}</Credentials>")
