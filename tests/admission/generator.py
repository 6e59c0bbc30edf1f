"""Small random clusters whose queues contend, as steps in time: from a seed, pure, the same for ever.

Every name carries the seed, so that many clusters live side by side in one control plane and do not meet.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final

Manifest = dict[str, Any]

KUEUE: Final = "kueue.x-k8s.io/v1beta2"
QUEUE: Final = "lq"
SINGLE, FLAT, TREE, FAIR, FLAVORS = "single", "flat", "tree", "fair", "flavors"
CONTEND, HISTORY, CHECKS, STOPS, PARTIAL = "contend", "afs", "checks", "stops", "partial"
KINDS: Final = (SINGLE, FLAT, TREE, FAIR, FLAVORS, CONTEND, HISTORY, CHECKS, STOPS, PARTIAL)
"""A seed's last digit is its kind."""

_BOTH: Final = ["LessThanOrEqualToFinalShare", "LessThanInitialShare"]
CONFIGURATIONS: Final[dict[str, Manifest]] = {
    "plain": {},
    "fair": {"fairSharing": {"preemptionStrategies": _BOTH}},
    # What is admitted weighs at once half of what it asks for: how long a test takes decides nothing.
    "history": {"admissionFairSharing": {"usageHalfLifeTime": "168h", "usageSamplingInterval": "168h"}},
}
"""Each needs a manager of its own."""

_CPU: Final = ("500m", "1", "1", "2", "2", "3", "3", "4")
_MEMORY: Final = ("512Mi", "1Gi", "1Gi", "2Gi", "3Gi")
_POLICIES: Final[Manifest] = {
    "withinClusterQueue": ("Never", "LowerPriority", "LowerPriority", "LowerPriority", "LowerOrNewerEqualPriority"),
    "reclaimWithinCohort": ("Never", "Any", "Any", "Any", "LowerPriority"),
}
_FUNGIBILITY: Final[Manifest] = {
    "whenCanBorrow": ("MayStopSearch", "TryNextFlavor"),
    "whenCanPreempt": ("MayStopSearch", "TryNextFlavor"),
}
_WEIGHTS: Final = ("0", "500m", "1", "1", "2", "3")
_CHECK_STATES: Final = ("Ready", "Ready", "Ready", "Retry", "Rejected")
_ZONES: Final = ("east", "west")
_TAINT: Final = {"key": "spot", "value": "true", "effect": "NoSchedule"}


@dataclass(frozen=True, slots=True)
class Cluster:
    """A cluster's objects and what becomes of them."""

    seed: int
    kind: str
    configuration: str
    """A key of CONFIGURATIONS."""
    steps: tuple[tuple[Manifest, ...], ...]
    """As those of `dqo simulate`: an object seen before is changed, one with a deletionTimestamp is deleted, a Job with
    only a status has finished, a Workload with a Job as its owner is that Job's."""
    copy: int = 0

    @property
    def name(self) -> str:
        """`s0017-afs`, a copy `s0017-afs-1`."""
        return f"s{self.seed:04}-{self.kind}" + (f"-{self.copy}" if self.copy else "")

    @property
    def prefix(self) -> str:
        """What each of its names, or its namespaces' names, begins with, before a hyphen."""
        return _prefix(self.seed, self.copy)

    def again(self, copy: int) -> Cluster:
        """The same under other names."""
        text = json.dumps(self.steps).replace(f'"{self.prefix}-', f'"{_prefix(self.seed, copy)}-')
        steps = tuple(tuple(step) for step in json.loads(text))
        return Cluster(self.seed, self.kind, self.configuration, steps, copy)


def cluster(seed: int) -> Cluster:
    """The cluster of a seed, which is not negative."""
    kind = KINDS[seed % len(KINDS)]
    draw = _Draw(random.Random(seed), _prefix(seed, 0), kind)
    is_fair = kind == FAIR or (kind in {CONTEND, TREE} and draw.chance(0.4))
    configuration = "history" if kind == HISTORY else "fair" if is_fair else "plain"
    draw.is_fair = is_fair
    return Cluster(seed, kind, configuration, draw.steps())


def _prefix(seed: int, copy: int) -> str:
    return f"s{seed}c{copy}" if copy else f"s{seed}"


@dataclass(slots=True)
class _Draw:
    """One cluster while it is drawn."""

    random: random.Random
    prefix: str
    kind: str
    is_fair: bool = False
    has_own_names: bool = False
    resources: tuple[str, ...] = ("cpu",)
    flavors: list[Manifest] = field(default_factory=list)
    queues: list[Manifest] = field(default_factory=list)
    local_queues: list[Manifest] = field(default_factory=list)
    jobs: list[tuple[str, str]] = field(default_factory=list)
    """Namespace and name of those that are neither deleted nor finished."""
    touched: set[str] = field(default_factory=set)
    """What stands in the step already: an object stands in it once."""
    made: int = 0
    at: int = 0
    """The number of the step, and its minute."""

    def chance(self, probability: float) -> bool:
        return self.random.random() < probability

    def name(self, what: str) -> str:
        return f"{self.prefix}-{what}"

    # --- what there is -----------------------------------------------------------------------------------------------

    def steps(self) -> tuple[tuple[Manifest, ...], ...]:
        steps = [(*self.surroundings(), *(self.job() for _ in range(self.random.randint(3, 6))))]
        for _ in range(self.random.randint(2, 3)):
            self.at += 1
            self.touched.clear()
            steps.append(tuple(self.step()))
        return tuple(steps)

    def surroundings(self) -> list[Manifest]:
        # Of bytes, a few seconds more or less decide who has used more; of cpu they do not.
        if self.kind == FLAVORS or (self.kind != HISTORY and self.chance(0.4)):
            self.resources = ("cpu", "memory")
        count = {SINGLE: 1, HISTORY: 1, CHECKS: self.random.randint(1, 2), STOPS: self.random.randint(1, 3)}
        queues = count.get(self.kind, self.random.randint(2, 4))
        self.draw_flavors()
        cohorts = self.cohorts()
        for index in range(queues):
            self.draw_queue("abcd"[index], [each["metadata"]["name"] for each in cohorts])
        if self.kind == HISTORY:
            self.has_own_names = self.chance(0.5)
            self.local_queues = [self.local_queue("a", self.queues[0])]
            for letter in "bc"[: self.random.randint(1, 2)]:
                self.local_queues.append(self.local_queue(letter, self.queues[0]))
        namespaces = sorted({each["metadata"]["namespace"] for each in self.local_queues})
        return [
            *({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}} for name in namespaces),
            *self.flavors,
            *(self.priority_class(each, value) for each, value in (("low", 100), ("mid", 500), ("high", 1000))),
            *self.checks(),
            *cohorts,
            *self.queues,
            *self.local_queues,
        ]

    def draw_flavors(self) -> None:
        count = self.random.randint(2, 3) if self.kind == FLAVORS else 2 if self.chance(0.25) else 1
        for index in range(count):
            spec: Manifest = {}
            if self.kind == FLAVORS and self.chance(0.6):
                spec["nodeLabels"] = {"zone": _ZONES[index % 2]}
                if self.chance(0.3):
                    spec["nodeTaints"] = [_TAINT]
            metadata = {"name": self.name(f"f{index + 1}")}
            self.flavors.append({"apiVersion": KUEUE, "kind": "ResourceFlavor", "metadata": metadata, "spec": spec})

    def cohorts(self) -> list[Manifest]:
        """Objects; a flat cohort may be one that is only named."""
        if self.kind in {SINGLE, HISTORY} or (self.kind in {STOPS, CHECKS} and self.chance(0.5)):
            return []
        names = ["co"] if self.kind not in {TREE, FAIR} else ["root", "org-1", "org-2"][: self.random.randint(2, 3)]
        found: list[Manifest] = []
        for index, name in enumerate(names):
            spec: Manifest = {}
            if index:
                spec["parentName"] = self.name(self.random.choice(names[:index]))
            if self.chance(0.25):
                spec["resourceGroups"] = self.groups(has_limits=index > 0, most=3)
            if self.is_fair and self.chance(0.4):
                spec["fairSharing"] = {"weight": self.random.choice(_WEIGHTS)}
            found.append({"apiVersion": KUEUE, "kind": "Cohort", "metadata": {"name": self.name(name)}, "spec": spec})
        return found

    def draw_queue(self, letter: str, cohorts: list[str]) -> None:
        in_cohort = bool(cohorts) and self.chance(0.92)
        spec: Manifest = {
            "namespaceSelector": {},
            "resourceGroups": self.groups(has_limits=in_cohort, most=5 if in_cohort else 7),
        }
        if in_cohort:
            spec["cohortName"] = self.random.choice(cohorts)
        if self.chance(0.8):
            spec["queueingStrategy"] = "StrictFIFO" if self.chance(0.3) else "BestEffortFIFO"
        if self.kind == CONTEND or self.chance(0.8):
            spec["preemption"] = self.preemption()
        if len(self.flavors) > 1 and self.chance(0.6):
            spec["flavorFungibility"] = {key: self.random.choice(values) for key, values in _FUNGIBILITY.items()}
        if self.is_fair and self.chance(0.5):
            spec["fairSharing"] = {"weight": self.random.choice(_WEIGHTS)}
        if self.kind == CHECKS:
            check: Manifest = {"name": self.name("check")}
            if len(self.flavors) > 1 and self.chance(0.5):
                check["onFlavors"] = [self.flavors[0]["metadata"]["name"]]
            spec["admissionChecksStrategy"] = {"admissionChecks": [check]}
        if self.kind == HISTORY:
            spec["admissionScope"] = {"admissionMode": "UsageBasedAdmissionFairSharing"}
        metadata = {"name": self.name(f"{letter}-cq")}
        queue = {"apiVersion": KUEUE, "kind": "ClusterQueue", "metadata": metadata, "spec": spec}
        self.queues.append(queue)
        self.local_queues.append(self.local_queue(letter, queue))

    def preemption(self) -> Manifest:
        found: Manifest = {key: self.random.choice(values) for key, values in _POLICIES.items()}
        if found["reclaimWithinCohort"] != "Never" and self.chance(0.3) and not self.is_fair:
            within: Manifest = {"policy": "LowerPriority"}
            found["borrowWithinCohort"] = within
            if self.chance(0.5):
                within["maxPriorityThreshold"] = self.random.choice((100, 500))
        return found

    def local_queue(self, letter: str, queue: Manifest) -> Manifest:
        # Of one name in two namespaces, or of two.
        name = f"{QUEUE}-{letter}" if self.kind == HISTORY and self.has_own_names else QUEUE
        metadata = {"name": name, "namespace": self.name(letter)}
        spec = {"clusterQueue": queue["metadata"]["name"]}
        return {"apiVersion": KUEUE, "kind": "LocalQueue", "metadata": metadata, "spec": spec}

    def groups(self, *, has_limits: bool, most: int) -> list[Manifest]:
        flavors = []
        for each in self.flavors:
            resources = []
            for name in self.resources:
                unit = "" if name == "cpu" else "Gi"
                quota = {"name": name, "nominalQuota": f"{self.random.randint(most // 4, most)}{unit}"}
                if has_limits and self.chance(0.2):
                    quota["borrowingLimit"] = f"{self.random.randint(0, 5)}{unit}"
                if has_limits and self.chance(0.2):
                    quota["lendingLimit"] = f"{self.random.randint(0, 3)}{unit}"
                resources.append(quota)
            flavors.append({"name": each["metadata"]["name"], "resources": resources})
        return [{"coveredResources": list(self.resources), "flavors": flavors}]

    def priority_class(self, name: str, value: int) -> Manifest:
        metadata = {"name": self.name(name)}
        return {"apiVersion": KUEUE, "kind": "WorkloadPriorityClass", "metadata": metadata, "value": value}

    def checks(self) -> list[Manifest]:
        if self.kind != CHECKS:
            return []
        active = {"type": "Active", "status": "True", "reason": "Active", "message": "works"}
        return [
            {
                "apiVersion": KUEUE,
                "kind": "AdmissionCheck",
                "metadata": {"name": self.name("check")},
                "spec": {"controllerName": "example.com/check"},
                "status": {"conditions": [{**active, "lastTransitionTime": "2026-09-01T07:59:00Z"}]},
            }
        ]

    # --- what becomes of it ------------------------------------------------------------------------------------------

    def job(self) -> Manifest:
        self.made += 1
        # The first queue is filled first, and borrows; what the others are owed is claimed later.
        others = self.local_queues[1:] or self.local_queues
        is_first = self.chance(0.6 if not self.at else 0.1)
        queue = (self.local_queues[0] if is_first else self.random.choice(others))["metadata"]
        namespace = queue["namespace"]
        name = f"j{self.made:02}"
        self.jobs.append((namespace, name))
        self.touched.add(name)
        labels = {"kueue.x-k8s.io/queue-name": queue["name"]}
        if self.chance(0.8):
            labels["kueue.x-k8s.io/priority-class"] = self.name(
                self.random.choice(("low", "low", "mid", "mid", "high"))
            )
        requests = {"cpu": self.random.choice(_CPU)}
        if "memory" in self.resources and self.chance(0.85):
            requests["memory"] = self.random.choice(_MEMORY)
        container = {"name": "c", "image": "registry.k8s.io/pause:3.9", "resources": {"requests": requests}}
        pod: Manifest = {"restartPolicy": "Never", "containers": [container]}
        if self.kind == FLAVORS:
            if self.chance(0.25):
                pod["nodeSelector"] = {"zone": self.random.choice(_ZONES)}
            if self.chance(0.5):
                pod["tolerations"] = [{"key": "spot", "operator": "Exists"}]
        pods = self.random.choice((1, 1, 1, 2, 3)) if self.kind != PARTIAL else self.random.randint(2, 5)
        stamp = f"2026-09-01T08:{self.at:02}:{self.made * 2:02}Z"
        metadata: Manifest = {"name": name, "namespace": namespace, "labels": labels, "creationTimestamp": stamp}
        if self.kind == PARTIAL and self.chance(0.6):
            fewest = self.random.randint(1, pods - 1)
            metadata["annotations"] = {"kueue.x-k8s.io/job-min-parallelism": str(fewest)}
        spec = {"parallelism": pods, "completions": pods, "suspend": True, "template": {"spec": pod}}
        return {"apiVersion": "batch/v1", "kind": "Job", "metadata": metadata, "spec": spec}

    def step(self) -> list[Manifest]:
        """One to three happenings."""
        every: list[Callable[[], list[Manifest]]] = [
            self.new_jobs,
            self.new_jobs,
            self.new_jobs,
            self.end,
            self.end,
            self.requota,
        ]
        every += {CHECKS: [self.check] * 6, STOPS: [self.stop, self.stop, self.stop, self.deactivate]}.get(
            self.kind, []
        )
        if self.chance(0.15):
            every.append(self.reprice)
        return [manifest for happens in self.random.sample(every, self.random.randint(1, 2)) for manifest in happens()]

    def one_of_the_jobs(self) -> tuple[str, str] | None:
        """One that the step has not touched yet."""
        free = [each for each in self.jobs if each[1] not in self.touched]
        found = self.random.choice(free) if free else None
        if found is not None:
            self.touched.add(found[1])
        return found

    def changed(self, obj: Manifest, spec: Manifest) -> list[Manifest]:
        """The object with another spec, unless the step has it already."""
        key = f"{obj['kind']}/{obj['metadata'].get('namespace', '')}/{obj['metadata']['name']}"
        if key in self.touched:
            return self.new_jobs()
        self.touched.add(key)
        obj["spec"] = spec
        return [dict(obj)]

    def new_jobs(self) -> list[Manifest]:
        return [self.job() for _ in range(self.random.randint(1, 2))]

    def end(self) -> list[Manifest]:
        """A Job is deleted, or it has finished."""
        found = self.one_of_the_jobs()
        if found is None:
            return self.new_jobs()
        namespace, name = found
        self.jobs.remove(found)
        head = {"apiVersion": "batch/v1", "kind": "Job"}
        if self.chance(0.7):
            gone = {"name": name, "namespace": namespace, "deletionTimestamp": f"2026-09-01T08:{self.at:02}:59Z"}
            return [{**head, "metadata": gone}]
        done = {"conditions": [{"type": "Complete", "status": "True"}]}
        return [{**head, "metadata": {"name": name, "namespace": namespace}, "status": done}]

    def requota(self) -> list[Manifest]:
        queue = self.random.choice(self.queues)
        has_limits = "cohortName" in queue["spec"]
        changed = {**queue["spec"], "resourceGroups": self.groups(has_limits=has_limits, most=6)}
        return self.changed(queue, changed)

    def stop(self) -> list[Manifest]:
        found = self.random.choice([*self.queues, *self.queues, *self.local_queues])
        policy = self.random.choice(("None", "None", "Hold", "HoldAndDrain"))
        return self.changed(found, {**found["spec"], "stopPolicy": policy})

    def reprice(self) -> list[Manifest]:
        return [self.priority_class(self.random.choice(("low", "mid", "high")), self.random.randrange(0, 1200, 100))]

    def deactivate(self) -> list[Manifest]:
        return self.workload({"spec": {"active": self.chance(0.3)}})

    def check(self) -> list[Manifest]:
        state = self.random.choice(_CHECK_STATES)
        return self.workload(
            {"status": {"admissionChecks": [{"name": self.name("check"), "state": state, "message": ""}]}}
        )

    def workload(self, news: Manifest) -> list[Manifest]:
        """Something is written into a Job's Workload."""
        found = self.one_of_the_jobs()
        if found is None:
            return self.new_jobs()
        namespace, name = found
        owner = {"apiVersion": "batch/v1", "kind": "Job", "name": name, "uid": ""}
        metadata = {"name": name, "namespace": namespace, "ownerReferences": [owner]}
        return [{"apiVersion": KUEUE, "kind": "Workload", "metadata": metadata, **news}]
