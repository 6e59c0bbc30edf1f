"""Kubernetes' own objects, as far as capacity depends on them: Node, taints and tolerations, Pod."""

from __future__ import annotations

import datetime
from typing import Annotated, Final

import msgspec

from kueue_dqo.api.quantity import Quantity

NODE: Final = "Node"
POD: Final = "Pod"
READY: Final = "Ready"
BLOCKING_EFFECTS: Final = frozenset({"NoSchedule", "NoExecute"})
"""Taint effects that keep pods off a node; PreferNoSchedule does not."""

EXISTS: Final = "Exists"
EQUAL: Final = "Equal"

RESTARTED_ALWAYS: Final = "Always"
FINISHED_PHASES: Final = frozenset({"Succeeded", "Failed"})
"""Phases in which a pod holds nothing any more."""

Time = Annotated[datetime.datetime, msgspec.Meta(tz=True)]
"""A time of RFC 3339, with its offset."""
Amounts = dict[str, Quantity | None]
"""Quantities by resource; a value of None is as absent."""


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
    last_transition_time: Time | None = None
    """Since when it has this status."""


class NodeMeta(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """A node's metadata: the part that decides whether and where it counts."""

    name: str
    labels: dict[str, str] = {}
    deletion_timestamp: str | None = None
    uid: str = ""
    """Another one under the same name is another machine, or the same one set up anew."""


class NodeSpec(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """A node's spec."""

    unschedulable: bool = False
    taints: tuple[Taint, ...] = ()


class NodeStatus(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """A node's status. `allocatable` is what counts."""

    allocatable: Amounts = {}
    conditions: tuple[NodeCondition, ...] = ()


class Node(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """A node, decoded partially: of its 15 KB less than one is needed."""

    metadata: NodeMeta
    spec: NodeSpec = NodeSpec()
    status: NodeStatus = NodeStatus()

    @property
    def ready(self) -> NodeCondition | None:
        """The Ready condition, None where there is none."""
        for condition in self.status.conditions:
            if condition.type == READY:
                return condition
        return None

    @property
    def is_ready(self) -> bool:
        """Whether the Ready condition is there and True."""
        ready = self.ready
        return ready is not None and ready.status == "True"


# --- pods ----------------------------------------------------------------------------------------------------------


class Requirements(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """`resources` of a container, of its status or of a pod."""

    requests: Amounts = {}


class Container(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """A container, or one that runs at the start; that one goes on running where it is always restarted."""

    name: str
    resources: Requirements = Requirements()
    restart_policy: str = ""


class ContainerStatus(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """What a container has at present: until a resize of the pod in place is through, that is not what it asks for."""

    name: str
    allocated_resources: Amounts = {}
    resources: Requirements = Requirements()


class PodLabels(msgspec.Struct, frozen=True, gc=False):
    """The one label that counts."""

    podset: str | None = msgspec.field(default=None, name="kueue.x-k8s.io/podset")


class PodMeta(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """A pod's metadata: who it is, and whether Kueue manages it."""

    name: str
    namespace: str = ""
    labels: PodLabels = PodLabels()


class PodSpec(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """A pod's spec: where it runs, and what it requests there."""

    node_name: str = ""
    containers: tuple[Container, ...] = ()
    init_containers: tuple[Container, ...] = ()
    overhead: Amounts = {}
    resources: Requirements = Requirements()


class PodStatus(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """A pod's status."""

    phase: str = ""
    container_statuses: tuple[ContainerStatus, ...] = ()
    init_container_statuses: tuple[ContainerStatus, ...] = ()


class Pod(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """A pod, decoded partially."""

    metadata: PodMeta
    spec: PodSpec = PodSpec()
    status: PodStatus = PodStatus()

    @property
    def is_managed(self) -> bool:
        """Whether Kueue manages it: its usage is then Kueue's to count."""
        return self.metadata.labels.podset is not None

    @property
    def holds_resources(self) -> bool:
        """Whether it has a node and has not finished; on its way out it holds them still."""
        return bool(self.spec.node_name) and self.status.phase not in FINISHED_PHASES
