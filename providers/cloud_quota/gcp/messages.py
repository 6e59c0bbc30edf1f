"""From the SDK's messages to plain values: the only place that knows the names of the API's fields."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Final

from google.cloud import cloudquotas_v1, compute_v1

from kueue_dqo.api.wording import some
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
    """The names of its zones, in their order; the answer has addresses. Empty where it tells none."""
    return tuple(sorted(zone.rpartition("/")[2] for zone in region.zones))


def machine(found: compute_v1.MachineType, what: str) -> Machine:
    """A machine type. Raises SourceUnavailable where the answer leaves out how large it is."""
    sizes = {"guestCpus": found.guest_cpus, "memoryMb": found.memory_mb}
    missing = [name for name, size in sizes.items() if size <= 0]
    if any("guest_accelerator_count" not in each or each.guest_accelerator_count < 0 for each in found.accelerators):
        missing.append("guestAcceleratorCount")
    if missing:
        raise SourceUnavailable(f"{what}: the cloud answered without {some(missing)} of it")
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
    """Those of one page, as often as they stand there."""
    for scope, listed in sorted(page.items.items()):
        for each in listed.reservations:
            yield _reservation(each, scope)


def unique(found: Iterable[Reservation], what: str) -> tuple[Reservation, ...]:
    """Each once, though pages may overlap. Raises SourceUnavailable where one is told in two ways."""
    by_place: dict[tuple[str, str], Reservation] = {}
    for each in found:
        if by_place.setdefault((each.zone, each.name), each) != each:
            raise SourceUnavailable(f"{what}: the cloud told reservation {each.name} in {each.zone} in two ways")
    return tuple(by_place.values())


def same_name(told: str, asked: str, what: str) -> None:
    """Raises SourceUnavailable where the answer is about something else. Not every answer has a name."""
    if told and told != asked:
        raise SourceUnavailable(f"{what}: the cloud answered about {told} instead")


def missing(page: compute_v1.ReservationAggregatedList) -> Iterator[str]:
    """Of which places the page could not tell what there is."""
    yield from page.unreachables
    yield from _warning(page.warning)
    for scope, listed in sorted(page.items.items()):
        yield from (f"{scope}: {text}" for text in _warning(listed.warning))


def _warning(warning: Any) -> Iterator[str]:
    # Not typed: the SDK's annotation means its own Warning, and names Python's.
    if warning.code not in _HARMLESS or (warning.message and not warning.code):
        yield f"{warning.code or 'warning'} {warning.message}"


def _quotas(rows: Iterable[compute_v1.Quota], what: str) -> Quotas:
    limits: dict[str, float | None] = {}
    for row in rows:
        limit = row.limit if "limit" in row else None
        if limits.setdefault(row.metric, limit) != limit:
            raise SourceUnavailable(f"{what}: the cloud told two limits of {row.metric}")
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
        is_specific="specific_reservation" in found,
        count=specific.count if "count" in specific else None,
        machine_type=properties.machine_type.rpartition("/")[2],
        accelerators=_attached(properties.guest_accelerators),
        share_type=found.share_settings.share_type,
        delete_at=found.delete_at_time,
    )


def _attached(rows: Iterable[compute_v1.AcceleratorConfig]) -> tuple[tuple[str, int], ...] | None:
    """Those of which there are some. None where one has no number."""
    found = tuple(rows)
    if any("accelerator_count" not in each for each in found):
        return None
    return tuple(
        (each.accelerator_type.rpartition("/")[2], each.accelerator_count) for each in found if each.accelerator_count
    )
