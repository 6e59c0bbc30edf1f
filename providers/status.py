"""The status of a CapacityProvider: as the API server holds it, as it is to be, and the patch between the two. Pure."""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import msgspec

from kueue_dqo.api import dqo
from kueue_dqo.api.meta import KUEUE_GROUP, Condition, ObjectMeta
from kueue_dqo.api.scheme import ObjectInvalid, decode_json, known_kind, plain_json, to_manifest
from kueue_dqo.api.wording import message_of

VERSION: Final = "v1alpha1"
UNREADABLE: Final = "Unreadable"
"""The reason in the stand-in of an object that cannot be read; it is never written."""


class Held(NamedTuple):
    """A CapacityProvider of the cluster; `conditions` are its conditions as they stand in its JSON.

    Where the object cannot be read, `problem` says why, and `provider` is a stand-in: its metadata, its controllerName,
    no flavors, no capacity.
    """

    provider: dqo.CapacityProvider
    resource_version: str
    conditions: tuple[dict[str, Any], ...] = ()
    has_status: bool = False
    problem: str | None = None

    @property
    def condition(self) -> Condition | None:
        """CapacitySynchronized; None where it is not there, or cannot be read."""
        for each in self.conditions:
            if each.get("type") == dqo.CAPACITY_SYNCHRONIZED:
                try:
                    return msgspec.convert(each, Condition)
                except msgspec.ValidationError:
                    return None
        return None


class Verdict(NamedTuple):
    """What is to be said of a provider. Without a capacity, what is published stays."""

    reason: str
    message: str
    capacity: dqo.Capacity | None = None

    @property
    def status(self) -> str:
        """The status of the condition."""
        return "True" if self.reason == dqo.SYNCHRONIZED else "False"


class _Meta(msgspec.Struct, gc=False, rename="camel"):
    resource_version: str = ""


class _Status(msgspec.Struct, gc=False):
    conditions: tuple[dict[str, Any], ...] | None = None


class _Parts(msgspec.Struct, gc=False):
    metadata: _Meta
    status: _Status | None = None


class _Spec(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    controller_name: str = ""


class _StandIn(msgspec.Struct, gc=False):
    metadata: ObjectMeta
    spec: _Spec = _Spec()


def read_provider(raw: bytes) -> Held:
    """The object in the API server's JSON. Raises ObjectInvalid and msgspec.DecodeError."""
    return _held(_decoded(raw), raw)


def held_provider(raw: bytes) -> Held:
    """The same for a process that has to go on with whatever it finds.

    A status that does not decode is as good as none, and a spec that does not leads to a stand-in.

    Raises:
        ObjectInvalid, msgspec.DecodeError: not even its metadata can be read.
    """
    try:
        return read_provider(raw)
    except ObjectInvalid as error:
        problem = str(error)
    plain: Any = plain_json(raw)
    plain.pop("status", None)
    try:
        return _held(_decoded(msgspec.json.encode(plain)), raw)
    except ObjectInvalid:
        return _held(_stand_in(raw, problem), raw)._replace(problem=problem)


def condition_of(held: Held, verdict: Verdict, now: str) -> Condition:
    """CapacitySynchronized for the present generation; its time, in RFC 3339, is `now` where the status changes."""
    before = held.condition
    stays = before is not None and before.status == verdict.status and before.last_transition_time is not None
    return Condition(
        dqo.CAPACITY_SYNCHRONIZED,
        verdict.status,
        verdict.reason,
        message_of(verdict.message),
        held.provider.metadata.generation,
        before.last_transition_time if before is not None and stays else now,
    )


def status_of(held: Held, verdict: Verdict, now: str) -> dqo.CapacityProviderStatus:
    """What the status is to be. Of the conditions only CapacitySynchronized is there: the others stay as they are."""
    capacity = verdict.capacity if verdict.capacity is not None else held.provider.status.capacity
    return dqo.CapacityProviderStatus(capacity, (condition_of(held, verdict, now),))


def is_written(held: Held, status: dqo.CapacityProviderStatus) -> bool:
    """Whether the object says so already: amounts compare by value."""
    return held.condition == status.conditions[0] and held.provider.status.capacity == status.capacity


def patch(held: Held, status: dqo.CapacityProviderStatus) -> list[dict[str, Any]]:
    """One JSON patch of the status, only for the object as it was seen; conditions of other types stay."""
    operations: list[dict[str, Any]] = [
        {"op": "test", "path": "/metadata/resourceVersion", "value": held.resource_version}
    ]
    if not held.has_status:
        operations.append({"op": "add", "path": "/status", "value": {}})
    if status.capacity is not None and status.capacity != held.provider.status.capacity:
        capacity = to_manifest(status.capacity)
        operations.append({"op": "add", "path": "/status/capacity", "value": capacity})
    ours = {"message": "", **to_manifest(status.conditions[0])}
    others = [each for each in held.conditions if each.get("type") != dqo.CAPACITY_SYNCHRONIZED]
    operations.append({"op": "add", "path": "/status/conditions", "value": [*others, ours]})
    return operations


def _decoded(raw: bytes) -> dqo.CapacityProvider:
    known = known_kind(f"{KUEUE_GROUP}/{VERSION}", dqo.CAPACITY_PROVIDER)
    assert known is not None  # noqa: S101 - the kind is known
    provider: dqo.CapacityProvider = decode_json(known, VERSION, raw).object
    return provider


def _held(provider: dqo.CapacityProvider, raw: bytes) -> Held:
    parts = msgspec.json.decode(raw, type=_Parts)
    conditions = parts.status.conditions if parts.status is not None else None
    return Held(provider, parts.metadata.resource_version, conditions or (), has_status=parts.status is not None)


def _stand_in(raw: bytes, problem: str) -> dqo.CapacityProvider:
    seen = msgspec.json.decode(raw, type=_StandIn)
    why = Condition(dqo.CAPACITY_SYNCHRONIZED, "Unknown", UNREADABLE, f"the object cannot be read: {problem}")
    return dqo.CapacityProvider(
        seen.metadata,
        dqo.CapacityProviderSpec(controller_name=seen.spec.controller_name, orchestrated_flavors=()),
        dqo.CapacityProviderStatus(conditions=(why,)),
    )
