"""Short ways to say what a composite is asked about, and what came out."""

from __future__ import annotations

import datetime
from collections.abc import Iterable, Mapping

from kueue_dqo.api import dqo
from kueue_dqo.api.meta import Condition, ObjectMeta
from kueue_dqo.api.parameters import (
    COMPOSITE_CONTROLLER,
    Combine,
    CompositeMember,
    CompositeParametersSpec,
    OnMemberNotReady,
    ResourceSelection,
)
from kueue_dqo.api.quantity import Quantity
from kueue_dqo.provider import Observation, Peer, Request

GPU = "nvidia.com/gpu"
Amounts = Mapping[str, Mapping[str, str]]
"""Quantities by flavor and resource."""


def ready(observed: int | None = 1) -> Condition:
    return Condition(dqo.CAPACITY_SYNCHRONIZED, "True", dqo.SYNCHRONIZED, "", observed, "2026-11-30T10:00:00Z")


def failed(reason: str = dqo.SOURCE_UNAVAILABLE, message: str = "connection refused") -> Condition:
    return Condition(dqo.CAPACITY_SYNCHRONIZED, "False", reason, message, 1, "2026-11-30T10:00:00Z")


def provider(
    name: str,
    amounts: Amounts | None = None,
    *,
    condition: Condition | None = None,
    flavors: Iterable[str] | None = None,
    deleting: bool = False,
    reported: bool = True,
) -> dqo.CapacityProvider:
    """One that is ready and orchestrates what it reports, unless said otherwise."""
    amounts = amounts or {}
    capacity = dqo.Capacity(
        tuple(
            dqo.FlavorCapacity(flavor, {resource: Quantity.of(text) for resource, text in resources.items()})
            for flavor, resources in amounts.items()
        )
    )
    return dqo.CapacityProvider(
        ObjectMeta(name, generation=1, deletion_timestamp="2026-11-30T11:00:00Z" if deleting else None),
        dqo.CapacityProviderSpec(
            "example.com/source", tuple(map(dqo.FlavorRef, amounts if flavors is None else flavors))
        ),
        dqo.CapacityProviderStatus(capacity, ((condition or ready()),) if reported else ()),
    )


def parameters(
    members: Iterable[str],
    combine: Combine = Combine.MIN,
    on_member_not_ready: OnMemberNotReady = OnMemberNotReady.FAIL,
    resources: ResourceSelection | None = None,
) -> CompositeParametersSpec:
    return CompositeParametersSpec(
        members=tuple(map(CompositeMember, members)),
        combine=combine,
        on_member_not_ready=on_member_not_ready,
        resources=resources or ResourceSelection(),
    )


def composite(name: str, flavors: Iterable[str] = ("h100",)) -> dqo.CapacityProvider:
    ref = dqo.ParametersRef("kueue-dqo.dev", "CompositeParameters", f"{name}-parameters")
    spec = dqo.CapacityProviderSpec(COMPOSITE_CONTROLLER, tuple(map(dqo.FlavorRef, flavors)), ref)
    return dqo.CapacityProvider(ObjectMeta(name, generation=1), spec)


def request(
    asked: CompositeParametersSpec,
    *others: dqo.CapacityProvider,
    name: str = "both",
    flavors: Iterable[str] = ("h100",),
    peers: Mapping[str, CompositeParametersSpec | None] | None = None,
) -> Request[CompositeParametersSpec]:
    """A question about the composite `name`; `peers` are the parameters of the other composites."""
    mine = composite(name, flavors)
    listed = {each: composite(each) for each in peers or {}}
    return Request(
        provider=mine,
        parameters=asked,
        flavors={},
        peers=tuple(Peer(listed[each], theirs) for each, theirs in (peers or {}).items()),
        providers={**listed, **{other.metadata.name: other for other in others}, name: mine},
        now=datetime.datetime(2026, 11, 30, 12, tzinfo=datetime.UTC),
    )


def amounts_of(found: Observation) -> dict[str, dict[str, str]]:
    return {
        flavor.name: {name: str(quantity) for name, quantity in flavor.resources.items()}
        for flavor in found.capacity.flavors
    }
