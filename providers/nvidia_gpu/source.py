"""The aggregator as a daemon runs it: watches of reports and nodes, of what queues declare and, if needed, of pods."""

from __future__ import annotations

import asyncio
import dataclasses
from collections.abc import Set as AbstractSet
from typing import Final

from kueue_dqo.api.core import Node
from kueue_dqo.api.parameters import NVIDIA_GPU_CONTROLLER, NvidiaGpuParametersSpec
from kueue_dqo.provider import (
    CapacityController,
    Environment,
    Observation,
    ParametersKind,
    Request,
    Source,
    WithoutParameters,
)
from kueue_dqo.runtime.cache import Cache
from kueue_dqo.runtime.resources import NODE_GPU_REPORTS, NVIDIA_GPU_PARAMETERS
from providers.nodes.pod_watch import PodWatch
from providers.nodes.pods import PodUse
from providers.nodes.sight import Sight
from providers.nvidia_gpu.compute import observe
from providers.nvidia_gpu.decoding import Report, ReportDecoder
from providers.nvidia_gpu.looks import Looks
from providers.nvidia_gpu.memory import Memory
from providers.nvidia_gpu.metrics import GpuMetrics
from providers.nvidia_gpu.orphans import Orphans
from providers.nvidia_gpu.reports import Reports
from providers.nvidia_gpu.sweeping import INTERVAL, delete_reports

_WAY_OUT_OF_REPORTS: Final = (
    "their definition comes with kubectl apply -k manifests/crds/providers, the right to list and watch them with the "
    "ClusterRole of the daemon's ServiceAccount"
)
_WAY_OUT_OF_PODS: Final = (
    "`cordoned: CountAllocated` needs the right to list and watch pods, which the component "
    "manifests/components/nvidia-gpu-pods gives: add it, or take it out of the parameters"
)


class NvidiaGpu(Source[NvidiaGpuParametersSpec]):
    """The source. It asks to be asked only after a change of something that counts: heartbeats lead to nothing."""

    def __init__(self, environment: Environment) -> None:
        self._environment = environment
        self._looks = Looks(environment.look)
        self._reports = Reports()
        self._metrics = GpuMetrics(environment.registry, self._reports.seen)
        self._orphans = Orphans()
        self._sight = Sight(environment, on_node=self._node_changed, look=self._looks.want)
        decoder = ReportDecoder(self._held)
        self._cache: Cache[Report] = self._sight.follow(
            NODE_GPU_REPORTS, decoder.decode, self._report_changed, way_out=_WAY_OUT_OF_REPORTS
        )
        self._pods = PodWatch(environment, self._pod_changed, way_out=_WAY_OUT_OF_PODS)
        self._asked: dict[str, NvidiaGpuParametersSpec] = {}
        """The parameters of each provider that was asked about."""
        self._memories: dict[str, Memory] = {}
        """Of the last look at each of them."""

    async def observe(self, request: Request[NvidiaGpuParametersSpec]) -> Observation:
        """Waits for the first lists, but not for ever."""
        self._note(request)
        if self._cache.is_absent:
            # With the definition of the reports, all of them go, and nobody has deleted one on purpose.
            self._reports.clear()
            self._memories.clear()
        await self._sight.wait()
        pods = await self._pods.nodes() if request.parameters.needs_pods else {}
        request = dataclasses.replace(request, now=self._environment.clock.now())  # the lists may have taken a while
        name = request.provider.metadata.name
        memory = self._memories.setdefault(name, Memory())
        nodes, declared = self._sight.nodes.values(), self._sight.declared
        inventory = observe(request, nodes, self._reports.seen, declared, pods, memory=memory)
        self._metrics.counted(name, inventory.counts)
        return inventory.observation

    def forget(self, provider: str) -> None:
        self._keep(self._asked.keys() - {provider})

    async def run(self) -> None:
        """Follows the cluster until it is cancelled."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self._sight.run(), name="sight of the cluster")
            group.create_task(self._looks.run(), name="looks")
            group.create_task(self._pods.run(), name="watch of pods")
            group.create_task(self._sweep(), name="sweep of reports")

    # --- who is there, and what they need ----------------------------------------------------------------------------

    def _note(self, request: Request[NvidiaGpuParametersSpec]) -> None:
        """Every question names all the providers there are."""
        name = request.provider.metadata.name
        self._asked[name] = request.parameters
        self._keep({name, *(peer.provider.metadata.name for peer in request.peers)})

    def _keep(self, providers: AbstractSet[str]) -> None:
        """Only these are there, and their needs count."""
        self._asked = {name: parameters for name, parameters in self._asked.items() if name in providers}
        self._memories = {name: memory for name, memory in self._memories.items() if name in providers}
        self._metrics.keep(providers)
        self._pods.want(wanted=any(parameters.needs_pods for parameters in self._asked.values()))

    # --- what changes ------------------------------------------------------------------------------------------------

    def _held(self, name: str) -> Report | None:
        return self._cache.objects.get(name)

    def _report_changed(self, name: str, old: Report | None, new: Report | None) -> None:
        del old
        now = self._environment.clock.now()
        if new is None:
            self._reports.lose(name, now, node=_uid(self._sight.node(name)))
            is_news = True
        else:
            # A list may bring what was written long ago; what the watch brings is news.
            is_live = self._cache.is_synced and self._cache.problem is None
            is_news = self._reports.take(new, now, is_live=is_live)
        is_missed = any(name in memory.unheard for memory in self._memories.values())
        if (is_news or is_missed) and self._cache.is_synced:  # else the end of the first list is told at once
            self._looks.want()

    def _node_changed(self, name: str, new: Node | None) -> None:
        self._reports.see_node(name, _uid(new))

    def _pod_changed(self, use: PodUse) -> None:
        """Only what Kueue's pods hold of cordoned nodes counts."""
        node = self._sight.node(use.node) if use.is_managed else None
        if node is not None and node.spec.unschedulable:
            self._looks.want()

    # --- what is left over -------------------------------------------------------------------------------------------

    async def _sweep(self) -> None:
        """Deletes reports of nodes that are gone, while this process is the one that is asked: one is enough."""
        while True:
            await asyncio.sleep(INTERVAL)
            if not self._asked or not self._sight.is_good:
                self._orphans.forget()
                continue
            now = self._environment.clock.monotonic()
            due = self._orphans.due(self._cache.objects, self._sight.nodes, now)
            await delete_reports(self._environment.client, due)


def _uid(node: Node | None) -> str | None:
    return None if node is None else node.metadata.uid


CONTROLLER: Final = CapacityController(
    name=NVIDIA_GPU_CONTROLLER,
    open=NvidiaGpu,
    parameters=ParametersKind(NVIDIA_GPU_PARAMETERS, NvidiaGpuParametersSpec),
    without_parameters=WithoutParameters.DEFAULTS,
)
