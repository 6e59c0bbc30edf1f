"""Writes what `kubectl get nodes,resourceflavors,clusterqueues,… -o json` prints of a big cluster, and its right plan.

The right plan comes from the numbers that were drawn, with the plain loop, and by no code of the product.
"""

from __future__ import annotations

import json
import random
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final, NamedTuple, TextIO

from bench.plain_loop import plain_split

_IMAGES: Final = 50  # as many as a kubelet reports unless told otherwise
_KIBIBYTE: Final = 1024
_TEAMS: Final = 10
_COHORTS_IN_TEAM: Final = 5
_RESOURCES: Final = ("cpu", "memory", "nvidia.com/gpu")


class Pool(NamedTuple):
    """Machines of one kind. Queues declare what a machine is said to have, which is a little more than it has."""

    flavor: str
    instance_type: str
    milli_cpu: int
    memory_gib: int
    memory_kib: int
    gpus: int
    kubelet_milli_cpu: int
    kubelet_memory_kib: int


_POOLS: Final = (
    Pool("a100", "gpu-a100-8", 96_000, 1_120, 1_176_000_000, 8, 310, 11_700_000),
    Pool("h100", "gpu-h100-8", 192_000, 2_000, 2_097_000_000, 8, 510, 19_300_000),
    Pool("l40s", "gpu-l40s-4", 64_000, 500, 527_000_000, 4, 230, 6_100_000),
    Pool("on-demand", "standard-32", 32_000, 125, 131_000_000, 0, 150, 3_500_000),
)
_STEPS: Final = {"cpu": 1000, "memory": _KIBIBYTE**3, "nvidia.com/gpu": 1}
_UNIT_NANOS: Final = {"cpu": 10**6, "memory": 10**9, "nvidia.com/gpu": 10**9}

Pairs = dict[str, int]
"""Units by `flavor/resource`."""


def main(folder: Path, nodes: int, queues: int) -> None:
    chance = random.Random(2026)
    capacity: Pairs = {f"{pool.flavor}/{resource}": 0 for pool in _POOLS for resource in _RESOURCES}
    declared: dict[str, tuple[str, Pairs]] = {}
    sizes: list[int] = []
    with (folder / "dump.json").open("w", encoding="utf-8") as file:
        file.write('{\n    "apiVersion": "v1",\n    "items": [\n')
        for number in range(nodes):
            node = _node(number, chance, capacity)
            sizes.append(len(json.dumps(node, separators=(",", ":"))))
            _write(file, node, ",\n")
        for quota_node in _quota_nodes(queues, chance, declared):
            _write(file, quota_node, ",\n")
        for pool in _POOLS:
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


# --- machines ------------------------------------------------------------------------------------------------------

_TIME: Final = "2026-09-20T09:59:41Z"
_ZONES: Final = ("eu-west-1a", "eu-west-1b", "eu-west-1c")
_PROJECTS: Final = ("platform", "ml/training", "ml/serving", "batch/etl", "observability", "storage/csi")
_STATES: Final = (
    ("MemoryPressure", "KubeletHasSufficientMemory", "kubelet has sufficient memory available"),
    ("DiskPressure", "KubeletHasNoDiskPressure", "kubelet has no disk pressure"),
    ("PIDPressure", "KubeletHasSufficientPID", "kubelet has sufficient PID available"),
    ("Ready", "KubeletReady", "kubelet is posting ready status"),
)


def _uid(chance: random.Random) -> str:
    text = f"{chance.getrandbits(128):032x}"
    return f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}"


def _node(number: int, chance: random.Random, capacity: Pairs) -> dict[str, Any]:
    """One in fifty does not count: not ready, cordoned, or with a taint that its flavor does not tolerate."""
    pool = _POOLS[number % len(_POOLS)]
    trouble = chance.choice(("ready", "cordon", "taint")) if chance.random() < 0.02 else ""
    name = f"ip-10-{number >> 16}-{number >> 8 & 255}-{number & 255}.eu-west-1.compute.internal"
    memory = pool.memory_kib + 4 * chance.randrange(64)
    allocatable = {
        "cpu": pool.milli_cpu - pool.kubelet_milli_cpu,
        "memory": memory - pool.kubelet_memory_kib,
        "nvidia.com/gpu": pool.gpus,
    }
    if not trouble:
        capacity[f"{pool.flavor}/cpu"] += allocatable["cpu"]
        capacity[f"{pool.flavor}/memory"] += allocatable["memory"] * _KIBIBYTE
        capacity[f"{pool.flavor}/nvidia.com/gpu"] += allocatable["nvidia.com/gpu"]
    spec: dict[str, Any] = {
        "podCIDR": f"10.{128 + (number >> 8)}.{number & 255}.0/24",
        "podCIDRs": [f"10.{128 + (number >> 8)}.{number & 255}.0/24"],
        "providerID": f"aws:///{_ZONES[number % 3]}/i-{chance.getrandbits(68):017x}",
    }
    taints = [{"effect": "NoSchedule", "key": "nvidia.com/gpu", "value": "present"}] if pool.gpus else []
    if trouble == "taint":
        taints.append({"effect": "NoExecute", "key": "example.com/maintenance", "value": "firmware"})
    if trouble == "cordon":
        spec["unschedulable"] = True
        taints.append({"effect": "NoSchedule", "key": "node.kubernetes.io/unschedulable"})
    if taints:
        spec["taints"] = taints
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": _node_metadata(name, number, pool, chance),
        "spec": spec,
        "status": {
            "addresses": [
                {"address": f"10.{number >> 16}.{number >> 8 & 255}.{number & 255}", "type": "InternalIP"},
                {"address": name, "type": "InternalDNS"},
                {"address": name, "type": "Hostname"},
            ],
            "allocatable": _machine(f"{allocatable['cpu']}m", f"{allocatable['memory']}Ki", "460119998464", pool),
            "capacity": _machine(f"{pool.milli_cpu // 1000}", f"{memory}Ki", "499318488Ki", pool),
            "conditions": _conditions(ready=trouble != "ready"),
            "daemonEndpoints": {"kubeletEndpoint": {"Port": 10250}},
            "images": [_image(chance) for _ in range(_IMAGES)],
            "nodeInfo": {
                "architecture": "amd64",
                "bootID": _uid(chance),
                "containerRuntimeVersion": "containerd://2.1.4",
                "kernelVersion": "6.12.43",
                "kubeProxyVersion": "",
                "kubeletVersion": "v1.34.1",
                "machineID": f"{chance.getrandbits(128):032x}",
                "operatingSystem": "linux",
                "osImage": "Ubuntu 24.04.3 LTS",
                "systemUUID": _uid(chance),
            },
        },
    }


def _node_metadata(name: str, number: int, pool: Pool, chance: random.Random) -> dict[str, Any]:
    labels = {
        "beta.kubernetes.io/arch": "amd64",
        "beta.kubernetes.io/instance-type": pool.instance_type,
        "beta.kubernetes.io/os": "linux",
        "example.com.node-restriction.kubernetes.io/pool": pool.flavor,
        "failure-domain.beta.kubernetes.io/region": "eu-west-1",
        "failure-domain.beta.kubernetes.io/zone": _ZONES[number % 3],
        "kubernetes.io/arch": "amd64",
        "kubernetes.io/hostname": name,
        "kubernetes.io/os": "linux",
        "node.kubernetes.io/instance-type": pool.instance_type,
        "topology.ebs.csi.aws.com/zone": _ZONES[number % 3],
        "topology.kubernetes.io/region": "eu-west-1",
        "topology.kubernetes.io/zone": _ZONES[number % 3],
    }
    if pool.gpus:
        labels |= {
            "feature.node.kubernetes.io/pci-10de.present": "true",
            "nvidia.com/cuda.driver-version.full": "570.172.08",
            "nvidia.com/gpu.count": str(pool.gpus),
            "nvidia.com/gpu.deploy.device-plugin": "true",
            "nvidia.com/gpu.present": "true",
            "nvidia.com/gpu.product": pool.instance_type.upper(),
        }
    return {
        "annotations": {
            "csi.volume.kubernetes.io/nodeid": f'{{"ebs.csi.aws.com":"i-{chance.getrandbits(68):017x}"}}',
            "node.alpha.kubernetes.io/ttl": "0",
            "volumes.kubernetes.io/controller-managed-attach-detach": "true",
        },
        "creationTimestamp": "2026-09-01T07:50:12Z",
        "labels": labels,
        "name": name,
        "resourceVersion": str(8_812_034 + number),
        "uid": _uid(chance),
    }


def _machine(cpu: str, memory: str, disk: str, pool: Pool) -> dict[str, str]:
    """Capacity or allocatable. A pool without devices reports none, not 0 of them."""
    resources = {
        "cpu": cpu,
        "ephemeral-storage": disk,
        "hugepages-1Gi": "0",
        "hugepages-2Mi": "0",
        "memory": memory,
        "pods": "110",
    }
    return resources | {"nvidia.com/gpu": str(pool.gpus)} if pool.gpus else resources


def _conditions(*, ready: bool) -> list[dict[str, str]]:
    return [
        {
            "lastHeartbeatTime": _TIME,
            "lastTransitionTime": "2026-09-01T08:00:00Z",
            "message": message,
            "reason": reason,
            "status": str(ready) if kind == "Ready" else "False",
            "type": kind,
        }
        for kind, reason, message in _STATES
    ]


def _image(chance: random.Random) -> dict[str, Any]:
    repository = f"registry.eu-west-1.example.com/{chance.choice(_PROJECTS)}/component-{chance.randrange(400):03}"
    version = f"v{chance.randrange(9)}.{chance.randrange(40)}.{chance.randrange(20)}"
    return {
        "names": [f"{repository}@sha256:{chance.getrandbits(256):064x}", f"{repository}:{version}"],
        "sizeBytes": chance.randrange(5_000_000, 12_000_000_000),
    }


# --- quotas --------------------------------------------------------------------------------------------------------


def _quota_nodes(
    queues: int, chance: random.Random, declared: dict[str, tuple[str, Pairs]]
) -> Iterator[dict[str, Any]]:
    """A company of teams of groups of queues. A team has a quota of its own, the company and the groups have none."""
    groups = [f"team-{team}-group-{group}" for team in range(_TEAMS) for group in range(_COHORTS_IN_TEAM)]
    for number in range(queues):
        name, uid, pairs = f"queue-{number:04}", _uid(chance), _drawn(chance)
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
        uid, pairs = _uid(chance), _drawn(chance) if parent == "company" else {}
        spec = {"parentName": parent} if parent else {}
        if pairs:
            spec |= {"resourceGroups": _groups(pairs, limits=False)}
        declared[f"Cohort/{name}"] = (uid, pairs)
        yield _quota_node("Cohort", name, uid, spec)


def _drawn(chance: random.Random) -> Pairs:
    pairs: Pairs = {}
    for pool in _POOLS:
        machines = chance.choice((0, 1, 1, 1, 3))
        pairs[f"{pool.flavor}/cpu"] = machines * pool.milli_cpu
        pairs[f"{pool.flavor}/memory"] = machines * pool.memory_gib * _STEPS["memory"]
        pairs[f"{pool.flavor}/nvidia.com/gpu"] = machines * pool.gpus
    return pairs


def _groups(pairs: Pairs, *, limits: bool) -> list[dict[str, Any]]:
    """Every third queue has limits."""
    flavors: list[dict[str, Any]] = []
    for pool in _POOLS:
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
        return f"{units // _KIBIBYTE**3}Gi" if units else "0"
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
        for pool in _POOLS
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
    spec: dict[str, Any] = {"nodeLabels": {"example.com.node-restriction.kubernetes.io/pool": pool.flavor}}
    if pool.gpus:
        spec["tolerations"] = [{"effect": "NoSchedule", "key": "nvidia.com/gpu", "operator": "Exists"}]
    return _object("kueue.x-k8s.io/v1beta2", "ResourceFlavor", pool.flavor, spec, chance)


def _provider(chance: random.Random) -> dict[str, Any]:
    spec = {
        "controllerName": "kueue-dqo.dev/node-inventory",
        "orchestratedFlavors": [{"name": pool.flavor} for pool in _POOLS],
    }
    return _object("kueue.x-k8s.io/v1alpha1", "CapacityProvider", "nodes", spec, chance)


def _orchestrator(chance: random.Random) -> dict[str, Any]:
    spec = {
        "capacityDiscovery": {"providers": [{"name": "nodes"}]},
        "capacityDistribution": {"subtreeRootQuotaRef": {"kind": "Cohort", "name": "company"}},
    }
    return _object("kueue.x-k8s.io/v1alpha1", "DynamicQuotaOrchestrator", "company", spec, chance)


def _object(api_version: str, kind: str, name: str, spec: dict[str, Any], chance: random.Random) -> dict[str, Any]:
    metadata = {"creationTimestamp": "2026-09-01T08:00:00Z", "generation": 1, "name": name, "uid": _uid(chance)}
    return {"apiVersion": api_version, "kind": kind, "metadata": metadata, "spec": spec}


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))
