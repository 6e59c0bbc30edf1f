"""However broken a kubeconfig is, nothing of it is shown."""

from __future__ import annotations

import asyncio
import base64
import copy
import json
from collections.abc import Coroutine, Iterator
from typing import Any

import pytest
import yaml
from hypothesis import HealthCheck, event, given, settings
from hypothesis import strategies as st

from kueue_dqo.runtime.connection import Connection
from kueue_dqo.runtime.errors import ConfigurationError
from kueue_dqo.runtime.kubeconfig_text import connection_from_text
from tests.unit.kueue_dqo.runtime.kubeconfigs import ORIGIN, Plain, nowhere_to_write

__all__ = ["nowhere_to_write"]  # a fixture
pytestmark = pytest.mark.usefixtures("nowhere_to_write")


SECRET = "S3CRET"  # noqa: S105 - none
SECRET_PARTS = (SECRET, base64.b64encode(SECRET.encode()).decode())


def full_of_secrets() -> Plain:
    """Every place of a kubeconfig that takes a text has the secret in it."""
    data = base64.b64encode(f"{SECRET * 3}".encode()).decode()
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "preferences": {"colors": True, SECRET: SECRET},
        "current-context": SECRET,
        "contexts": [{"name": SECRET, "context": {"cluster": SECRET, "user": SECRET, "namespace": SECRET}}],
        "clusters": [
            {
                "name": SECRET,
                "cluster": {
                    "server": f"https://{SECRET}.example:1/{SECRET}",
                    "tls-server-name": f"{SECRET}.example",
                    "proxy-url": f"http://{SECRET}:{SECRET}@{SECRET}.example:2",
                    "certificate-authority-data": data,
                    "certificate-authority": f"/{SECRET}",
                    "insecure-skip-tls-verify": True,
                    "extensions": [{"name": "client.authentication.k8s.io/exec", "extension": {SECRET: SECRET}}],
                },
            }
        ],
        "users": [
            {
                "name": SECRET,
                "user": {
                    "token": SECRET,
                    "tokenFile": f"/{SECRET}",
                    "client-certificate": f"/{SECRET}",
                    "client-certificate-data": data,
                    "client-key": f"/{SECRET}",
                    "client-key-data": data,
                    "username": SECRET,
                    "password": SECRET,
                    "auth-provider": {"name": SECRET, "config": {SECRET: SECRET}},
                    "as": SECRET,
                    "as-uid": SECRET,
                    "as-groups": [SECRET],
                    "as-user-extra": {SECRET: [SECRET]},
                    "exec": {
                        "apiVersion": "client.authentication.k8s.io/v1",
                        "command": f"/{SECRET}",
                        "args": [SECRET],
                        "env": [{"name": SECRET, "value": SECRET}],
                        "provideClusterInfo": True,
                    },
                },
            }
        ],
    }


def places(content: Any) -> Iterator[tuple[Any, Any]]:
    """Every container in it with each of its keys."""
    keys = list(content) if isinstance(content, dict) else range(len(content)) if isinstance(content, list) else ()
    for key in keys:
        yield content, key
        yield from places(content[key])


VALUES = st.sampled_from(
    [
        None,
        "",
        True,
        7,
        2.5,
        [],
        {},
        SECRET,
        f"{SECRET}\n{SECRET}",
        f"\0{SECRET}",
        [SECRET],
        {SECRET: SECRET},
        "https://",
    ]
)
SOLE_CREDENTIALS = ("token", "exec", "client-certificate-data")


@st.composite
def broken(draw: st.DrawFn) -> bytes:
    content = full_of_secrets()
    user, cluster = content["users"][0]["user"], content["clusters"][0]["cluster"]
    if draw(st.booleans()):  # deeper than the refusals that come first
        sole = draw(st.sampled_from(SOLE_CREDENTIALS))
        kept = {sole, "as", "as-uid", "as-groups", "as-user-extra", *(["client-key-data"] if "data" in sole else [])}
        content["users"][0]["user"] = {key: value for key, value in user.items() if key in kept}
        del cluster["certificate-authority"]
        del cluster[draw(st.sampled_from(["certificate-authority-data", "insecure-skip-tls-verify"]))]
    for _ in range(draw(st.integers(0, 3))):
        container, key = draw(st.sampled_from(list(places(content))))
        if isinstance(container, dict) and draw(st.booleans()):
            del container[key]
        else:
            container[key] = copy.deepcopy(draw(VALUES))  # it may be changed as well
    text: bytes = (json.dumps(content) if draw(st.booleans()) else yaml.safe_dump(content)).encode()
    for _ in range(draw(st.integers(0, 2))):
        at = draw(st.integers(0, len(text)))
        piece = draw(
            st.sampled_from([b"", b"\n", b" ", b":", b"- ", b"'", b"{", b"]", b"&", b"*", b"!", b"\xff", b"\t", b"#"])
        )
        text = text[:at] + piece + text[at + draw(st.integers(0, 3)) :]
    return text


@pytest.fixture(scope="module")
def runner() -> Iterator[asyncio.Runner]:
    with asyncio.Runner() as runner:
        yield runner


def outcome(runner: asyncio.Runner, asking: Coroutine[Any, Any, Connection]) -> str:
    """The texts of the error and of all that is behind it; or that of the connection, without its public names."""
    try:
        connection = runner.run(asking)
    except ConfigurationError as error:
        event("refused")
        return f"{error!r} {error.__cause__!r} {error.__context__!r}"
    event("connected")
    return repr(connection).replace(connection.server, "").replace(str(connection.server_name), "")


@settings(deadline=None, max_examples=300, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(text=broken(), allow_exec=st.booleans(), allow_insecure=st.booleans())
def test_no_message_log_or_text_of_an_object_shows_a_part_of_it(
    runner: asyncio.Runner,
    capfd: pytest.CaptureFixture[str],
    text: bytes,
    allow_exec: bool,
    allow_insecure: bool,
) -> None:
    asking = connection_from_text(
        text, origin=ORIGIN, allow_exec=allow_exec, allow_insecure=allow_insecure, environment={}
    )
    shown = outcome(runner, asking) + "".join(capfd.readouterr())
    assert "it cannot be used" not in shown  # every fault is foreseen
    assert not any(part.lower() in shown.lower() for part in SECRET_PARTS)
