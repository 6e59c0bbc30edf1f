"""What the provider knows of a manager and of its workers, as small as it can be. Pure.

A fleet has many thousand queues, whose statuses change with every Workload. What is not needed is not held, so that an
object that is as it was is equal to the one before.
"""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

import msgspec

from kueue_dqo.api import dqo
from kueue_dqo.api.kueue import AdmissionCheck, AdmissionCheckRule, MultiKueueCluster, MultiKueueConfig
from kueue_dqo.api.quantity import Quantity
from kueue_dqo.api.quotas import ResourceGroup
from kueue_dqo.api.resources import FlavorResource


class Unreadable(msgspec.Struct, frozen=True, gc=False):
    """An object that is there and cannot be used. It is held, so that it is not taken for one that is not there."""

    why: str
    """Field, value and what is wanted."""


class LocalQueue(msgspec.Struct, frozen=True, gc=False):
    """Where a LocalQueue leads to, on a manager or on a worker. It is known by `namespace/name`."""

    cluster_queue: str
    is_stopped: bool = False
    """Whether its `spec.stopPolicy` lets nothing in."""


# --- the manager ---------------------------------------------------------------------------------------------------


class ManagerQueue(msgspec.Struct, frozen=True, gc=False):
    """A ClusterQueue of the manager."""

    parent: str
    """The name of its Cohort, empty for none."""
    checks: tuple[AdmissionCheckRule, ...]
    """The AdmissionChecks that it uses."""
    uid: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Manager:
    """The objects of the manager, by name; LocalQueues by `namespace/name`."""

    queues: Mapping[str, ManagerQueue | Unreadable]
    cohorts: Mapping[str, str | Unreadable]
    """The name of each Cohort's parent, empty for none."""
    local_queues: Mapping[str, LocalQueue | Unreadable]
    checks: Mapping[str, AdmissionCheck | Unreadable]
    configs: Mapping[str, MultiKueueConfig | Unreadable]
    clusters: Mapping[str, MultiKueueCluster | Unreadable]


# --- a worker ------------------------------------------------------------------------------------------------------


class WorkerQueue(msgspec.Struct, frozen=True, gc=False):
    """A ClusterQueue of a worker."""

    parent: str
    """The name of its Cohort, empty for none."""
    quotas: tuple[ResourceGroup, ...]
    """Those in force: `status.effectiveQuotas` where it is set, be its list empty, else the spec's."""
    inactive: str = ""
    """Why it admits nothing at present, in one word; empty where it does.

    `Deleting`, `Stopped`, or the reason of its condition Active=False."""
    uid: str = ""
    """It tells whether two workers are the same cluster."""


class WorkerCohort(msgspec.Struct, frozen=True, gc=False):
    """A Cohort of a worker; `quotas` as a queue's."""

    parent: str
    quotas: tuple[ResourceGroup, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerView:
    """The objects of a worker, by name; LocalQueues by `namespace/name`.

    Cohorts, CapacityProviders and DynamicQuotaOrchestrators are there only where some parameters ask for them.
    """

    queues: Mapping[str, WorkerQueue | Unreadable]
    local_queues: Mapping[str, LocalQueue | Unreadable]
    cohorts: Mapping[str, WorkerCohort | Unreadable] = field(default_factory=dict)
    providers: Mapping[str, dqo.CapacityProvider | Unreadable] = field(default_factory=dict)
    orchestrators: Mapping[str, dqo.DynamicQuotaOrchestrator | Unreadable] = field(default_factory=dict)


class WorkerCount(NamedTuple):
    """What counts of one worker for one CapacityProvider."""

    amounts: Mapping[FlavorResource, Quantity]
    """By the worker's own flavors."""
    queues: tuple[str, ...]
    """The ClusterQueues that were counted, sorted."""
    inactive: Mapping[str, str]
    """Related queues that were not counted, and why, in one word: ClusterQueues by name, and LocalQueues that lead to
    none by `namespace/name`."""
    uids: frozenset[str] = frozenset()
    """Of the queues that were counted."""


class Problem(NamedTuple):
    """Why a worker is not trusted at present."""

    text: str
    """With what is to be done about it, and nothing secret."""
    since: datetime.datetime
    """UTC."""


class WorkerProblem(Exception):
    """What a worker has cannot be counted. The message names the object, the field, the value, the way out."""
