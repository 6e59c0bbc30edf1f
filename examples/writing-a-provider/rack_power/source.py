"""How many GPUs the power of the racks allows: a capacity source that asks a facility's inventory service by HTTP.

The service answers with the racks of each pool: `{"pools": {"hall-a": [{"rack": "a1", "gpus": 8}]}}`.
"""

from __future__ import annotations

import asyncio
from http import HTTPStatus
from typing import Final

import aiohttp
import msgspec

from kueue_dqo.api.dqo import Capacity, FlavorCapacity
from kueue_dqo.api.parameters import CommonParameters
from kueue_dqo.api.quantity import Quantity
from kueue_dqo.provider import (
    CapacityController,
    Environment,
    InvalidCapacity,
    Misconfigured,
    Observation,
    ParametersKind,
    Request,
    Source,
    SourceUnavailable,
    WithoutParameters,
)
from kueue_dqo.runtime.resources import Resource

GPU: Final = "nvidia.com/gpu"
POLL: Final = 2.0
"""Seconds between two questions whether anything has changed, which cost the service next to nothing."""


# --- parameters: the spec of a RackPower object --------------------------------------------------------------------


class Pool(msgspec.Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    """Which pool of the service a flavor is."""

    flavor: str
    pool: str


class RackPowerSpec(CommonParameters, frozen=True, kw_only=True):
    """With what it inherits: resources, headroom, guards, which the publisher sees to."""

    url: str
    pools: tuple[Pool, ...]


# --- what the service says, and what it means ----------------------------------------------------------------------


class Rack(msgspec.Struct, frozen=True):
    """One rack, and how many GPUs its power allows at present."""

    rack: str
    gpus: int


class Inventory(msgspec.Struct, frozen=True):
    """The racks of each pool."""

    pools: dict[str, tuple[Rack, ...]]


def count(request: Request[RackPowerSpec], inventory: Inventory) -> Observation:
    """The capacity of one CapacityProvider. Plain arithmetic, apart from all input: a test needs no service."""
    pools = {each.flavor: each.pool for each in request.parameters.pools}
    flavors, summary = [], []
    for flavor in request.provider.flavor_names:
        if flavor not in pools:
            raise Misconfigured(f"flavor {flavor} has no pool: add it to spec.pools of the RackPower")
        racks = inventory.pools.get(pools[flavor])
        if racks is None:
            known = ", ".join(sorted(inventory.pools)) or "none"
            raise Misconfigured(f"pool {pools[flavor]} of flavor {flavor} is not in the inventory, which has {known}")
        for rack in racks:
            if rack.gpus < 0:
                raise InvalidCapacity(f"rack {rack.rack} has power for {rack.gpus} GPUs: correct it in the inventory")
        total = Quantity.of(sum(rack.gpus for rack in racks))
        flavors.append(FlavorCapacity(flavor, {GPU: total}))  # 0 where there is no rack: that is an answer too
        summary.append(f"{flavor}: {total} {GPU} in {len(racks)} racks")
    return Observation(Capacity(tuple(flavors)), "; ".join(summary))


# --- asking it -----------------------------------------------------------------------------------------------------


class RackPower(Source[RackPowerSpec]):
    """The source. It asks when it is asked, and notices by itself when the service has something new."""

    def __init__(self, environment: Environment) -> None:
        self._look = environment.look
        self._session = aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=10))
        self._seen: dict[str, str] = {}
        """The ETag of the last answer, by URL."""

    async def observe(self, request: Request[RackPowerSpec]) -> Observation:
        """Raises CapacityError."""
        url = request.parameters.url
        try:
            async with self._session.get(url, raise_for_status=True) as answer:
                inventory = msgspec.json.decode(await answer.read(), type=Inventory)
                self._seen[url] = answer.headers.get("ETag", "")
        except (aiohttp.ClientError, TimeoutError, msgspec.DecodeError) as error:
            raise SourceUnavailable(f"no inventory from {url}: {str(error) or 'no answer in time'}") from error
        return count(request, inventory)

    async def run(self) -> None:
        """Polls what was asked for."""
        async with self._session:
            while True:
                await asyncio.sleep(POLL)
                for url, etag in [*self._seen.items()]:
                    if etag and not await self._is_unchanged(url, etag):
                        del self._seen[url]  # back with the next observation, if there still is one
                        self._look()

    async def _is_unchanged(self, url: str, etag: str) -> bool:
        try:
            async with self._session.get(url, headers={"If-None-Match": etag}) as answer:
                return answer.status == HTTPStatus.NOT_MODIFIED
        except (aiohttp.ClientError, TimeoutError):
            return False  # `observe` will say why


CONTROLLER: Final = CapacityController(
    name="facility.example.com/rack-power",
    open=RackPower,
    parameters=ParametersKind(Resource("facility.example.com", "v1", "rackpowers", "RackPower"), RackPowerSpec),
    without_parameters=WithoutParameters.MISCONFIGURED,
)
