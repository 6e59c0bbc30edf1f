"""What must not be counted twice: quotas that flavors divide, and reservations that live inside a quota."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from decimal import Decimal
from fractions import Fraction
from typing import Final, NamedTuple

from kueue_dqo.api.cloud import (
    AwsAccount,
    AwsEntry,
    CloudAccount,
    CloudEntry,
    GcpEntry,
    GcpProject,
    PurchaseOption,
    flavors_of,
    region_of,
)
from kueue_dqo.api.parameters import Combine
from kueue_dqo.api.problems import FieldProblem
from kueue_dqo.api.quantity import NANOS
from kueue_dqo.api.wording import some

SPOT: Final = "PREEMPTIBLE"
"""What Google Cloud calls the quotas of spot machines, which reservations do not live in, by a part of their names."""


class Thing(NamedTuple):
    """Something that may be divided and not counted twice."""

    key: Hashable
    label: str
    """For a person: `quota L-417A185B in us-east-1`."""


class Taken(NamedTuple):
    """What one flavor takes of a thing."""

    flavor: str
    share: Fraction
    """The sum over the flavor's entries where it adds them up, else the largest: they are of one and the same thing."""


def cloud_shares(account: CloudAccount) -> dict[Thing, list[Taken]]:
    """What each flavor takes of everything that parameters alone show."""
    zones = _named_zones(account)
    found: dict[Thing, list[Taken]] = {}
    for flavor in flavors_of(account):
        shares: dict[Thing, list[Fraction]] = {}
        for entry in flavor.entries:
            share = _share_of(entry)
            if 0 < share <= 1:  # another one is told where entries are looked at
                for thing in dict.fromkeys(_things(account, entry, zones)):
                    shares.setdefault(thing, []).append(share)
        for thing, each in shares.items():
            taken = sum(each, Fraction()) if flavor.combine is Combine.SUM else max(each)
            found.setdefault(thing, []).append(Taken(flavor.name, taken))
    return found


def share_problems(field: str, account: CloudAccount) -> Iterator[FieldProblem]:
    """Of shares that come to more than there is, and of sums that count a reservation twice."""
    for thing, takers in cloud_shares(account).items():
        total = sum((each.share for each in takers), Fraction())
        if total > 1:
            shares = some((f"{each.flavor} {share_text(each.share)}" for each in takers), at_most=len(takers))
            yield FieldProblem(
                f"{field}.flavors",
                f"{thing.label} would count {share_text(total)} times (shares: {shares}): give its entries shares that "
                "are at most 1 together",
            )
    for index, flavor in enumerate(flavors_of(account)):
        if flavor.combine is Combine.SUM:
            problem = _counted_twice(account, flavor.entries)
            if problem is not None:
                yield FieldProblem(f"{field}.flavors[{index}].combine", problem)


def share_text(share: Fraction) -> str:
    """As a decimal number, which each share is: `0.25`."""
    return format(Decimal(share.numerator) / Decimal(share.denominator), "f")


def _share_of(entry: CloudEntry) -> Fraction:
    return Fraction(1) if entry.share is None else Fraction(entry.share.nanos, NANOS)


def _things(account: CloudAccount, entry: CloudEntry, zones: dict[tuple[str, str, str], list[str]]) -> Iterator[Thing]:
    region = _region(account, entry)
    if region is None:
        return
    match entry:
        case AwsEntry():
            yield from _aws_things(entry, region)
        case GcpEntry():
            yield from _gcp_things(account, entry, region, zones)


def _aws_things(entry: AwsEntry, region: str) -> Iterator[Thing]:
    if entry.quota is not None:
        service, code = entry.quota.service, entry.quota.code
        yield Thing(("quota", region, service, code), f"quota {code} in {region}")
    for chosen in (entry.capacity_reservations, entry.capacity_blocks):
        for each in chosen.ids if chosen is not None else ():
            yield Thing(("reservation", region, each), f"capacity reservation {each} in {region}")


def _gcp_things(
    account: CloudAccount, entry: GcpEntry, region: str, zones: dict[tuple[str, str, str], list[str]]
) -> Iterator[Thing]:
    if entry.metric is not None:
        yield Thing(("metric", region, entry.metric.name), f"metric {entry.metric.name} in {region}")
    family = entry.gpu_family
    if family is not None:
        key = ("family", region, family.service, family.quota_id, family.name)
        yield Thing(key, f"GPU family {family.name} of {family.quota_id} in {region}")
    if entry.reservations is not None:
        for named in _reservations(account, entry, region):
            for zone in entry.reservations.zones or ("", *zones[named]):
                place = zone or f"the zones of {region}"
                yield Thing((*named, zone), f"reservation {named[2]} of project {named[0]} in {place}")


def _named_zones(account: CloudAccount) -> dict[tuple[str, str, str], list[str]]:
    """The zones that are named with reservations: those that are asked for everywhere are asked for there as well."""
    found: dict[tuple[str, str, str], list[str]] = {}
    for flavor in flavors_of(account):
        for entry in flavor.entries:
            region = _region(account, entry)
            if isinstance(entry, GcpEntry) and entry.reservations is not None and region is not None:
                for named in _reservations(account, entry, region):
                    known = found.setdefault(named, [])
                    known += (zone for zone in entry.reservations.zones if zone not in known)
    return found


def _reservations(account: CloudAccount, entry: GcpEntry, region: str) -> Iterator[tuple[str, str, str]]:
    """Project, region and name."""
    if entry.reservations is not None and isinstance(account, GcpProject):
        project = entry.reservations.project or account.project
        yield from ((project, region, name) for name in entry.reservations.names)


def _region(account: CloudAccount, entry: CloudEntry) -> str | None:
    try:
        return region_of(account, entry)
    except ValueError:  # told where entries are looked at
        return None


def _counted_twice(account: CloudAccount, entries: tuple[CloudEntry, ...]) -> str | None:
    """Reservations are taken off the on-demand quota of their region, so a sum of both counts them twice."""
    quotas = [(name, _region(account, entry)) for entry in entries if (name := _on_demand(entry)) is not None]
    for entry in entries:
        region = _region(account, entry)
        if region is not None and _is_inside_quota(account, entry):
            for name, of_region in quotas:
                if region == of_region:
                    return (
                        f"Sum adds the reservations in {region} to {name} of the same region, which they are part of: "
                        "combine by Max, or give one of them a flavor of its own"
                    )
    return None


def _on_demand(entry: CloudEntry) -> str | None:
    """What an on-demand quota is called, None for another source."""
    match entry:
        case AwsEntry(quota=quota) if quota is not None:
            return None if quota.purchase_option is PurchaseOption.SPOT else f"the on-demand quota {quota.code}"
        case GcpEntry(metric=metric) if metric is not None:
            return None if metric.name.startswith(SPOT) else f"the on-demand metric {metric.name}"
        case GcpEntry(gpu_family=family) if family is not None:
            return None if SPOT in family.quota_id else f"the on-demand quota of GPU family {family.name}"
        case _:
            return None


def _is_inside_quota(account: CloudAccount, entry: CloudEntry) -> bool:
    match entry, account:
        case AwsEntry(), AwsAccount():
            return entry.capacity_reservations is not None
        case GcpEntry(), GcpProject():
            return entry.reservations is not None and entry.reservations.project in {None, account.project}
        case _:
            return False
