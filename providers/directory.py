"""What a provider's daemon knows of the cluster: every CapacityProvider, every ResourceFlavor, its kind of parameters.

It tells which CapacityProviders are its own, and what a source is to be asked about one of them.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from collections.abc import Set as AbstractSet
from functools import partial
from random import Random
from typing import Any, Final, TypeVar

from kueue_dqo.api import dqo, kueue
from kueue_dqo.api.meta import OUR_GROUP
from kueue_dqo.api.parameters import CommonParameters
from kueue_dqo.api.scheme import KnownKind, decode_json
from kueue_dqo.provider import CapacityController, Misconfigured, Peer, Request, WithoutParameters
from kueue_dqo.runtime.cache import Cache
from kueue_dqo.runtime.cache_metrics import CacheMetrics
from kueue_dqo.runtime.client import Client
from kueue_dqo.runtime.clock import Clock
from kueue_dqo.runtime.resources import CAPACITY_PROVIDERS, RESOURCE_FLAVORS, Resource
from providers.parameters import HeldParameters, Kind, held_parameters, parameters_of
from providers.pipeline import check_flavors
from providers.reading import Reading, follow
from providers.status import Held, held_provider

T = TypeVar("T")
_WAY_OUT: Final = (
    "what was read of them is too old to be used; see the log of the daemon, and the ClusterRole of its ServiceAccount"
)
_DEFINITIONS: Final = "manifests/crds/providers"
"""Where the definitions of our own kinds of parameters are."""


class Observer:
    """Is told of changes that may matter."""

    def provider_changed(self, name: str, old: Held | None, new: Held | None) -> None:
        """A CapacityProvider, of whatever controller, came, changed or went."""

    def parameters_changed(self, name: str) -> None:
        """An object of the parameters kind came, changed or went."""

    def flavors_changed(self) -> None:
        """Some ResourceFlavor did, or what is known of the cluster is not good any more, or is again."""


class Directory:
    """Caches, and what follows from them."""

    def __init__(  # noqa: PLR0913 - the parts of a daemon, by keyword
        self,
        client: Client,
        controller: CapacityController[Any],
        *,
        only: AbstractSet[str] = frozenset(),
        clock: Clock,
        random: Random,
        metrics: CacheMetrics | None = None,
    ) -> None:
        """`only` are the names of the CapacityProviders to serve; empty: all."""
        self.controller: Final = controller
        self.observer = Observer()
        self._client = client
        self._only = only
        self._clock = clock

        self._following: dict[Resource, asyncio.Event] = {}
        """Set when that cache has failed, or follows the API server again."""
        self._readings: dict[Resource, Reading] = {}
        """From the beginning of `run`."""

        def cache(resource: Resource, decode: Callable[[bytes], T], changed: Any) -> Cache[T]:
            following = self._following[resource] = asyncio.Event()
            return Cache(
                client,
                resource,
                decode,
                on_change=changed,
                clock=clock,
                random=random,
                metrics=metrics,
                on_following=following.set,
            )

        self._providers = cache(CAPACITY_PROVIDERS, held_provider, self._provider_changed)
        self._flavors = cache(RESOURCE_FLAVORS, _flavor, self._flavor_changed)
        self._parameters: Cache[HeldParameters] | None = None
        if controller.parameters is not None:
            decode = partial(held_parameters, controller.parameters)
            self._parameters = cache(controller.parameters.resource, decode, self._parameters_changed)
        self._needed: list[Cache[Any]] = [self._providers, self._flavors]

    # --- life --------------------------------------------------------------------------------------------------------

    async def run(self) -> None:
        """Follows the cluster until it is cancelled."""
        self._readings = {cache.resource: Reading(cache, self._clock, way_out=_WAY_OUT) for cache in self._all}
        async with asyncio.TaskGroup() as group:
            for cache in self._all:
                group.create_task(cache.run(), name=f"cache of {cache.resource.full_name}")
                group.create_task(self._follow(cache), name=f"sight of {cache.resource.full_name}")

    async def _follow(self, cache: Cache[Any]) -> None:
        """A provider is asked anew when its daemon does not see any more what it depends on, and when it sees again."""
        await cache.wait_synced()
        resource = cache.resource
        await follow((self._readings[resource],), self._following[resource], self.observer.flavors_changed)

    async def wait_synced(self) -> None:
        """Returns when all has been read once; a parameters kind that the cluster does not have is not waited for."""
        for cache in self._needed:
            await cache.wait_synced()
        if self._parameters is not None:
            await self._parameters.wait_known()

    async def refresh(self) -> None:
        """Reads anew all that there is. Raises ApiError."""
        await asyncio.gather(*(cache.refresh() for cache in self._all if not cache.is_absent))

    def problems(self) -> list[str]:
        """Why the caches are not complete, for the readiness probe; what is only late is no reason."""
        return [
            f"{cache.resource.full_name}: {cache.problem or 'not listed yet'}"
            for cache in self._all
            if not cache.is_synced and not (cache is self._parameters and cache.is_absent and not self._needs_kind())
        ]

    @property
    def _all(self) -> list[Cache[Any]]:
        return self._needed if self._parameters is None else [*self._needed, self._parameters]

    def _needs_kind(self) -> bool:
        return any(self.get(name).provider.spec.parameters is not None for name in self.mine())

    # --- reading -----------------------------------------------------------------------------------------------------

    def mine(self) -> list[str]:
        """The names of the CapacityProviders to serve, in order."""
        return [name for name in sorted(self._providers.objects) if self.find(name) is not None]

    def find(self, name: str) -> Held | None:
        """The CapacityProvider of that name, where there is one and it is to be served."""
        held = self._providers.objects.get(name)
        if held is None or not self.is_of_controller(held.provider):
            return None
        if (self._only and name not in self._only) or held.provider.metadata.deletion_timestamp is not None:
            return None
        return held

    def get(self, name: str) -> Held:
        """One that is known to be there."""
        return self._providers.objects[name]

    def request_for(self, held: Held) -> Request[Any]:
        """What to ask about it.

        Raises:
            Misconfigured: there is no such question.
            SourceUnavailable: something that it is made of has not been seen for a minute.
        """
        provider = held.provider
        for cache in self._questioned():
            self._readings[cache.resource].require()
        if held.problem is not None:
            raise Misconfigured(f"the object cannot be read: {held.problem}")
        parameters = self._parameters_of(provider)
        check_flavors(provider, self._flavors.objects)
        return Request(
            provider=provider,
            parameters=parameters,
            flavors=dict(self._flavors.objects),
            peers=self._peers(provider.metadata.name),
            providers={name: each.provider for name, each in self._providers.objects.items()},
            now=self._clock.now(),
        )

    def _questioned(self) -> list[Cache[Any]]:
        """The caches that questions are made of: parameters where anyone of the controller's names some."""
        parameters = self._parameters
        if parameters is None or parameters.is_absent:
            return self._needed
        held = self._providers.objects.values()
        wanted = any(each.provider.spec.parameters is not None for each in held if self.is_of_controller(each.provider))
        return [*self._needed, parameters] if wanted else self._needed

    def is_of_controller(self, provider: dqo.CapacityProvider) -> bool:
        """Whether it is one of the controller's, to be served or not."""
        if provider.spec.controller_name != self.controller.name:
            return False
        by_hand = self.controller.without_parameters is WithoutParameters.BY_HAND
        return not (by_hand and provider.spec.parameters is None)

    def _peers(self, name: str) -> tuple[Peer[Any], ...]:
        return tuple(
            Peer(held.provider, self._parameters_or_none(held.provider))
            for other, held in sorted(self._providers.objects.items())
            if other != name and held.problem is None and self.is_of_controller(held.provider)
        )

    def _parameters_or_none(self, provider: dqo.CapacityProvider) -> CommonParameters | None:
        try:
            return self._parameters_of(provider)
        except Misconfigured:
            return None  # its own status says why

    def _parameters_of(self, provider: dqo.CapacityProvider) -> CommonParameters:
        """Raises Misconfigured."""
        wanted = self.controller.parameters
        kind = Kind(wanted.resource.group, wanted.resource.kind, wanted.spec) if wanted is not None else None
        return parameters_of(provider, kind, self.controller.without_parameters, self._find_parameters)

    def _find_parameters(self, name: str) -> HeldParameters | None:
        assert self._parameters is not None  # noqa: S101 - only a controller with parameters looks for them
        if self._parameters.is_absent:
            resource = self._parameters.resource
            remedy = f"kubectl apply -k {_DEFINITIONS}" if resource.group == OUR_GROUP else "install it"
            raise Misconfigured(
                f"spec.parameters names {resource.kind} {name!r}, but the cluster has no CustomResourceDefinition "
                f"{resource.plural}.{resource.group} in version {resource.version}: {remedy}"
            )
        return self._parameters.objects.get(name)

    # --- what the process writes -------------------------------------------------------------------------------------

    def put(self, raw: bytes) -> Held:
        """Takes in the answer to a write of ours, and returns what it says."""
        return self._providers.put(raw)

    async def reread(self, name: str) -> None:
        """Reads one CapacityProvider anew. Raises ApiError."""
        self._providers.put(await self._client.get(CAPACITY_PROVIDERS.path(name)))

    # --- changes -----------------------------------------------------------------------------------------------------

    def _provider_changed(self, name: str, old: Held | None, new: Held | None) -> None:
        self.observer.provider_changed(name, old, new)

    def _parameters_changed(self, name: str, old: HeldParameters | None, new: HeldParameters | None) -> None:
        if old != new:
            self.observer.parameters_changed(name)

    def _flavor_changed(self, name: str, old: kueue.ResourceFlavor | None, new: kueue.ResourceFlavor | None) -> None:
        del name
        if _essence(old) != _essence(new):
            self.observer.flavors_changed()


def _flavor(raw: bytes) -> kueue.ResourceFlavor:
    known = KnownKind(RESOURCE_FLAVORS.group, RESOURCE_FLAVORS.kind, (RESOURCE_FLAVORS.version,), kueue.ResourceFlavor)
    flavor: kueue.ResourceFlavor = decode_json(known, RESOURCE_FLAVORS.version, raw).object
    return flavor


def _essence(flavor: kueue.ResourceFlavor | None) -> object:
    """All of a flavor that a source may read: not who has written it."""
    if flavor is None:
        return None
    return flavor.metadata.uid, flavor.metadata.deletion_timestamp, flavor.spec
