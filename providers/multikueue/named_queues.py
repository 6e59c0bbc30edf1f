"""Which ClusterQueues of a manager some parameters name: a list, or all that are below a root. Pure."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from kueue_dqo.api.dqo import SubtreeRootQuotaRef
from kueue_dqo.api.kueue import CLUSTER_QUEUE, COHORT
from kueue_dqo.api.multikueue import ManagerQueues
from kueue_dqo.api.problems import shown
from kueue_dqo.api.wording import some
from providers.multikueue.objects import Manager, ManagerQueue, Unreadable

LIST_FIELD: Final = "spec.managerQueues.clusterQueues"
SUBTREE_FIELD: Final = "spec.managerQueues.subtree"


class NamedQueues:
    """Looks them up, for any number of parameters."""

    def __init__(self, manager: Manager) -> None:
        """The manager must not change meanwhile."""
        self._queues = manager.queues
        self._cohorts = manager.cohorts

    def queues(self, wanted: ManagerQueues) -> dict[str, ManagerQueue]:
        """Those that these parameters name, as far as they exist and can be used."""
        root = wanted.subtree
        names: Iterable[str] = wanted.cluster_queues
        if root is not None:
            names = [root.name] if root.kind == CLUSTER_QUEUE else self._below(root.name)
        found = ((name, self._queues.get(name)) for name in names)
        return {name: queue for name, queue in found if isinstance(queue, ManagerQueue)}

    def problems(self, wanted: ManagerQueues) -> Iterator[str]:
        """What is wrong with the others, each with its field and the way out."""
        root = wanted.subtree
        if root is None:
            yield from self._problems_of_list(wanted.cluster_queues)
        elif root.kind == CLUSTER_QUEUE:
            yield from self._problems_of_queue(SUBTREE_FIELD, root.name, "name another root")
        else:
            yield from self._problems_of_tree(root)

    def _problems_of_list(self, names: Iterable[str]) -> Iterator[str]:
        for index, name in enumerate(names):
            yield from self._problems_of_queue(f"{LIST_FIELD}[{index}]", name, "take it out of the list")

    def _problems_of_queue(self, field: str, name: str, else_: str) -> Iterator[str]:
        queue = self._queues.get(name)
        if queue is None:
            yield f"{field}: {CLUSTER_QUEUE} {shown(name)} does not exist: create it, or {else_}"
        elif isinstance(queue, Unreadable):
            yield f"{field}: {CLUSTER_QUEUE} {name} cannot be used ({queue.why}): correct it, or {else_}"

    def _problems_of_tree(self, root: SubtreeRootQuotaRef) -> Iterator[str]:
        if root.kind != COHORT:
            yield f"{SUBTREE_FIELD}.kind: {shown(root.kind)} is neither {CLUSTER_QUEUE} nor {COHORT}"
        elif root.name not in self._cohorts:
            children = self._queues_by_parent.get(root.name)
            only = f" as an object; ClusterQueue {some(sorted(children))} only names it" if children else ""
            yield (
                f"{SUBTREE_FIELD}.name: {COHORT} {shown(root.name)} does not exist{only}: create the object, or name "
                "another root"
            )
        # It may be anywhere in the tree, this part included.
        yield from _unplaced(CLUSTER_QUEUE, self._queues)
        yield from _unplaced(COHORT, self._cohorts)

    def _below(self, root: str) -> Iterator[str]:
        """The ClusterQueues of a Cohort and of those below it. A ring of Cohorts ends where it was entered."""
        if root not in self._cohorts:
            return
        seen, waiting = {root}, [root]
        while waiting:
            cohort = waiting.pop()
            yield from self._queues_by_parent.get(cohort, ())
            for child in self._cohorts_by_parent.get(cohort, ()):
                if child not in seen:
                    seen.add(child)
                    waiting.append(child)

    @functools.cached_property
    def _queues_by_parent(self) -> Mapping[str, list[str]]:
        return _by_parent(
            (queue.parent, name) for name, queue in self._queues.items() if isinstance(queue, ManagerQueue)
        )

    @functools.cached_property
    def _cohorts_by_parent(self) -> Mapping[str, list[str]]:
        return _by_parent((parent, name) for name, parent in self._cohorts.items() if isinstance(parent, str))


def _by_parent(pairs: Iterable[tuple[str, str]]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for parent, name in pairs:
        found.setdefault(parent, []).append(name)
    return found


def _unplaced(kind: str, objects: Mapping[str, object]) -> Iterator[str]:
    bad = [f"{name} ({each.why})" for name, each in objects.items() if isinstance(each, Unreadable)]
    if bad:
        yield (
            f"{SUBTREE_FIELD}: {kind} {some(sorted(bad))} cannot be used, so that nobody knows whether it belongs to "
            "the subtree: correct it"
        )
