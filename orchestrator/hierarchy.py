"""The tree of Cohorts and ClusterQueues: who is above whom.

Cycles and missing objects occur and must not hang anything.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping

from kueue_dqo.api.kueue import COHORT
from kueue_dqo.api.meta import ObjectKey
from orchestrator.members import Member


class Hierarchy:
    """The cohort tree of one snapshot.

    A Cohort that members name as their parent without having an object (an implicit cohort) has a place in the tree,
    but is no member of any subtree.
    """

    def __init__(self, members: Iterable[Member]) -> None:
        """Takes every ClusterQueue and Cohort of the cluster, in any order."""
        self.members: Mapping[ObjectKey, Member] = {member.key: member for member in members}
        children: defaultdict[ObjectKey, list[ObjectKey]] = defaultdict(list)
        for member in self.members.values():
            if member.parent:
                children[ObjectKey(COHORT, member.parent)].append(member.key)
        self._children: Mapping[ObjectKey, list[ObjectKey]] = children

    def is_implicit(self, key: ObjectKey) -> bool:
        """Whether members name this Cohort as their parent, and it has no object."""
        return key not in self.members and key in self._children

    def ancestors(self, key: ObjectKey) -> set[ObjectKey]:
        """All that is strictly above; on a cycle that is every Cohort of the cycle, the key itself included."""
        above: set[ObjectKey] = set()
        member = self.members.get(key)
        while member is not None and member.parent:
            parent = ObjectKey(COHORT, member.parent)
            if parent in above:
                break
            above.add(parent)
            member = self.members.get(parent)
        return above

    def subtree(self, root: ObjectKey) -> list[Member]:
        """The root and all below it that have an object, ordered by UID; empty where the root has none."""
        if root not in self.members:
            return []
        found: set[ObjectKey] = {root}
        waiting = [root]
        while waiting:
            for child in self._children.get(waiting.pop(), ()):
                if child not in found:
                    found.add(child)
                    waiting.append(child)
        return sorted((self.members[key] for key in found), key=lambda member: member.tie_order)
