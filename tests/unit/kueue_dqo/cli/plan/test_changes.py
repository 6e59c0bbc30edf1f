"""The table of a cluster's plan: present and planned quotas."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest

from kueue_dqo.cli.objects import CLUSTER
from kueue_dqo.cli.plan.computation import make_plan
from kueue_dqo.cli.plan.table import show
from kueue_dqo.cli.plan.warnings import warnings
from orchestrator.enforcement.roads import Road
from tests.unit.kueue_dqo.cli.plan.builders import (
    NOON,
    Plain,
    cohort,
    condition,
    effective,
    flavor,
    manifests_of,
    orchestrator,
    provider,
    queue,
    reporting,
)

Table = Callable[..., str]


@pytest.fixture
def table(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Table:
    """Prints the plan of a cluster with these objects, and returns what was printed."""
    for name in ("COLUMNS", "FORCE_COLOR", "CLICOLOR_FORCE", "TTY_COMPATIBLE"):
        monkeypatch.delenv(name, raising=False)

    def printed(*objects: Plain) -> str:
        manifests = manifests_of(*objects)
        manifests.origin = CLUSTER
        plan = make_plan(manifests, Road.STATUS, NOON)
        show(plan, warnings(plan), plan.notes)
        return capsys.readouterr().out

    return printed


def cells(text: str, first: str) -> list[str]:
    """The one row that begins with that cell."""
    (found,) = (line for line in text.splitlines() if re.match(rf"\s*{re.escape(first)}(\s|$)", line))
    return re.split(r"\s{2,}", found.strip())


@pytest.mark.parametrize(
    ("declared", "present", "row"),
    [
        pytest.param(10, None, ["10", "10 → 48", "100.0 %"], id="grows from the declared one"),
        pytest.param(10, 40, ["10", "40 → 48", "100.0 %"], id="grows"),
        pytest.param(10, 50, ["10", "50 → 48", "100.0 %", "▼ falls"], id="falls"),
        pytest.param(10, 48, ["10", "48", "100.0 %", "unchanged"], id="is as planned"),
        pytest.param(48, None, ["48", "48", "100.0 %"], id="has the number, and no owner yet"),
    ],
)
def test_a_row_leads_from_the_quota_in_force_to_the_planned_one(
    table: Table, declared: object, present: object | None, row: list[str]
) -> None:
    """With the declared one beside it."""
    status = None if present is None else effective({"batch": {"cpu": present}})
    text = table(reporting(), orchestrator(), queue("q", {"batch": {"cpu": declared}}, status=status))
    assert cells(text, "q") == ["q", "batch", "cpu", *row]
    assert cells(text, "QUEUE") == ["QUEUE", "FLAVOR", "RESOURCE", "DECLARED", "PRESENT → PLANNED", "SHARE"]


def test_an_unchanged_object_says_so_once(table: Table) -> None:
    """In its first row; one without quotas has only that row."""
    quotas = {"batch": {"cpu": 48, "memory": 4}}
    keeper = orchestrator(root="Cohort/teams")
    text = table(
        reporting(amounts=quotas),
        keeper,
        cohort(status=effective({})),
        queue("q", quotas, cohort="teams", status=effective(quotas)),
    )
    assert text.count("unchanged") == 2
    assert cells(text, "teams")[-1] == "unchanged"
    assert cells(text, "q")[-1] == "unchanged"
    assert "0 objects with new quotas" in text


def test_a_pair_that_becomes_zero_stands_out(table: Table) -> None:
    """As in a plan from files."""
    text = table(reporting(amounts={"batch": {"cpu": 0}}), orchestrator(), queue())
    assert cells(text, "q") == ["q", "batch", "cpu", "10", "10 → 0", "-", "▼ becomes 0"]


def test_a_pair_that_is_in_force_and_no_longer_declared_is_shown(table: Table) -> None:
    """It goes with the next write."""
    text = table(reporting(), orchestrator(), queue("q", status=effective({"batch": {"cpu": 48}, "old": {"cpu": 4}})))
    assert cells(text, "old") == ["old", "cpu", "-", "4 → -", "no longer declared"]


def test_a_limit_that_changes_is_shown(table: Table) -> None:
    """Behind its nominal quota."""
    declared = {"batch": {"cpu": {"nominalQuota": 50, "lendingLimit": 50}}}
    text = table(reporting(), orchestrator(), queue("q", declared, cohort="x"))
    assert cells(text, "q")[-1] == "▼ falls, lendingLimit 50 → 48"


def test_a_condition_that_would_change_shows_the_present_one(table: Table) -> None:
    """One that stays does not."""
    status = {
        "conditions": [
            condition("EffectiveCapacityComputed", reason="Computed"),
            condition("Distributed", "False", "Misconfigured"),
        ]
    }
    text = table(reporting(), orchestrator(status=status), queue())
    assert "Distributed True QuotasDistributed (now False Misconfigured): " in text
    assert "EffectiveCapacityComputed True Computed: " in text


def test_a_cluster_is_called_one(table: Table) -> None:
    """Where a plan from files speaks of files."""
    assert "No DynamicQuotaOrchestrator in the cluster: no quota would change." in table(queue())
    text = table(flavor(), provider(), orchestrator(), queue())
    assert "there is no Node in the cluster: the capacity of nodes is zero" in text
    assert "kubectl" not in text
