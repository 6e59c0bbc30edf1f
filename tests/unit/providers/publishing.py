"""A publisher at work on an API server in memory, with a source that answers as a test says."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Any, NamedTuple, cast

from prometheus_client import CollectorRegistry

from kueue_dqo.api import dqo
from kueue_dqo.api.parameters import CommonParameters
from kueue_dqo.api.quantity import Quantity
from kueue_dqo.provider import (
    CapacityController,
    Environment,
    Observation,
    ParametersKind,
    Request,
    Source,
    WithoutParameters,
)
from kueue_dqo.runtime.client import Client
from kueue_dqo.runtime.controller import Controller, ControllerMetrics
from kueue_dqo.runtime.events import EventRecorder, Subject
from kueue_dqo.runtime.resources import CAPACITY_PROVIDERS, RESOURCE_FLAVORS, Resource
from kueue_dqo.runtime.workqueue import QueueMetrics, WorkQueue
from providers.asking import Asker
from providers.directory import Directory
from providers.looking import Looker
from providers.metrics import ProviderMetrics, RecordCollector
from providers.pace import Pace
from providers.publisher import Publisher
from providers.status_writer import StatusWriter
from tests.unit.kueue_dqo.runtime.virtual_time import VirtualClock
from tests.unit.providers.memory_api import MemoryApi

CONTROLLER = "example.com/test"
PARAMETERS = Resource("example.com", "v1", "testparameters", "TestParameters")
INTERVAL = 300.0
LIMIT = 60.0

Amounts = Mapping[str, Mapping[str, object]]
Answer = Callable[[Request[CommonParameters]], Awaitable[Observation]]


class Event(NamedTuple):
    """An Event that was recorded."""

    name: str
    type: str
    reason: str
    message: str


class Told:
    """Takes Events."""

    def __init__(self) -> None:
        self.events: list[Event] = []

    def normal(self, subject: Subject, reason: str, message: str) -> None:
        self.events.append(Event(subject.name, "Normal", reason, message))

    def warning(self, subject: Subject, reason: str, message: str) -> None:
        self.events.append(Event(subject.name, "Warning", reason, message))

    @property
    def reasons(self) -> list[str]:
        return [each.reason for each in self.events]

    @property
    def recorder(self) -> EventRecorder:
        return cast("EventRecorder", self)


class ScriptedSource(Source[CommonParameters]):
    """Answers at once with `amounts`, or as `answers` say for a provider."""

    def __init__(self) -> None:
        self.amounts: Amounts = {"h100": {"nvidia.com/gpu": 80}}
        self.summary = "all well"
        self.answers: dict[str, Answer] = {}
        self.asked: list[tuple[str, float]] = []
        """Names and times."""
        self.requests: list[Request[CommonParameters]] = []
        self.more: dict[str, Any] = {}
        """Other parts of the observation."""
        self.forgotten: list[str] = []

    async def observe(self, request: Request[CommonParameters]) -> Observation:
        name = request.provider.metadata.name
        self.asked.append((name, asyncio.get_running_loop().time()))
        self.requests.append(request)
        if name in self.answers:
            return await self.answers[name](request)
        return self.observation()

    def forget(self, provider: str) -> None:
        self.forgotten.append(provider)

    def observation(self) -> Observation:
        return Observation(capacity_of(self.amounts), self.summary, **self.more)

    def times(self, name: str = "pool") -> list[float]:
        return [at for asked, at in self.asked if asked == name]


def capacity_of(amounts: Amounts) -> dqo.Capacity:
    return dqo.Capacity(
        tuple(
            dqo.FlavorCapacity(flavor, {name: Quantity.of(amount) for name, amount in resources.items()})
            for flavor, resources in amounts.items()
        )
    )


def raising(error: BaseException) -> Answer:
    async def answer(_: Request[CommonParameters]) -> Observation:
        raise error

    return answer


async def hanging(_: Request[CommonParameters]) -> Observation:
    await asyncio.Event().wait()
    raise AssertionError


class World:
    """A leader; the ResourceFlavor h100 is there, and no CapacityProvider yet."""

    def __init__(self, *, only: frozenset[str] = frozenset(), reads_providers: bool = False) -> None:
        self.api = MemoryApi()
        self.api.put(RESOURCE_FLAVORS, "h100", spec={})
        self.source = ScriptedSource()
        self.told = Told()
        self.leads = True
        self.registry = CollectorRegistry()
        self.clock = VirtualClock()
        self.without_parameters = WithoutParameters.DEFAULTS
        self.reads_providers = reads_providers
        self.only = only
        self.publisher: Publisher
        self.directory: Directory

    def provider(self, name: str = "pool", *flavors: str, parameters: str = "", **more: Any) -> None:
        """Creates the CapacityProvider or changes its spec."""
        spec: dict[str, Any] = {
            "controllerName": more.pop("controller", CONTROLLER),
            "orchestratedFlavors": [{"name": each} for each in flavors or ("h100",)],
        }
        if parameters:
            kind = more.pop("kind", PARAMETERS.kind)
            spec["parameters"] = {"apiGroup": PARAMETERS.group, "kind": kind, "name": parameters}
        self.api.put(CAPACITY_PROVIDERS, name, spec=spec, **more)

    def parameters(self, name: str = "p", **spec: Any) -> None:
        self.api.put(PARAMETERS, name, spec=spec)

    def annotate(self, name: str, **annotations: str) -> None:
        self.api.put(CAPACITY_PROVIDERS, name, metadata={"annotations": annotations})

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """From the list to the end of the term; may be entered again, as after a restart."""
        self.registry = CollectorRegistry()
        chance = random.Random(1)
        client = cast("Client", self.api)
        controller = CapacityController(
            name=CONTROLLER,
            open=lambda _: self.source,
            parameters=ParametersKind(PARAMETERS, CommonParameters),
            without_parameters=self.without_parameters,
            reads_providers=self.reads_providers,
        )
        metrics = ProviderMetrics(self.registry)
        queue = WorkQueue[str](
            "test", clock=self.clock, random=chance, metrics=QueueMetrics(self.registry), base_delay=0.2, max_delay=30
        )
        self.directory = Directory(client, controller, only=self.only, clock=self.clock, random=chance)
        source = controller.open(cast("Environment", None))
        self.publisher = Publisher(
            self.directory,
            looker=Looker(
                self.directory, Asker(source, limit=LIMIT, clock=self.clock), clock=self.clock, metrics=metrics
            ),
            writer=StatusWriter(
                client,
                self.directory,
                field_manager="kueue-dqo-test",
                may_write=lambda: self.leads,
                timeout=4,
                events=self.told.recorder,
                clock=self.clock,
                metrics=metrics,
            ),
            queue=queue,
            pace=Pace(INTERVAL, chance),
            events=self.told.recorder,
            clock=self.clock,
            time_to_look=LIMIT,
        )
        self.directory.observer = self.publisher
        self.registry.register(RecordCollector(lambda: self.publisher.records))
        loop = Controller(
            "test",
            self.publisher.reconcile,
            queue=queue,
            clock=self.clock,
            metrics=ControllerMetrics(self.registry),
            workers=4,
        )
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(self.directory.run())]
            await self.directory.wait_synced()
            self.publisher.start()
            tasks.append(group.create_task(loop.run()))
            try:
                yield
            finally:
                self.publisher.stop()
                for task in tasks:
                    task.cancel()

    def metric(self, name: str, /, **labels: str) -> float | None:
        return self.registry.get_sample_value(f"kueue_dqo_provider_{name}", labels)
