"""The status of a DynamicQuotaOrchestrator: what was computed, joined with how far the writing has come. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, TypeVar

import msgspec

from kueue_dqo.api import dqo
from kueue_dqo.api.meta import Condition, ObjectKey, find_condition
from kueue_dqo.api.scheme import to_manifest
from kueue_dqo.api.wording import counted, message_of, some
from orchestrator.compute import Outcome
from orchestrator.enforcement.objects import HeldOrchestrator
from orchestrator.enforcement.patches import Operation, add, remove, same_version, test
from orchestrator.rivals import Stopped

T = TypeVar("T")

WRITE_REJECTED: Final = "WriteRejected"
"""A reason of ours: the API server, or a webhook behind it, refuses the quotas of some object."""
_OURS: Final = frozenset({dqo.EFFECTIVE_CAPACITY_COMPUTED, dqo.DISTRIBUTED})
"""The types of the conditions that are ours. All others are foreign: whoever set them keeps them as they are."""


@dataclass(slots=True)
class Progress:
    """How the writing of one orchestrator's quotas stands.

    `is_settled` is False while there is more to be tried: its Distributed condition then stays what it is.

    Any object in `stopped` makes Distributed False. So the caller names only those that do not hold their quotas: one
    that is left alone but holds the right ones already is no obstacle. This module cannot tell, it sees no quotas.
    """

    is_settled: bool = False
    refused: dict[ObjectKey, str] = field(default_factory=dict)
    stopped: Sequence[Stopped] = ()
    waiting: Sequence[ObjectKey] = ()
    """Objects whose growth has to wait for room that refused or stopped objects hold."""


def status_of(
    outcome: Outcome, orchestrator: dqo.DynamicQuotaOrchestrator, progress: Progress, now: str
) -> dqo.DynamicQuotaOrchestratorStatus:
    """The status to write, every condition in the place in which it stands already, new ones at the end.

    Args:
        outcome: what the computation says.
        orchestrator: as it is now.
        progress: of the quotas, for an orchestrator that distributes; settled for any other. `stopped` has to be
            without the objects that hold the right quotas.
        now: the time of transitions, RFC 3339.
    """
    present = orchestrator.status.conditions
    conditions = []
    for condition in outcome.status.conditions:
        wanted: Condition | None = condition
        if condition.type == dqo.DISTRIBUTED and condition.status == "True":
            wanted = _distributed(condition, find_condition(present, dqo.DISTRIBUTED), progress)
        if wanted is not None:
            conditions.append(_with_time(wanted, present, now))
    in_place = _in_place([(each.type, each) for each in present], {each.type: each for each in conditions})
    return dqo.DynamicQuotaOrchestratorStatus(outcome.status.effective_capacity, tuple(in_place))


def unreadable_status(held: HeldOrchestrator, now: str) -> dqo.DynamicQuotaOrchestratorStatus:
    """Our part of the status of an orchestrator whose spec cannot be read; `patch_of` keeps the foreign conditions.

    One that has no root, as far as can be told, distributes nothing: it has no Distributed condition.
    """
    message = message_of(f"the object cannot be read: {held.problem}")
    reasons = {dqo.EFFECTIVE_CAPACITY_COMPUTED: dqo.MISCONFIGURED}
    if held.stand_in is not None:
        reasons[dqo.DISTRIBUTED] = dqo.EFFECTIVE_CAPACITY_NOT_COMPUTED
    present = _readable(held)
    return dqo.DynamicQuotaOrchestratorStatus(
        None,
        tuple(
            _with_time(Condition(kind, "False", reason, message, held.metadata.generation), present, now)
            for kind, reason in reasons.items()
        ),
    )


def is_same(one: dqo.DynamicQuotaOrchestratorStatus, other: dqo.DynamicQuotaOrchestratorStatus) -> bool:
    """Whether nothing of ours would change but times: capacity by value, our conditions in any order."""
    return _capacity(one) == _capacity(other) and _conditions(one) == _conditions(other)


def patch_of(held: HeldOrchestrator, status: dqo.DynamicQuotaOrchestratorStatus) -> list[Operation]:
    """The write as a compare-and-set of the two fields that are ours; other fields of the status stay.

    Foreign conditions go back as the JSON that they came in: what a typed one lacks, the API server would miss.
    """
    if held.conditions is None:
        operations = [same_version(held)]
    else:
        operations = [test("/status/conditions", held.conditions)]
        if held.capacity is not None:
            operations.append(test("/status/effectiveCapacity", held.capacity))
        elif status.effective_capacity is not None:
            operations.append(same_version(held))
    if not held.has_status:
        operations.append(add("/status", {}))
    ours = {each.type: to_manifest(each) for each in status.conditions if each.type in _OURS}
    operations.append(add("/status/conditions", _in_place(_held_conditions(held), ours)))
    if status.effective_capacity is not None:
        operations.append(add("/status/effectiveCapacity", to_manifest(status.effective_capacity)))
    elif held.capacity is not None:
        operations.append(remove("/status/effectiveCapacity"))
    return operations


def transitions(before: Iterable[Condition], after: Iterable[Condition]) -> list[Condition]:
    """The conditions whose status or reason is another: what an Event is worth."""
    known = {condition.type: (condition.status, condition.reason) for condition in before}
    return [each for each in after if known.get(each.type) != (each.status, each.reason)]


def _distributed(computed: Condition, present: Condition | None, progress: Progress) -> Condition | None:
    if not progress.is_settled:
        return present
    causes = []
    if progress.stopped:
        message = f"Left alone for ten minutes: {some(progress.stopped)}"
        causes.append((dqo.EFFECTIVE_QUOTAS_CONFLICT, message))
    if progress.refused:
        named = some(f"{key}: {why}" for key, why in sorted(progress.refused.items()))
        causes.append((WRITE_REJECTED, f"{counted(len(progress.refused), 'object')} refused: {named}"))
    if progress.waiting:
        message = (
            f"{counted(len(progress.waiting), 'object')} cannot grow while others hold more than their share: "
            f"{some(sorted(progress.waiting))}"
        )
        causes.append((WRITE_REJECTED, message))
    if not causes:
        return computed
    message = "; ".join(text for _, text in causes)
    return msgspec.structs.replace(
        computed, status="False", reason=causes[0][0], message=message_of(message), last_transition_time=None
    )


def _with_time(condition: Condition, present: Iterable[Condition], now: str) -> Condition:
    for old in present:
        if old.type == condition.type and old.status == condition.status and old.last_transition_time:
            return msgspec.structs.replace(condition, last_transition_time=old.last_transition_time)
    if condition.type not in _OURS:
        return condition
    return msgspec.structs.replace(condition, last_transition_time=now)


def _in_place(present: Iterable[tuple[str, T]], wanted: Mapping[str, T]) -> list[T]:
    """The conditions by type: foreign ones as they stand, ours in their places as they are to be, new ones at the end.

    One of ours that is not wanted any more is left out.
    """
    missing = dict(wanted)
    found = []
    for kind, condition in present:
        if kind not in _OURS:
            missing.pop(kind, None)
            found.append(condition)
        elif kind in missing:
            found.append(missing.pop(kind))
    return found + list(missing.values())


class _Typed(msgspec.Struct):
    type: str = ""


def _held_conditions(held: HeldOrchestrator) -> list[tuple[str, Any]]:
    """The conditions as JSON, each with its type. The definition makes sure that they are a list of objects."""
    found = msgspec.json.decode(held.conditions or b"[]", type=list[msgspec.Raw])
    return [(msgspec.json.decode(each, type=_Typed).type, each) for each in found]


def _readable(held: HeldOrchestrator) -> list[Condition]:
    """Those conditions of an unreadable object that can be read."""
    found = []
    for _, raw in _held_conditions(held):
        try:
            found.append(msgspec.json.decode(raw, type=Condition))
        except msgspec.DecodeError:
            continue  # it has no time to keep
    return found


def _capacity(status: dqo.DynamicQuotaOrchestratorStatus) -> object:
    capacity = status.effective_capacity
    return {flavor.name: flavor.resources for flavor in capacity.flavors} if capacity is not None else None


def _conditions(status: dqo.DynamicQuotaOrchestratorStatus) -> object:
    return sorted(
        (each.type, each.status, each.reason, each.message, each.observed_generation or 0)
        for each in status.conditions
        if each.type in _OURS
    )
