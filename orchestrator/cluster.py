"""What the daemon knows of the cluster: caches of all that the computation reads, and what changed since the last pass.

Changes that cannot matter to quotas (usage in a ClusterQueue's status, a message) lead to nothing.
"""

from __future__ import annotations

import asyncio
import enum
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from random import Random
from typing import Any, Final, NamedTuple, TypeVar

import msgspec
import structlog

from kueue_dqo.api import dqo, kueue
from kueue_dqo.api.kueue import CLUSTER_QUEUE, COHORT
from kueue_dqo.api.meta import ObjectKey
from kueue_dqo.api.quotas import EffectiveQuotas
from kueue_dqo.api.readiness import why_not_ready
from kueue_dqo.runtime.cache import Cache
from kueue_dqo.runtime.cache_metrics import CacheMetrics
from kueue_dqo.runtime.client import Client
from kueue_dqo.runtime.clock import Clock
from kueue_dqo.runtime.resources import (
    ADMISSION_CHECKS,
    CAPACITY_PROVIDERS,
    CLUSTER_QUEUES,
    COHORTS,
    CUSTOM_RESOURCE_DEFINITIONS,
    DYNAMIC_QUOTA_ORCHESTRATORS,
    MULTI_KUEUE_CONFIGS,
    ORCHESTRATOR_DEFINITION,
    DefinitionMeta,
    Resource,
)
from orchestrator.compute import Snapshot
from orchestrator.enforcement.held import Held, View, held_of
from orchestrator.enforcement.objects import HeldOrchestrator, held_orchestrator, held_provider
from orchestrator.enforcement.roads import Road
from orchestrator.hierarchy import Hierarchy
from orchestrator.multikueue import automated_checks, why_automated

T = TypeVar("T")
_log = structlog.get_logger(__name__)

QUOTA_RESOURCES: Final = {CLUSTER_QUEUE: CLUSTER_QUEUES, COHORT: COHORTS}


class Enforcement(enum.StrEnum):
    """How quotas take effect, as the flag says it."""

    AUTO = "auto"
    SPEC = "spec"
    STATUS = "status"
    OBSERVE = "observe"


class Mode(NamedTuple):
    """On which road quotas take effect, and whether this process writes anything."""

    road: Road
    writes: bool


class Observer:
    """Is told of changes that others than this process have made."""

    def quotas_changed(self, held: Held | None, old: View | None, new: View | None) -> None:
        """A ClusterQueue or Cohort came, changed in what matters, or went (`held` is then the last one)."""

    def orchestrator_changed(self, name: str, held: HeldOrchestrator | None) -> None:
        """A DynamicQuotaOrchestrator came, changed in any way, or went (None)."""


class _Definition(msgspec.Struct, frozen=True):
    metadata: DefinitionMeta = DefinitionMeta()


class Cluster:
    """Caches, and the views of every object on the road that quotas take.

    `on_change` is called whenever there is a reason for another pass.
    """

    def __init__(  # noqa: PLR0913 - the parts of a daemon, by keyword
        self,
        client: Client,
        *,
        enforcement: Enforcement,
        on_change: Callable[[], None],
        clock: Clock,
        random: Random,
        metrics: CacheMetrics | None = None,
    ) -> None:
        self._client = client
        self._enforcement = enforcement
        self._notify = on_change
        self.observer = Observer()
        self.views: dict[ObjectKey, tuple[Held, View]] = {}
        self._expected: dict[ObjectKey, object] = {}
        """Writes of ours that are under way: the watch may show them before their answer comes, or after it.

        Only what they make of an object is no news. An answer may show an edit of others as well, of which the watch
        then says nothing more.
        """
        self._automated: dict[str, str] = {}

        def cache(resource: Resource, decode: Callable[[bytes], T], changed: Any, field_selector: str = "") -> Cache[T]:
            return Cache(
                client,
                resource,
                decode,
                on_change=changed,
                clock=clock,
                random=random,
                field_selector=field_selector,
                metrics=metrics,
            )

        self._definition = cache(
            CUSTOM_RESOURCE_DEFINITIONS,
            partial(msgspec.json.decode, type=_Definition),
            self._definition_changed,
            field_selector=f"metadata.name={ORCHESTRATOR_DEFINITION}",
        )
        self._quotas: dict[str, Cache[Held]] = {
            kind: cache(resource, partial(held_of, kind), partial(self._quotas_changed, kind))
            for kind, resource in QUOTA_RESOURCES.items()
        }
        self._providers = cache(CAPACITY_PROVIDERS, held_provider, self._provider_changed)
        self._orchestrators = cache(DYNAMIC_QUOTA_ORCHESTRATORS, held_orchestrator, self._orchestrator_changed)
        self._checks = cache(
            ADMISSION_CHECKS, partial(msgspec.json.decode, type=kueue.AdmissionCheck), self._checks_changed
        )
        self._configs = cache(
            MULTI_KUEUE_CONFIGS, partial(msgspec.json.decode, type=kueue.MultiKueueConfig), self._checks_changed
        )
        self._needed: list[Cache[Any]] = [*self._quotas.values(), self._providers, self._orchestrators, self._checks]
        if enforcement in {Enforcement.AUTO, Enforcement.OBSERVE}:
            self._needed.append(self._definition)
        self._all: list[Cache[Any]] = [*self._needed, self._configs]

    # --- life -------------------------------------------------------------------------------------------------------

    async def run(self) -> None:
        """Follows the cluster until it is cancelled."""
        async with asyncio.TaskGroup() as group:
            for cache in self._all:
                group.create_task(cache.run(), name=f"cache of {cache.resource.full_name}")

    async def wait_synced(self) -> None:
        """Returns when everything that the computation needs has been read once."""
        for cache in self._needed:
            await cache.wait_synced()
        await self._configs.wait_known()

    async def refresh(self) -> None:
        """Reads anew all that sums of quotas are made of. Raises ApiError."""
        await asyncio.gather(*(cache.refresh() for cache in self._all if not cache.is_absent))

    @property
    def is_synced(self) -> bool:
        """Whether everything that the computation needs is there."""
        return all(self._is_known(cache) for cache in self._all)

    def problems(self) -> list[str]:
        """Why the caches are not complete, for the readiness probe; what is only late is no reason."""
        return [
            f"{cache.resource.full_name}: {cache.problem or 'not listed yet'}"
            for cache in self._all
            if not self._is_known(cache)
        ]

    def _is_known(self, cache: Cache[Any]) -> bool:
        """An older Kueue, or one without MultiKueue, has no MultiKueueConfig: then there is no automation either."""
        return cache.is_synced or (cache is self._configs and cache.is_absent)

    # --- reading ----------------------------------------------------------------------------------------------------

    @property
    def mode(self) -> Mode | None:
        """The road, and whether to write; None while the cluster has no DynamicQuotaOrchestrator to tell by."""
        if self._enforcement is Enforcement.SPEC:
            return Mode(Road.SPEC, writes=True)
        if self._enforcement is Enforcement.STATUS:
            return Mode(Road.STATUS, writes=True)
        definition = self._definition.objects.get(ORCHESTRATOR_DEFINITION)
        if definition is None:
            return None
        if not definition.metadata.is_ours:
            return Mode(Road.STATUS, writes=False)
        return Mode(Road.SPEC, writes=self._enforcement is Enforcement.AUTO)

    @property
    def orchestrators(self) -> dict[str, HeldOrchestrator]:
        """Every DynamicQuotaOrchestrator by name."""
        return dict(self._orchestrators.objects)

    @property
    def providers(self) -> dict[str, dqo.CapacityProvider]:
        """Every CapacityProvider by name."""
        return dict(self._providers.objects)

    @property
    def checks(self) -> Mapping[str, kueue.AdmissionCheck]:
        """Every AdmissionCheck by name."""
        return self._checks.objects

    def snapshot(self) -> Snapshot:
        """What the computation works on: readable orchestrators, providers, and the cohort tree."""
        found = self._orchestrators.objects
        competing = {name: held.orchestrator or held.stand_in for name, held in found.items()}
        return Snapshot(
            {name: each for name, each in competing.items() if each is not None},
            self.providers,
            Hierarchy(view.member for _, view in self.views.values()),
            frozenset(name for name, held in found.items() if held.orchestrator is None),
        )

    # --- what this process writes -----------------------------------------------------------------------------------

    def put_quotas(self, kind: str, raw: bytes) -> None:
        """Takes in the answer to a write of ours, while it is still expected."""
        self._quotas[kind].put(raw)

    def put_orchestrator(self, raw: bytes) -> None:
        """Takes in the answer to a write of ours."""
        self._orchestrators.put(raw)

    async def reread(self, key: ObjectKey) -> None:
        """Reads one ClusterQueue or Cohort anew. Raises ApiError."""
        self._quotas[key.kind].put(await self._client.get(QUOTA_RESOURCES[key.kind].path(key.name)))

    async def reread_orchestrator(self, name: str) -> None:
        """Reads one DynamicQuotaOrchestrator anew. Raises ApiError."""
        self._orchestrators.put(await self._client.get(DYNAMIC_QUOTA_ORCHESTRATORS.path(name)))

    @contextmanager
    def expecting(self, key: ObjectKey, quotas: EffectiveQuotas) -> Iterator[None]:
        """While a write of these quotas is under way, their appearance is no news."""
        self._expected[key] = quotas
        try:
            yield
        finally:
            del self._expected[key]

    @contextmanager
    def expecting_status(self, name: str, status: dqo.DynamicQuotaOrchestratorStatus) -> Iterator[None]:
        """The same for an orchestrator's status."""
        key = ObjectKey(dqo.DYNAMIC_QUOTA_ORCHESTRATOR, name)
        self._expected[key] = status
        try:
            yield
        finally:
            del self._expected[key]

    # --- changes ----------------------------------------------------------------------------------------------------

    def rebuild_views(self) -> None:
        """Sees every object anew: the road is another, or MultiKueue's configuration."""
        self.views = {
            held.key: (held, self._view(held)) for cache in self._quotas.values() for held in cache.objects.values()
        }
        self._notify()

    def _view(self, held: Held) -> View:
        mode = self.mode
        view = (mode.road if mode is not None else Road.SPEC).view(held)
        why = why_automated(held.node, self._automated)
        if why is None or view.member.problem is not None:
            return view
        return view._replace(member=view.member._replace(problem=why))

    def _quotas_changed(self, kind: str, name: str, old: Held | None, new: Held | None) -> None:
        key = ObjectKey(kind, name)
        before = self.views.get(key)
        if new is None:
            self.views.pop(key, None)
        else:
            self.views[key] = (new, self._view(new))
        seen = before[1] if before is not None else None
        now = self.views[key][1] if new is not None else None
        if seen == now:
            if _generation(old) != _generation(new):
                self._notify()  # quotas are what they were, but what was refused before may be accepted now
            return
        if self._is_echo(key, new, seen, now):
            return
        self._notify()
        held = new if new is not None else (before[0] if before is not None else None)
        self.observer.quotas_changed(held, seen, now)

    def _is_echo(self, key: ObjectKey, held: Held | None, before: View | None, now: View | None) -> bool:
        """Whether it is just what a write of ours that is under way makes of the object."""
        quotas, mode = self._expected.get(key), self.mode
        if not isinstance(quotas, EffectiveQuotas) or mode is None or held is None or before is None or now is None:
            return False
        was, is_now = before.member, now.member
        same = (was.uid, was.parent, was.declared, was.problem) == (
            is_now.uid,
            is_now.parent,
            is_now.declared,
            is_now.problem,
        )
        return same and mode.road.holds(held.node, now, quotas)

    def _provider_changed(self, name: str, old: dqo.CapacityProvider | None, new: dqo.CapacityProvider | None) -> None:
        del name
        if _usable(old) != _usable(new):
            self._notify()

    def _orchestrator_changed(self, name: str, old: HeldOrchestrator | None, new: HeldOrchestrator | None) -> None:
        before, now = (old.orchestrator if old else None), (new.orchestrator if new else None)
        is_same = _essence(before) == _essence(now) and (old.problem if old else None) == (new.problem if new else None)
        if not is_same and not self._is_status_echo(name, before, now):
            self._notify()
        self.observer.orchestrator_changed(name, new)

    def _is_status_echo(
        self, name: str, before: dqo.DynamicQuotaOrchestrator | None, now: dqo.DynamicQuotaOrchestrator | None
    ) -> bool:
        status = self._expected.get(ObjectKey(dqo.DYNAMIC_QUOTA_ORCHESTRATOR, name))
        if status is None or before is None or now is None or now.status != status:
            return False
        return _essence(msgspec.structs.replace(before, status=now.status)) == _essence(now)

    def _checks_changed(self, name: str, old: object, new: object) -> None:
        del name, old, new
        automated = automated_checks(self._checks.objects.values(), self._configs.objects)
        if automated != self._automated:
            self._automated = automated
            self.rebuild_views()

    def _definition_changed(self, name: str, old: _Definition | None, new: _Definition | None) -> None:
        del old
        _log.info("DynamicQuotaOrchestrator definition seen", name=name, mode=str(self.mode), is_there=new is not None)
        self.rebuild_views()


def _generation(held: Held | None) -> int | None:
    return held.node.metadata.generation if held is not None else None


def _usable(provider: dqo.CapacityProvider | None) -> object:
    """All of a provider that the computation reads: not the words of a condition that is True, nor other conditions."""
    if provider is None:
        return None
    return provider.flavor_names, provider.status.capacity, why_not_ready(provider)


def _essence(obj: dqo.DynamicQuotaOrchestrator | None) -> object:
    """All of an orchestrator that the computation reads."""
    if obj is None:
        return None
    meta = obj.metadata
    return (meta.uid, meta.generation, meta.creation_timestamp, meta.deletion_timestamp, obj.spec, obj.status)
