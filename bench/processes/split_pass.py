"""Splits one input with one side: prints the time of a pass, the growth of peak memory, a digest of the shares."""

from __future__ import annotations

import gc
import hashlib
import json
import random
import statistics
import sys
import time
from collections.abc import Callable, Iterable
from typing import Any

from bench.measure import own_peak_bytes
from bench.plain_loop import plain_split, plain_split_in_order
from bench.quotas import GIBIBYTE, INPUTS, RESOURCES, Pair, uids
from kueue_dqo.api.dqo import CAPACITY_PROVIDER, DYNAMIC_QUOTA_ORCHESTRATOR
from kueue_dqo.api.kueue import CLUSTER_QUEUE, COHORT
from kueue_dqo.api.meta import ObjectKey
from kueue_dqo.api.quotas import quotas_by_pair
from kueue_dqo.api.resources import FlavorResource, unit_nanos
from kueue_dqo.api.scheme import decode_json, known_kind
from orchestrator.compute import Outcome, Snapshot, compute
from orchestrator.distribution import split
from orchestrator.enforcement.roads import Road
from orchestrator.hierarchy import Hierarchy

Shares = list[list[int]]
"""By pair, in the order of the UIDs."""


def main(side: str, name: str, queues: int, passes: int) -> None:
    """The peak grows in the first pass: the input is there before, and every pass gives its result away."""
    run, shares_of = _SIDES[side](INPUTS[name](queues), uids(queues))
    gc.collect()
    before = own_peak_bytes()
    seconds: list[float] = []
    cpu_seconds: list[float] = []
    peak, digest = 0, ""
    for number in range(passes):
        start, cpu_start = time.perf_counter(), time.process_time()
        result = run()
        seconds.append(time.perf_counter() - start)
        cpu_seconds.append(time.process_time() - cpu_start)
        if number == 0:
            peak = own_peak_bytes() - before
            digest = _digest(shares_of(result))
        del result
        gc.collect()
    answer = {
        "seconds": statistics.median(seconds),
        "cpu_seconds": statistics.median(cpu_seconds),
        "peak_bytes": peak,
        "digest": digest,
    }
    json.dump(answer, sys.stdout)


def _digest(shares: Iterable[list[int]]) -> str:
    digest = hashlib.sha256()
    for each in shares:
        digest.update(repr(each).encode())
    return digest.hexdigest()


Prepared = tuple[Callable[[], Any], Callable[[Any], Iterable[list[int]]]]
"""What is timed, and how to find the shares in its result."""


def _plain(pairs: list[Pair], in_order: list[str]) -> Prepared:
    return lambda: [plain_split(pair.capacity, pair.weights, in_order) for pair in pairs], lambda shares: shares


def _plain_in_order(pairs: list[Pair], in_order: list[str]) -> Prepared:
    del in_order
    return lambda: [plain_split_in_order(pair.capacity, pair.weights) for pair in pairs], lambda shares: shares


def _split(pairs: list[Pair], in_order: list[str]) -> Prepared:
    del in_order
    return lambda: [split(pair.capacity, pair.weights) for pair in pairs], lambda shares: shares


def _compute(pairs: list[Pair], in_order: list[str]) -> Prepared:
    """The same pairs as objects, decoded as from an API server: one orchestrator above a tree of Cohorts."""

    def decoded(kind: str, version: str, manifest: dict[str, Any]) -> Any:
        known = known_kind(f"kueue.x-k8s.io/{version}", kind)
        assert known is not None
        return decode_json(known, version, json.dumps(manifest).encode()).object

    numbers = list(range(len(in_order)))
    random.Random(0).shuffle(numbers)  # objects come in any order
    members = [Road.STATUS.member_of(decoded(CLUSTER_QUEUE, "v1beta2", _queue(n, in_order[n], pairs))) for n in numbers]
    members += [Road.STATUS.member_of(decoded(COHORT, "v1beta2", cohort)) for cohort in _cohorts(len(in_order))]
    snapshot = Snapshot(
        {"bench": decoded(DYNAMIC_QUOTA_ORCHESTRATOR, "v1alpha1", _ORCHESTRATOR)},
        {"bench": decoded(CAPACITY_PROVIDER, "v1alpha1", _provider(pairs))},
        Hierarchy(members),
    )

    def shares(outcomes: dict[str, Outcome]) -> Shares:
        found = {FlavorResource(pair.flavor, pair.resource): [0] * len(in_order) for pair in pairs}
        quotas = outcomes["bench"].quotas
        for number in range(len(in_order)):
            of_queue = quotas[ObjectKey(CLUSTER_QUEUE, _queue_name(number))]
            for pair, quota in quotas_by_pair(of_queue.resource_groups):
                found[pair][number] = quota.nominal_quota.nanos // unit_nanos(pair.resource)
        return list(found.values())

    return lambda: compute(snapshot), shares


_SIDES: dict[str, Callable[[list[Pair], list[str]], Prepared]] = {
    "plain": _plain,
    "plain-in-order": _plain_in_order,
    "split": _split,
    "compute": _compute,
}


# --- manifests -----------------------------------------------------------------------------------------------------

_QUEUES_IN_COHORT = 50
_ORCHESTRATOR: dict[str, Any] = {
    "metadata": {"name": "bench", "uid": "0", "generation": 1, "creationTimestamp": "2026-01-01T00:00:00Z"},
    "spec": {
        "capacityDiscovery": {"providers": [{"name": "bench"}]},
        "capacityDistribution": {"subtreeRootQuotaRef": {"kind": "Cohort", "name": "root"}},
    },
}


def _queue_name(number: int) -> str:
    return f"queue-{number}"


def _cohorts(queues: int) -> list[dict[str, Any]]:
    """Without quotas of their own: they only group."""
    below = range((queues - 1) // _QUEUES_IN_COHORT + 1)
    return [
        {"metadata": {"name": "root", "uid": "root"}},
        *({"metadata": {"name": f"c{n}", "uid": f"c{n}"}, "spec": {"parentName": "root"}} for n in below),
    ]


def _queue(number: int, uid: str, pairs: list[Pair]) -> dict[str, Any]:
    flavors: dict[str, list[dict[str, Any]]] = {}
    for pair in pairs:
        quota = {"name": pair.resource, "nominalQuota": _text(pair.resource, pair.weights[number])}
        flavors.setdefault(pair.flavor, []).append(quota)
    groups = [
        {
            "coveredResources": list(RESOURCES),
            "flavors": [{"name": name, "resources": resources} for name, resources in flavors.items()],
        }
    ]
    return {
        "metadata": {"name": _queue_name(number), "uid": uid},
        "spec": {"cohortName": f"c{number // _QUEUES_IN_COHORT}", "resourceGroups": groups},
    }


def _provider(pairs: list[Pair]) -> dict[str, Any]:
    capacity: dict[str, dict[str, str]] = {}
    for pair in pairs:
        capacity.setdefault(pair.flavor, {})[pair.resource] = _text(pair.resource, pair.capacity)
    synchronized = {"type": "CapacitySynchronized", "status": "True", "reason": "Synchronized", "observedGeneration": 1}
    return {
        "metadata": {"name": "bench", "uid": "0", "generation": 1},
        "spec": {
            "controllerName": "bench.example.com/fixed",
            "orchestratedFlavors": [{"name": name} for name in capacity],
        },
        "status": {
            "capacity": {"flavors": [{"name": name, "resources": each} for name, each in capacity.items()]},
            "conditions": [synchronized],
        },
    }


def _text(resource: str, units: int) -> str:
    if resource == "cpu":
        return f"{units // 1000}" if units % 1000 == 0 else f"{units}m"
    if units and units % GIBIBYTE == 0:
        return f"{units // GIBIBYTE}Gi"
    return str(units)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4]))
