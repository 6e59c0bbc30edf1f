"""Whether more than all of a quota or of a reservation is given away. Pure."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from typing import NamedTuple

from kueue_dqo.api.cloud import CloudAccount, CloudQuotaParametersSpec, flavors_of
from kueue_dqo.api.parameters import Combine
from kueue_dqo.provider import Request
from providers.cloud_quota.arithmetic import share_of
from providers.cloud_quota.cloud import Cloud


class Share(NamedTuple):
    """What a flavor takes of something that may not be counted twice."""

    key: Hashable
    """Equal for the same thing."""
    label: str
    """The thing for a person."""
    taker: str
    """The flavor for a person."""
    part: Fraction
    is_mine: bool = True
    """Whether the flavor is of the CapacityProvider that is asked about."""


def part_of(combine: Combine, parts: Sequence[Fraction]) -> Fraction:
    """What a flavor takes whose entries take these: a sum has them beside each other, anything else has one of them."""
    return sum(parts, Fraction(0)) if combine is Combine.SUM else max(parts)


def claimed(request: Request[CloudQuotaParametersSpec], cloud: Cloud) -> Iterator[Share]:
    """What the provider's flavors take, and those of other CapacityProviders that ask the same account.

    Of what a peer's parameters say only flavors count that it orchestrates; where they cannot be read, it has published
    nothing by them either.
    """
    account = request.parameters.account
    yield from _of_account(cloud, account)
    identity = cloud.identity(account)
    for peer in sorted(request.peers, key=lambda each: each.provider.metadata.name):
        if peer.parameters is None or peer.parameters.cloud != cloud.name:
            continue
        theirs = peer.parameters.account
        if cloud.identity(theirs) == identity:
            yield from _of_peer(cloud, theirs, peer.provider.metadata.name, peer.provider.flavor_names)


def _of_account(cloud: Cloud, account: CloudAccount) -> Iterator[Share]:
    for flavor in flavors_of(account):
        found: dict[Hashable, tuple[str, list[Fraction]]] = {}
        for entry in flavor.entries:
            for claim in cloud.claims(account, entry):
                found.setdefault(claim.key, (claim.label, []))[1].append(share_of(entry))
        for key, (label, parts) in found.items():
            yield Share(key, label, flavor.name, part_of(flavor.combine, parts))


def _of_peer(cloud: Cloud, account: CloudAccount, provider: str, orchestrated: Iterable[str]) -> Iterator[Share]:
    mine = set(orchestrated)
    for share in _of_account(cloud, account):
        if share.taker in mine:
            taker = f"{share.taker} of CapacityProvider {provider}"
            yield share._replace(taker=taker, is_mine=False)


def found(flavor: str, combine: Combine, taken: Iterable[Mapping[str, Fraction]]) -> Iterator[Share]:
    """What the flavor takes of things that were found only by asking; `taken` is that of each entry."""
    parts: dict[str, list[Fraction]] = {}
    for each in taken:
        for name, part in each.items():
            parts.setdefault(name, []).append(part)
    for name, of_entries in parts.items():
        yield Share(name, name, flavor, part_of(combine, of_entries))


def too_much(shares: Iterable[Share]) -> Iterator[str]:
    """A message for each thing of which more than all is taken, and some of it by the provider that is asked about."""
    by_key: dict[Hashable, list[Share]] = {}
    for share in shares:
        by_key.setdefault(share.key, []).append(share)
    for takers in by_key.values():
        total = sum((each.part for each in takers), Fraction(0))
        if total > 1 and any(each.is_mine for each in takers):
            listed = ", ".join(f"{each.taker} ({_shown(each.part)})" for each in takers)
            yield (
                f"{takers[0].label}: {_shown(total)} of it is taken, by {listed}: "
                "make `share` of their entries 1 or less together, or let one of them have it"
            )


def _shown(part: Fraction) -> str:
    """`0.5`."""
    return f"{float(part):.9g}"
