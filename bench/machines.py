"""Nodes as a big cluster has them, 15 kB each, and what they have to give."""

from __future__ import annotations

import random
from typing import Any, Final, NamedTuple

IMAGES: Final = 50
"""As many as a kubelet reports unless told otherwise."""
KIBIBYTE: Final = 1024

Pairs = dict[str, int]
"""Units by `flavor/resource`: 1m of cpu, 1 of all else."""


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


POOLS: Final = (
    Pool("a100", "gpu-a100-8", 96_000, 1_120, 1_176_000_000, 8, 310, 11_700_000),
    Pool("h100", "gpu-h100-8", 192_000, 2_000, 2_097_000_000, 8, 510, 19_300_000),
    Pool("l40s", "gpu-l40s-4", 64_000, 500, 527_000_000, 4, 230, 6_100_000),
    Pool("on-demand", "standard-32", 32_000, 125, 131_000_000, 0, 150, 3_500_000),
)

_TIME: Final = "2026-09-20T09:59:41Z"
_ZONES: Final = ("eu-west-1a", "eu-west-1b", "eu-west-1c")
_PROJECTS: Final = ("platform", "ml/training", "ml/serving", "batch/etl", "observability", "storage/csi")
_STATES: Final = (
    ("MemoryPressure", "KubeletHasSufficientMemory", "kubelet has sufficient memory available"),
    ("DiskPressure", "KubeletHasNoDiskPressure", "kubelet has no disk pressure"),
    ("PIDPressure", "KubeletHasSufficientPID", "kubelet has sufficient PID available"),
    ("Ready", "KubeletReady", "kubelet is posting ready status"),
)


def flavor_spec(pool: Pool) -> dict[str, Any]:
    """The spec of the pool's ResourceFlavor."""
    spec: dict[str, Any] = {"nodeLabels": {"example.com.node-restriction.kubernetes.io/pool": pool.flavor}}
    if pool.gpus:
        spec["tolerations"] = [{"effect": "NoSchedule", "key": "nvidia.com/gpu", "operator": "Exists"}]
    return spec


def new_uid(chance: random.Random) -> str:
    text = f"{chance.getrandbits(128):032x}"
    return f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}"


def node(
    number: int, chance: random.Random, capacity: Pairs, *, pool: Pool | None = None, images: int = IMAGES
) -> dict[str, Any]:
    """One in fifty does not count: not ready, cordoned, or with a taint that its flavor does not tolerate.

    Without `pool`, the pools take turns.
    """
    pool = pool or POOLS[number % len(POOLS)]
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
        capacity[f"{pool.flavor}/memory"] += allocatable["memory"] * KIBIBYTE
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
            "conditions": conditions(ready=trouble != "ready"),
            "daemonEndpoints": {"kubeletEndpoint": {"Port": 10250}},
            "images": [_image(chance) for _ in range(images)],
            "nodeInfo": {
                "architecture": "amd64",
                "bootID": new_uid(chance),
                "containerRuntimeVersion": "containerd://2.1.4",
                "kernelVersion": "6.12.43",
                "kubeProxyVersion": "",
                "kubeletVersion": "v1.34.1",
                "machineID": f"{chance.getrandbits(128):032x}",
                "operatingSystem": "linux",
                "osImage": "Ubuntu 24.04.3 LTS",
                "systemUUID": new_uid(chance),
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
        "uid": new_uid(chance),
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


def conditions(*, ready: bool, heartbeat: str = _TIME) -> list[dict[str, str]]:
    """As a kubelet reports them, with the time of its last report."""
    return [
        {
            "lastHeartbeatTime": heartbeat,
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
