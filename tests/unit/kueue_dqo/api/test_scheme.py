"""Decoding: from manifests and API responses to objects, and what is said where that fails."""

from __future__ import annotations

import copy
import json
import re
import typing
from collections.abc import Iterator
from typing import Any, Final, NamedTuple

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kueue_dqo.api.cloud import (
    CLOUDS,
    AwsAccount,
    AwsCapacityBlocks,
    AwsCapacityReservations,
    AwsEntry,
    AwsFlavor,
    AwsQuota,
    AwsRole,
    CloudQuotaParameters,
    CloudQuotaParametersSpec,
    GcpEntry,
    GcpFlavor,
    GcpGpuFamily,
    GcpMetric,
    GcpProject,
    GcpReservations,
    MetricUnit,
    PurchaseOption,
)
from kueue_dqo.api.core import (
    Container,
    ContainerStatus,
    Node,
    NodeCondition,
    NodeMeta,
    NodeSpec,
    NodeStatus,
    Pod,
    PodLabels,
    PodMeta,
    PodSpec,
    PodStatus,
    Requirements,
    Taint,
    Toleration,
)
from kueue_dqo.api.dqo import (
    Capacity,
    CapacityDiscovery,
    CapacityDistribution,
    CapacityProvider,
    CapacityProviderSpec,
    CapacityProviderStatus,
    DiscoveredProvider,
    DynamicQuotaOrchestrator,
    DynamicQuotaOrchestratorSpec,
    DynamicQuotaOrchestratorStatus,
    FlavorCapacity,
    FlavorRef,
    ParametersRef,
    SubtreeRootQuotaRef,
)
from kueue_dqo.api.durations import Duration
from kueue_dqo.api.gpu import (
    AgentProblem,
    DeviceCount,
    GPUInventory,
    NodeGPUReport,
    NodeGPUReportSpec,
    ReportMeta,
    UnhealthyDevice,
)
from kueue_dqo.api.kueue import (
    AdmissionCheck,
    AdmissionCheckParameters,
    AdmissionCheckRule,
    AdmissionCheckSpec,
    AdmissionChecksStrategy,
    ClusterQueue,
    ClusterQueueSpec,
    ClusterQueueStatus,
    Cohort,
    CohortSpec,
    CohortStatus,
    FlavorUsage,
    MultiKueueConfig,
    MultiKueueConfigSpec,
    ResourceFlavor,
    ResourceFlavorSpec,
    ResourceUsage,
)
from kueue_dqo.api.meta import Condition, ManagedFields, ObjectMeta
from kueue_dqo.api.multikueue import (
    AfterGrace,
    Counts,
    FlavorMapping,
    InactiveQueues,
    ManagerQueues,
    MultiKueueParameters,
    MultiKueueParametersSpec,
    Subtree,
    UnavailableWorkers,
)
from kueue_dqo.api.parameters import (
    Agents,
    Combine,
    CompositeMember,
    CompositeParameters,
    CompositeParametersSpec,
    Cordoned,
    ExcludedCondition,
    ExplicitZeros,
    Guards,
    Headroom,
    LabelSelector,
    ManualBaseline,
    ManualCapacity,
    ManualCapacitySpec,
    ManualFlavor,
    ManualOverride,
    MigStrategy,
    NodeInventoryParameters,
    NodeInventoryParametersSpec,
    NvidiaGpuParameters,
    NvidiaGpuParametersSpec,
    OnMemberNotReady,
    RequiredResource,
    Reserve,
    ResourceSelection,
    SelectorExpression,
    SelectorOperator,
    SharedResource,
)
from kueue_dqo.api.problems import FieldProblem
from kueue_dqo.api.quantity import Format, Quantity
from kueue_dqo.api.quotas import EffectiveQuotas, FlavorQuotas, OrchestratorRef, ResourceGroup, ResourceQuota
from kueue_dqo.api.scheme import (
    KNOWN_KINDS,
    Decoded,
    KnownKind,
    ObjectInvalid,
    decode,
    decode_groups,
    decode_json,
    decode_quotas,
    known_kind,
    plain_json,
    to_manifest,
)

Path = tuple[str | int, ...]


# --- one manifest of each kind, every field filled in --------------------------------------------------------------


class Sample(NamedTuple):
    """A manifest that fills in every field that is read, and the object it stands for."""

    api_version: str
    kind: str
    content: dict[str, Any]
    object: Any

    @property
    def known(self) -> KnownKind:
        """Its kind."""
        known = known_kind(self.api_version, self.kind)
        assert known is not None
        return known

    @property
    def version(self) -> str:
        """Its version without the group."""
        return self.api_version.rpartition("/")[2]

    def manifest(self) -> dict[str, Any]:
        """A manifest of its own for each caller."""
        content: dict[str, Any] = json.loads(json.dumps(self.content))  # no part of it stands in two places
        return {"apiVersion": self.api_version, "kind": self.kind} | content


METADATA: Final[dict[str, Any]] = {
    "name": "sample",
    "uid": "6fd3c6f6-0f3a-4d3f-a0ac-3fe6a4ba9d3c",
    "generation": 3,
    "creationTimestamp": "2026-01-31T12:00:00Z",
    "deletionTimestamp": "2026-02-01T12:00:00.5+01:00",
    "annotations": {"example.com/owner": "team-a", "example.com/ticket": "12"},
    "managedFields": [
        {
            "manager": "kubectl",
            "operation": "Apply",
            "subresource": "status",
            "time": "2026-03-01T00:00:00Z",
            "fieldsV1": {"f:spec": {"f:resourceGroups": {}}},
        }
    ],
}
META: Final = ObjectMeta(
    name="sample",
    uid="6fd3c6f6-0f3a-4d3f-a0ac-3fe6a4ba9d3c",
    generation=3,
    creation_timestamp="2026-01-31T12:00:00Z",
    deletion_timestamp="2026-02-01T12:00:00.5+01:00",
    annotations={"example.com/owner": "team-a", "example.com/ticket": "12"},
    managed_fields=(
        ManagedFields("kubectl", "Apply", "status", "2026-03-01T00:00:00Z", {"f:spec": {"f:resourceGroups": {}}}),
    ),
)
GROUPS: Final = [
    {
        "coveredResources": ["cpu", "memory"],
        "flavors": [
            {
                "name": "spot",
                "resources": [
                    {"name": "cpu", "nominalQuota": "1500m", "borrowingLimit": 2, "lendingLimit": "0"},
                    {"name": "memory", "nominalQuota": "16Gi"},
                ],
            }
        ],
    }
]
RESOURCE_GROUPS: Final = (
    ResourceGroup(
        ("cpu", "memory"),
        (
            FlavorQuotas(
                "spot",
                (
                    ResourceQuota("cpu", Quantity(1_500_000_000), Quantity.of(2), Quantity(0)),
                    ResourceQuota("memory", Quantity.of(2**34)),
                ),
            ),
        ),
    ),
)
EFFECTIVE: Final = {
    "orchestratorRef": {"apiGroup": "kueue.x-k8s.io", "kind": "DynamicQuotaOrchestrator", "name": "main"},
    "resourceGroups": GROUPS,
}
EFFECTIVE_QUOTAS: Final = EffectiveQuotas(
    OrchestratorRef("kueue.x-k8s.io", "DynamicQuotaOrchestrator", "main"), RESOURCE_GROUPS
)
CONDITIONS: Final = [
    {
        "type": "Ready",
        "status": "True",
        "reason": "Fine",
        "message": "all is well",
        "observedGeneration": 3,
        "lastTransitionTime": "2026-01-31T12:00:00Z",
    }
]
CONDITION: Final = Condition("Ready", "True", "Fine", "all is well", 3, "2026-01-31T12:00:00Z")
USAGE: Final = [{"name": "spot", "resources": [{"name": "cpu", "total": "3"}]}]
FLAVOR_USAGE: Final = (FlavorUsage("spot", (ResourceUsage("cpu", Quantity.of(3)),)),)
CAPACITY: Final = {"flavors": [{"name": "spot", "resources": {"cpu": "10", "nvidia.com/gpu": 8}}]}
FLAVOR_CAPACITY: Final = Capacity((FlavorCapacity("spot", {"cpu": Quantity.of(10), "nvidia.com/gpu": Quantity.of(8)}),))

CLUSTER_QUEUE: Final = Sample(
    "kueue.x-k8s.io/v1beta2",
    "ClusterQueue",
    {
        "metadata": METADATA,
        "spec": {
            "resourceGroups": GROUPS,
            "cohortName": "research",
            "admissionChecksStrategy": {"admissionChecks": [{"name": "grow", "onFlavors": ["spot"]}]},
        },
        "status": {"effectiveQuotas": EFFECTIVE, "flavorsReservation": USAGE, "flavorsUsage": USAGE},
    },
    ClusterQueue(
        META,
        ClusterQueueSpec(
            RESOURCE_GROUPS,
            cohort_name="research",
            admission_checks_strategy=AdmissionChecksStrategy((AdmissionCheckRule("grow", ("spot",)),)),
        ),
        ClusterQueueStatus(EFFECTIVE_QUOTAS, FLAVOR_USAGE, FLAVOR_USAGE),
    ),
)
OLD_CLUSTER_QUEUE: Final = Sample(
    "kueue.x-k8s.io/v1beta1",
    "ClusterQueue",
    {
        "metadata": {"name": "sample"},
        "spec": {"resourceGroups": GROUPS, "cohort": "research", "admissionChecks": ["grow"]},
    },
    ClusterQueue(
        ObjectMeta("sample"),
        ClusterQueueSpec(RESOURCE_GROUPS, cohort_name="research", cohort="research", admission_checks=("grow",)),
    ),
)
COHORT_CONTENT: Final = {
    "metadata": METADATA,
    "spec": {"resourceGroups": GROUPS, "parentName": "root"},
    "status": {"effectiveQuotas": EFFECTIVE},
}
COHORT_OBJECT: Final = Cohort(META, CohortSpec(RESOURCE_GROUPS, "root"), CohortStatus(EFFECTIVE_QUOTAS))
RESOURCE_FLAVOR_CONTENT: Final = {
    "metadata": METADATA,
    "spec": {
        "nodeLabels": {"pool": "spot", "zone": "a"},
        "nodeTaints": [{"key": "spot", "value": "yes", "effect": "NoSchedule"}],
        "tolerations": [{"key": "gpu", "operator": "Equal", "value": "yes", "effect": "NoExecute"}],
    },
}
RESOURCE_FLAVOR_OBJECT: Final = ResourceFlavor(
    META,
    ResourceFlavorSpec(
        {"pool": "spot", "zone": "a"},
        (Taint("spot", "NoSchedule", "yes"),),
        (Toleration("gpu", "Equal", "yes", "NoExecute"),),
    ),
)
ADMISSION_CHECK_CONTENT: Final = {
    "metadata": METADATA,
    "spec": {
        "controllerName": "kueue.x-k8s.io/multikueue",
        "parameters": {"apiGroup": "kueue.x-k8s.io", "kind": "MultiKueueConfig", "name": "workers"},
    },
}
ADMISSION_CHECK_OBJECT: Final = AdmissionCheck(
    META,
    AdmissionCheckSpec(
        "kueue.x-k8s.io/multikueue", AdmissionCheckParameters("kueue.x-k8s.io", "MultiKueueConfig", "workers")
    ),
)
MULTI_KUEUE_CONFIG_CONTENT: Final = {
    "metadata": METADATA,
    "spec": {"clusters": ["worker1", "worker2"], "quotaManagement": "Automated"},
}
MULTI_KUEUE_CONFIG_OBJECT: Final = MultiKueueConfig(
    META, MultiKueueConfigSpec(("worker1", "worker2"), quota_management="Automated")
)
CAPACITY_PROVIDER: Final = Sample(
    "kueue.x-k8s.io/v1alpha1",
    "CapacityProvider",
    {
        "metadata": METADATA,
        "spec": {
            "controllerName": "example.com/scanner",
            "orchestratedFlavors": [{"name": "spot"}, {"name": "gpu"}],
            "parameters": {"apiGroup": "example.com", "kind": "ScannerParameters", "name": "fast"},
        },
        "status": {"capacity": CAPACITY, "conditions": CONDITIONS},
    },
    CapacityProvider(
        META,
        CapacityProviderSpec(
            "example.com/scanner",
            (FlavorRef("spot"), FlavorRef("gpu")),
            ParametersRef("example.com", "ScannerParameters", "fast"),
        ),
        CapacityProviderStatus(FLAVOR_CAPACITY, (CONDITION,)),
    ),
)
ORCHESTRATOR: Final = Sample(
    "kueue.x-k8s.io/v1alpha1",
    "DynamicQuotaOrchestrator",
    {
        "metadata": METADATA,
        "spec": {
            "capacityDiscovery": {"providers": [{"name": "nodes", "effectiveCapacityMultiplier": "900m"}]},
            "capacityDistribution": {"subtreeRootQuotaRef": {"kind": "Cohort", "name": "root"}},
        },
        "status": {"effectiveCapacity": CAPACITY, "conditions": CONDITIONS},
    },
    DynamicQuotaOrchestrator(
        META,
        DynamicQuotaOrchestratorSpec(
            CapacityDiscovery((DiscoveredProvider("nodes", Quantity(900_000_000)),)),
            CapacityDistribution(SubtreeRootQuotaRef("Cohort", "root")),
        ),
        DynamicQuotaOrchestratorStatus(FLAVOR_CAPACITY, (CONDITION,)),
    ),
)
NODE: Final = Sample(
    "v1",
    "Node",
    {
        "metadata": {
            "name": "node-1.example.com",
            "labels": {"pool": "spot", "zone": "a"},
            "deletionTimestamp": "2026-01-31T12:00:00Z",
        },
        "spec": {"unschedulable": True, "taints": [{"key": "spot", "value": "yes", "effect": "NoSchedule"}]},
        "status": {
            "allocatable": {"cpu": "7910m", "memory": "31Gi", "pods": 110},
            "conditions": [{"type": "Ready", "status": "True"}],
        },
    },
    Node(
        NodeMeta("node-1.example.com", {"pool": "spot", "zone": "a"}, "2026-01-31T12:00:00Z"),
        NodeSpec(unschedulable=True, taints=(Taint("spot", "NoSchedule", "yes"),)),
        NodeStatus(
            {"cpu": Quantity.of("7.91"), "memory": Quantity.of(31 * 2**30), "pods": Quantity.of(110)},
            (NodeCondition("Ready", "True"),),
        ),
    ),
)
POD: Final = Sample(
    "v1",
    "Pod",
    {
        "metadata": {"name": "train-0", "namespace": "team-a", "labels": {"kueue.x-k8s.io/podset": "main"}},
        "spec": {
            "nodeName": "node-1",
            "containers": [{"name": "main", "resources": {"requests": {"cpu": "2"}}}],
            "initContainers": [{"name": "proxy", "restartPolicy": "Always"}],
            "overhead": {"memory": "64Mi"},
            "resources": {"requests": {"cpu": "3"}},
        },
        "status": {
            "phase": "Running",
            "containerStatuses": [
                {"name": "main", "allocatedResources": {"cpu": "1"}, "resources": {"requests": {"cpu": "1"}}}
            ],
            "initContainerStatuses": [{"name": "proxy"}],
        },
    },
    Pod(
        PodMeta("train-0", "team-a", PodLabels("main")),
        PodSpec(
            "node-1",
            (Container("main", Requirements({"cpu": Quantity.of(2)})),),
            (Container("proxy", restart_policy="Always"),),
            {"memory": Quantity.of("64Mi")},
            Requirements({"cpu": Quantity.of(3)}),
        ),
        PodStatus(
            "Running",
            (ContainerStatus("main", {"cpu": Quantity.of(1)}, Requirements({"cpu": Quantity.of(1)})),),
            (ContainerStatus("proxy"),),
        ),
    ),
)
COMMON_PARAMETERS: Final[dict[str, Any]] = {
    "resources": {"include": ["cpu", "gpu"], "exclude": ["pods"]},
    "headroom": [
        {"flavor": "spot", "resource": "cpu", "percent": 5},
        {"flavor": "spot", "resource": "gpu", "quantity": "2"},
    ],
    "guards": {"fallAfter": "1m30s", "riseAfter": "1h", "maxFallPercent": 30, "breakerGrace": "10m"},
}
COMMON: Final[dict[str, Any]] = {
    "resources": ResourceSelection(("cpu", "gpu"), ("pods",)),
    "headroom": (Headroom("spot", "cpu", percent=5), Headroom("spot", "gpu", quantity=Quantity.of(2))),
    "guards": Guards(Duration(90), Duration(3600), 30, Duration(600)),
}
NODE_INVENTORY_PARAMETERS: Final = Sample(
    "kueue-dqo.dev/v1alpha1",
    "NodeInventoryParameters",
    {
        "metadata": METADATA,
        "spec": {
            **COMMON_PARAMETERS,
            "nodeSelector": {
                "matchLabels": {"zone": "a"},
                "matchExpressions": [{"key": "pool", "operator": "In", "values": ["fast"]}],
            },
            "requiredResources": [{"flavor": "spot", "resource": "gpu"}],
            "excludedConditions": [{"type": "Broken", "status": "Unknown"}],
            "readyDelay": "2m",
            "explicitZeros": [{"flavor": "spot", "resources": ["gpu"]}],
            "cordoned": "CountAllocated",
            "reserve": "UnmanagedPods",
        },
    },
    NodeInventoryParameters(
        META,
        NodeInventoryParametersSpec(
            **COMMON,
            node_selector=LabelSelector({"zone": "a"}, (SelectorExpression("pool", SelectorOperator.IN, ("fast",)),)),
            required_resources=(RequiredResource("spot", "gpu"),),
            excluded_conditions=(ExcludedCondition("Broken", "Unknown"),),
            ready_delay=Duration(120),
            explicit_zeros=(ExplicitZeros("spot", ("gpu",)),),
            cordoned=Cordoned.COUNT_ALLOCATED,
            reserve=Reserve.UNMANAGED_PODS,
        ),
    ),
)
GPU: Final = "nvidia.com/gpu"
SLICE: Final = "nvidia.com/mig-1g.10gb"
NVIDIA_GPU_PARAMETERS: Final = Sample(
    "kueue-dqo.dev/v1alpha1",
    "NvidiaGpuParameters",
    {
        "metadata": METADATA,
        "spec": {
            **COMMON_PARAMETERS,
            "resources": {"include": [GPU, f"{SLICE}.shared"], "exclude": ["pods"]},
            "headroom": [
                {"flavor": "spot", "resource": GPU, "percent": 5},
                {"flavor": "spot", "resource": f"{SLICE}.shared", "quantity": "2"},
            ],
            "nodeSelector": {
                "matchLabels": {"zone": "a"},
                "matchExpressions": [{"key": "pool", "operator": "In", "values": ["fast"]}],
            },
            "cordoned": "CountAllocated",
            "capByAllocatable": False,
            "migStrategy": "Mixed",
            "sharing": [{"resource": SLICE, "replicas": 4, "rename": f"{SLICE}.shared"}],
            "agents": {"grace": "5m", "maxSilentPercent": 50},
        },
    },
    NvidiaGpuParameters(
        META,
        NvidiaGpuParametersSpec(
            resources=ResourceSelection((GPU, f"{SLICE}.shared"), ("pods",)),
            headroom=(
                Headroom("spot", GPU, percent=5),
                Headroom("spot", f"{SLICE}.shared", quantity=Quantity.of(2)),
            ),
            guards=COMMON["guards"],
            node_selector=LabelSelector({"zone": "a"}, (SelectorExpression("pool", SelectorOperator.IN, ("fast",)),)),
            cordoned=Cordoned.COUNT_ALLOCATED,
            cap_by_allocatable=False,
            mig_strategy=MigStrategy.MIXED,
            sharing=(SharedResource(SLICE, 4, f"{SLICE}.shared"),),
            agents=Agents(Duration(300), 50),
        ),
    ),
)
NODE_GPU_REPORT: Final = Sample(
    "kueue-dqo.dev/v1alpha1",
    "NodeGPUReport",
    {
        "metadata": {
            "name": "node-1.example.com",
            "uid": "6fd3c6f6-0f3a-4d3f-a0ac-3fe6a4ba9d3c",
            "resourceVersion": "12",
            "managedFields": METADATA["managedFields"],
        },
        "spec": {
            "inventory": {
                "renewTime": "2026-01-31T12:00:00Z",
                "heartbeatSeconds": 300,
                "bootId": "5a7c1f0e",
                "driverVersion": "570.86.15",
                "product": "NVIDIA H100 80GB HBM3",
                "gpus": 7,
                "migGpus": 1,
                "devices": [{"name": GPU, "healthy": 6, "unhealthy": 1}, {"name": SLICE, "healthy": 7}],
                "unhealthy": [{"reason": "Lost", "since": "2026-01-31T11:00:00Z", "uuid": "GPU-8f5c", "index": 3}],
                "unhealthyNotListed": 2,
            },
            "problem": {"reason": "DriverNotLoaded", "message": "no driver", "since": "2026-01-31T12:01:00Z"},
        },
    },
    NodeGPUReport(
        ReportMeta("node-1.example.com", "6fd3c6f6-0f3a-4d3f-a0ac-3fe6a4ba9d3c", "12", META.managed_fields),
        NodeGPUReportSpec(
            GPUInventory(
                renew_time="2026-01-31T12:00:00Z",
                heartbeat_seconds=300,
                boot_id="5a7c1f0e",
                driver_version="570.86.15",
                product="NVIDIA H100 80GB HBM3",
                gpus=7,
                mig_gpus=1,
                devices=(DeviceCount(GPU, 6, 1), DeviceCount(SLICE, 7)),
                unhealthy=(UnhealthyDevice("Lost", "2026-01-31T11:00:00Z", "GPU-8f5c", 3),),
                unhealthy_not_listed=2,
            ),
            AgentProblem("DriverNotLoaded", "no driver", "2026-01-31T12:01:00Z"),
        ),
    ),
)
CLOUD_COMMON: Final[dict[str, Any]] = {
    "resources": ResourceSelection(("cpu",), ("pods",)),
    "headroom": (Headroom("spot", "cpu", percent=5),),
    "guards": COMMON["guards"],
}
CLOUD_COMMON_PARAMETERS: Final[dict[str, Any]] = {
    "resources": {"include": ["cpu"], "exclude": ["pods"]},
    "headroom": [{"flavor": "spot", "resource": "cpu", "percent": 5}],
    "guards": COMMON_PARAMETERS["guards"],
}
AWS_PARAMETERS: Final = Sample(
    "kueue-dqo.dev/v1alpha1",
    "CloudQuotaParameters",
    {
        "metadata": METADATA,
        "spec": {
            **CLOUD_COMMON_PARAMETERS,
            "aws": {
                "regions": ["us-east-1", "us-west-2"],
                "assumeRole": {"arn": "arn:aws:iam::111122223333:role/dqo", "externalId": "research"},
                "flavors": [
                    {
                        "name": "spot",
                        "combine": "Min",
                        "entries": [
                            {
                                "region": "us-east-1",
                                "instanceType": "p5.48xlarge",
                                "quota": {"code": "L-C4BD4855", "service": "ec2-like", "purchaseOption": "Spot"},
                                "share": "500m",
                                "maxInstances": 4,
                                "perInstance": {"cpu": "190"},
                            },
                            {
                                "region": "us-east-1",
                                "instanceType": "p5.48xlarge",
                                "capacityReservations": {"tags": {"team": "research"}},
                            },
                            {
                                "region": "us-west-2",
                                "instanceType": "p5.48xlarge",
                                "capacityBlocks": {"ids": ["cr-0123456789abcdef0"], "stopAdmittingBefore": "2h"},
                            },
                        ],
                    }
                ],
            },
        },
    },
    CloudQuotaParameters(
        META,
        CloudQuotaParametersSpec(
            **CLOUD_COMMON,
            aws=AwsAccount(
                regions=("us-east-1", "us-west-2"),
                assume_role=AwsRole("arn:aws:iam::111122223333:role/dqo", "research"),
                flavors=(
                    AwsFlavor(
                        name="spot",
                        combine=Combine.MIN,
                        entries=(
                            AwsEntry(
                                region="us-east-1",
                                instance_type="p5.48xlarge",
                                quota=AwsQuota("L-C4BD4855", "ec2-like", PurchaseOption.SPOT),
                                share=Quantity.of("0.5"),
                                max_instances=4,
                                per_instance={"cpu": Quantity.of(190)},
                            ),
                            AwsEntry(
                                region="us-east-1",
                                instance_type="p5.48xlarge",
                                capacity_reservations=AwsCapacityReservations(tags={"team": "research"}),
                            ),
                            AwsEntry(
                                region="us-west-2",
                                instance_type="p5.48xlarge",
                                capacity_blocks=AwsCapacityBlocks(
                                    ("cr-0123456789abcdef0",), stop_admitting_before=Duration(7200)
                                ),
                            ),
                        ),
                    ),
                ),
            ),
        ),
    ),
)
GCP_PARAMETERS: Final = Sample(
    "kueue-dqo.dev/v1alpha1",
    "CloudQuotaParameters",
    {
        "metadata": METADATA,
        "spec": {
            **CLOUD_COMMON_PARAMETERS,
            "gcp": {
                "project": "vision-prod",
                "regions": ["us-central1", "us-east4"],
                "impersonateServiceAccount": "dqo@vision-prod.iam.gserviceaccount.com",
                "flavors": [
                    {
                        "name": "spot",
                        "combine": "Sum",
                        "entries": [
                            {
                                "region": "us-central1",
                                "machineType": "n1-standard-32",
                                "accelerators": 4,
                                "metric": {
                                    "name": "PREEMPTIBLE_NVIDIA_T4_GPUS",
                                    "unit": "Accelerators",
                                    "globalMetric": "GPUS_ALL_REGIONS",
                                },
                                "share": "500m",
                                "maxInstances": 4,
                                "perInstance": {"cpu": "30"},
                            },
                            {
                                "region": "us-east4",
                                "machineType": "a3-highgpu-8g",
                                "gpuFamily": {"name": "NVIDIA_H100", "quotaId": "GPUS", "service": "a.googleapis.com"},
                            },
                            {
                                "region": "us-central1",
                                "machineType": "a3-highgpu-8g",
                                "reservations": {
                                    "names": ["h100"],
                                    "zones": ["us-central1-a"],
                                    "project": "ml-platform",
                                },
                                "share": "250m",
                            },
                        ],
                    }
                ],
            },
        },
    },
    CloudQuotaParameters(
        META,
        CloudQuotaParametersSpec(
            **CLOUD_COMMON,
            gcp=GcpProject(
                project="vision-prod",
                regions=("us-central1", "us-east4"),
                impersonate_service_account="dqo@vision-prod.iam.gserviceaccount.com",
                flavors=(
                    GcpFlavor(
                        name="spot",
                        combine=Combine.SUM,
                        entries=(
                            GcpEntry(
                                region="us-central1",
                                machine_type="n1-standard-32",
                                accelerators=4,
                                metric=GcpMetric(
                                    "PREEMPTIBLE_NVIDIA_T4_GPUS", MetricUnit.ACCELERATORS, "GPUS_ALL_REGIONS"
                                ),
                                share=Quantity.of("0.5"),
                                max_instances=4,
                                per_instance={"cpu": Quantity.of(30)},
                            ),
                            GcpEntry(
                                region="us-east4",
                                machine_type="a3-highgpu-8g",
                                gpu_family=GcpGpuFamily("NVIDIA_H100", "GPUS", "a.googleapis.com"),
                            ),
                            GcpEntry(
                                region="us-central1",
                                machine_type="a3-highgpu-8g",
                                reservations=GcpReservations(("h100",), ("us-central1-a",), "ml-platform"),
                                share=Quantity.of("0.25"),
                            ),
                        ),
                    ),
                ),
            ),
        ),
    ),
)
MANUAL_CAPACITY: Final = Sample(
    "kueue-dqo.dev/v1alpha1",
    "ManualCapacity",
    {
        "metadata": METADATA,
        "spec": {
            **COMMON_PARAMETERS,
            "baseline": {"flavors": [{"name": "spot", "resources": {"cpu": "7500m"}}]},
            "overrides": [
                {
                    "name": "weekend",
                    "begin": "2026-01-03T00:00:00Z",
                    "end": "2026-01-05T00:00:00Z",
                    "flavors": [{"name": "spot", "resources": {"cpu": "0"}}],
                    "recurrence": "FREQ=WEEKLY;BYDAY=SA",
                    "timeZone": "Europe/Berlin",
                }
            ],
        },
    },
    ManualCapacity(
        META,
        ManualCapacitySpec(
            **COMMON,
            baseline=ManualBaseline((ManualFlavor("spot", {"cpu": Quantity.of("7.5")}),)),
            overrides=(
                ManualOverride(
                    "weekend",
                    "2026-01-03T00:00:00Z",
                    "2026-01-05T00:00:00Z",
                    (ManualFlavor("spot", {"cpu": Quantity.of(0)}),),
                    "FREQ=WEEKLY;BYDAY=SA",
                    "Europe/Berlin",
                ),
            ),
        ),
    ),
)
COMPOSITE_PARAMETERS: Final = Sample(
    "kueue-dqo.dev/v1alpha1",
    "CompositeParameters",
    {
        "metadata": METADATA,
        "spec": {
            **COMMON_PARAMETERS,
            "members": [{"name": "nodes"}, {"name": "cloud"}],
            "combine": "Max",
            "onMemberNotReady": "Skip",
        },
    },
    CompositeParameters(
        META,
        CompositeParametersSpec(
            **COMMON,
            members=(CompositeMember("nodes"), CompositeMember("cloud")),
            combine=Combine.MAX,
            on_member_not_ready=OnMemberNotReady.SKIP,
        ),
    ),
)
MULTI_KUEUE_PARAMETERS: Final = Sample(
    "kueue-dqo.dev/v1alpha1",
    "MultiKueueParameters",
    {
        "metadata": METADATA,
        "spec": {
            **COMMON_PARAMETERS,
            "managerQueues": {"subtree": {"kind": "Cohort", "name": "root"}},
            "flavorMapping": [{"workerFlavor": "h100-80gb", "flavor": "spot", "clusters": ["worker1"]}],
            "otherFlavors": "rest",
            "counts": "WorkerProviders",
            "workerProviders": ["nodes"],
            "inactiveQueues": "Count",
            "unavailableWorkers": {"grace": "10m", "afterGrace": "SourceUnavailable"},
        },
    },
    MultiKueueParameters(
        META,
        MultiKueueParametersSpec(
            **COMMON,
            manager_queues=ManagerQueues(Subtree("Cohort", "root")),
            flavor_mapping=(FlavorMapping("h100-80gb", "spot", ("worker1",)),),
            other_flavors="rest",
            counts=Counts.WORKER_PROVIDERS,
            worker_providers=("nodes",),
            inactive_queues=InactiveQueues.COUNT,
            unavailable_workers=UnavailableWorkers(Duration(600), AfterGrace.SOURCE_UNAVAILABLE),
        ),
    ),
)
MULTI_KUEUE_OF_A_LIST: Final = Sample(
    "kueue-dqo.dev/v1alpha1",
    "MultiKueueParameters",
    {"metadata": {"name": "sample"}, "spec": {"managerQueues": {"clusterQueues": ["gold", "silver"]}}},
    MultiKueueParameters(
        ObjectMeta("sample"),
        MultiKueueParametersSpec(manager_queues=ManagerQueues(cluster_queues=("gold", "silver"))),
    ),
)
OUR_PARAMETERS: Final = (
    NODE_INVENTORY_PARAMETERS,
    AWS_PARAMETERS,
    GCP_PARAMETERS,
    NVIDIA_GPU_PARAMETERS,
    MULTI_KUEUE_PARAMETERS,
    MULTI_KUEUE_OF_A_LIST,
    MANUAL_CAPACITY,
    COMPOSITE_PARAMETERS,
)
RESOURCE_FLAVOR: Final = Sample(
    "kueue.x-k8s.io/v1beta2", "ResourceFlavor", RESOURCE_FLAVOR_CONTENT, RESOURCE_FLAVOR_OBJECT
)
SAMPLES: Final = (
    NODE,
    POD,
    CLUSTER_QUEUE,
    OLD_CLUSTER_QUEUE,
    Sample("kueue.x-k8s.io/v1beta2", "Cohort", COHORT_CONTENT, COHORT_OBJECT),
    Sample("kueue.x-k8s.io/v1beta1", "Cohort", COHORT_CONTENT, COHORT_OBJECT),
    RESOURCE_FLAVOR,
    Sample("kueue.x-k8s.io/v1beta1", "ResourceFlavor", RESOURCE_FLAVOR_CONTENT, RESOURCE_FLAVOR_OBJECT),
    Sample("kueue.x-k8s.io/v1beta2", "AdmissionCheck", ADMISSION_CHECK_CONTENT, ADMISSION_CHECK_OBJECT),
    Sample("kueue.x-k8s.io/v1beta1", "AdmissionCheck", ADMISSION_CHECK_CONTENT, ADMISSION_CHECK_OBJECT),
    Sample("kueue.x-k8s.io/v1beta2", "MultiKueueConfig", MULTI_KUEUE_CONFIG_CONTENT, MULTI_KUEUE_CONFIG_OBJECT),
    Sample("kueue.x-k8s.io/v1beta1", "MultiKueueConfig", MULTI_KUEUE_CONFIG_CONTENT, MULTI_KUEUE_CONFIG_OBJECT),
    CAPACITY_PROVIDER,
    ORCHESTRATOR,
    *OUR_PARAMETERS,
    NODE_GPU_REPORT,
)

each_sample = pytest.mark.parametrize("sample", SAMPLES, ids=lambda sample: f"{sample.kind}-{sample.version}")

# Mappings whose keys are names and not fields, and content that is taken as it is.
MAPS: Final = frozenset(
    {
        *("annotations", "labels", "nodeLabels", "matchLabels", "fieldsV1"),
        *("allocatable", "requests", "overhead", "allocatedResources", "perInstance", "tags"),
    }
)
PODSET: Final = "kueue.x-k8s.io/podset"
"""Of a pod's labels it alone is read, as a field."""


def places(content: Any, path: Path = ()) -> Iterator[tuple[Path, Any]]:
    """Every value in a manifest with its path, from the top, without the content of fieldsV1."""
    if path:
        yield path, content
    if "fieldsV1" in path:
        return
    if isinstance(content, dict):
        for key, value in content.items():
            yield from places(value, (*path, key))
    elif isinstance(content, list):
        for index, value in enumerate(content):
            yield from places(value, (*path, index))


def is_map(path: Path, content: Any) -> bool:
    """Whether a mapping at that path is from names to values: `resources` is one in a capacity, elsewhere a list."""
    name = path[-1] if path else ""
    return isinstance(content, dict) and (
        (name in MAPS and PODSET not in content) or "fieldsV1" in path or (name == "resources" and "flavors" in path)
    )


def parts(obj: Any) -> tuple[Any, ...]:
    """What an object is made of, without its head."""
    return type(obj), obj.metadata, obj.spec, getattr(obj, "status", None)


def put(content: Any, path: Path, value: Any) -> None:
    """Sets the value at a path."""
    for step in path[:-1]:
        content = content[step]
    content[path[-1]] = value


def drop(content: Any, path: Path) -> None:
    """Removes the value at a path."""
    for step in path[:-1]:
        content = content[step]
    del content[path[-1]]


def at(content: Any, path: Path) -> Any:
    """The value at a path."""
    for step in path:
        content = content[step]
    return content


def field_of(content: Any, path: Path) -> str:
    """A path as problems write it: dots, and brackets for entries of lists and maps."""
    text = ""
    for length, step in enumerate(path):
        if isinstance(step, int) or is_map(path[:length], at(content, path[:length])):
            text += f"[{step}]"
        else:
            text += f".{step}" if text else step
    return text


def outcome(sample: Sample, manifest: Any) -> tuple[Any, ...]:
    """What comes of a manifest: its object without absent fields, and notices; or problems."""
    return _outcome(lambda: decode(sample.known, sample.version, manifest))


def outcome_json(sample: Sample, manifest: Any) -> tuple[Any, ...]:
    """As outcome(), by way of JSON."""
    return _outcome(lambda: decode_json(sample.known, sample.version, json.dumps(manifest).encode()))


def _outcome(decoding: Any) -> tuple[Any, ...]:
    try:
        decoded: Decoded = decoding()
    except ObjectInvalid as error:
        return ("invalid", *error.problems)
    return (to_manifest(decoded.object), *decoded.notices)


def problems_of(sample: Sample, manifest: Any) -> tuple[FieldProblem, ...]:
    """The problems of a manifest that has some."""
    with pytest.raises(ObjectInvalid) as raised:
        decode(sample.known, sample.version, manifest)
    assert str(raised.value) == "; ".join(map(str, raised.value.problems))
    return raised.value.problems


# --- kinds and versions --------------------------------------------------------------------------------------------


def test_there_is_a_sample_of_every_kind_and_version() -> None:
    """A kind that is added has to be tested."""
    assert {(sample.known, sample.version) for sample in SAMPLES} == {
        (known, version) for known in KNOWN_KINDS for version in known.versions
    }


@pytest.mark.parametrize(
    ("api_version", "kind"),
    [
        ("v1", "Service"),
        ("apps/v1", "Pod"),
        ("batch/v1", "Job"),
        ("kueue.x-k8s.io/v1beta2", "LocalQueue"),
        ("kueue.x-k8s.io/v1beta2", "Node"),
        ("apps/v1", "Node"),
        ("v1", "ClusterQueue"),
        ("v1beta2", "ClusterQueue"),
        ("example.com/v1beta2", "ClusterQueue"),
        ("kueue-dqo.dev/v1alpha1", "CapacityProvider"),
        ("kueue.x-k8s.io/v1alpha1", "CompositeParameters"),
        ("kueue.x-k8s.io/v1beta2", "clusterqueue"),
        ("", ""),
    ],
)
def test_a_kind_of_another_group_is_not_ours(api_version: str, kind: str) -> None:
    """Group and kind both count, and in any version."""
    assert known_kind(api_version, kind) is None


@pytest.mark.parametrize(
    ("api_version", "kind", "readable"),
    [
        ("v2", "Node", "v1"),
        ("kueue.x-k8s.io/v1", "ClusterQueue", "kueue.x-k8s.io/v1beta2 or kueue.x-k8s.io/v1beta1"),
        ("kueue.x-k8s.io/v1alpha1", "Cohort", "kueue.x-k8s.io/v1beta2 or kueue.x-k8s.io/v1beta1"),
        ("kueue.x-k8s.io/v1beta2", "CapacityProvider", "kueue.x-k8s.io/v1alpha1"),
        ("kueue.x-k8s.io/", "DynamicQuotaOrchestrator", "kueue.x-k8s.io/v1alpha1"),
        ("kueue-dqo.dev/v1", "NodeInventoryParameters", "kueue-dqo.dev/v1alpha1"),
    ],
)
def test_an_unknown_version_of_a_known_kind_is_refused(api_version: str, kind: str, readable: str) -> None:
    """Passing it over would count its capacity as nothing; the message says which versions are read."""
    with pytest.raises(ObjectInvalid) as raised:
        known_kind(api_version, kind)
    (problem,) = raised.value.problems
    assert problem.field == "apiVersion"
    assert repr(api_version) in problem.problem
    assert kind in problem.problem
    assert f"; {readable} is" in problem.problem


# --- from a manifest to an object ----------------------------------------------------------------------------------


@each_sample
def test_every_field_that_is_read_arrives_in_the_object(sample: Sample) -> None:
    """From a manifest and from JSON alike."""
    manifest = sample.manifest()
    raw = json.dumps(manifest).encode()
    expected = (parts(sample.object), ())
    for decoded in (
        decode(sample.known, sample.version, manifest),
        decode_json(sample.known, sample.version, raw),
        decode_json(sample.known, sample.version, msgspec.Raw(raw)),
    ):
        assert (parts(decoded.object), decoded.notices) == expected


@each_sample
def test_decoding_leaves_the_manifest_alone(sample: Sample) -> None:
    """The command shows it and works on it afterwards."""
    manifest = sample.manifest()
    manifest["metadata"]["annotations"] = None
    before = copy.deepcopy(manifest)
    decode(sample.known, sample.version, manifest)
    assert manifest == before


SPARSE_META: Final[dict[str, Any]] = {"name": "a", "uid": "", "annotations": {}, "managedFields": []}
SPARSE_PARAMETERS: Final[dict[str, Any]] = {
    "resources": {"include": [], "exclude": []},
    "headroom": [],
    "guards": {"fallAfter": "0s", "riseAfter": "0s"},
}
SPARSE: Final[dict[str, tuple[dict[str, Any], dict[str, Any]]]] = {
    "Node": (
        {"spec": {"taints": [{"key": "a", "effect": "b"}]}},
        {
            "metadata": {"name": "a", "uid": "", "labels": {}},
            "spec": {"unschedulable": False, "taints": [{"key": "a", "effect": "b", "value": ""}]},
            "status": {"allocatable": {}, "conditions": []},
        },
    ),
    "ClusterQueue": (
        {
            "spec": {"resourceGroups": [{}, {"flavors": [{"name": "a"}]}]},
            "status": {"flavorsUsage": [{"name": "a", "resources": [{"name": "b"}]}, {"name": "c"}]},
        },
        {
            "spec": {
                "resourceGroups": [
                    {"coveredResources": [], "flavors": []},
                    {"coveredResources": [], "flavors": [{"name": "a", "resources": []}]},
                ],
                "cohortName": "",
                "cohort": "",
                "admissionChecks": [],
                "admissionChecksStrategy": {"admissionChecks": []},
            },
            "status": {
                "flavorsReservation": [],
                "flavorsUsage": [
                    {"name": "a", "resources": [{"name": "b", "total": "0"}]},
                    {"name": "c", "resources": []},
                ],
            },
        },
    ),
    "Cohort": ({}, {"spec": {"resourceGroups": [], "parentName": ""}, "status": {}}),
    "ResourceFlavor": (
        {"spec": {"tolerations": [{}]}},
        {
            "spec": {
                "nodeLabels": {},
                "nodeTaints": [],
                "tolerations": [{"key": "", "operator": "", "value": "", "effect": ""}],
            }
        },
    ),
    "AdmissionCheck": ({}, {"spec": {"controllerName": ""}}),
    "MultiKueueConfig": ({}, {"spec": {"clusters": [], "quotaManagement": ""}}),
    "CapacityProvider": (
        {
            "spec": {"controllerName": "a", "orchestratedFlavors": [{"name": "a"}]},
            "status": {"capacity": {}, "conditions": [{"type": "A", "status": "True"}]},
        },
        {
            "spec": {"controllerName": "a", "orchestratedFlavors": [{"name": "a"}]},
            "status": {
                "capacity": {"flavors": []},
                "conditions": [{"type": "A", "status": "True", "reason": "", "message": ""}],
            },
        },
    ),
    "DynamicQuotaOrchestrator": (
        {
            "spec": {"capacityDiscovery": {"providers": [{"name": "a"}]}},
            "status": {"effectiveCapacity": {"flavors": [{"name": "a"}]}},
        },
        {
            "spec": {"capacityDiscovery": {"providers": [{"name": "a", "effectiveCapacityMultiplier": "1"}]}},
            "status": {"effectiveCapacity": {"flavors": [{"name": "a", "resources": {}}]}, "conditions": []},
        },
    ),
    "Pod": (
        {"spec": {"containers": [{"name": "a"}]}, "status": {"containerStatuses": [{"name": "a"}]}},
        {
            "metadata": {"name": "a", "namespace": "", "labels": {}},
            "spec": {
                "nodeName": "",
                "containers": [{"name": "a", "resources": {"requests": {}}, "restartPolicy": ""}],
                "initContainers": [],
                "overhead": {},
                "resources": {"requests": {}},
            },
            "status": {
                "phase": "",
                "containerStatuses": [{"name": "a", "allocatedResources": {}, "resources": {"requests": {}}}],
                "initContainerStatuses": [],
            },
        },
    ),
    "NodeInventoryParameters": (
        {"spec": {"excludedConditions": [{"type": "A"}]}},
        {
            "spec": SPARSE_PARAMETERS
            | {
                "nodeSelector": {"matchLabels": {}, "matchExpressions": []},
                "requiredResources": [],
                "excludedConditions": [{"type": "A", "status": "True"}],
                "readyDelay": "0s",
                "explicitZeros": [],
                "cordoned": "Exclude",
                "reserve": "None",
            }
        },
    ),
    "MultiKueueParameters": (
        {"spec": {"managerQueues": {"clusterQueues": ["a"]}, "flavorMapping": [{"workerFlavor": "b", "flavor": "c"}]}},
        {
            "spec": SPARSE_PARAMETERS
            | {
                "managerQueues": {"clusterQueues": ["a"]},
                "flavorMapping": [{"workerFlavor": "b", "flavor": "c", "clusters": []}],
                "counts": "QuotaInForce",
                "workerProviders": [],
                "inactiveQueues": "Exclude",
                "unavailableWorkers": {"grace": "5m", "afterGrace": "LeaveOut"},
            }
        },
    ),
    "ManualCapacity": (
        {"spec": {"baseline": {"flavors": [{"name": "a", "resources": {"cpu": 1}}]}}},
        {
            "spec": SPARSE_PARAMETERS
            | {"baseline": {"flavors": [{"name": "a", "resources": {"cpu": "1"}}]}, "overrides": []}
        },
    ),
    "CompositeParameters": (
        {"spec": {"members": [{"name": "a"}], "combine": "Min"}},
        {"spec": SPARSE_PARAMETERS | {"members": [{"name": "a"}], "combine": "Min", "onMemberNotReady": "Fail"}},
    ),
}


@pytest.mark.parametrize("kind", SPARSE)
def test_what_a_manifest_lacks_is_empty_or_has_its_default(kind: str) -> None:
    """A manifest from git has no status, nor what the API server fills in."""
    written, expected = SPARSE[kind]
    known = next(known for known in KNOWN_KINDS if known.kind == kind)
    manifest = {"metadata": {"name": "a"}} | written
    for decoded in (
        decode(known, known.versions[0], manifest),
        decode_json(known, known.versions[0], json.dumps(manifest).encode()),
    ):
        assert to_manifest(decoded.object) == {"metadata": SPARSE_META} | expected
        assert decoded.notices == ()


def test_of_managed_fields_any_part_may_be_absent() -> None:
    """So may the time and the reason of a condition."""
    content = {"metadata": {"name": "a", "managedFields": [{}]}}
    obj = decode(CLUSTER_QUEUE.known, "v1beta2", content).object
    assert obj.metadata.managed_fields == (ManagedFields("", "", "", None, None),)
    assert obj.metadata.uid == ""
    condition = Condition("A", "True")
    assert (condition.reason, condition.message) == ("", "")
    assert (condition.observed_generation, condition.last_transition_time) == (None, None)


def structs_in(kind: type[msgspec.Struct]) -> Iterator[type[msgspec.Struct]]:
    """The type and all that its fields are made of."""
    pending: list[msgspec.inspect.Type] = [msgspec.inspect.type_info(kind)]
    while pending:
        found = pending.pop()
        if isinstance(found, msgspec.inspect.StructType):
            yield typing.get_origin(found.cls) or found.cls
            pending += [field.type for field in found.fields]
        elif isinstance(found, msgspec.inspect.UnionType):
            pending += found.types
        elif isinstance(found, msgspec.inspect.VarTupleType):
            pending.append(found.item_type)


@pytest.mark.parametrize("kind", [known.type for known in KNOWN_KINDS], ids=str)
def test_an_object_does_not_change(kind: type[msgspec.Struct]) -> None:
    """Nor any of its parts: a snapshot is computed on while the next one comes in."""
    found = set(structs_in(kind))
    assert len(found) > 2
    assert [each.__name__ for each in found if not each.__struct_config__.frozen] == []


def test_a_multiplier_is_one_unless_it_is_given() -> None:
    """And one of 0 is given."""
    manifest = ORCHESTRATOR.manifest()
    providers = manifest["spec"]["capacityDiscovery"]["providers"]
    providers[:] = [{"name": "a"}, {"name": "b", "effectiveCapacityMultiplier": 0}]
    decoded = decode(ORCHESTRATOR.known, ORCHESTRATOR.version, manifest).object.spec.capacity_discovery.providers
    assert [provider.effective_capacity_multiplier for provider in decoded] == [Quantity.of(1), Quantity.of(0)]


def test_a_limit_of_zero_is_a_limit() -> None:
    """Only an absent one is none."""
    first, second = (
        decode(CLUSTER_QUEUE.known, "v1beta2", CLUSTER_QUEUE.manifest()).object.quotas[0].flavors[0].resources
    )
    assert first.lending_limit == Quantity.of(0)
    assert second.lending_limit is None


def test_effective_quotas_may_be_there_and_empty() -> None:
    """Then they are in force all the same: that is not the same as none."""
    manifest = CLUSTER_QUEUE.manifest()
    del manifest["status"]["effectiveQuotas"]["resourceGroups"]
    status = decode(CLUSTER_QUEUE.known, "v1beta2", manifest).object.status
    assert status.effective_quotas == EffectiveQuotas(EFFECTIVE_QUOTAS.orchestrator_ref, ())


@pytest.mark.parametrize("value", ["2147483648", 2147483648, "2Gi", 2147483648.0, "2147483648000m"])
def test_a_quantity_may_be_written_as_text_or_number(value: object) -> None:
    """By value it is the same, in a manifest and in JSON."""
    manifest = NODE.manifest()
    manifest["status"]["allocatable"] = {"memory": value}
    for decoded in (
        decode(NODE.known, "v1", manifest),
        decode_json(NODE.known, "v1", json.dumps(manifest).encode()),
    ):
        assert decoded.object.status.allocatable == {"memory": Quantity.of(2**31)}


def test_an_integer_beyond_64_bits_stays_exact() -> None:
    """Neither road goes through a float."""
    manifest = NODE.manifest()
    manifest["status"]["allocatable"] = {"memory": 2**64 + 1}
    for decoded in (
        decode(NODE.known, "v1", manifest),
        decode_json(NODE.known, "v1", json.dumps(manifest).encode()),
    ):
        assert decoded.object.status.allocatable == {"memory": Quantity.of(2**64 + 1)}


def test_a_float_is_read_and_its_author_is_told_to_quote_it() -> None:
    """The API server takes no fractions without quotes; each is named by its field and value."""
    manifest = ORCHESTRATOR.manifest()
    manifest["spec"]["capacityDiscovery"]["providers"][0]["effectiveCapacityMultiplier"] = 0.29
    manifest["status"]["effectiveCapacity"]["flavors"][0]["resources"]["cpu"] = 7.5
    decoded = decode(ORCHESTRATOR.known, ORCHESTRATOR.version, manifest)
    assert decoded.object.spec.capacity_discovery.providers[0].effective_capacity_multiplier == Quantity.of("290m")
    multiplier, cpu = decoded.notices
    assert multiplier.field == "spec.capacityDiscovery.providers[0].effectiveCapacityMultiplier"
    assert cpu.field.startswith("status.effectiveCapacity.flavors[0].resources")
    assert '"0.29"' in multiplier.problem
    assert '"7.5"' in cpu.problem


@pytest.mark.parametrize(("value", "text"), [(2.0, "2"), (0.0, "0"), (-0.0, "0"), (1e22, "10000E")])
def test_a_float_that_is_whole_is_as_an_integer(value: float, text: str) -> None:
    """It is passed on as one: there is nothing to quote."""
    manifest = ORCHESTRATOR.manifest()
    manifest["status"]["effectiveCapacity"]["flavors"][0]["resources"]["cpu"] = value
    decoded = decode(ORCHESTRATOR.known, ORCHESTRATOR.version, manifest)
    assert decoded.notices == ()
    assert str(decoded.object.status.effective_capacity.flavors[0].resources["cpu"]) == text


def test_a_float_in_a_node_is_nothing_to_tell() -> None:
    """Nodes are not applied from manifests."""
    manifest = NODE.manifest()
    manifest["status"]["allocatable"]["cpu"] = 0.5
    assert decode(NODE.known, "v1", manifest).notices == ()


# --- null, and fields that are not known ---------------------------------------------------------------------------


@each_sample
def test_a_null_field_is_as_an_absent_one(sample: Sample) -> None:
    """For every field and every entry of a mapping, required or not, from a manifest and from JSON."""
    for path, _ in places(sample.content):
        if isinstance(path[-1], int):
            continue
        without, null = sample.manifest(), sample.manifest()
        drop(without, path)
        put(null, path, None)
        expected = outcome(sample, without)
        assert outcome(sample, null) == expected, path
        assert outcome_json(sample, null) == expected, path
        assert outcome_json(sample, without) == expected, path


@each_sample
def test_a_null_in_a_list_is_refused(sample: Sample) -> None:
    """An entry cannot be absent."""
    for path, _ in places(sample.content):
        if isinstance(path[-1], int):
            manifest = sample.manifest()
            put(manifest, path, None)
            (problem,) = problems_of(sample, manifest)
            assert problem.field == field_of(sample.content, path)
            assert "null is nothing" in problem.problem


def structs(sample: Sample) -> Iterator[Path]:
    """The paths of all mappings that have fields."""
    yield ()
    for path, value in places(sample.content):
        if isinstance(value, dict) and not is_map(path, value):
            yield path


@pytest.mark.parametrize("value", [1, 0.5, "x", None, True, [], {"a": [1]}], ids=str)
@pytest.mark.parametrize(
    "sample",
    [sample for sample in SAMPLES if sample not in OUR_PARAMETERS],
    ids=lambda sample: f"{sample.kind}-{sample.version}",
)
def test_a_field_that_is_not_read_is_passed_over(sample: Sample, value: object) -> None:
    """API objects carry many more fields than the suite uses, and later versions bring others."""
    for path in structs(sample):
        manifest = sample.manifest()
        at(manifest, path)["unheardOf"] = value
        raw = json.dumps(manifest).encode()
        assert parts(decode(sample.known, sample.version, manifest).object) == parts(sample.object), path
        assert parts(decode_json(sample.known, sample.version, raw).object) == parts(sample.object), path


@pytest.mark.parametrize(
    ("sample", "path"),
    [
        pytest.param(sample, path, id=f"{sample.kind} {'.'.join(map(str, path))}")
        for sample in OUR_PARAMETERS
        for path in structs(sample)
        if path[:1] == ("spec",)
    ],
)
def test_an_unknown_field_of_our_parameters_is_refused(sample: Sample, path: Path) -> None:
    """A typo must not change a capacity: the default would be counted in its place."""
    manifest = sample.manifest()
    at(manifest, path)["inlcude"] = ["cpu"]
    expected = FieldProblem(
        field_of(sample.content, (*path, "inlcude")), "is no field of this kind: see its name and its place"
    )
    assert outcome(sample, manifest) == outcome_json(sample, manifest) == ("invalid", expected)


@pytest.mark.parametrize("sample", OUR_PARAMETERS, ids=lambda sample: sample.kind)
def test_metadata_of_our_parameters_may_hold_anything(sample: Sample) -> None:
    """It is Kubernetes' own and grows with it: labels, finalizers, owners are not read."""
    manifest = sample.manifest()
    manifest["metadata"] |= {"labels": {"a": "b"}, "resourceVersion": "7", "finalizers": ["x"]}
    assert parts(decode(sample.known, sample.version, manifest).object) == parts(sample.object)


@each_sample
def test_the_author_of_a_misspelt_field_is_told(sample: Sample) -> None:
    """In the specs that are read whole. Of other objects, and of what the API server fills in, only a part is known."""
    for path in structs(sample):
        if sample in OUR_PARAMETERS and path[:1] != ("metadata",):
            continue  # refused
        manifest = sample.manifest()
        at(manifest, path)["unheardOf"] = {"name": "a"}
        notices = decode(sample.known, sample.version, manifest).notices
        if sample in (CAPACITY_PROVIDER, ORCHESTRATOR) and path[:1] == ("spec",):
            (notice,) = notices
            place = field_of(sample.content, path)
            assert notice.field == f"{place}.unheardOf"
            told = re.fullmatch(r"is ignored: (.+) has no such field \(it has (.+)\)", notice.problem)
            assert told is not None
            assert told[1] == place
            assert sorted(told[2].split(", ")) == sorted(at(sample.content, path))
        else:
            assert notices == ()


def test_a_misspelt_field_is_told_beside_a_float() -> None:
    """Each notice stands for itself."""
    manifest = ORCHESTRATOR.manifest()
    manifest["spec"] = {
        "capacityDiscovery": {"providers": [{"name": "nodes", "multiplier": 0.5}]},
        "capacityDistributions": {},
    }
    notices = decode(ORCHESTRATOR.known, ORCHESTRATOR.version, manifest).notices
    assert sorted(notice.field for notice in notices) == [
        "spec.capacityDiscovery.providers[0].multiplier",
        "spec.capacityDiscovery.providers[0].multiplier",
        "spec.capacityDistributions",
    ]


# --- what is wrong, and where --------------------------------------------------------------------------------------

META_FIELDS: Final = {"metadata", "metadata.name"}
GROUP_FIELDS: Final = {"flavors[].name", "flavors[].resources[].name", "flavors[].resources[].nominalQuota"}
QUOTA_FIELDS: Final = {
    *(f"spec.resourceGroups[].{field}" for field in GROUP_FIELDS),
    *(f"status.effectiveQuotas.resourceGroups[].{field}" for field in GROUP_FIELDS),
    "status.effectiveQuotas.orchestratorRef",
    "status.effectiveQuotas.orchestratorRef.apiGroup",
    "status.effectiveQuotas.orchestratorRef.kind",
    "status.effectiveQuotas.orchestratorRef.name",
}
CONDITION_FIELDS: Final = {"status.conditions[].type", "status.conditions[].status"}
HEADROOM_FIELDS: Final = {"spec.headroom[].flavor", "spec.headroom[].resource"}
REQUIRED: Final = {
    "Node": META_FIELDS | CONDITION_FIELDS | {"spec.taints[].key", "spec.taints[].effect"},
    "ClusterQueue": META_FIELDS
    | QUOTA_FIELDS
    | {
        "spec.admissionChecksStrategy.admissionChecks[].name",
        "status.flavorsReservation[].name",
        "status.flavorsReservation[].resources[].name",
        "status.flavorsUsage[].name",
        "status.flavorsUsage[].resources[].name",
    },
    "Cohort": META_FIELDS | QUOTA_FIELDS,
    "ResourceFlavor": META_FIELDS | {"spec.nodeTaints[].key", "spec.nodeTaints[].effect"},
    "AdmissionCheck": META_FIELDS,
    "MultiKueueConfig": META_FIELDS,
    "CapacityProvider": META_FIELDS
    | CONDITION_FIELDS
    | {
        "spec",
        "spec.controllerName",
        "spec.orchestratedFlavors",
        "spec.orchestratedFlavors[].name",
        "spec.parameters.apiGroup",
        "spec.parameters.kind",
        "spec.parameters.name",
        "status.capacity.flavors[].name",
    },
    "DynamicQuotaOrchestrator": META_FIELDS
    | CONDITION_FIELDS
    | {
        "spec",
        "spec.capacityDiscovery",
        "spec.capacityDiscovery.providers",
        "spec.capacityDiscovery.providers[].name",
        "spec.capacityDistribution.subtreeRootQuotaRef",
        "spec.capacityDistribution.subtreeRootQuotaRef.kind",
        "spec.capacityDistribution.subtreeRootQuotaRef.name",
        "status.effectiveCapacity.flavors[].name",
    },
    "NodeGPUReport": META_FIELDS
    | {
        "spec.inventory.renewTime",
        "spec.inventory.heartbeatSeconds",
        "spec.inventory.devices[].name",
        "spec.inventory.devices[].healthy",
        "spec.inventory.unhealthy[].reason",
        "spec.inventory.unhealthy[].since",
        "spec.problem.reason",
        "spec.problem.message",
        "spec.problem.since",
    },
    "Pod": META_FIELDS
    | {
        "spec.containers[].name",
        "spec.initContainers[].name",
        "status.containerStatuses[].name",
        "status.initContainerStatuses[].name",
    },
    "NodeInventoryParameters": META_FIELDS
    | HEADROOM_FIELDS
    | {
        "spec",
        "spec.nodeSelector.matchExpressions[].key",
        "spec.nodeSelector.matchExpressions[].operator",
        "spec.requiredResources[].flavor",
        "spec.requiredResources[].resource",
        "spec.excludedConditions[].type",
        "spec.explicitZeros[].flavor",
        "spec.explicitZeros[].resources",
    },
    "CloudQuotaParameters": META_FIELDS
    | {
        "spec",
        "spec.headroom[].flavor",
        "spec.headroom[].resource",
        *(f"spec.aws.{name}" for name in ("regions", "flavors", "flavors[].name", "flavors[].entries")),
        *(f"spec.gcp.{name}" for name in ("project", "regions", "flavors", "flavors[].name", "flavors[].entries")),
        "spec.aws.assumeRole.arn",
        "spec.aws.flavors[].entries[].instanceType",
        "spec.aws.flavors[].entries[].quota.code",
        "spec.gcp.flavors[].entries[].machineType",
        "spec.gcp.flavors[].entries[].metric.name",
        "spec.gcp.flavors[].entries[].gpuFamily.name",
        "spec.gcp.flavors[].entries[].reservations.names",
    },
    "NvidiaGpuParameters": META_FIELDS
    | HEADROOM_FIELDS
    | {
        "spec",
        "spec.nodeSelector.matchExpressions[].key",
        "spec.nodeSelector.matchExpressions[].operator",
        "spec.sharing[].resource",
        "spec.sharing[].replicas",
    },
    "MultiKueueParameters": META_FIELDS
    | HEADROOM_FIELDS
    | {
        "spec",
        "spec.managerQueues",
        "spec.managerQueues.subtree.kind",
        "spec.managerQueues.subtree.name",
        "spec.flavorMapping[].workerFlavor",
        "spec.flavorMapping[].flavor",
    },
    "ManualCapacity": META_FIELDS
    | HEADROOM_FIELDS
    | {
        "spec",
        "spec.baseline",
        "spec.baseline.flavors",
        "spec.baseline.flavors[].name",
        "spec.baseline.flavors[].resources",
        "spec.overrides[].name",
        "spec.overrides[].begin",
        "spec.overrides[].end",
        "spec.overrides[].flavors",
        "spec.overrides[].flavors[].name",
        "spec.overrides[].flavors[].resources",
    },
    "CompositeParameters": META_FIELDS
    | HEADROOM_FIELDS
    | {"spec", "spec.members", "spec.members[].name", "spec.combine"},
}


@each_sample
def test_a_missing_field_is_named(sample: Sample) -> None:
    """With its whole path, from a manifest and from JSON; and no field but those of the table is required."""
    seen = set()
    for path, _ in places(sample.content):
        manifest = sample.manifest()
        drop(manifest, path)
        field = field_of(sample.content, path)
        kind_of_field = re.sub(r"\[[0-9]+\]", "[]", field)
        missing = ("invalid", FieldProblem(field, "is required and missing"))
        required = kind_of_field in REQUIRED[sample.kind]
        assert (outcome(sample, manifest) == missing) == required, field
        assert (outcome_json(sample, manifest) == missing) == required, field
        seen.add(kind_of_field)
    # Of two clouds, an object has one.
    others = tuple(f"spec.{cloud}." for cloud in CLOUDS if f"spec.{cloud}" not in seen)
    assert sample in (OLD_CLUSTER_QUEUE, MULTI_KUEUE_OF_A_LIST) or seen >= {
        each for each in REQUIRED[sample.kind] if not each.startswith(others)
    }


@each_sample
def test_a_value_of_the_wrong_type_is_named(sample: Sample) -> None:
    """At every place that is read: `true` where no boolean belongs, a text where one does."""
    for path, value in places(sample.content):
        if path[-2:-1] in {("annotations",), ("labels",), ("nodeLabels",)}:
            continue  # entries of such mappings have a test of their own
        manifest = sample.manifest()
        put(manifest, path, "maybe" if isinstance(value, bool) else True)
        (problem,) = problems_of(sample, manifest)
        assert problem.field == field_of(sample.content, path)
        assert ("maybe" if isinstance(value, bool) else "true") in problem.problem.lower()
        assert outcome_json(sample, manifest) == ("invalid", problem)


@pytest.mark.parametrize(
    ("sample", "path", "value", "problem"),
    [
        (NODE, ("metadata", "name"), 5, "5 is an integer; a string is wanted: quote it"),
        (NODE, ("metadata", "name"), 0.5, "0.5 is a number with a fraction; a string is wanted: quote it"),
        (NODE, ("metadata", "name"), False, "false is true or false; a string is wanted: quote it"),
        (NODE, ("metadata", "name"), ["a"], '["a"] is a list; a string is wanted'),
        (NODE, ("metadata", "name"), {"a": 1}, '{"a":1} is a mapping; a string is wanted'),
        (NODE, ("metadata", "name"), ["a", "b"], '["a","b"] is a list; a string is wanted'),
        (NODE, ("metadata", "name"), {"\N{SNOWMAN}": 1}, '{"\N{SNOWMAN}":1} is a mapping; a string is wanted'),
        (NODE, ("metadata",), "x", '"x" is a string; a mapping is wanted'),
        (NODE, ("spec", "taints"), {"key": "a"}, '{"key":"a"} is a mapping; a list is wanted'),
        (NODE, ("spec", "taints", 0), "a:NoSchedule", '"a:NoSchedule" is a string; a mapping is wanted'),
        (NODE, ("spec", "unschedulable"), "true", '"true" is a string; true or false is wanted'),
        (NODE, ("spec", "unschedulable"), 1, "1 is an integer; true or false is wanted"),
        (CLUSTER_QUEUE, ("metadata", "generation"), "3", '"3" is a string; an integer is wanted'),
        (CLUSTER_QUEUE, ("metadata", "generation"), 1.5, "1.5 is a number with a fraction; an integer is wanted"),
        (
            CLUSTER_QUEUE,
            ("spec", "resourceGroups", 0, "coveredResources", 1),
            7,
            "7 is an integer; a string is wanted: quote it",
        ),
        (CLUSTER_QUEUE, ("spec", "cohortName"), ["x" * 56], '["' + "x" * 56 + '"] is a list; a string is wanted'),
        (CLUSTER_QUEUE, ("spec", "cohortName"), ["x" * 57], '["' + "x" * 57 + '"… is a list; a string is wanted'),
        (CLUSTER_QUEUE, ("spec", "cohortName"), ["x" * 500], '["' + "x" * 58 + "… is a list; a string is wanted"),
    ],
)
def test_a_wrong_type_is_explained(sample: Sample, path: Path, value: object, problem: str) -> None:
    """The value that stands there, what it is, what is wanted; and where quotes would do, that."""
    manifest = sample.manifest()
    put(manifest, path, value)
    (found,) = problems_of(sample, manifest)
    assert found.field == field_of(sample.content, path)
    assert found.problem == problem


@pytest.mark.parametrize(
    ("field", "sample"),
    [
        ("metadata.annotations", CLUSTER_QUEUE),
        ("metadata.labels", NODE),
        ("spec.nodeLabels", RESOURCE_FLAVOR),
    ],
    ids=lambda value: value.kind if isinstance(value, Sample) else value,
)
@pytest.mark.parametrize(("value", "shown"), [(5, "5 is an integer"), (True, "true is true or false")])
def test_in_a_mapping_of_texts_the_wrong_entry_is_named(field: str, sample: Sample, value: object, shown: str) -> None:
    """A label such as `gpus: 8` without quotes is a common slip; the entries around it are fine."""
    manifest = sample.manifest()
    outer, name = field.split(".")
    for before in ("text", "12"):
        manifest[outer][name] = {"first": before, "second": value, "third": "16Gi"}
        (problem,) = problems_of(sample, manifest)
        assert problem.field == f"{field}[second]"
        assert problem.problem == f"{shown}; a string is wanted: quote it"


@pytest.mark.parametrize("bad", ["1K", "1 Gi", "", "NaN", True, [], {}, "x" * 300], ids=lambda bad: str(bad)[:9])
@pytest.mark.parametrize(
    ("sample", "path"),
    [
        (NODE, ("status", "allocatable", "memory")),
        (CLUSTER_QUEUE, ("spec", "resourceGroups", 0, "flavors", 0, "resources", 1, "nominalQuota")),
        (CLUSTER_QUEUE, ("status", "flavorsUsage", 0, "resources", 0, "total")),
        (CAPACITY_PROVIDER, ("status", "capacity", "flavors", 0, "resources", "nvidia.com/gpu")),
        (ORCHESTRATOR, ("spec", "capacityDiscovery", "providers", 0, "effectiveCapacityMultiplier")),
    ],
    ids=lambda value: value.kind if isinstance(value, Sample) else str(value[-1]),
)
def test_a_bad_quantity_is_named_and_shown(sample: Sample, path: Path, bad: object) -> None:
    """With its field, the value found there and how to write one."""
    manifest = sample.manifest()
    put(manifest, path, bad)
    (problem,) = problems_of(sample, manifest)
    assert problem.field == field_of(sample.content, path)
    assert repr(bad)[:40] in problem.problem
    assert "16Gi" in problem.problem
    assert len(problem.problem) < 250
    assert outcome_json(sample, manifest) == ("invalid", problem)


@each_sample
@pytest.mark.parametrize(
    ("content", "shown"),
    [([1], "[1] is a list"), ("x", '"x" is a string'), (None, "null is nothing"), (7, "7 is an integer")],
)
def test_a_document_that_is_no_mapping_is_refused(sample: Sample, content: object, shown: str) -> None:
    """There is no field to name then."""
    problem = FieldProblem("the document", f"{shown}; a mapping is wanted")
    assert outcome(sample, content) == outcome_json(sample, content) == ("invalid", problem)


@pytest.mark.parametrize(
    "raw", [b"", b" ", b"{", b'{"metadata": {"name": "a"}} x', b"metadata: {name: a}", b'{"a": "\xff"}', b"{'a': 1}"]
)
def test_what_is_no_json_is_refused_as_a_document(raw: bytes) -> None:
    """It has no fields that could be wrong."""
    with pytest.raises(ObjectInvalid) as raised:
        decode_json(NODE.known, "v1", raw)
    (problem,) = raised.value.problems
    assert problem.field == "the document"
    assert problem.problem.startswith("is no JSON: ")
    with pytest.raises(ObjectInvalid) as raised:
        plain_json(raw)
    assert raised.value.problems == (problem,)


def test_json_becomes_plain_content() -> None:
    """Null included, and integers of any size."""
    raw = b'{"a": [1, 2.5, null, true, "x", 18446744073709551617]}'
    content = {"a": [1, 2.5, None, True, "x", 2**64 + 1]}
    assert plain_json(raw) == plain_json(msgspec.Raw(raw)) == content


def test_limits_are_checked_on_both_roads() -> None:
    """What decodes may still be refused, with all that is wrong in it at once."""
    manifest = CAPACITY_PROVIDER.manifest()
    manifest["metadata"]["name"] = "Sample"
    manifest["spec"]["controllerName"] = ""
    manifest["spec"]["orchestratedFlavors"] = [{"name": "a"}, {"name": "a"}]
    problems = problems_of(CAPACITY_PROVIDER, manifest)
    assert [problem.field for problem in problems] == [
        "metadata.name",
        "spec.controllerName",
        "spec.orchestratedFlavors",
    ]
    assert outcome_json(CAPACITY_PROVIDER, manifest) == ("invalid", *problems)


# --- any manifest at all -------------------------------------------------------------------------------------------

anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)


@st.composite
def altered(draw: st.DrawFn) -> tuple[Sample, Any]:
    """A sample, and its manifest with some values replaced, removed or added."""
    sample = draw(st.sampled_from(SAMPLES))
    manifest = sample.manifest()
    for _ in range(draw(st.integers(1, 3))):
        path, value = draw(st.sampled_from([((), manifest), *places(manifest)]))
        if isinstance(value, dict) and draw(st.booleans()):
            value[draw(st.sampled_from(["name", "resources", "spec", "x"]))] = draw(anything)
        elif path and draw(st.booleans()):
            put(manifest, path, draw(anything))
        elif path:
            drop(manifest, path)
    return sample, manifest


@given(altered())
def test_a_manifest_and_its_json_come_to_the_same(case: tuple[Sample, Any]) -> None:
    """Object or problems, whatever was done to the manifest; nothing but ObjectInvalid is raised."""
    sample, manifest = case
    from_dict, from_json = outcome(sample, manifest), outcome_json(sample, manifest)
    if from_dict[0] == "invalid":
        assert from_json == from_dict
    else:
        assert from_json[0] == from_dict[0]


@given(altered())
def test_a_problem_is_somewhere_in_the_manifest(case: tuple[Sample, Any]) -> None:
    """Every field that is named has a value, or is missing from a mapping that is there."""
    sample, manifest = case
    found = outcome(sample, manifest)
    if found[0] != "invalid":
        return
    fields = {field_of(manifest, path) for path, _ in places(manifest)} | {"the document"}
    for field, _ in found[1:]:
        absent = not field.endswith("]") and field.rpartition(".")[0] in fields | {""}
        assert field in fields or absent or field.startswith("metadata.managedFields")


def test_half_a_surrogate_pair_is_read_as_the_api_server_reads_it() -> None:
    r"""JSON can spell one, `\ud800`: it becomes the character that stands for none. Whole pairs are characters."""
    manifest = CLUSTER_QUEUE.manifest()
    written = {"half": "a\ud800b", "other half": "\udc00", "\ud800": "key", "pair": "\N{SNOWMAN}\N{GRINNING FACE}"}
    read = {"half": "a\ufffdb", "other half": "\ufffd", "\ufffd": "key", "pair": "\N{SNOWMAN}\N{GRINNING FACE}"}
    manifest["metadata"]["annotations"] = written
    raw = json.dumps(manifest).encode()
    assert decode(CLUSTER_QUEUE.known, "v1beta2", manifest).object.metadata.annotations == read
    assert decode_json(CLUSTER_QUEUE.known, "v1beta2", raw).object.metadata.annotations == read


def test_half_a_surrogate_pair_can_be_shown() -> None:
    """A message has to go out in UTF-8, whatever is wrong."""
    manifest = NODE.manifest()
    for value in (["\ud800"], "\ud800"):
        manifest["metadata"]["name"] = value
        (problem,) = problems_of(NODE, manifest)
        assert problem.field == "metadata.name"
        assert problem.problem.encode()


# --- the parent of a ClusterQueue ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("version", "spec", "parent", "ignored"),
    [
        ("v1beta2", {}, "", None),
        ("v1beta2", {"cohortName": "new"}, "new", None),
        ("v1beta2", {"cohort": "old"}, "", "cohort"),
        ("v1beta2", {"cohort": "old", "cohortName": "new"}, "new", "cohort"),
        ("v1beta2", {"cohort": "same", "cohortName": "same"}, "same", "cohort"),
        ("v1beta2", {"cohort": "", "cohortName": "new"}, "new", None),
        ("v1beta2", {"cohort": None, "cohortName": "new"}, "new", None),
        ("v1beta1", {}, "", None),
        ("v1beta1", {"cohort": "old"}, "old", None),
        ("v1beta1", {"cohortName": "new"}, "", "cohortName"),
        ("v1beta1", {"cohort": "old", "cohortName": "new"}, "old", "cohortName"),
        ("v1beta1", {"cohort": "same", "cohortName": "same"}, "same", "cohortName"),
        ("v1beta1", {"cohort": "old", "cohortName": None}, "old", None),
    ],
)
def test_the_parent_stands_in_the_field_of_the_version(
    version: str, spec: dict[str, Any], parent: str, ignored: str | None
) -> None:
    """As on the API server, the other version's field has no effect; its author is told."""
    known = CLUSTER_QUEUE.known
    manifest = {"metadata": {"name": "a"}, "spec": spec}
    decoded = decode(known, version, manifest)
    assert decoded.object.parent == parent
    assert decode_json(known, version, json.dumps(manifest).encode()) == decoded
    if ignored is None:
        assert decoded.notices == ()
    else:
        (notice,) = decoded.notices
        assert notice.field == f"spec.{ignored}"
        read = "cohortName" if ignored == "cohort" else "cohort"
        assert notice.problem == f"{spec[ignored]!r} is ignored: {version} calls this field spec.{read}"


@pytest.mark.parametrize("version", ["v1beta1", "v1beta2"])
def test_a_cohort_has_its_parent_in_one_field_in_every_version(version: str) -> None:
    """Only ClusterQueues changed the name of theirs."""
    known = known_kind(f"kueue.x-k8s.io/{version}", "Cohort")
    assert known is not None
    decoded = decode(known, version, {"metadata": {"name": "a"}, "spec": {"parentName": "b"}})
    assert decoded.object.parent == "b"
    assert decoded.notices == ()


# --- quotas in annotations -----------------------------------------------------------------------------------------


def test_resource_groups_are_read_from_text() -> None:
    """As an annotation holds them; null is as absent there too."""
    text = json.dumps(GROUPS)
    assert decode_groups(text) == RESOURCE_GROUPS
    with_null = copy.deepcopy(GROUPS)
    put(with_null, (0, "flavors", 0, "resources", 1, "borrowingLimit"), None)
    assert decode_groups(json.dumps(with_null)) == RESOURCE_GROUPS
    assert decode_groups("[]") == ()


def test_effective_quotas_are_read_from_text() -> None:
    """With who wrote them."""
    assert decode_quotas(json.dumps(EFFECTIVE)) == EFFECTIVE_QUOTAS
    assert decode_quotas(json.dumps(EFFECTIVE | {"resourceGroups": None})).resource_groups == ()


@pytest.mark.parametrize(
    ("text", "field"),
    [
        ("", None),
        ("no json", None),
        ("[", None),
        ("[" * 100_000 + "]" * 100_000, "the text"),
        ("{}", "the document"),
        ('["cpu"]', "[0]"),
        ('[{"flavors": [{"name": 1}]}]', "[0].flavors[0].name"),
        ('[{"flavors": [{"name": "a", "resources": [{"name": "cpu", "nominalQuota": "1K"}]}]}]', None),
        (json.dumps([{}] * 17), "resourceGroups"),
        ('[{"coveredResources": ["cpu", "cpu"]}]', "resourceGroups[0].coveredResources"),
        (
            '[{"flavors": [{"name": "a", "resources": [{"name": "cpu", "nominalQuota": -1}]}]}]',
            "resourceGroups[0].flavors[0].resources[0].nominalQuota",
        ),
    ],
    ids=lambda value: str(value)[:30],
)
def test_bad_resource_groups_in_a_text_are_a_value_error(text: str, field: str | None) -> None:
    """Whether the text is no JSON, has wrong types or breaks a limit."""
    with pytest.raises(ValueError, match=r".") as raised:
        decode_groups(text)
    if field is not None:
        assert isinstance(raised.value, ObjectInvalid)
        assert [problem.field for problem in raised.value.problems] == [field]


@pytest.mark.parametrize(
    ("text", "field"),
    [
        ("no json", None),
        ("[]", "the document"),
        ("{}", "orchestratorRef"),
        (json.dumps(EFFECTIVE | {"resourceGroups": [{}] * 17}), "resourceGroups"),
        (json.dumps(EFFECTIVE | {"resourceGroups": 5}), "resourceGroups"),
    ],
)
def test_bad_effective_quotas_in_a_text_are_a_value_error(text: str, field: str | None) -> None:
    """As for resource groups."""
    with pytest.raises(ValueError, match=r".") as raised:
        decode_quotas(text)
    if field is not None:
        assert isinstance(raised.value, ObjectInvalid)
        assert [problem.field.removeprefix("the document.") for problem in raised.value.problems] == [field]


# --- back to a manifest --------------------------------------------------------------------------------------------


@each_sample
def test_a_manifest_written_from_an_object_decodes_to_it(sample: Sample) -> None:
    """In plain values that JSON can hold, and without a null."""
    manifest = to_manifest(sample.object)
    assert all(value is not None for _, value in places(manifest))
    assert json.loads(json.dumps(manifest)) == manifest
    raw = json.dumps(manifest).encode()
    assert parts(decode(sample.known, sample.version, manifest).object) == parts(sample.object)
    assert parts(decode_json(sample.known, sample.version, raw).object) == parts(sample.object)


@each_sample
def test_what_was_written_by_hand_is_in_the_manifest(sample: Sample) -> None:
    """Field by field, quantities in canonical form."""
    written = to_manifest(sample.object)
    for path, value in places(sample.content):
        if isinstance(value, dict | list):
            continue
        got = at(written, path)
        quantity = isinstance(got, str) and got != value
        assert (Quantity.of(got) == Quantity.of(value)) if quantity else (got == value), path


def test_quantities_are_written_in_canonical_form() -> None:
    """In the format that came in."""
    capacity = FlavorCapacity(
        "a", {name: Quantity.of(name) for name in ("1000m", "1024Ki", "1.5Gi", "1e4", "0.29", "12Ei", "5.")}
    )
    assert to_manifest(capacity) == {
        "name": "a",
        "resources": {
            "1000m": "1",
            "1024Ki": "1Mi",
            "1.5Gi": "1536Mi",
            "1e4": "10e3",
            "0.29": "290m",
            "12Ei": "12Ei",
            "5.": "5",
        },
    }


def test_an_absent_limit_is_not_written() -> None:
    """A null limit would not be the same to every reader."""
    assert to_manifest(ResourceQuota("cpu", Quantity.of(1), lending_limit=Quantity.of(0))) == {
        "name": "cpu",
        "nominalQuota": "1",
        "lendingLimit": "0",
    }


def test_a_condition_is_written_without_what_it_lacks() -> None:
    """But with its reason and its message, be they empty: the API server wants both of them there."""
    assert to_manifest((Condition("Ready", "True"), CONDITION)) == [
        {"type": "Ready", "status": "True", "reason": "", "message": ""},
        CONDITIONS[0],
    ]


def test_what_is_no_object_of_ours_is_not_written() -> None:
    """A slip in the code shows at once."""
    with pytest.raises(TypeError):
        to_manifest({"value": object()})


amounts = st.builds(Quantity, st.integers(0, 10**24), st.sampled_from(Format))
limits = st.none() | amounts
quotas = st.tuples(st.integers(0, 2), st.sampled_from("abc"), st.sampled_from("xyz"), amounts, limits, limits)


def groups_of(
    rows: list[tuple[int, str, str, Quantity, Quantity | None, Quantity | None]],
) -> tuple[ResourceGroup, ...]:
    """Resource groups of quotas: each with its group, flavor and resource."""
    found: dict[int, dict[str, list[ResourceQuota]]] = {}
    for group, flavor, resource, nominal, borrowing, lending in rows:
        quota = ResourceQuota(resource, nominal, borrowing, lending)
        found.setdefault(group, {}).setdefault(f"{flavor}{group}", []).append(quota)
    return tuple(
        ResourceGroup(
            tuple({quota.name for each in flavors.values() for quota in each}),
            tuple(FlavorQuotas(name, tuple(each)) for name, each in flavors.items()),
        )
        for flavors in found.values()
    )


groups = st.lists(quotas, max_size=5, unique_by=lambda row: row[:3]).map(groups_of)


@given(groups)
def test_resource_groups_go_through_a_text_unchanged(written: tuple[ResourceGroup, ...]) -> None:
    """Values to the nano, absent limits, order: all of it."""
    assert decode_groups(json.dumps(to_manifest(written))) == written
    effective = EffectiveQuotas(OrchestratorRef("a", "b", "c"), written)
    assert decode_quotas(json.dumps(to_manifest(effective))) == effective
