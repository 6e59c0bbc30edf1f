"""What orchestrators have written into the ClusterQueues and Cohorts of a cluster."""

from __future__ import annotations

import asyncio
from typing import Final, NamedTuple

import msgspec

from kueue_dqo.api import dqo
from kueue_dqo.api.meta import ObjectKey
from kueue_dqo.api.scheme import ObjectInvalid, decode_json, known_kind
from kueue_dqo.cli.cluster import listed, other_versions
from kueue_dqo.cli.errors import CommandError
from kueue_dqo.cli.manifests import name_of
from kueue_dqo.runtime.client import Client
from kueue_dqo.runtime.resources import CLUSTER_QUEUES, COHORTS, DYNAMIC_QUOTA_ORCHESTRATORS, Resource
from orchestrator.cleanup import Leftover, Orchestrators, leftovers
from orchestrator.enforcement.held import Held, held_of

_QUOTA_NODES: Final = (CLUSTER_QUEUES, COHORTS)


class Found(NamedTuple):
    """What was read: what is left where, the objects that there are, and what has to be said of the reading."""

    leftovers: list[Leftover]
    keys: frozenset[ObjectKey]
    notes: list[str]


async def read(client: Client) -> Found:
    """Raises CommandError where something is not read whole: what is not seen would be taken for gone."""
    notes: list[str] = []
    objects = [held for part in await asyncio.gather(*(_held(client, each) for each in _QUOTA_NODES)) for held in part]
    # After the objects, so that whoever wrote into one of them is there, unless it is really gone.
    orchestrators = await _orchestrators(client, notes)
    return Found(leftovers(objects, orchestrators), frozenset(held.key for held in objects), notes)


async def _held(client: Client, resource: Resource) -> list[Held]:
    raws = await listed(client, resource)
    if raws is None:
        await _refuse_other_versions(client, resource)
    return [held_of(resource.kind, bytes(raw)) for raw in raws or ()]


async def _orchestrators(client: Client, notes: list[str]) -> Orchestrators:
    resource = DYNAMIC_QUOTA_ORCHESTRATORS
    raws = await listed(client, resource)
    if raws is None:
        await _refuse_other_versions(client, resource)
        notes.append(f"the cluster has no {resource.full_name}: every orchestrator counts as gone")
    found: dict[str, dqo.DynamicQuotaOrchestrator] = {}
    for raw in raws or ():
        orchestrator = _orchestrator(raw)
        found[orchestrator.metadata.name] = orchestrator
    return found


def _orchestrator(raw: msgspec.Raw) -> dqo.DynamicQuotaOrchestrator:
    resource = DYNAMIC_QUOTA_ORCHESTRATORS
    known = known_kind(resource.api_version, resource.kind)
    if known is None:
        raise LookupError(resource.kind)
    try:
        found = decode_json(known, resource.version, raw).object
    except ObjectInvalid as error:
        msg = (
            f"{resource.kind}/{name_of(raw)} cannot be read: {error}; as long as that is so, nobody can tell which "
            "quotas it keeps up: correct it first"
        )
        raise CommandError(msg) from error
    if not isinstance(found, dqo.DynamicQuotaOrchestrator):
        raise TypeError(found)
    return found


async def _refuse_other_versions(client: Client, resource: Resource) -> None:
    others = await other_versions(client, resource)
    if others:
        msg = (
            f"the cluster has {resource.plural} in {', '.join(others)}, not in {resource.version}, which is what this "
            "version of dqo reads: use the version of dqo that goes with it"
        )
        raise CommandError(msg)
