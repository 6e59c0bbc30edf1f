"""What the report of the node should say, what it says, and so what has to be written next. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from random import Random
from typing import Any, Final, NamedTuple

from kueue_dqo.api.gpu import INVENTORY_MANAGER, PROBLEM_MANAGER, AgentProblem, GPUInventory, NodeGPUReportSpec
from providers.nvidia_gpu.agent.node_identity import Identity
from providers.nvidia_gpu.agent.report import fitted, fitted_problem, inventory_body, problem_body, same

_JITTER: Final = 0.1


class _Wanted(NamedTuple):
    """What the report should say. With a problem, the inventory is left as it is."""

    inventory: GPUInventory | None
    problem: AgentProblem | None


class Apply(NamedTuple):
    """One write. Of both parts, it sets the one that is the manager's."""

    manager: str
    body: Mapping[str, Any]
    stands: GPUInventory | None = None
    """The inventory that it writes, as it fits."""
    inventory: GPUInventory | None = None
    """The one that was wanted, where it is that."""
    problem: AgentProblem | None = None
    """The one that was wanted."""


class Pending:
    """Times are in seconds, by whatever clock."""

    def __init__(self, *, heartbeat: float, random: Random) -> None:
        """A `heartbeat`, and a tenth more or less of it, passes between two renewals."""
        self.has_written = False
        self.is_owned = True
        """Whether the report has the owner that it should have, as far as is known."""
        self.due: float | None = None
        """When it is renewed, whatever it says."""
        self._heartbeat = heartbeat
        self._random = random
        self._wanted: _Wanted | None = None
        """As it was said last; None while nothing is known."""
        self._inventory: GPUInventory | None = None
        """As it was written last by this process, and nothing since."""
        self._stands: GPUInventory | None = None
        """As it stands in the report, cut to its size."""
        self._problem: AgentProblem | None = None
        """As it stands in the report, as far as is known."""

    def begin(self, before: NodeGPUReportSpec) -> None:
        """What the report says before this process has written anything."""
        self._problem, self._stands = before.problem, before.inventory

    def want(self, inventory: GPUInventory) -> None:
        """NVML was read."""
        self._wanted = _Wanted(inventory, None)

    def want_problem(self, problem: AgentProblem) -> None:
        """NVML cannot be read: the last inventory stands, and is renewed no more."""
        self._wanted = _Wanted(None if self._wanted is None else self._wanted.inventory, problem)

    @property
    def is_known(self) -> bool:
        """Whether anything was said."""
        return self._wanted is not None

    def differs(self) -> bool:
        """Whether the report says something else than it should."""
        if self._wanted is None:
            return False
        if not self.has_written or not self.is_owned:
            return True
        if self._wanted.problem is not None:
            return self._wanted.problem != self._problem
        return self._problem is not None or not same(self._wanted.inventory, self._inventory)

    def is_due(self, now: float) -> bool:
        """Whether it is time for a heartbeat."""
        return self.due is not None and now >= self.due

    def next(self, identity: Identity, now: float) -> Apply:
        """The next write, for the newest state; after it there may be another one. Something differs, or is due.

        An inventory is renewed before its problem is taken away.
        """
        node, uid = identity
        wanted = self._wanted
        assert wanted is not None  # noqa: S101 - nothing is due before
        if wanted.problem is not None:
            fitting = fitted_problem(wanted.problem, node=node, beside=self._stands)
            if self._stands is not None:
                shorter = fitted(self._stands, node=node, problem=fitting)
                # What is listed there may leave no room for it; and only this part has the owner.
                if shorter != self._stands or not self.is_owned:
                    return Apply(INVENTORY_MANAGER, inventory_body(node, uid, shorter), stands=shorter)
            return Apply(PROBLEM_MANAGER, problem_body(node, fitting), problem=wanted.problem)
        if wanted.inventory is not None and (
            self.is_due(now) or not self.is_owned or not same(wanted.inventory, self._inventory)
        ):
            # A problem that stands is taken away only afterwards.
            fitting_too = fitted(wanted.inventory, node=node, problem=self._problem)
            return Apply(
                INVENTORY_MANAGER,
                inventory_body(node, uid, fitting_too),
                stands=fitting_too,
                inventory=wanted.inventory,
            )
        return Apply(PROBLEM_MANAGER, problem_body(node, None))

    def done(self, written: Apply, now: float) -> None:
        """The API server has taken it."""
        if written.stands is not None:
            self._stands = written.stands
            self.is_owned = True
        else:
            self._problem = written.problem
        if written.problem is not None:
            self._inventory = None  # it is to be renewed before the problem ends, whatever it says
            self.is_owned = True  # or there is nothing yet that could be owned
        elif written.inventory is not None:
            self._inventory = written.inventory
        else:
            return  # no heartbeat
        self.due = now + self._heartbeat * self._next_share()
        self.has_written = True

    def _next_share(self) -> float:
        """Of a heartbeat. The first comes at any time: a DaemonSet starts its agents everywhere in the same moment."""
        return self._random.uniform(1 - _JITTER, 1 + _JITTER) if self.has_written else self._random.uniform(0, 1)
