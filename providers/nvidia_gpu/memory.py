"""What is kept from one look at a provider to the next. Pure."""

from __future__ import annotations

from kueue_dqo.api.core import Node
from kueue_dqo.api.gpu import GPUInventory
from kueue_dqo.api.parameters import NvidiaGpuParametersSpec
from providers.nvidia_gpu.counting import Contribution, contribution_of
from providers.nvidia_gpu.suspicion import NOBODY, Suspicion


class Memory:
    """Of thousands of nodes, few have changed since the last look."""

    def __init__(self) -> None:
        self.unheard: frozenset[str] = frozenset()
        """Nodes whose agents were not heard at the last look: a word of them is news, whatever it says."""
        self.has_counted = False
        """Whether a look has ended well: a node of which nothing is known since was in no capacity of this process."""
        self.suspicion: Suspicion = NOBODY
        """Nodes that are held because many were not heard before."""
        self._parameters: NvidiaGpuParametersSpec | None = None
        self._known: dict[str, tuple[Node, GPUInventory, Contribution]] = {}
        self._used: dict[str, tuple[Node, GPUInventory, Contribution]] = {}

    def begin(self, parameters: NvidiaGpuParametersSpec) -> None:
        """A look begins. What the last one did not use is forgotten, and everything where the parameters changed."""
        self._known, self._used = (self._used if parameters == self._parameters else {}), {}
        self._parameters = parameters

    def contribution(self, node: Node, inventory: GPUInventory, parameters: NvidiaGpuParametersSpec) -> Contribution:
        """What the node adds; as before, while node and inventory are the same objects."""
        name = node.metadata.name
        known = self._known.get(name)
        if known is None or known[0] is not node or known[1] is not inventory:
            known = (node, inventory, contribution_of(node, inventory, parameters))
        self._used[name] = known
        return known[2]
