"""From the API server's JSON to nodes that share what is equal, and cost next to nothing where nothing changed. Pure.

A cluster has many nodes of few kinds, and each of them sends its whole object several times a minute only to say that
it is there. So equal parts are held once; and a node that is as it was, is the very object that is held already.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from typing import Any, Final

import msgspec

from kueue_dqo.api.core import Amounts, Node, NodeCondition, NodeMeta, NodeSpec, NodeStatus, Pod, Taint
from kueue_dqo.api.quantity import Quantity
from kueue_dqo.api.scheme import KNOWN_KINDS, KnownKind, decode_json
from providers.nodes.pods import HOLDS_NOTHING, PodUse, use_of

_VERSION: Final = "v1"
_KINDS: Final[dict[Any, KnownKind]] = {known.type: known for known in KNOWN_KINDS}


class _Status(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    allocatable: msgspec.Raw = msgspec.Raw(b"{}")
    conditions: tuple[NodeCondition, ...] = ()


class _Node(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    metadata: NodeMeta
    spec: NodeSpec = NodeSpec()
    status: _Status = _Status()


class NodeDecoder:
    """`held` gives the node of that name as it was decoded last, if it is known."""

    def __init__(self, held: Callable[[str], Node | None]) -> None:
        self._held = held
        self._amounts = functools.lru_cache(maxsize=4096)(_amounts)
        self._condition = functools.lru_cache(maxsize=4096)(_condition)
        self._taints = functools.lru_cache(maxsize=4096)(_taints)

    def decode(self, raw: bytes) -> Node:
        """The node in a piece of JSON. Raises ObjectInvalid."""
        try:
            quick = _decode_node(raw)
            metadata, spec, conditions = quick.metadata, quick.spec, quick.status.conditions
            allocatable = self._amounts(bytes(quick.status.allocatable))
        except msgspec.DecodeError:
            # The careful way knows null fields and can say what is wrong where.
            node: Node = decode_json(_KINDS[Node], _VERSION, raw).object
            metadata, spec, conditions = node.metadata, node.spec, node.status.conditions
            allocatable = node.status.allocatable
        before = self._held(metadata.name)
        if (
            before is not None
            and before.status.conditions == conditions
            and before.status.allocatable == allocatable
            and before.spec == spec
            and before.metadata == metadata
        ):
            return before
        return Node(
            NodeMeta(
                sys.intern(metadata.name),
                {sys.intern(key): sys.intern(value) for key, value in metadata.labels.items()},
                metadata.deletion_timestamp,
                metadata.uid,
            ),
            NodeSpec(spec.unschedulable, self._taints(spec.taints)),
            NodeStatus(allocatable, tuple(map(self._condition, conditions))),
        )


def decode_pod(raw: bytes) -> PodUse:
    """What the pod in a piece of JSON holds. Raises ObjectInvalid."""
    return use_of(decode_json(_KINDS[Pod], _VERSION, raw).object) or HOLDS_NOTHING


def _quantity(_: type, value: object) -> Quantity:
    return Quantity.of(value)


_decode_node: Final = msgspec.json.Decoder(_Node).decode
_decode_amounts: Final = msgspec.json.Decoder(Amounts, dec_hook=_quantity).decode


def _amounts(raw: bytes) -> Amounts:
    return {sys.intern(name): quantity for name, quantity in _decode_amounts(raw).items()}


def _condition(condition: NodeCondition) -> NodeCondition:
    return NodeCondition(sys.intern(condition.type), sys.intern(condition.status), condition.last_transition_time)


def _taints(taints: tuple[Taint, ...]) -> tuple[Taint, ...]:
    return taints
