"""What a publisher knows of one CapacityProvider, for as long as the object is there and this process leads."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field

from kueue_dqo.api import dqo
from kueue_dqo.api.quantity import Quantity
from kueue_dqo.api.resources import FlavorResource
from kueue_dqo.provider import Notice
from providers.contests import Contest
from providers.guards import GuardMemory, Hold, holds_in
from providers.status import Held, Verdict


@dataclass(slots=True)
class Record:
    """Times are of the monotonic clock, in seconds."""

    uid: str
    memory: GuardMemory
    published: dqo.Capacity | None
    """What we published last, or found published at the beginning: whoever edits the status by hand changes nothing."""
    holds: tuple[Hold, ...]
    outdated: asyncio.Event = field(default_factory=asyncio.Event)
    """Set when what is being asked is not what would be asked now."""
    wanted: dqo.CapacityProviderStatus | None = None
    """What a write of ours makes, or has made, of the status."""
    looked_at: float | None = None
    """When the last look ended."""
    alive_until: float | None = None
    """When the next look has to have ended."""
    contest: Contest = field(default_factory=Contest)
    failures: int = 0
    """Looks that failed in a row."""

    # What people and machines are told.
    notices: tuple[Notice, ...] = ()
    verdict: Verdict | None = None
    observed: dqo.Capacity | None = None
    held_back: Mapping[FlavorResource, Quantity] = field(default_factory=dict)
    observed_time: float | None = None
    """Seconds since 1970."""


def record_of(held: Held) -> Record:
    """What can be known from the object alone: what is published, and what its message says is being held."""
    condition = held.condition
    holds = tuple(holds_in(condition.message)) if condition is not None else ()
    published = held.provider.status.capacity
    memory = GuardMemory(resumed=holds, known=_answered_for(held))
    return Record(held.provider.metadata.uid, memory, published, holds)


def _answered_for(held: Held) -> frozenset[str]:
    """The flavors that the status answers for: all of the spec, where it is good for the present one."""
    condition, provider = held.condition, held.provider
    if condition is None or condition.status != "True":
        return frozenset()  # a failure is said of a new spec as well, while the capacity is that of the old one
    is_present = condition.observed_generation == provider.metadata.generation
    return frozenset(provider.flavor_names) if is_present else frozenset()
