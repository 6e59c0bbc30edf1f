"""Quotas of Compute Engine: the metric of a region, bounded by the project's over all regions. Pure."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from typing import Final, NamedTuple

from kueue_dqo.api.cloud import GcpEntry, GcpMetric, GcpProject, MetricUnit, region_of, unit_by_name
from kueue_dqo.api.wording import some
from kueue_dqo.provider import Misconfigured, SourceUnavailable
from providers.cloud_quota import arithmetic
from providers.cloud_quota.cloud import Answers, Draw, Limit
from providers.cloud_quota.gcp.machine import accelerators_of
from providers.cloud_quota.gcp.questions import (
    GLOBAL,
    Machine,
    ProjectQuestion,
    Quotas,
    RegionQuestion,
    machine_question,
)
from providers.cloud_quota.wording import details

_GLOBAL_METRIC: Final = {MetricUnit.ACCELERATORS: "GPUS_ALL_REGIONS", MetricUnit.VCPUS: "CPUS_ALL_REGIONS"}
_UNIT_OF_GLOBAL: Final = {name: unit for unit, name in _GLOBAL_METRIC.items()}
"""What they count whatever metric they bound: an instance with GPUs takes vCPUs of CPUS_ALL_REGIONS."""
_NAMES_SHOWN: Final = 8


class Counted(NamedTuple):
    """What a metric comes to for an entry."""

    instances: int
    text: str
    """`quota NVIDIA_L4_GPUS in us-central1 (16, GPUS_ALL_REGIONS 8, share 0.5)`."""
    limits: tuple[Limit, ...]
    draws: Mapping[str, Draw]
    """What they take of the limit over all regions."""


class _Bound(NamedTuple):
    """A limit of which an instance takes something."""

    what: str
    """For a person."""
    value: float
    """As the cloud sent it."""
    takes: int
    """What one instance takes of it."""


def unit_of(metric: GcpMetric) -> MetricUnit:
    """What it counts. Raises Misconfigured where its name does not tell."""
    unit = metric.unit or unit_by_name(metric.name)
    if unit is not None:
        return unit
    raise Misconfigured(
        f"metric {metric.name} does not tell by its name what it counts: set unit to {' or '.join(MetricUnit)}"
    )


def global_metric_of(metric: GcpMetric) -> str | None:
    """The metric over all regions that bounds it, if any does.

    Where parameters do not name one, the name of the metric tells: what has another unit by the parameters alone, such
    as TPU_LITE_PODSLICE_V5, counts no GPUs and no CPUs.
    """
    if metric.global_metric is not None:
        return metric.global_metric or None
    unit = unit_by_name(metric.name)
    return None if unit is None else _GLOBAL_METRIC[unit]


def counted(account: GcpProject, entry: GcpEntry, metric: GcpMetric, answers: Answers) -> Counted:
    """How many instances of the entry the metric allows. The share is of the smaller limit of both.

    Raises:
        Misconfigured: there is no such metric, or the machine type takes nothing of it.
        SourceUnavailable: its row tells no limit.
        InvalidCapacity: it has none, and nothing else bounds it.
    """
    region = region_of(account, entry)
    machine = answers[machine_question(account, entry)]
    what = f"quota {metric.name} in {region} of project {account.project}"
    takes = _takes(entry, metric.name, unit_of(metric), machine)
    regional = _limit(answers[RegionQuestion(account.project, region)], metric.name, what, _hint(metric.name))
    bounds = [_Bound(what, regional, takes)]
    rows = [Limit(metric.name, region, _for_metrics(regional))]
    name = global_metric_of(metric)
    if name is not None:
        over_all = _over_all(metric, name, answers[ProjectQuestion(account.project)], account)
        if over_all is not None:
            takes = _takes(entry, name, _UNIT_OF_GLOBAL.get(name, unit_of(metric)), machine)
            bounds.append(_Bound(f"quota {name} of project {account.project}", over_all, takes))
            rows.append(Limit(name, GLOBAL, _for_metrics(over_all)))
    instances = _fewest(entry, bounds)
    shown = [shown_limit(regional), *(f"{row.source} {shown_limit(row.value)}" for row in rows[1:]), *details(entry)]
    return Counted(
        instances,
        f"quota {metric.name} in {region} ({', '.join(shown)})",
        tuple(rows),
        {
            each.what: Draw(each.what, Fraction(str(each.value)), Fraction(instances * each.takes))
            for each in bounds[1:]
            if not arithmetic.is_unlimited(each.value)
        },
    )


def _fewest(entry: GcpEntry, bounds: Sequence[_Bound]) -> int:
    """What all limits allow; one without a value bounds nothing where another does. Raises InvalidCapacity."""
    bounding = [each for each in bounds if not arithmetic.is_unlimited(each.value)] or bounds
    return min(
        arithmetic.whole_instances(
            arithmetic.limit_of(each.value, what=each.what, max_instances=entry.max_instances),
            entry,
            each.takes,
            what=each.what,
        )
        for each in bounding
    )


def shown_limit(value: float) -> str:
    """`16`, `0.5`, `unlimited`."""
    return "unlimited" if arithmetic.is_unlimited(value) else f"{value:.15g}"


def near(name: str, names: Iterable[str]) -> str:
    """Names that may be meant."""
    known = sorted(names)
    close = difflib.get_close_matches(name, known, n=_NAMES_SHOWN, cutoff=0.6)
    return some(close or known, at_most=_NAMES_SHOWN)


def _takes(entry: GcpEntry, name: str, unit: MetricUnit, machine: Machine) -> int:
    if unit is MetricUnit.VCPUS:
        return machine.vcpus
    takes = accelerators_of(entry, machine)
    if not takes:
        raise Misconfigured(
            f"metric {name} counts accelerators, and machine type {entry.machine_type} has none built in: set "
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


def _over_all(metric: GcpMetric, name: str, quotas: Quotas, account: GcpProject) -> float | None:
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
