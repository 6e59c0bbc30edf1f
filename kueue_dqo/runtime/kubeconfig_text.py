"""A connection from a kubeconfig in memory that somebody else wrote, such as one from a Secret.

Unlike one that the process' own admin named, it is given as little as possible: no files of this process, and programs
and unencrypted connections only where they were allowed. Nothing of it is written to any file.
"""

from __future__ import annotations

import asyncio
import os
import ssl
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from urllib.parse import urlsplit

from kueue_dqo.runtime.connection import Connection, check_proxy, present_certificate, tls_context
from kueue_dqo.runtime.credentials import Credentials, FixedCredentials, Renewed, RenewedCredentials
from kueue_dqo.runtime.errors import ConfigurationError
from kueue_dqo.runtime.exec_plugin import run_plugin
from kueue_dqo.runtime.kubeconfig_checks import Access, ExecPlugin, access_of
from kueue_dqo.runtime.plain_yaml import read_document
from kueue_dqo.runtime.proxies import environment_proxy


async def connection_from_text(
    text: bytes,
    *,
    origin: str,
    allow_exec: bool = False,
    allow_insecure: bool = False,
    environment: Mapping[str, str] = os.environ,
) -> Connection:
    """The connection of the current context of a kubeconfig in YAML or JSON, of at most 1 MiB.

    Runs the credential plugin where the user has one and `allow_exec` lets it. `allow_insecure` is for servers that
    are not checked, or not asked by https. Without an authority of its own, the system's certificates count.

    Raises ConfigurationError: the origin, the field, why, the way out, and nothing of the text; nothing is chained to
    it either.
    """
    try:
        access, tls = await asyncio.to_thread(_understood, text, allow_exec=allow_exec, allow_insecure=allow_insecure)
        return Connection(
            server=access.server,
            credentials=await _credentials(access, tls, origin, environment),
            tls=tls,
            server_name=access.server_name,
            proxy=access.proxy or _environment_proxy(access.server, environment),
            headers=access.headers,
        )
    except ConfigurationError as error:
        fault = str(error)
    except Exception as error:  # noqa: BLE001 - whatever is wrong with the text, nothing may show a part of it
        fault = f"it cannot be used ({type(error).__name__})"
    raise ConfigurationError(f"{origin}: {fault}")


def _understood(text: bytes, *, allow_exec: bool, allow_insecure: bool) -> tuple[Access, ssl.SSLContext | None]:
    """In a thread: a large text, and the system's many certificates, take their time."""
    access = access_of(read_document(text), allow_exec=allow_exec, allow_insecure=allow_insecure)
    if urlsplit(access.server).scheme != "https":
        return access, None
    return access, _tls(access)


def _environment_proxy(server: str, environment: Mapping[str, str]) -> str | None:
    proxy = environment_proxy(server, environment)
    try:
        check_proxy(proxy or "http://")
    except ConfigurationError as error:
        raise ConfigurationError(f"HTTPS_PROXY or HTTP_PROXY of this process: {error}") from None
    return proxy


def _tls(access: Access) -> ssl.SSLContext:
    try:
        authority = access.authority.decode("ascii") if access.authority else None
        tls = tls_context(ca_data=authority, verify=not access.is_insecure)
    except (ConfigurationError, UnicodeDecodeError):
        tls = None
    if tls is None:
        raise ConfigurationError(f"{access.authority_place}: it holds no certificates in PEM")
    _present(tls, access.certificate, access.key, access.certificate_place)
    return tls


def _present(tls: ssl.SSLContext | None, certificate: bytes, key: bytes, place: str) -> None:
    """Makes new connections present the client certificate, where there is one."""
    if tls is None or not certificate:
        return
    fault = ""
    with _as_file(certificate) as certificate_path, _as_file(key) as key_path:
        try:
            present_certificate(tls, certificate_path, key_path)
        except ConfigurationError as error:
            fault = str(error)
    if fault:
        raise ConfigurationError(f"{place}: {fault}")


@contextmanager
def _as_file(content: bytes) -> Iterator[str]:
    """A path under which it can be read as long as this lasts. It is in memory alone, and has no name."""
    if not hasattr(os, "memfd_create"):
        raise ConfigurationError("client certificates in memory need Linux; give a token instead")
    with os.fdopen(os.memfd_create("client-certificate"), "wb") as file:
        file.write(content)
        file.flush()
        yield f"/proc/self/fd/{file.fileno()}"


async def _credentials(
    access: Access, tls: ssl.SSLContext | None, origin: str, environment: Mapping[str, str]
) -> Credentials:
    plugin = access.plugin
    if plugin is None:
        return FixedCredentials(f"Bearer {access.token}" if access.token else "")

    async def renew() -> Renewed:
        try:
            return await _renewed(plugin, tls, environment)
        except ConfigurationError as error:
            fault = str(error)
        raise ConfigurationError(f"{origin}: {fault}")

    return RenewedCredentials(renew, await _renewed(plugin, tls, environment))


async def _renewed(plugin: ExecPlugin, tls: ssl.SSLContext | None, environment: Mapping[str, str]) -> Renewed:
    issued = await run_plugin(plugin, environment)
    if not issued.token and tls is None:
        raise ConfigurationError(f"{plugin.place}: the plugin prints a certificate alone, which http:// has no use for")
    _present(tls, issued.certificate, issued.key, plugin.place)
    return Renewed(f"Bearer {issued.token}" if issued.token else "", issued.lifetime)
