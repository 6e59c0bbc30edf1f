"""A process of the benchmark of the cloud quota provider: its looks beside the same calls by the bare SDK.

The floor makes the calls of a look one after the other, as a script would.
"""

from __future__ import annotations

import asyncio
import datetime
import gc
import importlib
import json
import random
import sys
import time
from typing import Any

import msgspec

from bench import accounts
from kueue_dqo.api import dqo
from kueue_dqo.api.cloud import CLOUD_QUOTA_CONTROLLER, CloudQuotaParametersSpec
from kueue_dqo.api.meta import ObjectMeta
from kueue_dqo.provider import Request
from kueue_dqo.runtime.clock import SystemClock
from providers.cloud_quota.asking import Looks, counted
from providers.cloud_quota.cloud import Call
from providers.cloud_quota.takings import Takings


def main(cloud: str, pairs: str) -> None:
    print(json.dumps(asyncio.run(_in_turn(cloud, int(pairs)))))


async def _in_turn(cloud: str, pairs: int) -> dict[str, Any]:
    """Seconds of floor and ours: of the first look, with clients to be made and shapes to be asked, and of a later one.

    The first pair does not count: it loads what both sides need.
    """
    floors = importlib.import_module(f"bench.processes.bare_{cloud}")
    found: dict[str, list[tuple[float, float]]] = {"first": [], "later": []}
    counts: dict[str, int] = {}
    for number in range(pairs + 1):
        looks = _Looks(cloud)
        gc.collect()  # neither side pays for what was made before it
        began = time.perf_counter()
        calls = floors.open_(at_first=True)()
        between = time.perf_counter()
        gc.collect()
        resumed = time.perf_counter()
        await looks.look()
        first = (between - began, time.perf_counter() - resumed)
        counts["first"] = _same(calls, looks)

        floor = floors.open_(at_first=False)
        floor()  # its connections are open then, as ours are
        gc.collect()
        began = time.perf_counter()
        calls = floor()
        between = time.perf_counter()
        await looks.look()
        later = (between - began, time.perf_counter() - between)
        counts["later"] = _same(calls, looks)
        looks.close()
        if number:
            found["first"].append(first)
            found["later"].append(later)
    return {**found, "calls": counts}


def _same(calls: int, looks: _Looks) -> int:
    """How many calls both sides have made."""
    ours = looks.calls()
    assert calls == ours, f"the floor has made {calls} calls, a look {ours}"
    return ours


class _Looks:
    """A daemon's looks at an account, each with the count of what there is."""

    def __init__(self, cloud: str) -> None:
        plain = {cloud: accounts.ACCOUNTS[cloud]}
        self._spec = msgspec.convert(plain, CloudQuotaParametersSpec, dec_hook=lambda kind, value: kind.of(value))
        self._made: list[Call] = []
        self._clock = SystemClock()
        self._looks = Looks(
            clock=self._clock, random=random.Random(1), record=lambda _, call: self._made.append(call), keep=0
        )

    async def look(self) -> None:
        """Raises AssertionError where it came to anything but a capacity of all flavors."""
        names = tuple(dqo.FlavorRef(flavor.name) for flavor in self._spec.account.flavors)
        request = Request(
            provider=dqo.CapacityProvider(ObjectMeta("bench"), dqo.CapacityProviderSpec(CLOUD_QUOTA_CONTROLLER, names)),
            parameters=self._spec,
            flavors={},
            peers=(),
            providers={},
            now=datetime.datetime.now(datetime.UTC),
        )
        found, _ = await counted(request, self._looks, Takings(), self._clock)
        assert len(found.observation.capacity.flavors) == len(names)

    def calls(self) -> int:
        """How many were made since it was asked last; what only reads credentials is none."""
        made = sum(call.requests > 0 for call in self._made)
        self._made.clear()
        return made

    def close(self) -> None:
        """Ends the connections."""
        self._looks.close()


if __name__ == "__main__":
    main(*sys.argv[1:])
