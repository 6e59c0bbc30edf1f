"""What is published of a pair that no worker has any more."""

from __future__ import annotations

import msgspec
import pytest

from kueue_dqo.api import dqo
from kueue_dqo.api.durations import Duration
from kueue_dqo.api.multikueue import FlavorMapping, UnavailableWorkers
from kueue_dqo.api.parameters import ResourceSelection
from kueue_dqo.api.quantity import Quantity
from kueue_dqo.provider import SourceUnavailable
from tests.unit.providers.multikueue.fleets import (
    GPU,
    Processes,
    Seen,
    amounts_of,
    down,
    parameters,
    worker,
    worker_of,
)

WORKER1 = worker({"cpu": "13"})
WORKER2 = worker({"cpu": "8", GPU: "5"})
LEFT = f"13 cpu, 0 {GPU}"


def published(fleet: Processes) -> dict[str, dict[str, str]]:
    assert fleet.fleet is not None
    return amounts_of(fleet.fleet)


@pytest.mark.parametrize(
    "then",
    [
        {"worker1": WORKER1, "worker2": down(0)},
        {"worker1": WORKER1},
        {"worker1": WORKER1, "worker2": worker()},
        {"worker1": WORKER1, "worker2": worker(queues=())},
        {"worker1": WORKER1, "worker2": worker_of({"other": {GPU: "5"}})},
    ],
    ids=["left out", "named no more", "without the quota", "nothing related", "not mapped any more"],
)
@pytest.mark.parametrize("restarts", [False, True])
def test_what_was_published_and_nobody_has_any_more_is_zero(then: dict[str, Seen], *, restarts: bool) -> None:
    """It stays one: a composite would go by its other members else. And it is told."""
    fleet = Processes(parameters(mapping=[FlavorMapping("gpu", "gpu")]))
    assert fleet.look(0, worker1=WORKER1, worker2=WORKER2) == f"21 cpu, 5 {GPU}"
    for now in (400, 410, 420):
        if restarts:
            fleet.restart()
        assert fleet.look(now, **then) == LEFT
        told = str(fleet.message)
        assert told.startswith(f"gpu: 13 cpu, 0 {GPU} from 1 worker; no worker that counts has {GPU}")
    assert fleet.look(500, worker1=WORKER1, worker2=WORKER2) == f"21 cpu, 5 {GPU}"
    assert "no worker that counts" not in str(fleet.message)


def test_a_failure_in_between_forgets_no_zero() -> None:
    fleet = Processes()
    fleet.look(0, worker1=WORKER1, worker2=WORKER2)
    assert fleet.look(400, worker1=down(0), worker2=down(0)) == SourceUnavailable.reason
    fleet.restart()
    assert fleet.look(500, worker1=WORKER1) == LEFT


def test_a_flavor_of_which_nothing_is_left_is_all_zeros() -> None:
    fleet = Processes(parameters(mapping=[FlavorMapping(name, name) for name in ("a", "b")]), ["a", "b"])
    fleet.look(0, one=worker_of({"a": {"cpu": "1"}, "b": {"cpu": "2", GPU: "3"}}))
    fleet.look(1, one=worker_of({"a": {"cpu": "1"}}))
    assert published(fleet) == {"a": {"cpu": "1"}, "b": {"cpu": "0", GPU: "0"}}
    assert fleet.message == f"a: 1 cpu from 1 worker; b: nothing; no worker that counts has b/cpu, b/{GPU}"


def test_each_resource_that_is_included_is_reported_of_each_flavor() -> None:
    """Where it is not excluded as well."""
    selection = ResourceSelection(include=("cpu", GPU, "memory"), exclude=("memory",))
    fleet = Processes(
        parameters(resources=selection, mapping=[FlavorMapping(name, name) for name in ("a", "b")]), ["a", "b"]
    )
    fleet.look(0, one=worker_of({"a": {"cpu": "1", "memory": "1Gi", "pods": "3"}}))
    assert published(fleet) == {"a": {"cpu": "1", GPU: "0"}, "b": {"cpu": "0", GPU: "0"}}


def test_a_zero_goes_with_what_it_is_of() -> None:
    """A resource that is excluded, or a flavor that is not orchestrated any more."""
    fleet = Processes()
    fleet.look(0, worker1=WORKER1, worker2=WORKER2)
    assert fleet.look(1, worker1=WORKER1) == LEFT
    fleet.spec = parameters(resources=ResourceSelection(exclude=(GPU,)))
    assert fleet.look(2, worker1=WORKER1) == "13 cpu"
    fleet.spec = parameters()
    assert fleet.look(3, worker1=WORKER1) == "13 cpu"
    fleet.look(4, worker1=WORKER1, worker2=WORKER2)
    fleet.flavors = ("other",)
    fleet.look(5, worker1=worker_of({"other": {"cpu": "1"}}))
    assert published(fleet) == {"other": {"cpu": "1"}}


def test_zeros_take_no_room_from_what_there_is() -> None:
    """A flavor has so many resources at most."""
    most = dqo.MAX_FLAVOR_RESOURCES
    fleet = Processes()
    fleet.look(0, a=worker({f"example.com/old-{number:02}": "1" for number in range(most)}))
    fleet.look(1, a=worker({f"example.com/new-{number:02}": "1" for number in range(most - 2)}))
    assert len(published(fleet)["gpu"]) == most
    assert [name for name, amount in published(fleet)["gpu"].items() if amount == "0"] == [
        "example.com/old-00",
        "example.com/old-01",
    ]
    fleet.look(2, a=worker({f"example.com/new-{number:02}": "1" for number in range(most)}))
    assert "0" not in published(fleet)["gpu"].values()


def test_a_worker_that_brings_too_many_resources_of_a_flavor_stops_no_other() -> None:
    """It is the one with the most that no other has; of several, one after the other."""
    most = dqo.MAX_FLAVOR_RESOURCES
    spec = msgspec.structs.replace(parameters(), unavailable_workers=UnavailableWorkers(grace=Duration(0)))
    usual = {"cpu": "1", **{f"example.com/usual-{number}": "1" for number in range(30)}}

    def exotic(name: str, count: int) -> Seen:
        return worker({"cpu": "2", **{f"example.com/{name}-{number}": "1" for number in range(count)}})

    fleet = Processes(spec)
    fleet.look(0, a=worker(usual), b=worker(usual), c=exotic("c", most - 31), d=exotic("d", 0))
    assert len(published(fleet)["gpu"]) == most
    assert "left out" not in str(fleet.message)
    fleet = Processes(spec)
    fleet.look(0, a=worker(usual), b=worker(usual), c=exotic("c", 35), d=exotic("d", 36), e=exotic("e", 1))
    assert published(fleet)["gpu"]["cpu"] == "4"
    told = str(fleet.message)
    assert "left out: d, unavailable since 2026-12-01T12:00:00Z: 37 resources of its queues count as gpu, 36 of" in told
    assert "left out: c, unavailable since 2026-12-01T12:00:00Z: 36 resources of its queues count as gpu, 35 of" in told
    assert len(published(fleet)["gpu"]) == 32
    fleet = Processes(spec)
    only = parameters(resources=ResourceSelection(include=("cpu",)))
    fleet.spec = msgspec.structs.replace(only, unavailable_workers=spec.unavailable_workers)
    assert fleet.look(0, a=worker(usual), b=exotic("b", 100)) == "3 cpu"


def test_what_others_add_to_the_status_is_no_answer_of_ours() -> None:
    """It is taken away again, and not made a zero that stays."""
    fleet = Processes()
    fleet.look(0, worker1=WORKER1)
    assert fleet.fleet is not None
    flavor = dqo.FlavorCapacity("gpu", {"cpu": Quantity.of("13"), GPU: Quantity.of("80")})
    observation = fleet.fleet.observation._replace(capacity=dqo.Capacity((flavor,)))
    fleet.fleet = fleet.fleet._replace(observation=observation)
    assert fleet.look(1, worker1=WORKER1) == "13 cpu"
