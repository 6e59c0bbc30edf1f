"""Which version of each kind a worker serves: its Kueue may be older than the manager's."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Final, TypeVar

import msgspec

from kueue_dqo.api.meta import KUEUE_GROUP
from kueue_dqo.runtime.answers import unintelligible
from kueue_dqo.runtime.client import Client
from kueue_dqo.runtime.errors import NotFound
from kueue_dqo.runtime.resources import (
    CAPACITY_PROVIDERS,
    CLUSTER_QUEUES,
    COHORTS,
    DYNAMIC_QUOTA_ORCHESTRATORS,
    LOCAL_QUEUES,
    Resource,
)

T = TypeVar("T")
_READ: Final[Mapping[str, tuple[str, ...]]] = {
    CLUSTER_QUEUES.plural: ("v1beta2", "v1beta1"),
    LOCAL_QUEUES.plural: ("v1beta2", "v1beta1"),
    COHORTS.plural: ("v1beta2", "v1beta1", "v1alpha1"),
    CAPACITY_PROVIDERS.plural: ("v1alpha1",),
    DYNAMIC_QUOTA_ORCHESTRATORS.plural: ("v1alpha1",),
}
"""The versions that are read of each resource, the best one first."""
_ROOT: Final = f"/apis/{KUEUE_GROUP}"
_TIMEOUT: Final = 15.0


class _Version(msgspec.Struct, frozen=True, gc=False):
    version: str = ""


class _Group(msgspec.Struct, frozen=True, gc=False):
    versions: tuple[_Version, ...] = ()


class _Resource(msgspec.Struct, frozen=True, gc=False):
    name: str = ""


class _Resources(msgspec.Struct, frozen=True, gc=False):
    resources: tuple[_Resource, ...] = ()


async def served_resources(client: Client, wanted: Collection[Resource]) -> dict[Resource, Resource]:
    """Each of the wanted resources that the API server has, in the best version that it serves.

    By discovery, which every account may do. Raises ApiError; NotFound where it knows nothing of Kueue's group.
    """
    group = _decoded(_Group, await client.get(_ROOT, timeout=_TIMEOUT), _ROOT)
    offered = {each.version for each in group.versions}
    names: dict[str, frozenset[str]] = {}
    found: dict[Resource, Resource] = {}
    for resource in wanted:
        for version in _READ[resource.plural]:
            if version not in offered:
                continue
            if version not in names:
                names[version] = await _names(client, version)
            if resource.plural in names[version]:
                found[resource] = resource._replace(version=version)
                break
    return found


async def _names(client: Client, version: str) -> frozenset[str]:
    path = f"{_ROOT}/{version}"
    try:
        answer = await client.get(path, timeout=_TIMEOUT)
    except NotFound:  # it went away since the group was asked
        return frozenset()
    return frozenset(each.name for each in _decoded(_Resources, answer, path).resources)


def _decoded(wanted: type[T], answer: bytes, path: str) -> T:
    try:
        return msgspec.json.decode(answer, type=wanted)
    except (msgspec.DecodeError, RecursionError) as error:
        raise unintelligible("the answer is none of API discovery", error, path) from error
