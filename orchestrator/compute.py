"""From a snapshot of the cluster to the status of every orchestrator and the effective quotas of every subtree. Pure.

The result is the settled state: what repeated passes of a controller over the same capacities end in.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import msgspec

from kueue_dqo.api import dqo
from kueue_dqo.api.kueue import CLUSTER_QUEUE
from kueue_dqo.api.meta import Condition, ObjectKey, condition_is
from kueue_dqo.api.quotas import EffectiveQuotas, OrchestratorRef
from kueue_dqo.api.wording import counted, message_of, some
from orchestrator.discovery import Discovery, discover
from orchestrator.distribution import distribute
from orchestrator.effective_quotas import effective_groups
from orchestrator.hierarchy import Hierarchy
from orchestrator.members import Member
from orchestrator.ownership import why_not_mine
from orchestrator.precedence import those_above

_WRITTEN_CONDITIONS = (dqo.EFFECTIVE_CAPACITY_COMPUTED, dqo.DISTRIBUTED)


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The cluster at one moment: orchestrators and providers by name, and every ClusterQueue and Cohort.

    `unreadable` names orchestrators of which only the place among others is known: they have no outcome, but keep their
    precedence and their quotas.
    """

    orchestrators: Mapping[str, dqo.DynamicQuotaOrchestrator]
    providers: Mapping[str, dqo.CapacityProvider]
    hierarchy: Hierarchy
    unreadable: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Outcome:
    """What becomes of an orchestrator: its status, and its subtree's quotas (none where it distributes nothing)."""

    status: dqo.DynamicQuotaOrchestratorStatus
    discovery: Discovery
    quotas: Mapping[ObjectKey, EffectiveQuotas]


@dataclass(slots=True)
class _Draft:
    """An orchestrator on its way to an outcome."""

    orchestrator: dqo.DynamicQuotaOrchestrator
    discovery: Discovery
    targets: list[Member]
    obstacles: list[tuple[str, str]]
    """(reason, message), in the order of the API's reasons, all but what ownership says."""
    conflicts: list[str]

    @property
    def distributes(self) -> bool:
        return self.orchestrator.root is not None and not self.obstacles and not self.conflicts


def compute(snapshot: Snapshot) -> dict[str, Outcome]:
    """The outcome of every orchestrator by name, but for those being deleted, which nobody writes to any more."""
    plans = [
        _plan(orchestrator, snapshot)
        for _, orchestrator in sorted(snapshot.orchestrators.items())
        if not orchestrator.is_deleting and orchestrator.metadata.name not in snapshot.unreadable
    ]
    _settle_ownership(plans, snapshot)
    return {plan.orchestrator.metadata.name: _outcome(plan) for plan in plans}


def _plan(orchestrator: dqo.DynamicQuotaOrchestrator, snapshot: Snapshot) -> _Draft:
    discovery = discover(orchestrator, snapshot.providers)
    root = orchestrator.root
    if root is None:
        return _Draft(orchestrator, discovery, [], [], [])
    obstacles: list[tuple[str, str]] = []
    if discovery.flavors is None:
        message = "Effective capacity is not computed, quotas stay as they are: " + discovery.condition.message
        obstacles.append((dqo.EFFECTIVE_CAPACITY_NOT_COMPUTED, message))
    above = those_above(orchestrator, snapshot.orchestrators.values(), snapshot.hierarchy)
    if above:
        listed = some(f"{other.metadata.name} (root {other.root})" for other in above)
        message = (
            f"{listed} {'has' if len(above) == 1 else 'have'} precedence over this orchestrator's root {root}: "
            "delete one of them, or move the roots apart"
        )
        obstacles.append((dqo.CONFLICTING_ORCHESTRATOR, message))
    targets = snapshot.hierarchy.subtree(root)
    if not targets:
        why = (
            "is named as a parent but has no object: create the Cohort"
            if snapshot.hierarchy.is_implicit(root)
            else "does not exist: create it, or correct spec.capacityDistribution.subtreeRootQuotaRef"
        )
        obstacles.append((dqo.MISCONFIGURED, f"The root {root} {why}"))
    unknown = [f"{member.key}: {member.problem}" for member in targets if member.problem is not None]
    if unknown:
        obstacles.append((dqo.MISCONFIGURED, some(unknown)))
    return _Draft(orchestrator, discovery, targets, obstacles, [])


def _settle_ownership(plans: list[_Draft], snapshot: Snapshot) -> None:
    """Decides who may overwrite whose quotas, in rounds until nothing changes.

    All are judged at once in each round, as a controller does that takes a snapshot, computes and writes. The first
    goes by the conditions in the snapshot, the following by what came out. Two orchestrators that both may write have
    no target in common, so one that distributes once goes on doing so, and each round but the last adds one.
    """
    not_distributing = {
        name
        for name, orchestrator in snapshot.orchestrators.items()
        if condition_is(orchestrator.status.conditions, dqo.DISTRIBUTED, "False")
    }
    owners: dict[ObjectKey, OrchestratorRef | None] = {}
    for _ in range(len(plans) + 2):
        for plan in plans:
            plan.conflicts = [
                f"the effective quotas of {target.key} were {why}"
                for target in plan.targets
                if (
                    why := why_not_mine(
                        owners.get(target.key, target.owner),
                        plan.orchestrator,
                        snapshot.orchestrators,
                        not_distributing,
                        snapshot.hierarchy,
                    )
                )
                is not None
            ]
        outcome = {
            plan.orchestrator.metadata.name
            for plan in plans
            if plan.orchestrator.root is not None and not plan.distributes
        }
        taken = {target.key: plan.orchestrator.ref for plan in plans if plan.distributes for target in plan.targets}
        if outcome == not_distributing and all(owners.get(key) == ref for key, ref in taken.items()):
            return
        not_distributing = outcome
        owners |= taken
    msg = f"the ownership of quotas did not settle among {len(plans)} orchestrators"
    raise RuntimeError(msg)


def _outcome(plan: _Draft) -> Outcome:
    orchestrator = plan.orchestrator
    conditions = [plan.discovery.condition]
    quotas: dict[ObjectKey, EffectiveQuotas] = {}
    if orchestrator.root is not None:
        if plan.distributes:
            quotas = _quotas(plan)
        conditions.append(_distributed(plan))
    kept = tuple(each for each in orchestrator.status.conditions if each.type not in _WRITTEN_CONDITIONS)
    status = dqo.DynamicQuotaOrchestratorStatus(
        plan.discovery.capacity,
        kept + tuple(_with_transition_time(each, orchestrator.status.conditions) for each in conditions),
    )
    return Outcome(status, plan.discovery, quotas)


def _quotas(plan: _Draft) -> dict[ObjectKey, EffectiveQuotas]:
    flavors = (plan.discovery.flavors or {}).keys()
    shares = distribute(plan.targets, flavors, plan.discovery.units)
    # Both go through the targets in one order, so that the next share of a pair is the next target's.
    in_order = {pair: iter(units) for pair, units in shares.items()}
    return {
        target.key: EffectiveQuotas(plan.orchestrator.ref, effective_groups(target, flavors, in_order))
        for target in plan.targets
    }


def _distributed(plan: _Draft) -> Condition:
    generation = plan.orchestrator.metadata.generation
    if plan.distributes:
        queues = sum(1 for target in plan.targets if target.key.kind == CLUSTER_QUEUE)
        cohorts = len(plan.targets) - queues
        message = f"Quotas of {counted(queues, 'ClusterQueue')} and {counted(cohorts, 'Cohort')} follow the capacity"
        return Condition(
            dqo.DISTRIBUTED, "True", dqo.QUOTAS_DISTRIBUTED, message=message, observed_generation=generation
        )
    causes = list(plan.obstacles)
    if plan.conflicts:
        conflict = (dqo.EFFECTIVE_QUOTAS_CONFLICT, f"Nothing was written: {some(plan.conflicts)}")
        causes.append(conflict)
        causes.sort(key=lambda cause: _ORDER.index(cause[0]))
    message = "; ".join(
        message if position == 0 else f"also {reason}: {message}" for position, (reason, message) in enumerate(causes)
    )
    return Condition(dqo.DISTRIBUTED, "False", causes[0][0], message_of(message), observed_generation=generation)


_ORDER = (
    dqo.EFFECTIVE_CAPACITY_NOT_COMPUTED,
    dqo.CONFLICTING_ORCHESTRATOR,
    dqo.EFFECTIVE_QUOTAS_CONFLICT,
    dqo.MISCONFIGURED,
)
"""The order of the API's reasons: where several causes hold, the first is reported."""


def _with_transition_time(condition: Condition, present: Iterable[Condition]) -> Condition:
    """Keeps the time of the last transition where the status stays; a new time is the writer's to set."""
    for old in present:
        if old.type == condition.type and old.status == condition.status:
            return msgspec.structs.replace(condition, last_transition_time=old.last_transition_time)
    return condition
