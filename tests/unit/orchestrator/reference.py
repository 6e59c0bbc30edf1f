"""The rules once more, slowly and in fractions, to compare the product with. Shares no code with it."""

from __future__ import annotations

import datetime
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from fractions import Fraction

from kueue_dqo.api.dqo import CapacityProvider, DynamicQuotaOrchestrator
from kueue_dqo.api.meta import ObjectKey
from kueue_dqo.api.quotas import OrchestratorRef
from orchestrator.members import Member

Pair = tuple[str, str]
"""Flavor and resource."""


def split(capacity: int, weights: Sequence[int]) -> list[int]:
    """Largest remainder: exact shares, rounded down, then one unit each by remainder and position."""
    total = sum(weights)
    if total == 0:
        return [0 for _ in weights]
    exact = [Fraction(capacity * weight, total) for weight in weights]
    got = [math.floor(share) for share in exact]
    by_remainder = sorted(range(len(weights)), key=lambda at: (got[at] - exact[at], at))
    for at in by_remainder[: capacity - sum(got)]:
        got[at] += 1
    return got


class Cluster:
    """A snapshot as plain lists, and what the specification makes of it."""

    def __init__(
        self,
        orchestrators: Iterable[DynamicQuotaOrchestrator],
        providers: Iterable[CapacityProvider],
        members: Iterable[Member],
    ) -> None:
        """Takes the objects in any order."""
        self.orchestrators = {each.metadata.name: each for each in orchestrators}
        self.providers = {each.metadata.name: each for each in providers}
        self.members = {each.key: each for each in members}

    # --- discovery

    def capacity(self, name: str) -> dict[Pair, Fraction] | None:
        """Effective capacity by pair, 0 for an orchestrated flavor as such; None where it cannot be computed."""
        found: dict[Pair, Fraction] = {}
        for entry in self.orchestrators[name].spec.capacity_discovery.providers:
            provider = self.providers.get(entry.name)
            if provider is None or not any(
                condition.type == "CapacitySynchronized"
                and condition.status == "True"
                and condition.observed_generation == provider.metadata.generation
                for condition in provider.status.conditions
            ):
                return None
            orchestrated = [flavor.name for flavor in provider.spec.orchestrated_flavors]
            for flavor in orchestrated:
                found.setdefault((flavor, ""), Fraction(0))
            for reported in provider.status.capacity.flavors if provider.status.capacity else ():
                for resource, amount in reported.resources.items() if reported.name in orchestrated else ():
                    times = Fraction(entry.effective_capacity_multiplier.nanos, 10**9)
                    pair = (reported.name, resource)
                    found[pair] = found.get(pair, Fraction(0)) + times * Fraction(amount.nanos, 10**9)
        return found

    # --- the tree

    def _path(self, key: ObjectKey) -> Iterator[ObjectKey]:
        """All that is above, as far as it goes and once around a cycle."""
        for _ in self.members:
            member = self.members.get(key)
            if member is None or not member.parent:
                return
            key = ObjectKey("Cohort", member.parent)
            yield key

    def targets(self, name: str) -> set[ObjectKey]:
        """All that an orchestrator's quotas would be written to."""
        root = self.orchestrators[name].root
        if root is None or root not in self.members:
            return set()
        return {key for key in self.members if key == root or any(above == root for above in self._path(key))}

    # --- precedence and ownership

    def outranks(self, name: str, other: str) -> bool:
        """Whether the first has precedence over the second."""
        one, two = self.orchestrators[name], self.orchestrators[other]
        if name == other or not (self._competes(name) and self._competes(other)):
            return False
        if one.root == two.root:
            return _seniority(one) < _seniority(two)
        assert one.root is not None
        assert two.root is not None
        return one.root in self._path(two.root)

    def _competes(self, name: str) -> bool:
        one = self.orchestrators.get(name)
        return one is not None and one.root is not None and one.metadata.deletion_timestamp is None

    def _is_free(self, name: str, target: ObjectKey, stopped: set[str]) -> bool:
        owner: OrchestratorRef | None = self.members[target].owner
        if owner is None:
            return True
        if (owner.api_group, owner.kind) != ("kueue.x-k8s.io", "DynamicQuotaOrchestrator"):
            return False
        return (
            owner.name == name
            or not self._competes(owner.name)
            or owner.name in stopped
            or self.outranks(name, owner.name)
        )

    def distributing(self) -> set[str]:
        """Those that write in the end.

        At first the conditions tell who has stopped. Those that cannot write then have stopped too, so that what they
        hold may be taken over; and whoever takes over does not stop any more.
        """
        eligible = {
            name
            for name in self.orchestrators
            if self._competes(name)
            and self.capacity(name) is not None
            and self.targets(name)
            and not any(self.outranks(other, name) for other in self.orchestrators)
        }
        stopped = {
            name
            for name, each in self.orchestrators.items()
            if any(
                (condition.type, condition.status) == ("Distributed", "False") for condition in each.status.conditions
            )
        }
        first = {name for name in eligible if all(self._is_free(name, key, stopped) for key in self.targets(name))}
        stopped = self.orchestrators.keys() - first
        return first | {
            name for name in eligible if all(self._is_free(name, key, stopped) for key in self.targets(name))
        }

    # --- distribution

    def quotas(self, name: str) -> dict[ObjectKey, dict[Pair, Fraction]]:
        """Nominal quotas of all targets of one that distributes, by pair."""
        capacity = self.capacity(name)
        assert capacity is not None
        flavors = {flavor for flavor, _ in capacity}
        in_order = sorted((self.members[key] for key in self.targets(name)), key=lambda each: (each.uid, each.key))
        declared = {member.key: _nominal(member) for member in in_order}
        got = {key: {pair: Fraction(nanos, 10**9) for pair, nanos in own.items()} for key, own in declared.items()}
        for pair in {pair for own in declared.values() for pair in own if pair[0] in flavors}:
            units = 1000 if pair[1] == "cpu" else 1
            holders = [member.key for member in in_order if pair in declared[member.key]]
            whole = math.floor(capacity.get(pair, Fraction(0)) * units)
            for key, share in zip(holders, split(whole, [declared[key][pair] for key in holders]), strict=True):
                got[key][pair] = Fraction(share, units)
        return got


def _seniority(orchestrator: DynamicQuotaOrchestrator) -> tuple[datetime.datetime, str, str]:
    created = orchestrator.metadata.creation_timestamp
    assert created is not None
    return datetime.datetime.fromisoformat(created), orchestrator.metadata.uid, orchestrator.metadata.name


def _nominal(member: Member) -> Mapping[Pair, int]:
    return {
        (flavor.name, quota.name): quota.nominal_quota.nanos
        for group in member.declared
        for flavor in group.flavors
        for quota in flavor.resources
    }
