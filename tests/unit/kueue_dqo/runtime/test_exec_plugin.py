"""Credential plugins of kubeconfigs that somebody else wrote."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest
from structlog.testing import capture_logs

from kueue_dqo.runtime import credentials, exec_plugin
from kueue_dqo.runtime.client import Client
from kueue_dqo.runtime.connection import Connection
from kueue_dqo.runtime.errors import Unauthorized
from tests.unit.kueue_dqo.runtime.kubeconfigs import ORIGIN, Plain, config, connection_of, nowhere_to_write, refusal_of
from tests.unit.kueue_dqo.runtime.scripted_server import ScriptedServer, refuses, says, until
from tests.unit.kueue_dqo.runtime.tls_server import Authority

__all__ = ["nowhere_to_write"]  # a fixture
pytestmark = pytest.mark.usefixtures("nowhere_to_write")


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("pki"))


def plugin(folder: Path, code: str, **more: Any) -> Plain:
    """A program that may use `info`, what it was told, and `count`, how often it has been run."""
    script = folder / "plugin.py"
    script.write_text(
        "import json, os, pathlib, sys, time\n"
        "info = json.loads(os.environ['KUBERNETES_EXEC_INFO'])\n"
        f"runs = pathlib.Path({str(folder / 'runs')!r})\n"
        "runs.write_text(runs.read_text() + 'x' if runs.exists() else 'x')\n"
        "count = len(runs.read_text())\n"
        "def say(**status):\n"
        "    print(json.dumps({'apiVersion': info['apiVersion'], 'kind': 'ExecCredential', 'status': status}))\n"
        f"{code}\n"
    )
    version = "client.authentication.k8s.io/v1"
    return {"exec": {"apiVersion": version, "command": sys.executable, "args": ["-S", str(script)], **more}}


async def allowed(user: Plain, server: str = "https://k:1", **options: Any) -> Connection:
    return await connection_of(config(server, user), allow_exec=True, **{"environment": dict(os.environ), **options})


@pytest.fixture
def at_any_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Plugins are asked again at once, not after 10 seconds."""
    monkeypatch.setattr(credentials, "_RENEW_AT_MOST_EVERY", 0.0)


@pytest.mark.usefixtures("at_any_time")
async def test_a_plugin_is_run_again_when_its_token_is_rejected(tmp_path: Path) -> None:
    async with ScriptedServer().running() as server:
        server.lists.extend([says(200, b"{}"), refuses(401), says(200, b"{}")])
        connection = await allowed(plugin(tmp_path, "say(token=str(count))"), server.url, allow_insecure=True)
        async with Client(connection) as client:
            await client.get("/a")
            with pytest.raises(Unauthorized):
                await client.get("/a")
            await client.get("/a")
    assert [seen.headers["Authorization"] for seen in server.seen] == ["Bearer 1", "Bearer 1", "Bearer 2"]


@pytest.mark.usefixtures("at_any_time")
@pytest.mark.parametrize(("expiry", "runs"), [("2100-01-01T00:00:00Z", 1), ("2001-01-01T00:00:00Z", 3)])
async def test_a_plugin_is_run_again_when_its_token_has_expired(tmp_path: Path, expiry: str, runs: int) -> None:
    connection = await allowed(plugin(tmp_path, f"say(token=str(count), expirationTimestamp={expiry!r})"))
    await connection.credentials.header()
    assert await connection.credentials.header() == f"Bearer {runs}"


@pytest.mark.usefixtures("at_any_time")
async def test_a_plugin_may_print_a_client_certificate_and_later_another(tmp_path: Path, authority: Authority) -> None:
    user = plugin(
        tmp_path,
        f"name = {str(authority.certificate.parent)!r} + ('/old' if count == 1 else '/client')\n"
        "say(clientCertificateData=open(name + '.crt').read(), clientKeyData=open(name + '.key').read())",
    )
    async with authority.server() as (url, names):
        content = config(url, user, {"certificate-authority-data": authority.encoded(authority.certificate)})
        async with Client(await connection_of(content, allow_exec=True)) as client:
            with pytest.raises(Unauthorized):
                await client.get("/a")
            with pytest.raises(Unauthorized):
                await client.get("/a")
            assert await client.get("/a") == b"{}"
    assert names == ["old", "old", "client"]  # the second went by the connection of the first


async def test_a_plugin_gets_its_arguments_variables_and_the_environment(tmp_path: Path) -> None:
    user = plugin(tmp_path, "say(token='-'.join([sys.argv[1], os.environ['OWN'], os.environ['GIVEN']]))")
    user["exec"]["args"].append("argument")
    user["exec"]["env"] = [{"name": "OWN", "value": "own"}, {"name": "OVER", "value": ""}]
    connection = await allowed(user, environment={"GIVEN": "given", "OWN": "other"})
    assert await connection.credentials.header() == "Bearer argument-own-given"


async def test_a_plugin_is_told_of_the_cluster_where_it_asks_for_that(tmp_path: Path, authority: Authority) -> None:
    cluster = {
        "server": "https://k:1",
        "certificate-authority-data": authority.encoded(authority.certificate),
        "tls-server-name": "api.internal",
        "proxy-url": "http://p:1",
        "extensions": [
            {"name": "other"},
            {"name": "client.authentication.k8s.io/exec", "extension": {"audience": "a"}},
        ],
    }
    seen = tmp_path / "seen"
    user = plugin(tmp_path, f"open({str(seen)!r}, 'w').write(json.dumps(info)); say(token='t')")
    content = config(user=user)
    content["clusters"][0]["cluster"] = cluster
    await connection_of(content, allow_exec=True)
    assert json.loads(seen.read_text())["spec"] == {"interactive": False}
    user["exec"]["provideClusterInfo"] = True
    await connection_of(content, allow_exec=True)
    told = {key: value for key, value in cluster.items() if key != "extensions"}
    assert json.loads(seen.read_text()) == {
        "apiVersion": "client.authentication.k8s.io/v1",
        "kind": "ExecCredential",
        "spec": {"interactive": False, "cluster": {**told, "config": {"audience": "a"}}},
    }


@pytest.mark.parametrize(
    ("code", "message"),
    [
        ("print('s3cret'); sys.stderr.write('s3cret'); sys.exit(3)", "the plugin ended with exit code 3; run it by h"),
        ("os.kill(os.getpid(), 9)", "the plugin ended with exit code -9"),
        ("print('s3cret')", "what the plugin prints is no ExecCredential with a status"),
        ("print('[' * 100000)", "what the plugin prints is no ExecCredential with a status"),
        ("while True: print('x' * 65536)", "the plugin prints more than 1 MiB"),
        ("say(token='s3cret', expirationTimestamp='s3cret')", "what the plugin prints is no ExecCredential"),
        ("info['apiVersion'] = 's3cret'; say(token='t')", "what the plugin prints is not of the apiVersion that is as"),
        ("say()", "the plugin prints neither a token nor a certificate with its key"),
        ("say(clientCertificateData='s3cret')", "the plugin prints neither a token nor a certificate with its key"),
        ("say(clientCertificateData='s3cret', clientKeyData='s3cret')", "the client certificate and its key cannot be"),
        ("say(token='s3cret\\nX: 1')", "the plugin prints a token with characters that no token has"),
    ],
)
async def test_a_plugin_that_fails_is_an_error_without_its_words(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], code: str, message: str
) -> None:
    refusal = await refusal_of(config(user=plugin(tmp_path, code)), allow_exec=True)
    assert refusal.startswith(f"users[0].user.exec: {message}")
    assert "s3cret" not in refusal
    assert "s3cret" not in "".join(capfd.readouterr())


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"command": "s3cret"}, "users[0].user.exec: the plugin cannot be started: No such file or directory"),
        ({"command": "./s3cret"}, "users[0].user.exec.command: it is a path that begins nowhere; give an absolute one"),
        ({"command": ""}, "users[0].user.exec.command: it is not set"),
        ({"args": ["s3cret\0"]}, "users[0].user.exec: the plugin cannot be started: its command, arguments or variab"),
        ({"args": "s3cret"}, "users[0].user.exec.args: it is no list"),
        ({"env": [{"name": "a", "value": 5}]}, "users[0].user.exec.env[0].value: it is no text"),
        ({"env": [{"value": "s3cret"}]}, "users[0].user.exec.env[0].name: it is not set"),
        ({"env": [{"name": "s3=cret"}]}, "users[0].user.exec: the plugin cannot be started: its command, arguments"),
        ({"apiVersion": "s3cret"}, "users[0].user.exec.apiVersion: it is neither client.authentication.k8s.io/v1 nor"),
        ({"interactiveMode": "Always"}, "users[0].user.exec.interactiveMode: it is neither Never nor IfAvailable"),
    ],
)
async def test_a_plugin_that_cannot_be_run_is_an_error(tmp_path: Path, change: Plain, message: str) -> None:
    user = plugin(tmp_path, "say(token='t')", **change)
    refusal = await refusal_of(config(user=user), allow_exec=True)
    assert refusal.startswith(message)
    assert "s3cret" not in refusal


async def test_a_plugin_stands_alone(tmp_path: Path) -> None:
    user = {**plugin(tmp_path, "say(token='t')"), "token": "s3cret"}
    assert "exec: it stands beside token; keep one of them" in await refusal_of(config(user=user), allow_exec=True)
    assert not (tmp_path / "runs").exists()


async def test_a_plugin_that_prints_a_certificate_alone_is_of_no_use_to_http(tmp_path: Path) -> None:
    user = plugin(tmp_path, "say(clientCertificateData='c', clientKeyData='k')")
    refusal = await refusal_of(config("http://k:1", user), allow_exec=True, allow_insecure=True)
    assert "the plugin prints a certificate alone, which http:// has no use for" in refusal


HANGS = """
import subprocess
child = subprocess.Popen(['sleep', '1000'])
with open(PIDS, 'w') as file:
    file.write(f'{os.getpid()} {child.pid}')
"""


def is_alive(pid: str) -> bool:
    """Whether it still runs: one that nobody has waited for yet does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


@pytest.mark.parametrize("stays", [True, False])
async def test_a_plugin_that_nobody_waits_for_any_more_ends_with_all_that_it_started(
    tmp_path: Path, stays: bool
) -> None:
    pids = tmp_path / "pids"
    user = plugin(tmp_path, HANGS.replace("PIDS", repr(str(pids))) + ("time.sleep(1000)" if stays else ""))
    asking = asyncio.create_task(allowed(user))
    await until(lambda: pids.exists() and len(pids.read_text().split()) == 2)
    own, child = pids.read_text().split()
    await until(lambda: stays or not is_alive(own))
    assert is_alive(child)
    asking.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asking
    await until(lambda: not is_alive(own) and not is_alive(child))


async def test_a_plugin_that_hangs_is_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exec_plugin, "_TIMEOUT", 0.1)
    refusal = await refusal_of(config(user=plugin(tmp_path, "time.sleep(1000)")), allow_exec=True)
    assert refusal == "users[0].user.exec: the plugin did not end within 0.1 s"


@pytest.mark.usefixtures("at_any_time")
async def test_a_renewal_that_fails_is_logged_without_secrets_and_the_last_token_is_used_on(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    user = plugin(tmp_path, "say(token='s3cret') if count == 1 else sys.exit('s3cret')")
    connection = await allowed(user)
    connection.credentials.reject()
    with capture_logs() as logs:
        assert await connection.credentials.header() == "Bearer s3cret"
    logged = f"{logs}{capfd.readouterr()}"
    assert f"{ORIGIN}: users[0].user.exec: the plugin ended with exit code 1" in logged
    assert "s3cret" not in logged.replace("Bearer s3cret", "")
