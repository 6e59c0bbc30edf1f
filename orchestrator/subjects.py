"""How Events name the objects that they are about. Pure."""

from __future__ import annotations

from kueue_dqo.api import dqo
from kueue_dqo.api.meta import KUEUE_GROUP
from kueue_dqo.runtime.events import Subject
from orchestrator.enforcement import held as quotas
from orchestrator.enforcement import objects


def orchestrator_subject(held: objects.HeldOrchestrator) -> Subject:
    """A DynamicQuotaOrchestrator."""
    return Subject(f"{KUEUE_GROUP}/{objects.VERSION}", dqo.DYNAMIC_QUOTA_ORCHESTRATOR, held.name, held.metadata.uid)


def provider_subject(provider: dqo.CapacityProvider) -> Subject:
    """A CapacityProvider."""
    meta = provider.metadata
    return Subject(f"{KUEUE_GROUP}/{objects.VERSION}", dqo.CAPACITY_PROVIDER, meta.name, meta.uid)


def quotas_subject(held: quotas.Held) -> Subject:
    """A ClusterQueue or Cohort."""
    return Subject(f"{KUEUE_GROUP}/{quotas.VERSION}", held.key.kind, held.key.name, held.node.metadata.uid)
