"""A kubeconfig in memory that somebody else wrote: what it may do, and what is refused."""

from __future__ import annotations

import base64
import json
import ssl
import textwrap
from typing import Any

import pytest
import yaml

from kueue_dqo.runtime.client import Client
from kueue_dqo.runtime.errors import Unreachable
from tests.unit.kueue_dqo.runtime.kubeconfigs import Plain, config, connection_of, nowhere_to_write, refusal_of
from tests.unit.kueue_dqo.runtime.tls_server import Authority

__all__ = ["nowhere_to_write"]  # a fixture
pytestmark = pytest.mark.usefixtures("nowhere_to_write")


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("pki"))


# --- what works ----------------------------------------------------------------------------------------------------


async def test_a_token_and_an_authority_in_data_lead_to_the_server(authority: Authority) -> None:
    async with authority.server() as (url, names):
        content = config(url + "/", cluster={"certificate-authority-data": authority.encoded(authority.certificate)})
        connection = await connection_of(content)
        assert await connection.credentials.header() == "Bearer s3cret"
        async with Client(connection) as client:
            assert await client.get("/a") == b"{}"
    assert names == [""]


async def test_a_client_certificate_in_data_is_presented(authority: Authority) -> None:
    certificate, key = authority.files("client")
    user = {
        "client-certificate-data": authority.encoded(certificate),
        "client-key-data": textwrap.fill(authority.encoded(key), 64),
    }
    async with authority.server() as (url, names):
        content = config(url, user, {"certificate-authority-data": authority.encoded(authority.certificate)})
        async with Client(await connection_of(content)) as client:
            assert await client.get("/a") == b"{}"
    assert names == ["client"]


async def test_without_an_authority_the_systems_roots_apply(authority: Authority) -> None:
    connection = await connection_of(config())
    assert connection.tls is not None
    assert connection.tls.verify_mode == ssl.CERT_REQUIRED
    assert connection.tls.check_hostname
    async with authority.server() as (url, names), Client(await connection_of(config(url))) as client:
        with pytest.raises(Unreachable, match="certificate"):
            await client.get("/a")
    assert names == []


async def test_the_name_in_the_certificate_may_be_another_than_the_host(authority: Authority) -> None:
    trust = {"certificate-authority-data": authority.encoded(authority.certificate)}
    async with authority.server(name="api.internal") as (url, names):
        content = config(url, cluster={**trust, "tls-server-name": "api.internal", "disable-compression": True})
        async with Client(await connection_of(content)) as client:
            assert await client.get("/a") == b"{}"
    assert names == [""]


async def test_a_server_that_is_not_checked_is_talked_to_only_where_that_is_allowed(authority: Authority) -> None:
    async with authority.server() as (url, names):
        content = config(url, cluster={"insecure-skip-tls-verify": True})
        assert "--allow-insecure-tls" in await refusal_of(content)
        async with Client(await connection_of(content, allow_insecure=True)) as client:
            assert await client.get("/a") == b"{}"
    assert names == [""]


async def test_a_proxy_comes_from_the_kubeconfig_or_else_from_the_environment() -> None:
    environment = {"HTTPS_PROXY": "http://q:1"}
    named = await connection_of(config(cluster={"proxy-url": "http://me:s3cret@p:1"}), environment=environment)
    assert named.proxy == "http://me:s3cret@p:1"
    assert "s3cret" not in repr(named)
    async with Client(await connection_of(config(cluster={"proxy-url": "http://me:s3cret@127.0.0.1:9"}))) as client:
        with pytest.raises(Unreachable) as caught:
            await client.get("/a")
        assert "s3cret" not in str(caught.value)
    assert (await connection_of(config(), environment=environment)).proxy == "http://q:1"
    assert (await connection_of(config(), environment={**environment, "NO_PROXY": "k"})).proxy is None
    refusal = await refusal_of(config(), environment={"HTTPS_PROXY": "socks5://u:s3cret@q:1"})
    assert refusal == (
        "HTTPS_PROXY or HTTP_PROXY of this process: proxies of the scheme 'socks5' are not supported, only http and "
        "https"
    )


async def test_a_user_may_act_as_somebody_else() -> None:
    user = {"token": "t", "as": "eve", "as-uid": "1", "as-groups": ["a", "b"], "as-user-extra": {"x.io/k": ["v", "w"]}}
    assert (await connection_of(config(user=user))).headers == (
        ("Impersonate-User", "eve"),
        ("Impersonate-Uid", "1"),
        ("Impersonate-Group", "a"),
        ("Impersonate-Group", "b"),
        ("Impersonate-Extra-x.io%2Fk", "v"),
        ("Impersonate-Extra-x.io%2Fk", "w"),
    )


async def test_it_may_be_yaml_or_json() -> None:
    for text in (
        yaml.safe_dump(config()),
        json.dumps(config(), indent="\t"),
        "# ours\n---\n" + yaml.safe_dump(config()) + "...\n",
    ):
        assert (await connection_of(text.encode())).server == "https://k:1"


async def test_entries_that_the_current_context_does_not_use_do_not_matter() -> None:
    content = config()
    content["users"] += [{"name": "v", "user": {"tokenFile": "/t", "exec": {}}}, "text", None, {"user": 5}]
    content["clusters"] += [{"name": "l", "cluster": {"insecure-skip-tls-verify": True}}, {"name": "l"}, {}]
    content["contexts"] += [{"name": "d", "context": 5}]
    content["extensions"] = [{"name": "x", "extension": {"at": 2.5, "list": [None, False]}}]
    assert (await connection_of(content)).server == "https://k:1"


async def test_a_context_may_have_no_user() -> None:
    content = config()
    del content["contexts"][0]["context"]["user"]
    assert await (await connection_of(content)).credentials.header() == ""
    assert await (await connection_of(config(user={}))).credentials.header() == ""


# --- what is refused -----------------------------------------------------------------------------------------------

USER = "users[0].user"
CLUSTER = "clusters[0].cluster"
OWN_FILES = "it would be read from this process' own files"


@pytest.mark.parametrize(
    ("user", "message"),
    [
        ({"tokenFile": "/s3cret"}, f"{USER}.tokenFile: {OWN_FILES}; give token instead"),
        ({"token": "t", "tokenFile": "/s3cret"}, f"{USER}.tokenFile: {OWN_FILES}; give token instead"),
        (
            {"client-certificate": "/s3cret"},
            f"{USER}.client-certificate: {OWN_FILES}; give client-certificate-data instead",
        ),
        ({"client-key": "/s3cret"}, f"{USER}.client-key: {OWN_FILES}; give client-key-data instead"),
        ({"username": "s3cret"}, f"{USER}.username: Kubernetes has no passwords any more; give a token or a client"),
        ({"password": "s3cret"}, f"{USER}.password: Kubernetes has no passwords any more; give a token or a client"),
        ({"auth-provider": {"name": "s3cret"}}, f"{USER}.auth-provider: no client has it any more; give a token"),
        ({"exec": {"command": "s3cret"}}, "or allow it by --allow-exec-plugins"),
        ({"token": "s3cret\nX: 1"}, f"{USER}.token: it holds characters that no token has"),
        ({"token": "two s3crets"}, f"{USER}.token: it holds characters that no token has"),
        ({"token": 53}, f"{USER}.token: it is no text; a number or a truth value needs quotes"),
        ({"client-key-data": "czNjcmV0"}, f"{USER}.client-certificate-data: it goes together with client-key-data"),
        (
            {"client-certificate-data": "czNjcmV0", "client-key-data": "czNjcmV0"},
            f"{USER}.client-certificate-data: the client certificate and its key cannot be read or do not belong",
        ),
        (
            {"client-certificate-data": "s3cret!", "client-key-data": "s3cret!"},
            f"{USER}.client-certificate-data: it is no base64",
        ),
        ({"as": "s3cret\nX: 1"}, f"{USER}.as: a value of as, as-uid, as-groups, as-user-extra holds characters"),
        ({"as-groups": ["s3cret"]}, f"{USER}.as: as-uid, as-groups and as-user-extra need it as well"),
        ({"as": "a", "as-groups": "s3cret"}, f"{USER}.as-groups: it is no list"),
        ({"as": "a", "as-groups": [5]}, f"{USER}.as-groups[0]: it is no text"),
        ({"as": "a", "as-user-extra": {"s3cret": "v"}}, f"{USER}.as-user-extra.*: it is no list"),
    ],
)
async def test_what_a_user_may_not_have_is_refused_by_field_reason_and_way_out(user: Plain, message: str) -> None:
    refusal = await refusal_of(config(user=user))
    assert message in refusal
    assert "s3cret" not in refusal
    assert "czNjcmV0" not in refusal


@pytest.mark.parametrize(
    ("cluster", "message"),
    [
        ({"server": ""}, f"{CLUSTER}.server: it is not set"),
        ({"server": "10.0.0.1:6443"}, f"{CLUSTER}.server: it does not begin with http:// or https:// and a host"),
        ({"server": "https://u:s3cret@h"}, f"{CLUSTER}.server: it has to be scheme, host, port and path alone"),
        ({"server": "https://s3cret..b"}, f"{CLUSTER}.server: it is no address"),
        ({"server": "https://s3cret\n.b"}, f"{CLUSTER}.server: it is no address"),
        ({"server": "https://h:s3cret"}, f"{CLUSTER}.server: it is no address"),
        ({"server": "https://[::1"}, f"{CLUSTER}.server: it is no address"),
        ({"server": "http://h"}, "http:// is not encrypted; use https://, or allow it by --allow-insecure-tls"),
        ({"certificate-authority": "/s3cret"}, f"{CLUSTER}.certificate-authority: {OWN_FILES}; give certificate-auth"),
        ({"insecure-skip-tls-verify": True}, "give certificate-authority-data instead, or allow it by --allow-insec"),
        ({"insecure-skip-tls-verify": "s3cret"}, "insecure-skip-tls-verify: it is neither true nor false"),
        ({"certificate-authority-data": "czNjcmV0"}, "certificate-authority-data: it holds no certificates in PEM"),
        ({"certificate-authority-data": "/w=="}, "certificate-authority-data: it holds no certificates in PEM"),
        ({"certificate-authority-data": "s3cret!"}, f"{CLUSTER}.certificate-authority-data: it is no base64"),
        ({"tls-server-name": ".s3cret"}, f"{CLUSTER}.tls-server-name: it is no name of a host"),
        ({"tls-server-name": "s3cret\0"}, f"{CLUSTER}.tls-server-name: it is no name of a host"),
        ({"proxy-url": "socks5://s3cret:1"}, f"{CLUSTER}.proxy-url: it is not http:// or https://, a host and a port"),
        ({"proxy-url": "http://u:s3cret@"}, f"{CLUSTER}.proxy-url: it is not http:// or https://, a host and a port"),
        ({"proxy-url": "http://h:s3cret"}, f"{CLUSTER}.proxy-url: it is not http:// or https://, a host and a port"),
    ],
)
async def test_what_a_cluster_may_not_have_is_refused_by_field_reason_and_way_out(cluster: Plain, message: str) -> None:
    refusal = await refusal_of(config(cluster={"server": "https://k:1", **cluster}))
    assert message in refusal
    assert "s3cret" not in refusal


async def test_references_to_files_are_refused_whatever_is_allowed() -> None:
    everything = {"allow_exec": True, "allow_insecure": True}
    for user in ({"tokenFile": "/t"}, {"client-certificate": "/c"}, {"client-key": "/k"}, {"username": "u"}):
        assert await refusal_of(config(user=user), **everything)
    assert await refusal_of(config(cluster={"certificate-authority": "/c"}), **everything)


async def test_an_authority_beside_no_check_at_all_is_an_error_as_for_kubectl(authority: Authority) -> None:
    trust = {"certificate-authority-data": authority.encoded(authority.certificate), "insecure-skip-tls-verify": True}
    assert "it contradicts certificate-authority-data" in await refusal_of(config(cluster=trust), allow_insecure=True)


async def test_the_scheme_may_be_written_in_capitals() -> None:
    assert (await connection_of(config("HTTPS://k:1"))).tls is not None
    assert "http:// is not encrypted" in await refusal_of(config("HTTP://k:1"))


async def test_http_is_taken_where_it_is_allowed() -> None:
    connection = await connection_of(config("http://k:1"), allow_insecure=True)
    assert connection.tls is None


async def test_a_key_with_a_passphrase_is_an_error_and_no_question_on_the_terminal(authority: Authority) -> None:
    from cryptography.hazmat.primitives import serialization  # noqa: PLC0415 - this test alone

    certificate, key = authority.files("client")
    loaded = serialization.load_pem_private_key(key.read_bytes(), None)
    sealed = loaded.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.BestAvailableEncryption(b"s3cret"),
    )
    user = {
        "client-certificate-data": authority.encoded(certificate),
        "client-key-data": base64.b64encode(sealed).decode(),
    }
    assert "cannot be read or do not belong together" in await refusal_of(config(user=user))


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("current-context", None, "current-context: it is not set"),
        ("current-context", "s3cret", "current-context: no entry of contexts has this name"),
        ("current-context", {"a": 1}, "current-context: it is no text; a number or a truth value needs quotes"),
        ("contexts", "s3cret", "contexts: it is no list"),
        ("contexts", [{"name": "c"}], "contexts[0].context.cluster: it is not set"),
        ("contexts", [{"name": "c"}, {"name": "c"}], "contexts[1].name: it is also the name of contexts[0]; give each"),
        ("contexts", [{"name": "c", "context": "s3cret"}], "contexts[0].context: it is no mapping"),
        ("clusters", None, "contexts[0].context.cluster: no entry of clusters has this name"),
        ("clusters", [{"name": "k"}], "clusters[0].cluster.server: it is not set"),
        ("users", [], "contexts[0].context.user: no entry of users has this name"),
        ("kind", "s3cret", "kind: it is not Config, as that of a kubeconfig is"),
        ("apiVersion", "v2", "apiVersion: it is not v1, as that of a kubeconfig is"),
    ],
)
async def test_what_does_not_hold_together_is_an_error(key: str, value: Any, message: str) -> None:
    refusal = await refusal_of({**config(), key: value})
    assert refusal.startswith(message)
    assert "s3cret" not in refusal


def bomb() -> bytes:
    lines = ["a0: &a0 [s3cret]", *(f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 20))]
    return "\n".join(lines).encode()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b"", "it is no mapping"),
        (b"[]", "it is no mapping"),
        (b"s3cret", "it is no mapping"),
        (b"a: [s3cret", "it is no YAML or JSON (line "),
        (b"\xff\xfes\x003", "it is no YAML or JSON"),
        (b"a: \x00s3cret", "it is no YAML or JSON"),
        (b'a: "\\s3cret"', "it is no YAML or JSON (line 1, column "),
        (b"a: &s3cret b", "it has an anchor or an alias (line 1, column 4); write it out"),
        (b"a: *s3cret", "it has an anchor or an alias (line 1, column 4); write it out"),
        (bomb(), "it has an anchor or an alias (line 1, column 5); write it out"),
        (b"a: !s3cret b", "it has a tag (line 1, column 4); take it away"),
        (b"a: !!python/object/apply:os.system [s3cret]", "it has a tag (line 1, column 4); take it away"),
        (b"s3cret: 1\ns3cret: 2", "it has a key twice in a mapping (line 2, column 1)"),
        (b"a: {s3cret: 1, s3cret: 2}", "it has a key twice in a mapping (line 1, column 16)"),
        (b"? [s3cret]\n: 1", "it has a key that is no text (line 1, column 3)"),
        (b"<<: {a: s3cret}", "it has a key that is no text (line 1, column 1)"),
        (b"a: 1\n---\ns3cret: 2", "it holds several documents (line 2, column 1); give one"),
        (b"[" * 101, "it is nested more than 100 deep (line 1, column 101)"),
        (b"[" * 500_000, "it is no YAML or JSON (line 1, column 1001)"),
        (b'{"a":' * 101, "it is nested more than 100 deep (line 1, column 501)"),
        (b"a: " + b"9" * 5000, "it is no YAML or JSON"),
        (b"[" + b"a," * 100_000 + b"]", "it has more than 100000 parts"),
        (b"#" * (2**20 + 1), "it is larger than 1 MiB"),
    ],
)
async def test_a_text_that_is_no_plain_document_is_an_error(text: bytes, message: str) -> None:
    refusal = await refusal_of(text)
    assert refusal.startswith(message)
    assert "s3cret" not in refusal
