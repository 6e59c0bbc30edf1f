"""Manifests in short, as plain dicts, and the plan of them."""

from __future__ import annotations

import copy
import datetime
from collections.abc import Mapping, Sequence
from typing import Any, Final

from kueue_dqo.api.meta import Condition, ObjectKey, find_condition
from kueue_dqo.api.quotas import quotas_by_pair
from kueue_dqo.api.scheme import decode, known_kind
from kueue_dqo.cli.objects import Manifests, Place
from kueue_dqo.cli.plan.computation import Plan, make_plan
from orchestrator.enforcement.roads import Road

Plain = dict[str, Any]

QUEUES: Final = "kueue.x-k8s.io/v1beta2"
DQO: Final = "kueue.x-k8s.io/v1alpha1"
OURS: Final = "kueue-dqo.dev/v1alpha1"
NODE_INVENTORY: Final = "kueue-dqo.dev/node-inventory"
NVIDIA_GPU: Final = "kueue-dqo.dev/nvidia-gpu"
CLOUD_QUOTA: Final = "kueue-dqo.dev/cloud-quota"
MULTIKUEUE: Final = "kueue-dqo.dev/multikueue"
MANUAL: Final = "kueue-dqo.dev/manual"
COMPOSITE: Final = "kueue-dqo.dev/composite"
PARAMETERS_KINDS: Final = {
    CLOUD_QUOTA: "CloudQuotaParameters",
    MULTIKUEUE: "MultiKueueParameters",
    NVIDIA_GPU: "NvidiaGpuParameters",
    MANUAL: "ManualCapacity",
    COMPOSITE: "CompositeParameters",
}
BY_HAND: Final = "example.com/by-hand"
GPU: Final = "nvidia.com/gpu"
POOL: Final = {"pool": "a"}
ONE_CPU: Final = {"cpu": 1}
DELETED: Final = "2026-09-20T10:00:00Z"
NOON: Final = datetime.datetime(2026, 9, 20, 12, tzinfo=datetime.UTC)
REF: Final = {"apiGroup": "kueue.x-k8s.io", "kind": "DynamicQuotaOrchestrator", "name": "dqo"}


def obj(api_version: str, kind: str, name: str, **fields: Any) -> Plain:
    metadata = {"name": name, **fields.pop("metadata", {})}
    return {"apiVersion": api_version, "kind": kind, "metadata": metadata, **fields}


def node(
    name: str = "n1",
    labels: Mapping[str, str] = POOL,
    *,
    has: Mapping[str, object] = ONE_CPU,
    ready: str = "True",
    cordoned: bool = False,
) -> Plain:
    """A node that counts unless said otherwise; `has` is its allocatable."""
    status = {"allocatable": dict(has), "conditions": [{"type": "Ready", "status": ready}]}
    return obj("v1", "Node", name, metadata={"labels": dict(labels)}, spec={"unschedulable": cordoned}, status=status)


def flavor(name: str = "batch", labels: Mapping[str, str] = POOL, **metadata: Any) -> Plain:
    return obj(QUEUES, "ResourceFlavor", name, metadata=metadata, spec={"nodeLabels": dict(labels)})


def condition(
    kind: str, status: str = "True", reason: str = "Synchronized", message: str = "", observed: int | None = 1
) -> Plain:
    found = {"type": kind, "status": status, "reason": reason, "message": message}
    return found if observed is None else found | {"observedGeneration": observed}


def capacity(amounts: Mapping[str, Mapping[str, object]]) -> Plain:
    return {"flavors": [{"name": name, "resources": dict(resources)} for name, resources in amounts.items()]}


def provider(
    name: str = "nodes",
    flavors: Sequence[str] = ("batch",),
    *,
    parameters: str = "",
    controller: str = NODE_INVENTORY,
    status: Plain | None = None,
    **metadata: Any,
) -> Plain:
    """A CapacityProvider without a status, of the node inventory unless said otherwise: the plan computes it."""
    spec: Plain = {"controllerName": controller, "orchestratedFlavors": [{"name": each} for each in flavors]}
    if parameters:
        kind = PARAMETERS_KINDS.get(controller, "NodeInventoryParameters")
        spec["parameters"] = {"apiGroup": "kueue-dqo.dev", "kind": kind, "name": parameters}
    found = obj(DQO, "CapacityProvider", name, metadata={"generation": 1, **metadata}, spec=spec)
    return found if status is None else found | {"status": status}


def reporting(name: str = "nodes", amounts: Mapping[str, Mapping[str, object]] | None = None, **more: Any) -> Plain:
    """A CapacityProvider that somebody has written a status for."""
    amounts = {"batch": {"cpu": 48}} if amounts is None else amounts
    synchronized = condition("CapacitySynchronized", observed=more.get("generation", 1))
    status = {"capacity": capacity(amounts), "conditions": [synchronized]}
    return provider(name, tuple(amounts), **({"controller": BY_HAND, "status": status} | more))


def inventory_parameters(name: str, *, spec: Plain | None = None, **resources: Any) -> Plain:
    """Parameters of a node inventory that choose resources, and more in `spec`."""
    return obj(OURS, "NodeInventoryParameters", name, spec={"resources": resources, **(spec or {})})


def gpu_parameters(name: str, **spec: Any) -> Plain:
    """Parameters of a provider of NVIDIA's GPUs."""
    return obj(OURS, "NvidiaGpuParameters", name, spec=spec)


def cloud_parameters(name: str, **spec: Any) -> Plain:
    """Parameters of an account of AWS, with one quota for the flavor `batch` unless said otherwise."""
    entry = {"instanceType": "p5.48xlarge", "quota": {"code": "L-417A185B"}}
    account = {"regions": ["us-east-1"], "flavors": [{"name": "batch", "entries": [entry]}]}
    return obj(OURS, "CloudQuotaParameters", name, spec={"aws": account, **spec})


def gpu_report(name: str = "n1", healthy: int | None = 8, *, problem: str = "") -> Plain:
    """What the agent of a node found: so many healthy GPUs; or nothing, for a problem of that reason."""
    spec: Plain = {}
    if healthy is not None:
        devices = [{"name": GPU, "healthy": healthy}]
        spec["inventory"] = {"renewTime": DELETED, "heartbeatSeconds": 300, "gpus": healthy, "devices": devices}
    if problem:
        spec["problem"] = {"reason": problem, "message": "none", "since": DELETED}
    return obj(OURS, "NodeGPUReport", name, spec=spec)


def manual_capacity(name: str, amounts: Mapping[str, Mapping[str, object]], **spec: Any) -> Plain:
    """A ManualCapacity by its baseline."""
    return obj(OURS, "ManualCapacity", name, spec={"baseline": capacity(amounts), **spec})


def override(name: str, amounts: Mapping[str, Mapping[str, object]], begin: str, end: str, **more: Any) -> Plain:
    """One of the overrides of a ManualCapacity."""
    return {"name": name, "begin": begin, "end": end, **capacity(amounts), **more}


def composite_parameters(name: str, *members: str, combine: str = "Min", **spec: Any) -> Plain:
    listed = [{"name": member} for member in members]
    return obj(OURS, "CompositeParameters", name, spec={"members": listed, "combine": combine, **spec})


def pod(name: str, on: str, requests: Mapping[str, object], *, podset: str = "", namespace: str = "jobs") -> Plain:
    """A pod that runs on a node; with a podset, one that Kueue manages."""
    labels = {"kueue.x-k8s.io/podset": podset} if podset else {}
    containers = [{"name": "main", "resources": {"requests": dict(requests)}}]
    metadata = {"namespace": namespace, "labels": labels}
    return obj("v1", "Pod", name, metadata=metadata, spec={"nodeName": on, "containers": containers})


def orchestrator(
    name: str = "dqo",
    root: str | None = "ClusterQueue/q",
    providers: Sequence[str | tuple[str, object]] = ("nodes",),
    *,
    status: Plain | None = None,
    **metadata: Any,
) -> Plain:
    """A DynamicQuotaOrchestrator; `root` is `Kind/name`, None for discovery only."""
    entries = [
        {"name": each} if isinstance(each, str) else {"name": each[0], "effectiveCapacityMultiplier": each[1]}
        for each in providers
    ]
    spec: Plain = {"capacityDiscovery": {"providers": entries}}
    if root is not None:
        kind, _, root_name = root.partition("/")
        spec["capacityDistribution"] = {"subtreeRootQuotaRef": {"kind": kind, "name": root_name}}
    given = {"generation": 1, "uid": f"uid-{name}", "creationTimestamp": "2026-09-01T08:00:00Z", **metadata}
    found = obj(DQO, "DynamicQuotaOrchestrator", name, metadata=_without_none(given), spec=spec)
    return found if status is None else found | {"status": status}


def groups(quotas: Mapping[str, Mapping[str, object]]) -> list[Plain]:
    """One resource group; a quota is a nominal one or a whole dict of `nominalQuota` and limits."""
    if not quotas:
        return []
    covered = list(dict.fromkeys(resource for resources in quotas.values() for resource in resources))
    return [
        {
            "coveredResources": covered,
            "flavors": [
                {
                    "name": name,
                    "resources": [
                        {"name": resource, **(quota if isinstance(quota, dict) else {"nominalQuota": quota})}
                        for resource, quota in resources.items()
                    ],
                }
                for name, resources in quotas.items()
            ],
        }
    ]


def queue(
    name: str = "q",
    quotas: Mapping[str, Mapping[str, object]] | None = None,
    *,
    cohort: str = "",
    status: Plain | None = None,
    spec: Plain | None = None,
    **metadata: Any,
) -> Plain:
    """A ClusterQueue, ten cpu of flavor `batch` unless said otherwise."""
    whole: Plain = {"resourceGroups": groups({"batch": {"cpu": 10}} if quotas is None else quotas), **(spec or {})}
    if cohort:
        whole["cohortName"] = cohort
    given = _without_none({"uid": f"uid-{name}", **metadata})
    found = obj(QUEUES, "ClusterQueue", name, metadata=given, spec=whole)
    return found if status is None else found | {"status": status}


def cohort(
    name: str = "teams",
    quotas: Mapping[str, Mapping[str, object]] | None = None,
    *,
    parent: str = "",
    status: Plain | None = None,
    **metadata: Any,
) -> Plain:
    """A Cohort, without quotas unless some are given."""
    spec: Plain = {"resourceGroups": groups(quotas)} if quotas else {}
    if parent:
        spec["parentName"] = parent
    found = obj(QUEUES, "Cohort", name, metadata=_without_none({"uid": f"uid-{name}", **metadata}), spec=spec)
    return found if status is None else found | {"status": status}


def effective(quotas: Mapping[str, Mapping[str, object]], ref: Mapping[str, str] = REF) -> Plain:
    """A status with effective quotas."""
    return {"effectiveQuotas": {"orchestratorRef": dict(ref), "resourceGroups": groups(quotas)}}


def usage(amounts: Mapping[str, Mapping[str, object]], field: str = "flavorsReservation") -> Plain:
    """A status with what Workloads hold."""
    return {
        field: [
            {"name": name, "resources": [{"name": resource, "total": total} for resource, total in resources.items()]}
            for name, resources in amounts.items()
        ]
    }


def manifests_of(*objects: Plain) -> Manifests:
    manifests = taken(*objects)
    assert manifests.problems == []
    return manifests


def taken(*objects: Plain) -> Manifests:
    """With problems, where there are any."""
    manifests = Manifests()
    for number, each in enumerate(objects, start=1):
        known = known_kind(each["apiVersion"], each["kind"])
        assert known is not None, each["kind"]
        decoded = decode(known, each["apiVersion"].rpartition("/")[2], copy.deepcopy(each))
        manifests.add(each["kind"], decoded.object, Place("test", number))
    return manifests


def plan_of(*objects: Plain, road: Road = Road.STATUS, at: datetime.datetime = NOON) -> Plan:
    return make_plan(manifests_of(*objects), road, at)


# --- what came out -------------------------------------------------------------------------------------------------


def nominal(plan: Plan, name: str, kind: str = "ClusterQueue") -> dict[str, str] | None:
    """The planned nominal quotas by pair, None for an object that is left alone."""
    for outcome in plan.outcomes.values():
        quotas = outcome.quotas.get(ObjectKey(kind, name))
        if quotas is not None:
            return {str(pair): str(quota.nominal_quota) for pair, quota in quotas_by_pair(quotas.resource_groups)}
    return None


def synchronized(plan: Plan, name: str = "nodes") -> Condition:
    found = find_condition(plan.providers[name].status.conditions, "CapacitySynchronized")
    assert found is not None
    return found


def condition_of(plan: Plan, kind: str, name: str = "dqo") -> Condition:
    found = find_condition(plan.outcomes[name].status.conditions, kind)
    assert found is not None
    return found


def published(plan: Plan, name: str = "nodes") -> dict[str, dict[str, str]] | None:
    found = plan.providers[name].status.capacity
    if found is None:
        return None
    return {each.name: {key: str(value) for key, value in each.resources.items()} for each in found.flavors}


def _without_none(fields: Plain) -> Plain:
    return {key: value for key, value in fields.items() if value is not None}
