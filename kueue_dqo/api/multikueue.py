"""MultiKueueParameters (`kueue-dqo.dev/v1alpha1`): whose quota the worker clusters of MultiKueue make up, and how."""

from __future__ import annotations

import enum
from typing import Final

import msgspec

from kueue_dqo.api.dqo import SubtreeRootQuotaRef
from kueue_dqo.api.durations import Duration
from kueue_dqo.api.parameters import CommonParameters, ParametersObject

MULTIKUEUE_CONTROLLER: Final = "kueue-dqo.dev/multikueue"
MULTIKUEUE_PARAMETERS: Final = "MultiKueueParameters"


class Subtree(SubtreeRootQuotaRef, frozen=True, gc=False, rename="camel", forbid_unknown_fields=True):
    """The root of a subtree, as an orchestrator's `subtreeRootQuotaRef`, in which a typo is refused."""


class ManagerQueues(msgspec.Struct, frozen=True, gc=False, rename="camel", forbid_unknown_fields=True):
    """The manager's ClusterQueues that the provider speaks for; exactly one of the two fields is set."""

    subtree: Subtree | None = None
    """All ClusterQueues in it."""
    cluster_queues: tuple[str, ...] = ()
    """By name."""


class FlavorMapping(msgspec.Struct, frozen=True, gc=False, rename="camel", forbid_unknown_fields=True):
    """What the workers have of one of their ResourceFlavors counts as a flavor of the manager."""

    worker_flavor: str
    flavor: str
    """Of the manager; an orchestrated flavor of the CapacityProvider."""
    clusters: tuple[str, ...] = ()
    """The MultiKueueClusters whose flavor is meant; empty: all. Of several entries that fit, the first counts."""


class Counts(enum.StrEnum):
    """What counts of the related queues of a worker."""

    QUOTA_IN_FORCE = "QuotaInForce"
    """Their nominal quotas: `status.effectiveQuotas` where it is set, else the spec."""
    QUOTA_AND_BORROWABLE = "QuotaAndBorrowable"
    """The most that they can use together while all others of their cohorts use nothing: their own quotas and what
    they may borrow, within `lendingLimit` and `borrowingLimit`. Quotas in force here as well."""
    WORKER_PROVIDERS = "WorkerProviders"
    """What the CapacityProviders of the worker report."""


class InactiveQueues(enum.StrEnum):
    """What becomes of related queues that admit nothing at present."""

    EXCLUDE = "Exclude"
    """Those that are stopped, being deleted or not active do not count."""
    COUNT = "Count"


class AfterGrace(enum.StrEnum):
    """What becomes of a worker that is unavailable for longer than its grace time."""

    LEAVE_OUT = "LeaveOut"
    """The others are published without it."""
    SOURCE_UNAVAILABLE = "SourceUnavailable"
    """Nothing is published any more: SourceUnavailable, and the last capacity stays."""


class UnavailableWorkers(msgspec.Struct, frozen=True, gc=False, rename="camel", forbid_unknown_fields=True):
    """What is made of workers that cannot be read."""

    grace: Duration = Duration(300)
    """How long what was last read of it counts."""
    after_grace: AfterGrace = AfterGrace.LEAVE_OUT


class MultiKueueParametersSpec(CommonParameters, frozen=True, gc=False, kw_only=True):
    """What of the worker clusters makes up the capacity of a manager's flavors."""

    manager_queues: ManagerQueues
    flavor_mapping: tuple[FlavorMapping, ...] = ()
    other_flavors: str | None = None
    """The manager's flavor as which all flavors of workers count that no mapping names.

    None: with mappings, they do not count; without any, they count as the one flavor that the provider orchestrates."""
    counts: Counts = Counts.QUOTA_IN_FORCE
    worker_providers: tuple[str, ...] = ()
    """With WorkerProviders: the workers' CapacityProviders by name. Empty: those that a DynamicQuotaOrchestrator of the
    worker lists whose subtree has a related queue in it."""
    inactive_queues: InactiveQueues = InactiveQueues.EXCLUDE
    unavailable_workers: UnavailableWorkers = UnavailableWorkers()


MultiKueueParameters = ParametersObject[MultiKueueParametersSpec]
