"""The quotas of a live cluster: those that are in force now, and those that would be."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from kueue_dqo.api.meta import ObjectKey
from kueue_dqo.api.quotas import ResourceQuota, quotas_by_pair
from kueue_dqo.api.resources import FlavorResource
from kueue_dqo.cli.plan.columns import Columns
from kueue_dqo.cli.plan.computation import Plan
from kueue_dqo.cli.plan.text import amount_text, share_text, tree_label
from kueue_dqo.cli.terminal import one_line
from orchestrator.compute import Outcome

_NUMBERS: Final = ("DECLARED", "PRESENT → PLANNED", "SHARE")


def changes(order: Iterator[tuple[ObjectKey, int]], outcome: Outcome, plan: Plan) -> Columns:
    """A row for each pair of each object; of one whose quotas are as planned, the first row says so."""
    table = Columns("QUEUE", "FLAVOR", "RESOURCE", *_NUMBERS, "", right=_NUMBERS)
    for key, depth in order:
        label = tree_label(key, depth)
        member = plan.hierarchy.members[key]
        declared, present = dict(quotas_by_pair(member.declared)), dict(quotas_by_pair(member.in_force))
        planned = dict(quotas_by_pair(outcome.quotas[key].resource_groups))
        unchanged = plan.road.is_written(plan.nodes[key], outcome.quotas[key])
        note = "unchanged" if unchanged else ""
        if not planned and not present:
            table.add(*((cell, "dim") for cell in (label, "-", "-", "-", "-", "", note)))
        flavor = ""
        for pair in [*planned, *(pair for pair in present if pair not in planned)]:
            style, marks = _marks(present.get(pair), planned.get(pair))
            if pair not in declared:
                marks.append("no longer declared")
            table.add(
                label,
                "" if pair.flavor == flavor else one_line(pair.flavor),
                one_line(pair.resource),
                amount_text(declared[pair].nominal_quota) if pair in declared else "-",
                (_transition(present.get(pair), planned.get(pair)), style),
                _share(pair, planned, outcome),
                (", ".join(filter(None, [note, *marks])), "dim" if unchanged else style),
            )
            label, flavor, note = "", pair.flavor, ""
    return table


def _transition(present: ResourceQuota | None, planned: ResourceQuota | None) -> str:
    before, after = (amount_text(each.nominal_quota) if each is not None else "-" for each in (present, planned))
    return after if present is not None and before == after else f"{before} → {after}"


def _share(pair: FlavorResource, planned: dict[FlavorResource, ResourceQuota], outcome: Outcome) -> str:
    return share_text(pair, planned[pair], outcome) if pair in planned else ""


def _marks(present: ResourceQuota | None, planned: ResourceQuota | None) -> tuple[str, list[str]]:
    """The style of the change, and what an admin should see at once."""
    style, marks = "", []
    if present is not None and planned is not None and planned.nominal_quota < present.nominal_quota:
        becomes_zero = planned.nominal_quota.nanos == 0
        style = "bold red" if becomes_zero else "yellow"
        marks.append("▼ becomes 0" if becomes_zero else "▼ falls")
    for name, limit in (("borrowing", "borrowing_limit"), ("lending", "lending_limit")):
        before, after = (getattr(each, limit) if each is not None else None for each in (present, planned))
        if present is not None and planned is not None and before != after:
            texts = ["none" if each is None else amount_text(each) for each in (before, after)]
            marks.append(f"{name}Limit {' → '.join(texts)}")
    return style, marks
