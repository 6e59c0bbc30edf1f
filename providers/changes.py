"""Which part of a CapacityProvider has changed, and so what follows from it. Pure."""

from __future__ import annotations

from kueue_dqo.api import dqo
from kueue_dqo.api.meta import Condition
from providers.guards.holds import ACKNOWLEDGE
from providers.status import Held


def question(held: Held | None) -> object:
    """All that a source is told of the object itself; another object of that name is another question."""
    if held is None:
        return None
    meta = held.provider.metadata
    return meta.uid, meta.generation, meta.deletion_timestamp, held.provider.spec, held.problem


def acknowledgement(held: Held | None) -> str | None:
    """The fall that a person lets through."""
    return held.provider.metadata.annotations.get(ACKNOWLEDGE) if held is not None else None


def published(held: Held | None) -> tuple[dqo.Capacity | None, Condition | None]:
    """Our part of the status."""
    return (held.provider.status.capacity, held.condition) if held is not None else (None, None)


def reading(held: Held | None) -> object:
    """All that a source may read of another provider: not who has written it."""
    return (question(held), held.provider.status) if held is not None else None
