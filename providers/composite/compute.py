"""From what other CapacityProviders report to the capacity of a composite. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final, NamedTuple

from kueue_dqo.api import dqo
from kueue_dqo.api.meta import find_condition
from kueue_dqo.api.parameters import (
    Combine,
    CompositeParametersSpec,
    OnMemberNotReady,
    ResourceSelection,
)
from kueue_dqo.api.quantity import LARGEST_UNITS, NANOS, Quantity
from kueue_dqo.api.readiness import why_not_ready
from kueue_dqo.api.resources import FlavorResource
from kueue_dqo.api.wording import some
from kueue_dqo.provider import InvalidCapacity, Misconfigured, Notice, Observation, Request, SourceUnavailable
from providers.amounts import FLAVOR_WITHOUT_AMOUNTS, brief, capacity_of, summary_of, that_is_selected
from providers.composite.rings import ring_of
from providers.slips import parameters_name
from providers.sums import combined

MEMBERS_SKIPPED: Final = "MembersSkipped"
"""The reason of the Event about members that a composite does without."""
LONGEST_CAUSE: Final = 300
"""Characters of what is said about one member: composites of composites hand on each other's messages."""


class _Unready(NamedTuple):
    """A member whose capacity may not be used."""

    name: str
    reason: str
    """In one word; it stays the same while the words of the member's message change."""
    why: str


class _Reported(NamedTuple):
    """What one member says of one pair."""

    member: str
    quantity: Quantity


def observe(request: Request[CompositeParametersSpec]) -> Observation:
    """Each pair that a usable member reports, combined over the members that report it.

    Raises:
        Misconfigured: no members, one that is missing or listed twice, or a ring of composites. It comes first: what
            members report does not matter then.
        SourceUnavailable: a member is not ready and may not be skipped, or none is ready.
        InvalidCapacity: a member reports a negative amount, or the sum is above the largest quantity.
    """
    spec, flavors = request.parameters, request.provider.flavor_names
    misconfigured = [*_misconfigured(request)]
    if misconfigured:
        raise Misconfigured(f"{parameters_name(request.provider)}: {'; '.join(misconfigured)}")
    members = [request.providers[member.name] for member in spec.members]
    unready = [each for each in map(_unready, members) if each is not None]
    left_out = {each.name for each in unready}
    usable = [member for member in members if member.metadata.name not in left_out]
    if unready and (spec.on_member_not_ready is OnMemberNotReady.FAIL or not usable):
        raise SourceUnavailable(_why_unavailable(request, unready))
    reported = _reported(usable, flavors, spec.resources)
    _refuse_negative(reported)
    amounts = {pair: _combined(spec.combine, pair, found) for pair, found in reported.items()}
    capacity = capacity_of(flavors, amounts)
    summary = f"{spec.combine} of {_listed(member.metadata.name for member in usable)}; {summary_of(flavors, capacity)}"
    if unready:
        summary = f"{summary}; skipped: {_skipped(unready)}"
    return Observation(capacity, summary, notices=tuple(_notices(request, capacity, usable, unready)))


def _notices(
    request: Request[CompositeParametersSpec],
    capacity: dqo.Capacity,
    usable: Sequence[dqo.CapacityProvider],
    unready: Sequence[_Unready],
) -> Iterator[Notice]:
    spec = request.parameters
    if unready:
        yield Notice(
            MEMBERS_SKIPPED,
            f"{spec.combine} without {_skipped(unready)}, whose capacity may not be used now: see "
            + ("that member's condition" if len(unready) == 1 else "the conditions of these members"),
        )
    reported = {flavor.name for flavor in capacity.flavors}
    bare = [name for name in request.provider.flavor_names if name not in reported]
    if bare:
        verb = "reports" if len(usable) == 1 else "report"
        yield Notice(
            FLAVOR_WITHOUT_AMOUNTS,
            f"{_listed(member.metadata.name for member in usable)} {verb} nothing of {some(bare)}"
            f"{that_is_selected(spec.resources)}, so its quotas become 0: let a member orchestrate and report it, "
            "zeros if they are meant, or take it out of spec.orchestratedFlavors",
        )


def _skipped(unready: Iterable[_Unready]) -> str:
    return ", ".join(f"{each.name} ({each.reason})" for each in unready)


def _listed(names: Iterable[str]) -> str:
    """`a, b and c`."""
    *first, last = names
    return f"{', '.join(first)} and {last}" if first else last


def _misconfigured(request: Request[CompositeParametersSpec]) -> Iterator[str]:
    members = request.parameters.members
    if not members:
        yield "spec.members: is empty: name at least one CapacityProvider"
    seen: set[str] = set()
    for index, member in enumerate(members):
        place = f"spec.members[{index}].name"
        if member.name in seen:
            yield f"{place}: {member.name} is listed more than once: keep one of them"
        elif member.name not in request.providers:
            yield f"{place}: CapacityProvider {member.name} does not exist: create it, or take it out of spec.members"
        seen.add(member.name)
    name = request.provider.metadata.name
    graph = {
        peer.provider.metadata.name: _names(peer.parameters) for peer in request.peers if peer.parameters is not None
    }
    ring = ring_of(name, {**graph, name: _names(request.parameters)})
    if ring is not None:
        yield f"spec.members: {' → '.join(ring)} is a ring, in which no capacity ever comes about: take a member out"


def _names(parameters: CompositeParametersSpec) -> tuple[str, ...]:
    return tuple(member.name for member in parameters.members)


def _unready(member: dqo.CapacityProvider) -> _Unready | None:
    name = member.metadata.name
    if member.metadata.deletion_timestamp is not None:
        since = member.metadata.deletion_timestamp
        return _Unready(name, "Deleting", f"CapacityProvider {name} is being deleted since {since}")
    why = why_not_ready(member)
    if why is None:
        return None
    condition = find_condition(member.status.conditions, dqo.CAPACITY_SYNCHRONIZED)
    reason = "NotReported"
    if condition is not None:
        reason = "Stale" if condition.status == "True" else condition.reason or "NotReady"
    return _Unready(name, reason, why if len(why) <= LONGEST_CAUSE else f"{why[:LONGEST_CAUSE]}…")


def _why_unavailable(request: Request[CompositeParametersSpec], unready: Sequence[_Unready]) -> str:
    why = "; ".join(each.why for each in unready)
    if len(unready) == len(request.parameters.members):
        return f"no member is ready: {why}"
    skip = f"onMemberNotReady: {OnMemberNotReady.SKIP} in {parameters_name(request.provider)} would do without"
    return f"{why}; {skip} {'it' if len(unready) == 1 else 'them'}"


def _reported(
    members: Iterable[dqo.CapacityProvider], flavors: Iterable[str], selection: ResourceSelection
) -> dict[FlavorResource, list[_Reported]]:
    """What members report of the flavors, as far as they orchestrate them; nothing that is not published anyway."""
    mine = set(flavors)
    reported: dict[FlavorResource, list[_Reported]] = {}
    for member in members:
        both = mine.intersection(member.flavor_names)
        for flavor in member.status.capacity.flavors if member.status.capacity is not None else ():
            if flavor.name not in both:
                continue
            for resource, quantity in flavor.resources.items():
                if selection.selects(resource):
                    found = _Reported(member.metadata.name, quantity)
                    reported.setdefault(FlavorResource(flavor.name, resource), []).append(found)
    return reported


def _refuse_negative(reported: dict[FlavorResource, list[_Reported]]) -> None:
    negative = [
        f"CapacityProvider {each.member} reports a negative capacity of {brief(each.quantity)} for {pair}: "
        "its controller has to report 0 or more"
        for pair, found in sorted(reported.items())
        for each in found
        if each.quantity.nanos < 0
    ]
    if negative:
        raise InvalidCapacity("; ".join(negative))


def _combined(combine: Combine, pair: FlavorResource, reported: Sequence[_Reported]) -> Quantity:
    """Written as the members write it: as the first of those that have the least or most, or as sums are."""
    total = combined(combine, [each.quantity for each in reported])
    if combine is Combine.SUM and total.nanos > LARGEST_UNITS * NANOS:
        raise InvalidCapacity(
            f"{', '.join(each.member for each in reported)} have {brief(total)} of {pair} together, more than "
            f"the largest quantity that Kueue holds ({LARGEST_UNITS}): combine by Max, or lower what they report"
        )
    return total
