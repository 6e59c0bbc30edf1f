"""What the tests of providers share: how a CapacityProvider is, what was written and told, an empty cluster."""

from __future__ import annotations

import http.client
import secrets
from collections.abc import Callable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from typing import Any, Final

from tests.controlplane.admin import Refused
from tests.controlplane.plane import ControlPlane
from tests.controlplane.processes import eventually
from tests.integration.daemons import NAMESPACE, Daemon
from tests.integration.history import History, Version
from tests.integration.objects import (
    COHORTS,
    EVENTS,
    GROUP,
    NODES,
    ORCHESTRATORS,
    PODS,
    PROVIDERS,
    QUEUES,
    Manifest,
    flavor,
)

FLAVORS: Final = f"/apis/{GROUP}/v1beta2/resourceflavors"
LEASES: Final = f"/apis/coordination.k8s.io/v1/namespaces/{NAMESPACE}/leases"
OURS: Final = "/apis/kueue-dqo.dev/v1alpha1"
GPU: Final = "nvidia.com/gpu"
POOL: Final = "pool"
"""The CapacityProvider of a test, and its parameters."""
_WITHIN: Final = 60.0
"""Seconds. Far more than anything takes here."""
_CONTROLLER_LABEL: Final = "kueue-dqo.dev/controller-name"
_COLLECTIONS: Final = (
    ORCHESTRATORS,
    PROVIDERS,
    f"{OURS}/nodeinventoryparameters",
    f"{OURS}/manualcapacities",
    f"{OURS}/compositeparameters",
    QUEUES,
    COHORTS,
    FLAVORS,
    NODES,
    PODS,
    EVENTS,
)


# --- how a CapacityProvider is ---------------------------------------------------------------------------------------


def capacity(plane: ControlPlane, name: str = POOL) -> dict[str, str]:
    """What is published, by `flavor/resource`; integers as texts."""
    return capacity_of(plane.admin.get(f"{PROVIDERS}/{name}"))


def capacity_of(obj: Manifest) -> dict[str, str]:
    """What a CapacityProvider holds, by `flavor/resource`."""
    found = obj.get("status", {}).get("capacity") or {}
    return {
        f"{each['name']}/{resource}": str(amount)
        for each in found.get("flavors") or []
        for resource, amount in each["resources"].items()
    }


def condition_of(obj: Manifest, kind: str = "CapacitySynchronized") -> Manifest:
    """A condition; empty for none."""
    conditions = obj.get("status", {}).get("conditions") or []
    return next((each for each in conditions if each["type"] == kind), {})


def message(plane: ControlPlane, name: str = POOL) -> str:
    """What the provider's condition says."""
    return str(condition_of(plane.admin.get(f"{PROVIDERS}/{name}")).get("message", ""))


def wait_until(plane: ControlPlane, holds: Callable[[Manifest], bool], what: str, name: str = POOL) -> Manifest:
    """Until a CapacityProvider is so. Returns it. Raises AssertionError, which shows what it is instead."""
    found: Manifest = {}

    def is_so() -> bool:
        found.clear()
        found.update(plane.admin.get(f"{PROVIDERS}/{name}"))
        return holds(found)

    try:
        eventually(is_so, what, within=_WITHIN)
    except TimeoutError as error:
        raise AssertionError(f"{error}; CapacityProvider {name} has {found.get('status')}") from error
    return found


def wait_published(plane: ControlPlane, wanted: Mapping[str, Any], *parts: str, name: str = POOL) -> str:
    """Until this capacity is published for the present generation, with a message of these parts. Returns that."""
    texts = {pair: str(amount) for pair, amount in wanted.items()}

    def holds(obj: Manifest) -> bool:
        return capacity_of(obj) == texts and _says(obj, "True", "Synchronized", parts)

    found = wait_until(plane, holds, f"{name} publishes {texts} with {parts}", name)
    return str(condition_of(found)["message"])


def wait_failed(plane: ControlPlane, reason: str, *parts: str, name: str = POOL) -> str:
    """Until nothing can be published for this reason, with a message of these parts. Returns the message."""
    found = wait_until(plane, lambda obj: _says(obj, "False", reason, parts), f"{name} is {reason} with {parts}", name)
    return str(condition_of(found)["message"])


def _says(obj: Manifest, status: str, reason: str, parts: tuple[str, ...]) -> bool:
    found = condition_of(obj)
    return (found.get("status"), found.get("reason"), found.get("observedGeneration")) == (
        status,
        reason,
        obj["metadata"]["generation"],
    ) and all(part in found["message"] for part in parts)


# --- what was written, and what was told -----------------------------------------------------------------------------


def history_of_providers(plane: ControlPlane) -> History:
    """Every version of every CapacityProvider from now on."""
    return History(plane, {"capacityproviders": "CapacityProvider"})


def published_in(versions: list[Version], name: str = POOL) -> list[dict[str, str]]:
    """The capacities of one CapacityProvider one after the other, without repetitions."""
    found: list[dict[str, str]] = []
    for version in versions:
        if version.key.name == name and version.obj is not None:
            held = capacity_of(version.obj)
            if not found or found[-1] != held:
                found.append(held)
    return found


def events(plane: ControlPlane, name: str = POOL) -> list[dict[str, Any]]:
    """Those about a CapacityProvider that is there, not about an earlier one of its name."""
    uid = plane.admin.get(f"{PROVIDERS}/{name}")["metadata"]["uid"]
    return plane.admin.items(EVENTS, fieldSelector=f"involvedObject.uid={uid}")


def told(plane: ControlPlane, reason: str, name: str = POOL) -> list[dict[str, Any]]:
    """Those with this reason."""
    return [each for each in events(plane, name) if each["reason"] == reason]


def wait_told(plane: ControlPlane, reason: str, *parts: str, name: str = POOL) -> dict[str, Any]:
    """Until there is an Event with these parts. Returns it."""
    found: list[dict[str, Any]] = []

    def is_told() -> bool:
        found[:] = [each for each in told(plane, reason, name) if all(part in each["message"] for part in parts)]
        return bool(found)

    eventually(is_told, f"an Event {reason} about {name} with {parts}", within=_WITHIN)
    return found[0]


def observations(daemon: Daemon, name: str = POOL) -> float:
    """How often the source was asked about the provider, as far as that has ended."""
    return daemon.metric("kueue_dqo_provider_observations_total", provider=name)


def wait_observed(plane: ControlPlane, daemon: Daemon, times: int, name: str = POOL) -> None:
    """Makes it look so many times although nothing has changed: a flavor of nobody's appears."""
    for _ in range(times):
        before = observations(daemon, name)
        plane.admin.apply(flavor(f"nobodys-{secrets.token_hex(4)}"))
        eventually(lambda before=before: observations(daemon, name) > before, "it has looked", within=_WITHIN)  # type: ignore[misc]  # mypy infers no type for a default


# --- an empty cluster ------------------------------------------------------------------------------------------------


def clear(plane: ControlPlane, *more: str, spare: AbstractSet[str] = frozenset()) -> None:
    """Deletes what tests create, and leaves the daemon with its rights and its election alone.

    `more`: further collections; `spare`: those that stay as they are.
    """
    for path in (each for each in (*_COLLECTIONS, *more) if each not in spare):
        eventually(lambda path=path: not _deleted(plane, path), f"nothing is left at {path}")  # type: ignore[misc]  # mypy infers no type for a default
    # Nothing is garbage-collected here.
    for lease in plane.admin.items(LEASES, labelSelector=_CONTROLLER_LABEL):
        plane.admin.delete(f"{LEASES}/{lease['metadata']['name']}")


def _deleted(plane: ControlPlane, path: str) -> list[str]:
    """The objects that were there, and that are deleted now."""
    found = list(_names(plane, path))
    for name, has_finalizers in found:
        if has_finalizers:
            plane.admin.patch(f"{path}/{name}", {"metadata": {"finalizers": None}})
        plane.admin.delete(f"{path}/{name}")
    return [name for name, _ in found]


def _names(plane: ControlPlane, path: str) -> Iterator[tuple[str, bool]]:
    try:
        for each in plane.admin.items(path):
            yield each["metadata"]["name"], bool(each["metadata"].get("finalizers"))
    except Refused as error:
        if error.code != http.client.NOT_FOUND:
            raise
