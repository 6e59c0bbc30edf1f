"""What the daemon's watches look at, without a cluster behind it: objects as the API server would hold them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, NamedTuple, cast

from kueue_dqo.api import dqo
from kueue_dqo.api.meta import KUEUE_GROUP, ObjectKey
from kueue_dqo.runtime.events import EventRecorder, Subject
from orchestrator.cluster import Cluster, Mode
from orchestrator.compute import Snapshot
from orchestrator.enforcement.held import Held, View, held_of
from orchestrator.enforcement.objects import HeldOrchestrator, held_orchestrator
from orchestrator.enforcement.roads import Road
from orchestrator.hierarchy import Hierarchy

OBSERVES = Mode(Road.STATUS, writes=False)
REFERENCE = {"apiGroup": KUEUE_GROUP, "kind": dqo.DYNAMIC_QUOTA_ORCHESTRATOR, "name": "dqo"}


class Known:
    """What a Cluster has in its caches."""

    def __init__(self, mode: Mode | None) -> None:
        self.mode = mode
        self.is_synced = True
        self.orchestrators: dict[str, HeldOrchestrator] = {}
        self.providers: dict[str, dqo.CapacityProvider] = {}
        self.views: dict[ObjectKey, tuple[Held, View]] = {}

    def snapshot(self) -> Snapshot:
        """As the Cluster's."""
        readable = {name: held.orchestrator for name, held in self.orchestrators.items() if held.orchestrator}
        return Snapshot(readable, self.providers, Hierarchy(view.member for _, view in self.views.values()))

    @property
    def cluster(self) -> Cluster:
        """For whoever reads no more than this."""
        return cast("Cluster", self)


class Event(NamedTuple):
    """An Event that was recorded."""

    name: str
    reason: str
    message: str


class Told:
    """Takes Events."""

    def __init__(self) -> None:
        self.events: list[Event] = []

    def warning(self, subject: Subject, reason: str, message: str) -> None:
        """As the recorder's."""
        self.events.append(Event(subject.name, reason, message))

    @property
    def reasons(self) -> list[str]:
        """In the order in which they came."""
        return [event.reason for event in self.events]

    @property
    def recorder(self) -> EventRecorder:
        """For whoever tells no more than warnings."""
        return cast("EventRecorder", self)


def orchestrator(
    name: str = "dqo",
    *,
    uid: str = "uid-1",
    generation: int = 1,
    answered: int | None = None,
    root: str = "",
    managed: tuple[Mapping[str, Any], ...] = (),
) -> HeldOrchestrator:
    """One whose condition is for the generation `answered`; None for none. `root` is a ClusterQueue."""
    conditions = []
    if answered is not None:
        conditions = [
            {
                "type": dqo.EFFECTIVE_CAPACITY_COMPUTED,
                "status": "True",
                "reason": dqo.COMPUTED,
                "message": "",
                "observedGeneration": answered,
                "lastTransitionTime": "2026-01-31T12:00:00Z",
            }
        ]
    spec: dict[str, Any] = {"capacityDiscovery": {"providers": [{"name": "pool"}]}}
    if root:
        spec["capacityDistribution"] = {"subtreeRootQuotaRef": {"kind": "ClusterQueue", "name": root}}
    manifest = {
        "apiVersion": f"{KUEUE_GROUP}/v1alpha1",
        "kind": dqo.DYNAMIC_QUOTA_ORCHESTRATOR,
        "metadata": {
            "name": name,
            "uid": uid,
            "generation": generation,
            "resourceVersion": "1",
            "creationTimestamp": "2026-01-31T12:00:00Z",
            "managedFields": list(managed),
        },
        "spec": spec,
        "status": {"conditions": conditions},
    }
    return held_orchestrator(json.dumps(manifest).encode())


def wrote(manager: str, time: str, subresource: str = "status") -> dict[str, Any]:
    """An entry of managedFields."""
    return {
        "manager": manager,
        "operation": "Update",
        "subresource": subresource,
        "time": f"2026-01-31T{time}Z",
        "fieldsV1": {f"f:{subresource or 'spec'}": {}},
    }


def wrote_quotas(manager: str, time: str) -> dict[str, Any]:
    """The entry of whoever wrote the list of effective quotas."""
    return wrote(manager, time) | {"fieldsV1": {"f:status": {"f:effectiveQuotas": {".": {}, "f:resourceGroups": {}}}}}


def queue(
    name: str = "team-a",
    *,
    effective: str | None = None,
    owner: Mapping[str, str] = REFERENCE,
    generation: int = 1,
    uid: str = "",
    managed: tuple[Mapping[str, Any], ...] = (),
) -> tuple[Held, View]:
    """A ClusterQueue of 10 cpu on the status road; `effective` is its effective quota of cpu, None for none.

    Its UID is its name where none is given.
    """

    def groups(cpu: str) -> list[dict[str, Any]]:
        resource = {"name": "cpu", "nominalQuota": cpu}
        return [{"coveredResources": ["cpu"], "flavors": [{"name": "default", "resources": [resource]}]}]

    quotas = {"orchestratorRef": dict(owner), "resourceGroups": groups(effective)} if effective is not None else None
    manifest = {
        "apiVersion": f"{KUEUE_GROUP}/v1beta2",
        "kind": "ClusterQueue",
        "metadata": {
            "name": name,
            "uid": uid or name,
            "generation": generation,
            "resourceVersion": "1",
            "managedFields": list(managed),
        },
        "spec": {"resourceGroups": groups("10")},
        "status": {"effectiveQuotas": quotas} if quotas else {},
    }
    held = held_of("ClusterQueue", json.dumps(manifest).encode())
    return held, Road.STATUS.view(held)
