"""What must not be counted twice: quotas that flavors divide, and reservations that live inside a quota."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
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
    share_of,
)
from kueue_dqo.api.parameters import Combine
from kueue_dqo.api.problems import FieldProblem
from kueue_dqo.api.wording import some

SPOT: Final = "PREEMPTIBLE"
"""What Google Cloud calls the quotas of spot machines, which reservations do not live in, by a part of their names."""
_EC2: Final = "ec2"
_ACCOUNT_IN_ARN: Final = 4
"""Its place among the parts of `arn:aws:iam::111122223333:role/r`."""


class Thing(NamedTuple):
    """Something that may be divided and not counted twice. Two are the same whoever asks about them, in whose name."""

    key: Hashable
    label: str
    """For a person: `quota L-417A185B in us-east-1`."""
    is_of_unnamed_account: bool = False
    """Whether nothing says which account it is of. All of those are taken as one: that of the daemon's credentials."""


class Taken(NamedTuple):
    """What one flavor takes of a thing."""

    account: int
    """The place of its account among those that were given."""
    flavor: str
    share: Fraction
    """The sum over the flavor's entries where it adds them up, else the largest: they are of one and the same thing."""


def cloud_shares(*accounts: CloudAccount) -> dict[Thing, list[Taken]]:
    """What each flavor takes of everything that parameters alone show. The accounts may be of several clouds."""
    zones = _named_zones(accounts)
    found: dict[Thing, list[Taken]] = {}
    for place, account in enumerate(accounts):
        for flavor in flavors_of(account):
            shares: dict[Thing, list[Fraction]] = {}
            for entry in flavor.entries:
                share = share_of(entry)
                if 0 < share <= 1:  # another one is told where entries are looked at
                    for thing in dict.fromkeys(_things(account, entry, zones)):
                        shares.setdefault(thing, []).append(share)
            for thing, each in shares.items():
                found.setdefault(thing, []).append(Taken(place, flavor.name, part_of(flavor.combine, each)))
    return found


def part_of(combine: Combine, parts: Sequence[Fraction]) -> Fraction:
    """What a flavor takes whose entries take these: a sum has them beside each other, anything else has one of them."""
    return sum(parts, Fraction()) if combine is Combine.SUM else max(parts)


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


def aws_account_id(account: AwsAccount) -> str | None:
    """The account that is asked: the one that is named, or the one that the role is of. None: nothing says it."""
    if account.account_id is not None:
        return account.account_id
    if account.assume_role is None:
        return None
    parts = account.assume_role.arn.split(":")
    return parts[_ACCOUNT_IN_ARN] if len(parts) > _ACCOUNT_IN_ARN else None  # what is no ARN is told by its form


def _things(account: CloudAccount, entry: CloudEntry, zones: _Zones) -> Iterator[Thing]:
    region = _region(account, entry)
    if region is None:
        return
    match account, entry:
        case AwsAccount(), AwsEntry():
            yield from _aws_things(account, entry, region)
        case GcpProject(), GcpEntry():
            yield from _gcp_things(account, entry, region, zones)


def _aws_things(account: AwsAccount, entry: AwsEntry, region: str) -> Iterator[Thing]:
    if entry.quota is not None:
        service, code = entry.quota.service, entry.quota.code
        name = code if service == _EC2 else f"{service}/{code}"
        owner = aws_account_id(account)
        of = "" if owner is None else f" of account {owner}"
        yield Thing(("aws", owner, region, service, code), f"quota {name} in {region}{of}", owner is None)
    # Their ids are no other account's: whoever shares one with others counts the same one.
    if entry.capacity_reservations is not None:
        for each in entry.capacity_reservations.ids:
            yield Thing(("aws", each), f"capacity reservation {each}")
    if entry.capacity_blocks is not None:
        for each in entry.capacity_blocks.ids:
            yield Thing(("aws", each), f"capacity block {each}")


def _gcp_things(account: GcpProject, entry: GcpEntry, region: str, zones: _Zones) -> Iterator[Thing]:
    where = f"in {region} of project {account.project}"
    place = ("gcp", account.project, region)
    if entry.metric is not None:
        yield Thing((*place, entry.metric.name), f"metric {entry.metric.name} {where}")
    family = entry.gpu_family
    if family is not None:
        key = (*place, family.service, family.quota_id, family.name)
        yield Thing(key, f"GPU family {family.name} of {family.quota_id} {where}")
    if entry.reservations is not None:
        for named in _reservations(account, entry, region):
            for zone in entry.reservations.zones or ("", *zones[named]):
                label = f"reservation {named.name} in {zone or region} of project {named.project}"
                yield Thing(("gcp", *named, zone), label)


class _Named(NamedTuple):
    """Reservations of Google Cloud that are called the same: one in each zone."""

    project: str
    region: str
    name: str


_Zones = Mapping[_Named, Sequence[str]]


def _named_zones(accounts: Iterable[CloudAccount]) -> _Zones:
    """The zones that are named with reservations: those that are asked for everywhere are asked for there as well."""
    found: dict[_Named, list[str]] = {}
    for account in accounts:
        for flavor in flavors_of(account):
            for entry in flavor.entries:
                region = _region(account, entry)
                if isinstance(entry, GcpEntry) and entry.reservations is not None and region is not None:
                    for named in _reservations(account, entry, region):
                        known = found.setdefault(named, [])
                        known += (zone for zone in entry.reservations.zones if zone not in known)
    return found


def _reservations(account: CloudAccount, entry: GcpEntry, region: str) -> Iterator[_Named]:
    if entry.reservations is not None and isinstance(account, GcpProject):
        project = entry.reservations.project or account.project
        yield from (_Named(project, region, name) for name in entry.reservations.names)


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
