"""Where the API server is: in a pod, by a kubeconfig, or nowhere."""

from __future__ import annotations

import ssl
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from kueue_dqo.runtime import credentials
from kueue_dqo.runtime.client import Client
from kueue_dqo.runtime.connection import Connection, find_connection
from kueue_dqo.runtime.errors import ConfigurationError, Unauthorized, Unreachable
from tests.unit.kueue_dqo.runtime.scripted_server import ScriptedServer, refuses, says
from tests.unit.kueue_dqo.runtime.tls_server import Authority

Change = Callable[[dict[str, Any]], None]


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("pki"))


def config(server: str, user: dict[str, Any] | None = None, cluster: dict[str, Any] | None = None) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "c",
        "contexts": [
            {"name": "c", "context": {"cluster": "k", "user": "u"}},
            {"name": "d", "context": {"cluster": "k"}},
        ],
        "clusters": [{"name": "k", "cluster": {"server": server, **(cluster or {})}}],
        "users": [{"name": "u", "user": {"token": "s3cret"} if user is None else user}],
    }


def written(folder: Path, content: Any, name: str = "config") -> str:
    path = folder / name
    path.write_text(content if isinstance(content, str) else yaml.safe_dump(content))
    return str(path)


async def connection_of(folder: Path, content: Any, **environment: str) -> Connection:
    return await find_connection(kubeconfig=written(folder, content), environment=environment)


async def test_a_pod_uses_its_service_account(tmp_path: Path, authority: Authority) -> None:
    (tmp_path / "token").write_text("t\n")
    (tmp_path / "ca.crt").write_bytes(authority.certificate.read_bytes())
    environment = {"KUBERNETES_SERVICE_HOST": "fd00::1", "KUBERNETES_SERVICE_PORT": "443", "KUBECONFIG": "/nowhere"}
    connection = await find_connection(service_account=tmp_path, environment=environment)
    assert connection.server == "https://[fd00::1]:443"
    assert await connection.credentials.header() == "Bearer t"
    assert connection.tls is not None
    assert connection.tls.verify_mode == ssl.CERT_REQUIRED
    assert connection.tls.check_hostname
    (tmp_path / "ca.crt").write_text("no certificate")
    with pytest.raises(ConfigurationError, match=r"certificate authority .*ca.crt: no certificates"):
        await find_connection(service_account=tmp_path, environment=environment)


async def test_a_kubeconfig_that_is_named_comes_before_the_service_account(tmp_path: Path) -> None:
    (tmp_path / "token").write_text("t")
    environment = {"KUBERNETES_SERVICE_HOST": "10.0.0.1", "KUBERNETES_SERVICE_PORT": "443"}
    named = written(tmp_path, config("http://named:1"))
    connection = await find_connection(kubeconfig=named, service_account=tmp_path, environment=environment)
    assert connection.server == "http://named:1"


async def test_files_that_kubeconfig_lists_are_merged_and_the_first_wins(tmp_path: Path) -> None:
    first = config("http://first:1")
    del first["users"]
    second = config("http://second:1", {"token": "from the second"})
    paths = [written(tmp_path, first, "1"), str(tmp_path / "missing"), written(tmp_path, second, "2"), ""]
    connection = await find_connection(service_account=tmp_path, environment={"KUBECONFIG": ":".join(paths)})
    assert connection.server == "http://first:1"
    assert await connection.credentials.header() == "Bearer from the second"


async def test_nothing_configured_is_an_error_that_says_where_was_looked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    message = (
        f"no cluster is configured: there is no service account in {tmp_path} and no kubeconfig at"
        f" {tmp_path}/.kube/config; name one with --kubeconfig or KUBECONFIG"
    )
    with pytest.raises(ConfigurationError) as caught:
        await find_connection(service_account=tmp_path, environment={})
    assert str(caught.value) == message
    with pytest.raises(ConfigurationError, match="kubeconfig /nowhere/x: there is no such file"):
        await find_connection(kubeconfig="/nowhere/x", environment={})
    with pytest.raises(ConfigurationError, match="no kubeconfig at /nowhere/x or /nowhere/y;"):
        await find_connection(service_account=tmp_path, environment={"KUBECONFIG": "/nowhere/x:/nowhere/y"})


@pytest.mark.parametrize(
    ("user", "header"),
    [
        ({"token": "t"}, "Bearer t"),
        ({"token": "t\n"}, "Bearer t"),
        ({"tokenFile": "token"}, "Bearer of the file"),
        ({"token": "t", "tokenFile": "token"}, "Bearer of the file"),
        ({"username": "u", "password": "p"}, "Basic dTpw"),
    ],
)
async def test_a_user_may_have_a_token_a_token_file_or_a_password(
    tmp_path: Path, user: dict[str, Any], header: str
) -> None:
    (tmp_path / "token").write_text("of the file\n".replace(" ", "-"))
    connection = await connection_of(tmp_path, config("http://k:1", user))
    assert await connection.credentials.header() == header.replace("of the file", "of-the-file")


@pytest.mark.parametrize("scheme", ["http", "https"])
async def test_a_context_may_have_no_user(tmp_path: Path, scheme: str) -> None:
    nobody = config(f"{scheme}://k:1")
    del nobody["contexts"][0]["context"]["user"]
    for content in (nobody, config(f"{scheme}://k:1", {})):
        assert await (await connection_of(tmp_path, content)).credentials.header() == ""
    content = config(f"{scheme}://k:1")
    content["users"][0]["user"] = None
    assert await (await connection_of(tmp_path, content)).credentials.header() == ""


async def test_a_user_may_act_as_somebody_else(tmp_path: Path) -> None:
    user = {"token": "t", "as": "eve", "as-uid": "1", "as-groups": ["a", "b"], "as-user-extra": {"k": ["v", "w"]}}
    connection = await connection_of(tmp_path, config("http://k:1", user))
    assert connection.headers == (
        ("Impersonate-User", "eve"),
        ("Impersonate-Uid", "1"),
        ("Impersonate-Group", "a"),
        ("Impersonate-Group", "b"),
        ("Impersonate-Extra-k", "v"),
        ("Impersonate-Extra-k", "w"),
    )


def plugin(folder: Path, answer: str) -> dict[str, Any]:
    """A credential plugin that counts its runs in the token."""
    script = folder / "plugin.py"
    script.write_text(
        "import json, pathlib, sys\n"
        "runs = pathlib.Path(sys.argv[1])\n"
        "runs.write_text(runs.read_text() + 'x' if runs.exists() else 'x')\n"
        f"count = len(runs.read_text())\n{answer}\n"
    )
    return {
        "exec": {
            "apiVersion": "client.authentication.k8s.io/v1",
            "command": sys.executable,
            "args": ["-S", str(script), str(folder / "runs")],
            "interactiveMode": "Never",
        }
    }


PRINTS = (
    "print(json.dumps({'apiVersion': 'client.authentication.k8s.io/v1', 'kind': 'ExecCredential', 'status': STATUS}))"
)


@pytest.fixture
def at_any_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Plugins are asked again at once, not after 10 seconds."""
    monkeypatch.setattr(credentials, "_RENEW_AT_MOST_EVERY", 0.0)


@pytest.mark.usefixtures("at_any_time")
async def test_a_plugin_is_run_again_when_its_token_is_rejected(tmp_path: Path) -> None:
    user = plugin(tmp_path, PRINTS.replace("STATUS", "{'token': str(count)}"))
    async with ScriptedServer().running() as server:
        server.lists.extend([says(200, b"{}"), refuses(401), says(200, b"{}")])
        async with await Client.connect(kubeconfig=written(tmp_path, config(server.url, user))) as client:
            await client.get("/a")
            with pytest.raises(Unauthorized):
                await client.get("/a")
            await client.get("/a")
    assert [seen.headers["Authorization"] for seen in server.seen] == ["Bearer 1", "Bearer 1", "Bearer 2"]


@pytest.mark.usefixtures("at_any_time")
@pytest.mark.parametrize(("expiry", "runs"), [("2100-01-01T00:00:00Z", 1), ("2001-01-01T00:00:00Z", 3)])
async def test_a_plugin_is_run_again_when_its_token_has_expired(tmp_path: Path, expiry: str, runs: int) -> None:
    status = f"{{'token': str(count), 'expirationTimestamp': '{expiry}'}}"
    connection = await connection_of(tmp_path, config("http://k:1", plugin(tmp_path, PRINTS.replace("STATUS", status))))
    await connection.credentials.header()
    assert await connection.credentials.header() == f"Bearer {runs}"
    connection.credentials.reject()
    assert await connection.credentials.header() == f"Bearer {runs + 1}"


@pytest.mark.usefixtures("at_any_time")
async def test_a_plugin_may_answer_with_a_client_certificate_and_later_with_another(
    tmp_path: Path, authority: Authority
) -> None:
    answer = f"name = {str(authority.certificate.parent)!r} + ('/old' if count == 1 else '/client')\n" + PRINTS.replace(
        "STATUS",
        "{'clientCertificateData': open(name + '.crt').read(), 'clientKeyData': open(name + '.key').read()}",
    )
    async with authority.server() as (url, names):
        content = config(url, plugin(tmp_path, answer), {"certificate-authority": str(authority.certificate)})
        async with await Client.connect(kubeconfig=written(tmp_path, content)) as client:
            for _ in range(2):
                with pytest.raises(Unauthorized):
                    await client.get("/a")
            assert await client.get("/a") == b"{}"
    assert names == ["old", "old", "client"]  # the second went by the connection of the first


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        ("sys.exit('no credentials on this machine')", "process returned 1. no credentials on this machine"),
        ("print('?')", "failed to decode process output"),
        (PRINTS.replace("STATUS", "{}"), "the credential plugin returned neither a token nor a certificate"),
    ],
)
async def test_a_plugin_that_fails_is_an_error_with_its_words(tmp_path: Path, answer: str, message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        await connection_of(tmp_path, config("http://k:1", plugin(tmp_path, answer)))


def no_current_context(content: dict[str, Any]) -> None:
    del content["current-context"]


def unknown_context(content: dict[str, Any]) -> None:
    content["current-context"] = "x"


def unknown_cluster(content: dict[str, Any]) -> None:
    content["clusters"] = []


def unknown_user(content: dict[str, Any]) -> None:
    content["users"] = None


def no_scheme(content: dict[str, Any]) -> None:
    content["clusters"][0]["cluster"]["server"] = "10.0.0.1:6443"


def socks(content: dict[str, Any]) -> None:
    content["clusters"][0]["cluster"]["proxy-url"] = "socks5://p:1"


def two_lines(content: dict[str, Any]) -> None:
    content["users"][0]["user"] = {"token": "s3cret\nX-Other: 1"}


def no_name(content: dict[str, Any]) -> None:
    content["users"].insert(0, {"user": {"token": "s3cret"}})


def no_server(content: dict[str, Any]) -> None:
    del content["clusters"][0]["cluster"]["server"]


def bad_key(content: dict[str, Any]) -> None:
    content["clusters"][0]["cluster"]["server"] = "https://k:1"
    content["users"][0]["user"] = {"client-certificate-data": "czNjcmV0", "client-key-data": "czNjcmV0"}


def bad_base64(content: dict[str, Any]) -> None:
    content["clusters"][0]["cluster"]["server"] = "https://k:1"
    content["users"][0]["user"] = {"client-certificate-data": "s3cret!", "client-key-data": "s3cret!"}


@pytest.mark.parametrize(
    "server",
    [
        "https://127.0.0.1:99999",
        "https://h:-1",
        "https://h:abc",
        "https://h:0",
        "https://user:pw@h",
        "https://h?x=1",
        "https://a..b",
        f"https://{'x' * 64}.com",
        "https://[::1",
    ],
)
async def test_a_server_that_is_no_address_is_an_error_before_any_request(tmp_path: Path, server: str) -> None:
    with pytest.raises(ConfigurationError, match=r"(server|is malformed)"):
        await connection_of(tmp_path, config(server))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (no_current_context, "no current-context is set; name a context"),
        (unknown_context, "there is no context 'x'; there are: c, d"),
        (unknown_cluster, "context 'c' names the cluster 'k', which is not there"),
        (unknown_user, "context 'c' names the user 'u', which is not there"),
        (no_scheme, "server '10.0.0.1:6443' does not begin with http:// or https:// and a host"),
        (socks, "proxies of the scheme 'socks5' are not supported, only http and https"),
        (two_lines, "the token holds characters that no token has"),
        (no_name, "Expected key name in"),
        (no_server, "cluster 'k' has no server"),
        (bad_key, "the client certificate and its key cannot be read or do not belong together"),
        (bad_base64, "it is malformed (Error); `kubectl config view` shows what is in it"),
    ],
)
async def test_a_kubeconfig_that_does_not_hold_together_is_an_error_without_secrets(
    tmp_path: Path, change: Change, message: str
) -> None:
    content = config("http://k:1")
    change(content)
    with pytest.raises(ConfigurationError) as caught:
        await connection_of(tmp_path, content)
    assert str(caught.value).startswith(f"kubeconfig {tmp_path}/config: ")
    assert message in str(caught.value)
    assert "s3cret" not in str(caught.value)
    assert "czNjcmV0" not in str(caught.value)


@pytest.mark.parametrize("content", ["", "[]", "a: [", "text", "\x00", "contexts: 5\ncurrent-context: c"])
async def test_a_file_that_is_no_kubeconfig_is_an_error(tmp_path: Path, content: str) -> None:
    with pytest.raises(ConfigurationError, match="config: "):
        await connection_of(tmp_path, content)


async def test_another_context_can_be_named(tmp_path: Path) -> None:
    path = written(tmp_path, config("http://k:1"))
    connection = await find_connection(kubeconfig=path, context="d", environment={})
    assert await connection.credentials.header() == ""


async def test_a_proxy_comes_from_the_kubeconfig_or_else_from_the_environment(tmp_path: Path) -> None:
    named = await connection_of(
        tmp_path, config("http://k:1", cluster={"proxy-url": "http://p:1"}), HTTP_PROXY="http://q:1"
    )
    assert named.proxy == "http://p:1"
    assert (await connection_of(tmp_path, config("http://k:1"), HTTP_PROXY="http://q:1")).proxy == "http://q:1"
    assert (await connection_of(tmp_path, config("http://k:1"), HTTP_PROXY="http://q:1", NO_PROXY="k")).proxy is None


async def test_tls_with_a_client_certificate(tmp_path: Path, authority: Authority) -> None:
    certificate, key = authority.files("client")
    async with authority.server() as (url, names):
        user = {
            "client-certificate-data": authority.encoded(certificate),
            "client-key": str(key),
        }
        content = config(url, user, {"certificate-authority-data": authority.encoded(authority.certificate)})
        async with await Client.connect(kubeconfig=written(tmp_path, content)) as client:
            assert await client.get("/a") == b"{}"
    assert names == ["client"]


async def test_a_server_whose_authority_is_not_known_is_not_talked_to(tmp_path: Path, authority: Authority) -> None:
    async with authority.server() as (url, names):
        async with await Client.connect(kubeconfig=written(tmp_path, config(url))) as client:
            with pytest.raises(Unreachable, match="certificate") as caught:
                await client.merge_patch("/a", {}, field_manager="m")
        assert not caught.value.may_have_landed
        content = config(url, cluster={"insecure-skip-tls-verify": True})
        async with await Client.connect(kubeconfig=written(tmp_path, content)) as client:
            assert await client.get("/a") == b"{}"
    assert names == [""]


async def test_the_name_in_the_certificate_may_be_another_than_the_host(tmp_path: Path, authority: Authority) -> None:
    async with authority.server(name="api.internal") as (url, names):
        trust = {"certificate-authority": str(authority.certificate)}
        async with await Client.connect(kubeconfig=written(tmp_path, config(url, cluster=trust))) as client:
            with pytest.raises(Unreachable, match="certificate"):
                await client.get("/a")
        content = config(url, cluster={**trust, "tls-server-name": "api.internal"})
        async with await Client.connect(kubeconfig=written(tmp_path, content)) as client:
            assert await client.get("/a") == b"{}"
    assert names == [""]
