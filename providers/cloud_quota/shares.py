"""Whether more than all of a quota or of a reservation is given away, by one object or by several. Pure."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator
from fractions import Fraction
from typing import Final, NamedTuple

from kueue_dqo.api.cloud import CloudQuotaParametersSpec
from kueue_dqo.api.parameter_checks.cloud_shares import cloud_shares
from kueue_dqo.provider import Request
from providers.cloud_quota.takings import Taking

_UNNAMED: Final = (
    "; where their accounts are not one and the same, say so by aws.accountId in the parameters of each of them"
)


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
    is_of_unnamed_account: bool = False
    """Whether nothing says which account the thing is of."""


def claimed(request: Request[CloudQuotaParametersSpec]) -> Iterator[Share]:
    """What the provider's flavors take by their parameters, and those of all other CapacityProviders.

    Of what a peer's parameters say only flavors count that it orchestrates; where they cannot be read, it has published
    nothing by them either.
    """
    accounts = [request.parameters.account]
    peers = [request.provider]
    for peer in sorted(request.peers, key=lambda each: each.provider.metadata.name):
        if peer.parameters is not None and peer.parameters.cloud is not None:
            accounts.append(peer.parameters.account)
            peers.append(peer.provider)
    for thing, takers in cloud_shares(*accounts).items():
        for each in takers:
            peer_of = peers[each.account]
            is_mine = each.account == 0
            if is_mine or each.flavor in peer_of.flavor_names:
                taker = each.flavor if is_mine else _theirs(each.flavor, peer_of.metadata.name)
                yield Share(thing.key, thing.label, taker, each.share, is_mine, thing.is_of_unnamed_account)


def found(mine: Iterable[Taking], others: Iterable[tuple[str, Taking]]) -> Iterator[Share]:
    """What flavors take of things that were found only by asking; `others` come with their CapacityProvider."""
    for taking in mine:
        for name, part in taking.shares.items():
            yield Share(name, name, taking.flavor, part)
    for provider, taking in others:
        for name, part in taking.shares.items():
            yield Share(name, name, _theirs(taking.flavor, provider), part, is_mine=False)


def too_much(shares: Iterable[Share]) -> Iterator[str]:
    """A message for each thing of which more than all is taken, and some of it by the provider that is asked about."""
    by_key: dict[Hashable, list[Share]] = {}
    for share in shares:
        by_key.setdefault(share.key, []).append(share)
    for takers in by_key.values():
        total = sum((each.part for each in takers), Fraction(0))
        if total > 1 and any(each.is_mine for each in takers):
            listed = ", ".join(f"{each.taker} ({_shown(each.part)})" for each in takers)
            may_differ = takers[0].is_of_unnamed_account and not all(each.is_mine for each in takers)
            yield (
                f"{takers[0].label}: {_shown(total)} of it is taken, by {listed}: "
                "make `share` of their entries 1 or less together, or let one of them have it"
                f"{_UNNAMED if may_differ else ''}"
            )


def overdrawn(mine: Iterable[Taking], others: Iterable[tuple[str, Taking]]) -> Iterator[str]:
    """A message for each limit of which flavors count more together than there is, some of them the provider's own."""
    takers = [(taking.flavor, taking, True) for taking in mine]
    takers += [(_theirs(taking.flavor, provider), taking, False) for provider, taking in others]
    for key in dict.fromkeys(key for _, taking, is_mine in takers if is_mine for key in taking.draws):
        draws = [(name, taking.draws[key]) for name, taking, _ in takers if key in taking.draws]
        label, limit, _ = draws[0][1]  # the provider's own: nobody has asked later
        total = sum((draw.amount for _, draw in draws), Fraction(0))
        if total > limit:
            listed = ", ".join(f"{name} ({_shown(draw.amount)})" for name, draw in draws)
            yield (
                f"{label} is {_shown(limit)}, and {_shown(total)} of it is counted, by {listed}: set share or "
                "maxInstances of their entries, have it raised, or set globalMetric of those that it does not bound to "
                '""'
            )


def _theirs(flavor: str, provider: str) -> str:
    return f"{flavor} of CapacityProvider {provider}"


def _shown(part: Fraction) -> str:
    """`0.5`."""
    return f"{float(part):.9g}"
