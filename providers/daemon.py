"""The process of a provider, wired together in one function."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import structlog

from kueue_dqo.provider import CapacityController, Environment, Source
from kueue_dqo.runtime.cache_metrics import CacheMetrics
from kueue_dqo.runtime.clock import SystemClock
from kueue_dqo.runtime.controller import Controller, ControllerMetrics
from kueue_dqo.runtime.errors import ConfigurationError
from kueue_dqo.runtime.events import EventMetrics, EventRecorder
from kueue_dqo.runtime.process import (
    FIRST_RETRY,
    LONGEST_RETRY,
    ProcessOptions,
    always,
    live,
    process_registry,
    until_refreshed,
)
from kueue_dqo.runtime.request_metrics import RequestMetrics
from kueue_dqo.runtime.serving import HealthServer
from kueue_dqo.runtime.workqueue import QueueMetrics, WorkQueue
from providers.asking import Asker
from providers.directory import Directory
from providers.life_signs import LifeSigns
from providers.looking import Looker
from providers.metrics import ProviderMetrics, RecordCollector
from providers.only import Named
from providers.pace import Pace
from providers.publisher import Publisher
from providers.status_writer import StatusWriter

_log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Options(ProcessOptions):
    """What the command line says. Times are in seconds."""

    name: str
    """The command's, such as `node-inventory`."""
    only: frozenset[str] = frozenset()
    """The names of the CapacityProviders to serve; empty: all of the controller's."""
    interval: float = 300.0
    """Between two looks at a provider of which nothing is heard."""
    observe_timeout: float = 60.0
    concurrency: int = 4
    """Providers that the source is asked about at the same time."""
    settings: Mapping[str, str | bool] = field(default_factory=dict)
    """Those of the controller, by name."""

    @property
    def field_manager(self) -> str:
        """Who writes, as managedFields and Events say it."""
        return f"kueue-dqo-{self.name}"


async def run(options: Options, controller: CapacityController[Any]) -> None:
    """Runs until it is cancelled. Raises ConfigurationError, CannotListen, and in a group what the source raised."""
    clock, chance, registry = SystemClock(), random.SystemRandom(), process_registry()
    metrics, requests, cache_metrics = ProviderMetrics(registry), RequestMetrics(registry), CacheMetrics(registry)

    # Elections have a connection of their own, and so have Events and signs of life: none waits for the source.
    async with (
        await options.connect(connections=options.concurrency + 16, metrics=requests) as client,
        await options.connect(connections=1, metrics=requests) as election_client,
        await options.connect(connections=4, metrics=requests) as telling_client,
    ):
        queue = WorkQueue[str](
            options.name,
            clock=clock,
            random=chance,
            metrics=QueueMetrics(registry),
            base_delay=FIRST_RETRY,
            max_delay=LONGEST_RETRY,
        )
        events = EventRecorder(
            telling_client, component=options.field_manager, clock=clock, metrics=EventMetrics(registry)
        )
        elector = options.elector(election_client, clock=clock, random=chance, registry=registry)
        may_write = elector.may_write if options.leader_elect else always
        directory = Directory(client, controller, only=options.only, clock=clock, random=chance, metrics=cache_metrics)
        publisher: Publisher | None = None

        def look() -> None:
            if publisher is not None:  # else the source is still being opened, and nobody has asked yet
                publisher.look()

        source = opened(
            options.name,
            controller,
            Environment(
                client=client,
                clock=clock,
                random=chance,
                registry=registry,
                cache_metrics=cache_metrics,
                look=look,
                namespace=options.namespace,
                settings=options.settings,
                interval=options.interval,
            ),
        )
        publisher = Publisher(
            directory,
            looker=Looker(
                directory,
                Asker(source, limit=options.observe_timeout, clock=clock),
                clock=clock,
                metrics=metrics,
            ),
            writer=StatusWriter(
                client,
                directory,
                field_manager=options.field_manager,
                may_write=may_write,
                timeout=options.write_timeout,
                events=events,
                clock=clock,
                metrics=metrics,
            ),
            queue=queue,
            pace=Pace(options.interval, chance),
            events=events,
            clock=clock,
            time_to_look=options.observe_timeout,
        )
        named = Named(options.only, directory, then=publisher)
        directory.observer = named
        signs = LifeSigns(
            telling_client,
            publisher,
            namespace=options.namespace,
            identity=options.identity,
            controller_name=controller.name,
            timeout=options.write_timeout,
            events=events,
            clock=clock,
            random=chance,
        )
        publisher.on_alive = signs.wake
        loop = Controller(
            options.name,
            publisher.reconcile,
            queue=queue,
            clock=clock,
            metrics=ControllerMetrics(registry),
            workers=options.concurrency,
        )
        registry.register(RecordCollector(lambda: publisher.records))

        async def lead() -> None:
            # The last leader's last words are what guards go on from.
            await until_refreshed(directory.refresh, chance)
            publisher.start()
            try:
                async with asyncio.TaskGroup() as group:
                    group.create_task(loop.run(), name="controller")
                    group.create_task(signs.run(), name="life signs")
            finally:
                publisher.stop()

        async def campaign() -> None:
            await directory.wait_synced()  # who cannot read does not run
            named.listed()
            await (elector.run(lead) if options.leader_elect else lead())

        server = HealthServer(
            host=options.host, port=options.port, ready=directory.problems, healthy=list, registry=registry
        )
        await live(server, directory.run, partial(run_source, options.name, source), campaign, last=events.run)


def opened(name: str, controller: CapacityController[Any], environment: Environment) -> Source[Any]:
    """The source of the provider of that name. Third parties' may not have been checked for types.

    Raises ConfigurationError where there is none to ask; the traceback of what `open` raised is in the log.
    """
    try:
        source = controller.open(environment)
    except ConfigurationError:
        raise
    except Exception as error:
        _log.exception("source cannot be opened", source=name)
        raise ConfigurationError(
            f"the source of {name} cannot be opened: {type(error).__name__}: {error}; the log has its traceback"
        ) from error
    missing = [method for method in ("observe", "run", "forget") if not callable(getattr(source, method, None))]
    if missing:
        raise ConfigurationError(
            f"what opens the source of {name} returned a {type(source).__name__}, not a kueue_dqo.provider.Source: it "
            f"has no {', no '.join(missing)}"
        )
    return source


async def run_source(name: str, source: Source[Any]) -> None:
    """Runs it. What it raises ends the process, so it is logged with the source's name first, and passed on."""
    try:
        await source.run()
    except Exception:
        _log.exception(f"the source of {name} failed in run")
        raise
