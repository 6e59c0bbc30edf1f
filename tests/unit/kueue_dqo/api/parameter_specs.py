"""Parameters that are good and parameters that are not, for those who judge them: the definitions and `problems_of`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final, NamedTuple

NODES, MANUAL, COMPOSITE = "NodeInventoryParameters", "ManualCapacity", "CompositeParameters"
GPUS: Final = "NvidiaGpuParameters"
CLOUD: Final = "CloudQuotaParameters"
MULTIKUEUE: Final = "MultiKueueParameters"
KINDS: Final = (NODES, CLOUD, GPUS, MULTIKUEUE, MANUAL, COMPOSITE)
OF_ANY_FLAVOR: Final = (NODES, GPUS, MULTIKUEUE, MANUAL, COMPOSITE)
"""Those whose headroom may be of a flavor that they do not name themselves."""
GCP: Final = "CloudQuotaParameters of Google Cloud"
"""Not a kind, but another base of one: two clouds are never in one object."""
API_VERSION: Final = "kueue-dqo.dev/v1alpha1"


class _Absent:
    def __repr__(self) -> str:
        """The same in every process: ids of tests are made of it."""
        return "absent"


ABSENT: Any = _Absent()
GPU: Final = "nvidia.com/gpu"
SLICE: Final = "nvidia.com/mig-1g.10gb"
SUBDOMAIN: Final = ".".join(["a" * 61] * 4)
LONG_RESOURCE: Final = f"{SUBDOMAIN}/{'r' * 63}"
assert (len(SUBDOMAIN), len(LONG_RESOURCE)) == (247, 311)

COMMON: Final[dict[str, Any]] = {
    "resources": {"include": ["cpu", "memory", GPU], "exclude": ["example.com/license"]},
    "headroom": [
        {"flavor": "h100", "resource": GPU, "percent": 5},
        {"flavor": "h100", "resource": "cpu", "quantity": "1500m"},
        {"flavor": "a100", "resource": "cpu", "quantity": 2},
    ],
    "guards": {"fallAfter": "10m", "riseAfter": "1h30m", "maxFallPercent": 30, "breakerGrace": "30m"},
}
OVERRIDE: Final[dict[str, Any]] = {
    "name": "weekend",
    "begin": "2026-01-03T00:00:00+01:00",
    "end": "2026-01-05T00:00:00+01:00",
    "recurrence": "FREQ=WEEKLY;BYDAY=SA",
    "timeZone": "Europe/Berlin",
    "flavors": [{"name": "h100", "resources": {GPU: 0}}],
}
SELECTOR: Final[dict[str, Any]] = {
    "matchLabels": {"topology.kubernetes.io/zone": "a", "empty": ""},
    "matchExpressions": [
        {"key": "pool", "operator": "In", "values": ["a", "b"]},
        {"key": "example.com/broken", "operator": "DoesNotExist"},
    ],
}
AWS_ACCOUNT: Final[dict[str, Any]] = {
    "regions": ["us-east-1", "us-west-2"],
    "assumeRole": {"arn": "arn:aws:iam::111122223333:role/kueue-dqo", "externalId": "research"},
    "flavors": [
        {
            "name": "h100",
            "combine": "Max",
            "entries": [
                {
                    "region": "us-east-1",
                    "instanceType": "p5.48xlarge",
                    "quota": {"code": "L-417A185B", "service": "ec2", "purchaseOption": "OnDemand"},
                    "share": "0.5",
                    "maxInstances": 8,
                    "perInstance": {"cpu": 190, "memory": "1930Gi", "vpc.amazonaws.com/efa": 32},
                },
                {
                    "region": "us-east-1",
                    "instanceType": "p5.48xlarge",
                    "capacityReservations": {"ids": ["cr-0123456789abcdef0", "cr-0123456789abcdef1"]},
                },
            ],
        },
        {
            "name": "a100",
            "combine": "Sum",
            "entries": [
                {
                    "region": "us-west-2",
                    "instanceType": "p4d.24xlarge",
                    "quota": {"code": "L-7212CCBC", "purchaseOption": "Spot"},
                },
                {
                    "region": "us-west-2",
                    "instanceType": "p4d.24xlarge",
                    "capacityReservations": {"tags": {"team": "research", "Name (of whatever)": ""}},
                },
                {
                    "region": "us-west-2",
                    "instanceType": "p4d.24xlarge",
                    "capacityBlocks": {"ids": ["cr-0a1b2c3d4e5f67890"], "stopAdmittingBefore": "2h"},
                },
                {
                    "region": "us-east-1",
                    "instanceType": "p4d.24xlarge",
                    "capacityBlocks": {"tags": {"team": "research"}},
                },
            ],
        },
    ],
}
GCP_PROJECT: Final[dict[str, Any]] = {
    "project": "vision-prod",
    "regions": ["us-central1", "europe-west4"],
    "impersonateServiceAccount": "kueue-dqo@vision-prod.iam.gserviceaccount.com",
    "flavors": [
        {
            "name": "h100",
            "combine": "Max",
            "entries": [
                {
                    "region": "us-central1",
                    "machineType": "a3-highgpu-8g",
                    "gpuFamily": {
                        "name": "NVIDIA_H100",
                        "quotaId": "GPUS-PER-GPU-FAMILY-per-project-region",
                        "service": "compute.googleapis.com",
                    },
                    "share": "0.5",
                    "maxInstances": 4,
                    "perInstance": {"cpu": 200},
                },
                {
                    "region": "us-central1",
                    "machineType": "a3-highgpu-8g",
                    "reservations": {
                        "names": ["h100-2026"],
                        "zones": ["us-central1-a", "us-central1-ai1b"],
                        "project": "ml-platform",
                    },
                    "share": "250m",
                },
            ],
        },
        {
            "name": "a100",
            "combine": "Sum",
            "entries": [
                {
                    "region": "us-central1",
                    "machineType": "a2-highgpu-8g",
                    "metric": {
                        "name": "PREEMPTIBLE_NVIDIA_A100_GPUS",
                        "unit": "Accelerators",
                        "globalMetric": "GPUS_ALL_REGIONS",
                    },
                },
                {
                    "region": "us-central1",
                    "machineType": "n1-standard-32",
                    "accelerators": 4,
                    "metric": {"name": "NVIDIA_T4_GPUS"},
                },
                {
                    "region": "europe-west4",
                    "machineType": "a2-highgpu-8g",
                    "reservations": {"names": ["a100-2026"]},
                },
            ],
        },
    ],
}
FULL: Final[dict[str, dict[str, Any]]] = {
    CLOUD: {**COMMON, "aws": AWS_ACCOUNT},
    NODES: {
        **COMMON,
        "nodeSelector": SELECTOR,
        "requiredResources": [{"flavor": "h100", "resource": GPU}, {"flavor": "a100", "resource": GPU}],
        "excludedConditions": [{"type": "GpuFault", "status": "True"}, {"type": "GpuFault", "status": "Unknown"}],
        "readyDelay": "2m",
        "explicitZeros": [{"flavor": "h100", "resources": ["cpu", GPU]}],
        "cordoned": "CountAllocated",
        "reserve": "UnmanagedPods",
    },
    GPUS: {
        **COMMON,
        "resources": {
            "include": [GPU, f"{SLICE}.shared", "nvidia.com/mig-3g.40gb"],
            "exclude": ["example.com/license"],
        },
        "headroom": [
            {"flavor": "h100", "resource": GPU, "percent": 5},
            {"flavor": "h100", "resource": f"{SLICE}.shared", "quantity": "2"},
            {"flavor": "a100", "resource": GPU, "quantity": 2},
        ],
        "nodeSelector": SELECTOR,
        "cordoned": "CountAllocated",
        "capByAllocatable": False,
        "migStrategy": "Mixed",
        "sharing": [
            {"resource": GPU, "replicas": 4},
            {"resource": SLICE, "replicas": 2, "rename": f"{SLICE}.shared"},
        ],
        "agents": {"grace": "30m", "maxSilentPercent": 50},
    },
    MULTIKUEUE: {
        **COMMON,
        "managerQueues": {"subtree": {"kind": "Cohort", "name": "research"}},
        "flavorMapping": [
            {"workerFlavor": "h100-80gb", "flavor": "h100", "clusters": ["worker1", "worker2"]},
            {"workerFlavor": "h100-80gb", "flavor": "a100"},
            {"workerFlavor": "a100.80gb", "flavor": "a100", "clusters": ["worker1"]},
        ],
        "otherFlavors": "h100",
        "counts": "WorkerProviders",
        "workerProviders": ["nodes", "account.eu-west-1"],
        "inactiveQueues": "Count",
        "unavailableWorkers": {"grace": "10m", "afterGrace": "SourceUnavailable"},
    },
    MANUAL: {
        **COMMON,
        "baseline": {"flavors": [{"name": "h100", "resources": {GPU: 80, "cpu": "960", "memory": "1.5Ti"}}]},
        "overrides": [OVERRIDE, {**OVERRIDE, "name": "fair", "recurrence": ABSENT, "timeZone": ABSENT}],
    },
    COMPOSITE: {
        **COMMON,
        "members": [{"name": "nodes"}, {"name": "account.eu-west-1"}],
        "combine": "Min",
        "onMemberNotReady": "Skip",
    },
}
"""Every field that there is."""
BASES: Final[dict[str, dict[str, Any]]] = {**FULL, GCP: {**COMMON, "gcp": GCP_PROJECT}}
"""What cases change."""


class Case(NamedTuple):
    """Full parameters of the kind with one change: another value, or none, at a path."""

    kind: str
    path: str
    """Below `spec`, with dots: `headroom.0.percent`. Empty for the whole of it."""
    value: Any
    field: str = ""
    """The field of the problem, below `spec`; empty for the path itself."""
    says: str = ""
    """A part of the problem."""
    base: str = ""
    """Which of BASES is changed; empty for that of the kind."""

    def __str__(self) -> str:
        text = "absent" if self.value is ABSENT else repr(self.value)
        return f"{self.base or self.kind} {self.path} {text[:40]}".encode("ascii", "replace").decode()

    @property
    def manifest(self) -> dict[str, Any]:
        """The object."""
        obj: dict[str, Any] = {"apiVersion": API_VERSION, "kind": self.kind, "metadata": {"name": "sample"}}
        obj["spec"] = changed(BASES[self.base or self.kind], self.path, self.value) if self.path else self.value
        obj["spec"] = present(obj["spec"])
        return obj

    @property
    def named(self) -> str:
        """The field of the problem, with its whole path."""
        field = self.field or self.path
        if not field:
            return "spec"
        parts = [f"[{step}]" if step.isdigit() else f".{step}" for step in field.split(".")]
        return f"spec{''.join(parts)}"


def changed(spec: dict[str, Any], path: str, value: Any) -> Any:
    """A copy with another value at the path, or without it; what is missing on the way there is made."""
    whole = present(spec)
    at: Any = whole
    *parents, last = [int(step) if step.isdigit() else step for step in path.split(".")]
    for step in parents:
        at = at[step] if isinstance(step, int) else at.setdefault(step, {})
    at[last] = value
    return whole


def present(value: Any) -> Any:
    """A copy without what is absent."""
    if isinstance(value, dict):
        return {key: present(each) for key, each in value.items() if each is not ABSENT}
    return [present(each) for each in value if each is not ABSENT] if isinstance(value, list) else value


def _common(path: str, value: Any, field: str = "", says: str = "") -> Iterator[Case]:
    """The same for each kind."""
    for kind in KINDS:
        yield Case(kind, path, value, field, says)


def _resources(count: int) -> list[str]:
    return [f"example.com/r{number}" for number in range(count)]


def _flavors(count: int, **more: Any) -> list[dict[str, Any]]:
    return [{"name": f"f{number}", **more} for number in range(count)]


def _pairs(count: int, resource: str = "cpu") -> list[dict[str, Any]]:
    return [{"flavor": f"f{number}", "resource": resource, "percent": 1} for number in range(count)]


def _shares(count: int) -> list[dict[str, Any]]:
    return [{"resource": f"nvidia.com/mig-{number + 1}g.10gb", "replicas": 2} for number in range(count)]


def _overrides(count: int) -> list[dict[str, Any]]:
    return [{**OVERRIDE, "name": f"o{number}"} for number in range(count)]


SELECTION, HEADROOM, GUARDS = "resources", "headroom", "guards"
BASELINE, OVERRIDES = "baseline.flavors", "overrides"
AMOUNT = f"{BASELINE}.0.resources.cpu"
LABELS, EXPRESSIONS = "nodeSelector.matchLabels", "nodeSelector.matchExpressions"
NOTHING: Final[dict[str, Any]] = {}
ANY: Final[dict[str, list[str]]] = {"include": [], "exclude": []}

GOOD: Final = [
    *(Case(kind, "", FULL[kind]) for kind in KINDS),
    Case(NODES, "", {}),
    Case(MANUAL, "", {"baseline": FULL[MANUAL]["baseline"]}),
    *(Case(COMPOSITE, "", {"members": [{"name": "a"}], "combine": each}) for each in ("Min", "Max", "Sum")),
    *_common(SELECTION, ANY | {"exclude": _resources(64)}),
    *(Case(NODES, path, ABSENT) for path in (SELECTION, HEADROOM, GUARDS, "nodeSelector", "explicitZeros")),
    *_common(f"{HEADROOM}.0.percent", 1),
    *_common(f"{HEADROOM}.0.percent", 100),
    *(Case(NODES, f"{HEADROOM}.1.quantity", each) for each in (0, "0", "-0", "1n", ".5", "5.", "+1", "1e3", "2Gi")),
    *(Case(kind, f"{HEADROOM}.0.flavor", SUBDOMAIN) for kind in OF_ANY_FLAVOR),
    *_common(GUARDS, {}),
    *_common(GUARDS, {"fallAfter": "0s"}),
    *_common(GUARDS, {"riseAfter": "8784h"}),
    *_common(GUARDS, {"maxFallPercent": 1, "breakerGrace": "1s"}),
    *_common(GUARDS, {"maxFallPercent": 99, "breakerGrace": "527040m"}),
    *(Case(NODES, "cordoned", each) for each in ("Exclude", "CountAllocated")),
    *(Case(NODES, "reserve", each) for each in ("None", "UnmanagedPods")),
    Case(NODES, "nodeSelector", {}),
    Case(NODES, LABELS, {f"l{number}": "v" for number in range(64)}),
    Case(NODES, EXPRESSIONS, [{"key": f"k{number}", "operator": "Exists"} for number in range(64)]),
    *(Case(NODES, f"{EXPRESSIONS}.0.operator", each) for each in ("In", "NotIn")),
    Case(NODES, f"{EXPRESSIONS}.0.values", [""]),
    Case(NODES, f"{EXPRESSIONS}.1.values", []),
    Case(NODES, f"{EXPRESSIONS}.0", {"key": "a", "operator": "Exists"}),
    Case(NODES, "requiredResources", [{"flavor": f"f{number}", "resource": "cpu"} for number in range(64)]),
    Case(NODES, "requiredResources.0.resource", "example.com/not-reported"),
    Case(NODES, "excludedConditions", [{"type": f"T{number}", "status": "False"} for number in range(32)]),
    Case(NODES, "excludedConditions.0.status", ABSENT),
    Case(NODES, "excludedConditions.0.type", "example.com/Fault"),
    Case(NODES, "readyDelay", "0h0m0s"),
    Case(NODES, "", {"explicitZeros": [{"flavor": f"f{n}", "resources": _resources(64)} for n in range(8)]}),
    *(
        Case(GPUS, path, ABSENT)
        for path in (SELECTION, "sharing", "sharing.1.rename", "agents", "nodeSelector", "cordoned")
    ),
    Case(GPUS, "", {}),
    Case(GPUS, "", {"resources": {"exclude": [GPU, "cpu"]}, "sharing": [{"resource": GPU, "replicas": 2}]}),
    Case(GPUS, "", {"resources": {"include": ["nvidia.com/gpu.shared"]}}),
    *(Case(GPUS, "capByAllocatable", each) for each in (True, ABSENT)),
    *(Case(GPUS, "migStrategy", each) for each in ("Auto", ABSENT)),
    *(
        Case(GPUS, "", {"migStrategy": each, "sharing": [{"resource": GPU, "replicas": 2}]})
        for each in ("None", "Single", "Mixed")
    ),
    Case(GPUS, "sharing", []),
    Case(GPUS, "", {"sharing": _shares(32)}),
    *(Case(GPUS, "sharing.0.replicas", each) for each in (1, 2, 1000)),
    *(
        Case(GPUS, "sharing.0.resource", f"nvidia.com/mig-{each}")
        for each in ("1g.5gb", "1c.3g.20gb", "1g.10gb.me", "1g.24gb-me", "1g.24gb.me.all", "10g.180gb")
    ),
    *(
        Case(GPUS, "sharing.1.rename", f"nvidia.com/{each}")
        for each in ("gpu.shared", "mig-1g.5gb.shared", "h100", "a-b.c-d", "x" * 52)
    ),
    *(Case(GPUS, "agents.grace", each) for each in ("0s", "8784h", ABSENT)),
    *(Case(GPUS, "agents.maxSilentPercent", each) for each in (0, 100, ABSENT)),
    Case(MANUAL, BASELINE, _flavors(64, resources={"cpu": 1})),
    Case(MANUAL, f"{BASELINE}.0.resources", dict.fromkeys(_resources(64), 1)),
    Case(MANUAL, f"{BASELINE}.0.resources", {LONG_RESOURCE: 1, "cpu": 0, "a.b_c-D": "1"}),
    *(Case(MANUAL, AMOUNT, each) for each in (0, "-0", "0.5", "1" * 32, "1E", "1e-3")),
    Case(MANUAL, OVERRIDES, []),
    Case(MANUAL, OVERRIDES, _overrides(32)),
    Case(MANUAL, f"{OVERRIDES}.0.name", "a" * 63),
    Case(MANUAL, f"{OVERRIDES}.0.begin", "2026-01-04T23:59:59+01:00"),
    Case(MANUAL, f"{OVERRIDES}.0.end", "2026-01-03T00:00:01+01:00"),
    # In UTC, an hour later.
    Case(MANUAL, f"{OVERRIDES}.0.end", "2026-01-03T00:00:00Z"),
    *(
        Case(MANUAL, f"{OVERRIDES}.0.recurrence", each)
        for each in (
            *(f"FREQ={each}" for each in ("HOURLY", "DAILY", "WEEKLY", "MONTHLY", "YEARLY")),
            "FREQ=DAILY;INTERVAL=9999;COUNT=1000",
            "FREQ=WEEKLY;WKST=SU;BYDAY=MO,TU,WE,TH,FR,SA,SU;UNTIL=20271231T235959Z",
            "FREQ=MONTHLY;BYDAY=1MO,-1FR,+2TU;BYSETPOS=-1,1",
            "FREQ=YEARLY;BYMONTH=1,02,12;BYMONTHDAY=1,-31,09;BYHOUR=0,23;BYMINUTE=0,59",
            "FREQ=YEARLY;BYYEARDAY=1,-366",
        )
    ),
    *(Case(MANUAL, f"{OVERRIDES}.0.timeZone", each) for each in ("UTC", "America/Argentina/Ushuaia", "Etc/GMT+5")),
    Case(COMPOSITE, "members", [{"name": f"m{number}"} for number in range(16)]),
    Case(COMPOSITE, "members.0.name", SUBDOMAIN),
    Case(COMPOSITE, "onMemberNotReady", "Fail"),
    Case(COMPOSITE, "onMemberNotReady", ABSENT),
]

NO_NAMES: Final = ("", "H100", "a_b", "-a", "a-", "a..b", "a.", "a b", "a\n", "a" * 254)
NO_RESOURCES: Final = (
    "",
    "a b",
    "-a",
    "a-",
    "/a",
    "a/",
    "a/b/c",
    "A.com/b",
    "gpu*",
    "cpu\n",
    "a" * 64,
    f"{'a' * 254}/{'b' * 63}",
)
NO_DURATIONS: Final = ("", "10", "1.5h", "-1m", "1d", "500ms", "10 m", "1h30", "10m\n", "PT1H")
NO_QUANTITIES: Final = ("", "1K", "much", "1 Gi", "1,5", "5%", "1e1.5")

BAD: Final = [
    # common
    *_common("resources.inlcude", ["cpu"], says="is no field"),
    *_common("resource", {}, says="is no field"),
    *(
        Case(NODES, "", {SELECTION: {name: [each]}}, f"{SELECTION}.{name}.0", "is no name of a resource")
        for name in ("include", "exclude")
        for each in NO_RESOURCES
    ),
    *(
        Case(COMPOSITE, "", {**FULL[COMPOSITE], "headroom": [], "resources": {name: value}}, f"resources.{name}", says)
        for name in ("include", "exclude")
        for value, says in ((["cpu", "cpu"], "'cpu' is listed more than once"), (_resources(65), "65 entries"))
    ),
    *_common(f"{HEADROOM}.0.percent", ABSENT, f"{HEADROOM}.0", "neither of percent and quantity"),
    *_common(f"{HEADROOM}.0.quantity", 1, f"{HEADROOM}.0", "both of percent and quantity"),
    *(Case(NODES, f"{HEADROOM}.0.percent", each, says=f"{each} is no share") for each in (0, -1, 101)),
    *(Case(NODES, f"{HEADROOM}.0.percent", each, says="integer") for each in ("5", 0.5)),
    *(Case(NODES, f"{HEADROOM}.1.quantity", each, says="is negative") for each in (-1, "-1", "-1n", "-0.5Gi", "-1e3")),
    *(Case(NODES, f"{HEADROOM}.1.quantity", each, says="is no quantity") for each in NO_QUANTITIES),
    Case(NODES, f"{HEADROOM}.1.quantity", "1" * 33, says="33 characters"),
    Case(NODES, f"{HEADROOM}.1.quantity", 0.5, says='has to be quoted ("0.5")'),
    *_common(f"{HEADROOM}.1.resource", GPU, HEADROOM, "'h100/nvidia.com/gpu' is listed more than once"),
    *_common(f"{HEADROOM}.0.resource", "pods", says="not in spec.resources.include"),
    *(
        Case(
            kind,
            "",
            {
                **FULL[kind],
                "resources": {"exclude": [GPU]},
                "headroom": [{"flavor": "h100", "resource": GPU, "percent": 1}],
                "explicitZeros": ABSENT,
            },
            f"{HEADROOM}.0.resource",
            "in spec.resources.exclude",
        )
        for kind in KINDS
    ),
    *(Case(NODES, f"{HEADROOM}.0.flavor", each, says="is no object name") for each in NO_NAMES),
    Case(NODES, f"{HEADROOM}.0.flavor", ABSENT, says="is required and missing"),
    Case(NODES, f"{HEADROOM}.0.resource", ABSENT, says="is required and missing"),
    *(
        Case(kind, "", {**FULL[kind], "resources": {}, "explicitZeros": ABSENT, "headroom": _pairs(257, GPU)}, HEADROOM)
        for kind in OF_ANY_FLAVOR
    ),
    *(Case(NODES, f"{GUARDS}.fallAfter", each, says="is no duration") for each in NO_DURATIONS),
    *(
        case
        for name in ("fallAfter", "riseAfter", "breakerGrace")
        for each in ("8784h1s", "9999999999h")
        for case in _common(f"{GUARDS}.{name}", each, says="is more than a year")
    ),
    *(Case(NODES, f"{GUARDS}.fallAfter", each, says="is no duration") for each in (90, True, "1s" * 17)),
    *(Case(NODES, f"{GUARDS}.maxFallPercent", each, says=f"{each} is no share") for each in (0, 100)),
    *_common(f"{GUARDS}.breakerGrace", ABSENT, says="maxFallPercent 30 needs it"),
    *_common(f"{GUARDS}.maxFallPercent", ABSENT, says="breakerGrace 30m needs it"),
    *_common(f"{GUARDS}.breakerGrace", "0s", says="0s is no time to wait"),
    # node inventory
    Case(NODES, "cordoned", "Count", says='"Count" is none of Exclude, CountAllocated'),
    Case(NODES, "reserve", "AllPods", says="is none of None, UnmanagedPods"),
    Case(NODES, "readyDelay", "2 min", says="is no duration"),
    Case(NODES, "readyDelay", "8784h1s", says="is more than a year"),
    *(Case(NODES, f"{EXPRESSIONS}.0.{name}", ABSENT, says="is required and missing") for name in ("key", "operator")),
    Case(NODES, f"{EXPRESSIONS}.0", {"key": "a", "operator": "Gt"}, f"{EXPRESSIONS}.0.operator", "is none of In"),
    Case(
        NODES,
        "",
        {"explicitZeros": [{"flavor": "a", "resources": ["a b"]}]},
        "explicitZeros.0.resources.0",
        "is no name of a resource",
    ),
    *(
        Case(
            NODES,
            "",
            {"headroom": [{"flavor": "a", "resource": each, "percent": 1}]},
            f"{HEADROOM}.0.resource",
            "is no name of a resource",
        )
        for each in NO_RESOURCES
    ),
    *(Case(NODES, f"{GUARDS}.riseAfter", each, says="is no duration") for each in NO_DURATIONS),
    *(Case(NODES, f"{GUARDS}.breakerGrace", each, says="is no duration") for each in NO_DURATIONS),
    Case(NODES, f"{LABELS}.a b", "x", LABELS, "'a b' is no key of a label"),
    Case(NODES, LABELS, {"": "x"}, says="is no key of a label"),
    Case(NODES, LABELS, {f"l{number}": "v" for number in range(65)}, says="65 entries"),
    *(
        Case(NODES, f"{LABELS}.empty", each, f"{LABELS}[empty]", "is no value of a label")
        for each in ("a b", "-a", "a/b", "a" * 64)
    ),
    Case(NODES, f"{EXPRESSIONS}.0.key", "a b", says="is no key of a label"),
    Case(NODES, f"{EXPRESSIONS}.0.operator", "Gt", says='"Gt" is none of In, NotIn, Exists, DoesNotExist'),
    *(
        Case(NODES, f"{EXPRESSIONS}.0", {"key": "a", "operator": operator} | values, f"{EXPRESSIONS}.0.values", "needs")
        for operator in ("In", "NotIn")
        for values in (NOTHING, NOTHING | {"values": []})
    ),
    *(
        Case(
            NODES,
            f"{EXPRESSIONS}.0",
            {"key": "a", "operator": operator, "values": ["b"]},
            f"{EXPRESSIONS}.0.values",
            f"{operator} takes none",
        )
        for operator in ("Exists", "DoesNotExist")
    ),
    Case(NODES, f"{EXPRESSIONS}.0.values", ["a", "a"], says="'a' is listed more than once"),
    Case(NODES, f"{EXPRESSIONS}.0.values", [f"v{number}" for number in range(65)], says="65 entries"),
    Case(NODES, f"{EXPRESSIONS}.0.values", ["a b"], f"{EXPRESSIONS}.0.values.0", "is no value of a label"),
    Case(NODES, EXPRESSIONS, [{"key": f"k{number}", "operator": "Exists"} for number in range(65)], says="65 entries"),
    Case(NODES, "requiredResources.1.flavor", "h100", "requiredResources", "'h100' is listed more than once"),
    Case(NODES, "requiredResources.1.flavor", "H100", says="is no object name"),
    Case(NODES, "requiredResources.1.resource", "a b", says="is no name of a resource"),
    Case(
        NODES,
        "requiredResources",
        [{"flavor": f"f{number}", "resource": "cpu"} for number in range(65)],
        says="65 entries",
    ),
    Case(NODES, "excludedConditions.1.status", "True", "excludedConditions", "'GpuFault=True' is listed more than"),
    Case(NODES, "excludedConditions.1.status", ABSENT, "excludedConditions", "'GpuFault=True' is listed more than"),
    Case(NODES, "excludedConditions.1.status", "true", says="'true' is none of True, False, Unknown"),
    Case(NODES, "excludedConditions.1.type", "Gpu Fault", says="is no type of a condition"),
    Case(
        NODES,
        "excludedConditions",
        [{"type": f"T{number}", "status": "False"} for number in range(33)],
        says="33 entries",
    ),
    Case(NODES, "explicitZeros.0.resources", [], says="is empty"),
    Case(NODES, "explicitZeros.0.resources", ABSENT, says="is required and missing"),
    Case(NODES, "explicitZeros.0.resources", ["cpu", "cpu"], says="'cpu' is listed more than once"),
    Case(NODES, "explicitZeros.0.resources", ["pods"], "explicitZeros.0.resources.0", "not in spec.resources.include"),
    Case(NODES, "explicitZeros.0.flavor", "H100", says="is no object name"),
    Case(
        NODES,
        "",
        {"resources": {"exclude": ["cpu"]}, "explicitZeros": [{"flavor": "a", "resources": ["cpu"]}]},
        "explicitZeros.0.resources.0",
        "in spec.resources.exclude",
    ),
    Case(
        NODES,
        "explicitZeros",
        [{"flavor": "a", "resources": ["cpu"]}] * 2,
        says="'a' is listed more than once",
    ),
    Case(NODES, "", {"explicitZeros": [{"flavor": f"f{n}", "resources": ["cpu"]} for n in range(65)]}, "explicitZeros"),
    # GPUs
    Case(GPUS, "cordoned", "Count", says='"Count" is none of Exclude, CountAllocated'),
    Case(
        GPUS, "nodeSelector.matchExpressions.0.values", ["a b"], f"{EXPRESSIONS}.0.values.0", "is no value of a label"
    ),
    Case(GPUS, "capByAllocatable", "yes", says="true or false is wanted"),
    Case(GPUS, "migStrategy", "mixed", says='"mixed" is none of Auto, None, Single, Mixed'),
    *(
        Case(GPUS, "migStrategy", each, "sharing.1.resource", f"is not offered with migStrategy {each}")
        for each in ("None", "Single")
    ),
    Case(GPUS, f"{SELECTION}.include.2", "cpu", says="'cpu' is not reported by this provider: nvidia.com/… alone"),
    Case(GPUS, f"{SELECTION}.include.2", "amd.com/gpu", says="is not reported by this provider"),
    Case(GPUS, f"{SELECTION}.include.2", SLICE, says=f"is renamed by spec.sharing: write '{SLICE}.shared'"),
    Case(GPUS, f"{SELECTION}.exclude.0", SLICE, says=f"is renamed by spec.sharing: write '{SLICE}.shared'"),
    *(
        Case(GPUS, "", {**FULL[GPUS], "resources": ABSENT, "headroom": _pairs(1, name)}, f"{HEADROOM}.0.resource", says)
        for name, says in (("memory", "is not reported by this provider"), (SLICE, f"write '{SLICE}.shared'"))
    ),
    *(Case(GPUS, f"sharing.0.{name}", ABSENT, says="is required and missing") for name in ("resource", "replicas")),
    Case(GPUS, "sharing.0.factor", 4, says="is no field"),
    *(
        Case(GPUS, "sharing.0.resource", each, says="is no name of NVIDIA's devices")
        for each in (
            *("", "gpu", "cpu", "nvidia.com/gpus", "nvidia.com/gpu.shared", "nvidia.com/mig-1g10gb", "nvidia.com/mig-"),
            *("nvidia.com/mig-1g.10GB", "nvidia.com/mig-1g.10gb+me", "example.com/gpu", "nvidia.com/gpu\n"),
            f"nvidia.com/mig-1g.10gb.{'a' * 52}",
        )
    ),
    Case(GPUS, "sharing.0.resource", "nvidia.com/mig-1g.5gb.shared", says="write 'nvidia.com/mig-1g.5gb'"),
    Case(GPUS, "sharing.0.resource", SLICE, "sharing", f"'{SLICE}' is listed more than once"),
    Case(GPUS, "", {"sharing": _shares(33)}, "sharing", "33 entries"),
    *(Case(GPUS, "sharing.0.replicas", each, says=f"{each} is no number of replicas") for each in (0, -1, 1001)),
    *(Case(GPUS, "sharing.0.replicas", each, says="integer") for each in ("4", 1.5)),
    *(
        Case(GPUS, "sharing.1.rename", each, "sharing.1.rename", "is no name that NVIDIA's device plugin gives")
        for each in (
            *("", "gpu.shared", "example.com/gpu.shared", "nvidia.com/GPU", "nvidia.com/gpu_shared", "nvidia.com/a/b"),
            *("nvidia.com/-a", "nvidia.com/a-", "nvidia.com/", "nvidia.com/gpu.shared\n", f"nvidia.com/{'x' * 53}"),
        )
    ),
    *(
        Case(GPUS, "sharing.1.rename", each, says="is the name of devices that are not shared")
        for each in (SLICE, "nvidia.com/mig-2g.20gb")
    ),
    Case(GPUS, "sharing.1.rename", GPU, says=f"choose another one, such as {SLICE}.shared, or leave it out"),
    Case(
        GPUS,
        "",
        {"sharing": [{**each, "rename": "nvidia.com/shared"} for each in _shares(2)]},
        "sharing",
        "'nvidia.com/shared' is the new name of more than one resource",
    ),
    Case(GPUS, "agents.graec", "10m", says="is no field"),
    *(Case(GPUS, "agents.grace", each, says="is no duration") for each in (*NO_DURATIONS, 10)),
    Case(GPUS, "agents.grace", "8784h1s", says="is more than a year"),
    *(Case(GPUS, "agents.maxSilentPercent", each, says=f"{each} is no share") for each in (-1, 101)),
    *(Case(GPUS, "agents.maxSilentPercent", each, says="integer") for each in ("20", 0.5)),
    # manual
    Case(MANUAL, "baseline", ABSENT, says="is required and missing"),
    Case(MANUAL, BASELINE, ABSENT, says="is required and missing"),
    Case(MANUAL, BASELINE, [], says="is empty"),
    Case(MANUAL, BASELINE, _flavors(65, resources={"cpu": 1}), says="65 entries"),
    Case(MANUAL, BASELINE, _flavors(1, resources={"cpu": 1}) * 2, says="'f0' is listed more than once"),
    *(Case(MANUAL, f"{BASELINE}.0.name", each, says="") for each in NO_NAMES),
    Case(MANUAL, f"{BASELINE}.0.resources", ABSENT, says="is required and missing"),
    Case(MANUAL, f"{BASELINE}.0.resources", {}, says="has 0 resources"),
    Case(MANUAL, f"{BASELINE}.0.resources", dict.fromkeys(_resources(65), 1), says="has 65 resources"),
    *(Case(MANUAL, f"{BASELINE}.0.resources", {each: 1}, says="is no name of a resource") for each in NO_RESOURCES),
    *(Case(MANUAL, AMOUNT, each, f"{BASELINE}.0.resources[cpu]", "is negative") for each in (-1, "-1", "-1m", "-0.1k")),
    *(Case(MANUAL, AMOUNT, each, f"{BASELINE}.0.resources[cpu]", "is no quantity") for each in NO_QUANTITIES),
    Case(MANUAL, AMOUNT, 0.5, f"{BASELINE}.0.resources[cpu]", "has to be quoted"),
    Case(MANUAL, AMOUNT, "1" * 33, f"{BASELINE}.0.resources[cpu]", "33 characters"),
    Case(MANUAL, OVERRIDES, _overrides(33), says="33 entries"),
    Case(MANUAL, OVERRIDES, [OVERRIDE, OVERRIDE], says="'weekend' is listed more than once"),
    *(
        Case(MANUAL, f"{OVERRIDES}.0.{name}", ABSENT, says="is required")
        for name in ("name", "begin", "end", "flavors")
    ),
    *(Case(MANUAL, f"{OVERRIDES}.0.name", each, says="is no DNS label") for each in ("", "a.b", "A", "a" * 64)),
    *(
        Case(MANUAL, f"{OVERRIDES}.0.begin", each, says="is no time")
        for each in (
            *("", "now", "2026-01-03", "2026-01-03T00:00:00", "2026-02-30T00:00:00Z", "2026-01-03T24:00:00Z"),
            *("2026-01-03 00:00:00Z", "20260103T000000Z", "2026-01-03T00:00:00z", "2026-01-03T00:00:00+25:00"),
            *("2026-01-03T00:00:00Z\n", "2026-01-03T00:00:00.5Z", "2026-01-03T00:00:00.000+01:00"),
            f"2026-01-03T00:00:00.{'0' * 30}Z",
        )
    ),
    *(
        Case(MANUAL, f"{OVERRIDES}.0.end", each, says="is not later than begin")
        for each in ("2026-01-03T00:00:00+01:00", "2026-01-02T23:00:00Z", "2026-01-03T00:59:59+02:00")
    ),
    *(
        Case(MANUAL, f"{OVERRIDES}.0.recurrence", each, says="comes first")
        for each in ("", "DAILY", "FREQ=MINUTELY", "FREQ=SECONDLY", "FREQ=daily", "RRULE:FREQ=DAILY", "FREQ=DAILY\n")
    ),
    Case(MANUAL, f"{OVERRIDES}.0.recurrence", "BYDAY=SA;FREQ=WEEKLY", says="'BYDAY=SA' comes first"),
    *(
        Case(MANUAL, f"{OVERRIDES}.0.recurrence", f"FREQ=DAILY;{each}", says="is no part that is taken")
        for each in ("", "BYSECOND=1", "BYWEEKNO=1", "FREQ=SECONDLY", "count=1", " COUNT=1", "\nCOUNT=1")
    ),
    *(
        Case(MANUAL, f"{OVERRIDES}.0.recurrence", f"FREQ=DAILY;{each}", says=" that is taken")
        for each in (
            *("COUNT", "COUNT=", "COUNT=0", "COUNT=1001", "INTERVAL=0", "INTERVAL=-1", "WKST=Monday", "UNTIL=20270101"),
            *("UNTIL=20270101T000000", "BYMONTH=13", "BYMONTH=0", "BYMONTHDAY=32", "BYDAY=XX", "BYDAY=SA SU"),
            *("BYHOUR=24", "BYMINUTE=60", "BYSETPOS=0", "BYYEARDAY=0", "BYDAY=SA,", "BYDAY=SA\n"),
        )
    ),
    Case(MANUAL, f"{OVERRIDES}.0.recurrence", "FREQ=DAILY;COUNT=1;COUNT=2", says="COUNT is given more than once"),
    Case(MANUAL, f"{OVERRIDES}.0.recurrence", "FREQ=DAILY;BYDAY=SA;BYDAY=SU", says="BYDAY is given more than once"),
    Case(MANUAL, f"{OVERRIDES}.0.recurrence", "FREQ=DAILY;COUNT=1;UNTIL=20270101T000000Z", says="both given"),
    Case(MANUAL, f"{OVERRIDES}.0.recurrence", f"FREQ=DAILY;BYDAY={','.join(['SA'] * 200)}", says="616 characters"),
    *(
        Case(MANUAL, f"{OVERRIDES}.0.timeZone", each, says="is no time zone")
        for each in ("", "../UTC", "/etc/localtime", "Europe/", "Europe Berlin", "UTC\n", "a" * 65)
    ),
    Case(MANUAL, f"{OVERRIDES}.0.flavors", [], says="is empty"),
    Case(MANUAL, f"{OVERRIDES}.0.flavors.0.resources", {}, says="has 0 resources"),
    Case(MANUAL, f"{OVERRIDES}.0.flavors.0.resources.cpu", "-1", f"{OVERRIDES}.0.flavors.0.resources[cpu]"),
    *(Case(MANUAL, f"{OVERRIDES}.0.flavors.0.name", each, says="is no object name") for each in ("A", "a b")),
    Case(MANUAL, f"{OVERRIDES}.0.flavors.0.resources", {"a b": 1}, says="is no name of a resource"),
    Case(MANUAL, f"{OVERRIDES}.0.flavors.0.resources.cpu", "much", f"{OVERRIDES}.0.flavors.0.resources[cpu]"),
    # composite
    Case(COMPOSITE, "members", ABSENT, says="is required and missing"),
    Case(COMPOSITE, "members", [], says="is empty"),
    Case(COMPOSITE, "members", [{"name": f"m{number}"} for number in range(17)], says="17 entries"),
    Case(COMPOSITE, "members", [{"name": "a"}, {"name": "a"}], says="'a' is listed more than once"),
    *(Case(COMPOSITE, "members.0.name", each) for each in NO_NAMES),
    Case(COMPOSITE, "combine", ABSENT, says="is required and missing"),
    Case(COMPOSITE, "combine", "Average", says='"Average" is none of Min, Max, Sum'),
    Case(COMPOSITE, "onMemberNotReady", "Ignore", says='"Ignore" is none of Fail, Skip'),
]
