"""What the tests of roads and rivals share: two teams, what a daemon has seen, what was written, what was told."""

from __future__ import annotations

import http.client
from typing import Any, Final

from tests.controlplane.admin import JSON_PATCH
from tests.controlplane.plane import ControlPlane
from tests.controlplane.processes import eventually
from tests.integration.daemons import Daemon
from tests.integration.objects import (
    COHORTS,
    ORCHESTRATORS,
    PROVIDERS,
    QUEUES,
    Manifest,
    cohort,
    orchestrator,
    provider,
    publish,
    queue,
)

EVENTS: Final = "/api/v1/namespaces/default/events"
OURS: Final = "kueue-dqo-orchestrator"
KUEUE: Final = "kueue"
DQO: Final = f"{ORCHESTRATORS}/dqo"
TEAM_A: Final = f"{QUEUES}/team-a"
TEAM_B: Final = f"{QUEUES}/team-b"
TEAMS: Final = f"{COHORTS}/teams"
_SUBTREE: Final = (QUEUES, COHORTS)


def two_teams(plane: ControlPlane) -> None:
    """Queues of 10 and 20 cpu in a Cohort without quota, and `dqo` over them. No capacity is known yet."""
    plane.admin.apply(
        cohort("teams"),
        queue("team-a", {"default": {"cpu": {"nominalQuota": 10, "lendingLimit": 8}}}, cohort="teams"),
        queue("team-b", {"default": {"cpu": 20}}, cohort="teams"),
        provider("pool", "default"),
        orchestrator("dqo", "pool", root=("Cohort", "teams")),
    )


def capacity(plane: ControlPlane, cpu: int, name: str = "pool", *, is_ready: bool = True) -> None:
    """What the provider reports."""
    status, reason = ("True", "Synchronized") if is_ready else ("False", "SourceUnavailable")
    publish(plane, name, {"default": {"cpu": str(cpu)}}, status=status, reason=reason)


# --- what a daemon has seen ------------------------------------------------------------------------------------------


def wait_seen(daemon: Daemon, cpu: int, name: str = "pool") -> None:
    """Until the daemon knows of this capacity, and has nothing left to do about it."""

    def is_seen() -> bool:
        return daemon.metric("kueue_dqo_capacity", provider=name) == cpu and is_idle(daemon)

    eventually(is_seen, f"the daemon has seen {cpu} cpu of {name}")


def is_idle(daemon: Daemon) -> bool:
    """Whether it has nothing to compute at present. Asked after what it may have to compute has reached it."""
    waiting = daemon.metric("workqueue_depth")
    return waiting == 0 and daemon.metric("controller_runtime_active_workers") == 0


# --- what was written ------------------------------------------------------------------------------------------------


def effective(plane: ControlPlane, path: str) -> Manifest | None:
    """status.effectiveQuotas of an object, None for none."""
    found: Manifest | None = plane.admin.get(path).get("status", {}).get("effectiveQuotas")
    return found


def versions(plane: ControlPlane, *collections: str) -> dict[str, str]:
    """The resourceVersions of all objects: of ClusterQueues and Cohorts where no collection is named."""
    return {
        f"{path}/{each['metadata']['name']}": each["metadata"]["resourceVersion"]
        for path in collections or _SUBTREE
        for each in plane.admin.items(path)
    }


def managers(plane: ControlPlane) -> set[str]:
    """The field managers of all objects of Kueue that an orchestrator has to do with."""
    return {
        entry["manager"]
        for path in (*_SUBTREE, PROVIDERS, ORCHESTRATORS)
        for each in plane.admin.items(path)
        for entry in each["metadata"].get("managedFields", [])
    }


# --- others ----------------------------------------------------------------------------------------------------------


def as_kueue(plane: ControlPlane, *, name: str = "dqo", reason: str = "Computed") -> None:
    """Kueue's own orchestrator reports on an object, as far as that can be seen: by its manager, in the status."""
    path = f"{ORCHESTRATORS}/{name}"
    obj = plane.admin.get(path)
    conditions = [
        each for each in obj.get("status", {}).get("conditions") or [] if each["type"] != "EffectiveCapacityComputed"
    ]
    own = {
        "type": "EffectiveCapacityComputed",
        "status": "True",
        "reason": reason,
        "message": "by Kueue",
        "observedGeneration": obj["metadata"]["generation"],
        "lastTransitionTime": "2026-01-31T12:00:00Z",
    }
    plane.admin.patch(f"{path}/status", {"status": {"conditions": [*conditions, own]}}, manager=KUEUE)


def drop_effective_quotas(plane: ControlPlane, path: str) -> None:
    """As Kueue 0.19 updates a status: it does not know the field, so that it is gone afterwards."""
    seen = plane.admin.get(path).get("status", {}).get("pendingWorkloads", 0)
    operations = [
        {"op": "remove", "path": "/status/effectiveQuotas"},
        {"op": "add", "path": "/status/pendingWorkloads", "value": seen + 1},
    ]
    plane.admin.patch(f"{path}/status", operations, JSON_PATCH, manager=KUEUE)


# --- what was told ---------------------------------------------------------------------------------------------------


def told(plane: ControlPlane, reason: str, name: str) -> list[dict[str, Any]]:
    """The Events about an object."""
    return plane.admin.items(EVENTS, fieldSelector=f"reason={reason},involvedObject.name={name}")


def wait_told(plane: ControlPlane, reason: str, name: str, *, within: float = 60.0) -> dict[str, Any]:
    """Until there is such an Event."""
    eventually(lambda: bool(told(plane, reason, name)), f"an Event {reason} about {name}", within=within)
    return told(plane, reason, name)[0]


def answers(daemon: Daemon, path: str) -> tuple[int, str]:
    """As `Daemon.get`, 0 where it does not listen yet."""
    try:
        return daemon.get(path)
    except (OSError, http.client.HTTPException) as error:
        return 0, str(error)
