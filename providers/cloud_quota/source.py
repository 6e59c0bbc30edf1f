"""The source of what accounts of clouds allow and reserve, as a daemon runs it. It asks only when it is asked."""

from __future__ import annotations

import asyncio
import dataclasses
from collections.abc import Set as AbstractSet
from typing import Final

from kueue_dqo.api.cloud import CLOUD_QUOTA_CONTROLLER, CloudQuotaParametersSpec
from kueue_dqo.provider import (
    CapacityController,
    Environment,
    Misconfigured,
    Observation,
    ParametersKind,
    Request,
    Source,
    WithoutParameters,
)
from kueue_dqo.runtime.resources import CLOUD_QUOTA_PARAMETERS
from providers.cloud_quota.asking import Looked, Looks, used_for
from providers.cloud_quota.cloud import Cloud
from providers.cloud_quota.clouds import cloud_of
from providers.cloud_quota.compute import observe
from providers.cloud_quota.metrics import CloudMetrics
from providers.cloud_quota.takings import Takings
from providers.slips import parameters_name


class CloudQuota(Source[CloudQuotaParametersSpec]):
    """The source. Who looks soon after another look gets the same answers: a change in the cluster costs no calls."""

    def __init__(self, environment: Environment) -> None:
        self._environment = environment
        self._metrics = CloudMetrics(environment.registry, environment.clock)
        self._looks = Looks(
            clock=environment.clock,
            random=environment.random,
            record=self._metrics.called,
            keep=used_for(environment.interval),
        )
        self._asking: set[str] = set()
        """The CapacityProviders that were asked about."""
        self._takings = Takings()

    async def observe(self, request: Request[CloudQuotaParametersSpec]) -> Observation:
        """Asks the account what is not known yet, or not any more."""
        name = request.provider.metadata.name
        self._keep(self._asking.intersection(peer.provider.metadata.name for peer in request.peers) | {name})
        cloud, looked = await self._look(request)
        request = dataclasses.replace(request, now=self._environment.clock.now())  # the look may have taken a while
        counted = observe(request, cloud, looked.heard, looked.ended, self._takings)
        self._metrics.looked(name, looked.heard.oldest)
        self._metrics.counted(name, counted.flavors)
        return counted.observation

    async def run(self) -> None:
        """Waits for the end, and lets go of all accounts then."""
        try:
            await asyncio.Event().wait()
        finally:
            self._looks.close()

    def forget(self, provider: str) -> None:
        self._keep(self._asking - {provider})

    async def _look(self, request: Request[CloudQuotaParametersSpec]) -> tuple[Cloud, Looked]:
        try:
            cloud = cloud_of(request.parameters)
            looked = await self._looks.look(request.provider.metadata.name, cloud, request.parameters.account)
        except Misconfigured as error:
            raise Misconfigured(f"{parameters_name(request.provider)}: {error}") from error
        return cloud, looked

    def _keep(self, providers: AbstractSet[str]) -> None:
        """Only these are there."""
        for gone in self._asking - providers:
            self._looks.forget(gone)
        self._asking = set(providers)
        self._takings.keep(providers)
        self._metrics.keep(providers)


CONTROLLER: Final = CapacityController(
    name=CLOUD_QUOTA_CONTROLLER,
    open=CloudQuota,
    parameters=ParametersKind(CLOUD_QUOTA_PARAMETERS, CloudQuotaParametersSpec),
    without_parameters=WithoutParameters.MISCONFIGURED,
)
