"""Short ways to say what is seen of the workers of a fleet, and one process after the other that publishes it."""

from __future__ import annotations

import datetime
from collections.abc import Iterable, Mapping

from kueue_dqo.api import dqo
from kueue_dqo.api.durations import Duration
from kueue_dqo.api.meta import Condition, ObjectMeta
from kueue_dqo.api.multikueue import (
    MULTIKUEUE_CONTROLLER,
    AfterGrace,
    FlavorMapping,
    ManagerQueues,
    MultiKueueParametersSpec,
    UnavailableWorkers,
)
from kueue_dqo.api.parameters import ResourceSelection
from kueue_dqo.api.quantity import Quantity
from kueue_dqo.api.resources import FlavorResource
from kueue_dqo.api.wording import message_of
from kueue_dqo.provider import CapacityError, Request
from providers.multikueue.fleet import Fleet, observe
from providers.multikueue.mapping import FlavorMap
from providers.multikueue.memory import Memory
from providers.multikueue.objects import Problem, WorkerCount

GPU = "nvidia.com/gpu"
NOON = datetime.datetime(2026, 12, 1, 12, tzinfo=datetime.UTC)
Seen = WorkerCount | Problem


def at(seconds: float) -> datetime.datetime:
    """So many seconds after noon."""
    return NOON + datetime.timedelta(seconds=seconds)


def worker(
    amounts: Mapping[str, str] | None = None,
    *,
    queues: Iterable[str] = ("team-a",),
    inactive: Mapping[str, str] | None = None,
) -> WorkerCount:
    """What it has by resource, of its one flavor `gpu`."""
    return worker_of({"gpu": amounts or {}})._replace(queues=tuple(queues), inactive=inactive or {})


def worker_of(flavors: Mapping[str, Mapping[str, str]]) -> WorkerCount:
    """What it has by resource, of each of its flavors."""
    found = {
        FlavorResource(name, resource): Quantity.of(text)
        for name, resources in flavors.items()
        for resource, text in resources.items()
    }
    return WorkerCount(found, ("team-a",), {})


def down(since: float, text: str = "connection refused") -> Problem:
    return Problem(text, at(since))


def parameters(
    grace: int = 300,
    after_grace: AfterGrace = AfterGrace.LEAVE_OUT,
    *,
    mapping: Iterable[FlavorMapping] = (),
    others: str | None = None,
    resources: ResourceSelection | None = None,
) -> MultiKueueParametersSpec:
    return MultiKueueParametersSpec(
        manager_queues=ManagerQueues(cluster_queues=("team-a",)),
        flavor_mapping=tuple(mapping),
        other_flavors=others,
        resources=resources or ResourceSelection(),
        unavailable_workers=UnavailableWorkers(Duration(grace), after_grace),
    )


def provider(
    flavors: Iterable[str] = ("gpu",),
    *,
    name: str = "fleet",
    message: str | None = None,
    status: str = "True",
    capacity: dqo.Capacity | None = None,
) -> dqo.CapacityProvider:
    """One that has published nothing, or that capacity, or whose condition has that message."""
    condition = Condition(dqo.CAPACITY_SYNCHRONIZED, status, dqo.SYNCHRONIZED, message or "", 1)
    return dqo.CapacityProvider(
        ObjectMeta(name, generation=1),
        dqo.CapacityProviderSpec(
            MULTIKUEUE_CONTROLLER,
            tuple(map(dqo.FlavorRef, flavors)),
            dqo.ParametersRef("kueue-dqo.dev", "MultiKueueParameters", name),
        ),
        dqo.CapacityProviderStatus(capacity, () if message is None else (condition,)),
    )


def request(
    spec: MultiKueueParametersSpec, now: float, asked: dqo.CapacityProvider | None = None
) -> Request[MultiKueueParametersSpec]:
    asked = asked or provider()
    return Request(
        provider=asked,
        parameters=spec,
        flavors={},
        peers=(),
        providers={asked.metadata.name: asked},
        now=at(now),
    )


def amounts_of(fleet: Fleet) -> dict[str, dict[str, str]]:
    return {
        flavor.name: {name: str(quantity) for name, quantity in flavor.resources.items()}
        for flavor in fleet.observation.capacity.flavors
    }


class Processes:
    """One process after the other, each with a memory of its own; what they publish stays."""

    def __init__(self, spec: MultiKueueParametersSpec | None = None, flavors: Iterable[str] = ("gpu",)) -> None:
        self.spec = spec or parameters()
        self.flavors = tuple(flavors)
        self.memory = Memory()
        self.reached: dict[str, frozenset[str]] = {}
        """The LocalQueues that are related, by worker."""
        self.message: str | None = None
        self.status = "False"
        self.error: CapacityError | None = None
        self.fleet: Fleet | None = None
        """Of the last look that led to a capacity: what is published."""

    def restart(self) -> None:
        self.memory = Memory()

    def look(self, now: float, **seen: Seen) -> str:
        """Publishes what is seen, and returns it: the amounts of the first flavor, or the reason of the failure."""
        capacity = None if self.fleet is None else self.fleet.observation.capacity
        asked = provider(self.flavors, message=self.message, status=self.status, capacity=capacity)
        flavors = FlavorMap.of(asked, self.spec)
        try:
            self.fleet = observe(request(self.spec, now, asked), flavors, seen, self.memory, self.reached)
        except CapacityError as error:
            self.error, self.status, self.message = error, "False", message_of(str(error))
            return error.reason
        self.error, self.status, self.message = None, "True", message_of(self.fleet.observation.summary)
        return self.told

    @property
    def told(self) -> str:
        """What is published of the first flavor: `13 cpu, 5 nvidia.com/gpu`."""
        assert self.fleet is not None
        amounts = amounts_of(self.fleet).get(self.flavors[0], {})
        return ", ".join(f"{quantity} {name}" for name, quantity in amounts.items())
