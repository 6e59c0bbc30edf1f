"""The objects of a live cluster, read-only, as the plan takes them."""

from __future__ import annotations

import asyncio
import datetime
from collections.abc import Mapping
from typing import Final, NamedTuple

import msgspec

from kueue_dqo.api.dqo import CAPACITY_PROVIDER
from kueue_dqo.api.gpu import NODE_GPU_REPORT
from kueue_dqo.api.kueue import CLUSTER_QUEUE, COHORT
from kueue_dqo.api.meta import ObjectKey, parse_time
from kueue_dqo.api.scheme import ObjectInvalid, decode_json, known_kind
from kueue_dqo.api.wording import some
from kueue_dqo.cli.cluster import listed, with_cluster
from kueue_dqo.cli.errors import CommandError
from kueue_dqo.cli.manifests import name_of
from kueue_dqo.cli.objects import CLUSTER, Manifests, Place, key_of, problems_text
from kueue_dqo.cli.plan.computation import objects_of
from kueue_dqo.cli.plan.warnings import LEASE, Sign
from kueue_dqo.runtime import resources
from kueue_dqo.runtime.client import Client
from kueue_dqo.runtime.errors import Forbidden, Gone, NotFound
from kueue_dqo.runtime.lease import LeaseRecord
from kueue_dqo.runtime.resources import ORCHESTRATOR_DEFINITION as _CRD
from kueue_dqo.runtime.resources import DefinitionMeta, Resource
from orchestrator.enforcement.roads import Road, road_in_force
from providers.offline import PARAMETERS_KINDS, depending_on_pods, depending_on_reports

_READ: Final = (
    resources.NODES,
    resources.RESOURCE_FLAVORS,
    resources.CLUSTER_QUEUES,
    resources.COHORTS,
    resources.ADMISSION_CHECKS,
    resources.MULTI_KUEUE_CONFIGS,
    resources.CAPACITY_PROVIDERS,
    resources.DYNAMIC_QUOTA_ORCHESTRATORS,
    resources.NODE_INVENTORY_PARAMETERS,
    resources.NVIDIA_GPU_PARAMETERS,
    resources.MANUAL_CAPACITIES,
    resources.COMPOSITE_PARAMETERS,
)
_CAN_DO_WITHOUT: Final = {*PARAMETERS_KINDS, NODE_GPU_REPORT}
_HANDOVER: Final = 15
"""Seconds that a Lease which its holder gave back has to find another one."""


class Live(NamedTuple):
    """A cluster: its objects, and the road that its quotas take."""

    manifests: Manifests
    road: Road


def read_cluster(kubeconfig: str | None, context: str | None, road: Road | None) -> Live:
    """Everything a plan is made of; without a road, the one that quotas in force or else the definitions speak for.

    Raises:
        CommandError: the cluster cannot be read, or something in it is wrong; the message lists every problem.
    """
    return with_cluster(kubeconfig, context, lambda client: _read(client, road))


async def _read(client: Client, road: Road | None) -> Live:
    manifests = Manifests(origin=CLUSTER)
    answers = await asyncio.gather(*(listed(client, each) for each in _READ), return_exceptions=True)
    _refuse_forbidden(dict(zip(_READ, answers, strict=True)))
    missing: list[str] = []
    for resource, answer in zip(_READ, answers, strict=True):
        if isinstance(answer, BaseException):
            raise answer
        if answer is None:
            missing.append(resource.full_name)
        for raw in answer or ():
            _take(manifests, resource, raw)
    if missing:
        manifests.notices.append(_without(missing))
    if manifests.problems:
        raise CommandError(problems_text(manifests.problems, CLUSTER))
    await _read_reports(client, manifests)
    await _read_pods(client, manifests)
    await _read_leases(client, manifests)
    if road is None:
        nodes = (*manifests.of_kind(CLUSTER_QUEUE).values(), *manifests.of_kind(COHORT).values())
        road, why = road_in_force(nodes) or await _road_of(client)
        manifests.notices.append(f"planned for the road {road}: {why}; choose with --road")
    return Live(manifests, road)


def _without(missing: list[str]) -> str:
    return f"the cluster has no {some(missing, at_most=len(missing))}: planned without"


def _refuse_forbidden(answers: Mapping[Resource, list[msgspec.Raw] | BaseException | None]) -> None:
    """All of them at once: whoever grants the rights wants to do it once."""
    refused = [(resource, answer) for resource, answer in answers.items() if isinstance(answer, Forbidden)]
    if not refused:
        return
    listed_ = ", ".join(resource.full_name for resource, _ in refused)
    msg = (
        f"not allowed to list {listed_}: {refused[0][1].message}; have the verb list granted on them by a ClusterRole, "
        "choose another --context, or plan from files: -f PATH"
    )
    raise CommandError(msg) from refused[0][1]


def _take(manifests: Manifests, resource: Resource, raw: msgspec.Raw) -> None:
    known = known_kind(resource.api_version, resource.kind)
    if known is None:
        raise LookupError(resource.kind)
    try:
        decoded = decode_json(known, resource.version, raw)
    except ObjectInvalid as error:
        key = ObjectKey(resource.kind, name_of(raw))
        if resource.kind in _CAN_DO_WITHOUT:
            # Such as one of a later version: the daemons publish what follows, whatever this program can read.
            manifests.unusable[key] = str(error)
            manifests.notices.append(f"{key} cannot be used, so it was planned without: {error}")
            return
        manifests.problems += [f"{key}: {problem}" for problem in error.problems]
        return
    key = key_of(resource.kind, decoded.object)
    manifests.notices += [f"{key}: {notice}" for notice in decoded.notices]
    manifests.add(resource.kind, decoded.object, Place(CLUSTER, len(manifests.places) + 1))


async def _read_reports(client: Client, manifests: Manifests) -> None:
    """Reports of GPUs are read only for a provider that is computed from them here."""
    if not depending_on_reports(objects_of(manifests, manifests.of_kind(CAPACITY_PROVIDER), {})):
        return
    try:
        found = await listed(client, resources.NODE_GPU_REPORTS)
    except Forbidden as error:
        _refuse_forbidden({resources.NODE_GPU_REPORTS: error})
        raise
    if found is None:
        manifests.notices.append(_without([resources.NODE_GPU_REPORTS.full_name]))
    for raw in found or ():
        _take(manifests, resources.NODE_GPU_REPORTS, raw)


async def _read_pods(client: Client, manifests: Manifests) -> None:
    """Pods are many, so they are read only for a provider that is computed from them here."""
    wanting = depending_on_pods(objects_of(manifests, manifests.of_kind(CAPACITY_PROVIDER), {}))
    if not wanting:
        return
    try:
        found = await listed(client, resources.PODS)
    except Forbidden as error:
        manifests.notices.append(
            f"Pods could not be listed: computed as if none ran, although the parameters of CapacityProvider "
            f"{some(wanting)} have them counted (cordoned, reserve): {error}"
        )
        return
    for raw in found or ():
        _take(manifests, resources.PODS, raw)
    if manifests.problems:
        raise CommandError(problems_text(manifests.problems, CLUSTER))


class _LeaseName(msgspec.Struct):
    name: str
    namespace: str


class _Lease(msgspec.Struct):
    metadata: _LeaseName
    spec: LeaseRecord = LeaseRecord()


class _Leases(msgspec.Struct):
    items: list[_Lease] | None = None


async def _read_leases(client: Client, manifests: Manifests) -> None:
    """The providers' signs of life. They change no quota, so a plan can do without."""
    leases: list[_Lease] = []
    try:
        async for page in client.pages(resources.LEASES.path(), params={"labelSelector": resources.CONTROLLER_LABEL}):
            leases += msgspec.json.decode(page, type=_Leases).items or ()
    except (Forbidden, NotFound, Gone) as error:
        manifests.notices.append(f"the Leases of providers could not be listed, so none was looked at: {error}")
        return
    signs = manifests.objects.setdefault(LEASE, {})
    now = datetime.datetime.now(datetime.UTC)
    for lease in leases:
        overdue = overdue_by(lease.spec, now)
        known = signs.get(lease.metadata.name)
        # Of two in different namespaces, one may be left over from an earlier installation.
        if overdue is not None and (known is None or overdue < known.overdue):
            signs[lease.metadata.name] = Sign(f"{lease.metadata.namespace}/{lease.metadata.name}", overdue)


def overdue_by(record: LeaseRecord, now: datetime.datetime) -> float | None:
    """For how many seconds the Lease has run out, negative while it has not; None for one that says no time."""
    if record.holder_identity is None or record.lease_duration_seconds is None or record.renew_time is None:
        return None
    seconds = record.lease_duration_seconds
    if not record.holder_identity:
        seconds = max(seconds, _HANDOVER)
    return (now - parse_time(record.renew_time)).total_seconds() - seconds


class _Definition(msgspec.Struct):
    metadata: DefinitionMeta


async def _road_of(client: Client) -> tuple[Road, str]:
    """Where quotas take effect in this cluster, and how that is known."""
    try:
        raw = await client.get(resources.CUSTOM_RESOURCE_DEFINITIONS.path(_CRD))
    except NotFound:
        return Road.STATUS, f"the cluster has no definition {_CRD}"
    except Forbidden:
        return Road.STATUS, f"the definition {_CRD} may not be read (verb get), so it cannot be asked whose it is"
    if msgspec.json.decode(raw, type=_Definition).metadata.is_ours:
        return Road.SPEC, f"the definition {_CRD} came with kueue-dqo, so this Kueue has none of its own"
    return Road.STATUS, f"the definition {_CRD} did not come with kueue-dqo, so it is Kueue's own"
