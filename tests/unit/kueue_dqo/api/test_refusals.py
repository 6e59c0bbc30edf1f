"""What the API server would refuse, although quotas can be computed from it, is said and no error."""

from __future__ import annotations

from typing import Any

import pytest

from kueue_dqo.api.scheme import decode, known_kind


def _notices(kind: str = "ClusterQueue", **spec: Any) -> list[str]:
    known = known_kind("kueue.x-k8s.io/v1beta2", kind)
    assert known is not None
    return [str(notice) for notice in decode(known, "v1beta2", {"metadata": {"name": "a"}, "spec": spec}).notices]


def _group(covered: list[str], flavor: str, *resources: str, **limits: Any) -> dict[str, Any]:
    quotas = [{"name": name, "nominalQuota": 5} | limits for name in resources]
    return {"coveredResources": covered, "flavors": [{"name": flavor, "resources": quotas}]}


@pytest.mark.parametrize(
    ("groups", "told"),
    [
        pytest.param([_group(["memory"], "f", "cpu")], "flavors[0].resources: cpu is not what", id="another resource"),
        pytest.param([_group(["cpu", "memory"], "f", "cpu")], "(cpu, memory), in that order", id="one too few"),
        pytest.param([_group(["cpu", "memory"], "f", "memory", "cpu")], "in that order", id="another order"),
        pytest.param([_group([], "f", "cpu")], "coveredResources says (nothing)", id="nothing covered"),
        pytest.param(
            [_group(["cpu"], "f", "cpu"), _group(["cpu"], "g", "cpu")], "cpu is in an earlier group", id="twice"
        ),
        pytest.param(
            [_group(["cpu"], "f", "cpu"), _group(["pods"], "f", "pods")], "flavor f is in an earlier group", id="flavor"
        ),
    ],
)
@pytest.mark.parametrize("kind", ["ClusterQueue", "Cohort"])
def test_groups_that_do_not_fit_are_said(kind: str, groups: list[Any], told: str) -> None:
    """A mix-up of cpu and memory would come to light only when the object is applied."""
    (notice,) = _notices(kind, resourceGroups=groups)
    assert told in notice
    assert notice.endswith("the API server refuses that")


def test_groups_that_fit_have_nothing_to_say() -> None:
    """Several flavors, several groups, several resources."""
    groups = [_group(["cpu", "memory"], "f", "cpu", "memory"), _group(["pods"], "g", "pods")]
    assert _notices(resourceGroups=groups) == []


def test_limits_of_a_queue_without_a_cohort_are_said() -> None:
    """Nobody is there to lend or borrow; with a cohort they are fine."""
    groups = [_group(["cpu"], "f", "cpu", borrowingLimit=0)]
    (notice,) = _notices(resourceGroups=groups)
    assert "f/cpu has a limit, and the queue no cohort" in notice
    assert _notices(resourceGroups=groups, cohortName="c") == []


def test_a_queue_that_would_lend_more_than_it_has_is_said_and_a_cohort_is_not() -> None:
    """The webhook looks at ClusterQueues only."""
    groups = [_group(["cpu"], "f", "cpu", lendingLimit=6)]
    (notice,) = _notices(resourceGroups=groups, cohortName="c")
    assert "lendingLimit of 6, above its nominalQuota of 5" in notice
    assert _notices("Cohort", resourceGroups=groups) == []
    assert _notices(resourceGroups=[_group(["cpu"], "f", "cpu", lendingLimit=5)], cohortName="c") == []
