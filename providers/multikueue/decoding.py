"""From the API servers' JSON to what the provider knows of a manager and of its workers. Pure.

Nothing here raises. An object that cannot be used becomes `Unreadable`, so that it is never taken for one that is not
there: a worker may be anybody's, and a queue that is missing is capacity that is gone. Whatever of a worker's text may
come to stand in a message is checked or cut here. Names are interned and equal quotas are shared, since a fleet has
many thousand queues of few kinds.
"""

from __future__ import annotations

import functools
import re
import sys
from collections.abc import Callable
from typing import Any, Final, TypeVar

import msgspec

from kueue_dqo.api import dqo, kueue
from kueue_dqo.api.meta import KUEUE_GROUP, Condition, ObjectMeta, find_condition
from kueue_dqo.api.problems import OBJECT_NAME, RESOURCE_NAME, Form
from kueue_dqo.api.scheme import KnownKind, ObjectInvalid, decode_json
from providers.multikueue.foreign_text import one_line, one_word, optional_name, refuse_misnamed
from providers.multikueue.objects import LocalQueue, ManagerQueue, Unreadable, WorkerCohort, WorkerQueue
from providers.multikueue.quota_nodes import PARENT_FIELDS, Meta, QuotaNode, decode_node

T = TypeVar("T")

ACTIVE: Final = "Active"
"""The type of the condition with which Kueue says whether a queue admits, and whether a worker is connected."""
DELETING: Final = "Deleting"
STOPPED: Final = "Stopped"

_VERSION: Final = "v1beta2"
_RUNS: Final = ("", "None")
"""The values of `spec.stopPolicy` that stop nothing."""
_LONGEST_TIME: Final = 40
"""Characters: the fraction of a second may have any number of digits."""
_CONTROLLER: Final = Form(
    re.compile(r"[A-Za-z0-9._/:-]+", re.ASCII), 253, "name of a controller, such as kueue-dqo.dev/node-inventory"
)


# --- what is read of the objects -----------------------------------------------------------------------------------


class _ManagerSpec(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    cohort_name: str = ""
    parent_name: str = ""
    admission_checks_strategy: kueue.AdmissionChecksStrategy = kueue.AdmissionChecksStrategy()


class _ManagerNode(msgspec.Struct, frozen=True, gc=False):
    metadata: Meta
    spec: _ManagerSpec = _ManagerSpec()


class _LocalQueueSpec(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    cluster_queue: str = ""
    stop_policy: str = ""


class _LocalQueue(msgspec.Struct, frozen=True, gc=False):
    metadata: Meta
    spec: _LocalQueueSpec = _LocalQueueSpec()


def _or_unreadable(read: Callable[[bytes], T]) -> Callable[[bytes], T | Unreadable]:
    @functools.wraps(read)
    def decode(raw: bytes) -> T | Unreadable:
        try:
            return read(raw)
        except ObjectInvalid as error:
            return Unreadable(one_line(str(error)))
        except RecursionError:
            return Unreadable("the document: is nested too deeply")

    return decode


def _object(kind: str, wanted: Any, raw: bytes, version: str = _VERSION) -> Any:
    return decode_json(KnownKind(KUEUE_GROUP, kind, (version,), wanted), version, raw).object


# --- the manager ---------------------------------------------------------------------------------------------------


@_or_unreadable
def manager_queue(raw: bytes) -> ManagerQueue:
    """A ClusterQueue of the manager (v1beta2)."""
    node = _object(kueue.CLUSTER_QUEUE, _ManagerNode, raw)
    spec = node.spec
    checks = tuple(
        kueue.AdmissionCheckRule(sys.intern(rule.name), tuple(map(sys.intern, rule.on_flavors)))
        for rule in spec.admission_checks_strategy.admission_checks
    )
    return ManagerQueue(optional_name("spec.cohortName", spec.cohort_name), _shared_checks(checks), node.metadata.uid)


@_or_unreadable
def cohort_parent(raw: bytes) -> str:
    """The name of the Cohort above a Cohort of the manager (v1beta2), empty for none."""
    return optional_name("spec.parentName", _object(kueue.COHORT, _ManagerNode, raw).spec.parent_name)


@_or_unreadable
def admission_check(raw: bytes) -> kueue.AdmissionCheck:
    """An AdmissionCheck (v1beta2), without what its metadata has besides the name."""
    check: kueue.AdmissionCheck = _object(kueue.ADMISSION_CHECK, kueue.AdmissionCheck, raw)
    return kueue.AdmissionCheck(ObjectMeta(check.metadata.name), check.spec)


@_or_unreadable
def multi_kueue_config(raw: bytes) -> kueue.MultiKueueConfig:
    """A MultiKueueConfig (v1beta2), without what its metadata has besides the name."""
    config: kueue.MultiKueueConfig = _object(kueue.MULTI_KUEUE_CONFIG, kueue.MultiKueueConfig, raw)
    return kueue.MultiKueueConfig(ObjectMeta(config.metadata.name), config.spec)


@_or_unreadable
def multi_kueue_cluster(raw: bytes) -> kueue.MultiKueueCluster:
    """A MultiKueueCluster (v1beta2): its name, its spec, and of its conditions what `Active` is and why."""
    cluster: kueue.MultiKueueCluster = _object(kueue.MULTI_KUEUE_CLUSTER, kueue.MultiKueueCluster, raw)
    return kueue.MultiKueueCluster(
        ObjectMeta(cluster.metadata.name),
        cluster.spec,
        kueue.MultiKueueClusterStatus(_only(ACTIVE, cluster.status.conditions)),
    )


# --- both ----------------------------------------------------------------------------------------------------------


@_or_unreadable
def local_queue(raw: bytes) -> LocalQueue:
    """A LocalQueue of a manager or of a worker (v1beta1 and v1beta2)."""
    spec = _object("LocalQueue", _LocalQueue, raw).spec
    return LocalQueue(optional_name("spec.clusterQueue", spec.cluster_queue), spec.stop_policy not in _RUNS)


# --- a worker ------------------------------------------------------------------------------------------------------


def worker_queue(version: str) -> Callable[[bytes], WorkerQueue | Unreadable]:
    """What decodes a worker's ClusterQueues of that version: v1beta2 or v1beta1. Raises ValueError for another."""
    _check_version(kueue.CLUSTER_QUEUE, version)

    @_or_unreadable
    def decode(raw: bytes) -> WorkerQueue:
        node = decode_node(kueue.CLUSTER_QUEUE, version, raw)
        return WorkerQueue(node.parent, node.quotas, _inactive(node), node.uid)

    return decode


def worker_cohort(version: str) -> Callable[[bytes], WorkerCohort | Unreadable]:
    """What decodes a worker's Cohorts of that version: v1beta2, v1beta1 or v1alpha1. Raises ValueError for another."""
    _check_version(kueue.COHORT, version)

    @_or_unreadable
    def decode(raw: bytes) -> WorkerCohort:
        node = decode_node(kueue.COHORT, version, raw)
        return WorkerCohort(node.parent, node.quotas)

    return decode


@_or_unreadable
def capacity_provider(raw: bytes) -> dqo.CapacityProvider:
    """A CapacityProvider (v1alpha1) of a worker: spec, capacity, and of its conditions whether the capacity holds."""
    provider: dqo.CapacityProvider = _object(dqo.CAPACITY_PROVIDER, dqo.CapacityProvider, raw, "v1alpha1")
    capacity = provider.status.capacity
    flavors = capacity.flavors if capacity is not None else ()
    refuse_misnamed("spec.controllerName", _CONTROLLER, [provider.spec.controller_name])
    refuse_misnamed("spec.orchestratedFlavors", OBJECT_NAME, provider.flavor_names)
    field = "status.capacity.flavors"
    refuse_misnamed(field, OBJECT_NAME, (flavor.name for flavor in flavors))
    refuse_misnamed(field, RESOURCE_NAME, (name for flavor in flavors for name in flavor.resources))
    return dqo.CapacityProvider(
        _plain_meta(provider.metadata),
        dqo.CapacityProviderSpec(provider.spec.controller_name, provider.spec.orchestrated_flavors),
        dqo.CapacityProviderStatus(capacity, _only(dqo.CAPACITY_SYNCHRONIZED, provider.status.conditions)),
    )


@_or_unreadable
def orchestrator(raw: bytes) -> dqo.DynamicQuotaOrchestrator:
    """A DynamicQuotaOrchestrator (v1alpha1) of a worker, without its status."""
    found: dqo.DynamicQuotaOrchestrator = _object(
        dqo.DYNAMIC_QUOTA_ORCHESTRATOR, dqo.DynamicQuotaOrchestrator, raw, "v1alpha1"
    )
    listed = (each.name for each in found.spec.capacity_discovery.providers)
    refuse_misnamed("spec.capacityDiscovery.providers", OBJECT_NAME, listed)
    if found.root is not None:
        refuse_misnamed("spec.capacityDistribution.subtreeRootQuotaRef.name", OBJECT_NAME, [found.root.name])
    return dqo.DynamicQuotaOrchestrator(_plain_meta(found.metadata), found.spec)


# --- helpers -------------------------------------------------------------------------------------------------------


def _check_version(kind: str, version: str) -> None:
    if (kind, version) not in PARENT_FIELDS:
        raise ValueError(f"{version} of {kind} is not read")


def _inactive(node: QuotaNode) -> str:
    if node.is_deleting:
        return DELETING
    if node.stop_policy not in _RUNS:
        return STOPPED
    for condition in node.conditions:
        if condition.type == ACTIVE:
            return one_word(condition.reason) if condition.status == "False" else ""
    return ""


def _only(kind: str, conditions: tuple[Condition, ...]) -> tuple[Condition, ...]:
    """The condition of that type, without the time and the message, which change and may say anything."""
    condition = find_condition(conditions, kind)
    if condition is None:
        return ()
    return (Condition(kind, condition.status, one_word(condition.reason), "", condition.observed_generation),)


def _plain_meta(meta: ObjectMeta) -> ObjectMeta:
    """The name, the generation and whether it is being deleted: the rest is much and changes."""
    deleted = meta.deletion_timestamp
    return ObjectMeta(
        meta.name,
        generation=meta.generation,
        deletion_timestamp=deleted[:_LONGEST_TIME] if deleted is not None else None,
    )


@functools.lru_cache(maxsize=1024)
def _shared_checks(checks: tuple[kueue.AdmissionCheckRule, ...]) -> tuple[kueue.AdmissionCheckRule, ...]:
    return checks
