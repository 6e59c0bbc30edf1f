"""Runs a credential plugin of a kubeconfig that somebody else wrote.

The library that reads kubeconfig files can do so as well, but it keeps client certificates in temporary files, logs and
quotes what the plugin writes to stderr, lets a plugin that hangs run on, and tells it nothing of the cluster.
"""

from __future__ import annotations

import asyncio
import contextlib
import datetime
import json
import os
import signal
from asyncio.subprocess import DEVNULL, PIPE, Process
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Final

import msgspec

from kueue_dqo.runtime.errors import ConfigurationError
from kueue_dqo.runtime.kubeconfig_checks import ExecPlugin, is_token

_TIMEOUT: Final = 60.0
"""Seconds that a plugin may take."""
_LARGEST: Final = 2**20
"""Bytes that a plugin may print."""
_EARLY: Final = 30.0
"""Seconds before its expiry at which a token is renewed."""
_REAPED_WITHIN: Final = 5.0
"""Seconds to wait for a program that was killed."""

_Time = Annotated[datetime.datetime, msgspec.Meta(tz=True)]


@dataclass(frozen=True, slots=True, kw_only=True)
class Issued:
    """What a plugin printed: a token, a client certificate, or both. Its text shows nothing of it."""

    token: str = field(repr=False)
    certificate: bytes = field(repr=False)
    key: bytes = field(repr=False)
    lifetime: float | None
    """Seconds until it is to be renewed; None: until it is rejected."""


class _Status(msgspec.Struct, frozen=True, rename="camel"):
    token: str | None = None
    client_certificate_data: str | None = None
    client_key_data: str | None = None
    expiration_timestamp: _Time | None = None


class _Answer(msgspec.Struct, frozen=True, rename="camel"):
    api_version: str
    kind: str
    status: _Status


async def run_plugin(plugin: ExecPlugin, environment: Mapping[str, str]) -> Issued:
    """What the plugin prints, which gets that environment, its own variables, and what it asked to know.

    Raises ConfigurationError, with the plugin's place and no word of the plugin's. A plugin that takes too long, or
    that nobody waits for any more, is killed with all that it started.
    """
    try:
        async with asyncio.timeout(_TIMEOUT):
            printed = await _printed(plugin, environment)
    except TimeoutError:
        fault = f"the plugin did not end within {_TIMEOUT:g} s"
    except OSError as error:
        fault = f"the plugin cannot be started: {error.strerror}"
    except ValueError:
        fault = "the plugin cannot be started: its command, arguments or variables hold what no program can be given"
    else:
        return _issued(plugin, printed)
    raise ConfigurationError(f"{plugin.place}: {fault}")


async def _printed(plugin: ExecPlugin, environment: Mapping[str, str]) -> bytes:
    # What it writes to stderr may hold secrets; nobody reads it. A session of its own, so that all of it can be ended.
    process = await asyncio.create_subprocess_exec(
        plugin.command,
        *plugin.args,
        env={**environment, **plugin.env, "KUBERNETES_EXEC_INFO": _told(plugin)},
        stdin=DEVNULL,
        stdout=PIPE,
        stderr=DEVNULL,
        start_new_session=True,
    )
    try:
        assert process.stdout is not None  # noqa: S101 - it is a pipe
        printed = await _read(process.stdout, plugin)
        code = await process.wait()
    except BaseException:
        await _end(process)
        raise
    if code != 0:
        raise ConfigurationError(f"{plugin.place}: the plugin ended with exit code {code}; run it by hand to see why")
    return printed


async def _read(stream: asyncio.StreamReader, plugin: ExecPlugin) -> bytes:
    printed = b""
    while chunk := await stream.read(_LARGEST):
        printed += chunk
        if len(printed) > _LARGEST:
            raise ConfigurationError(f"{plugin.place}: the plugin prints more than {_LARGEST >> 20} MiB")
    return printed


async def _end(process: Process) -> None:
    """Also of what it started when it has ended itself: that may hold on to the pipe."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(_REAPED_WITHIN):
            await process.wait()


def _told(plugin: ExecPlugin) -> str:
    spec = {"interactive": False} if plugin.cluster is None else {"interactive": False, "cluster": plugin.cluster}
    return json.dumps({"apiVersion": plugin.api_version, "kind": "ExecCredential", "spec": spec})


def _issued(plugin: ExecPlugin, printed: bytes) -> Issued:
    try:
        answer = msgspec.json.decode(printed, type=_Answer)
    except (msgspec.DecodeError, RecursionError):
        answer = None
    if answer is None or answer.kind != "ExecCredential":
        raise ConfigurationError(f"{plugin.place}: what the plugin prints is no ExecCredential with a status")
    if answer.api_version != plugin.api_version:
        raise ConfigurationError(f"{plugin.place}: what the plugin prints is not of the apiVersion that is asked for")
    status = answer.status
    token = (status.token or "").strip()
    certificate, key = status.client_certificate_data or "", status.client_key_data or ""
    if not token and not (certificate and key):
        raise ConfigurationError(f"{plugin.place}: the plugin prints neither a token nor a certificate with its key")
    if not is_token(token):
        raise ConfigurationError(f"{plugin.place}: the plugin prints a token with characters that no token has")
    lifetime = None
    if status.expiration_timestamp is not None:
        now = datetime.datetime.now(datetime.UTC)
        lifetime = (status.expiration_timestamp - now).total_seconds() - _EARLY
    return Issued(token=token, certificate=certificate.encode(), key=key.encode(), lifetime=lifetime)
