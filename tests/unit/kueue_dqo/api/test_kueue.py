"""ClusterQueues and Cohorts as nodes of the cohort tree."""

from __future__ import annotations

import pytest

from kueue_dqo.api.kueue import ClusterQueue, ClusterQueueSpec, Cohort, CohortSpec, QuotaNode
from kueue_dqo.api.meta import ObjectKey, ObjectMeta
from kueue_dqo.api.quotas import ResourceGroup

GROUPS = (ResourceGroup(("cpu",)),)


@pytest.mark.parametrize(
    ("node", "key", "parent"),
    [
        (ClusterQueue(ObjectMeta("a"), ClusterQueueSpec(GROUPS, "b")), ObjectKey("ClusterQueue", "a"), "b"),
        (ClusterQueue(ObjectMeta("a"), ClusterQueueSpec(GROUPS)), ObjectKey("ClusterQueue", "a"), ""),
        (Cohort(ObjectMeta("a"), CohortSpec(GROUPS, "b")), ObjectKey("Cohort", "a"), "b"),
        (Cohort(ObjectMeta("a"), CohortSpec(GROUPS)), ObjectKey("Cohort", "a"), ""),
    ],
)
def test_both_kinds_of_node_have_a_key_a_parent_and_quotas(node: QuotaNode, key: ObjectKey, parent: str) -> None:
    """A ClusterQueue and a Cohort of one name are two nodes; without a parent its name is empty."""
    assert (node.key, node.parent, node.quotas) == (key, parent, GROUPS)


def test_a_node_without_a_spec_has_no_quotas() -> None:
    """And no parent."""
    for node in (ClusterQueue(ObjectMeta("a")), Cohort(ObjectMeta("a"))):
        assert (node.parent, node.quotas) == ("", ())
        assert node.status.effective_quotas is None
