"""Short ways to say what agents report, what nodes have, and what is made of both."""

from __future__ import annotations

import datetime
import json
from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import Any, Final

import msgspec

from kueue_dqo.api import dqo
from kueue_dqo.api.core import Node
from kueue_dqo.api.durations import Duration
from kueue_dqo.api.gpu import GPU, INVENTORY_MANAGER, MIG_PREFIX, PROBLEM_MANAGER
from kueue_dqo.api.kueue import ResourceFlavor
from kueue_dqo.api.meta import ObjectMeta, time_text
from kueue_dqo.api.parameters import (
    NVIDIA_GPU_CONTROLLER,
    NVIDIA_GPU_PARAMETERS,
    Agents,
    NvidiaGpuParametersSpec,
)
from kueue_dqo.api.quantity import Quantity
from kueue_dqo.provider import Observation, Peer, Request
from providers.nodes.claims import Claim
from providers.nodes.pods import NodePods
from providers.nvidia_gpu.compute import Inventory, observe
from providers.nvidia_gpu.decoding import Report, ReportDecoder
from providers.nvidia_gpu.hearing import Seen
from providers.nvidia_gpu.memory import Memory
from providers.nvidia_gpu.reports import Reports
from tests.unit.providers.node_inventory import inventory as plain
from tests.unit.providers.node_inventory.inventory import NOTHING, NOW, POOL, amounts, flavor

__all__ = ["GPU", "NOW", "POOL", "amounts", "flavor"]

Manifest = dict[str, Any]
SMALL: Final = f"{MIG_PREFIX}1g.10gb"
SINCE: Final = "2026-09-20T09:30:00Z"
EIGHT: Final = {GPU: 8}
NOTHING_MORE: Final[Mapping[str, int]] = {}
HEARTBEAT: Final = 300
SILENT_AFTER: Final = 3 * HEARTBEAT
GRACE: Final = 600
PUBLISHED = dqo.CapacityProviderStatus(dqo.Capacity((dqo.FlavorCapacity("h100", {GPU: Quantity.of(8)}),)))
NOBODY: Final[Mapping[str, str]] = {}


def published(gpus: int, flavor: str = "h100", *, more: Mapping[str, int] = NOTHING_MORE) -> dqo.CapacityProviderStatus:
    """A status with so many GPUs, and more resources, of a flavor."""
    amounts_of = {GPU: Quantity.of(gpus), **{name: Quantity.of(amount) for name, amount in more.items()}}
    return dqo.CapacityProviderStatus(dqo.Capacity((dqo.FlavorCapacity(flavor, amounts_of),)))


def ago(seconds: float) -> datetime.datetime:
    """So many seconds before NOW."""
    return NOW - datetime.timedelta(seconds=seconds)


# --- reports -------------------------------------------------------------------------------------------------------


def manifest(
    name: str = "n1",
    healthy: Mapping[str, int] = EIGHT,
    *,
    broken: Mapping[str, str] = NOBODY,
    mig_gpus: int = 0,
    problem: str = "",
    renewed: datetime.datetime = NOW,
    owner: str = "",
    deleted: datetime.datetime | None = None,
    **inventory: Any,
) -> Manifest:
    """A report as the API server gives it: healthy devices by resource, `broken` GPUs by UUID with their reasons.

    `problem` is its reason; `owner` the UID of its node; `deleted` when it was; `inventory` is more of the inventory.
    """
    lost = {GPU: len(broken)} if broken else {}
    spec: Manifest = {
        "inventory": {
            "renewTime": time_text(renewed),
            "heartbeatSeconds": HEARTBEAT,
            "bootId": f"boot-of-{name}",
            "driverVersion": "570.86.15",
            "product": "NVIDIA H100 80GB HBM3",
            "gpus": healthy.get(GPU, 0) + mig_gpus,
            "migGpus": mig_gpus,
            "devices": [
                {"name": each, "healthy": healthy.get(each, 0), "unhealthy": lost.get(each, 0)}
                for each in sorted({*healthy, *lost})
            ],
            "unhealthy": [{"uuid": uuid, "reason": reason, "since": SINCE} for uuid, reason in sorted(broken.items())],
            **inventory,
        }
    }
    managed = [_managed(INVENTORY_MANAGER, renewed, "f:inventory")]
    if problem:
        spec["problem"] = {"reason": problem, "message": f"NVML says {problem}", "since": SINCE}
        managed.append(_managed(PROBLEM_MANAGER, renewed, "f:problem"))
    metadata: Manifest = {
        "name": name,
        "uid": f"uid-of-{name}",
        "resourceVersion": "1",
        "managedFields": managed,
    }
    if deleted is not None:
        metadata |= {"deletionTimestamp": time_text(deleted), "finalizers": ["somebody.example/keeps-it"]}
    if owner:
        metadata["ownerReferences"] = [
            {"apiVersion": "apps/v1", "kind": "DaemonSet", "name": "other", "uid": "other"},
            {"apiVersion": "v1", "kind": "Node", "name": name, "uid": owner},
        ]
    return {"apiVersion": "kueue-dqo.dev/v1alpha1", "kind": "NodeGPUReport", "metadata": metadata, "spec": spec}


def _managed(manager: str, time: datetime.datetime, field: str) -> Manifest:
    fields: Manifest = {"f:metadata": {"f:ownerReferences": {}}, "f:spec": {field: {}}}
    return {"manager": manager, "operation": "Apply", "time": time_text(time), "fieldsV1": fields}


def decoded(content: Manifest, before: Report | None = None) -> Report:
    """The report as the cache holds it, `before` being what it holds already."""
    return ReportDecoder(lambda _: before).decode(json.dumps(content).encode())


def seen_reports(contents: Iterable[Manifest], now: datetime.datetime = NOW) -> Mapping[str, Seen]:
    """The reports as they are known after the first list."""
    reports = Reports()
    for content in contents:
        reports.take(decoded(content), now, is_live=False)
    return reports.seen


# --- nodes ---------------------------------------------------------------------------------------------------------


def node(name: str = "n1", has: Mapping[str, object] = EIGHT, **more: Any) -> Node:
    """A node of the flavor; `has` is its allocatable besides cpu and memory."""
    labels = {**POOL, **more.pop("labels", {})}
    uid = more.pop("uid", "")
    found = plain.node(name, labels, has={"cpu": 64, "memory": "2Ti", **has}, **more)
    return msgspec.structs.replace(found, metadata=msgspec.structs.replace(found.metadata, uid=uid))


# --- what is made of them ------------------------------------------------------------------------------------------


def spec(*, grace: int = GRACE, max_silent_percent: int = 20, **fields: Any) -> NvidiaGpuParametersSpec:
    """Parameters; the grace is in seconds."""
    return NvidiaGpuParametersSpec(agents=Agents(Duration(grace), max_silent_percent), **fields)


def provider(
    name: str, flavors: Iterable[str], status: dqo.CapacityProviderStatus = PUBLISHED, *, parameters: str = ""
) -> dqo.CapacityProvider:
    ref = dqo.ParametersRef("kueue-dqo.dev", NVIDIA_GPU_PARAMETERS, parameters) if parameters else None
    refs = tuple(dqo.FlavorRef(each) for each in flavors)
    return dqo.CapacityProvider(
        ObjectMeta(name), dqo.CapacityProviderSpec(NVIDIA_GPU_CONTROLLER, refs, ref), status=status
    )


def asks(
    flavors: Mapping[str, ResourceFlavor],
    claim: Claim,
    others: Sequence[Claim] = (),
    *,
    parameters: NvidiaGpuParametersSpec | None = None,
    now: datetime.datetime = NOW,
    status: dqo.CapacityProviderStatus = PUBLISHED,
) -> Request[NvidiaGpuParametersSpec]:
    """The question about a provider that claims so, beside others."""
    asked = provider(claim.provider, claim.flavors, status)
    peers = tuple(
        Peer(provider(each.provider, each.flavors), spec(resources=each.selection, node_selector=each.node_selector))
        for each in others
    )
    return Request(
        provider=asked,
        parameters=parameters or spec(resources=claim.selection, node_selector=claim.node_selector),
        flavors=flavors,
        peers=peers,
        providers={each.metadata.name: each for each in (asked, *(other.provider for other in peers))},
        now=now,
    )


def taken(
    nodes: Iterable[Node],
    reports: Iterable[Manifest] | Mapping[str, Seen],
    flavors: Iterable[ResourceFlavor] = (flavor("h100"),),
    *,
    claim: Claim | None = None,
    others: Sequence[Claim] = (),
    declared: Mapping[str, AbstractSet[str]] = NOTHING,
    pods: Mapping[str, NodePods] | None = None,
    memory: Memory | None = None,
    **question: Any,
) -> Inventory:
    """What is counted for a provider that claims all the flavors, unless another claim is given."""
    by_name = {each.metadata.name: each for each in flavors}
    request = asks(by_name, claim or Claim("mine", tuple(by_name)), others, **question)
    seen = reports if isinstance(reports, Mapping) else seen_reports(reports, request.now)
    return observe(request, nodes, seen, declared, pods or {}, memory=memory)


def observed(
    nodes: Iterable[Node],
    reports: Iterable[Manifest] | Mapping[str, Seen],
    flavors: Iterable[ResourceFlavor] = (flavor("h100"),),
    **more: Any,
) -> Observation:
    """What the provider sees; as `taken`."""
    return taken(nodes, reports, flavors, **more).observation
