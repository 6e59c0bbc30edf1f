"""CapacityProviders and DynamicQuotaOrchestrators as the API server holds them. Pure."""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import msgspec

from kueue_dqo.api import dqo
from kueue_dqo.api.meta import KUEUE_GROUP, Condition, ManagedFields, ObjectMeta
from kueue_dqo.api.scheme import ObjectInvalid, decode_json, known_kind, plain_json
from orchestrator.enforcement.held import own

VERSION: Final = "v1alpha1"
UNREADABLE: Final = "Unreadable"


class HeldOrchestrator(NamedTuple):
    """A DynamicQuotaOrchestrator of the cluster.

    `capacity` and `conditions` are the JSON of `status.effectiveCapacity` and `status.conditions`, None where they are
    absent. `orchestrator` is None where the object cannot be read, which `problem` then explains; `stand_in` then has
    its place among others, as far as that can be told: its root, its age, what it said of itself.
    """

    metadata: ObjectMeta
    resource_version: str
    orchestrator: dqo.DynamicQuotaOrchestrator | None
    capacity: msgspec.Raw | None = None
    conditions: msgspec.Raw | None = None
    has_status: bool = False
    problem: str | None = None
    stand_in: dqo.DynamicQuotaOrchestrator | None = None

    @property
    def name(self) -> str:
        """Its name."""
        return self.metadata.name

    @property
    def managed_fields(self) -> tuple[ManagedFields, ...]:
        """Who has written which of its fields."""
        return self.metadata.managed_fields


class _Meta(msgspec.Struct, gc=False, rename="camel"):
    resource_version: str = ""


class _Status(msgspec.Struct, gc=False, rename="camel"):
    effective_capacity: msgspec.Raw = msgspec.Raw()
    conditions: msgspec.Raw = msgspec.Raw()


class _Parts(msgspec.Struct, gc=False):
    metadata: _Meta
    status: _Status | None = None


class _Distribution(msgspec.Struct, gc=False, rename="camel"):
    capacity_distribution: dqo.CapacityDistribution


class _Place(msgspec.Struct, gc=False):
    spec: _Distribution


class _JustMeta(msgspec.Struct, gc=False):
    metadata: ObjectMeta


def held_orchestrator(raw: bytes) -> HeldOrchestrator:
    """The object in a piece of the API server's JSON, also where its spec does not decode.

    Raises:
        ObjectInvalid, msgspec.DecodeError: not even its metadata can be read.
    """
    known = known_kind(f"{KUEUE_GROUP}/{VERSION}", dqo.DYNAMIC_QUOTA_ORCHESTRATOR)
    assert known is not None  # noqa: S101 - the kind is known
    parts = msgspec.json.decode(raw, type=_Parts)
    status = parts.status if parts.status is not None else _Status()
    try:
        found: dqo.DynamicQuotaOrchestrator | None = decode_json(known, VERSION, raw).object
        problem = None
    except ObjectInvalid as error:
        found, problem = None, str(error)
    metadata = found.metadata if found is not None else msgspec.json.decode(raw, type=_JustMeta).metadata
    return HeldOrchestrator(
        metadata,
        parts.metadata.resource_version,
        found,
        own(status.effective_capacity),
        own(status.conditions),
        has_status=parts.status is not None,
        problem=problem,
        stand_in=_stand_in(metadata, raw) if found is None else None,
    )


def _stand_in(metadata: ObjectMeta, raw: bytes) -> dqo.DynamicQuotaOrchestrator | None:
    """An orchestrator that discovers nothing, with the root of one that cannot be read; None without a root."""
    try:
        place = msgspec.json.decode(raw, type=_Place)
    except msgspec.DecodeError:
        return None
    spec = dqo.DynamicQuotaOrchestratorSpec(dqo.CapacityDiscovery(()), place.spec.capacity_distribution)
    return dqo.DynamicQuotaOrchestrator(metadata, spec)


def held_provider(raw: bytes) -> dqo.CapacityProvider:
    """The object in a piece of the API server's JSON.

    One that does not decode becomes a provider without capacity, whose condition says what is wrong.

    Raises:
        ObjectInvalid: not even the object's name can be read.
    """
    known = known_kind(f"{KUEUE_GROUP}/{VERSION}", dqo.CAPACITY_PROVIDER)
    assert known is not None  # noqa: S101 - the kind is known
    try:
        provider: dqo.CapacityProvider = decode_json(known, VERSION, raw).object
    except ObjectInvalid as error:
        return _unreadable_provider(raw, error)
    return provider


def _unreadable_provider(raw: bytes, error: ObjectInvalid) -> dqo.CapacityProvider:
    plain = plain_json(raw)
    content: dict[str, Any] = plain if isinstance(plain, dict) else {}
    metadata = content.get("metadata")
    name = metadata.get("name") if isinstance(metadata, dict) else None
    if not isinstance(name, str) or not name:
        raise error
    why = Condition(dqo.CAPACITY_SYNCHRONIZED, "Unknown", UNREADABLE, f"the object cannot be read: {error}")
    return dqo.CapacityProvider(
        ObjectMeta(name),
        dqo.CapacityProviderSpec(controller_name="", orchestrated_flavors=()),
        dqo.CapacityProviderStatus(conditions=(why,)),
    )
