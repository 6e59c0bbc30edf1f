"""Quotas of Compute Engine: the metric of a region, bounded by the project's over all regions. Pure."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from fractions import Fraction
from typing import Final, NamedTuple

from kueue_dqo.api.cloud import GcpEntry, GcpMetric, GcpProject, MetricUnit, region_of, unit_by_name
from kueue_dqo.api.wording import some
from kueue_dqo.provider import Misconfigured, SourceUnavailable
from providers.cloud_quota import arithmetic
from providers.cloud_quota.cloud import Answers, Limit
from providers.cloud_quota.gcp.machine import accelerators_of
from providers.cloud_quota.gcp.questions import (
    GLOBAL,
    Machine,
    ProjectQuestion,
    Quotas,
    RegionQuestion,
    machine_question,
)

_GLOBAL_METRIC: Final = {MetricUnit.ACCELERATORS: "GPUS_ALL_REGIONS", MetricUnit.VCPUS: "CPUS_ALL_REGIONS"}
_NAMES_SHOWN: Final = 8


class Counted(NamedTuple):
    """What a metric comes to for an entry."""

    instances: int
    takes: int
    """What one of them takes of it."""
    text: str
    """`quota NVIDIA_L4_GPUS in us-central1 (16, GPUS_ALL_REGIONS 8)`."""
    limits: tuple[Limit, ...]


def unit_of(metric: GcpMetric) -> MetricUnit:
    """What it counts. Raises Misconfigured where its name does not tell."""
    unit = metric.unit or unit_by_name(metric.name)
    if unit is not None:
        return unit
    raise Misconfigured(
        f"metric {metric.name} does not tell by its name what it counts: set unit to {' or '.join(MetricUnit)}"
    )


def global_metric_of(metric: GcpMetric) -> str | None:
    """The metric over all regions that bounds it, if any does. Raises as `unit_of`."""
    if metric.global_metric is not None:
        return metric.global_metric or None
    return _GLOBAL_METRIC[unit_of(metric)]


def counted(account: GcpProject, entry: GcpEntry, metric: GcpMetric, answers: Answers) -> Counted:
    """How many instances of the entry the metric allows. The share is of the smaller limit of both.

    Raises:
        Misconfigured: there is no such metric, or the machine type takes nothing of it.
        SourceUnavailable: its row tells no limit.
        InvalidCapacity: it has none, and nothing else bounds it.
    """
    region = region_of(account, entry)
    what = f"quota {metric.name} in {region} of project {account.project}"
    takes = _takes(entry, metric, answers[machine_question(account, entry)])
    quotas = answers[RegionQuestion(account.project, region)]
    regional = _limit(quotas, metric.name, what, _hint(metric.name))
    rows = [Limit(metric.name, region, _for_metrics(regional))]
    values = [regional]
    name = global_metric_of(metric)
    if name is not None:
        bound = _bound(metric, name, answers[ProjectQuestion(account.project)], account)
        if bound is not None:
            rows.append(Limit(name, GLOBAL, _for_metrics(bound)))
            values.append(bound)
    limit = smallest(values, what=what, max_instances=entry.max_instances)
    instances = arithmetic.whole_instances(limit, entry, takes, what=what)
    shown = [shown_limit(regional), *(f"{row.source} {shown_limit(row.value)}" for row in rows[1:])]
    return Counted(instances, takes, f"quota {metric.name} in {region} ({', '.join(shown)})", tuple(rows))


def smallest(values: Iterable[float], *, what: str, max_instances: int | None) -> Fraction | None:
    """The smallest limit, None where there is none but `max_instances`. Raises InvalidCapacity as `limit_of`."""
    values = tuple(values)
    bounding = [value for value in values if not arithmetic.is_unlimited(value)]
    limits = [arithmetic.limit_of(value, what=what, max_instances=max_instances) for value in bounding or values]
    told = [limit for limit in limits if limit is not None]
    return min(told) if told else None


def shown_limit(value: float) -> str:
    """`16`, `0.5`, `unlimited`."""
    return "unlimited" if arithmetic.is_unlimited(value) else f"{value:.15g}"


def near(name: str, names: Iterable[str]) -> str:
    """Names that may be meant."""
    known = sorted(names)
    close = difflib.get_close_matches(name, known, n=_NAMES_SHOWN, cutoff=0.6)
    return some(close or known, at_most=_NAMES_SHOWN)


def _takes(entry: GcpEntry, metric: GcpMetric, machine: Machine) -> int:
    if unit_of(metric) is MetricUnit.VCPUS:
        return machine.vcpus
    takes = accelerators_of(entry, machine)
    if not takes:
        raise Misconfigured(
            f"metric {metric.name} counts accelerators, and machine type {entry.machine_type} has none built in: set "
            "accelerators of the entry to how many are attached to each instance, or name a metric of its vCPUs"
        )
    return takes


def _limit(quotas: Quotas, name: str, what: str, hint: str = "") -> float:
    if name not in quotas.limits:
        raise Misconfigured(
            f"{what} does not exist: name one of those that do, such as {near(name, quotas.limits)}{hint}"
        )
    limit = quotas.limits[name]
    if limit is None:
        raise SourceUnavailable(f"{what} was told without a limit")
    return limit


def _bound(metric: GcpMetric, name: str, quotas: Quotas, account: GcpProject) -> float | None:
    """The project's limit, None where it has no such metric; one that the parameters name has to be there."""
    if metric.global_metric is None and name not in quotas.limits:
        return None
    return _limit(quotas, name, f"quota {name} of project {account.project}")


def _hint(name: str) -> str:
    if "NVIDIA" not in name:
        return ""
    return "; on-demand quotas of H100 and newer GPUs are kept in Cloud Quotas, by gpuFamily instead of metric"


def _for_metrics(value: float) -> float:
    return float("inf") if arithmetic.is_unlimited(value) else value
