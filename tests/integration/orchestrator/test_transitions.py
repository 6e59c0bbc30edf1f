"""Many redistributions in a row, with everything that goes wrong at once: no write ever promises more than there is."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from typing import Any, Final

import pytest

from kueue_dqo.api.quantity import Quantity
from orchestrator.distribution import split
from tests.controlplane.admin import JSON_PATCH
from tests.controlplane.faults import WRITES, Answer, Delay, Fault, LoseAnswer, LoseRequest
from tests.controlplane.plane import ControlPlane
from tests.controlplane.processes import eventually
from tests.integration.daemons import QUICK_ELECTION, Daemon, start_orchestrator
from tests.integration.objects import (
    DECLARED,
    QUEUES,
    cohort,
    groups,
    nominal,
    orchestrator,
    provider,
    publish,
    queue,
)
from tests.integration.orchestrator.faults.teams import holder, wait_for_holder
from tests.integration.proxies import Proxy, running_proxy
from tests.integration.recorder import Recorder

_QUEUES: Final = [f"queue-{number:02}" for number in range(12)]
_PAIRS: Final = (("fast", "cpu"), ("fast", "memory"), ("slow", "cpu"), ("slow", "memory"))
_MOST: Final = 5000
_ROUNDS: Final = 40
_QUOTAS: Final = "/clusterqueues/"
_PATCH: Final = frozenset({"patch"})


class _Cluster:
    """Twelve queues below two levels of Cohorts, and what they declare."""

    def __init__(self, plane: ControlPlane, chance: random.Random) -> None:
        self.plane = plane
        self._chance = chance
        self.declared = {name: self._quotas() for name in _QUEUES}
        self.capacity = self._quotas()
        plane.admin.apply(
            cohort("company"),
            *(cohort(f"unit-{number}", parent="company") for number in range(3)),
            *(queue(name, self.declared[name], cohort=f"unit-{index % 3}") for index, name in enumerate(_QUEUES)),
            provider("pool", "fast", "slow"),
            orchestrator("dqo", "pool", root=("Cohort", "company")),
        )
        self.uids = {each["metadata"]["name"]: each["metadata"]["uid"] for each in plane.admin.items(QUEUES)}
        self.recorder = Recorder(plane)

    def change_capacity(self) -> None:
        """To anything, zero included."""
        self.capacity = self._quotas()
        publish(self.plane, "pool", self.capacity)

    def edit(self) -> None:
        """Somebody declares other quotas for a queue, whoever is writing to it at this moment.

        One half of the queues have it done in their annotation. The other half have one nominal quota changed in their
        spec, where it is in force at once, to more than there ever is of it: so it is never what was there already.
        """
        index = self._chance.randrange(len(_QUEUES))
        name = _QUEUES[index]
        if index % 2:
            self.declared[name] = self._quotas()
            body: Any = {"metadata": {"annotations": {DECLARED: json.dumps(groups(self.declared[name]))}}}
            answer = self.plane.admin.patch(f"{QUEUES}/{name}", body)
        else:
            flavor, resource = self._chance.choice(_PAIRS)
            amount = _amount(resource, self._chance.randint(_MOST + 1, 2 * _MOST))
            self.declared[name][flavor][resource] = amount
            first, second = ("fast", "slow").index(flavor), ("cpu", "memory").index(resource)
            at = f"/spec/resourceGroups/0/flavors/{first}/resources/{second}/nominalQuota"
            body = [{"op": "replace", "path": at, "value": amount}]
            answer = self.plane.admin.patch(f"{QUEUES}/{name}", body, JSON_PATCH)
        self.recorder.own(answer)

    def is_right(self) -> bool:
        """Whether all hold their shares."""
        found = {each["metadata"]["name"]: nominal(each) for each in self.plane.admin.items(QUEUES)}
        return found == self._shares()

    def _quotas(self) -> dict[str, dict[str, str]]:
        quotas: dict[str, dict[str, str]] = {}
        for flavor, resource in _PAIRS:
            amount = self._chance.choice([0, self._chance.randint(1, 20), self._chance.randint(1, _MOST)])
            quotas.setdefault(flavor, {})[resource] = _amount(resource, amount)
        return quotas

    def _shares(self) -> dict[str, dict[str, int]]:
        """In nanos, by the project's arithmetic, which has tests of its own."""
        in_order = sorted(_QUEUES, key=lambda name: self.uids[name])
        shares: dict[str, dict[str, int]] = {name: {} for name in _QUEUES}
        for flavor, resource in _PAIRS:
            unit = 10**6 if resource == "cpu" else 10**9
            capacity = Quantity.of(self.capacity[flavor][resource]).nanos // unit
            weights = [Quantity.of(self.declared[name][flavor][resource]).nanos for name in in_order]
            for name, share in zip(in_order, split(capacity, weights), strict=True):
                shares[name][f"{flavor}/{resource}"] = share * unit
        return shares


def _amount(resource: str, amount: int) -> str:
    return f"{amount}m" if resource == "cpu" else str(amount)


class _Replicas:
    """Two daemons; one that is killed is replaced by a new one."""

    def __init__(self, plane: ControlPlane, proxy: Proxy) -> None:
        self._plane = plane
        self._proxy = proxy
        self._started = 0
        self._running: dict[str, Daemon] = {}
        self._start()
        self._start()
        wait_for_holder(plane, *self._running)

    def kill_leader(self) -> None:
        """By SIGKILL; where nobody leads just now, nobody."""
        leader = self._running.pop(holder(self._plane), None)
        if leader is not None:
            leader.server.kill()
            self._start()

    def _start(self) -> None:
        self._started += 1
        name = f"replica-{self._started}"
        self._running[name] = start_orchestrator(
            self._plane, name=name, server=self._proxy.url, environment={**QUICK_ELECTION, "DQO_CONCURRENCY": "4"}
        )


@pytest.fixture
def proxy(plane: ControlPlane) -> Iterator[Proxy]:
    others = len(plane.servers)
    with running_proxy(plane) as running:
        yield running
        for server in reversed(plane.servers[others:]):
            server.stop()


def _faults(chance: random.Random) -> list[Fault]:
    """What goes wrong in one round, often nothing."""
    return chance.choice(
        [
            *([[]] * 4),
            [Answer(500, verbs=WRITES, path=_QUOTAS, every=chance.randint(2, 5))],
            [Answer(429, retry_after=1, verbs=WRITES, path=_QUOTAS, every=7)],
            [LoseAnswer(path=_QUOTAS, every=chance.randint(2, 9), times=1)],
            [LoseRequest(verbs=_PATCH, path=_QUOTAS, every=chance.randint(2, 9), times=1)],
            [Delay(0.05, verbs=_PATCH, path=_QUOTAS, every=2)],
        ]
    )


@pytest.mark.parametrize("seed", [7])
def test_no_write_promises_more_than_there_is(seed: int, plane: ControlPlane, proxy: Proxy) -> None:
    """Forty rounds of random capacities and declarations, with errors of the API and leaders that are killed."""
    chance = random.Random(seed)
    cluster = _Cluster(plane, chance)
    replicas = _Replicas(plane, proxy)
    for turn in range(_ROUNDS):
        faults = [proxy.add(fault) for fault in _faults(chance)]
        cluster.change_capacity()
        for _ in range(chance.randint(0, 3)):
            cluster.edit()
        if turn % 8 == 7:
            written = proxy.count(verbs=_PATCH, path=_QUOTAS)
            eventually(lambda seen=written: proxy.count(verbs=_PATCH, path=_QUOTAS) > seen + 2, "it writes")  # type: ignore[misc]  # mypy infers no type for a default
            replicas.kill_leader()
        if chance.random() < 0.7:  # else the next round interrupts this one
            eventually(cluster.is_right, f"round {turn} ends right, with {faults}")
        proxy.clear()
    eventually(cluster.is_right, "it ends right")
    record = cluster.recorder.check()
    assert record.quota_writes > _ROUNDS * len(_QUEUES) / 2
