"""The watch of pods, which goes on only while some provider's parameters need it: pods are many and change often."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import Final

from kueue_dqo.provider import Environment
from kueue_dqo.runtime.cache import Cache
from kueue_dqo.runtime.resources import PODS
from providers.nodes.decoding import decode_pod
from providers.nodes.pods import NodePods, PodIndex, PodUse
from providers.reading import Reading, follow

_THAT_HOLD_SOMETHING: Final = "spec.nodeName!=,status.phase!=Succeeded,status.phase!=Failed"


class PodWatch:
    """`on_change` is told of every pod whose coming, change or going changes what is held of its node."""

    def __init__(self, environment: Environment, on_change: Callable[[PodUse], None], *, way_out: str) -> None:
        """`way_out` is what to do where the right to list and watch pods is missing."""
        self._environment = environment
        self._on_change = on_change
        self._way_out = way_out
        self._session: _Session | None = None
        self._changed = asyncio.Event()

    def want(self, *, wanted: bool) -> None:
        """Whether it goes on. What it holds is let go where it does not."""
        if wanted is not (self._session is not None):
            self._session = _Session(self._environment, self._on_change, self._way_out) if wanted else None
            self._changed.set()

    async def nodes(self) -> Mapping[str, NodePods]:
        """What pods hold, by node, once all are known; whoever asks wants it. Raises SourceUnavailable."""
        self.want(wanted=True)
        session = self._session
        assert session is not None  # noqa: S101 - it is wanted
        await session.reading.wait()
        return session.index.nodes

    async def run(self) -> None:
        """Follows the pods while it is wanted, until it is cancelled."""
        while True:
            session = self._session
            self._changed.clear()
            if session is None:
                await self._changed.wait()
                continue
            async with asyncio.TaskGroup() as group:
                following = group.create_task(session.run(), name="pods")
                while self._session is session:
                    self._changed.clear()
                    await self._changed.wait()
                following.cancel()


class _Session:
    """From the moment that the pods are wanted until they are not any more."""

    def __init__(self, environment: Environment, on_change: Callable[[PodUse], None], way_out: str) -> None:
        self.index = PodIndex()
        self._on_change = on_change
        self._environment = environment
        self._following = asyncio.Event()
        self._cache: Cache[PodUse] = Cache(
            environment.client,
            PODS,
            decode_pod,
            on_change=self._changed,
            clock=environment.clock,
            random=environment.random,
            field_selector=_THAT_HOLD_SOMETHING,
            metrics=environment.cache_metrics,
            on_following=self._following.set,
        )
        self.reading = Reading(self._cache, environment.clock, way_out=way_out)

    async def run(self) -> None:
        try:
            async with asyncio.TaskGroup() as group:
                group.create_task(self._cache.run(), name="cache of pods")
                await follow((self.reading,), self._following, self._environment.look)
        finally:
            for gauge in (self._environment.cache_metrics.objects, self._environment.cache_metrics.up_to_date):
                gauge.remove_by_labels({"resource": PODS.full_name})

    def _changed(self, name: str, old: PodUse | None, new: PodUse | None) -> None:
        del name
        # The end of the first list is told at once, and not pod by pod.
        if self.index.change(old, new) and self._cache.is_synced:
            for use in (old, new):
                if use is not None:
                    self._on_change(use)
