"""Watches of what every provider that counts nodes reads: the Nodes, and what queues declare for their flavors."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from collections.abc import Set as AbstractSet

from kueue_dqo.api.core import Node
from kueue_dqo.provider import Environment
from kueue_dqo.runtime.cache import Cache
from kueue_dqo.runtime.resources import CLUSTER_QUEUES, COHORTS, NODES
from providers.caches import Caches
from providers.nodes.declared import Declared, Pairs, pairs_of
from providers.nodes.decoding import NodeDecoder


class Sight(Caches):
    """`look` is called after a change of something that counts; heartbeats of nodes lead to nothing."""

    def __init__(
        self, environment: Environment, *, on_node: Callable[[str, Node | None], None], look: Callable[[], None]
    ) -> None:
        """`on_node` is told of every node that came, changed or went (None), before `look` is called."""
        super().__init__(environment, look=look)
        self._on_node = on_node
        self._declared = Declared()
        self._nodes: Cache[Node] = self.follow(NODES, NodeDecoder(self.node).decode, self._node_changed)
        for resource in (CLUSTER_QUEUES, COHORTS):
            self.follow(resource, pairs_of, self._queue_changed)

    @property
    def nodes(self) -> Mapping[str, Node]:
        """By name, a live view."""
        return self._nodes.objects

    @property
    def declared(self) -> Mapping[str, AbstractSet[str]]:
        """The resources that some queue has a quota for, by flavor."""
        return self._declared.resources

    def node(self, name: str) -> Node | None:
        """The node of that name, where it is known."""
        return self._nodes.objects.get(name)

    def _node_changed(self, name: str, old: Node | None, new: Node | None) -> None:
        if new is old:
            return  # a heartbeat
        self._on_node(name, new)
        if self._nodes.is_synced:  # else the end of the first list is told at once
            self._look()

    def _queue_changed(self, name: str, old: Pairs | None, new: Pairs | None) -> None:
        del name
        if self._declared.change(old, new):
            self._look()
