"""Kubernetes' own objects, as far as capacity depends on them: Node, taints and tolerations."""

from __future__ import annotations

from typing import Final

import msgspec

from kueue_dqo.api.quantity import Quantity

NODE: Final = "Node"
READY: Final = "Ready"
BLOCKING_EFFECTS: Final = frozenset({"NoSchedule", "NoExecute"})
"""Taint effects that keep pods off a node; PreferNoSchedule does not."""

EXISTS: Final = "Exists"
EQUAL: Final = "Equal"


class Taint(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """A taint of a node, or one that a ResourceFlavor declares for its nodes."""

    key: str
    effect: str
    value: str = ""

    def __str__(self) -> str:
        """`key=value:effect`, as kubectl writes it."""
        return f"{self.key}={self.value}:{self.effect}" if self.value else f"{self.key}:{self.effect}"


class Toleration(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """A toleration; empty fields match everything, an empty operator is Equal."""

    key: str = ""
    operator: str = ""
    value: str = ""
    effect: str = ""

    def tolerates(self, taint: Taint) -> bool:
        """Whether the taint is tolerated, by the rules of Kubernetes. `tolerationSeconds` makes no difference here."""
        if self.effect not in ("", taint.effect) or self.key not in ("", taint.key):
            return False
        return self.operator == EXISTS or (self.operator in ("", EQUAL) and self.value == taint.value)


class NodeCondition(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """A condition of a node, without the heartbeat that changes all the time."""

    type: str
    status: str


class NodeMeta(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """A node's metadata: the part that decides whether and where it counts."""

    name: str
    labels: dict[str, str] = {}
    deletion_timestamp: str | None = None


class NodeSpec(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """A node's spec."""

    unschedulable: bool = False
    taints: tuple[Taint, ...] = ()


class NodeStatus(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """A node's status. `allocatable` is what counts, by resource; a value of None is as absent."""

    allocatable: dict[str, Quantity | None] = {}
    conditions: tuple[NodeCondition, ...] = ()


class Node(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """A node, decoded partially: of its 15 KB less than one is needed."""

    metadata: NodeMeta
    spec: NodeSpec = NodeSpec()
    status: NodeStatus = NodeStatus()

    @property
    def is_ready(self) -> bool:
        """Whether the Ready condition is there and True."""
        return any(condition.type == READY and condition.status == "True" for condition in self.status.conditions)
