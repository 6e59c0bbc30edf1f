"""Whether queues admit at all, and why not, as Kueue 0.19 says it in their condition `Active`."""

from __future__ import annotations

from typing import Final, NamedTuple

from admission.world import World
from kueue_dqo.api.kueue import (
    ADMISSION_CHECK,
    CLUSTER_QUEUE,
    MULTI_KUEUE_CONTROLLER,
    PROVISIONING_REQUEST_CONTROLLER,
    RESOURCE_FLAVOR,
)
from kueue_dqo.api.meta import condition_is
from kueue_dqo.api.queueing import ACTIVE, LOCAL_QUEUE, TOPOLOGY, ClusterQueue, LocalQueue, StopPolicy
from kueue_dqo.api.quotas import ResourceGroup

_UNAVAILABLE: Final = "Can't submit new workloads to clusterQueue"


class Activity(NamedTuple):
    """The condition `Active` of a queue."""

    is_active: bool
    reason: str
    message: str


def cluster_queue_activity(world: World, queue: ClusterQueue) -> Activity:
    """Of a ClusterQueue: stopped, without a flavor or a check that it names, or with checks that do not go together."""
    found = [*_missing(world, queue), *_multi_kueue(world, queue), *_topologies(world, queue)]
    if queue.spec.stop_policy is not StopPolicy.NONE:
        found.insert(0, ("Stopped", "is stopped"))
    if not found:
        return Activity(is_active=True, reason="Ready", message="Can admit new workloads")
    listed = ", ".join(message for _, message in found)
    return Activity(is_active=False, reason=found[0][0], message=f"Can't admit new workloads: {listed}.")


def local_queue_activity(world: World, queue: LocalQueue) -> Activity:
    """Of a LocalQueue: stopped, or into a ClusterQueue that is not there or inactive."""
    name = ""
    if queue.spec is not None:
        if queue.spec.stop_policy is not StopPolicy.NONE:
            return Activity(is_active=False, reason="Stopped", message="LocalQueue is stopped")
        name = queue.spec.cluster_queue
    cluster_queue = world.of_kind(CLUSTER_QUEUE).get(name)
    if cluster_queue is None:
        return Activity(is_active=False, reason="ClusterQueueDoesNotExist", message=_UNAVAILABLE)
    if not cluster_queue_activity(world, cluster_queue).is_active:
        return Activity(is_active=False, reason="ClusterQueueIsInactive", message=_UNAVAILABLE)
    return Activity(is_active=True, reason="Ready", message="Can submit new workloads to localQueue")


def local_queue_of(world: World, key: str) -> LocalQueue | None:
    """The LocalQueue `namespace/name`, None where there is none."""
    found: LocalQueue | None = world.of_kind(LOCAL_QUEUE).get(key)
    return found


def groups_in_force(queue: ClusterQueue) -> tuple[ResourceGroup, ...]:
    """Its resource groups: the effective quotas where they are set, else those that are declared."""
    effective = queue.status.effective_quotas
    return queue.quotas if effective is None else effective.resource_groups


def checks_of(queue: ClusterQueue) -> dict[str, frozenset[str]]:
    """The queue's AdmissionChecks by name, each with the flavors that it is for."""
    every = frozenset(_flavors(queue))
    rules = queue.spec.admission_checks_strategy.admission_checks
    return {rule.name: frozenset(rule.on_flavors) or every for rule in rules}


def _flavors(queue: ClusterQueue) -> list[str]:
    return [flavor.name for group in groups_in_force(queue) for flavor in group.flavors]


def _missing(world: World, queue: ClusterQueue) -> list[tuple[str, str]]:
    found = []
    flavors = [name for name in _flavors(queue) if name not in world.of_kind(RESOURCE_FLAVOR)]
    if flavors:
        found.append(("FlavorNotFound", f"references missing ResourceFlavor(s): {','.join(flavors)}"))
    checks = world.of_kind(ADMISSION_CHECK)
    absent = sorted(name for name in checks_of(queue) if name not in checks)
    if absent:
        found.append(("AdmissionCheckNotFound", f"references missing AdmissionCheck(s): {','.join(absent)}"))
    inactive = sorted(
        name
        for name in checks_of(queue)
        if name in checks and not condition_is(checks[name].status.conditions, ACTIVE, "True")
    )
    if inactive:
        found.append(("AdmissionCheckInactive", f"references inactive AdmissionCheck(s): {','.join(inactive)}"))
    return found


def _multi_kueue(world: World, queue: ClusterQueue) -> list[tuple[str, str]]:
    checks, named = world.of_kind(ADMISSION_CHECK), checks_of(queue)
    by_controller: dict[str, list[str]] = {}
    for name in sorted(named):
        if name in checks:
            by_controller.setdefault(checks[name].spec.controller_name, []).append(name)
    dispatching = by_controller.get(MULTI_KUEUE_CONTROLLER, [])
    provisioning = by_controller.get(PROVISIONING_REQUEST_CONTROLLER, [])
    every = frozenset(_flavors(queue))
    found = []
    if len(dispatching) > 1:
        message = "Cannot use multiple MultiKueue AdmissionChecks on the same ClusterQueue, found: "
        found.append(("MultipleMultiKueueAdmissionChecks", message + ",".join(dispatching)))
    partial = [name for name in dispatching if named[name] != every]
    if partial:
        message = f"Cannot specify MultiKueue AdmissionCheck per flavor, found: {','.join(partial)}"
        found.append(("MultiKueueAdmissionCheckAppliedPerFlavor", message))
    if dispatching and provisioning:
        message = "Cannot use both MultiKueue and ProvisioningRequest AdmissionChecks together, found: "
        both = f"{','.join(dispatching)}, {','.join(provisioning)}"
        found.append(("MultiKueueWithProvisioningRequest", message + both))
    return found


def _topologies(world: World, queue: ClusterQueue) -> list[tuple[str, str]]:
    """A flavor's topology has to be there, unless other clusters see to it."""
    checks = world.of_kind(ADMISSION_CHECK)
    if any(name in checks and checks[name].spec.controller_name == MULTI_KUEUE_CONTROLLER for name in checks_of(queue)):
        return []
    flavors, found = world.of_kind(RESOURCE_FLAVOR), []
    for name in sorted(_flavors(queue)):
        topology = flavors[name].spec.topology_name if name in flavors else ""
        if topology and topology not in world.of_kind(TOPOLOGY):
            message = f'there is no Topology "{topology}" for TAS flavor "{name}"'
            found.append(("TopologyNotFound", message))
    return found
