"""`docs/reference/metrics.md`, from the metrics that the code declares.

Each daemon's metrics are made as the daemon makes them, in a registry of their own, and asked for their names.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from types import SimpleNamespace
from typing import Final, NamedTuple, cast

from prometheus_client import CollectorRegistry
from prometheus_client.metrics import MetricWrapperBase
from prometheus_client.registry import Collector

from kueue_dqo.api.cloud import CLOUDS
from kueue_dqo.api.dqo import ROOT_KINDS
from kueue_dqo.runtime.cache_metrics import CacheMetrics
from kueue_dqo.runtime.clock import SystemClock
from kueue_dqo.runtime.controller import RESULTS, ControllerMetrics
from kueue_dqo.runtime.events import EventMetrics, Lost
from kueue_dqo.runtime.leader import LeaderMetrics
from kueue_dqo.runtime.process import process_registry
from kueue_dqo.runtime.request_metrics import RequestMetrics
from kueue_dqo.runtime.workqueue import QueueMetrics
from orchestrator.cluster import Cluster
from orchestrator.enforcement.roads import Road
from orchestrator.metrics import ClusterCollector, OrchestratorMetrics, WriteResult
from providers.cloud_quota.cloud import Result
from providers.cloud_quota.metrics import CloudMetrics
from providers.guards import Guard
from providers.metrics import ProviderMetrics, RecordCollector
from providers.multikueue.metrics import FleetMetrics
from providers.multikueue.requests import WorkerRequests
from providers.node_inventory.metrics import NodeMetrics
from providers.nvidia_gpu.agent.metrics import AgentMetrics
from providers.nvidia_gpu.metrics import STATES, GpuMetrics
from scripts.generators.tree import GenerateError

PAGE: Final = "docs/reference/metrics.md"


def _one_of(values: Iterable[str], **notes: str) -> str:
    """What the code knows, each with a note where it says too little."""
    return ", ".join(f"`{value}` ({notes[value]})" if value in notes else f"`{value}`" for value in map(str, values))


LABELS: Final[Mapping[str, str]] = {
    "call": "a call to a cloud, by the name of its permission",
    "cause": "why: " + _one_of(Lost, spam="limited on purpose", backlog="too many waited"),
    "cloud": _one_of(CLOUDS),
    "code": "status code of the answer, `<error>` where none came",
    "controller": "name of the loop, that of the daemon",
    "counted": "`true` where such an XID counts as bad health, `false`",
    "entry": "number of the entry in the flavor's parameters, from 0",
    "error": "name of the error",
    "flavor": "a ResourceFlavor",
    "generation": "of Python's garbage collector",
    "guard": _one_of(Guard),
    "health": "`healthy`, `unhealthy`",
    "kind": _one_of(ROOT_KINDS),
    "manager": "the field manager that wrote",
    "method": "HTTP method",
    "name": "of the object: a queue or Cohort, a Lease, or the work queue",
    "orchestrator": "a DynamicQuotaOrchestrator",
    "provider": "a CapacityProvider",
    "reason": "of the condition, the exclusion or the problem, as on the pages of the parts",
    "region": "of the cloud",
    "resource": "a resource of quotas such as `cpu`; of caches, the kind that is read, with its group",
    "result": "see below the table",
    "road": _one_of(sorted(Road)),
    "source": "what was asked: a quota's code or metric, or a reservation",
    "state": _one_of(STATES),
    "status": "`True`, `False`, `Unknown`",
    "type": "of the condition; of instances, the machine type",
    "uuid": "of a GPU or MIG device",
    "verb": "`create`, `patch`",
    "worker": "a MultiKueueCluster",
    "writes": "`true`, `false`",
    "xid": "NVIDIA's number of the error",
}
"""What stands in each label. A metric with a label that is not told here cannot be generated."""

_RESULTS: Final[Mapping[str, str]] = {
    "kueue_dqo_quota_writes_total": _one_of(WriteResult, outdated="changed by others", failed="tried again"),
    "kueue_dqo_provider_observations_total": "`success`, or the reason of the condition",
    "kueue_dqo_nvidia_gpu_agent_report_writes_total": "`success`, or the kind of the error",
    "kueue_dqo_cloud_quota_calls_total": _one_of(Result),
    "controller_runtime_reconcile_total": _one_of(RESULTS),
}
_TYPES: Final = frozenset({"counter", "gauge", "histogram"})


class Family(NamedTuple):
    """A metric as Prometheus shows it."""

    name: str
    """With the suffix `_total` of a counter."""
    type: str
    labels: tuple[str, ...]
    help: str


class Section(NamedTuple):
    """The metrics of one part."""

    title: str
    serves: str
    """Which process, which replica, since when and until when."""
    families: tuple[Family, ...]


def files() -> dict[str, str]:
    """The page. Raises GenerateError."""
    return {PAGE: _page()}


def sections() -> tuple[Section, ...]:
    """All metrics of this project's daemons, by part; those of Python's client library for every process left out."""
    empty = cast("Cluster", SimpleNamespace(mode=None, providers={}, orchestrators={}, views={}))

    orchestrator = CollectorRegistry()
    OrchestratorMetrics(orchestrator)
    orchestrator.register(ClusterCollector(empty, with_quotas=True))

    provider = CollectorRegistry()
    ProviderMetrics(provider)
    provider.register(RecordCollector(dict))

    nodes, gpus, agent, clouds, workers, all_daemons = (CollectorRegistry() for _ in range(6))
    NodeMetrics(nodes)
    GpuMetrics(gpus, {})
    AgentMetrics(agent)
    CloudMetrics(clouds, SystemClock())
    FleetMetrics(workers)
    WorkerRequests(workers)
    for make in (CacheMetrics, RequestMetrics, LeaderMetrics, EventMetrics, ControllerMetrics, QueueMetrics):
        make(all_daemons)

    return (
        Section(
            "Orchestrator",
            "`dqo orchestrator`. Conditions, capacities and quotas are read from the caches, so every replica has "
            "them. Counters move in the one that leads, and only that one has `kueue_dqo_quota_differences`, "
            "`kueue_dqo_provider_lease_expired`, and more than 0 in `kueue_dqo_quota_objects_stopped`.",
            _families(orchestrator),
        ),
        Section(
            "Providers",
            "`dqo provider NAME`, the replica that leads. The series of a CapacityProvider that is gone disappear, and "
            "so do all with the label `provider` of a replica that leads no more.",
            _families(provider),
        ),
        Section("Node inventory", "`dqo provider node-inventory` besides, as above.", _families(nodes)),
        Section(
            "NVIDIA GPUs",
            "`dqo provider nvidia-gpu` besides, as above; `kueue_dqo_nvidia_gpu_reports` of every replica.",
            _families(gpus),
        ),
        Section(
            "Agents of NVIDIA GPUs",
            "`dqo provider nvidia-gpu --role agent`, on each node. Of the last section it has only "
            "`rest_client_requests_total`: it elects no leader and watches nothing.",
            _families(agent),
        ),
        Section("Cloud quota", "`dqo provider cloud-quota` besides, as above.", _families(clouds)),
        Section("MultiKueue", "`dqo provider multikueue` besides, as above.", _families(workers)),
        Section("Every daemon", "Each replica of each daemon, from its start to its end.", _families(all_daemons)),
    )


def of_every_process() -> tuple[Family, ...]:
    """What Prometheus' client library tells of every process."""
    return _families(process_registry())


def _families(registry: CollectorRegistry) -> tuple[Family, ...]:
    found = [family for collector in _collectors(registry) for family in _of(collector)]
    return tuple(sorted(found))


def _collectors(registry: CollectorRegistry) -> Iterator[Collector]:
    yield from registry._collector_to_names  # noqa: SLF001 - the library tells names of labels nowhere else


def _of(collector: Collector) -> Iterator[Family]:
    """Those that it has when nothing has happened yet."""
    own = tuple(collector._labelnames) if isinstance(collector, MetricWrapperBase) else None  # noqa: SLF001 - as above
    for metric in collector.collect():
        if metric.type not in _TYPES:
            continue
        labels = own if own is not None else tuple(getattr(metric, "_labelnames", ()))
        name = f"{metric.name}_total" if metric.type == "counter" else metric.name
        yield Family(name, metric.type, labels, metric.documentation.rstrip("."))


def _page() -> str:
    parts = [_HEAD]
    told = sections()
    for section in told:
        rows = [_row(family) for family in section.families]
        parts.append(
            f"## {section.title}\n\n{section.serves}\n\n| metric | type | labels | says |\n| --- | --- | --- | --- |\n"
            + "\n".join(rows)
            + "\n"
        )
        results = [
            f"- `result` of `{family.name}`: {_RESULTS[family.name]}"
            for family in section.families
            if "result" in family.labels and family.name in _RESULTS
        ]
        if results:
            parts.append("\n".join(results) + "\n")
    parts.append(
        "## Every process\n\nFrom Prometheus' client library for Python: "
        + ", ".join(f"`{family.name}`" for family in of_every_process())
        + ".\n"
    )
    used = {label for section in told for family in section.families for label in family.labels}
    rows = [f"| `{label}` | {LABELS[label]} |" for label in sorted(used)]
    parts.append("## Labels\n\n| label | what stands in it |\n| --- | --- |\n" + "\n".join(rows) + "\n")
    return "\n".join(parts)


def _row(family: Family) -> str:
    if untold := [label for label in family.labels if label not in LABELS]:
        raise GenerateError(
            f"the metric {family.name} has a label {untold[0]}, which LABELS in {__file__} does not tell"
        )
    if "result" in family.labels and family.name not in _RESULTS:
        raise GenerateError(f"the results of the metric {family.name} are not told in {__file__}")
    labels = ", ".join(f"`{label}`" for label in family.labels)
    return f"| `{family.name}` | {family.type} | {labels} | {family.help} |"


_HEAD: Final = """\
# Metrics, all of them

<!-- Written by scripts/generate.py from the metrics that the code declares: change their help texts, not this file. -->

Every metric that a daemon serves at `/metrics` on the address of `--listen` (port 8080). Amounts are in base units:
cores, bytes, devices; times are seconds, points in time seconds since the epoch. What to do with them is told on
[metrics](../metrics.md) and [monitoring](../monitoring.md).

Each is there from the start, with its name and type. A series with labels begins when there is something to say: a
counter at its first occurrence, with 1, but for those whose labels are all known before. Beside each counter and
histogram stands a gauge that ends in `_created`, in place of `_total`: when that series began.
"""
