"""The sign of life of providers: a crashed provider leaves its condition True for ever, but not its Lease alive.

Expiry is judged by when a Lease was last seen to change, never by comparing clocks.
"""

from __future__ import annotations

import asyncio
from functools import partial
from random import Random
from typing import Final

import msgspec
import structlog

from kueue_dqo.api import dqo
from kueue_dqo.runtime.cache import Cache
from kueue_dqo.runtime.client import Client
from kueue_dqo.runtime.clock import Clock
from kueue_dqo.runtime.events import EventRecorder
from kueue_dqo.runtime.lease import LeaseRecord
from kueue_dqo.runtime.resources import CONTROLLER_LABEL, LEASES
from orchestrator.cluster import Cluster
from orchestrator.metrics import OrchestratorMetrics
from orchestrator.subjects import provider_subject

_INTERVAL: Final = 5.0
_HANDOVER: Final = 15
"""Seconds for which a Lease that its holder gave back may stay without one: another replica takes it within a few."""
_log = structlog.get_logger(__name__)


class _Lease(msgspec.Struct, frozen=True):
    spec: LeaseRecord = LeaseRecord()


class ProviderLeases:
    """Follows the Leases of providers in the namespace. A provider without one is none of ours to judge."""

    def __init__(  # noqa: PLR0913 - the parts of a daemon, by keyword
        self,
        client: Client,
        cluster: Cluster,
        *,
        namespace: str,
        events: EventRecorder,
        clock: Clock,
        random: Random,
        metrics: OrchestratorMetrics,
    ) -> None:
        self._cluster = cluster
        self._events = events
        self._clock = clock
        self._seen: dict[str, float] = {}
        self._expired: set[str] = set()
        self._gauge = metrics.lease_expired
        self._cache = Cache(
            client,
            LEASES,
            partial(msgspec.json.decode, type=_Lease),
            on_change=self._changed,
            clock=clock,
            random=random,
            namespace=namespace,
            label_selector=CONTROLLER_LABEL,
        )

    async def run(self) -> None:
        """Follows them until it is cancelled."""
        await self._cache.run()

    async def tell(self) -> None:
        """Looks for expired ones until it is cancelled."""
        try:
            while True:
                self._look_on()
                await asyncio.sleep(_INTERVAL)
        finally:
            self._gauge.clear()  # from now on another replica tells

    def _look_on(self) -> None:
        """Who only tells people things must not end a leader."""
        try:
            self.look()
        except Exception:  # noqa: BLE001 - whatever it is, quotas matter more
            _log.exception("look failed")

    def look(self) -> None:
        """One look."""
        now = self._clock.monotonic()
        expired = set()
        self._gauge.clear()  # of providers that are gone
        for path, lease in self._cache.objects.items():
            name = path.rpartition("/")[2]
            provider = self._cluster.providers.get(name)
            duration = lease.spec.lease_duration_seconds
            if provider is None or duration is None or lease.spec.holder_identity is None:
                continue
            if not lease.spec.holder_identity:
                duration = max(duration, _HANDOVER)
            is_expired = now - self._seen.get(path, now) > duration
            self._gauge.labels(name).set(float(is_expired))
            if is_expired:
                expired.add(name)
            if is_expired and name not in self._expired:
                self._tell(provider, duration)
        self._expired = expired

    def _tell(self, provider: dqo.CapacityProvider, duration: int) -> None:
        controller = provider.spec.controller_name
        _log.warning("provider has expired", provider=provider.metadata.name, controller=controller)
        self._events.warning(
            provider_subject(provider),
            "ProviderExpired",
            f"{controller} has not renewed its Lease for {duration} s: its capacity may be old. Quotas stay as they "
            "are; look at the provider's pod",
        )

    def _changed(self, path: str, old: _Lease | None, new: _Lease | None) -> None:
        del old
        if new is None:
            self._seen.pop(path, None)
        else:
            self._seen[path] = self._clock.monotonic()
