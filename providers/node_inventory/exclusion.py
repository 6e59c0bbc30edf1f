"""Why a node that belongs to a flavor does not count for it. Pure."""

from __future__ import annotations

import datetime
import enum
import math
from typing import Final

from kueue_dqo.api.core import Node
from kueue_dqo.api.kueue import ResourceFlavor
from kueue_dqo.api.parameters import NodeInventoryParametersSpec
from providers.nodes.usable import Unusable, why_unusable

_SECOND: Final = datetime.timedelta(seconds=1)


class Exclusion(enum.StrEnum):
    """Why a node that belongs to a flavor does not count; the first that holds is the reason."""

    DELETING = Unusable.DELETING.value
    NOT_READY = Unusable.NOT_READY.value
    CORDONED = Unusable.CORDONED.value
    UNTOLERATED_TAINT = Unusable.UNTOLERATED_TAINT.value
    MISSING_REQUIRED_RESOURCE = "MissingRequiredResource"
    EXCLUDED_CONDITION = "ExcludedCondition"
    READY_DELAY = "ReadyDelay"


class Rules:
    """What a node has to be to count for one flavor."""

    def __init__(self, flavor: ResourceFlavor, parameters: NodeInventoryParametersSpec, now: datetime.datetime) -> None:
        self._flavor = flavor
        self._required = [
            each.resource for each in parameters.required_resources if each.flavor == flavor.metadata.name
        ]
        self._conditions = {(each.type, each.status) for each in parameters.excluded_conditions}
        self._delay = datetime.timedelta(seconds=parameters.ready_delay.seconds)
        self._now = now

    def why_excluded(self, node: Node) -> Exclusion | None:
        """The first reason that holds, None for a node that counts."""
        unusable = why_unusable(node, self._flavor)
        if unusable is not None:
            return Exclusion(unusable)
        if self._required and not all(_has(node, resource) for resource in self._required):
            return Exclusion.MISSING_REQUIRED_RESOURCE
        if self._conditions and any(
            (condition.type, condition.status) in self._conditions for condition in node.status.conditions
        ):
            return Exclusion.EXCLUDED_CONDITION
        if self._delay and self._left_of_delay(node) > datetime.timedelta():
            return Exclusion.READY_DELAY
        return None

    def wait(self, node: Node) -> int:
        """Seconds until a node that is excluded by ReadyDelay has been Ready for long enough, 1 or more.

        Whole ones, rounded up: nodes that come up together are then counted together.
        """
        return max(1, math.ceil(self._left_of_delay(node) / _SECOND))

    def _left_of_delay(self, node: Node) -> datetime.timedelta:
        """A clock that goes fast on the other side makes nobody wait for longer than the delay."""
        ready = node.ready
        if ready is None or ready.last_transition_time is None:
            return datetime.timedelta()
        return min(ready.last_transition_time + self._delay - self._now, self._delay)


def _has(node: Node, resource: str) -> bool:
    quantity = node.status.allocatable.get(resource)
    return quantity is not None and quantity.nanos > 0
