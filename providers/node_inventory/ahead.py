"""Nodes whose clocks go ahead of ours: they say that they will be Ready in the future. Pure."""

from __future__ import annotations

import datetime
from collections.abc import Iterable, Iterator
from typing import Final

import msgspec

from kueue_dqo.api.core import READY, Node


class Ahead:
    """Remembers when such a node was seen first, so that its ready delay begins then and not ages later."""

    def __init__(self) -> None:
        self._seen: Final[dict[str, tuple[datetime.datetime, datetime.datetime]]] = {}
        """What the node says, and when that was seen first."""

    def note(self, node: Node, now: datetime.datetime) -> None:
        """The node is as it is now."""
        name, since = node.metadata.name, _ready_since(node)
        if name in self._seen and self._seen[name][0] == since:
            return  # also once that time has come: what was counted before must not wait again
        if since is None or since <= now:
            self._seen.pop(name, None)
        else:
            self._seen[name] = (since, now)

    def forget(self, name: str) -> None:
        """The node is gone."""
        self._seen.pop(name, None)

    def corrected(self, nodes: Iterable[Node]) -> Iterable[Node]:
        """The nodes, those of which it is known being Ready since they were seen so."""
        return self._corrected(nodes) if self._seen else nodes

    def _corrected(self, nodes: Iterable[Node]) -> Iterator[Node]:
        for node in nodes:
            seen = self._seen.get(node.metadata.name)
            yield node if seen is None else _ready_from(node, seen[1])


def _ready_since(node: Node) -> datetime.datetime | None:
    return node.ready.last_transition_time if node.ready is not None else None


def _ready_from(node: Node, time: datetime.datetime) -> Node:
    conditions = tuple(
        msgspec.structs.replace(each, last_transition_time=time) if each.type == READY else each
        for each in node.status.conditions
    )
    return msgspec.structs.replace(node, status=msgspec.structs.replace(node.status, conditions=conditions))
