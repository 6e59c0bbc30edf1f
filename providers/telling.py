"""How a CapacityProvider's Events come about."""

from __future__ import annotations

from kueue_dqo.api import dqo
from kueue_dqo.provider import Notice
from kueue_dqo.runtime.events import EventRecorder, Subject
from kueue_dqo.runtime.resources import CAPACITY_PROVIDERS


def tell(events: EventRecorder, provider: dqo.CapacityProvider, notice: Notice) -> None:
    """An Event about the object with its UID: one of the same name that comes later has a history of its own."""
    meta = provider.metadata
    subject = Subject(CAPACITY_PROVIDERS.api_version, CAPACITY_PROVIDERS.kind, meta.name, meta.uid)
    record = events.warning if notice.is_warning else events.normal
    record(subject, notice.reason, notice.message)
