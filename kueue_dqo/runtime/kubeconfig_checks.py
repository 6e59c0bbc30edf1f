"""What the current context of a kubeconfig says, and what of it is refused where somebody else wrote it. Pure.

Only what the current context uses is judged. No message shows a value, be it a name: a secret may have been put into
any place by mistake.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final
from urllib.parse import quote, urlsplit

from kueue_dqo.runtime.addresses import is_host, is_proxy, server_fault
from kueue_dqo.runtime.fields import Fields

ALLOW_EXEC: Final = "--allow-exec-plugins"
ALLOW_INSECURE: Final = "--allow-insecure-tls"
EXEC_VERSIONS: Final = ("client.authentication.k8s.io/v1", "client.authentication.k8s.io/v1beta1")
_EXEC_EXTENSION: Final = "client.authentication.k8s.io/exec"
"""The name of the cluster's extension that is meant for its credential plugin."""
_OWN_FILES: Final = "it would be read from this process' own files"
_SAFE_IN_HEADER_NAMES: Final = "!#$&'*+-.^_`|~"


@dataclass(frozen=True, slots=True, kw_only=True)
class ExecPlugin:
    """A credential plugin: a program that prints credentials."""

    place: str
    """Where it stands in the kubeconfig."""
    api_version: str
    command: str = field(repr=False)
    """A name to be found on PATH, or an absolute path."""
    args: tuple[str, ...] = field(default=(), repr=False)
    env: Mapping[str, str] = field(default_factory=dict, repr=False)
    cluster: Mapping[str, Any] | None = field(default=None, repr=False)
    """What it is told of the cluster, where it asks for that."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Access:
    """How a server is reached, and by whom. Its text shows nothing of it."""

    server: str = field(repr=False)
    """Without a slash at its end."""
    server_name: str | None = field(repr=False)
    proxy: str | None = field(repr=False)
    is_insecure: bool
    authority: bytes = field(repr=False)
    """PEM; empty: the system's roots."""
    authority_place: str
    token: str = field(repr=False)
    certificate: bytes = field(repr=False)
    key: bytes = field(repr=False)
    certificate_place: str
    headers: tuple[tuple[str, str], ...] = field(repr=False)
    plugin: ExecPlugin | None


def access_of(content: Any, *, allow_exec: bool, allow_insecure: bool) -> Access:
    """What the current context leads to. Raises ConfigurationError: field, why, way out."""
    config = Fields(content)
    for key, wanted in (("apiVersion", "v1"), ("kind", "Config")):
        if config.text(key) not in {"", wanted}:
            config.refuse(key, f"it is not {wanted}, as that of a kubeconfig is")
    context = _referred(config, "contexts", config, "current-context").fields("context")
    cluster = _referred(config, "clusters", context, "cluster").fields("cluster")
    user = _referred(config, "users", context, "user").fields("user") if context.has("user") else Fields({}, "user")
    _check_cluster(cluster, allow_insecure=allow_insecure)
    _check_user(user, allow_exec=allow_exec)
    return Access(
        server=cluster.text("server").rstrip("/"),
        server_name=_server_name(cluster),
        proxy=_proxy(cluster),
        is_insecure=cluster.flag("insecure-skip-tls-verify"),
        authority=cluster.data("certificate-authority-data"),
        authority_place=cluster.at("certificate-authority-data"),
        token=_token(user),
        certificate=user.data("client-certificate-data"),
        key=user.data("client-key-data"),
        certificate_place=user.at("client-certificate-data"),
        headers=tuple(_headers(user)),
        plugin=_plugin(user.fields("exec"), cluster) if user.has("exec") else None,
    )


def impersonation(
    *, user: str, uid: str, groups: Iterable[str], extra: Mapping[str, Iterable[str]]
) -> Iterator[tuple[str, str]]:
    """The headers by which a user acts as somebody else."""
    if user:
        yield "Impersonate-User", user
    if uid:
        yield "Impersonate-Uid", uid
    for group in groups:
        yield "Impersonate-Group", group
    for key, values in extra.items():
        for value in values:
            yield f"Impersonate-Extra-{quote(key, safe=_SAFE_IN_HEADER_NAMES)}", value


def _referred(config: Fields, kind: str, referrer: Fields, key: str) -> Fields:
    return config.named(kind, referrer.needed(key)) or referrer.refuse(key, f"no entry of {kind} has this name")


# --- the cluster ---------------------------------------------------------------------------------------------------


def _check_cluster(cluster: Fields, *, allow_insecure: bool) -> None:
    if cluster.has("certificate-authority"):
        cluster.refuse("certificate-authority", f"{_OWN_FILES}; give certificate-authority-data instead")
    if fault := server_fault(cluster.needed("server")):
        cluster.refuse("server", f"it {fault}")
    is_insecure = cluster.flag("insecure-skip-tls-verify")
    if is_insecure and cluster.has("certificate-authority-data"):
        cluster.refuse("insecure-skip-tls-verify", "it contradicts certificate-authority-data; keep one of them")
    if is_insecure and not allow_insecure:
        cluster.refuse(
            "insecure-skip-tls-verify",
            f"nobody would check who answers; give certificate-authority-data instead, or allow it by {ALLOW_INSECURE}",
        )
    if urlsplit(cluster.text("server")).scheme == "http" and not allow_insecure:
        cluster.refuse("server", f"http:// is not encrypted; use https://, or allow it by {ALLOW_INSECURE}")


def _server_name(cluster: Fields) -> str | None:
    name = cluster.text("tls-server-name")
    if name and not is_host(name):
        cluster.refuse("tls-server-name", "it is no name of a host")
    return name or None


def _proxy(cluster: Fields) -> str | None:
    proxy = cluster.text("proxy-url")
    if not proxy:
        return None
    if not is_proxy(proxy):
        cluster.refuse("proxy-url", "it is not http:// or https://, a host and a port; others are not supported")
    return proxy


# --- the user ------------------------------------------------------------------------------------------------------


def _check_user(user: Fields, *, allow_exec: bool) -> None:
    _check_kinds_of_credentials(user)
    if user.has("exec"):
        if not allow_exec:
            user.refuse(
                "exec",
                "it would run a program in this process' place; give a token or a client certificate instead, or allow "
                f"it by {ALLOW_EXEC}",
            )
        for key in ("token", "client-certificate-data", "client-key-data"):
            if user.has(key):
                user.refuse("exec", f"it stands beside {key}; keep one of them")
    if user.has("client-certificate-data") is not user.has("client-key-data"):
        user.refuse("client-certificate-data", "it goes together with client-key-data; give both")


def _check_kinds_of_credentials(user: Fields) -> None:
    for key, instead in (
        ("tokenFile", "token"),
        ("client-certificate", "client-certificate-data"),
        ("client-key", "client-key-data"),
    ):
        if user.has(key):
            user.refuse(key, f"{_OWN_FILES}; give {instead} instead")
    for key in ("username", "password"):
        if user.has(key):
            user.refuse(key, "Kubernetes has no passwords any more; give a token or a client certificate instead")
    if user.has("auth-provider"):
        user.refuse("auth-provider", "no client has it any more; give a token or a client certificate instead")


def _token(user: Fields) -> str:
    token = user.text("token").strip()
    if not is_token(token):
        user.refuse("token", "it holds characters that no token has")
    return token


def is_token(text: str) -> bool:
    """Whether a header can hold it."""
    return text.isascii() and text.isprintable() and " " not in text


def _headers(user: Fields) -> Iterator[tuple[str, str]]:
    extra = user.fields("as-user-extra")
    parts = ("as", "as-uid", "as-groups", "as-user-extra")
    for name, value in impersonation(
        user=user.text("as"),
        uid=user.text("as-uid"),
        groups=user.texts("as-groups"),
        extra={key: Fields({"*": values}, extra.place).texts("*") for key, values in extra.content.items()},
    ):
        if not user.has("as"):
            user.refuse("as", "as-uid, as-groups and as-user-extra need it as well")
        if not value.isprintable():
            user.refuse("as", f"a value of {', '.join(parts)} holds characters that no header has")
        yield name, value


def _plugin(spec: Fields, cluster: Fields) -> ExecPlugin:
    version = spec.needed("apiVersion")
    if version not in EXEC_VERSIONS:
        spec.refuse("apiVersion", f"it is neither {EXEC_VERSIONS[0]} nor {EXEC_VERSIONS[1]}")
    command = spec.needed("command")
    if "/" in command and not command.startswith("/"):
        spec.refuse("command", "it is a path that begins nowhere; give an absolute one, or a name that is on PATH")
    mode = spec.text("interactiveMode")
    if mode not in {"", "Never", "IfAvailable"}:
        spec.refuse("interactiveMode", "it is neither Never nor IfAvailable: there is nobody to ask")
    return ExecPlugin(
        place=spec.place,
        api_version=version,
        command=command,
        args=spec.texts("args"),
        env={each.needed("name"): each.text("value") for each in spec.each("env")},
        cluster=_told(cluster) if spec.flag("provideClusterInfo") else None,
    )


def _told(cluster: Fields) -> Mapping[str, Any]:
    """What a plugin is told of a cluster: `spec.cluster` of an ExecCredential."""
    keys = ("server", "tls-server-name", "insecure-skip-tls-verify", "certificate-authority-data", "proxy-url")
    told = {key: cluster.content[key] for key in keys if cluster.has(key)}
    extension = cluster.named("extensions", _EXEC_EXTENSION)
    if extension is not None and extension.has("extension"):
        told["config"] = extension.content["extension"]
    return told
