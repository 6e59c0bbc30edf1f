"""Writes what `kubectl get nodes,resourceflavors,clusterqueues,… -o json` prints of a big cluster, and its right plan.

The right plan comes from the numbers that were drawn, with the plain loop, and by no code of the product.
"""

from __future__ import annotations

import json
import random
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final, TextIO

from bench.machines import KIBIBYTE, POOLS, Pairs, Pool, flavor_spec, new_uid, node
from bench.plain_loop import plain_split

_TEAMS: Final = 10
_COHORTS_IN_TEAM: Final = 5
_RESOURCES: Final = ("cpu", "memory", "nvidia.com/gpu")
_STEPS: Final = {"cpu": 1000, "memory": KIBIBYTE**3, "nvidia.com/gpu": 1}
_UNIT_NANOS: Final = {"cpu": 10**6, "memory": 10**9, "nvidia.com/gpu": 10**9}


def main(folder: Path, nodes: int, queues: int) -> None:
    chance = random.Random(2026)
    capacity: Pairs = {f"{pool.flavor}/{resource}": 0 for pool in POOLS for resource in _RESOURCES}
    declared: dict[str, tuple[str, Pairs]] = {}
    sizes: list[int] = []
    with (folder / "dump.json").open("w", encoding="utf-8") as file:
        file.write('{\n    "apiVersion": "v1",\n    "items": [\n')
        for number in range(nodes):
            machine = node(number, chance, capacity)
            sizes.append(len(json.dumps(machine, separators=(",", ":"))))
            _write(file, machine, ",\n")
        for quota_node in _quota_nodes(queues, chance, declared):
            _write(file, quota_node, ",\n")
        for pool in POOLS:
            _write(file, _flavor(pool, chance), ",\n")
        _write(file, _provider(chance), ",\n")
        _write(file, _orchestrator(chance), "\n")
        file.write('    ],\n    "kind": "List",\n    "metadata": {\n        "resourceVersion": ""\n    }\n}\n')
    plan = {"capacity": _in_nanos(capacity), "quotas": _right_quotas(capacity, declared)}
    (folder / "plan.json").write_text(json.dumps(plan), encoding="utf-8")
    mean = sum(sizes) / len(sizes)
    assert 14_000 < mean < 16_000, f"a node of {mean:.0f} bytes is not the one that the figure is about"
    json.dump({"bytes": (folder / "dump.json").stat().st_size, "node_bytes": mean}, sys.stdout)


def _write(file: TextIO, item: dict[str, Any], end: str) -> None:
    text = json.dumps(item, indent=4, sort_keys=True)
    file.write("        " + text.replace("\n", "\n        ") + end)


def _right_quotas(capacity: Pairs, declared: dict[str, tuple[str, Pairs]]) -> dict[str, Pairs]:
    """Nanos by object and pair."""
    quotas: dict[str, Pairs] = {key: {} for key in declared}
    in_order = sorted(declared, key=lambda key: declared[key][0])
    for pair, units in capacity.items():
        keys = [key for key in in_order if pair in declared[key][1]]
        shares = plain_split(units, [declared[key][1][pair] for key in keys], [declared[key][0] for key in keys])
        for key, share in zip(keys, shares, strict=True):
            quotas[key][pair] = share
    return {key: _in_nanos(pairs) for key, pairs in quotas.items()}


def _in_nanos(pairs: Pairs) -> Pairs:
    return {pair: units * _UNIT_NANOS[pair.partition("/")[2]] for pair, units in pairs.items()}


# --- quotas --------------------------------------------------------------------------------------------------------


def _quota_nodes(
    queues: int, chance: random.Random, declared: dict[str, tuple[str, Pairs]]
) -> Iterator[dict[str, Any]]:
    """A company of teams of groups of queues. A team has a quota of its own, the company and the groups have none."""
    groups = [f"team-{team}-group-{group}" for team in range(_TEAMS) for group in range(_COHORTS_IN_TEAM)]
    for number in range(queues):
        name, uid, pairs = f"queue-{number:04}", new_uid(chance), _drawn(chance)
        spec = {
            "cohortName": groups[number % len(groups)],
            "flavorFungibility": {"whenCanBorrow": "MayStopSearch", "whenCanPreempt": "TryNextFlavor"},
            "namespaceSelector": {"matchLabels": {"example.com/queue": name}},
            "preemption": {
                "borrowWithinCohort": {"policy": "Never"},
                "reclaimWithinCohort": "Any",
                "withinClusterQueue": "LowerPriority",
            },
            "queueingStrategy": "BestEffortFIFO",
            "stopPolicy": "None",
            "resourceGroups": _groups(pairs, limits=number % 3 == 0),
        }
        declared[f"ClusterQueue/{name}"] = (uid, pairs)
        yield _quota_node("ClusterQueue", name, uid, spec) | {"status": _queue_status(pairs, chance)}
    cohorts: list[tuple[str, str]] = [("company", "")]
    cohorts += [(f"team-{team}", "company") for team in range(_TEAMS)]
    cohorts += [(group, group.partition("-group-")[0]) for group in groups]
    for name, parent in cohorts:
        uid, pairs = new_uid(chance), _drawn(chance) if parent == "company" else {}
        spec = {"parentName": parent} if parent else {}
        if pairs:
            spec |= {"resourceGroups": _groups(pairs, limits=False)}
        declared[f"Cohort/{name}"] = (uid, pairs)
        yield _quota_node("Cohort", name, uid, spec)


def _drawn(chance: random.Random) -> Pairs:
    pairs: Pairs = {}
    for pool in POOLS:
        machines = chance.choice((0, 1, 1, 1, 3))
        pairs[f"{pool.flavor}/cpu"] = machines * pool.milli_cpu
        pairs[f"{pool.flavor}/memory"] = machines * pool.memory_gib * _STEPS["memory"]
        pairs[f"{pool.flavor}/nvidia.com/gpu"] = machines * pool.gpus
    return pairs


def _groups(pairs: Pairs, *, limits: bool) -> list[dict[str, Any]]:
    """Every third queue has limits."""
    flavors: list[dict[str, Any]] = []
    for pool in POOLS:
        resources: list[dict[str, Any]] = []
        for resource in _RESOURCES:
            units = pairs[f"{pool.flavor}/{resource}"]
            quota: dict[str, Any] = {"name": resource, "nominalQuota": _text(resource, units)}
            if limits:
                quota |= {"borrowingLimit": _text(resource, units), "lendingLimit": _text(resource, units)}
            resources.append(quota)
        flavors.append({"name": pool.flavor, "resources": resources})
    return [{"coveredResources": list(_RESOURCES), "flavors": flavors}]


def _text(resource: str, units: int) -> str:
    if resource == "memory":
        return f"{units // KIBIBYTE**3}Gi" if units else "0"
    return str(units // _STEPS[resource])


def _quota_node(kind: str, name: str, uid: str, spec: dict[str, Any]) -> dict[str, Any]:
    metadata = {
        "creationTimestamp": "2026-09-02T08:00:00Z",
        "generation": 2,
        "name": name,
        "resourceVersion": "8900001",
        "uid": uid,
    }
    return {"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": kind, "metadata": metadata, "spec": spec}


def _queue_status(pairs: Pairs, chance: random.Random) -> dict[str, Any]:
    """In use is some part of what is declared; one queue in two hundred borrows."""
    part = 1200 if chance.random() < 0.005 else chance.randrange(800)
    usage = [
        {
            "name": pool.flavor,
            "resources": [
                {"borrowed": "0", "name": resource, "total": _used(resource, pairs[f"{pool.flavor}/{resource}"], part)}
                for resource in _RESOURCES
            ],
        }
        for pool in POOLS
    ]
    return {
        "admittedWorkloads": part // 20,
        "conditions": [
            {
                "lastTransitionTime": "2026-09-02T08:05:00Z",
                "message": "Can admit new workloads",
                "observedGeneration": 2,
                "reason": "Ready",
                "status": "True",
                "type": "Active",
            }
        ],
        "fairSharing": {"weightedShare": 0},
        "flavorsReservation": usage,
        "flavorsUsage": usage,
        "pendingWorkloads": chance.randrange(50),
        "reservingWorkloads": part // 20,
    }


def _used(resource: str, units: int, per_mille: int) -> str:
    return _text(resource, units * per_mille // 1000 // _STEPS[resource] * _STEPS[resource])


# --- the rest ------------------------------------------------------------------------------------------------------


def _flavor(pool: Pool, chance: random.Random) -> dict[str, Any]:
    return _object("kueue.x-k8s.io/v1beta2", "ResourceFlavor", pool.flavor, flavor_spec(pool), chance)


def _provider(chance: random.Random) -> dict[str, Any]:
    spec = {
        "controllerName": "kueue-dqo.dev/node-inventory",
        "orchestratedFlavors": [{"name": pool.flavor} for pool in POOLS],
    }
    return _object("kueue.x-k8s.io/v1alpha1", "CapacityProvider", "nodes", spec, chance)


def _orchestrator(chance: random.Random) -> dict[str, Any]:
    spec = {
        "capacityDiscovery": {"providers": [{"name": "nodes"}]},
        "capacityDistribution": {"subtreeRootQuotaRef": {"kind": "Cohort", "name": "company"}},
    }
    return _object("kueue.x-k8s.io/v1alpha1", "DynamicQuotaOrchestrator", "company", spec, chance)


def _object(api_version: str, kind: str, name: str, spec: dict[str, Any], chance: random.Random) -> dict[str, Any]:
    metadata = {"creationTimestamp": "2026-09-01T08:00:00Z", "generation": 1, "name": name, "uid": new_uid(chance)}
    return {"apiVersion": api_version, "kind": kind, "metadata": metadata, "spec": spec}


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))
