"""Jobs out of the ordinary, what surrounds them, and the Workloads that Kueue makes of them.

The unit tests compare these with what is written here, the integration test with the real Kueue.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

Manifest = dict[str, Any]

PLAIN: Final = "plain"
LIMITED: Final = "limited"
"""A namespace with LimitRanges and a LocalQueue for Jobs that name none."""
GPU: Final = "nvidia.com/gpu"
MIG: Final = "nvidia.com/mig-1g.5gb"
IGNORED: Final = "ignored.example.com/token"

CONFIGURATION: Final[Manifest] = {
    "resources": {
        "excludeResourcePrefixes": ["ignored.example.com/"],
        "transformations": [
            {
                "input": MIG,
                "strategy": "Replace",
                "outputs": {"example.com/gpu-memory": "5Gi", "example.com/slices": "1"},
            },
            {"input": "example.com/licence", "outputs": {"example.com/credits": "2.5"}},
        ],
    }
}
"""What the manager is told beyond the defaults."""

SURROUNDINGS: Final[tuple[Manifest, ...]] = (
    *({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}} for name in (PLAIN, LIMITED)),
    {
        "apiVersion": "v1",
        "kind": "LimitRange",
        "metadata": {"name": "containers", "namespace": LIMITED},
        "spec": {
            "limits": [
                {
                    "type": "Container",
                    "default": {"cpu": "2"},
                    "defaultRequest": {"memory": "64Mi"},
                    "max": {"cpu": "4", "memory": "1Gi"},
                    "min": {"cpu": "50m"},
                }
            ]
        },
    },
    {
        "apiVersion": "v1",
        "kind": "LimitRange",
        "metadata": {"name": "pods", "namespace": LIMITED},
        "spec": {"limits": [{"type": "Pod", "max": {"cpu": "6"}}]},
    },
    {
        "apiVersion": "node.k8s.io/v1",
        "kind": "RuntimeClass",
        "metadata": {"name": "sandboxed"},
        "handler": "sandbox",
        "overhead": {"podFixed": {"cpu": "250m", "memory": "120Mi"}},
    },
    {"apiVersion": "node.k8s.io/v1", "kind": "RuntimeClass", "metadata": {"name": "bare"}, "handler": "bare"},
    {
        "apiVersion": "scheduling.k8s.io/v1",
        "kind": "PriorityClass",
        "metadata": {"name": "batch"},
        "value": 7,
        "globalDefault": True,
    },
    {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": "urgent"}, "value": 1000},
    {
        "apiVersion": "kueue.x-k8s.io/v1beta2",
        "kind": "WorkloadPriorityClass",
        "metadata": {"name": "research"},
        "value": -5,
    },
)

QUEUE: Final = "team"
COVERED: Final = ("cpu", "memory", "hugepages-2Mi", GPU, "example.com/gpu-memory", "example.com/slices",
                  "example.com/licence", "example.com/credits", "ephemeral-storage")  # fmt: skip
QUEUES: Final[tuple[Manifest, ...]] = (
    {"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "ResourceFlavor", "metadata": {"name": "any"}, "spec": {}},
    {
        "apiVersion": "kueue.x-k8s.io/v1beta2",
        "kind": "ClusterQueue",
        "metadata": {"name": QUEUE},
        "spec": {
            "namespaceSelector": {},
            "resourceGroups": [
                {
                    "coveredResources": list(COVERED),
                    "flavors": [
                        {"name": "any", "resources": [{"name": each, "nominalQuota": "1P"} for each in COVERED]}
                    ],
                }
            ],
        },
    },
    *(
        {
            "apiVersion": "kueue.x-k8s.io/v1beta2",
            "kind": "LocalQueue",
            "metadata": {"name": name, "namespace": namespace},
            "spec": {"clusterQueue": QUEUE},
        }
        for name, namespace in ((QUEUE, PLAIN), (QUEUE, LIMITED), ("default", LIMITED))
    ),
)
"""Quota for all of them, so that what each is counted for can be read from its admission."""


class OddJob(NamedTuple):
    """A Job, and the Workload that becomes of it."""

    job: Manifest
    usage: dict[str, int]
    """Of all its pods, in Kueue's units: milli for cpu, 1 for every other resource."""
    pods: int = 1
    fewest: int | None = None
    queue: str = QUEUE
    priority: int = 7
    priority_class: str = "batch"
    forbidden: str = ""
    """Why Kueue finds the Workload inadmissible; `usage` is then what it would have been counted for."""

    @property
    def name(self) -> str:
        """Of the Job."""
        return str(self.job["metadata"]["name"])


def container(requests: Manifest | None = None, limits: Manifest | None = None, **more: Any) -> Manifest:
    """One that asks for this."""
    resources = {name: value for name, value in (("requests", requests), ("limits", limits)) if value is not None}
    return {"name": "main", "image": "none", "resources": resources, **more}


def job(
    name: str,
    *containers: Manifest,
    init: tuple[Manifest, ...] = (),
    namespace: str = PLAIN,
    queue: str | None = QUEUE,
    labels: Manifest | None = None,
    annotations: Manifest | None = None,
    pod: Manifest | None = None,
    **spec: Any,
) -> Manifest:
    """A suspended Job with these containers."""
    for index, each in enumerate((*init, *containers)):
        each["name"] = f"c{index}"
    queue_label = {} if queue is None else {"kueue.x-k8s.io/queue-name": queue}
    pod_spec: Manifest = {"restartPolicy": "Never", "containers": list(containers), **(pod or {})}
    if init:
        pod_spec["initContainers"] = list(init)
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {
            "name": name,
            "namespace": namespace,
            "labels": {**queue_label, **(labels or {})},
            "annotations": annotations or {},
        },
        "spec": {"suspend": True, "template": {"spec": pod_spec}, **spec},
    }


def _sidecar(requests: Manifest) -> Manifest:
    return container(requests, restartPolicy="Always")


_GIB: Final = 2**30
_MIB: Final = 2**20
_PREFERRED: Final = "preferredDuringSchedulingIgnoredDuringExecution"
_AFFINITY: Final[Manifest] = {
    "nodeAffinity": {
        "requiredDuringSchedulingIgnoredDuringExecution": {
            "nodeSelectorTerms": [
                {"matchExpressions": [{"key": "zone", "operator": "In", "values": ["a", "b"]}]},
                {"matchExpressions": [{"key": "cores", "operator": "Gt", "values": ["8"]}]},
            ]
        },
        _PREFERRED: [
            {"weight": 1, "preference": {"matchExpressions": [{"key": "disk", "operator": "Exists"}]}},
        ],
    }
}
_TEMPLATE: Final = "spec.podSets[0].template.spec"

ODD_JOBS: Final = (
    # quantities
    OddJob(job("a-tenth-of-a-milli", container({"cpu": "0.1m"})), {"cpu": 1}),
    OddJob(job("each-pod-rounded-up", container({"cpu": "0.1m"}), parallelism=5, completions=5), {"cpu": 5}, pods=5),
    OddJob(job("tenths-do-not-add-up", container({"cpu": "0.4m"}), container({"cpu": "0.4m"})), {"cpu": 2}),
    OddJob(job("exponent", container({"cpu": "1e3", "memory": "1e3"})), {"cpu": 1_000_000, "memory": 1000}),
    OddJob(job("fraction-of-a-gibibyte", container({"memory": "1.5Gi"})), {"memory": 3 * _GIB // 2}),
    OddJob(job("fraction-of-a-byte", container({"memory": "1500m"}), parallelism=2), {"memory": 4}, pods=2),
    OddJob(job("nothing-asked", container()), {}),
    OddJob(job("nothing-of-it", container({"cpu": "0"})), {"cpu": 0}),
    # pods at a time
    OddJob(job("fewer-to-complete", container({"cpu": "1"}), parallelism=4, completions=3), {"cpu": 3000}, pods=3),
    OddJob(job("more-to-complete", container({"cpu": "1"}), parallelism=2, completions=9), {"cpu": 2000}, pods=2),
    OddJob(job("completions-alone", container({"cpu": "1"}), completions=9), {"cpu": 1000}),
    OddJob(job("parallelism-alone", container({"cpu": "1"}), parallelism=3), {"cpu": 3000}, pods=3),
    OddJob(
        job(
            "partial", container({"cpu": "1"}), parallelism=3, completions=3,
            annotations={"kueue.x-k8s.io/job-min-parallelism": "2"},
        ),
        {"cpu": 3000}, pods=3, fewest=2,
    ),
    # containers
    OddJob(job("two-containers", container({"cpu": "1"}), container({"cpu": "2", "memory": "1Gi"})),
           {"cpu": 3000, "memory": _GIB}),
    OddJob(job("a-start-that-takes-more", container({"cpu": "1", "memory": "2Gi"}), init=(container({"cpu": "5"}),)),
           {"cpu": 5000, "memory": 2 * _GIB}),
    OddJob(job("starts-one-by-one", container({"cpu": "1"}), init=(container({"cpu": "2"}), container({"cpu": "3"}))),
           {"cpu": 3000}),
    OddJob(job("a-sidecar", container({"cpu": "1"}), init=(_sidecar({"cpu": "500m"}),)), {"cpu": 1500}),
    OddJob(job("a-start-beside-a-sidecar", container({"cpu": "1"}),
               init=(_sidecar({"cpu": "2"}), container({"cpu": "3"}), _sidecar({"cpu": "1"}))), {"cpu": 5000}),
    OddJob(job("a-start-before-a-sidecar", container({"cpu": "1"}),
               init=(container({"cpu": "3"}), _sidecar({"cpu": "2"}))), {"cpu": 3000}),
    OddJob(job("of-the-pod", container({"cpu": "1", "memory": "1Gi"}), pod={"resources": {"requests": {"cpu": "4"}}}),
           {"cpu": 4000, "memory": _GIB}),
    OddJob(job("limits-of-the-pod", container(), pod={"resources": {"limits": {"cpu": "4"}}}), {"cpu": 4000}),
    # limits
    OddJob(job("limits-only", container(limits={"cpu": "2", "memory": "1Gi"})), {"cpu": 2000, "memory": _GIB}),
    OddJob(job("limits-where-requests-lack", container({"cpu": "1"}, {"cpu": "2", "memory": "1Gi"})),
           {"cpu": 1000, "memory": _GIB}),
    OddJob(job("limits-of-a-start", container({"cpu": "1"}), init=(container(limits={"cpu": "2"}),)), {"cpu": 2000}),
    # limit ranges
    OddJob(job("defaults", container(), namespace=LIMITED), {"cpu": 2000, "memory": 64 * _MIB}),
    OddJob(job("defaults-of-a-start", container({"cpu": "1"}), init=(container(),), namespace=LIMITED),
           {"cpu": 2000, "memory": 64 * _MIB}),
    OddJob(job("own-limits-kept", container(limits={"cpu": "1"}), namespace=LIMITED),
           {"cpu": 2000, "memory": 64 * _MIB},
           forbidden=f'resources validation failed: {_TEMPLATE}.containers[0]: Invalid value: ["cpu"]: '
                     "requests must not exceed its limits"),
    OddJob(job("above-a-maximum", container({"cpu": "5"}, {"cpu": "5"}), namespace=LIMITED),
           {"cpu": 5000, "memory": 64 * _MIB},
           forbidden="resources didn't satisfy LimitRange constraints: "
                     f'{_TEMPLATE}.containers[0]: Invalid value: ["cpu"]: '
                     "requests must not be above the limitRange max"),
    OddJob(job("below-a-minimum", container({"cpu": "10m"}), namespace=LIMITED),
           {"cpu": 10, "memory": 64 * _MIB},
           forbidden="resources didn't satisfy LimitRange constraints: "
                     f'{_TEMPLATE}.containers[0]: Invalid value: ["cpu"]: '
                     "requests must not be below the limitRange min"),
    OddJob(job("too-many-for-a-pod", *(container({"cpu": "2"}) for _ in range(4)), namespace=LIMITED),
           {"cpu": 8000, "memory": 256 * _MIB},
           forbidden="resources didn't satisfy LimitRange constraints: "
                     f'{_TEMPLATE}: Invalid value: ["cpu"]: requests must not be above the limitRange max'),
    OddJob(job("two-things-forbidden", container({"cpu": "10m"}), container({"cpu": "5"}, {"cpu": "5"}),
               namespace=LIMITED),
           {"cpu": 5010, "memory": 128 * _MIB},
           forbidden="resources didn't satisfy LimitRange constraints: "
                     f'[{_TEMPLATE}.containers[0]: Invalid value: ["cpu"]: '
                     "requests must not be below the limitRange min, "
                     f'{_TEMPLATE}.containers[1]: Invalid value: ["cpu"]: '
                     "requests must not be above the limitRange max]"),
    # overhead
    OddJob(job("overhead", container({"cpu": "1"}), pod={"runtimeClassName": "sandboxed"}, parallelism=2),
           {"cpu": 2500, "memory": 240 * _MIB}, pods=2),
    OddJob(job("no-overhead", container({"cpu": "1"}), pod={"runtimeClassName": "bare"}), {"cpu": 1000}),
    OddJob(job("unknown-runtime", container({"cpu": "1"}), pod={"runtimeClassName": "unheard-of"}), {"cpu": 1000}),
    # resources that count as others, or not at all
    OddJob(job("turned-into-others", container({MIG: "2", "cpu": "1"}, {MIG: "2"}), parallelism=2),
           {"cpu": 2000, "example.com/gpu-memory": 20 * _GIB, "example.com/slices": 4}, pods=2),
    OddJob(job("counted-twice", container({"example.com/licence": "3"}, {"example.com/licence": "3"})),
           {"example.com/licence": 3, "example.com/credits": 8}),
    OddJob(job("left-out", container({IGNORED: "3", "cpu": "1"}, {IGNORED: "3"})), {"cpu": 1000}),
    # priorities
    OddJob(job("of-its-class", container({"cpu": "1"}), labels={"kueue.x-k8s.io/priority-class": "research"}),
           {"cpu": 1000}, priority=-5, priority_class="research"),
    OddJob(job("of-its-pods", container({"cpu": "1"}), pod={"priorityClassName": "urgent"}), {"cpu": 1000},
           priority=1000, priority_class="urgent"),
    OddJob(job("of-the-system", container({"cpu": "1"}), pod={"priorityClassName": "system-node-critical"}),
           {"cpu": 1000}, priority=2_000_001_000, priority_class="system-node-critical"),
    OddJob(
        job("of-its-class-first", container({"cpu": "1"}), pod={"priorityClassName": "urgent"},
            labels={"kueue.x-k8s.io/priority-class": "research"}),
        {"cpu": 1000}, priority=-5, priority_class="research",
    ),
    # queues, places, names
    OddJob(job("of-the-default-queue", container({"cpu": "1"}, {"cpu": "1"}), namespace=LIMITED, queue=None),
           {"cpu": 1000, "memory": 64 * _MIB}, queue="default"),
    OddJob(job("not-suspended", container({"cpu": "1"}), suspend=False), {"cpu": 1000}),
    OddJob(
        job("choosy", container({"cpu": "1"}), pod={
            "nodeSelector": {"arch": "arm64"}, "affinity": _AFFINITY,
            "tolerations": [{"key": "dedicated", "operator": "Exists", "effect": "NoSchedule"}],
        }),
        {"cpu": 1000},
    ),
    OddJob(job("a-name-of-63-characters-".ljust(63, "x"), container({"cpu": "1"})), {"cpu": 1000}),
    OddJob(job("some-time", container({"cpu": "1"}), labels={"kueue.x-k8s.io/max-exec-time-seconds": "30"}),
           {"cpu": 1000}),
)  # fmt: skip
