"""Which resources of a flavor are published as zero where there is none: each has its quota 0 on purpose. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Set as AbstractSet

from kueue_dqo.api.parameters import ResourceSelection


def answered_for(
    flavor: str, selection: ResourceSelection, declared: Mapping[str, AbstractSet[str]], *, nodes: int
) -> set[str]:
    """The resources of a flavor that the provider answers for although no node may have any.

    Args:
        flavor: its name.
        selection: where it includes some, it is these: no other is reported.
        declared: what queues have a quota for, by flavor; that counts where no node does.
        nodes: how many nodes of the flavor count.
    """
    if selection.include:
        return set(selection.include)
    return set(declared.get(flavor, ())) if nodes == 0 else set()
