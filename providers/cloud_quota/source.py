"""The source of what accounts of clouds allow and reserve, as a daemon runs it. It asks only when it is asked."""

from __future__ import annotations

import asyncio
from collections.abc import Set as AbstractSet
from typing import Final

from kueue_dqo.api.cloud import CLOUD_QUOTA_CONTROLLER, CloudQuotaParametersSpec
from kueue_dqo.provider import (
    CapacityController,
    Environment,
    Observation,
    ParametersKind,
    Request,
    Source,
    WithoutParameters,
)
from kueue_dqo.runtime.resources import CLOUD_QUOTA_PARAMETERS
from providers.cloud_quota.asking import Looks, counted, used_for
from providers.cloud_quota.metrics import CloudMetrics
from providers.cloud_quota.takings import Takings


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
        found, heard = await counted(request, self._looks, self._takings, self._environment.clock)
        self._metrics.looked(name, heard.oldest)
        self._metrics.counted(name, found.flavors)
        return found.observation

    async def run(self) -> None:
        """Waits for the end, and lets go of all accounts then."""
        try:
            await asyncio.Event().wait()
        finally:
            self._looks.close()

    def forget(self, provider: str) -> None:
        self._keep(self._asking - {provider})

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
