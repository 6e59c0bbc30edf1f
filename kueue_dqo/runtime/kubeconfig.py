"""A connection from kubeconfig files, as kubectl reads them. The only module that imports kubernetes_asyncio."""

from __future__ import annotations

import asyncio
import datetime
import os
import ssl
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

from kubernetes_asyncio.client import Configuration
from kubernetes_asyncio.config import ConfigException, kube_config

from kueue_dqo.runtime.addresses import server_fault
from kueue_dqo.runtime.connection import Connection, check_proxy, present_certificate, tls_context
from kueue_dqo.runtime.credentials import Credentials, FixedCredentials, Renewed, RenewedCredentials, TokenFile
from kueue_dqo.runtime.errors import ConfigurationError
from kueue_dqo.runtime.kubeconfig_checks import impersonation
from kueue_dqo.runtime.proxies import environment_proxy

_PLUGIN_TIMEOUT: Final = 60.0
"""Seconds for a credential plugin or an identity provider; the library itself waits for ever."""
_EARLY: Final = 30.0
"""Seconds before its expiry at which a token is renewed."""
_NOBODY: Final = "nobody"
_LOOK_AGAIN: Final = 60.0
"""Seconds after which the library is asked whether the token of an identity provider is still good."""


async def read_kubeconfig(
    paths: Sequence[Path], *, context: str | None, environment: Mapping[str, str] = os.environ
) -> Connection:
    """The connection of that context, or of the current one, in files of which the first that names something wins.

    Runs the credential plugin where the user has one. Raises ConfigurationError; its message holds no secret.
    """
    source = f"kubeconfig {os.pathsep.join(str(path) for path in paths)}"
    try:
        config = kube_config.KubeConfigMerger(os.pathsep.join(str(path) for path in paths)).config
        user = _user_of(config, context)
        loader = kube_config.KubeConfigLoader(config, active_context=context, config_base_path=None)
        configuration = await _load(loader)
        return _connection(configuration, loader, user, source, environment)
    except Exception as error:  # noqa: BLE001 - a malformed file makes the library raise whatever Python raises
        raise ConfigurationError(f"{source}: {_reason(error)}") from None


def _user_of(config: Any, context: str | None) -> Any:
    """The user of the context, a mapping that knows its file, or None for nobody."""
    name = context or config.safe_get("current-context")
    if not name:
        raise ConfigurationError("no current-context is set; name a context")
    for kind in ("contexts", "clusters", "users"):
        config.value[kind] = config.value.get(kind) or []
    chosen = config["contexts"].get_with_name(name, safe=True)
    if chosen is None:
        known = ", ".join(sorted(str(entry["name"]) for entry in config.value["contexts"])) or "none"
        raise ConfigurationError(f"there is no context {name!r}; there are: {known}")
    wanted = chosen["context"].safe_get("cluster")
    cluster = config["clusters"].get_with_name(wanted, safe=True)
    if cluster is None:
        raise ConfigurationError(f"context {name!r} names the cluster {wanted!r}, which is not there")
    if not cluster["cluster"].safe_get("server"):
        raise ConfigurationError(f"cluster {wanted!r} has no server")
    user = chosen["context"].safe_get("user")
    entry = config["users"].get_with_name(user, safe=True) if user else None
    if user and entry is None:
        raise ConfigurationError(f"context {name!r} names the user {user!r}, which is not there")
    if entry is None or not entry.safe_get("user"):
        # The library takes a context without a user only where the server is not asked by https.
        config.value["users"] = [{"name": _NOBODY, "user": {}}]
        chosen["context"].value["user"] = _NOBODY
        return None
    return entry["user"]


async def _load(loader: kube_config.KubeConfigLoader) -> Configuration:
    configuration = Configuration()
    try:
        async with asyncio.timeout(_PLUGIN_TIMEOUT):
            await loader.load_and_set(configuration)
    except TimeoutError:
        raise ConfigurationError(f"the credential plugin did not end within {_PLUGIN_TIMEOUT:g} s") from None
    return configuration


def _connection(
    configuration: Configuration,
    loader: kube_config.KubeConfigLoader,
    user: Any,
    source: str,
    environment: Mapping[str, str],
) -> Connection:
    server = str(configuration.host)
    if fault := server_fault(server):
        raise ConfigurationError(f"server {server!r} {fault}")
    proxy: str | None = configuration.proxy or environment_proxy(server, environment)
    if proxy:
        check_proxy(proxy)
    tls = None
    if urlsplit(server).scheme == "https":
        authority = Path(configuration.ssl_ca_cert) if configuration.ssl_ca_cert else None
        tls = tls_context(ca_file=authority, verify=configuration.verify_ssl)
        _present(tls, configuration)
    return Connection(
        server=server,
        credentials=_credentials(configuration, loader, user, tls, source),
        tls=tls,
        server_name=configuration.tls_server_name,
        proxy=proxy,
        headers=tuple(_impersonation(user)),
    )


def _present(tls: ssl.SSLContext, configuration: Configuration) -> None:
    """Makes new connections present the client certificate, where there is one."""
    if configuration.cert_file:
        present_certificate(tls, configuration.cert_file, configuration.key_file)


def _credentials(
    configuration: Configuration,
    loader: kube_config.KubeConfigLoader,
    user: Any,
    tls: ssl.SSLContext | None,
    source: str,
) -> Credentials:
    header: str = configuration.api_key.get("BearerToken", "")
    if user is None:
        return FixedCredentials()
    if "exec" in user or "auth-provider" in user:
        if not header and not configuration.cert_file:
            raise ConfigurationError("the credential plugin returned neither a token nor a certificate")

        async def renew() -> Renewed:
            return await _renewed(loader, tls, source)

        return RenewedCredentials(renew, Renewed(_one_line(header), _lifetime(loader)))
    if "tokenFile" in user:
        # Read here and not by the library, which takes it once; it wins over `token`, as for kubectl.
        return TokenFile(Path(user.path or ".").parent / Path(user["tokenFile"]).expanduser())
    return FixedCredentials(_one_line(header))


async def _renewed(loader: kube_config.KubeConfigLoader, tls: ssl.SSLContext | None, source: str) -> Renewed:
    vars(loader).pop("exec_plugin_expiry", None)  # else the library holds on to a token that the server has rejected
    try:
        configuration = await _load(loader)
        if tls:
            _present(tls, configuration)
    except Exception as error:  # noqa: BLE001 - as when it was read first
        raise ConfigurationError(f"{source}: {_reason(error)}") from None
    return Renewed(_one_line(configuration.api_key.get("BearerToken", "")), _lifetime(loader))


def _lifetime(loader: kube_config.KubeConfigLoader) -> float | None:
    known = vars(loader)  # the library declares these attributes otherwise than it sets them
    if known.get("provider"):
        return _LOOK_AGAIN
    if "exec_plugin_expiry" not in known:
        return None
    expiry: datetime.datetime = known["exec_plugin_expiry"]
    return (expiry - datetime.datetime.now(datetime.UTC)).total_seconds() - _EARLY


def _one_line(header: str) -> str:
    """A file's last line end is no part of a token, and no header holds others. Raises ConfigurationError."""
    if not header.strip().isprintable():
        raise ConfigurationError("the token holds characters that no token has")
    return header.strip()


def _impersonation(user: Any) -> Iterator[tuple[str, str]]:
    """The headers by which the user acts as somebody else; the library knows nothing of them."""
    if user is None:
        return iter(())
    return impersonation(
        user=str(user.safe_get("as") or ""),
        uid=str(user.safe_get("as-uid") or ""),
        groups=[str(group) for group in user.value.get("as-groups") or ()],
        extra={
            str(key): [str(value) for value in values]
            for key, values in (user.value.get("as-user-extra") or {}).items()
        },
    )


def _reason(error: Exception) -> str:
    """What the library says, without the entry of the file that it may show, secrets and all."""
    if isinstance(error, (ConfigException, ConfigurationError, OSError)):
        return str(error).partition("/{")[0]
    return f"it is malformed ({type(error).__name__}); `kubectl config view` shows what is in it"
