"""Quotas that an orchestrator has left in ClusterQueues and Cohorts, on either road: who keeps them up, or why nobody.

Kept up is what the orchestrator that wrote it would write again: one that competes, is outranked by none, and has the
object in its subtree. The specification says nothing of quotas that are left behind; docs/cleanup.md tells the rules.
"""

from __future__ import annotations

import enum
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from kueue_dqo.api import dqo
from kueue_dqo.api.meta import KUEUE_GROUP, ObjectKey, find_condition
from kueue_dqo.api.quotas import OrchestratorRef
from kueue_dqo.api.scheme import decode_quotas
from kueue_dqo.api.wording import some
from orchestrator.enforcement.held import Held, View
from orchestrator.enforcement.patches import Operation, pointer, remove, test
from orchestrator.enforcement.roads import Road
from orchestrator.enforcement.spec import APPLIED_QUOTAS, FIELD_MANAGER
from orchestrator.hierarchy import Hierarchy
from orchestrator.members import Member
from orchestrator.precedence import those_above

Orchestrators = Mapping[str, dqo.DynamicQuotaOrchestrator]


class Standing(enum.Enum):
    """What becomes of quotas that an orchestrator has written."""

    ABANDONED = "nobody keeps them up any more"
    STALLED = "their orchestrator should keep them up and cannot at present"
    KEPT = "their orchestrator keeps them up"
    FOREIGN = "somebody else than a DynamicQuotaOrchestrator wrote them"
    UNKNOWN = "who wrote them cannot be told"


class Leftover(NamedTuple):
    """The quotas that an orchestrator wrote into one object on one road; `why` is their standing in words.

    `owner` is who wrote them, None where that cannot be read.
    """

    held: Held
    road: Road
    view: View
    owner: OrchestratorRef | None
    standing: Standing
    why: str

    @property
    def problem(self) -> str | None:
        """Why the declared quotas cannot be restored, in words, None where they can."""
        return self.view.member.problem

    @property
    def identity(self) -> tuple[ObjectKey, Road]:
        """Which object, and where in it."""
        return (self.held.key, self.road)

    def restoring(self) -> list[Operation]:
        """The write that puts the declared quotas in force again, as a compare-and-set, unless there is a problem."""
        operations = self.road.restoring(self.held, self.view)
        if self.road is not Road.SPEC:
            return operations
        # A declaration that equals what is in force changes nothing, so the API server would leave the ownership as it
        # is, and without its annotations the object would look as if they had been lost.
        return [*operations, *disowning(self.held, FIELD_MANAGER)]


def leftovers(objects: Iterable[Held], orchestrators: Orchestrators) -> list[Leftover]:
    """Everything that orchestrators have written into the objects, by kind, name and road.

    Args:
        objects: every ClusterQueue and Cohort of the cluster.
        orchestrators: every DynamicQuotaOrchestrator by name; one that is missing here counts as gone.
    """
    by_key = sorted(objects, key=lambda held: held.key)
    hierarchy = Hierarchy(_place(held) for held in by_key)
    return [
        leftover
        for held in by_key
        for road in Road
        if (leftover := _leftover(held, road, orchestrators, hierarchy)) is not None
    ]


def _place(held: Held) -> Member:
    """The object as the tree needs it, where quotas make no difference."""
    return Member(held.key, held.node.metadata.uid, held.node.parent, (), ())


def _leftover(held: Held, road: Road, orchestrators: Orchestrators, hierarchy: Hierarchy) -> Leftover | None:
    view = road.view(held)
    if held.problem is not None:
        # On one road is enough: the object as a whole cannot be read.
        if road is not Road.STATUS:
            return None
        return Leftover(held, road, view, None, Standing.UNKNOWN, held.problem)
    problem = view.member.problem
    owner = view.applied.orchestrator_ref if view.applied is not None else None
    if problem is not None:
        owner = _recorded_owner(held)
        if owner is None:
            return Leftover(held, road, view, None, Standing.UNKNOWN, problem)
    if owner is None:
        return None
    return Leftover(held, road, view, owner, *_standing(held.key, owner, orchestrators, hierarchy))


def _recorded_owner(held: Held) -> OrchestratorRef | None:
    """Who is named in the annotation of an object whose declaration is lost."""
    text = held.node.metadata.annotations.get(APPLIED_QUOTAS)
    if text is None:
        return None
    try:
        return decode_quotas(text).orchestrator_ref
    except ValueError:
        return None  # the view's problem says it


def _standing(
    key: ObjectKey, owner: OrchestratorRef, orchestrators: Orchestrators, hierarchy: Hierarchy
) -> tuple[Standing, str]:
    if (owner.api_group, owner.kind) != (KUEUE_GROUP, dqo.DYNAMIC_QUOTA_ORCHESTRATOR):
        return Standing.FOREIGN, f"{owner} is no DynamicQuotaOrchestrator of {KUEUE_GROUP}"
    orchestrator = orchestrators.get(owner.name)
    if orchestrator is None:
        return Standing.ABANDONED, "the orchestrator is gone"
    why = _why_abandoned(key, orchestrator, orchestrators, hierarchy)
    if why is not None:
        return Standing.ABANDONED, why
    condition = find_condition(orchestrator.status.conditions, dqo.DISTRIBUTED)
    if condition is None or condition.status != "False":
        return Standing.KEPT, f"below its root {orchestrator.root}"
    since = f" since {condition.last_transition_time}" if condition.last_transition_time is not None else ""
    return Standing.STALLED, f"Distributed=False {condition.reason}{since}"


def _why_abandoned(
    key: ObjectKey, orchestrator: dqo.DynamicQuotaOrchestrator, others: Orchestrators, hierarchy: Hierarchy
) -> str | None:
    """Why the orchestrator, which exists, will not write to the object again, None where it will."""
    root = orchestrator.root
    if orchestrator.is_deleting:
        return "the orchestrator is being deleted"
    if root is None:
        return "the orchestrator only discovers: it has no spec.capacityDistribution"
    if root not in hierarchy.members:
        return f"its root {root} does not exist"
    if key != root and root not in hierarchy.ancestors(key):
        return f"the object is not below its root {root}: it was moved, or the root was changed"
    above = those_above(orchestrator, others.values(), hierarchy)
    if above:
        listed = some(f"{other.metadata.name} (root {other.root})" for other in above)
        return f"the orchestrator gives way to {listed}, which has not written here"
    return None


def disowning(held: Held, manager: str) -> list[Operation]:
    """Takes the quotas in the spec out of what a field manager owns, in the version of the object that is held.

    Its entry stays, were it empty: an object without any has all of its fields owned by `before-first-apply` from the
    next server-side apply on, and that is who it would conflict with.
    """
    operations: list[Operation] = []
    for index, entry in enumerate(held.node.metadata.managed_fields):
        if entry.manager == manager and entry.owns("spec", "resourceGroups"):
            place = ("metadata", "managedFields", str(index))
            operations.append(test(pointer(*place, "manager"), manager))
            operations.append(remove(pointer(*place, "fieldsV1", "f:spec", "f:resourceGroups")))
    return operations
