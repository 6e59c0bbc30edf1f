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
    """Each hold that has resources which that guard did not hold, and each guard's end for a flavor.

    A flavor may have several holds of one guard, and a resource may go from one to the next: that is no beginning.
    """
    before, after, acknowledged = tuple(before), tuple(after), tuple(acknowledged)
    old, new, let_through = _held(before), _held(after), _held(acknowledged)
    for hold in after:
        if not set(hold.resources) <= old.get((hold.flavor, hold.guard), set()):
            yield Notice(CAPACITY_HELD, str(hold), is_warning=hold.guard is Guard.BREAKER)
    for hold in acknowledged:
        message = f"{hold.flavor}: the fall was acknowledged ({hold.hash}) and is published"
        yield Notice(FALL_ACKNOWLEDGED, message, is_warning=False)
    for flavor, guard in old:
        if (flavor, guard) not in new and (flavor, guard) not in let_through:
            message = f"{flavor}: the guard against a {_WHAT[guard]} holds it no more"
            yield Notice(CAPACITY_RELEASED, message, is_warning=False)


def of_notices(before: Iterable[Notice], after: Iterable[Notice]) -> Iterator[Notice]:
    """Those of a source that are new or have changed."""
    known = set(before)
    return (each for each in after if each not in known)


_WHAT = {Guard.FALL: "fall", Guard.RISE: "rise", Guard.BREAKER: "large fall"}


def _held(holds: Iterable[Hold]) -> dict[tuple[str, Guard], set[str]]:
    """The resources that a guard holds of a flavor."""
    held: dict[tuple[str, Guard], set[str]] = {}
    for hold in holds:
        held.setdefault((hold.flavor, hold.guard), set()).update(hold.resources)
    return held
