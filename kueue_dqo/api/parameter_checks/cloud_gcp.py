"""What only Google Cloud has: the project, metrics of Compute Engine, GPU families of Cloud Quotas, reservations."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from kueue_dqo.api.cloud import GcpEntry, GcpMetric, GcpProject, GcpReservations, MetricUnit, region_of, unit_by_name
from kueue_dqo.api.parameter_checks.cloud_forms import (
    GCP_RESERVATION,
    GCP_ZONE,
    GLOBAL_METRIC,
    GPU_FAMILY,
    MACHINE_TYPE,
    METRIC,
    PROJECT,
    QUOTA_ID,
    QUOTA_SERVICE,
    SERVICE_ACCOUNT,
    texts,
)
from kueue_dqo.api.problems import FieldProblem, shown

COMMITTED: Final = "COMMITTED_"
"""How metrics begin that count commitments to pay."""
MAX_NAMES: Final = 64
MAX_ZONES: Final = 16
MAX_RESERVATIONS: Final = 1024
"""Names times zones, of one object: each of them is compared with all others."""
MAX_ACCELERATORS: Final = 64
"""Of one instance."""


def gcp_account_problems(field: str, account: GcpProject) -> Iterator[FieldProblem]:
    """Every problem of what the account has beside its regions and flavors."""
    yield from PROJECT.problems(f"{field}.project", account.project)
    if account.impersonate_service_account is not None:
        yield from SERVICE_ACCOUNT.problems(f"{field}.impersonateServiceAccount", account.impersonate_service_account)
    named = [
        len(entry.reservations.names) * max(1, len(entry.reservations.zones))
        for flavor in account.flavors
        for entry in flavor.entries
        if entry.reservations is not None
    ]
    if sum(named) > MAX_RESERVATIONS:
        yield FieldProblem(
            f"{field}.flavors",
            f"have {sum(named)} reservations, names times zones: at most {MAX_RESERVATIONS} are allowed in one object; "
            "make several objects",
        )


def gcp_entry_problems(field: str, account: GcpProject, entry: GcpEntry) -> Iterator[FieldProblem]:
    """Every problem of what entries of Google Cloud alone have."""
    yield from MACHINE_TYPE.problems(f"{field}.machineType", entry.machine_type)
    accelerators = entry.accelerators
    if accelerators is not None and not 1 <= accelerators <= MAX_ACCELERATORS:
        yield FieldProblem(
            f"{field}.accelerators",
            f"{accelerators} is no number of attached GPUs: 1 to {MAX_ACCELERATORS} are allowed; leave it out for a "
            "machine type that has its GPUs built in, or none",
        )
    if entry.metric is not None:
        yield from _metric(f"{field}.metric", entry.metric)
    if entry.gpu_family is not None:
        yield from GPU_FAMILY.problems(f"{field}.gpuFamily.name", entry.gpu_family.name)
        yield from QUOTA_ID.problems(f"{field}.gpuFamily.quotaId", entry.gpu_family.quota_id)
        yield from QUOTA_SERVICE.problems(f"{field}.gpuFamily.service", entry.gpu_family.service)
    reservations = entry.reservations
    if reservations is not None:
        yield from _reservations(f"{field}.reservations", account, entry, reservations)
        if reservations.project not in {None, account.project} and entry.share is None:
            yield FieldProblem(
                f"{field}.share",
                f"is missing: project {shown(reservations.project or '')} owns the reservations and uses them too; say "
                "which share of them is this project's",
            )


def _metric(field: str, metric: GcpMetric) -> Iterator[FieldProblem]:
    yield from METRIC.problems(f"{field}.name", metric.name)
    if metric.name.startswith(COMMITTED):
        yield FieldProblem(
            f"{field}.name",
            f"{shown(metric.name)} bounds what may be committed to, not what may run: name "
            f"{shown(metric.name.removeprefix(COMMITTED))}",
        )
    if metric.global_metric is not None:
        yield from GLOBAL_METRIC.problems(f"{field}.globalMetric", metric.global_metric)
    by_name = unit_by_name(metric.name)
    if metric.unit is None and by_name is None and METRIC.fits(metric.name):
        yield FieldProblem(
            f"{field}.unit",
            f"is missing: the end of {shown(metric.name)} does not say what it counts; write {' or '.join(MetricUnit)}",
        )
    if metric.unit is not None and by_name not in {None, metric.unit}:
        yield FieldProblem(
            f"{field}.unit", f"{metric.unit} is not what {shown(metric.name)} counts: write {by_name}, or leave it out"
        )


def _reservations(
    field: str, account: GcpProject, entry: GcpEntry, reservations: GcpReservations
) -> Iterator[FieldProblem]:
    yield from texts(f"{field}.names", reservations.names, GCP_RESERVATION, fewest=1, most=MAX_NAMES)
    if reservations.project is not None:
        yield from PROJECT.problems(f"{field}.project", reservations.project)
    yield from texts(f"{field}.zones", reservations.zones, GCP_ZONE, fewest=0, most=MAX_ZONES)
    try:
        region = region_of(account, entry)
    except ValueError:  # told already
        return
    for index, zone in enumerate(reservations.zones):
        if GCP_ZONE.fits(zone) and not zone.startswith(f"{region}-"):
            yield FieldProblem(f"{field}.zones[{index}]", f"{shown(zone)} is no zone of the entry's region, {region}")
