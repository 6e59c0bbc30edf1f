"""From the answers of an account to a capacity, at one moment. Pure."""

from __future__ import annotations

import datetime
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from kueue_dqo.api.cloud import CloudQuotaParametersSpec, flavors_of, region_of
from kueue_dqo.api.dqo import CAPACITY_SYNCHRONIZED
from kueue_dqo.api.meta import find_condition
from kueue_dqo.api.parameters import Combine
from kueue_dqo.api.quantity import Quantity
from kueue_dqo.api.resources import FlavorResource
from kueue_dqo.api.wording import some
from kueue_dqo.provider import (
    CapacityError,
    InvalidCapacity,
    Misconfigured,
    Notice,
    Observation,
    Request,
    SourceUnavailable,
)
from providers.amounts import FLAVOR_WITHOUT_AMOUNTS, capacity_of, summary_of, that_is_selected
from providers.cloud_quota.cloud import Cloud, Derived, Ended
from providers.cloud_quota.heard import Heard, Unanswered
from providers.cloud_quota.shares import claimed, found, overdrawn, too_much
from providers.cloud_quota.takings import Takings, taking_of
from providers.slips import not_orchestrated, parameters_name
from providers.sums import combined

LONGEST_SLEEP: Final = 24 * 3600.0
"""Seconds. What ends in a year is more than timers take."""
SHORTEST_SLEEP: Final = 0.001
"""Seconds. Whoever looks again must find that time has passed."""
_WORST_FIRST: Final = (Misconfigured, InvalidCapacity, SourceUnavailable)


class EntryCount(NamedTuple):
    """What one entry came to."""

    number: int
    """Its place in the flavor, from 0."""
    region: str
    type_name: str
    derived: Derived


class FlavorCount(NamedTuple):
    """What one flavor came to."""

    name: str
    combine: Combine
    entries: tuple[EntryCount, ...]
    amounts: Mapping[str, Quantity]
    """By resource, before headroom and the selection of resources."""


class Counted(NamedTuple):
    """A look with its result."""

    observation: Observation
    flavors: tuple[FlavorCount, ...]


class _Problem(NamedTuple):
    kind: type[CapacityError]
    text: str


def observe(
    request: Request[CloudQuotaParametersSpec], cloud: Cloud, heard: Heard, ended: Ended, takings: Takings
) -> Counted:
    """Each resource of each flavor, combined over the entries that report it. It looks again when one of them ends.

    Args:
        request: whose parameters are of that cloud.
        cloud: of the parameters.
        heard: what the account answered to the cloud's questions.
        ended: what the process remembers of the account; entries add to it, and the provider's status of earlier on.
        takings: what the process remembers of all providers; the look adds what its provider takes, even where that is
            too much, so that others are told of it as well.

    Raises:
        Misconfigured: flavors of parameters and provider differ, or more than all of something is given away.
        CapacityError: an entry cannot be derived, or a question was not answered. Of several reasons it is
            Misconfigured before InvalidCapacity before SourceUnavailable; the message lists all.
    """
    for each in cloud.remembered(_last_message(request)):
        ended.add(each)
    flavors, wrong = _derive(request, cloud, heard, ended)
    mine = [
        taking_of(flavor.name, flavor.combine, [entry.derived for entry in flavor.entries])
        for flavor in flavors
        if flavor.entries
    ]
    name = request.provider.metadata.name
    if not heard.failures and not wrong:
        takings.note(name, [each for each in mine if each.flavor in request.provider.flavor_names])
    others = tuple(takings.of_others(name))
    misconfigured = [
        *_misplaced(request, cloud),
        *too_much(claimed(request)),
        *too_much(found(mine, others)),
        *overdrawn(mine, others),
    ]
    problems = [
        *(_Problem(Misconfigured, text) for text in misconfigured),
        *(_Problem(type(error), str(error)) for error in heard.failures),
        *wrong,
    ]
    if problems:
        raise _as_error(request, problems)
    return Counted(_observation(request, flavors), tuple(flavors))


def _last_message(request: Request[CloudQuotaParametersSpec]) -> str:
    """What the status says that the capacity came of; empty where it says that there was none at the last look."""
    condition = find_condition(request.provider.status.conditions, CAPACITY_SYNCHRONIZED)
    return condition.message if condition is not None and condition.status == "True" else ""


# --- what is wrong ---------------------------------------------------------------------------------------------------


def _misplaced(request: Request[CloudQuotaParametersSpec], cloud: Cloud) -> Iterator[str]:
    """Flavors that only the parameters have, or only the provider."""
    place = f"spec.{cloud.name}.flavors"
    names = [flavor.name for flavor in flavors_of(request.parameters.account)]
    for index, name in enumerate(names):
        if name not in request.provider.flavor_names:
            yield not_orchestrated(f"{place}[{index}].name", name, request.provider)
    missing = [name for name in request.provider.flavor_names if name not in names]
    if missing:
        yield (
            f"{place} has nothing for {some(missing)}, which CapacityProvider {request.provider.metadata.name} "
            "orchestrates: add entries there, or take it out of spec.orchestratedFlavors"
        )


def _as_error(request: Request[CloudQuotaParametersSpec], problems: Sequence[_Problem]) -> CapacityError:
    texts = dict.fromkeys(
        problem.text for kind in _WORST_FIRST for problem in problems if issubclass(problem.kind, kind)
    )
    worst = next(kind for kind in _WORST_FIRST if any(issubclass(problem.kind, kind) for problem in problems))
    return worst(f"{parameters_name(request.provider)}: {'; '.join(texts)}")


# --- entries ---------------------------------------------------------------------------------------------------------


def _derive(
    request: Request[CloudQuotaParametersSpec], cloud: Cloud, heard: Heard, ended: Ended
) -> tuple[list[FlavorCount], list[_Problem]]:
    """All flavors with the entries that could be derived, and why others could not."""
    account = request.parameters.account
    flavors: list[FlavorCount] = []
    places: dict[_Problem, list[str]] = {}
    for position, flavor in enumerate(flavors_of(account)):
        entries: list[EntryCount] = []
        for number, entry in enumerate(flavor.entries):
            try:
                derived = cloud.derive(account, entry, heard.answers, ended, request.now)
            except Unanswered:
                continue  # told as a failure of the question, once
            except CapacityError as error:
                place = f"spec.{cloud.name}.flavors[{position}].entries[{number}] ({flavor.name})"
                places.setdefault(_Problem(type(error), str(error)), []).append(place)
                continue
            entries.append(EntryCount(number, region_of(account, entry), entry.type_name, derived))
        amounts = _combined(flavor.combine, [each.derived.amounts for each in entries])
        flavors.append(FlavorCount(flavor.name, flavor.combine, tuple(entries), amounts))
    return flavors, [problem._replace(text=f"{some(where)}: {problem.text}") for problem, where in places.items()]


def _combined(combine: Combine, reported: Iterable[Mapping[str, Quantity]]) -> dict[str, Quantity]:
    """Resource by resource, over those that report it."""
    by_resource: dict[str, list[Quantity]] = {}
    for amounts in reported:
        for resource, quantity in amounts.items():
            by_resource.setdefault(resource, []).append(quantity)
    return {resource: combined(combine, quantities) for resource, quantities in by_resource.items()}


# --- what is told ----------------------------------------------------------------------------------------------------


def _observation(request: Request[CloudQuotaParametersSpec], flavors: Sequence[FlavorCount]) -> Observation:
    selection, names = request.parameters.resources, request.provider.flavor_names
    amounts = {
        FlavorResource(flavor.name, resource): quantity
        for flavor in flavors
        for resource, quantity in flavor.amounts.items()
        if selection.selects(resource)
    }
    capacity = capacity_of(names, amounts)
    by_name = {flavor.name: flavor for flavor in flavors}
    derived = [entry.derived for flavor in flavors for entry in flavor.entries]
    notices = [notice for each in derived for notice in each.notices]
    reported = {pair.flavor for pair in amounts}
    bare = [name for name in names if name not in reported]
    if bare:
        notices.append(
            Notice(
                FLAVOR_WITHOUT_AMOUNTS,
                f"the instances of {some(bare)} have nothing{that_is_selected(selection)}, so its quotas become 0: "
                "let spec.resources select something of them, or take it out of spec.orchestratedFlavors",
            )
        )
    return Observation(
        capacity,
        "; ".join([summary_of(names, capacity), *(_from(by_name[name]) for name in names)]),
        _look_again(derived, request.now),
        tuple(dict.fromkeys(notices)),
    )


def _from(flavor: FlavorCount) -> str:
    """`p5 from 2 p5.48xlarge of quota L-417A185B in us-east-1 (384 vCPU)`; `p5 from the Max of … and …`."""
    *first, last = [entry.derived.text for entry in flavor.entries]
    several = f"the {flavor.combine} of {', '.join(first)} and " if first else ""
    return f"{flavor.name} from {several}{last}"


def _look_again(derived: Iterable[Derived], now: datetime.datetime) -> float | None:
    """Seconds until one of them changes by itself, as far as timers go; None where none is known to."""
    seconds = [(each.next - now).total_seconds() for each in derived if each.next is not None and each.next > now]
    return max(SHORTEST_SLEEP, min(*seconds, LONGEST_SLEEP)) if seconds else None
