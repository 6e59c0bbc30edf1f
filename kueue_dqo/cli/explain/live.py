"""A live cluster as one step of the model: all that admission reads, with the statuses that it has."""

from __future__ import annotations

import asyncio
from typing import Final

import msgspec

from admission.world import Item
from kueue_dqo.api.admission_kinds import ADMISSION_KINDS
from kueue_dqo.api.meta import KUEUE_GROUP
from kueue_dqo.api.scheme import ObjectInvalid, decode_json, known_kind
from kueue_dqo.cli.cluster import listed, with_cluster
from kueue_dqo.cli.errors import CommandError, NoCluster
from kueue_dqo.cli.manifests import name_of
from kueue_dqo.cli.objects import CLUSTER, problems_text
from kueue_dqo.runtime import resources
from kueue_dqo.runtime.client import Client
from kueue_dqo.runtime.errors import Forbidden
from kueue_dqo.runtime.resources import Resource

_READ: Final = (
    resources.RESOURCE_FLAVORS,
    resources.CLUSTER_QUEUES,
    resources.COHORTS,
    resources.ADMISSION_CHECKS,
    resources.LOCAL_QUEUES,
    resources.CAPACITY_PROVIDERS,
    resources.DYNAMIC_QUOTA_ORCHESTRATORS,
    Resource(KUEUE_GROUP, "v1beta2", "workloadpriorityclasses", "WorkloadPriorityClass"),
    Resource("scheduling.k8s.io", "v1", "priorityclasses", "PriorityClass"),
    Resource("node.k8s.io", "v1", "runtimeclasses", "RuntimeClass"),
    Resource("", "v1", "namespaces", "Namespace"),
    Resource("", "v1", "limitranges", "LimitRange", namespaced=True),
    Resource("", "v1", "nodes", "Node"),
    resources.WORKLOADS,
)
"""Workloads last, and no Jobs: those of a cluster have their Workloads."""
_NEEDED: Final = frozenset({"ResourceFlavor", "ClusterQueue", "LocalQueue", "Workload"})


def read_items(kubeconfig: str | None, context: str | None) -> tuple[Item, ...]:
    """Everything of the cluster that the model reads, in the order of creation.

    Raises:
        CommandError: the cluster cannot be read, or something in it is wrong.
    """
    try:
        return with_cluster(kubeconfig, context, _read)
    except NoCluster as error:
        msg = f"{error}; or explain from files: -f PATH (a file, a folder, or - for standard input)"
        raise CommandError(msg) from error


async def _read(client: Client) -> tuple[Item, ...]:
    answers = await asyncio.gather(*(listed(client, each) for each in _READ), return_exceptions=True)
    items: list[Item] = []
    problems: list[str] = []
    for resource, answer in zip(_READ, answers, strict=True):
        if isinstance(answer, Forbidden) and resource.kind not in _NEEDED:
            continue  # such as nodes, which tenants may not list: it is explained without
        if isinstance(answer, BaseException):
            raise answer
        for raw in answer or ():
            _take(resource, raw, items, problems)
    if problems:
        raise CommandError(problems_text(problems, CLUSTER))
    workloads = [each for each in items if each.kind == resources.WORKLOADS.kind]
    others = [each for each in items if each.kind != resources.WORKLOADS.kind]
    return (
        *others,
        *sorted(workloads, key=lambda each: (str(each.object.metadata.creation_timestamp), each.object.metadata.key)),
    )


def _take(resource: Resource, raw: msgspec.Raw, items: list[Item], problems: list[str]) -> None:
    known = known_kind(resource.api_version, resource.kind, ADMISSION_KINDS)
    if known is None:
        raise LookupError(resource.kind)
    try:
        items.append(Item(resource.kind, decode_json(known, resource.version, raw).object))
    except ObjectInvalid as error:
        problems += [f"{resource.kind}/{name_of(raw)}: {problem}" for problem in error.problems]
