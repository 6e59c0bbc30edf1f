"""The status of a CapacityProvider as a person writes it: capacity and condition, in one write. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

import msgspec

from kueue_dqo.api import dqo
from kueue_dqo.api.meta import OUR_GROUP
from kueue_dqo.api.quantity import Quantity
from kueue_dqo.api.resources import FlavorResource
from kueue_dqo.api.validation import problems_of
from kueue_dqo.api.wording import some
from kueue_dqo.cli.capacity.arguments import Amounts
from kueue_dqo.cli.errors import CommandError
from providers.status import Held, Verdict, status_of

NOT_READY_REASONS: Final = (dqo.SOURCE_UNAVAILABLE, dqo.INVALID_CAPACITY, dqo.MISCONFIGURED)
DEFAULT_MESSAGE: Final = "set by hand with dqo capacity set"
_DAEMONS: Final = tuple(
    f"{OUR_GROUP}/{name}" for name in ("node-inventory", "cloud-quota", "nvidia-gpu", "multikueue", "composite")
)
_MANUAL: Final = f"{OUR_GROUP}/manual"


class Request(NamedTuple):
    """What a person wants: the amounts, and the condition."""

    amounts: Amounts
    reason: str = dqo.SYNCHRONIZED
    message: str = DEFAULT_MESSAGE
    force: bool = False


def wanted_status(held: Held, request: Request, now: str) -> dqo.CapacityProviderStatus:
    """What the status is to be; `now` is the time of a change of the condition, in RFC 3339.

    The pairs that are named are set or taken away, the others of the present capacity stay. Of the conditions only
    CapacitySynchronized is there.

    Raises:
        CommandError: the object is another's to write, or the status would not be valid.
    """
    provider = held.provider
    _refuse_foreign(provider, force=request.force)
    capacity = _capacity(provider, request.amounts) if request.amounts else None
    status = status_of(held, Verdict(request.reason, request.message, capacity), now)
    problems = list(problems_of(msgspec.structs.replace(provider, status=status)))
    if problems:
        msg = f"{provider.key}: {some(problems)}"
        raise CommandError(msg)
    return status


def summary(held: Held, status: dqo.CapacityProviderStatus) -> list[str]:
    """What is published: the whole capacity with what changed in it, and the condition."""
    before = _by_pair(held.provider.status.capacity)
    after = _by_pair(status.capacity)
    parts = [_part(pair, amount, before.get(pair)) for pair, amount in after.items()]
    parts += [f"{pair} taken away (was {before[pair]})" for pair in before if pair not in after]
    condition = status.conditions[0]
    state = f"{condition.type}={condition.status} {condition.reason} at generation {condition.observed_generation}"
    lines = [
        f"{held.provider.key}: {', '.join(parts) or 'no capacity'}",
        f"{state}: {condition.message}",
    ]
    ignored = sorted({pair.flavor for pair in after} - set(held.provider.flavor_names))
    if ignored:
        lines.append(
            f"Note: {some(ignored)} is not in spec.orchestratedFlavors, so its capacity is ignored; take it away with "
            f"{ignored[0]}/RESOURCE-"
        )
    return lines


def _part(pair: FlavorResource, amount: Quantity, before: Quantity | None) -> str:
    return f"{pair} {amount}" + (f" (was {'absent' if before is None else before})" if before != amount else "")


def _by_pair(capacity: dqo.Capacity | None) -> dict[FlavorResource, Quantity]:
    return {
        FlavorResource(flavor.name, resource): amount
        for flavor in (capacity.flavors if capacity is not None else ())
        for resource, amount in flavor.resources.items()
    }


def _capacity(provider: dqo.CapacityProvider, amounts: Amounts) -> dqo.Capacity:
    pairs = _by_pair(provider.status.capacity)
    refused = list(_refused(provider, pairs, amounts))
    if refused:
        raise CommandError(f"{provider.key}: {'; '.join(refused)}")
    for pair, amount in amounts.items():
        if amount is None:
            del pairs[pair]
        else:
            pairs[pair] = amount
    flavors: dict[str, dict[str, Quantity]] = {}
    for pair, amount in pairs.items():
        flavors.setdefault(pair.flavor, {})[pair.resource] = amount
    return dqo.Capacity(tuple(dqo.FlavorCapacity(name, resources) for name, resources in flavors.items()))


def _refused(provider: dqo.CapacityProvider, pairs: dict[FlavorResource, Quantity], amounts: Amounts) -> Iterator[str]:
    for pair, amount in amounts.items():
        if amount is None and pair not in pairs:
            yield f"{pair} cannot be taken away: it is not published (published: {some(pairs) or 'nothing'})"
        if amount is not None and pair.flavor not in provider.flavor_names:
            yield (
                f"flavor {pair.flavor!r} is not in its spec.orchestratedFlavors ({', '.join(provider.flavor_names)}): "
                "correct the name, or add the flavor there first"
            )


def _refuse_foreign(provider: dqo.CapacityProvider, *, force: bool) -> None:
    if provider.metadata.deletion_timestamp is not None:
        raise CommandError(f"{provider.key} is being deleted: nothing is written to it")
    controller = provider.spec.controller_name
    if force or not (controller in _DAEMONS or (controller == _MANUAL and provider.spec.parameters is not None)):
        return
    raise CommandError(
        f"{provider.key} is kept by {controller}, which would soon write its own numbers again: change what that "
        "controller reads, give the numbers to a provider of another controllerName, or use --force"
    )
