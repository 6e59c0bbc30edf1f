"""A live cluster, as the commands use it: one connection, whole lists, and errors that name the way out."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable, Mapping
from typing import Final, TypeVar

import msgspec

from kueue_dqo.api.meta import KUEUE_GROUP
from kueue_dqo.cli.errors import CommandError, NoCluster
from kueue_dqo.runtime.client import Client
from kueue_dqo.runtime.connection import find_connection
from kueue_dqo.runtime.errors import (
    ApiError,
    ConfigurationError,
    Forbidden,
    Gone,
    NotFound,
    Unauthorized,
    Unreachable,
)
from kueue_dqo.runtime.resources import Resource

T = TypeVar("T")

FIELD_MANAGER: Final = "kueue-dqo-cli"
_LISTS: Final = 3
"""How often a list is begun anew whose pages have expired."""


def with_cluster(kubeconfig: str | None, context: str | None, work: Callable[[Client], Awaitable[T]]) -> T:
    """What the work returns. Raises CommandError for all that the API server, or the way to it, can bring about."""

    async def connected() -> T:
        connection = await find_connection(kubeconfig=kubeconfig, context=context, environment=_environment())
        async with Client(connection) as client:
            return await work(client)

    try:
        # With a factory, the runner leaves alone whatever event loop the caller's thread has.
        with asyncio.Runner(loop_factory=asyncio.new_event_loop) as runner:
            return runner.run(connected())
    except ConfigurationError as error:
        raise NoCluster(str(error)) from error
    except Unreachable as error:
        msg = f"the cluster cannot be reached: {error}; is --kubeconfig, --context the right one?"
        raise NoCluster(msg) from error
    except ApiError as error:
        raise CommandError(explained(error)) from error


def _environment() -> Mapping[str, str]:
    """As with kubectl, a KUBECONFIG that somebody has set goes before a pod's own service account."""
    if not os.environ.get("KUBECONFIG"):
        return os.environ
    return {name: value for name, value in os.environ.items() if name != "KUBERNETES_SERVICE_HOST"}


def explained(error: ApiError) -> str:
    """What happened, and what to do about it."""
    if isinstance(error, Unauthorized):
        return f"the cluster does not know these credentials: {error}; log in again, or choose another --context"
    if isinstance(error, Forbidden):
        return f"not allowed: {error}; have that verb granted by a ClusterRole, or choose another --context"
    return str(error)


def what_became_of(error: ApiError) -> str:
    """Of a write: without an answer nobody knows."""
    may_have_landed = isinstance(error, Unreachable) and error.may_have_landed
    return "may have been written or not, try again" if may_have_landed else "was not written"


class _Page(msgspec.Struct):
    items: list[msgspec.Raw] | None = None


async def listed(client: Client, resource: Resource) -> list[msgspec.Raw] | None:
    """Every object of the cluster, undecoded; None where the cluster has no such resource. Raises ApiError."""
    for last in range(_LISTS, 0, -1):
        found: list[msgspec.Raw] = []
        try:
            async for page in client.pages(resource.path()):
                found += msgspec.json.decode(page, type=_Page).items or ()
        except NotFound:
            return None
        except Gone:
            if last == 1:
                raise
        else:
            return found
    raise AssertionError("unreachable")  # pragma: no cover - the last round returns or raises


class _Version(msgspec.Struct):
    version: str


class _Group(msgspec.Struct):
    versions: list[_Version]


class _ServedResource(msgspec.Struct):
    name: str


class _Served(msgspec.Struct):
    resources: list[_ServedResource]


async def other_versions(client: Client, resource: Resource) -> list[str]:
    """The versions in which the cluster serves a resource of Kueue, other than the one that is asked for."""
    try:
        group = msgspec.json.decode(await client.get(f"/apis/{KUEUE_GROUP}"), type=_Group)
    except NotFound:
        return []
    found: list[str] = []
    for each in group.versions:
        if each.version == resource.version:
            continue
        served = msgspec.json.decode(await client.get(f"/apis/{KUEUE_GROUP}/{each.version}"), type=_Served)
        if any(one.name == resource.plural for one in served.resources):
            found.append(each.version)
    return found
