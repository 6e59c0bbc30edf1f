"""What is worth telling people about a provider, by Events. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from kueue_dqo.api.meta import Condition
from kueue_dqo.provider import Notice
from providers.guards import Guard, Hold

CAPACITY_HELD = "CapacityHeld"
CAPACITY_RELEASED = "CapacityReleased"
FALL_ACKNOWLEDGED = "FallAcknowledged"
STATUS_REJECTED = "StatusRejected"
STATUS_CONTESTED = "StatusContested"


def of_condition(before: Condition | None, after: Condition) -> Iterator[Notice]:
    """A change of its status or its reason; other words are none."""
    if before is None or (before.status, before.reason) != (after.status, after.reason):
        yield Notice(after.reason, after.message, is_warning=after.status != "True")


def of_contest(rival: str, controller: str) -> Notice:
    """Somebody writes over the status again and again."""
    who = f"field manager {rival!r}" if rival else "somebody"
    return Notice(
        STATUS_CONTESTED,
        f"{who} writes over the status again and again; it is written anew, but more slowly each time. Stop the other "
        f"writer, or give the object another controllerName than {controller}",
    )


def of_holds(before: Iterable[Hold], after: Iterable[Hold], acknowledged: Iterable[Hold]) -> Iterator[Notice]:
    """Each hold that begins or ends; one goes on while its flavor has one of that guard."""
    old, new, let_through = _by_name(before), _by_name(after), _by_name(acknowledged)
    for key, hold in new.items():
        if key not in old:
            yield Notice(CAPACITY_HELD, str(hold), is_warning=hold.guard is Guard.BREAKER)
    for hold in let_through.values():
        message = f"{hold.flavor}: the fall was acknowledged ({hold.hash}) and is published"
        yield Notice(FALL_ACKNOWLEDGED, message, is_warning=False)
    for key, hold in old.items():
        if key not in new and key not in let_through:
            message = f"{hold.flavor}: the guard against a {_WHAT[hold.guard]} holds it no more"
            yield Notice(CAPACITY_RELEASED, message, is_warning=False)


def of_notices(before: Iterable[Notice], after: Iterable[Notice]) -> Iterator[Notice]:
    """Those of a source that are new or have changed."""
    known = set(before)
    return (each for each in after if each not in known)


_WHAT = {Guard.FALL: "fall", Guard.RISE: "rise", Guard.BREAKER: "large fall"}


def _by_name(holds: Iterable[Hold]) -> dict[tuple[str, Guard], Hold]:
    return {(hold.flavor, hold.guard): hold for hold in holds}
