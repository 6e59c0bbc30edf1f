"""A ClusterQueue or Cohort as the computation sees it, whichever road its quotas take effect on."""

from __future__ import annotations

from typing import NamedTuple

from kueue_dqo.api.meta import ObjectKey
from kueue_dqo.api.quotas import OrchestratorRef, ResourceGroup


class Member(NamedTuple):
    """A node of the cohort tree.

    `declared` is what the admin wants, the base of every share; `in_force` what Kueue uses now; `owner` who wrote
    that, None where nobody did; `problem` why the declaration cannot be known, in words, None where it can.
    """

    key: ObjectKey
    uid: str
    parent: str
    declared: tuple[ResourceGroup, ...]
    in_force: tuple[ResourceGroup, ...]
    owner: OrchestratorRef | None = None
    problem: str | None = None

    @property
    def tie_order(self) -> tuple[str, ObjectKey]:
        """Ties between shares go to the smaller UID; objects without one, to the smaller kind and name."""
        return (self.uid, self.key)
