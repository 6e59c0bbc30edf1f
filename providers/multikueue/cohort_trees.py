"""The cohort trees of a worker that its related queues are in. Pure."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from kueue_dqo.api.kueue import CLUSTER_QUEUE, COHORT
from kueue_dqo.api.quotas import ResourceGroup
from providers.multikueue.objects import Unreadable, WorkerProblem, WorkerQueue, WorkerView


class TreeMember(NamedTuple):
    """A ClusterQueue or a Cohort in its tree."""

    kind: str
    name: str
    parent: int | None
    """The position of the Cohort above; None for the root."""
    quotas: tuple[ResourceGroup, ...]

    def __str__(self) -> str:
        """`Cohort all-teams`, as messages name the object."""
        return f"{self.kind} {self.name}"


def roots_above(view: WorkerView, queues: Mapping[str, WorkerQueue]) -> dict[str, str]:
    """Each Cohort that is above one of the queues, and the root of its tree, which may be itself.

    A Cohort that is named as a parent and has no object is one as well: it has no quota, but connects.

    Raises:
        WorkerProblem: a Cohort above a queue cannot be read, or its Cohorts are a cycle.
    """
    roots: dict[str, str] = {}
    for name, queue in sorted(queues.items()):
        path: dict[str, None] = {}
        above = queue.parent
        while above and above not in roots:
            if above in path:
                raise WorkerProblem(_cycle(name, [*path][[*path].index(above) :]))
            path[above] = None
            above = _parent(view, name, above)
        if path:
            roots |= dict.fromkeys(path, roots[above] if above else [*path][-1])
    return roots


def _parent(view: WorkerView, queue: str, cohort: str) -> str:
    found = view.cohorts.get(cohort)
    if isinstance(found, Unreadable):
        msg = f"{COHORT} {cohort}, which {CLUSTER_QUEUE} {queue} is in, cannot be read: {found.why}"
        raise WorkerProblem(msg)
    return "" if found is None else found.parent


def _cycle(queue: str, cohorts: list[str]) -> str:
    first = cohorts.index(min(cohorts))
    ring = " → ".join([*cohorts[first:], *cohorts[: first + 1]])
    return (
        f"{CLUSTER_QUEUE} {queue} is in a cycle of Cohorts, {ring}, in which Kueue admits nothing: "
        "take the parent of one of them away"
    )


def trees_of(view: WorkerView, queues: Mapping[str, WorkerQueue]) -> Iterator[list[TreeMember]]:
    """The whole trees that the queues are in, one after the other; each member comes after its parent.

    A queue without a Cohort is a tree of its own. Queues and Cohorts elsewhere that cannot be read lend nothing, since
    it is not known where they are.

    Raises:
        WorkerProblem: as `roots_above`.
    """
    roots = roots_above(view, queues)
    cohorts = _by_parent((name, each.parent) for name, each in view.cohorts.items() if not isinstance(each, Unreadable))
    members: defaultdict[str, list[tuple[str, WorkerQueue]]] = defaultdict(list)
    for name, queue in view.queues.items():
        if not isinstance(queue, Unreadable):
            members[queue.parent].append((name, queue))
    for root in sorted(set(roots.values())):
        tree: list[TreeMember] = []
        waiting: list[tuple[str, int | None]] = [(root, None)]
        while waiting:
            cohort, parent = waiting.pop()
            here = len(tree)
            found = view.cohorts.get(cohort)
            quotas = () if found is None or isinstance(found, Unreadable) else found.quotas
            tree.append(TreeMember(COHORT, cohort, parent, quotas))
            tree.extend(TreeMember(CLUSTER_QUEUE, name, here, queue.quotas) for name, queue in members.get(cohort, ()))
            waiting.extend((child, here) for child in cohorts.get(cohort, ()))
        yield tree
    for name, queue in sorted(queues.items()):
        if not queue.parent:
            yield [TreeMember(CLUSTER_QUEUE, name, None, queue.quotas)]


def _by_parent(children: Iterable[tuple[str, str]]) -> Mapping[str, list[str]]:
    found: defaultdict[str, list[str]] = defaultdict(list)
    for name, parent in children:
        if parent:
            found[parent].append(name)
    return found
