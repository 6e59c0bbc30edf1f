"""From the SDK's messages to plain values: the only place that knows the names of the API's fields."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Final

from google.cloud import cloudquotas_v1, compute_v1

from kueue_dqo.provider import SourceUnavailable
from providers.cloud_quota.gcp.questions import Machine, QuotaRow, Quotas, Reservation

_HARMLESS: Final = frozenset(
    {"", "NO_RESULTS_ON_PAGE", "DEPRECATED_RESOURCE_USED", "DEPRECATED_TYPE_USED", "EXPERIMENTAL_TYPE_USED"}
)
"""Warnings after which a list is whole all the same. The first stands on every zone that has nothing."""


def region_quotas(region: compute_v1.Region, what: str) -> Quotas:
    """The quotas of a region.

    An answer comes without them, and with success, where Compute Engine cannot tell them (its page on quotas).

    Raises:
        SourceUnavailable: there are none, or a warning says that they cannot be relied on.
    """
    warning = region.quota_status_warning
    if warning.code or warning.message:
        raise SourceUnavailable(
            f"{what}: the cloud could not tell its quotas: {warning.code or 'warning'}: {warning.message or '-'}"
        )
    return _quotas(region.quotas, what)


def project_quotas(project: compute_v1.Project, what: str) -> Quotas:
    """The quotas of a project over all regions. Raises SourceUnavailable where there are none."""
    return _quotas(project.quotas, what)


def zones_of(region: compute_v1.Region) -> tuple[str, ...]:
    """The names of its zones, in their order; the answer has addresses."""
    return tuple(sorted(zone.rpartition("/")[2] for zone in region.zones))


def machine(found: compute_v1.MachineType) -> Machine:
    """A machine type."""
    state = found.deprecated.state
    return Machine(
        vcpus=found.guest_cpus,
        memory_mib=found.memory_mb,
        accelerators=tuple(
            (each.guest_accelerator_type, each.guest_accelerator_count)
            for each in found.accelerators
            if each.guest_accelerator_count
        ),
        deprecated="" if state == "ACTIVE" else state,
    )


def quota_rows(info: cloudquotas_v1.QuotaInfo, what: str) -> tuple[QuotaRow, ...]:
    """The limits of a quota of Cloud Quotas, in their order. Raises SourceUnavailable where there are none."""
    if not info.dimensions_infos:
        raise SourceUnavailable(f"{what}: the cloud told no limits of it")
    return tuple(
        QuotaRow(
            dimensions=dict(row.dimensions),
            locations=tuple(row.applicable_locations),
            # A value of 0 is not sent; that there is none is told by the whole part.
            value=row.details.value if "details" in row else None,
        )
        for row in info.dimensions_infos
    )


def reservations(page: compute_v1.ReservationAggregatedList) -> Iterator[Reservation]:
    """Those of one page."""
    for scope, listed in sorted(page.items.items()):
        for each in listed.reservations:
            yield _reservation(each, scope)


def missing(page: compute_v1.ReservationAggregatedList) -> Iterator[str]:
    """Of which places the page could not tell what there is."""
    yield from page.unreachables
    yield from _warning(page.warning)
    for scope, listed in sorted(page.items.items()):
        yield from (f"{scope}: {text}" for text in _warning(listed.warning))


def _warning(warning: Any) -> Iterator[str]:
    # Not typed: the SDK's annotation means its own Warning, and names Python's.
    if warning.code not in _HARMLESS:
        yield f"{warning.code} {warning.message}"


def _quotas(rows: Iterable[compute_v1.Quota], what: str) -> Quotas:
    limits = {row.metric: row.limit if "limit" in row else None for row in rows}
    if not limits:
        raise SourceUnavailable(f"{what}: the cloud answered without quotas")
    return Quotas(limits)


def _reservation(found: compute_v1.Reservation, scope: str) -> Reservation:
    specific = found.specific_reservation
    properties = specific.instance_properties
    return Reservation(
        name=found.name,
        zone=(found.zone or scope).rpartition("/")[2],
        status=found.status,
        count=specific.count if "specific_reservation" in found else None,
        machine_type=properties.machine_type.rpartition("/")[2],
        accelerators=tuple(
            (each.accelerator_type.rpartition("/")[2], each.accelerator_count)
            for each in properties.guest_accelerators
            if each.accelerator_count
        ),
        delete_at=found.delete_at_time,
    )
